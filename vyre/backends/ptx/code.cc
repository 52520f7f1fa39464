#include "vyre/backends/ptx/code.h"

namespace vyre {
namespace {

Result<PtxKernel> emit_kernel(const Lowered& lowered, const SourceLines& source) {
  Result<PtxKernel> kernel = emit_ptx(lowered);
  if (kernel) kernel->file = source.file;
  return kernel;
}

// What is wrong with a program shows in the variant that is right for every dispatch.
Result<std::shared_ptr<const EmittedCode>> emit_program(std::unique_ptr<Variants> variants) {
  auto made = std::make_shared<const PtxProgram>(std::move(variants), emit_kernel);
  const Result<const PtxKernel*> general = made->general();
  if (!general) return general.diagnostics();
  return std::shared_ptr<const EmittedCode>(std::move(made));
}

}  // namespace

const Emitter kPtxEmitter = {[](std::string_view) -> Result<Target> { return ptx_target(); },
                             emit_program};

std::string ptx_module(const PtxKernel& kernel) {
  return ptx_header(kernel.file) + "\n" + kernel.text;
}

}  // namespace vyre
