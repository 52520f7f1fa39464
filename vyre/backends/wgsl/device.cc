#include "vyre/backends/wgsl/device.h"

#include <chrono>
#include <cstring>

#include "vyre/backends/launches.h"
#include "vyre/backends/wgsl/code.h"
#include "vyre/backends/wgsl/gpu.h"

namespace vyre {
namespace {

struct WebGpuMemory : DeviceMemory {
  explicit WebGpuMemory(webgpu::OwnedBuffer made) : buffer(std::move(made)) {}
  webgpu::OwnedBuffer buffer;  // of whole stretches of kShaderBytes
  std::uint64_t bytes = 0;
  // `known` is read and written under `submitting`, so that it is what the queue sees.
};

// A kernel that the driver has compiled.
struct Ready {
  const WgslKernel* kernel = nullptr;
  std::shared_ptr<const WgslCode> code;
};

class WebGpuKernel : public VariantKernel<Ready> {
 public:
  WebGpuKernel(WebGpu& gpu, Linked linked, std::shared_ptr<const WgslProgram> made)
      : VariantKernel(std::move(linked)), gpu_(gpu), program_(std::move(made)) {}

  Result<Ready> make(const DispatchFacts& facts) const override {
    const Result<const WgslKernel*> kernel = program_->choose(facts);
    if (!kernel) return kernel.diagnostics();
    Result<std::shared_ptr<const WgslCode>> code = gpu_.load(**kernel, program().name);
    if (!code) return code.diagnostics();
    Ready ready{*kernel, std::move(*code)};
    keep(facts, ready, true);
    return ready;
  }

 private:
  WebGpu& gpu_;
  std::shared_ptr<const WgslProgram> program_;
};

// All that a launch reads and writes, but for the parameters, of which each dispatch has its own.
Result<webgpu::OwnedBindGroup> bind(WebGpu& gpu, const Ready& ready, const Launch& launch,
                                    std::uint64_t parameter_bytes) {
  std::vector<webgpu::BindGroupEntry> entries;
  const auto add = [&](std::uint32_t binding, webgpu::Buffer buffer, std::uint64_t bytes) {
    webgpu::BindGroupEntry& entry = entries.emplace_back();
    entry.binding = binding;
    entry.buffer = buffer;
    entry.size = whole_shader_bytes(bytes);
  };
  const ShaderCall& call = ready.kernel->call;
  add(kShaderParameters, gpu.parameters.get(), parameter_bytes);
  if (!call.tables.empty()) add(kShaderTables, ready.code->tables.get(), 4 * call.tables.size());
  for (std::uint32_t i = 0; i < call.buffers.size(); ++i) {
    const LaunchBuffer& given = launch.buffers[call.buffers[i].buffer.index];
    add(kShaderBuffers + i, static_cast<const WebGpuMemory&>(*given.memory).buffer.get(),
        given.bytes);
  }
  webgpu::BindGroupDescriptor descriptor;
  descriptor.layout = ready.code->layout.get();
  descriptor.entries = entries;
  webgpu::OwnedBindGroup group(gpu.api.DeviceCreateBindGroup(gpu.device(), &descriptor));
  if (const Result<void> done = gpu.check(); !done) return done.diagnostics();
  return group;
}

// Launches as commands for the queue, and the times that these take.
class Encoding {
 public:
  Encoding(WebGpu& gpu, WebGpuClock& clock, const RunOptions& options)
      : gpu_(gpu), clock_(clock), options_(options) {
    begin();
  }

