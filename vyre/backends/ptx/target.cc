#include "vyre/backends/ptx/target.h"

#include "vyre/backends/ptx/collective.h"
#include "vyre/ir/run.h"

namespace vyre {
namespace {

// Larger workgroups gain nothing; more memory leaves room for few of them.
constexpr GpuLimits kShapes{.invocations = 256, .memory = 24 << 10};

}  // namespace

Target ptx_target() {
  return {.name = "sm_75",
          .capabilities = {.u128_multiply = false,
                           .u128_divide = false,
                           .u128_rest = false,
                           .cast = false,
                           .abs_diff = false,
                           .saturate = false,
                           .signed_saturate = false},
          .shape = [](const Program& program) { return shape_for_gpu(program, kShapes); },
          .zeroed_memory = false,
          .has_lines = true};
}

// Whole stretches that one instruction moves.
std::uint64_t ptx_shared_bytes(const BufferDecl& buffer) {
  constexpr std::uint64_t kWide = 16;
  const std::uint64_t bytes = std::uint64_t{buffer.count} * stride(buffer.element);
  return (bytes + kWide - 1) / kWide * kWide;
}

std::optional<Diagnostic> ptx_refuses(const Program& program) {
  const auto& size = program.workgroup_size;
  if (const std::uint64_t threads = invocations_of(program); threads > kPtxMaxThreads) {
    return diagnose<message::large_workgroup>(program.name, threads, "a GPU", kPtxMaxThreads);
  }
  if (size[2] > kPtxMaxThreadsZ) {
    return diagnose<message::large_axis>(program.name, size[2], "z", "a GPU", kPtxMaxThreadsZ);
  }
  const std::uint64_t scratch = ptx_scratch(program).bytes();
  std::uint64_t shared = scratch;
  for (const BufferDecl& buffer : program.buffers) {
    if (is_workgroup(buffer)) shared += ptx_shared_bytes(buffer);
  }
  return refuse_memory(program.name, shared, scratch, "a GPU", kPtxMaxShared);
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
