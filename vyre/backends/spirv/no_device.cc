// Instead of the device, where vyre is built without Vulkan's headers.
#include "vyre/backends/spirv/device.h"

namespace vyre {

Opened open_vulkan(std::uint32_t) {
  return {nullptr,
          "this vyre was built without Vulkan's headers (install them, on Debian: apt install "
          "libvulkan-dev, and build it again)"};
}

}  // namespace vyre