  // In as many dispatches as the GPU needs for the grid.
  Result<void> add(const Ready& ready, const Launch& launch) {
    const ShaderCall& call = ready.kernel->call;
    const auto& kernel = static_cast<const WebGpuKernel&>(*launch.kernel);
    std::vector<std::uint32_t> words = shader_parameters(call, kernel.program(), launch);
    const std::uint64_t slot = whole_shader_bytes(4 * words.size());
    const Result<webgpu::OwnedBindGroup> group = bind(gpu_, ready, launch, slot);
    if (!group) return group.diagnostics();
    begin_pass(ready, true);
    const auto dispatch = [&](const std::array<std::uint32_t, 3>& first,
                              const std::array<std::uint64_t, 3>& count) -> Result<void> {
      if (is_stopped(options_)) return diagnose<message::interrupted>();
      if (parameters_.size() + slot > WebGpu::kParameterBytes) {
        // The queue takes no more than this at once.
        end_pass();
        Result<void> done = gpu_.submit(encoder_.get(), parameters_);
        if (done) done = gpu_.finish(options_);
        if (!done) return done;
        begin();
        begin_pass(ready, false);
      }
      const auto at = static_cast<std::uint32_t>(parameters_.size());
      parameters_.resize(at + slot);
      std::ranges::copy(first, words.begin());
      std::memcpy(&parameters_[at], words.data(), 4 * words.size());
      gpu_.api.ComputePassEncoderSetBindGroup(pass_.get(), 0, group->get(), 1, &at);
      gpu_.api.ComputePassEncoderDispatchWorkgroups(
          pass_.get(), static_cast<std::uint32_t>(count[0]), static_cast<std::uint32_t>(count[1]),
          static_cast<std::uint32_t>(count[2]));
      return {};
    };
    Grid blocks;
    const auto& [x, y, z] = launch.grid.axes;
    std::ranges::transform(call.launch.grid({x, y, z}), blocks.axes.begin(),
                           [](std::uint64_t count) { return static_cast<std::uint32_t>(count); });
    const Result<void> done = for_each_part(blocks, gpu_.max_grid, dispatch);
    end_pass();
    ++launches_;
    return done;
  }

  Result<void> submit() {
    if (clock_.times != nullptr) {
      gpu_.api.CommandEncoderResolveQuerySet(encoder_.get(), clock_.times.get(), 0, 2 * launches_,
                                             clock_.resolved.get(), 0);
      gpu_.api.CommandEncoderCopyBufferToBuffer(encoder_.get(), clock_.resolved.get(), 0,
                                                clock_.mapped.get(), 0, bytes_of_times());
    }
    return gpu_.submit(encoder_.get(), parameters_);
  }

  // When all have ended. Of a GPU that does not measure, nothing.
  Result<std::vector<double>> times() {
    if (clock_.times == nullptr) {
      const Result<void> done = gpu_.finish(options_);
      if (!done) return done.diagnostics();
      return std::vector<double>();
    }
    std::vector<std::uint64_t> marks(2 * std::size_t{launches_});
    const Result<void> done =
        gpu_.map(clock_.mapped.get(), std::as_writable_bytes(std::span(marks)), 0, options_);
    if (!done) return done.diagnostics();
    std::vector<double> seconds;
    for (std::size_t i = 0; i < marks.size(); i += 2) {
      const std::uint64_t nanoseconds = marks[i + 1] - std::min(marks[i], marks[i + 1]);
      seconds.push_back(static_cast<double>(nanoseconds) / 1e9);
    }
    return seconds;
  }

 private:
  std::uint64_t bytes_of_times() const { return 2 * sizeof(std::uint64_t) * launches_; }

  void begin() {
    parameters_.clear();
    encoder_.reset(gpu_.api.DeviceCreateCommandEncoder(gpu_.device(), nullptr));
  }
  void begin_pass(const Ready& ready, bool is_first) {
    webgpu::PassTimestamps timestamps;
    timestamps.set = clock_.times.get();
    timestamps.begin = is_first ? 2 * launches_ : webgpu::kUndefined;
    timestamps.end = 2 * launches_ + 1;
    webgpu::PassDescriptor descriptor;
    if (timestamps.set != nullptr) descriptor.timestamps = &timestamps;
    pass_.reset(gpu_.api.CommandEncoderBeginComputePass(encoder_.get(), &descriptor));
    gpu_.api.ComputePassEncoderSetPipeline(pass_.get(), ready.code->pipeline.get());
  }
  void end_pass() {
    gpu_.api.ComputePassEncoderEnd(pass_.get());
    pass_.reset();
  }

