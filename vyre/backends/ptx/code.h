// Programs as PTX, made once: the kernel that is right for every dispatch, and those for some of
// them, which are made when there is such a dispatch.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "vyre/backends/backend.h"
#include "vyre/backends/ptx/emit.h"
#include "vyre/backends/variants.h"

namespace vyre {

// Safe to use from several threads; what it gives out stays where it is.
class PtxProgram : public EmittedCode {
 public:
  PtxProgram(const Linked& linked, const Program& optimised)
      : variants_(optimised, finish_ptx), linked_(linked) {}

  Result<const PtxKernel*> general() const { return kernel_of(variants_.general()); }
  Result<const PtxKernel*> choose(const DispatchFacts& facts) const {
    return kernel_of(variants_.choose(facts));
  }

 private:
  Result<const PtxKernel*> kernel_of(const Variant& variant) const;

  mutable Variants variants_;
  const Linked linked_;
  mutable std::mutex mutex_;
  mutable std::map<const Variant*, Result<PtxKernel>> kernels_;
};

extern const Emitter kPtxEmitter;

// A module with that kernel alone.
std::string ptx_module(const PtxKernel& kernel);

}  // namespace vyre
