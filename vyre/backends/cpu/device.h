// The CPU as a device: all cores, and vectors across invocations.
#pragma once

#include "vyre/backends/backend.h"

namespace vyre {

Result<Artifact> emit_cpu_artifact(const Linked& linked);
Opened open_cpu(std::uint32_t device);

}  // namespace vyre
