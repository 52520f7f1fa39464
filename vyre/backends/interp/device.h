// The interpreter as a backend: its artifact is the program itself, its device is the host.
#pragma once

#include "vyre/backends/backend.h"

namespace vyre {

Result<Artifact> emit_interp(const Linked& linked);
Opened open_interp(std::uint32_t device);

}  // namespace vyre
