#include "bench/cpu/checks.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>

#include "bench/vyre_side.h"
#include "vyre/backends/cpu/code.h"
#include "vyre/backends/cpu/object.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/backends/pool.h"
#include "vyre/passes/pass.h"

namespace bench {
namespace {

// Code with what it is called with.
class Version {
 public:
  Version(const vyre::Lowered& lowered, bool checked, std::string& error) {
    vyre::Lowered version = lowered;
    if (!checked) {
      for (vyre::CheckedAccess& access : version.bounds.accesses) {
        access.verdict = vyre::CheckedAccess::Verdict::Proved;
      }
    }
    const vyre::llvm::Api* api = vyre::llvm::load_llvm(error);
    if (api == nullptr) return;
    const vyre::Result<vyre::CpuCode> code = emit_cpu(*api, version);
    if (!code) {
      error = render(code.diagnostics()[0]);
      return;
    }
    scratch_bytes_ = code->scratch_bytes;
    code_ = vyre::load_object(code->object, error);
  }

  void run(const std::vector<std::uint64_t>& arguments, std::uint64_t begin,
           std::uint64_t end) const {
    thread_local std::vector<std::byte> scratch;
    constexpr std::uint64_t kAlign = vyre::kScratchAlign;
    scratch.resize(scratch_bytes_ + kAlign);
    std::byte* memory = scratch.data();
    memory += (kAlign - reinterpret_cast<std::uintptr_t>(memory) % kAlign) % kAlign;
    code_->kernel(arguments.data(), begin, end, memory);
  }

 private:
  std::uint64_t scratch_bytes_ = 0;
  std::shared_ptr<const vyre::LoadedCode> code_;
};

// Invocations of a workgroup, where that is free.
constexpr std::uint64_t kRow = 4096;

// What code is called with for a grid of workgroups as the program is written; and how many it has.
std::vector<std::uint64_t> arguments_of(const vyre::Lowered& lowered, const vyre::Linked& linked,
                                        const std::vector<std::vector<u32>>& buffers,
                                        const vyre::Grid& grid, std::uint64_t& groups) {
  using vyre::CpuArgument;
  const std::size_t count = count_declared(lowered.program.buffers);
  std::vector<std::uint64_t> all(argument_at(count, CpuArgument::Count));
  const auto argument = [&](CpuArgument which, std::size_t axis = 0) -> std::uint64_t& {
    return all[argument_at(count, which) + axis];
  };
  std::size_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const vyre::BufferDecl& buffer = lowered.program.buffers[i];
    if (!is_bound(buffer.access)) continue;
    all[2 * i] = reinterpret_cast<std::uint64_t>(buffers[next].data());
    all[2 * i + 1] = buffers[next].size() * 4 / vyre::stride(buffer.element);
    ++next;
  }
  groups = 1;
  std::array<std::uint64_t, 3> invocations{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    invocations[axis] = std::uint64_t{grid[axis]} * linked.program().workgroup_size[axis];
    const bool is_free = lowered.launch.is_free && axis == 0;
    const std::uint64_t size = is_free ? kRow : lowered.program.workgroup_size[axis];
    argument(CpuArgument::GridX, axis) = grid[axis];
    argument(CpuArgument::GroupsX, axis) = (invocations[axis] + size - 1) / size;
    groups *= argument(CpuArgument::GroupsX, axis);
  }
  static const char never = 0;
  argument(CpuArgument::InvocationsX) = invocations[0];
  argument(CpuArgument::InvocationsY) = invocations[1];
  argument(CpuArgument::RowSize) = kRow;
  argument(CpuArgument::Stop) = reinterpret_cast<std::uint64_t>(&never);
  return all;
}

// The instructions of a call, one by one, in a process of its own; below zero: it cannot be
// watched.
template <class Call>
double instructions(Call call) {
  const pid_t child = fork();
  if (child == 0) {
    call();  // memory is there now
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    call();
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  double count = -1;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return -1;
  do {
    ++count;
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) return -1;
    waitpid(child, &status, 0);
  } while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return count;
}

double seconds(const Version& version, const std::vector<std::uint64_t>& arguments,
               std::uint64_t groups) {
  vyre::Job job;
  job.count = groups;
  job.threads = vyre::worker_count();
  job.piece = groups / (8 * job.threads) + 1;
  job.work = [&](std::uint64_t begin, std::uint64_t end) { version.run(arguments, begin, end); };
  job.stopped = [] { return false; };
  const auto begin = std::chrono::steady_clock::now();
  run_job(job);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Checks count_checks(const vyre::Linked& linked, const std::vector<std::vector<u32>>& buffers,
                    const vyre::Grid& grid, const vyre::Grid& few, int runs) {
  Checks checks;
  const vyre::Result<vyre::Lowered> lowered = lower(linked, *vyre::find_backend("cpu"));
  if (!lowered) {
    checks.error = render(lowered.diagnostics()[0]);
    return checks;
  }
  const Version with(*lowered, true, checks.error);
  const Version without(*lowered, false, checks.error);
  if (!checks.error.empty()) return checks;
  std::uint64_t groups = 0;
  std::array<std::uint32_t, 3> twice{few[0], few[1], few[2]};
  twice[grid[1] > 1 ? 1 : 0] *= 2;
  // The difference of twice as much: what happens at the edges of a grid is not what counts.
  const auto marginal = [&](const Version& version) {
    double counts[2];
    for (const bool is_twice : {false, true}) {
      const vyre::Grid part = is_twice ? vyre::Grid(twice[0], twice[1], twice[2]) : few;
      const auto arguments = arguments_of(*lowered, linked, buffers, part, groups);
      counts[is_twice ? 1 : 0] = instructions([&] { version.run(arguments, 0, groups); });
      if (counts[is_twice ? 1 : 0] < 0) checks.error = "instructions cannot be counted here";
    }
    return counts[1] - counts[0];
  };
  checks.with = marginal(with);
  checks.without = marginal(without);
  const auto all = arguments_of(*lowered, linked, buffers, grid, groups);
  std::vector<double> slow;
  std::vector<double> fast;
  for (int i = 0; i < runs; ++i) {
    slow.push_back(seconds(with, all, groups));
    fast.push_back(seconds(without, all, groups));
  }
  checks.time = median(fast) / median(slow);
  return checks;
}

}  // namespace bench
