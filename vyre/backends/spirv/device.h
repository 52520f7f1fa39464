// GPUs of every vendor, and software that stands in for them, as devices, through Vulkan.
#pragma once

#include "vyre/backends/backend.h"

namespace vyre {

// GPUs of their own come first, then integrated ones, virtual ones, and software.
Opened open_vulkan(std::uint32_t device);

}  // namespace vyre
