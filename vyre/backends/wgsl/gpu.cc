#include "vyre/backends/wgsl/gpu.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "vyre/base/text.h"

namespace vyre {
namespace {

using namespace webgpu;

constexpr std::uint64_t kStaged = std::uint64_t{64} << 20;  // bytes that are copied at once
constexpr std::size_t kMaxKernels = 256;
constexpr std::size_t kMaxLog = 1000;
constexpr std::size_t kMaxMessages = 3;  // of the compiler that are shown

// What the calling thread did wrong. WebGPU reports it within the call.
struct Reported {
  std::uint32_t kind = 0;
  std::string text;
};
thread_local Reported reported;

// An error's first line says what is wrong; the others list the calls.
std::string sentence(std::string_view text) {
  return shorten(text.substr(0, text.find('\n')), 500);
}

// After so many nanoseconds a wait looks whether somebody wants it to end.
constexpr std::uint64_t kPoll = 20'000'000;

// Whether it came.
bool await(const Api& api, Instance instance, Future future) {
  FutureWait wait{future};
  Status status = kTimedOut;
  while (status == kTimedOut) status = api.InstanceWaitAny(instance, 1, &wait, kPoll);
  return status == kSuccess;
}

// An object that a callback gives, or why there is none.
template <class Handle>
struct Answer {
  Handle handle = nullptr;
  std::string text;

