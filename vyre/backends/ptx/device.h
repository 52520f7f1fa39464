// NVIDIA GPUs as devices, through the CUDA driver.
#pragma once

#include "vyre/backends/backend.h"

namespace vyre {

Result<Artifact> emit_ptx_artifact(const Linked& linked);
Opened open_cuda(std::uint32_t device);

}  // namespace vyre
