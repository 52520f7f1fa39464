#include "vyre/backends/ptx/device.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "vyre/backends/launches.h"
#include "vyre/backends/ptx/code.h"
#include "vyre/backends/ptx/gpu.h"

namespace vyre {
namespace {

// A graph of more launches is not worth having.
constexpr std::uint64_t kMaxNodes = 4096;
struct CudaMemory : DeviceMemory {
  explicit CudaMemory(CudaGpu& owner) : gpu(owner) {}
  ~CudaMemory() override {
    if (pointer == 0) return;
    const auto entered = gpu.enter();
    gpu.free(pointer);
  }
  CudaGpu& gpu;
  cuda::Pointer pointer = 0;
  std::uint64_t bytes = 0;
  // `known` is read and written under `submitting`, so that it is what the stream sees.
};

CudaMemory& memory_of(const LaunchBuffer& buffer) {
  return static_cast<CudaMemory&>(*buffer.memory);
}

// A kernel with its machine code.
struct Ready {
  const PtxKernel* kernel = nullptr;
  std::shared_ptr<const CudaCode> code;
};

class CudaKernel : public Kernel {
 public:
  CudaKernel(CudaGpu& gpu, const Program& program, std::shared_ptr<const PtxProgram> made)
      : layout(program), gpu_(gpu), name_(program.name), program_(std::move(made)) {}

  // The code for such a launch: one with fewer checks where that is possible. Nothing where it has
  // to be made first.
  std::optional<Ready> find(const DispatchFacts& facts) const { return chosen_.find(facts); }
  Result<Ready> make(const DispatchFacts& facts) const {
    const Result<const PtxKernel*> kernel = program_->choose(facts);
    if (!kernel) return kernel.diagnostics();
    Result<std::shared_ptr<const CudaCode>> code = gpu_.load(**kernel, name_);
    if (!code) return code.diagnostics();
    const Ready ready{*kernel, std::move(*code)};
    chosen_.add(facts, ready, !gpu_.is_abandoned);  // to unload a module waits for what runs
    return ready;
  }

  // What the kernel is called with, except the place of the launch in the grid: for each buffer 16
  // bytes, with its address, its length and nothing.
  std::vector<std::byte> table(const Launch& launch) const {
    std::vector<std::byte> bytes;
    bytes.reserve(layout.buffers.size() * 16 + 16);
    for (std::size_t i = 0; i < layout.buffers.size(); ++i) {
      if (layout.buffers[i].access == BufferAccess::Workgroup) continue;
      const std::uint32_t count = layout.length(i, launch);
      const std::size_t at = bytes.size();
      bytes.resize(at + 16);
      std::memcpy(&bytes[at], &memory_of(launch.buffers[i]).pointer, 8);
      std::memcpy(&bytes[at + 8], &count, 4);
    }
    return bytes;
  }

  const LaunchLayout layout;

