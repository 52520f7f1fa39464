// A lowered program as a shader: the walk that SPIR-V and WGSL share. It spells nothing itself.
#pragma once

#include "vyre/backends/shader.h"
#include "vyre/backends/shader_speller.h"
#include "vyre/passes/lowered.h"

namespace vyre {

// For a target without collectives; with uniform loads, it says them as `same_for_all`.
ShaderCall write_shader(const Lowered& lowered, ShaderSpeller& speller);

}  // namespace vyre
