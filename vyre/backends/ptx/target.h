// What code is made for: NVIDIA GPUs from sm_75 on. The text is the same for all of them, and the
// driver makes machine code of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"
#include "vyre/passes/lowered.h"

namespace vyre {

inline constexpr std::uint32_t kPtxMaxThreads = 1024;      // of a block
inline constexpr std::uint32_t kPtxMaxThreadsZ = 64;       // of those along z
inline constexpr std::uint32_t kPtxMaxShared = 227 << 10;  // bytes, on the largest
// Up to here a kernel takes it itself; for more the host has to ask at the launch.
inline constexpr std::uint32_t kPtxMaxStaticShared = 48 << 10;

Target ptx_target();

inline bool is_workgroup(const BufferDecl& buffer) {
  return buffer.access == BufferAccess::Workgroup;
}
// What workgroup memory takes of a block's.
std::uint64_t ptx_shared_bytes(const BufferDecl& buffer);

// B001 where a workgroup is larger than a block may be, B002 where its memory is.
std::optional<Diagnostic> ptx_refuses(const Program& program);

// What a module begins with, before its kernels. `file`: where their lines are from.
std::string ptx_header(std::string_view file = {});

}  // namespace vyre
