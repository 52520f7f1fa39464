// Programs as SPIR-V, by variant.
#pragma once

#include "vyre/backends/backend.h"
#include "vyre/backends/spirv/emit.h"
#include "vyre/backends/variants.h"

namespace vyre {

using SpirvProgram = VariantCode<SpirvKernel>;

extern const Emitter kSpirvEmitter;

}  // namespace vyre
