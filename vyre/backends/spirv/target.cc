#include "vyre/backends/spirv/target.h"

#include "vyre/base/text.h"

namespace vyre {
namespace {

// What nearly every device has. Atomics on workgroup memory are everywhere.
constexpr GpuLimits kShapes{.invocations = 256, .memory = 16 << 10, .collectives = false};

}  // namespace

Result<Target> spirv_target(std::string_view kind) {
  if (!kind.empty() && kind != kSpirvInt64) {
    return diagnose<message::unavailable_backend>(
        "spirv", "it has no code for devices of kind `" + shown(kind) + "`", "interp");
  }
  return Target{.name = kind.empty() ? "vulkan1.1" : "vulkan1.1+" + std::string(kind),
                .capabilities = {.u64 = kind == kSpirvInt64,
                                 .u128 = false,
                                 .cast = false,
                                 .rotate = false,
                                 .mul_high_64 = false,
                                 .abs_diff = false,
                                 .saturate = false,
                                 .signed_saturate = false,
                                 .collectives = false,
                                 .uniform_loads = false},
                .shape = [](const Program& program) { return shape_for_gpu(program, kShapes); },
                .zeroed_memory = false,
                .has_lines = true};
}

}  // namespace vyre
