// A lowered program in variants: the one that is right for every dispatch, and ones that are right
// where some assumptions hold, and need fewer checks there.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>

#include "vyre/backends/backend.h"
#include "vyre/ir/run.h"
#include "vyre/passes/lowered.h"

namespace vyre {

// What the host knows of a dispatch. `contents` has the bytes of each buffer, in the order of
// declaration; of those that are no uniforms only the size counts.
DispatchFacts facts_of(const Program& program, const Grid& grid,
                       std::span<const std::span<const std::byte>> contents);
// The same of a launch. It knows what a uniform holds unless `written` has the uniform, or `is_now`
// is false: then others may write to it before the launch.
DispatchFacts facts_of(const Program& program, const Launch& launch, bool is_now,
                       const std::set<const DeviceMemory*>& written);

// Of a buffer of this size in bytes, in elements; workgroup memory has its own.
std::uint32_t length_of(const BufferDecl& buffer, std::uint64_t bytes);

// Those that were needed so far. Safe to use from several threads; what it gives out stays where it
// is.
class Variants {
 public:
  // Of an optimised program; `general` is that, lowered.
  Variants(Linked source, Program optimised, Target target, Lowered general);

  const Lowered& general() const { return variants_.front(); }
  // One that is right for such a dispatch. A new one is made where that leaves fewer checks, as
  // long as there are not many already, and not many that were no better were made.
  const Lowered& choose(const DispatchFacts& facts);
  const Linked& source() const { return source_; }

 private:
  const Linked source_;
  const Program program_;
  const Target target_;
  std::mutex mutex_;
  std::list<Lowered> variants_;  // the first one is right for every dispatch
  std::size_t no_better_ = 0;    // that were made
};

// Code of all variants that were needed so far, for backends that make it quickly: each is emitted
// when it is first chosen. Safe to use from several threads; what it gives out stays where it is.
template <class Code>
class VariantCode : public EmittedCode {
 public:
  using Emit = Result<Code> (*)(const Lowered& lowered, const SourceLines& source);
  VariantCode(std::unique_ptr<Variants> variants, Emit emit)
      : variants_(std::move(variants)), emit_(emit) {}

  Result<const Code*> general() const { return code_of(variants_->general()); }
  Result<const Code*> choose(const DispatchFacts& facts) const {
    return code_of(variants_->choose(facts));
  }

 private:
  Result<const Code*> code_of(const Lowered& variant) const {
    const std::lock_guard lock(mutex_);
    auto known = all_.find(&variant);
    if (known == all_.end()) {
      known = all_.emplace(&variant, emit_(variant, variants_->source().source())).first;
    }
    if (!known->second) return known->second.diagnostics();
    return &*known->second;
  }

  const std::unique_ptr<Variants> variants_;
  const Emit emit_;
  mutable std::mutex mutex_;
  mutable std::map<const Lowered*, Result<Code>> all_;
};

}  // namespace vyre