  WebGpu& gpu_;
  WebGpuClock& clock_;
  const RunOptions& options_;
  webgpu::OwnedEncoder encoder_;
  webgpu::OwnedPass pass_;
  std::vector<std::byte> parameters_;  // of the dispatches that are encoded
  std::uint32_t launches_ = 0;
};

// As many launches as the clock measures; one where there is none.
Result<std::vector<double>> run_some(WebGpu& gpu, std::span<const Launch> launches,
                                     WebGpuClock& clock, const RunOptions& options) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin;
  Result<std::vector<double>> seconds = std::vector<double>();
  {
    std::unique_lock lock(gpu.submitting);
    const Result<std::vector<Ready>> ready = choose_code<Ready>(launches, true, lock);
    if (!ready) return ready.diagnostics();
    forget_written<Ready>(launches);
    Encoding encoding(gpu, clock, options);
    begin = Clock::now();
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const Result<void> done = encoding.add((*ready)[i], launches[i]);
      if (!done) return done.diagnostics();
    }
    if (const Result<void> done = encoding.submit(); !done) return done.diagnostics();
    lock.unlock();
    seconds = encoding.times();
  }
  if (seconds && seconds->empty()) {
    seconds->push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return seconds;
}

class WebGpuDevice : public Device {
 public:
  explicit WebGpuDevice(WebGpu& gpu) : gpu_(gpu) {}

  const DeviceInfo& info() const override { return gpu_.info; }

  Result<std::unique_ptr<Kernel>> load(const Artifact& artifact) override {
    if (artifact.backend != info().backend) {
      return diagnose<message::no_machine_code>(artifact.linked.program().name,
                                                "it was not made for this backend");
    }
    // The kernel for a launch is compiled at the launch.
    return std::unique_ptr<Kernel>(std::make_unique<WebGpuKernel>(
        gpu_, artifact.linked, std::static_pointer_cast<const WgslProgram>(artifact.code)));
  }

  Result<std::unique_ptr<DeviceMemory>> allocate(std::uint64_t bytes) override {
    Result<webgpu::OwnedBuffer> buffer =
        gpu_.allocate(bytes, webgpu::kStorage | webgpu::kCopySource | webgpu::kCopyTarget);
    if (!buffer) return buffer.diagnostics();
    auto memory = std::make_unique<WebGpuMemory>(std::move(*buffer));
    memory->bytes = bytes;
    memory->known.reset(bytes);
    return std::unique_ptr<DeviceMemory>(std::move(memory));
  }

  Result<void> write(DeviceMemory& memory, std::uint64_t offset,
                     std::span<const std::byte> bytes) override {
    auto& own = static_cast<WebGpuMemory&>(memory);
    if (own.bytes > KnownWords::kMax) return gpu_.write(own.buffer.get(), offset, bytes);
    const std::lock_guard lock(gpu_.submitting);
    Result<void> done = gpu_.write(own.buffer.get(), offset, bytes);
    done ? own.known.write(bytes, offset, own.bytes) : own.known.forget();
    return done;
  }

  Result<void> read(const DeviceMemory& memory, std::uint64_t offset,
                    std::span<std::byte> bytes) override {
    return gpu_.read(static_cast<const WebGpuMemory&>(memory).buffer.get(), offset, bytes);
  }

  Result<std::vector<double>> run(std::span<const Launch> launches,
                                  const RunOptions& options) override {
    Result<WebGpuClock> clock = gpu_.take_clock();
    if (!clock) return clock.diagnostics();
    const std::size_t most = clock->times == nullptr ? 1 : WebGpuClock::kLaunches;
    std::vector<double> seconds;
    while (!launches.empty()) {
      const auto some = launches.first(std::min(most, launches.size()));
      const Result<std::vector<double>> took = run_some(gpu_, some, *clock, options);
      if (!took) return took;
      seconds.insert(seconds.end(), took->begin(), took->end());
      launches = launches.subspan(some.size());
    }
    gpu_.give_back(std::move(*clock));
    return seconds;
  }

 private:
  WebGpu& gpu_;
};

}  // namespace

Opened open_webgpu(std::uint32_t device) {
  std::string reason;
  WebGpu* gpu = find_webgpu(reason);
  if (gpu == nullptr) return {nullptr, reason};
  if (device > 0) return {};
  return {std::make_unique<WebGpuDevice>(*gpu), {}};
}

}  // namespace vyre
