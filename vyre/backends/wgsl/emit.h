// A lowered program as a WGSL shader.
#pragma once

#include <string>

#include "vyre/backends/shader.h"

namespace vyre {

struct WgslKernel {
  ShaderCall call;
  std::string text;
};

}  // namespace vyre
