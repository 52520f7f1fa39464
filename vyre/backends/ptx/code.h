// Programs as PTX, made once: the kernel that is right for every dispatch, and those for some of
// them, which are made when there is such a dispatch.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "vyre/backends/ptx/emit.h"
#include "vyre/backends/variants.h"

namespace vyre {

// Safe to use from several threads; what it gives out stays where it is.
class PtxProgram {
 public:
  PtxProgram(const Linked& linked, const Program& optimised)
      : variants_(optimised, finish_ptx), program_(linked.program), source_(linked.source) {}

  Result<const PtxKernel*> general() { return kernel_of(variants_.general()); }
  Result<const PtxKernel*> choose(const DispatchFacts& facts) {
    return kernel_of(variants_.choose(facts));
  }

 private:
  Result<const PtxKernel*> kernel_of(const Variant& variant);

  Variants variants_;
  const Program program_;
  const SourceLines source_;
  std::mutex mutex_;
  std::map<const Variant*, Result<PtxKernel>> kernels_;
};

// From memory, or made.
Result<std::shared_ptr<PtxProgram>> ptx_program(const Linked& linked);

// A module with that kernel alone.
std::string ptx_module(const PtxKernel& kernel);

}  // namespace vyre
