#include "vyre/backends/wgsl/code.h"

#include "vyre/backends/wgsl/target.h"

namespace vyre {
namespace {

Result<WgslKernel> emit_kernel(const Lowered& lowered, const SourceLines&) {
  return emit_wgsl(lowered);
}

// What is wrong with a program shows in the variant that is right for every dispatch.
Result<std::shared_ptr<const EmittedCode>> emit_program(std::unique_ptr<Variants> variants) {
  auto made = std::make_shared<const WgslProgram>(std::move(variants), emit_kernel);
  const Result<const WgslKernel*> general = made->general();
  if (!general) return general.diagnostics();
  return std::shared_ptr<const EmittedCode>(std::move(made));
}

}  // namespace

const Emitter kWgslEmitter = {[](std::string_view) -> Result<Target> { return wgsl_target(); },
                              emit_program};

}  // namespace vyre
