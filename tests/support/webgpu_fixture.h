// A WebGPU device for tests.
#pragma once

#include "tests/support/drivers.h"
#include "vyre/backends/wgsl/device.h"

namespace vyre {

inline constexpr const char* kSoftwareDriver = "/usr/lib/chromium/vk_swiftshader_icd.json";
inline constexpr const char* kDriverVariable = "VK_ICD_FILENAMES";

inline Opened open_test_webgpu() {
  const DawnDriver driver;
  return open_webgpu(0);
}

}  // namespace vyre
