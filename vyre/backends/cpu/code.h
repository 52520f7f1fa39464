// Machine code of programs, made once: it is kept in memory and in the user's cache folder, under
// what it depends on.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "vyre/backends/cpu/emit.h"
#include "vyre/ir/program.h"

namespace vyre {

Result<CpuReady> prepare_cpu(const Linked& linked, const CpuTarget& target);

// All that running a program takes.
struct CpuProgram {
  std::string key;  // of what it was made from: equal keys, equal code
  std::array<std::uint32_t, 3> workgroup_size{};  // as the code has it
  bool is_limited = false;
  std::uint64_t scratch_bytes = 0;
  std::uint64_t stack_bytes = 0;
  std::string object;
};

// As bytes, and back; nothing where they are not those of a program.
std::string pack(const CpuProgram& program);
std::optional<CpuProgram> unpack(std::string_view bytes);

// From the cache, or compiled.
Result<CpuProgram> compile_cpu(const Linked& linked, const CpuTarget& target);

// What LLVM is given and makes, for people.
Result<std::string> show_cpu(const Linked& linked, const CpuTarget& target, CpuText what);

}  // namespace vyre
