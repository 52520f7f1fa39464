// A program as a compute shader in SPIR-V, the binary form that Vulkan takes.
#pragma once

#include <cstdint>
#include <vector>

#include "vyre/backends/shader.h"

namespace vyre {

struct SpirvKernel {
  ShaderCall call;
  std::vector<std::uint32_t> words;  // the module
};

}  // namespace vyre
