// A WebGPU device for tests: the one that there is, or else Dawn on the software driver of Debian's
// chromium.
#pragma once

#include <unistd.h>

#include <cstdlib>

#include "vyre/backends/wgsl/device.h"

namespace vyre {

inline constexpr const char* kSoftwareDriver = "/usr/lib/chromium/vk_swiftshader_icd.json";
inline constexpr const char* kDriverVariable = "VK_ICD_FILENAMES";

// The variable is set while Dawn looks for drivers, and no longer: other tests use other drivers.
inline Opened open_test_webgpu() {
  const bool is_chosen = std::getenv(kDriverVariable) != nullptr;
  if (!is_chosen && access(kSoftwareDriver, R_OK) == 0) {
    setenv(kDriverVariable, kSoftwareDriver, 1);
  }
  Opened opened = open_webgpu(0);
  if (!is_chosen) unsetenv(kDriverVariable);
  return opened;
}

}  // namespace vyre
