#include "vyre/backends/spirv/device.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "vyre/backends/launches.h"
#include "vyre/backends/spirv/batch.h"
#include "vyre/backends/spirv/code.h"
#include "vyre/backends/spirv/gpu.h"

namespace vyre {
namespace {

struct VulkanMemory : DeviceMemory {
  VulkanMemory(VulkanGpu& owner, const VulkanPiece& given, std::uint64_t size)
      : gpu(owner), piece(given), bytes(size) {}
  ~VulkanMemory() override { gpu.free(piece); }
  VulkanGpu& gpu;
  VulkanPiece piece;
  std::uint64_t bytes = 0;
  // `known` is read and written under `submitting`, so that it is what the queue sees.
};

// A kernel with its pipeline.
struct Ready {
  const SpirvKernel* kernel = nullptr;
  std::shared_ptr<const VulkanCode> code;
};

class VulkanKernel : public VariantKernel<Ready> {
 public:
  VulkanKernel(VulkanGpu& gpu, Linked linked, std::shared_ptr<const SpirvProgram> made)
      : VariantKernel(std::move(linked)), gpu_(gpu), program_(std::move(made)) {}

  Result<Ready> make(const DispatchFacts& facts) const override {
    const Result<const SpirvKernel*> kernel = program_->choose(facts);
    if (!kernel) return kernel.diagnostics();
    Result<std::shared_ptr<const VulkanCode>> code = gpu_.load(**kernel, program().name);
    if (!code) return code.diagnostics();
    Ready ready{*kernel, std::move(*code)};
    keep(facts, ready, true);
    return ready;
  }

 private:
  VulkanGpu& gpu_;
  std::shared_ptr<const SpirvProgram> program_;
};

const VulkanKernel& kernel_of(const Launch& launch) {
  return static_cast<const VulkanKernel&>(*launch.kernel);
}

// A launch that only has to be submitted.
struct Prepared {
  Ready ready;
  std::vector<VkDescriptorBufferInfo> buffers;
  std::vector<std::uint32_t> words;  // the parameters
  Grid groups;
};

VkDescriptorBufferInfo binding_of(const VulkanPiece& piece, std::uint64_t bytes) {
  const std::uint64_t stretches =
      std::max<std::uint64_t>(1, (bytes + kShaderBytes - 1) / kShaderBytes);
  return {piece.buffer, piece.offset, stretches * kShaderBytes};
}

Prepared prepare(const Launch& launch, Ready ready) {
  const ShaderCall& call = ready.kernel->call;
  Prepared prepared;
  if (const VulkanPiece& tables = ready.code->tables; tables.bytes > 0) {
    prepared.buffers.push_back(binding_of(tables, tables.bytes));
  }
  for (const ShaderBinding& binding : call.buffers) {
    const LaunchBuffer& given = launch.buffers[binding.buffer.index];
    const VulkanPiece& piece = static_cast<const VulkanMemory&>(*given.memory).piece;
    prepared.buffers.push_back(binding_of(piece, given.bytes));
  }
  prepared.words = shader_parameters(call, kernel_of(launch).program(), launch);
  const auto groups = call.launch.grid({launch.grid[0], launch.grid[1], launch.grid[2]});
  for (std::size_t axis = 0; axis < 3; ++axis) {
    prepared.groups.axes[axis] = static_cast<std::uint32_t>(groups[axis]);
  }
  prepared.ready = std::move(ready);
  return prepared;
}

Result<std::vector<Prepared>> prepare(std::span<const Launch> launches, bool is_now,
                                      std::unique_lock<std::mutex>& lock) {
  Result<std::vector<Ready>> chosen = choose_code<Ready>(launches, is_now, lock);
  if (!chosen) return chosen.diagnostics();
  std::vector<Prepared> all;
  all.reserve(launches.size());
  for (std::size_t i = 0; i < launches.size(); ++i) {
    all.push_back(prepare(launches[i], std::move((*chosen)[i])));
  }
  return all;
}

void launch_part(VulkanBatch& batch, Prepared& prepared, const std::array<std::uint32_t, 3>& first,
                 const std::array<std::uint64_t, 3>& count) {
  std::ranges::copy(first, prepared.words.begin());
  batch.launch(prepared.words, count);
}

// Launches on their way through the queue, in as many batches as they need.
class Submission {
 public:
  Submission(VulkanGpu& gpu, std::size_t launches) : gpu_(gpu), seconds_(launches) {}
  ~Submission() {
    for (Part& part : parts_) gpu_.give_back(std::move(part.batch));
  }
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  Result<void> add(Prepared& prepared, const RunOptions& options) {
    const std::size_t number = next_++;
    Result<void> done = bind(prepared, options);
    if (!done) return done;
    const auto launch = [&](const std::array<std::uint32_t, 3>& first,
                            const std::array<std::uint64_t, 3>& count) -> Result<void> {
      if (is_stopped(options)) return diagnose<message::interrupted>();
      if (!parts_.back().batch->has_room(prepared.words.size())) {
        Result<void> moved = end_launch(number);
        if (moved) moved = bind(prepared, options);
        if (!moved) return moved;
      }
      launch_part(*parts_.back().batch, prepared, first, count);
      return {};
    };
    done = for_each_part(prepared.groups, gpu_.max_grid, launch);
    return done ? end_launch(number) : done;
  }

