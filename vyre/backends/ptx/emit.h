// A program as a kernel in PTX, the assembly text of NVIDIA GPUs.
//
// A kernel's parameters are, in this order:
//   for each buffer but workgroup memory, as they are declared
//     .u64  its address, a multiple of 256
//     .u32  its length in elements
//   or, where there are more than kPtxMaxDirect of them
//     .u64  the address of a table in the GPU's memory with 16 bytes for each of them: its address
//           (8 bytes), its length (4), and 4 that are not used
//   .u32 x 3  the number of the first workgroup of the launch on each axis
//   .u32 x 2  the workgroups of the whole dispatch along x and y
// A launch has blocks of `shape.block` threads: along x one for each `shape.groups` workgroups,
// along y one for each `shape.rows`, and along z one for each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/backends/ptx/target.h"
#include "vyre/base/result.h"
#include "vyre/passes/bounds.h"

namespace vyre {

inline constexpr std::size_t kPtxMaxDirect = 200;  // buffers; parameters have 4 KiB in all

struct PtxKernel {
  std::string entry;  // its name
  std::string text;   // to stand behind ptx_header(); others may stand beside it
  std::string file;   // that its lines are from, if it has any: the header's
  PtxShape shape;
  std::uint32_t dynamic_shared = 0;  // bytes of shared memory that the host asks for at a launch
  bool has_table = false;            // of buffers, instead of parameters for each
};

// Where the statements of a program come from: by statement the line, or 0.
using PtxLines = std::vector<std::uint32_t>;

// Of an optimised program, with what is known of its accesses. `entry` is the kernel's name, made
// from the program's when it is empty. With `lines`, those of file 1 of the header.
Result<PtxKernel> emit_ptx(const Program& program, const Bounds& bounds,
                           std::string_view entry = {}, const PtxLines& lines = {});

// The lines that statements of the optimised program have: of those that write what a single
// statement of the source writes. Nothing where the source has none.
PtxLines ptx_lines(const Program& optimised, const Program& source,
                   const std::vector<std::uint32_t>& source_lines);

// An optimised program as it is emitted, with a few rounds of long loops at a time.
Program finish_ptx(const Program& program);

// A linked program, right for every dispatch, with those of its lines that can be told.
Result<PtxKernel> compile_ptx(const Linked& linked, std::string_view entry = {});

}  // namespace vyre