  static void take(Status status, Handle given, Text text, void* to, void*) {
    auto& answer = *static_cast<Answer*>(to);
    if (status == kSuccess) answer.handle = given;
    answer.text = text.view();
  }
  template <class Callback>
  Callback callback() {
    Callback callback;
    callback.call = take;
    callback.first = this;
    return callback;
  }
};

std::string name_of(const AdapterInfo& adapter) {
  std::string name(adapter.device.view());
  if (name.empty()) name = "a GPU without a name";
  if (!adapter.description.view().empty()) name += ", " + std::string(adapter.description.view());
  return name;
}

}  // namespace

// --- The device ---------------------------------------------------------------------------------

std::unique_ptr<WebGpu> WebGpu::open(const Api& api, std::string& reason) {
  std::unique_ptr<WebGpu> gpu(new WebGpu(api));
  reason = gpu->start();
  if (reason.empty()) return gpu;
  if (!gpu->log_.empty()) reason += " (" + gpu->log_ + ")";
  return nullptr;
}

WebGpu::~WebGpu() = default;

void WebGpu::make_instance() {
  DawnInstance dawn;
  dawn.logging.first = this;
  dawn.logging.call = [](std::uint32_t, Text text, void* to, void*) {
    auto& gpu = *static_cast<WebGpu*>(to);
    const std::lock_guard lock(gpu.said_);
    if (gpu.log_.size() > kMaxLog) return;
    gpu.log_ += (gpu.log_.empty() ? "" : "; ") + sentence(text.view());
  };
  InstanceDescriptor descriptor;
  descriptor.next = reinterpret_cast<const Chained*>(&dawn);
  descriptor.capabilities.has_timed_waits = 1;
  descriptor.capabilities.most_timed_waits = 1;
  instance_.reset(api.CreateInstance(&descriptor));
}

// Gives why there is no device.
std::string WebGpu::start() {
  static constexpr const char* kDrivers =
      "Dawn finds no GPU with a Vulkan driver that it can use; install one, or on Debian chromium, "
      "whose software driver VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json chooses";
  make_instance();
  if (instance_ == nullptr) return "Dawn does not start";
  const AdapterOptions options;
  Answer<Adapter> adapter;
  await(api, instance_.get(),
        api.InstanceRequestAdapter(instance_.get(), &options, adapter.callback<AdapterCallback>()));
  adapter_.reset(adapter.handle);
  if (adapter_ == nullptr) return kDrivers;
  AdapterInfo about;
  api.AdapterGetInfo(adapter_.get(), &about);
  const bool computes = about.backend != kNullBackend;  // which does nothing, and no errors either
  Limits limits{};
  api.AdapterGetLimits(adapter_.get(), &limits);
  if (computes) describe(about, limits);
  api.AdapterInfoFreeMembers(about);
  if (!computes) return kDrivers;

  std::vector<std::uint32_t> features;
  for (const std::uint32_t feature : {kTimestamps, kSynchronized}) {
    if (api.AdapterHasFeature(adapter_.get(), feature) != 0) features.push_back(feature);
  }
  has_clocks_ = !features.empty() && features.front() == kTimestamps;
  if (features.empty() || features.back() != kSynchronized) {
    return info.name + " cannot be used from several threads";
  }
  const std::vector<const char*> coarse{"timestamp_quantization"};
  Toggles toggles;
  toggles.disabled = coarse;
  DeviceDescriptor descriptor;
  descriptor.next = &toggles.chain;
  descriptor.features = features;
  descriptor.limits = &limits;
  descriptor.lost.mode = kSpontaneous;
  descriptor.lost.first = this;
  descriptor.lost.call = [](const Gpu*, std::uint32_t, Text text, void* to, void*) {
    auto& gpu = *static_cast<WebGpu*>(to);
    const std::lock_guard lock(gpu.said_);
    gpu.lost_ = sentence(text.view());
    if (gpu.lost_.empty()) gpu.lost_ = "the device is lost";
  };
  descriptor.wrong.call = [](const Gpu*, std::uint32_t kind, Text text, void*, void*) {
    if (reported.kind == 0) reported = {kind, sentence(text.view())};
  };
  Answer<Gpu> device;
  await(api, instance_.get(),
        api.AdapterRequestDevice(adapter_.get(), &descriptor, device.callback<DeviceCallback>()));
  device_.reset(device.handle);
  if (device_ == nullptr) return info.name + " does not start: " + sentence(device.text);
  queue_.reset(api.DeviceGetQueue(device_.get()));
  Result<OwnedBuffer> made = allocate(kParameterBytes, kUniform | kCopyTarget);
  if (!made) return made.diagnostics()[0].problem;
  parameters = std::move(*made);
  return {};
}

void WebGpu::describe(const AdapterInfo& adapter, const Limits& limits) {
  info.backend = "wgsl";
  info.name = name_of(adapter);
  info.max_invocations = limits.max_invocations;
  std::ranges::copy(limits.max_workgroup_size, info.max_workgroup_size.begin());
  info.max_workgroup_bytes = limits.max_workgroup_storage;
  const bool is_bound_less = limits.max_storage_binding < limits.max_buffer;
  info.buffer_limit = is_bound_less ? "maxStorageBufferBindingSize" : "maxBufferSize";
  info.max_buffer_bytes =
      std::min(limits.max_buffer, limits.max_storage_binding) / kShaderBytes * kShaderBytes;
  max_grid.fill(limits.max_workgroups);
  max_storage_buffers_ = limits.max_storage_buffers;
}

Result<void> WebGpu::check() {
  const Reported wrong = std::exchange(reported, {});
  {
    const std::lock_guard lock(said_);
    if (!lost_.empty()) return diagnose<message::failed_device>(info.name, lost_);
  }
  if (wrong.kind == 0) return {};
  if (wrong.kind == kOutOfMemory) return diagnose<message::full_device>(info.name);
  return diagnose<message::failed_device>(info.name, wrong.text);
}

bool WebGpu::is_lost() const {
  const std::lock_guard lock(said_);
  return !lost_.empty();
}

Result<void> WebGpu::wait(Future future, const RunOptions& options) {
  FutureWait wait{future};
  for (;;) {
    const Status status = api.InstanceWaitAny(instance_.get(), 1, &wait, kPoll);
    if (status == kSuccess) return check();
    if (status != kTimedOut) {
      return diagnose<message::failed_device>(info.name, "it cannot be waited for");
    }
    if (is_stopped(options)) return diagnose<message::interrupted>();
  }
}

// --- Memory -------------------------------------------------------------------------------------

Result<OwnedBuffer> WebGpu::allocate(std::uint64_t bytes, std::uint64_t usage) {
  BufferDescriptor descriptor;
  descriptor.usage = usage;
  descriptor.size = whole_shader_bytes(bytes);
  OwnedBuffer buffer(api.DeviceCreateBuffer(device_.get(), &descriptor));
  const bool is_full = reported.kind == kOutOfMemory;
  const Result<void> done = check();
  if (done && buffer != nullptr) return buffer;
  if (is_full || done) return diagnose<message::out_of_memory>(bytes, info.name);
  return done.diagnostics();
}

Result<void> WebGpu::write_words(Buffer to, std::uint64_t offset,
                                 std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min<std::size_t>(bytes.size(), kStaged));
    api.QueueWriteBuffer(queue_.get(), to, offset, part.data(), part.size());
    if (Result<void> done = check(); !done) return done;
    bytes = bytes.subspan(part.size());
    offset += part.size();
    // Dawn keeps a copy of each part until the GPU has taken it.
    if (!bytes.empty()) {
      if (Result<void> done = finish({}); !done) return done;
    }
  }
  return {};
}

