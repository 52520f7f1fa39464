#include "vyre/backends/cpu/device.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

#include "vyre/backends/cache.h"
#include "vyre/backends/cpu/code.h"
#include "vyre/backends/cpu/host_memory.h"
#include "vyre/backends/cpu/object.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/backends/pool.h"
#include "vyre/base/text.h"
#include "vyre/base/thread.h"
#include "vyre/base/zeroed.h"

namespace vyre {
namespace {

// Vectors are read and written at their own alignment, and lines are not shared.
constexpr std::size_t kAlign = 64;
// Work for which another thread is not worth waking: invocations times expressions.
constexpr std::uint64_t kSmall = 200'000;
// Rounds that a loop may be thought to have.
constexpr std::uint64_t kRounds = 64;
// Invocations of a workgroup whose length is free: a multiple of what all kinds of gangs have.
constexpr std::uint64_t kGang = kMaxLanes;
constexpr std::uint64_t kLongest = 4096;
constexpr unsigned kMaxThreads = 1024;
// What a thread takes first: about a millisecond of it.
constexpr std::uint64_t kPiece = 8'000'000;
// What code may take of its caller's stack, which may be small. What needs more runs on a thread of
// its own, where a signal that arrives meanwhile is handled too.
constexpr std::uint64_t kMaxCallerStack = 48 << 10;
constexpr std::uint64_t kForSignals = 64 << 10;
// A gang may look at elements up to its width below 0: no buffer reaches there from above.
constexpr std::uint64_t kMaxElements = (std::uint64_t{1} << 32) - 256;
constexpr std::uint64_t kMaxBuffer = kMaxElements * 4;

struct HostMemory : DeviceMemory {
  HostBytes bytes;
};

struct CodeKernel : Kernel {
  Linked source;
  std::shared_ptr<const CpuProgram> program;
  std::shared_ptr<const LoadedCode> code;
  std::uint64_t work = 0;  // of an invocation: expressions, each as often as it may be computed
};

// That a core has for itself.
std::uint64_t cache_bytes() {
  static const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : std::uint64_t{1} << 20;
}

// The memory of a thread for workgroups.
class Scratch {
 public:
  // Null if there is not enough memory.
  std::byte* get(std::uint64_t size, Guard guard) {
    size = (size + kScratchAlign - 1) / kScratchAlign * kScratchAlign;
    // A guard touches the end of what is asked for.
    const bool fits = guard == Guard::None ? size <= size_ : size == size_;
    if (!fits || bytes_.begin() == nullptr) {
      bytes_ = {};  // before there are others
      bytes_ = HostBytes(size, kScratchAlign, guard);
      size_ = size;
    }
    return bytes_.begin();
  }

 private:
  HostBytes bytes_;
  std::uint64_t size_ = 0;
};

class CpuDevice : public Device {
 public:
  // `limits` is what people should know besides.
  CpuDevice(const CpuTarget& target, Guard guard, const std::string& limits) : guard_(guard) {
    info_.backend = "cpu";
    info_.name = std::to_string(worker_count()) + " cores, vectors of " +
                 std::to_string(target.width) + " invocations" + limits;
    info_.max_invocations = 65536;
    info_.max_workgroup_size = {65536, 65536, 65536};
    info_.max_workgroup_bytes = std::uint64_t{64} << 20;
    info_.max_buffer_bytes = std::min(physical_memory() / 2, kMaxBuffer);
  }

  const DeviceInfo& info() const override { return info_; }

