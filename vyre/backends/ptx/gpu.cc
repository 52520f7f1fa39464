#include "vyre/backends/ptx/gpu.h"

#include <algorithm>

#include "vyre/backends/cache.h"
#include "vyre/backends/ptx/code.h"
#include "vyre/backends/ptx/staging.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

constexpr int kOldestSm = 75;
// Where it is the code that is wrong, or what makes it is missing, and not the GPU: a wrong
// argument or image, none for this GPU, PTX that is wrong, too new, not allowed or for which there
// is no compiler, and no such function.
bool is_of_code(cuda::Status status) {
  static constexpr cuda::Status kAll[] = {1, 200, 209, 218, 221, 222, 223, 500};
  return std::ranges::find(kAll, status) != std::end(kAll);
}
constexpr std::size_t kMaxModules = 256;
// Smaller copies are over before another thread has woken.
constexpr std::size_t kStaged = std::size_t{4} << 20;

}  // namespace

CudaCode::~CudaCode() {
  if (module == nullptr) return;
  const auto entered = gpu.enter();
  gpu.api.ModuleUnload(module);
}

CudaGpu::CudaGpu(const cuda::Api& driver, cuda::Gpu number) : api(driver), number_(number) {
  const auto attribute = [&](int which) {
    int value = 0;
    api.DeviceGetAttribute(&value, which, number_);
    return static_cast<std::uint32_t>(std::max(value, 0));
  };
  char text[256] = "an NVIDIA GPU";
  api.DeviceGetName(text, sizeof text, number_);
  text[sizeof text - 1] = '\0';
  sm = static_cast<int>(attribute(cuda::kMajor) * 10 + attribute(cuda::kMinor));
  info.backend = "ptx";
  info.name = std::string(text) + ", sm_" + std::to_string(sm);
  for (int axis = 0; axis < 3; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    info.max_workgroup_size[at] = attribute(cuda::kMaxBlockX + axis);
    max_grid[at] = attribute(cuda::kMaxGridX + axis);
  }
  info.max_invocations = attribute(cuda::kMaxThreads);
  info.max_workgroup_bytes = attribute(cuda::kMaxShared);
  std::size_t bytes = 0;
  api.DeviceTotalMem(&bytes, number_);
  info.max_buffer_bytes = bytes;
}

CudaGpu::~CudaGpu() = default;

Result<void> CudaGpu::start() {
  if (is_started_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(starting_);
  if (is_started_) return {};
  if (context_ == nullptr) {
    if (const auto status = api.DevicePrimaryCtxRetain(&context_, number_)) return failure(status);
  }
  const cuda::Entered entered(api, context_);
  if (stream_ == nullptr) {
    if (const auto status = api.StreamCreate(&stream_, cuda::kNonBlocking)) return failure(status);
  }
  int has_pools = 0;
  api.DeviceGetAttribute(&has_pools, cuda::kHasPools, number_);
  if (has_pools != 0 && api.DeviceGetDefaultMemPool(&pool_, number_) == cuda::kSuccess) {
    // What is given back is kept: to ask the system for it again takes a thousand times as long.
    std::uint64_t all = ~std::uint64_t{0};
    if (api.MemPoolSetAttribute(pool_, cuda::kReleaseThreshold, &all) != cuda::kSuccess) {
      pool_ = nullptr;
    }
  }
  staging_ = std::make_unique<CudaStaging>(api, context_);
  is_started_.store(true, std::memory_order_release);
  return {};
}

Diagnostic CudaGpu::failure(cuda::Status status) const {
  if (status == cuda::kOutOfMemory) return diagnose<message::full_device>(info.name);
  const std::string reason = describe(api, status);
  if (status == cuda::kLaunchTimeout) return diagnose<message::slow_kernel>(info.name, reason);
  return diagnose<message::failed_device>(info.name, reason);
}

Result<void> CudaGpu::check(cuda::Status status) const {
  if (status == cuda::kSuccess) return {};
  return failure(status);
}

// --- Memory -------------------------------------------------------------------------------------

Result<cuda::Pointer> CudaGpu::allocate(std::uint64_t bytes) {
  cuda::Pointer pointer = 0;
  if (bytes == 0) return pointer;
  const auto take = [&] {
    return pool_ != nullptr ? api.MemAllocAsync(&pointer, bytes, stream_)
                            : api.MemAlloc(&pointer, bytes);
  };
  cuda::Status status = take();
  if (status == cuda::kOutOfMemory && pool_ != nullptr) {
    // What is kept may be in pieces that are too small.
    api.StreamSynchronize(stream_);
    api.MemPoolTrimTo(pool_, 0);
    status = take();
  }
  if (status == cuda::kOutOfMemory) return diagnose<message::out_of_memory>(bytes, info.name);
  if (status != cuda::kSuccess) return failure(status);
  if (const auto wrong = api.MemsetD8Async(pointer, 0, bytes, stream_)) {
    free(pointer);
    return failure(wrong);
  }
  return pointer;
}

void CudaGpu::free(cuda::Pointer pointer) {
  if (pointer == 0) return;
  pool_ != nullptr ? api.MemFreeAsync(pointer, stream_) : api.MemFree(pointer);
}

Result<void> CudaGpu::write(cuda::Pointer to, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  if (bytes.size() >= kStaged) {
    if (const auto status = staging_->write(to, bytes, stream_)) return check(*status);
  }
  cuda::Status status = api.MemcpyHtoDAsync(to, bytes.data(), bytes.size(), stream_);
  // The bytes have been taken when this is back, but not those of memory that the driver knows.
  unsigned kind = 0;
  int which = cuda::kMemoryType;
  void* to_kind = &kind;
  api.PointerGetAttributes(1, &which, &to_kind, reinterpret_cast<cuda::Pointer>(bytes.data()));
  if (status == cuda::kSuccess && kind != 0) status = api.StreamSynchronize(stream_);
  return check(status);
}

Result<void> CudaGpu::read(cuda::Pointer from, std::span<std::byte> bytes) {
  if (bytes.empty()) return {};
  if (bytes.size() >= kStaged) {
    if (const auto status = staging_->read(from, bytes, stream_)) return check(*status);
  }
  cuda::Status status = api.MemcpyDtoHAsync(bytes.data(), from, bytes.size(), stream_);
  if (status == cuda::kSuccess) status = api.StreamSynchronize(stream_);
  return check(status);
}

// --- Code ---------------------------------------------------------------------------------------

// Why there is no machine code, or what is wrong with the GPU.
Diagnostic CudaGpu::no_code(cuda::Status status, std::string_view program,
                            std::string_view said) const {
  if (!is_of_code(status)) return failure(status);
  const std::string reason = describe(api, status);
  return diagnose<message::no_machine_code>(
      program, said.empty() ? reason : reason + ": " + shorten(said, 500));
}

Result<std::string> CudaGpu::assemble(const std::string& text, bool has_lines,
                                      std::string_view program) const {
  char log[4096] = "";
  int options[] = {cuda::kErrorLog, cuda::kErrorLogBytes, cuda::kLineInfo};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log),
                    reinterpret_cast<void*>(std::size_t{has_lines})};
  cuda::Linker linker = nullptr;
  void* image = nullptr;
  std::size_t size = 0;
  std::string code;
  cuda::Status status = api.LinkCreate(std::size(options), options, values, &linker);
  if (status == cuda::kSuccess) {
    // With the zero that ends it.
    status = api.LinkAddData(linker, cuda::kPtx, const_cast<char*>(text.c_str()), text.size() + 1,
                             nullptr, 0, nullptr, nullptr);
    if (status == cuda::kSuccess) status = api.LinkComplete(linker, &image, &size);
    if (status == cuda::kSuccess) code.assign(static_cast<const char*>(image), size);
    api.LinkDestroy(linker);
  }
  if (status == cuda::kSuccess) return code;
  log[sizeof log - 1] = '\0';
  std::string said = log;
  said.erase(said.find_last_not_of(" \n") + 1);
  return no_code(status, program, said);
}

