// What code is made for: NVIDIA GPUs from sm_75 on. The text is the same for all of them, and the
// driver makes machine code of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "vyre/backends/ptx/copies.h"
#include "vyre/base/result.h"
#include "vyre/ir/program.h"

namespace vyre {

inline constexpr std::uint32_t kPtxMaxThreads = 1024;      // of a block
inline constexpr std::uint32_t kPtxMaxThreadsZ = 64;       // of those along z
inline constexpr std::uint32_t kPtxMaxShared = 227 << 10;  // bytes, on the largest
// Up to here a kernel takes it itself; for more the host has to ask at the launch.
inline constexpr std::uint32_t kPtxMaxStaticShared = 48 << 10;

// How workgroups lie on blocks of threads: `groups` of them side by side along x, `rows` along y. A
// block starts so slowly that short programs spend their time on it unless blocks are large; along
// x the lanes of a warp touch neighbouring elements; and a thread that runs the invocations of
// several workgroups has more loads under way.
struct PtxShape {
  std::array<std::uint32_t, 3> block{1, 1, 1};  // threads
  std::uint32_t groups = 1;
  std::uint32_t rows = 1;
  std::uint32_t copies = 1;  // workgroups of which each thread runs an invocation at once
  std::uint32_t steps = 1;   // and how often it does that; those along x follow each other

  // Blocks that have all workgroups along x, and along y.
  std::uint64_t blocks_x(std::uint64_t workgroups) const {
    return (workgroups + groups - 1) / groups;
  }
  std::uint64_t blocks_y(std::uint64_t workgroups) const { return (workgroups + rows - 1) / rows; }
  friend bool operator==(const PtxShape&, const PtxShape&) = default;
};

// Of blocks that gather updates: for so many invocations that gathering them pays.
inline constexpr std::uint32_t kPtxSteps = 16;

// t / by for threads t of a block is t * ptx_reciprocal(by) >> kPtxReciprocalShift, in 32 bits.
inline constexpr std::uint32_t kPtxReciprocalShift = 20;
constexpr std::uint32_t ptx_reciprocal(std::uint32_t by) {
  return ((1u << kPtxReciprocalShift) + by - 1) / by;
}

// Whether workgroups can share a block: they do not wait, and have no memory of their own.
bool ptx_is_free(const Program& program);

// B001 where a workgroup is larger than a block may be.
Result<PtxShape> ptx_shape(const Program& program, const PtxCopies& copies);

// What stands in front of the kernels of a module. `file`: where their lines are from.
std::string ptx_header(std::string_view file = {});

}  // namespace vyre
