#include "vyre/backends/ptx/target.h"

#include <algorithm>

namespace vyre {
namespace {

constexpr std::uint32_t kBlock = 256;  // threads that are worth starting
constexpr std::uint32_t kWarp = 32;

}  // namespace

bool ptx_is_free(const Program& program) {
  const auto is_workgroup = [](const BufferDecl& buffer) {
    return buffer.access == BufferAccess::Workgroup;
  };
  const auto is_barrier = [](const Stmt& stmt) { return std::holds_alternative<Barrier>(stmt); };
  return std::ranges::none_of(program.buffers, is_workgroup) &&
         std::ranges::none_of(program.body.stmts, is_barrier);
}

Result<PtxShape> ptx_shape(const Program& program, const PtxCopies& copies) {
  const auto& size = program.workgroup_size;
  const std::uint64_t threads = std::uint64_t{size[0]} * size[1];
  // Each factor has 32 bits.
  if (threads > kPtxMaxThreads || threads * size[2] > kPtxMaxThreads) {
    const std::uint64_t most = ~std::uint64_t{0};
    const std::uint64_t all = threads > most / size[2] ? most : threads * size[2];
    return diagnose<message::large_workgroup>(program.name, all, "a GPU", kPtxMaxThreads);
  }
  if (size[2] > kPtxMaxThreadsZ) {
    return diagnose<message::large_axis>(program.name, size[2], "z", "a GPU", kPtxMaxThreadsZ);
  }
  PtxShape shape{size};
  const auto count = static_cast<std::uint32_t>(threads * size[2]);
  if (ptx_is_free(program) && count <= kBlock / 2) {
    // As many as fit, and whole warps where that is possible.
    shape.groups = kBlock / count;
    for (std::uint32_t fewer = shape.groups; fewer > 1; --fewer) {
      if (fewer * count % kWarp != 0) continue;
      shape.groups = fewer;
      break;
    }
    shape.block[0] *= shape.groups;
  }
  shape.copies = copies.count;
  (copies.axis == 0 ? shape.groups : shape.rows) *= copies.count;
  return shape;
}

std::string ptx_header(std::string_view file) {
  std::string text =
      ".version 6.3\n.target sm_75\n.address_size 64\n"
      ".visible .const .align 8 .u64 _zero = 0;\n";
  if (file.empty()) return text;
  text += ".file 1 \"";
  for (const char c : file) text += c >= ' ' && c <= '~' && c != '"' && c != '\\' ? c : '?';
  return text + "\"\n";
}

}  // namespace vyre
