#include "vyre/backends/ptx/device.h"

#include <chrono>
#include <cstring>
#include <mutex>
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

// A kernel with its machine code.
struct Ready {
  const PtxKernel* kernel = nullptr;
  std::shared_ptr<const CudaCode> code;
};

class CudaKernel : public VariantKernel<Ready> {
 public:
  CudaKernel(CudaGpu& gpu, Linked linked, std::shared_ptr<const PtxProgram> made)
      : VariantKernel(std::move(linked)), gpu_(gpu), program_(std::move(made)) {}

  Result<Ready> make(const DispatchFacts& facts) const override {
    const Result<const PtxKernel*> kernel = program_->choose(facts);
    if (!kernel) return kernel.diagnostics();
    Result<std::shared_ptr<const CudaCode>> code = gpu_.load(**kernel, program().name);
    if (!code) return code.diagnostics();
    Ready ready{*kernel, std::move(*code)};
    keep(facts, ready, !gpu_.is_abandoned);  // to unload a module waits for what runs
    return ready;
  }

 private:
  CudaGpu& gpu_;
  std::shared_ptr<const PtxProgram> program_;
};

const CudaKernel& kernel_of(const Launch& launch) {
  return static_cast<const CudaKernel&>(*launch.kernel);
}

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

// Values as a kernel takes them: one after the other, each at a multiple of its size.
struct Parameters {
  std::vector<std::byte> bytes;

  template <class Value>
  void add(const Value& value) {
    const std::size_t at = (bytes.size() + sizeof value - 1) / sizeof value * sizeof value;
    bytes.resize(at + sizeof value);
    std::memcpy(&bytes[at], &value, sizeof value);
  }
};

// A launch that only has to be submitted.
struct Prepared {
  Ready ready;
  Parameters parameters;
  std::size_t place = 0;  // of the first block in the parameters
  Grid blocks;
};

Result<Prepared> prepare(const Launch& launch, Ready ready, Borrowed& borrowed) {
  const std::vector<BufferDecl>& buffers = kernel_of(launch).program().buffers;
  Prepared prepared{std::move(ready), {}, 0, {}};
  Parameters& parameters = prepared.parameters;
  parameters.bytes.reserve(16 * buffers.size() + 32);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!is_bound(buffers[i].access)) continue;
    const LaunchBuffer& given = launch.buffers[i];
    parameters.add(static_cast<const CudaMemory&>(*given.memory).pointer);
    parameters.add(length_of(buffers[i], given.bytes));
  }
  if (prepared.ready.kernel->has_table) {
    const Result<cuda::Pointer> table = borrowed.add(parameters.bytes);
    if (!table) return table.diagnostics();
    parameters.bytes.clear();
    parameters.add(*table);
  }
  prepared.place = parameters.bytes.size();
  const LaunchShape& shape = prepared.ready.kernel->launch;
  const std::array<std::uint64_t, 3> dispatched{launch.grid[0], launch.grid[1], launch.grid[2]};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    parameters.add(std::uint32_t{0});
    prepared.blocks.axes[axis] = static_cast<std::uint32_t>(shape.grid(dispatched)[axis]);
  }
  for (const std::uint32_t word : shape.words(dispatched)) parameters.add(word);
  if (prepared.ready.kernel->counts_workgroups) {
    for (const std::uint32_t count : launch.grid.axes) parameters.add(count);
  }
  return prepared;
}

Result<std::vector<Prepared>> prepare(std::span<const Launch> launches, bool is_now,
                                      Borrowed& borrowed, std::unique_lock<std::mutex>& lock) {
  Result<std::vector<Ready>> chosen = choose_code<Ready>(launches, is_now, lock);
  if (!chosen) return chosen.diagnostics();
  std::vector<Prepared> all;
  all.reserve(launches.size());
  for (std::size_t i = 0; i < launches.size(); ++i) {
    Result<Prepared> prepared = prepare(launches[i], std::move((*chosen)[i]), borrowed);
    if (!prepared) return prepared.diagnostics();
    all.push_back(std::move(*prepared));
  }
  return all;
}

// In as many launches as the GPU needs for the grid.
Result<void> submit(CudaGpu& gpu, Prepared& prepared, cuda::Stream stream,
                    const RunOptions& options) {
  const PtxKernel& kernel = *prepared.ready.kernel;
  std::vector<std::byte>& parameters = prepared.parameters.bytes;
  std::size_t size = parameters.size();
  void* extra[] = {cuda::kParameters, parameters.data(), cuda::kParameterBytes, &size, nullptr};
  const auto launch = [&](const std::array<std::uint32_t, 3>& first,
                          const std::array<std::uint64_t, 3>& count) -> Result<void> {
    if (is_stopped(options)) return diagnose<message::interrupted>();
    std::memcpy(&parameters[prepared.place], first.data(), sizeof first);
    return gpu.check(gpu.api.LaunchKernel(
        prepared.ready.code->function, static_cast<unsigned>(count[0]),
        static_cast<unsigned>(count[1]), static_cast<unsigned>(count[2]), kernel.block[0],
        kernel.block[1], kernel.block[2], kernel.dynamic_shared, stream, nullptr, extra));
  };
  return for_each_part(prepared.blocks, gpu.max_grid, launch);
}