  Result<void> submit() {
    if (parts_.empty() || !is_open_) return {};
    is_open_ = false;
    return parts_.back().batch->submit();
  }

  Result<std::vector<double>> wait_for(const RunOptions& options) {
    while (!parts_.empty()) {
      if (Result<void> done = finish_first(options); !done) return done.diagnostics();
    }
    return seconds_;
  }

 private:
  struct Part {
    std::unique_ptr<VulkanBatch> batch;
    std::vector<std::size_t> launches;  // whose time is between two marks
  };
  static constexpr std::size_t kMostAtOnce = 4;

  // In a batch with room for a part of the launch at least.
  Result<void> bind(const Prepared& prepared, const RunOptions& options) {
    Result<void> done;
    if (is_open_ && !parts_.back().batch->has_room(prepared.words.size())) done = submit();
    if (!is_open_) {
      while (done && parts_.size() >= kMostAtOnce) done = finish_first(options);
      if (!done) return done;
      Result<std::unique_ptr<VulkanBatch>> batch = gpu_.take_batch();
      if (!batch) return batch.diagnostics();
      parts_.push_back({std::move(*batch), {}});
      is_open_ = true;
      done = parts_.back().batch->mark();
    }
    if (!done) return done;
    return parts_.back().batch->bind(prepared.ready.code, prepared.buffers, prepared.words.size());
  }

  Result<void> end_launch(std::size_t number) {
    Part& part = parts_.back();
    part.launches.push_back(number);
    part.batch->order();
    return part.batch->mark();
  }

  Result<void> finish_first(const RunOptions& options) {
    Part& part = parts_.front();
    const Result<std::vector<double>> times = part.batch->wait_for(options);
    if (!times) return times.diagnostics();
    for (std::size_t i = 0; i < part.launches.size(); ++i) {
      seconds_[part.launches[i]] += (*times)[i];
    }
    gpu_.give_back(std::move(part.batch));
    parts_.pop_front();
    return {};
  }

  VulkanGpu& gpu_;
  std::deque<Part> parts_;
  bool is_open_ = false;  // the last one is not submitted yet
  std::size_t next_ = 0;
  std::vector<double> seconds_;
};

// A batch, which is submitted as it is again and again.
class VulkanRecording : public Recording {
 public:
  explicit VulkanRecording(VulkanGpu& gpu) : gpu_(gpu) {}
  ~VulkanRecording() override {
    if (batch_ != nullptr) gpu_.give_back(std::move(batch_));
  }

  // False: too many launches for a batch.
  Result<bool> record(std::span<const Launch> launches) {
    {
      std::unique_lock lock(gpu_.submitting);
      Result<std::vector<Prepared>> prepared = prepare(launches, false, lock);
      if (!prepared) return prepared.diagnostics();
      launches_ = std::move(*prepared);
    }
    given_.assign(launches.begin(), launches.end());
    std::uint64_t room = 0;
    for (const Prepared& prepared : launches_) {
      room += count_parts(prepared.groups, gpu_.max_grid, VulkanBatch::kRoom) *
              VulkanBatch::room_of(prepared.words.size());
      if (room > VulkanBatch::kRoom) return false;
    }
    Result<std::unique_ptr<VulkanBatch>> batch = gpu_.take_batch();
    if (!batch) return batch.diagnostics();
    batch_ = std::move(*batch);
    Result<void> done = batch_->mark();
    for (Prepared& prepared : launches_) {
      if (done) done = batch_->bind(prepared.ready.code, prepared.buffers, prepared.words.size());
      if (!done) return done.diagnostics();
      done = for_each_part(prepared.groups, gpu_.max_grid,
                           [&](const std::array<std::uint32_t, 3>& first, const auto& count) {
                             launch_part(*batch_, prepared, first, count);
                             return Result<void>();
                           });
      batch_->order();
    }
    if (done) done = batch_->mark();
    if (!done) return done.diagnostics();
    return true;
  }

