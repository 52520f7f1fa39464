// What code is made for: WebGPU, whose language has numbers of 32 bits and nothing more.
#pragma once

#include "vyre/passes/lowered.h"

namespace vyre {

Target wgsl_target();

}  // namespace vyre