 private:
  CudaGpu& gpu_;
  std::string name_;
  std::shared_ptr<const PtxProgram> program_;
  mutable ChosenCode<Ready> chosen_;
};

// Memory for the time that the stream needs it.
class Borrowed {
 public:
  explicit Borrowed(CudaGpu& gpu) : gpu_(gpu) {}
  ~Borrowed() {
    if (pointers_.empty()) return;
    const auto entered = gpu_.enter();
    for (cuda::Pointer pointer : pointers_) gpu_.free(pointer);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  Result<cuda::Pointer> add(std::span<const std::byte> contents) {
    const Result<cuda::Pointer> pointer = gpu_.allocate(contents.size());
    if (!pointer) return pointer;
    pointers_.push_back(*pointer);
    if (const Result<void> done = gpu_.write(*pointer, contents); !done) return done.diagnostics();
    return pointer;
  }

 private:
  CudaGpu& gpu_;
  std::vector<cuda::Pointer> pointers_;
};

// A launch that only has to be submitted.
struct Prepared {
  Ready ready;
  std::vector<std::byte> parameters;
  std::size_t place = 0;  // of the first block in the parameters
  Grid blocks;
};

Result<Prepared> prepare(const Launch& launch, Ready ready, Borrowed& borrowed) {
  const auto& kernel = static_cast<const CudaKernel&>(*launch.kernel);
  Prepared prepared{std::move(ready), kernel.table(launch), 0, {}};
  if (prepared.ready.kernel->has_table) {
    const Result<cuda::Pointer> table = borrowed.add(prepared.parameters);
    if (!table) return table.diagnostics();
    prepared.parameters.assign(8, std::byte{0});
    std::memcpy(prepared.parameters.data(), &*table, 8);
  } else if (!prepared.parameters.empty()) {
    prepared.parameters.resize(prepared.parameters.size() - 4);  // what comes next needs no gap
  }
  const LaunchShape& shape = prepared.ready.kernel->launch;
  const std::array<std::uint64_t, 3> dispatched{launch.grid[0], launch.grid[1], launch.grid[2]};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    prepared.blocks.axes[axis] = static_cast<std::uint32_t>(shape.grid(dispatched)[axis]);
  }
  const std::vector<std::uint32_t> words = shape.words(dispatched);
  prepared.place = prepared.parameters.size();
  prepared.parameters.resize(prepared.place + 12 + words.size() * 4);
  if (!words.empty()) {
    std::memcpy(&prepared.parameters[prepared.place + 12], words.data(), words.size() * 4);
  }
  return prepared;
}

// Launches that go to the stream one after the other, at once or later. While code is made others
// may submit; as what they write may change what is known, all is looked at again then.
Result<std::vector<Prepared>> prepare(std::span<const Launch> launches, bool is_now,
                                      Borrowed& borrowed, std::unique_lock<std::mutex>& lock) {
  constexpr int kOpenRounds = 2;  // then it has to come to an end
  struct Chosen {
    DispatchFacts facts;
    Ready ready;
  };
  std::vector<Chosen> chosen(launches.size());
  bool is_open = true;
  for (int round = 0; is_open; ++round) {
    is_open = false;
    std::set<const DeviceMemory*> written;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const auto& kernel = static_cast<const CudaKernel&>(*launches[i].kernel);
      DispatchFacts facts = kernel.layout.facts(launches[i], is_now, written);
      kernel.layout.for_each_written(launches[i],
                                     [&](DeviceMemory& memory) { written.insert(&memory); });
      if (chosen[i].ready.kernel != nullptr && chosen[i].facts == facts) continue;
      std::optional<Ready> found = kernel.find(facts);
      if (!found) {
        if (round < kOpenRounds) {
          is_open = true;
          lock.unlock();
        }
        Result<Ready> made = kernel.make(facts);
        if (!lock.owns_lock()) lock.lock();
        if (!made) return made.diagnostics();
        found = std::move(*made);
      }
      chosen[i] = {std::move(facts), std::move(*found)};
    }
  }
  std::vector<Prepared> all;
  all.reserve(launches.size());
  for (std::size_t i = 0; i < launches.size(); ++i) {
    Result<Prepared> prepared = prepare(launches[i], std::move(chosen[i].ready), borrowed);
    if (!prepared) return prepared.diagnostics();
    all.push_back(std::move(*prepared));
  }
  return all;
}

// From here on the host does not know what these may write.
void forget_written(std::span<const Launch> launches) {
  for (const Launch& launch : launches) {
    static_cast<const CudaKernel&>(*launch.kernel)
        .layout.for_each_written(launch, [](DeviceMemory& memory) { memory.known.forget(); });
  }
}

GridStep step_of(const CudaGpu& gpu) { return {gpu.max_grid[0], gpu.max_grid[1], gpu.max_grid[2]}; }

bool is_stopped(const RunOptions& options) {
  return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
}

// In as many launches as the GPU needs for the grid.
Result<void> submit(CudaGpu& gpu, Prepared& prepared, cuda::Stream stream,
                    const RunOptions& options) {
  const PtxKernel& kernel = *prepared.ready.kernel;
  std::size_t size = prepared.parameters.size();
  void* extra[] = {cuda::kParameters, prepared.parameters.data(), cuda::kParameterBytes, &size,
                   nullptr};
  const auto launch = [&](const std::array<std::uint32_t, 3>& first,
                          const std::array<std::uint64_t, 3>& count) -> Result<void> {
    if (is_stopped(options)) return diagnose<message::interrupted>();
    std::memcpy(&prepared.parameters[prepared.place], first.data(), 12);
    const cuda::Status status = gpu.api.LaunchKernel(
        prepared.ready.code->function, static_cast<unsigned>(count[0]),
        static_cast<unsigned>(count[1]), static_cast<unsigned>(count[2]), kernel.block[0],
        kernel.block[1], kernel.block[2], kernel.dynamic_shared, stream, nullptr, extra);
    if (status != cuda::kSuccess) return gpu.failure(status);
    return {};
  };
  return for_each_part(prepared.blocks, step_of(gpu), launch);
}

// Until the event has come, or somebody wants to stop; what runs cannot be stopped.
Result<void> wait(CudaGpu& gpu, cuda::Event event, const RunOptions& options) {
  if (options.stop == nullptr) {
    const cuda::Status status = gpu.api.EventSynchronize(event);
    if (status != cuda::kSuccess) return gpu.failure(status);
    return {};
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const cuda::Status status = gpu.api.EventQuery(event);
    if (status == cuda::kSuccess) return {};
    if (status != cuda::kNotReady) return gpu.failure(status);
    if (is_stopped(options)) {
      gpu.is_abandoned = true;
      return diagnose<message::interrupted>();
    }
    // After a long wait a little more does not matter.
    if (Clock::now() - begin > std::chrono::milliseconds(5)) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
}

// Events of the stream, one more than there are times between them.
class Times {
 public:
  Times(CudaGpu& gpu, std::vector<cuda::Event> events) : gpu_(gpu), events_(std::move(events)) {}
  ~Times() { gpu_.give_back(std::move(events_)); }
  Times(const Times&) = delete;
  Times& operator=(const Times&) = delete;

  Result<void> mark(std::size_t which) {
    const cuda::Status status = gpu_.api.EventRecord(events_[which], gpu_.stream());
    if (status != cuda::kSuccess) return gpu_.failure(status);
    return {};
  }
  Result<std::vector<double>> wait_for(const RunOptions& options) {
    if (const Result<void> done = wait(gpu_, events_.back(), options); !done) {
      return done.diagnostics();
    }
    std::vector<double> seconds;
    for (std::size_t i = 0; i + 1 < events_.size(); ++i) {
      float milliseconds = 0;
      const cuda::Status status =
          gpu_.api.EventElapsedTime(&milliseconds, events_[i], events_[i + 1]);
      if (status != cuda::kSuccess) return gpu_.failure(status);
      seconds.push_back(static_cast<double>(milliseconds) / 1e3);
    }
    return seconds;
  }

 private:
  CudaGpu& gpu_;
  std::vector<cuda::Event> events_;
};

// A graph, which the driver submits as a whole.
class CudaRecording : public Recording {
 public:
  explicit CudaRecording(CudaGpu& gpu) : gpu_(gpu), tables_(gpu) {}
  ~CudaRecording() override {
    const auto entered = gpu_.enter();
    if (graph_ != nullptr) gpu_.api.GraphExecDestroy(graph_);
  }

  // False: too many launches for a graph.
  Result<bool> record(std::span<const Launch> launches) {
    {
      std::unique_lock lock(gpu_.submitting);
      Result<std::vector<Prepared>> prepared = prepare(launches, false, tables_, lock);
      if (!prepared) return prepared.diagnostics();
      launches_ = std::move(*prepared);
    }
    given_.assign(launches.begin(), launches.end());
    std::uint64_t nodes = 0;
    for (const Prepared& prepared : launches_) {
      nodes += count_parts(prepared.blocks, step_of(gpu_), kMaxNodes);
    }
    if (nodes == 0 || nodes > kMaxNodes) return false;
    cuda::Stream stream = nullptr;
    if (const auto status = gpu_.api.StreamCreate(&stream, cuda::kNonBlocking)) {
      return gpu_.failure(status);
    }
    const Result<void> captured = capture(stream);
    gpu_.api.StreamDestroy(stream);
    if (!captured) return captured.diagnostics();
    return true;
  }

  Result<RunTimes> run(const RunOptions& options) override {
    const auto entered = gpu_.enter();
    if (is_stopped(options)) return diagnose<message::interrupted>();
    Result<std::vector<cuda::Event>> events = gpu_.take_events(2);
    if (!events) return events.diagnostics();
    Times times(gpu_, std::move(*events));
    {
      const std::lock_guard lock(gpu_.submitting);
      forget_written(given_);
      if (const Result<void> marked = times.mark(0); !marked) return marked.diagnostics();
      if (const auto status = gpu_.api.GraphLaunch(graph_, gpu_.stream())) {
        return gpu_.failure(status);
      }
      if (const Result<void> marked = times.mark(1); !marked) return marked.diagnostics();
    }
    Result<std::vector<double>> seconds = times.wait_for(options);
    if (!seconds) return seconds.diagnostics();
    return RunTimes{(*seconds)[0], {}};
  }

 private:
  Result<void> capture(cuda::Stream stream) {
    if (const auto status = gpu_.api.StreamBeginCapture(stream, cuda::kOfThisThread)) {
      return gpu_.failure(status);
    }
    std::vector<Diagnostic> wrong;
    for (Prepared& prepared : launches_) {
      const Result<void> done = submit(gpu_, prepared, stream, {});
      if (!done) wrong = done.diagnostics();
      if (!done) break;
    }
    cuda::Graph graph = nullptr;
    cuda::Status status = gpu_.api.StreamEndCapture(stream, &graph);
    if (status == cuda::kSuccess && wrong.empty()) {
      status = gpu_.api.GraphInstantiate(&graph_, graph, 0);
    }
    if (graph != nullptr) gpu_.api.GraphDestroy(graph);
    if (!wrong.empty()) return wrong;
    if (status != cuda::kSuccess) return gpu_.failure(status);
    return {};
  }

  CudaGpu& gpu_;
  Borrowed tables_;
  std::vector<Prepared> launches_;  // with the code, which stays loaded
  std::vector<Launch> given_;
  cuda::ReadyGraph graph_ = nullptr;
};

class CudaDevice : public Device {
 public:
  explicit CudaDevice(CudaGpu& gpu) : gpu_(gpu) {
    info_.backend = "ptx";
    info_.name = gpu.name;
    info_.max_invocations = gpu.max_threads;
    info_.max_workgroup_size = gpu.max_block;
    info_.max_workgroup_bytes = gpu.max_shared;
    info_.max_buffer_bytes = gpu.memory_bytes;
  }

  const DeviceInfo& info() const override { return info_; }

  Result<std::unique_ptr<Kernel>> load(const Artifact& artifact) override {
    if (const Result<void> started = gpu_.start(); !started) return started.diagnostics();
    const auto entered = gpu_.enter();
    const Program& program = artifact.linked.program();
    if (artifact.backend != info_.backend) {
      return diagnose<message::no_machine_code>(program.name, "it was not made for this backend");
    }
    // The kernel for a launch is loaded at the launch.
    return std::unique_ptr<Kernel>(std::make_unique<CudaKernel>(
        gpu_, program, std::static_pointer_cast<const PtxProgram>(artifact.code)));
  }

  Result<std::unique_ptr<DeviceMemory>> allocate(std::uint64_t bytes) override {
    if (const Result<void> started = gpu_.start(); !started) return started.diagnostics();
    const auto entered = gpu_.enter();
    auto memory = std::make_unique<CudaMemory>(gpu_);
    const Result<cuda::Pointer> pointer = gpu_.allocate(bytes);
    if (!pointer) return pointer.diagnostics();
    memory->pointer = *pointer;
    memory->bytes = bytes;
    memory->known.reset(bytes);
    return std::unique_ptr<DeviceMemory>(std::move(memory));
  }

  Result<void> write(DeviceMemory& memory, std::uint64_t offset,
                     std::span<const std::byte> bytes) override {
    const auto entered = gpu_.enter();
    auto& own = static_cast<CudaMemory&>(memory);
    if (own.bytes > KnownWords::kMax) return gpu_.write(own.pointer + offset, bytes);
    // Of memory that is not pinned, which nobody has to wait for.
    const std::vector<std::byte> taken(bytes.begin(), bytes.end());
    const std::lock_guard lock(gpu_.submitting);
    Result<void> done = gpu_.write(own.pointer + offset, taken);
    done ? own.known.write(taken, offset, own.bytes) : own.known.forget();
    return done;
  }

  Result<void> read(const DeviceMemory& memory, std::uint64_t offset,
                    std::span<std::byte> bytes) override {
    const auto entered = gpu_.enter();
    return gpu_.read(static_cast<const CudaMemory&>(memory).pointer + offset, bytes);
  }

  Result<std::vector<double>> run(std::span<const Launch> launches,
                                  const RunOptions& options) override {
    if (launches.empty()) return std::vector<double>();
    const auto entered = gpu_.enter();
    Borrowed tables(gpu_);
    Result<std::vector<cuda::Event>> events = gpu_.take_events(launches.size() + 1);
    if (!events) return events.diagnostics();
    Times times(gpu_, std::move(*events));
    {
      std::unique_lock lock(gpu_.submitting);
      Result<std::vector<Prepared>> ready = prepare(launches, true, tables, lock);
      if (!ready) return ready.diagnostics();
      forget_written(launches);
      if (const Result<void> marked = times.mark(0); !marked) return marked.diagnostics();
      for (std::size_t i = 0; i < ready->size(); ++i) {
        const Result<void> done = submit(gpu_, (*ready)[i], gpu_.stream(), options);
        if (!done) return done.diagnostics();
        if (const Result<void> marked = times.mark(i + 1); !marked) return marked.diagnostics();
      }
    }
    return times.wait_for(options);
  }

  Result<std::unique_ptr<Recording>> record(std::span<const Launch> launches) override {
    if (launches.empty()) return Device::record(launches);
    const auto entered = gpu_.enter();
    auto recording = std::make_unique<CudaRecording>(gpu_);
    const Result<bool> done = recording->record(launches);
    if (!done) return done.diagnostics();
    if (!*done) return Device::record(launches);
    return std::unique_ptr<Recording>(std::move(recording));
  }

 private:
  CudaGpu& gpu_;
  DeviceInfo info_;
};

}  // namespace

Opened open_cuda(std::uint32_t device) {
  std::string reason;
  const cuda::Api* api = cuda::load_cuda(reason);
  if (api == nullptr) return {nullptr, reason};
  const auto count = static_cast<std::uint32_t>(api->gpus);
  CudaGpu* gpu = device < count ? find_gpu(*api, device, reason) : nullptr;
  if (gpu == nullptr) return {nullptr, reason, count};
  return {std::make_unique<CudaDevice>(*gpu), {}, count};
}

}  // namespace vyre