  Result<RunTimes> run(const RunOptions& options) override {
    const std::lock_guard one(one_run_);
    if (is_stopped(options)) return diagnose<message::interrupted>();
    {
      const std::lock_guard lock(gpu_.submitting);
      // Of a run that somebody stopped waiting for.
      const VkResult status = gpu_.queue().wait(batch_->ticket(), options.stop);
      if (status == VK_TIMEOUT) return diagnose<message::interrupted>();
      if (status != VK_SUCCESS) return gpu_.failure(status);
      forget_written<Ready>(given_);
      if (const Result<void> done = batch_->submit(); !done) return done.diagnostics();
    }
    Result<std::vector<double>> seconds = batch_->wait_for(options);
    if (!seconds) return seconds.diagnostics();
    return RunTimes{(*seconds)[0], {}};
  }

 private:
  VulkanGpu& gpu_;
  std::vector<Prepared> launches_;  // with the code, which stays loaded
  std::vector<Launch> given_;
  std::unique_ptr<VulkanBatch> batch_;
  std::mutex one_run_;
};

class VulkanDevice : public Device {
 public:
  explicit VulkanDevice(VulkanGpu& gpu) : gpu_(gpu) {}

  const DeviceInfo& info() const override { return gpu_.info; }

  Result<std::unique_ptr<Kernel>> load(const Artifact& artifact) override {
    if (const Result<void> started = gpu_.start(); !started) return started.diagnostics();
    if (artifact.backend != info().backend || artifact.code == nullptr) {
      return diagnose<message::no_machine_code>(artifact.linked.program().name,
                                                "it was not made for this backend");
    }
    // The kernel for a launch is loaded at the launch.
    return std::unique_ptr<Kernel>(std::make_unique<VulkanKernel>(
        gpu_, artifact.linked, std::static_pointer_cast<const SpirvProgram>(artifact.code)));
  }

  Result<std::unique_ptr<DeviceMemory>> allocate(std::uint64_t bytes) override {
    if (const Result<void> started = gpu_.start(); !started) return started.diagnostics();
    const Result<VulkanPiece> piece = gpu_.allocate(bytes);
    if (!piece) return piece.diagnostics();
    auto memory = std::make_unique<VulkanMemory>(gpu_, *piece, bytes);
    memory->known.reset(bytes);
    return std::unique_ptr<DeviceMemory>(std::move(memory));
  }

  Result<void> write(DeviceMemory& memory, std::uint64_t offset,
                     std::span<const std::byte> bytes) override {
    auto& own = static_cast<VulkanMemory&>(memory);
    if (own.bytes > KnownWords::kMax) return gpu_.write(own.piece, offset, bytes);
    const std::lock_guard lock(gpu_.submitting);
    Result<void> done = gpu_.write(own.piece, offset, bytes);
    done ? own.known.write(bytes, offset, own.bytes) : own.known.forget();
    return done;
  }

  Result<void> read(const DeviceMemory& memory, std::uint64_t offset,
                    std::span<std::byte> bytes) override {
    return gpu_.read(static_cast<const VulkanMemory&>(memory).piece, offset, bytes);
  }

  Result<std::vector<double>> run(std::span<const Launch> launches,
                                  const RunOptions& options) override {
    Submission submission(gpu_, launches.size());
    if (launches.empty()) return std::vector<double>();
    {
      std::unique_lock lock(gpu_.submitting);
      Result<std::vector<Prepared>> ready = prepare(launches, true, lock);
      if (!ready) return ready.diagnostics();
      forget_written<Ready>(launches);
      Result<void> done;
      for (Prepared& prepared : *ready) {
        if (done) done = submission.add(prepared, options);
      }
      if (done) done = submission.submit();
      if (!done) return done.diagnostics();
    }
    return submission.wait_for(options);
  }

  Result<std::unique_ptr<Recording>> record(std::span<const Launch> launches) override {
    if (launches.empty()) return Device::record(launches);
    auto recording = std::make_unique<VulkanRecording>(gpu_);
    const Result<bool> done = recording->record(launches);
    if (!done) return done.diagnostics();
    if (!*done) return Device::record(launches);
    return std::unique_ptr<Recording>(std::move(recording));
  }

 private:
  VulkanGpu& gpu_;
};

}  // namespace

Opened open_vulkan(std::uint32_t device) {
  std::string reason;
  const vulkan::Api* api = vulkan::load_vulkan(reason);
  if (api == nullptr) return {nullptr, reason};
  const auto count = static_cast<std::uint32_t>(api->gpus.size());
  if (device >= count) return {nullptr, {}, count};
  return {std::make_unique<VulkanDevice>(find_gpu(*api, device)), {}, count};
}

}  // namespace vyre