  Result<std::unique_ptr<Kernel>> load(const Artifact& artifact) override {
    const Program& program = artifact.linked.program();
    auto kernel = std::make_unique<CodeKernel>();
    std::string reason = "it was not made for this backend";
    if (artifact.backend == info_.backend) {
      kernel->program = std::static_pointer_cast<const CpuProgram>(artifact.code);
      kernel->code = kernel->program->load(reason);
    }
    if (kernel->code == nullptr) return diagnose<message::no_machine_code>(program.name, reason);
    kernel->source = artifact.linked;
    const bool loops = std::ranges::any_of(
        program.body.stmts, [](const Stmt& stmt) { return std::holds_alternative<For>(stmt); });
    kernel->work = std::max<std::size_t>(1, program.body.exprs.size()) * (loops ? kRounds : 1);
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Result<std::unique_ptr<DeviceMemory>> allocate(std::uint64_t bytes) override {
    auto memory = std::make_unique<HostMemory>();
    if (bytes <= info_.max_buffer_bytes) memory->bytes = HostBytes(bytes, kAlign, guard_);
    if (memory->bytes.begin() == nullptr) {
      return diagnose<message::out_of_memory>(bytes, info_.name);
    }
    return std::unique_ptr<DeviceMemory>(std::move(memory));
  }

  Result<void> write(DeviceMemory& memory, std::uint64_t offset,
                     std::span<const std::byte> bytes) override {
    std::ranges::copy(bytes, static_cast<HostMemory&>(memory).bytes.begin() + offset);
    return {};
  }

  Result<void> read(const DeviceMemory& memory, std::uint64_t offset,
                    std::span<std::byte> bytes) override {
    std::copy_n(static_cast<const HostMemory&>(memory).bytes.begin() + offset, bytes.size(),
                bytes.begin());
    return {};
  }

  Result<std::vector<double>> run(std::span<const Launch> launches,
                                  const RunOptions& options) override {
    std::vector<double> seconds;
    for (const Launch& launch : launches) {
      const auto begin = std::chrono::steady_clock::now();
      if (const Result<void> done = run_one(launch, options); !done) return done.diagnostics();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      seconds.push_back(took.count());
    }
    return seconds;
  }

 private:
  Result<void> run_one(const Launch& launch, const RunOptions& options) const {
    const auto& kernel = static_cast<const CodeKernel&>(*launch.kernel);
    const CpuProgram& program = *kernel.program;
    const unsigned threads =
        options.threads == 0 ? worker_count() : std::min(options.threads, kMaxThreads);
    static const std::atomic<bool> never = false;
    const std::atomic<bool>& stop = options.stop != nullptr ? *options.stop : never;
    const Call call = call_of(launch, kernel, threads, stop);
    if (call.groups == 0) return {};

    std::uint64_t work = kernel.work;  // of a workgroup
    for (std::uint64_t each : call.size) work *= each;
    const bool is_small = call.groups < kSmall && call.groups * std::min(work, kSmall) < kSmall;
    Job job;
    job.count = call.groups;
    job.threads = is_small ? 1 : threads;
    // Each thread has memory of its own, which may be much.
    const std::uint64_t own = program.scratch_bytes + program.stack_bytes;
    const std::uint64_t fitting = own == 0 ? threads : physical_memory() / 2 / own;
    if (fitting == 0) return diagnose<message::out_of_memory>(own, info_.name);
    job.threads = static_cast<unsigned>(std::min<std::uint64_t>(job.threads, fitting));
    job.piece = kPiece / work + 1;
    std::atomic<bool> lacks_memory = false;
    job.work = [&](std::uint64_t begin, std::uint64_t end) {
      if (!run_groups(kernel, call, begin, end)) lacks_memory = true;
    };
    job.stopped = [&] { return stop.load(std::memory_order_relaxed); };
    if (options.progress) {
      job.progress = [&](std::uint64_t done) {
        options.progress(static_cast<double>(done) / static_cast<double>(call.groups));
      };
    }
    run_job(job);
    if (lacks_memory) return diagnose<message::out_of_memory>(own, info_.name);
    if (job.stopped()) return diagnose<message::interrupted>();
    return {};
  }

  // What the code of a launch is called with.
  struct Call {
    std::vector<std::uint64_t> arguments;
    std::array<std::uint64_t, 3> size{};  // of the workgroups that the code has
    std::uint64_t groups = 1;             // how many of them
  };
  static Call call_of(const Launch& launch, const CodeKernel& kernel, unsigned threads,
                      const std::atomic<bool>& stop) {
    const Program& program = kernel.source;
    const std::size_t count = count_declared(program.buffers);
    Call call{std::vector<std::uint64_t>(argument_at(count, CpuArgument::Count))};
    const auto argument = [&](CpuArgument which) -> std::uint64_t& {
      return call.arguments[argument_at(count, which)];
    };
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      total += launch.buffers[i].bytes;
      const auto* memory = static_cast<const HostMemory*>(launch.buffers[i].memory);
      if (memory != nullptr)
        call.arguments[2 * i] = reinterpret_cast<std::uint64_t>(memory->bytes.begin());
      call.arguments[2 * i + 1] = launch.buffers[i].bytes / stride(program.buffers[i].element);
    }
    std::array<std::uint64_t, 3> invocations{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      invocations[axis] = std::uint64_t{launch.grid[axis]} * program.workgroup_size[axis];
      call.size[axis] = kernel.program->workgroup_size[axis];
      call.arguments[argument_at(count, CpuArgument::GridX) + axis] = launch.grid[axis];
    }
    // Where the length of workgroups is free, there are enough of them for all threads.
    if (kernel.program->is_limited) {
      const std::uint64_t rows = invocations[1] * invocations[2];
      const std::uint64_t share = invocations[0] * rows / (8 * threads) + 1;
      call.size[0] = std::clamp((share + kGang - 1) / kGang * kGang, kGang, kLongest);
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::uint64_t along = (invocations[axis] + call.size[axis] - 1) / call.size[axis];
      call.arguments[argument_at(count, CpuArgument::GroupsX) + axis] = along;
      // More than that would never end.
      constexpr std::uint64_t kEndless = std::uint64_t{1} << 62;
      const bool is_endless = __builtin_mul_overflow(call.groups, along, &call.groups);
      if (is_endless || call.groups > kEndless) call.groups = kEndless;
    }
    argument(CpuArgument::InvocationsX) = invocations[0];
    argument(CpuArgument::InvocationsY) = invocations[1];
    argument(CpuArgument::RowSize) = call.size[0];
    argument(CpuArgument::Streams) = total > 2 * cache_bytes() * worker_count() ? 1 : 0;
    static_assert(sizeof stop == 1 && std::atomic<bool>::is_always_lock_free);
    argument(CpuArgument::Stop) = reinterpret_cast<std::uint64_t>(&stop);
    return call;
  }

