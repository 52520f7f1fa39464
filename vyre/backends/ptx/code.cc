#include "vyre/backends/ptx/code.h"

namespace vyre {
namespace {

// The driver makes machine code of it for the GPU that it finds.
Result<std::string> target_text(std::string_view) { return std::string("ptx"); }

Result<std::shared_ptr<const EmittedCode>> emit_program(const Linked& linked, Program program,
                                                        std::string_view) {
  auto made = std::make_shared<const PtxProgram>(linked, std::move(program));
  if (const Result<const PtxKernel*> general = made->general(); !general) {
    return general.diagnostics();
  }
  return std::shared_ptr<const EmittedCode>(std::move(made));
}

}  // namespace

const Emitter kPtxEmitter = {target_text, emit_program};

Result<const PtxKernel*> PtxProgram::kernel_of(const Variant& variant) const {
  const std::lock_guard lock(mutex_);
  auto known = kernels_.find(&variant);
  if (known == kernels_.end()) {
    known = kernels_.emplace(&variant, emit_ptx(lowered(variant, linked_))).first;
    if (known->second) known->second->file = linked_.source().file;
  }
  if (!known->second) return known->second.diagnostics();
  return &*known->second;
}

std::string ptx_module(const PtxKernel& kernel) {
  return ptx_header(kernel.file) + "\n" + kernel.text;
}

}  // namespace vyre