Result<void> WebGpu::write(Buffer to, std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::uint64_t begin = offset / 4 * 4;
  const std::uint64_t end = (offset + bytes.size() + 3) / 4 * 4;
  if (bytes.empty() || end - begin == bytes.size()) return write_words(to, offset, bytes);
  // WebGPU writes whole words: those at the ends keep the bytes that are not written, which another
  // thread may be writing.
  const std::lock_guard lock(mending_);
  std::vector<std::byte> words(end - begin);
  const auto ends = {std::pair{begin, std::span(words).first(4)},
                     std::pair{end - 4, std::span(words).last(4)}};
  for (const auto& [at, word] : ends) {
    if (Result<void> done = read(to, at, word); !done) return done;
  }
  std::ranges::copy(bytes, words.begin() + static_cast<std::ptrdiff_t>(offset - begin));
  return write_words(to, begin, words);
}

Result<void> WebGpu::read(Buffer from, std::uint64_t offset, std::span<std::byte> bytes) {
  const std::lock_guard lock(reading_);
  while (!bytes.empty()) {
    const std::uint64_t begin = offset / 4 * 4;
    const auto part = bytes.first(std::min<std::size_t>(bytes.size(), kStaged - 4));
    const std::uint64_t size = (offset + part.size() + 3) / 4 * 4 - begin;
    if (staging_bytes_ < size) {
      Result<OwnedBuffer> made = allocate(size, kMapRead | kCopyTarget);
      if (!made) return made.diagnostics();
      staging_ = std::move(*made);
      staging_bytes_ = whole_shader_bytes(size);
    }
    const OwnedEncoder encoder(api.DeviceCreateCommandEncoder(device_.get(), nullptr));
    api.CommandEncoderCopyBufferToBuffer(encoder.get(), from, begin, staging_.get(), 0, size);
    Result<void> done = submit(encoder.get(), {});
    if (done) done = map(staging_.get(), part, offset - begin, {});
    if (!done) return done;
    bytes = bytes.subspan(part.size());
    offset += part.size();
  }
  return {};
}

Result<void> WebGpu::map(Buffer buffer, std::span<std::byte> into, std::uint64_t skipped,
                         const RunOptions& options) {
  const std::size_t size = (skipped + into.size() + 3) / 4 * 4;
  std::string refusal;
  EndCallback callback;
  callback.first = &refusal;
  callback.call = [](Status status, Text text, void* to, void*) {
    if (status != kSuccess) *static_cast<std::string*>(to) = "no mapping: " + sentence(text.view());
  };
  Result<void> done = wait(api.BufferMapAsync(buffer, kMapRead, 0, size, callback), options);
  if (!done) return done;
  if (!refusal.empty()) return diagnose<message::failed_device>(info.name, refusal);
  const void* bytes = api.BufferGetConstMappedRange(buffer, 0, size);
  std::memcpy(into.data(), static_cast<const std::byte*>(bytes) + skipped, into.size());
  api.BufferUnmap(buffer);
  return {};
}

