// A program as a shader in WGSL, the language of WebGPU. vyre/backends/shader.h says how it is
// called.
#pragma once

#include <string>

#include "vyre/backends/shader.h"
#include "vyre/base/result.h"
#include "vyre/passes/lowered.h"

namespace vyre {

struct WgslKernel {
  ShaderCall call;
  std::string text;
};

Result<WgslKernel> emit_wgsl(const Lowered& lowered);

}  // namespace vyre
