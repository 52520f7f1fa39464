// A program as machine code for a CPU, with the invocations of a workgroup side by side in vectors.
//
// The code is called as one function:
//   void vyre_kernel(const std::uint64_t* arguments, std::uint64_t begin, std::uint64_t end,
//                    std::byte* scratch)
// It runs the workgroups with the numbers [begin, end), x running fastest. The arguments are the
// address and the length of each buffer in the order of declaration, and after them one word for
// each CpuArgument. `scratch` is memory of the calling thread alone, aligned to kScratchAlign.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "vyre/backends/cpu/llvm.h"
#include "vyre/base/result.h"
#include "vyre/passes/lowered.h"

namespace vyre {

enum class CpuArgument : std::uint8_t {
  GroupsX,  // workgroups on each axis
  GroupsY,
  GroupsZ,
  InvocationsX,
  InvocationsY,
  RowSize,  // invocations of a workgroup along x, where that is free
  GridX,    // workgroups of the dispatch on each axis
  GridY,
  GridZ,
  Streams,  // 1 where the buffers are larger than the caches
  Stop,     // the address of a byte that somebody sets to end the run early
  Count,
};
// Where it is in the arguments of a program with so many buffers.
constexpr std::size_t argument_at(std::size_t buffers, CpuArgument which) {
  return 2 * buffers + static_cast<std::size_t>(which);
}

// What code is made for.
struct CpuTarget {
  std::string triple;
  std::string name;           // of the CPU, as LLVM calls it
  std::string features;       // "+avx2,-avx512f"
  unsigned width = 8;         // invocations in a vector
  unsigned bits = 256;        // of the vectors that the CPU is good at
  unsigned registers = 16;    // for vectors
  bool gathers = true;        // has instructions for it
  bool slow_gathers = false;  // slower than a load for each lane
  bool is_scalar = false;     // lanes are numbers of their own, not in vectors
  // Programs of more than so many instructions are written in functions of about so many.
  std::uint64_t large = 6000;
  std::uint64_t piece = 1000;

  friend bool operator==(const CpuTarget&, const CpuTarget&) = default;
};

// Whether lanes are in vectors, and masks in registers of their own.
inline bool has_masks(const CpuTarget& target) { return target.bits == 512 && !target.is_scalar; }
// Whether its vectors are tables of bytes: it looks up as many at once.
inline bool permutes_bytes(const CpuTarget& target) {
  return has_masks(target) && target.features.find("+avx512vbmi") != std::string::npos &&
         target.features.find("-avx512bw") == std::string::npos;
}
inline bool is_avx2(const CpuTarget& target) { return target.name == "x86-64-v3"; }

struct CpuCode {
  std::string object;                             // an ELF object with vyre_kernel
  std::array<std::uint32_t, 3> workgroup_size{};  // as the code has it
  bool is_limited = false;                        // there may be fewer invocations than places
  std::uint64_t scratch_bytes = 0;                // that a thread needs
  std::uint64_t stack_bytes = 0;                  // that a call takes, at most
};

// Scratch begins at a multiple of this.
inline constexpr std::uint64_t kScratchAlign = 512;

enum class CpuText : std::uint8_t { Llvm, Assembly };

// Of a program that was lowered for a CPU.
Result<CpuCode> emit_cpu(const llvm::Api& api, const Lowered& lowered);
// The same for people.
Result<std::string> print_cpu(const llvm::Api& api, const Lowered& lowered, CpuText what);

}  // namespace vyre
