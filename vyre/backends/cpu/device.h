// The CPU as a device: all cores, and vectors across invocations.
#pragma once

#include "vyre/backends/backend.h"

namespace vyre {

Opened open_cpu(std::uint32_t device);

}  // namespace vyre
