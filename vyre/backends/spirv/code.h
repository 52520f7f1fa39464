// Programs as SPIR-V, by variant.
#pragma once

#include "vyre/backends/spirv/emit.h"
#include "vyre/backends/variants.h"

namespace vyre {

using SpirvProgram = VariantCode<SpirvKernel>;

}  // namespace vyre
