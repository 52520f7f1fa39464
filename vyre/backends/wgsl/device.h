// The device of WGSL kernels: WebGPU by Dawn, which is loaded at run time.
#pragma once

#include "vyre/backends/backend.h"

namespace vyre {

Opened open_webgpu(std::uint32_t device);

}  // namespace vyre
