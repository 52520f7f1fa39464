// Picks the variant of a program for each dispatch: one whose assumptions are true of it.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <span>

#include "vyre/interp/interp.h"
#include "vyre/passes/specialise.h"

namespace vyre {

// What the host knows of a dispatch. `contents` has the bytes of each buffer, in the order of
// declaration; of those that are no uniforms only the size counts.
DispatchFacts facts_of(const Program& program, const Grid& grid,
                       std::span<const std::span<const std::byte>> contents);

// The variants of one program that were needed so far. Safe to use from several threads; what it
// gives out stays where it is.
class Variants {
 public:
  // Of an optimised program.
  explicit Variants(Program program, Finish finish = nullptr);

  // One that is right for such a dispatch. A new one is made where that leaves fewer checks, as
  // long as there are not many already, and not many that were no better were made.
  const Variant& choose(const DispatchFacts& facts);
  const Variant& general() const { return variants_.front(); }

 private:
  const Program program_;
  const Finish finish_;
  std::mutex mutex_;
  std::list<Variant> variants_;  // the first one is right for every dispatch
  std::size_t in_vain_ = 0;      // that were made and were no better
};

}  // namespace vyre
