// Programs as PTX, by variant.
#pragma once

#include <string>

#include "vyre/backends/backend.h"
#include "vyre/backends/ptx/emit.h"
#include "vyre/backends/variants.h"

namespace vyre {

using PtxProgram = VariantCode<PtxKernel>;

extern const Emitter kPtxEmitter;

// A module with that kernel alone.
std::string ptx_module(const PtxKernel& kernel);

}  // namespace vyre
