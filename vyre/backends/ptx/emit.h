// A program as a kernel in PTX, the assembly text of NVIDIA GPUs.
//
// A kernel's parameters are, in this order:
//   for each buffer but workgroup memory, as they are declared
//     .u64  its address, a multiple of 256
//     .u32  its length in elements
//   or, where there are more than kPtxMaxDirect of them
//     .u64  the address of a table in the GPU's memory with 16 bytes for each of them: its address
//           (8 bytes), its length (4), and 4 that are not used
//   .u32 x 3  the number of the first block of the launch on each axis
//   .u32 each the words of `launch`
//   .u32 x 3  the workgroups of the dispatch on each axis; only where the program asks for them
// A launch has blocks of `block` threads, each of which is a workgroup of the lowered program.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "vyre/backends/ptx/target.h"
#include "vyre/base/result.h"
#include "vyre/passes/lowered.h"

namespace vyre {

inline constexpr std::size_t kPtxMaxDirect = 200;  // buffers; parameters have 4 KiB in all

struct PtxKernel {
  std::string entry;  // its name
  std::string text;   // to be written after ptx_header(), alone or with other kernels
  std::string file;   // that its lines are from, if it has any: the header's
  LaunchShape launch;
  std::array<std::uint32_t, 3> block{1, 1, 1};  // threads
  std::uint32_t dynamic_shared = 0;  // bytes of shared memory that the host asks for at a launch
  bool has_table = false;            // of buffers, instead of parameters for each
  bool counts_workgroups = false;    // of the dispatch
};

// `entry` is the kernel's name, made from the program's when it is empty. The lines are those of
// file 1 of the header. B001 or B002 where a block cannot be so large.
Result<PtxKernel> emit_ptx(const Lowered& lowered, std::string_view entry = {});

}  // namespace vyre
