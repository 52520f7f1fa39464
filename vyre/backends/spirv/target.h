// What code is made for: Vulkan 1.1, whose devices all take SPIR-V 1.3.
#pragma once

#include <string_view>

#include "vyre/base/result.h"
#include "vyre/passes/lowered.h"

namespace vyre {

// Devices with shaderInt64.
inline constexpr std::string_view kSpirvInt64 = "int64";

// An empty kind is any device.
Result<Target> spirv_target(std::string_view kind);

}  // namespace vyre
