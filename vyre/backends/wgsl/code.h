// Programs as WGSL, by variant.
#pragma once

#include "vyre/backends/backend.h"
#include "vyre/backends/variants.h"
#include "vyre/backends/wgsl/emit.h"

namespace vyre {

using WgslProgram = VariantCode<WgslKernel>;

extern const Emitter kWgslEmitter;

}  // namespace vyre
