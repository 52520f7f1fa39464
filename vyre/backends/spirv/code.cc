#include "vyre/backends/spirv/code.h"

#include "vyre/backends/spirv/target.h"

namespace vyre {
namespace {

Result<SpirvKernel> emit_kernel(const Lowered& lowered, const SourceLines& source) {
  return emit_spirv(lowered, source.file);
}

// What is wrong with a program shows in the variant that is right for every dispatch.
Result<std::shared_ptr<const EmittedCode>> emit_program(std::unique_ptr<Variants> variants) {
  auto made = std::make_shared<const SpirvProgram>(std::move(variants), emit_kernel);
  const Result<const SpirvKernel*> general = made->general();
  if (!general) return general.diagnostics();
  return std::shared_ptr<const EmittedCode>(std::move(made));
}

}  // namespace

const Emitter kSpirvEmitter = {spirv_target, emit_program};

}  // namespace vyre