Result<void> WebGpu::submit(Encoder encoder, std::span<const std::byte> words) {
  const OwnedCommands commands(api.CommandEncoderFinish(encoder, nullptr));
  if (!words.empty()) {
    api.QueueWriteBuffer(queue_.get(), parameters.get(), 0, words.data(), words.size());
  }
  if (Result<void> done = check(); !done) return done;
  const std::array all{commands.get()};
  api.QueueSubmit(queue_.get(), all.size(), all.data());
  return check();
}

Result<void> WebGpu::finish(const RunOptions& options) {
  EndCallback callback;
  callback.call = [](Status, Text, void*, void*) {};  // what went wrong is reported as lost
  return wait(api.QueueOnSubmittedWorkDone(queue_.get(), callback), options);
}

// --- Code ---------------------------------------------------------------------------------------

OwnedBindGroupLayout WebGpu::layout_of(const ShaderCall& call) const {
  std::vector<BindGroupLayoutEntry> entries(1);
  entries[0].buffer.kind = kUniformBinding;
  entries[0].buffer.has_dynamic_offset = 1;
  const auto add = [&](std::uint32_t binding, bool is_written) {
    BindGroupLayoutEntry& entry = entries.emplace_back();
    entry.binding = binding;
    entry.buffer.kind = is_written ? kStorageBinding : kReadOnlyBinding;
  };
  if (!call.tables.empty()) add(kShaderTables, false);
  for (std::uint32_t i = 0; i < call.buffers.size(); ++i) {
    add(kShaderBuffers + i, call.buffers[i].is_written);
  }
  BindGroupLayoutDescriptor descriptor;
  descriptor.entries = entries;
  return OwnedBindGroupLayout(api.DeviceCreateBindGroupLayout(device_.get(), &descriptor));
}

Result<std::shared_ptr<const WgslCode>> WebGpu::compile(const WgslKernel& kernel,
                                                        std::string_view program) {
  if (const auto why =
          refused_shader(kernel.call, std::string(program), info, max_storage_buffers_)) {
    return *why;
  }
  ShaderText text;
  text.text = Text(kernel.text);
  Described shader;
  shader.next = &text.chain;
  const OwnedShaderModule module(api.DeviceCreateShaderModule(device_.get(), &shader));
  reported = {};  // the messages have places
  std::string refusal;
  CompilationCallback callback;
  callback.first = &refusal;
  callback.call = [](Status, const CompilationInfo* all, void* to, void*) {
    auto& said = *static_cast<std::string*>(to);
    std::size_t shown = 0;
    for (std::size_t i = 0; i < all->messages.count && shown < kMaxMessages; ++i) {
      const CompilationMessage& one = all->messages.items[i];
      if (one.kind != kIsError) continue;
      said += (shown++ == 0 ? "line " : "; line ") + std::to_string(one.line) + ", column " +
              std::to_string(one.column) + ": " + std::string(one.text.view());
    }
  };
  Result<void> done = wait(api.ShaderModuleGetCompilationInfo(module.get(), callback), {});
  if (!done) return done.diagnostics();
  if (!refusal.empty()) {
    return diagnose<message::no_machine_code>(program, "Dawn refuses the WGSL: " + refusal);
  }

  auto code = std::make_shared<WgslCode>();
  code->layout = layout_of(kernel.call);
  const std::vector<BindGroupLayout> groups{code->layout.get()};
  PipelineLayoutDescriptor whole;
  whole.groups = groups;
  const OwnedPipelineLayout layout(api.DeviceCreatePipelineLayout(device_.get(), &whole));
  if (done = check(); !done) return done.diagnostics();
  PipelineDescriptor descriptor;
  descriptor.layout = layout.get();
  descriptor.compute.module = module.get();
  descriptor.compute.entry = std::string_view("main");
  Answer<Pipeline> pipeline;
  done = wait(api.DeviceCreateComputePipelineAsync(device_.get(), &descriptor,
                                                   pipeline.callback<PipelineCallback>()),
              {});
  if (!done) return done.diagnostics();
  if (pipeline.handle == nullptr) {
    return diagnose<message::no_machine_code>(program, sentence(pipeline.text));
  }
  code->pipeline.reset(pipeline.handle);
  if (kernel.call.tables.empty()) return std::shared_ptr<const WgslCode>(std::move(code));
  const auto tables = std::as_bytes(std::span(kernel.call.tables));
  Result<OwnedBuffer> made = allocate(tables.size(), kStorage | kCopyTarget);
  if (!made) return made.diagnostics();
  code->tables = std::move(*made);
  if (done = write(code->tables.get(), 0, tables); !done) return done.diagnostics();
  return std::shared_ptr<const WgslCode>(std::move(code));
}