// Until the event has come, or somebody wants to stop; what runs cannot be stopped.
Result<void> wait(CudaGpu& gpu, cuda::Event event, const RunOptions& options) {
  if (options.stop == nullptr) return gpu.check(gpu.api.EventSynchronize(event));
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const cuda::Status status = gpu.api.EventQuery(event);
    if (status != cuda::kNotReady) return gpu.check(status);
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

// Events of the stream, and the times between them.
class Times {
 public:
  Times(CudaGpu& gpu, std::size_t marks) : gpu_(gpu) { events_.reserve(marks); }
  ~Times() { gpu_.give_back(events_); }
  Times(const Times&) = delete;
  Times& operator=(const Times&) = delete;

  Result<void> mark() {
    cuda::Event event = nullptr;
    if (const auto status = gpu_.take_event(event)) return gpu_.failure(status);
    events_.push_back(event);
    return gpu_.check(gpu_.api.EventRecord(event, gpu_.stream()));
  }
  Result<std::vector<double>> wait_for(const RunOptions& options) {
    if (const Result<void> done = wait(gpu_, events_.back(), options); !done) {
      return done.diagnostics();
    }
    std::vector<double> seconds;
    for (std::size_t i = 0; i + 1 < events_.size(); ++i) {
      float milliseconds = 0;
      const auto status = gpu_.api.EventElapsedTime(&milliseconds, events_[i], events_[i + 1]);
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
      nodes += count_parts(prepared.blocks, gpu_.max_grid, kMaxNodes);
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
    Times times(gpu_, 2);
    {
      const std::lock_guard lock(gpu_.submitting);
      forget_written<Ready>(given_);
      Result<void> done = times.mark();
      if (done) done = gpu_.check(gpu_.api.GraphLaunch(graph_, gpu_.stream()));
      if (done) done = times.mark();
      if (!done) return done.diagnostics();
    }
    Result<std::vector<double>> seconds = times.wait_for(options);
    if (!seconds) return seconds.diagnostics();
    return RunTimes{(*seconds)[0], {}};
  }

 private:
  Result<void> capture(cuda::Stream stream) {
    Result<void> done = gpu_.check(gpu_.api.StreamBeginCapture(stream, cuda::kOfThisThread));
    if (!done) return done;
    for (Prepared& prepared : launches_) {
      if (done) done = submit(gpu_, prepared, stream, {});
    }
    cuda::Graph graph = nullptr;
    cuda::Status status = gpu_.api.StreamEndCapture(stream, &graph);
    if (done && status == cuda::kSuccess) {
      status = gpu_.api.GraphInstantiate(&graph_, graph, 0);
    }
    if (graph != nullptr) gpu_.api.GraphDestroy(graph);
    return done ? gpu_.check(status) : done;
  }

  CudaGpu& gpu_;
  Borrowed tables_;
  std::vector<Prepared> launches_;  // with the code, which stays loaded
  std::vector<Launch> given_;
  cuda::ReadyGraph graph_ = nullptr;
};

class CudaDevice : public Device {
 public:
  explicit CudaDevice(CudaGpu& gpu) : gpu_(gpu) {}

  const DeviceInfo& info() const override { return gpu_.info; }

  Result<std::unique_ptr<Kernel>> load(const Artifact& artifact) override {
    if (const Result<void> started = gpu_.start(); !started) return started.diagnostics();
    if (artifact.backend != info().backend) {
      return diagnose<message::no_machine_code>(artifact.linked.program().name,
                                                "it was not made for this backend");
    }
    // The kernel for a launch is loaded at the launch.
    return std::unique_ptr<Kernel>(std::make_unique<CudaKernel>(
        gpu_, artifact.linked, std::static_pointer_cast<const PtxProgram>(artifact.code)));
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
    Times times(gpu_, launches.size() + 1);
    {
      std::unique_lock lock(gpu_.submitting);
      Result<std::vector<Prepared>> ready = prepare(launches, true, tables, lock);
      if (!ready) return ready.diagnostics();
      forget_written<Ready>(launches);
      Result<void> done = times.mark();
      for (Prepared& prepared : *ready) {
        if (done) done = submit(gpu_, prepared, gpu_.stream(), options);
        if (done) done = times.mark();
      }
      if (!done) return done.diagnostics();
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
