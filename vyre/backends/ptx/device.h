// NVIDIA GPUs as devices, through the CUDA driver.
#pragma once

#include "vyre/backends/backend.h"

namespace vyre {

Opened open_cuda(std::uint32_t device);

}  // namespace vyre