std::string CudaGpu::cache_key(const std::string& text) const {
  return "ptx " VYRE_VERSION " sm_" + std::to_string(sm) + " " + std::to_string(api.version) + " " +
         api.driver + "\n" + text;
}

Result<std::shared_ptr<const CudaCode>> CudaGpu::load(const PtxKernel& kernel,
                                                      std::string_view program) {
  const std::string text = ptx_module(kernel);
  {
    const std::lock_guard lock(modules_mutex_);
    const auto known = modules_.find(text);
    if (known != modules_.end()) return known->second;
  }
  const std::string key = cache_key(text);
  auto code = std::make_shared<CudaCode>(*this);
  const std::optional<std::string> kept = read_cache(key);
  if (!kept || api.ModuleLoadData(&code->module, kept->data()) != cuda::kSuccess) {
    const Result<std::string> made = assemble(text, !kernel.file.empty(), program);
    if (!made) return made.diagnostics();
    if (const auto status = api.ModuleLoadData(&code->module, made->data())) {
      code->module = nullptr;
      return no_code(status, program);
    }
    write_cache(key, *made);
  }
  cuda::Status status = api.ModuleGetFunction(&code->function, code->module, kernel.entry.c_str());
  // Asking for an attribute makes the driver load the code now, and not in a launch or a capture.
  int registers = 0;
  if (status == cuda::kSuccess) {
    status = api.FuncGetAttribute(&registers, cuda::kRegisters, code->function);
  }
  if (status == cuda::kSuccess && kernel.dynamic_shared > 0) {
    status = api.FuncSetAttribute(code->function, cuda::kDynamicShared,
                                  static_cast<int>(kernel.dynamic_shared));
  }
  if (status != cuda::kSuccess) return no_code(status, program);
  const std::lock_guard lock(modules_mutex_);
  // To unload a module waits for what runs.
  if (modules_.size() >= kMaxModules && !is_abandoned) modules_.clear();
  return modules_.emplace(text, std::move(code)).first->second;
}

// --- Events -------------------------------------------------------------------------------------

cuda::Status CudaGpu::take_event(cuda::Event& event) {
  {
    const std::lock_guard lock(events_mutex_);
    if (!events_.empty()) {
      event = events_.back();
      events_.pop_back();
      return cuda::kSuccess;
    }
  }
  return api.EventCreate(&event, 0);
}

void CudaGpu::give_back(const std::vector<cuda::Event>& events) {
  const std::lock_guard lock(events_mutex_);
  events_.insert(events_.end(), events.begin(), events.end());
}

// ------------------------------------------------------------------------------------------------

CudaGpu* find_gpu(const cuda::Api& api, std::uint32_t number, std::string& reason) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::map<std::uint32_t, std::unique_ptr<CudaGpu>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<CudaGpu>& gpu = all[number];
  if (gpu == nullptr) {
    cuda::Gpu handle = 0;
    if (const auto status = api.DeviceGet(&handle, static_cast<int>(number))) {
      reason = "GPU " + std::to_string(number) + " does not answer: " + describe(api, status);
      return nullptr;
    }
    gpu = std::make_unique<CudaGpu>(api, handle);
  }
  if (gpu->sm < kOldestSm) {
    reason = gpu->info.name + " is too old: programs run from sm_75 on, which is 2018's GPUs";
    return nullptr;
  }
  return gpu.get();
}

}  // namespace vyre
