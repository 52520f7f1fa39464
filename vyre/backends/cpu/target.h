// What this machine's CPU can do, found without LLVM: it is part of the key of cached code.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vyre/backends/cpu/emit.h"

namespace vyre {

// "avx512", "avx2", "sse4.2", "x86-64", "aarch64".
std::span<const std::string_view> cpu_targets();
// One of them; nothing for another name. VYRE_CPU_PIECES=N makes it write every program in pieces.
std::optional<CpuTarget> find_cpu_target(std::string_view name);
// The value of VYRE_CPU_PIECES: 0 where it is not set, nothing where it is not a number.
std::optional<std::uint64_t> wanted_pieces();
// Whether this machine runs code for it.
bool runs_here(std::string_view name);
// The best that runs here, or the one that VYRE_CPU names; nothing where that does not run.
std::optional<CpuTarget> host_target();

// What programs are lowered for, to run there.
Target lowering_for(const CpuTarget& target);
// What a program was lowered for, with the lanes that it runs in.
CpuTarget target_of(const Lowered& lowered);

}  // namespace vyre
