#include "vyre/backends/wgsl/target.h"

namespace vyre {
namespace {

// Every device has as many invocations of a workgroup, and as much of its memory.
constexpr GpuLimits kShapes{.invocations = 256, .memory = 16 << 10, .collectives = false};

}  // namespace

Target wgsl_target() {
  return {.name = "wgsl",
          .capabilities = {.u64 = false,
                           .u128 = false,
                           .u128_add = false,
                           .u128_multiply = false,
                           .u128_divide = false,
                           .u128_rest = false,
                           .cast = false,
                           .rotate = false,
                           .mul_high = false,
                           .mul_high_64 = false,
                           .abs_diff = false,
                           .saturate = false,
                           .signed_saturate = false,
                           .collectives = false},
          .shape = [](const Program& program) { return shape_for_gpu(program, kShapes); }};
}

}  // namespace vyre
