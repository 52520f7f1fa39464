// A program as a shader in SPIR-V. shader.h says how it is called.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "vyre/backends/shader.h"
#include "vyre/base/result.h"
#include "vyre/passes/lowered.h"

namespace vyre {

struct SpirvKernel {
  ShaderCall call;
  std::vector<std::uint32_t> words;  // a module with this shader alone
};

// With names, and the lines of this file, where one is given. B005 where it would be too large.
Result<SpirvKernel> emit_spirv(const Lowered& lowered, std::string_view file = {});

}  // namespace vyre