Result<std::shared_ptr<const WgslCode>> WebGpu::load(const WgslKernel& kernel,
                                                     std::string_view program) {
  const auto& tables = kernel.call.tables;
  std::string key = kernel.text;
  key.append(reinterpret_cast<const char*>(tables.data()), 4 * tables.size());
  {
    const std::lock_guard lock(kernels_mutex_);
    const auto known = kernels_.find(key);
    if (known != kernels_.end()) return known->second;
  }
  Result<std::shared_ptr<const WgslCode>> code = compile(kernel, program);
  if (!code) return code;
  const std::lock_guard lock(kernels_mutex_);
  if (kernels_.size() >= kMaxKernels) kernels_.clear();
  return kernels_.emplace(std::move(key), std::move(*code)).first->second;
}

// --- Clocks -------------------------------------------------------------------------------------

Result<WebGpuClock> WebGpu::take_clock() {
  WebGpuClock clock;
  if (!has_clocks_) return clock;
  {
    const std::lock_guard lock(clocks_mutex_);
    if (!clocks_.empty()) {
      clock = std::move(clocks_.back());
      clocks_.pop_back();
      return clock;
    }
  }
  QuerySetDescriptor descriptor;
  descriptor.count = 2 * WebGpuClock::kLaunches;
  clock.times.reset(api.DeviceCreateQuerySet(device_.get(), &descriptor));
  const std::array usages{kResolve | kCopySource, kMapRead | kCopyTarget};
  for (std::size_t i = 0; i < 2; ++i) {
    Result<OwnedBuffer> made = allocate(WebGpuClock::kBytes, usages[i]);
    if (!made) return made.diagnostics();
    (i == 0 ? clock.resolved : clock.mapped) = std::move(*made);
  }
  return clock;
}

void WebGpu::give_back(WebGpuClock clock) {
  const std::lock_guard lock(clocks_mutex_);
  clocks_.push_back(std::move(clock));
}

// ------------------------------------------------------------------------------------------------

WebGpu* find_webgpu(std::string& reason) {
  static std::mutex& mutex = *new std::mutex;
  // One that is lost stays, for those who have memory on it.
  static auto& all = *new std::vector<std::unique_ptr<WebGpu>>;
  const std::lock_guard lock(mutex);
  if (!all.empty() && !all.back()->is_lost()) return all.back().get();
  const Api* api = load_webgpu(reason);
  std::unique_ptr<WebGpu> gpu = api == nullptr ? nullptr : WebGpu::open(*api, reason);
  if (gpu == nullptr) return nullptr;
  all.push_back(std::move(gpu));
  return all.back().get();
}

}  // namespace vyre
