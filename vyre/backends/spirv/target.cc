#include "vyre/backends/spirv/target.h"

#include "vyre/base/text.h"

namespace vyre {

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
                                 .signed_saturate = false},
                .shape = shape_for_gpu,
                .zeroed_memory = false,
                .has_lines = true};
}

}  // namespace vyre