  // Workgroups [begin, end), on this thread; false: it lacks memory.
  bool run_groups(const CodeKernel& kernel, const Call& call, std::uint64_t begin,
                  std::uint64_t end) const {
    thread_local Scratch scratch;
    std::byte* memory = scratch.get(kernel.program->scratch_bytes, guard_);
    if (memory == nullptr) return false;
    const auto run = [&] { kernel.code->kernel(call.arguments.data(), begin, end, memory); };
    const std::uint64_t bytes = kernel.program->stack_bytes;
    if (bytes <= kMaxCallerStack) {
      run();
      return true;
    }
    Thread thread;
    return thread.start(run, bytes + kForSignals);
  }

  DeviceInfo info_;
  Guard guard_ = Guard::None;
};

}  // namespace

Opened open_cpu(std::uint32_t) {
  if (!wanted_pieces()) {
    return {nullptr, "VYRE_CPU_PIECES is not a number; unset it, or set it to one from 20"};
  }
  const std::optional<CpuTarget> target = host_target();
  if (!target) {
    const char* wanted = std::getenv("VYRE_CPU");
    if (wanted == nullptr) return {nullptr, "it has no code for this machine"};
    std::string known;
    for (std::string_view name : cpu_targets()) {
      if (runs_here(name)) known += (known.empty() ? "" : ", ") + std::string(name);
    }
    return {nullptr, "this machine does not run what VYRE_CPU asks for, `" + shorten(wanted) +
                         "`; unset it, or set it to one of " + known};
  }
  const std::optional<Guard> guard = wanted_guard();
  if (!guard)
    return {nullptr,
            "VYRE_GUARD is neither `end` nor `begin`; unset it, or set it to one of these"};
  // Without LLVM it runs what the cache has, and is of no use where that is empty.
  std::string reason;
  const bool compiles = llvm::finds_llvm(reason);
  if (!compiles && cache_stats().files == 0) return {nullptr, reason};
  const std::string limits = compiles ? "" : ", only programs in the cache: " + reason;
  return {std::make_unique<CpuDevice>(*target, *guard, limits), {}};
}

}  // namespace vyre
