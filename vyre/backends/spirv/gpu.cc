#include "vyre/backends/spirv/gpu.h"

#include <algorithm>
#include <cstring>

#include "vyre/backends/cache.h"
#include "vyre/backends/spirv/batch.h"
#include "vyre/backends/spirv/staging.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

constexpr std::size_t kMaxCodes = 256;

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

}  // namespace

VulkanCode::~VulkanCode() {
  gpu.api.DestroyPipeline(gpu.device(), pipeline, nullptr);
  gpu.api.DestroyPipelineLayout(gpu.device(), layout, nullptr);
  gpu.api.DestroyDescriptorSetLayout(gpu.device(), bindings, nullptr);
  gpu.free(tables);
}

VulkanGpu::VulkanGpu(const vulkan::Api& driver, VkPhysicalDevice gpu)
    : api(driver), physical_(gpu), family_(vulkan::compute_family(driver, gpu)) {
  auto software = vulkan::made<VkPhysicalDeviceDriverProperties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  auto more = vulkan::made<VkPhysicalDeviceMaintenance3Properties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  auto all =
      vulkan::made<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  all.pNext = &more;
  api.GetPhysicalDeviceProperties2(physical_, &all);
  if (all.properties.apiVersion >= VK_API_VERSION_1_2) {
    more.pNext = &software;
    api.GetPhysicalDeviceProperties2(physical_, &all);
  }
  properties_ = all.properties;
  driver_ = software.driverInfo[0] != '\0' ? software.driverInfo : software.driverName;
  info.backend = "spirv";
  info.name = properties_.deviceName;
  if (properties_.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU) info.name += ", in software";
  if (!driver_.empty()) info.name += ", driver " + driver_;

  VkPhysicalDeviceFeatures has{};
  api.GetPhysicalDeviceFeatures(physical_, &has);
  features_.shaderInt64 = has.shaderInt64;
  info.kind = has.shaderInt64 == VK_TRUE ? "int64" : "";

  const VkPhysicalDeviceLimits& limits = properties_.limits;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    info.max_workgroup_size[axis] = limits.maxComputeWorkGroupSize[axis];
    max_grid[axis] = limits.maxComputeWorkGroupCount[axis];
  }
  info.max_invocations = limits.maxComputeWorkGroupInvocations;
  info.max_workgroup_bytes = limits.maxComputeSharedMemorySize;
  const bool is_bound_less = limits.maxStorageBufferRange <= more.maxMemoryAllocationSize;
  info.buffer_limit = is_bound_less ? "maxStorageBufferRange" : "maxMemoryAllocationSize";
  const std::uint64_t most =
      is_bound_less ? limits.maxStorageBufferRange : more.maxMemoryAllocationSize;
  info.max_buffer_bytes = most / kShaderBytes * kShaderBytes;

  std::uint32_t count = 0;
  api.GetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  api.GetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
  const std::uint32_t bits = families[family_].timestampValidBits;
  tick = static_cast<double>(limits.timestampPeriod) / 1e9;
  tick_mask = bits == 0 ? 0 : ~std::uint64_t{0} >> (64 - std::min(bits, 64u));
}

VulkanGpu::~VulkanGpu() = default;

Result<void> VulkanGpu::start() {
  if (is_started_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(starting_);
  if (is_started_) return {};
  Result<void> done = device_ == nullptr ? make_device() : Result<void>();
  if (done) done = make_heaps();
  if (!done) return done;
  staging_ = std::make_unique<VulkanStaging>(*this);
  is_started_.store(true, std::memory_order_release);
  return {};
}

Result<void> VulkanGpu::make_device() {
  const float priority = 1;
  auto queue = vulkan::made<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto create = vulkan::made<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  create.pEnabledFeatures = &features_;
  const VkResult status = api.CreateDevice(physical_, &create, nullptr, &device_);
  if (status != VK_SUCCESS) return failure(status);
  VkQueue handle = nullptr;
  api.GetDeviceQueue(device_, family_, 0, &handle);
  queue_ = std::make_unique<VulkanQueue>(api, device_, handle);
  return {};
}

// The device's memory is mapped where it is the host's: a GPU of its own is faster to copy to.
Result<void> VulkanGpu::make_heaps() {
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags kMapped =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  VkPhysicalDeviceMemoryProperties memory{};
  api.GetPhysicalDeviceMemoryProperties(physical_, &memory);
  const std::uint32_t usable = buffer_memory_types(api, device_);
  const auto heap = [&](std::initializer_list<VkMemoryPropertyFlags> wishes) {
    for (const VkMemoryPropertyFlags wish : wishes) {
      for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
        const VkMemoryPropertyFlags has = memory.memoryTypes[i].propertyFlags;
        if ((usable >> i & 1) == 0 || (has & wish) != wish) continue;
        const VkMemoryPropertyFlags mapped = (wish & kMapped) != 0 ? has : 0;
        return std::make_unique<VulkanHeap>(api, device_, *queue_, i, mapped);
      }
    }
    return std::unique_ptr<VulkanHeap>();
  };
  const bool is_host = properties_.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ||
                       properties_.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  memory_ =
      is_host ? heap({kLocal | kMapped | kCached, kLocal | kMapped, kLocal, 0}) : heap({kLocal, 0});
  host_ = heap({kMapped | kCached, kMapped});
  if (memory_ != nullptr && host_ != nullptr) return {};
  return diagnose<message::failed_device>(info.name, "it has no memory for buffers");
}

Diagnostic VulkanGpu::failure(VkResult status) const {
  if (status == VK_ERROR_OUT_OF_DEVICE_MEMORY || status == VK_ERROR_OUT_OF_HOST_MEMORY) {
    return diagnose<message::full_device>(info.name);
  }
  return diagnose<message::failed_device>(info.name, vulkan::describe(status));
}

Result<void> VulkanGpu::check(VkResult status) const {
  if (api.validates) {
    const std::string complaint = vulkan::take_complaint();
    if (!complaint.empty()) return diagnose<message::wrong_call>(info.name, complaint);
  }
  if (status == VK_SUCCESS) return {};
  return failure(status);
}

// --- Memory -------------------------------------------------------------------------------------

Result<VulkanPiece> VulkanGpu::allocate(std::uint64_t bytes) {
  VulkanPiece piece;
  const VkResult status = memory_->allocate(bytes, piece);
  if (status == VK_ERROR_OUT_OF_DEVICE_MEMORY || status == VK_ERROR_OUT_OF_HOST_MEMORY) {
    return diagnose<message::out_of_memory>(bytes, info.name);
  }
  if (Result<void> done = check(status); !done) return done.diagnostics();
  if (Result<void> done = clear(piece); !done) {
    free(piece);
    return done.diagnostics();
  }
  return piece;
}

Result<void> VulkanGpu::clear(const VulkanPiece& piece) {
  if (piece.host != nullptr) {
    std::memset(piece.host, 0, piece.bytes);
    return {};
  }
  Result<std::unique_ptr<VulkanBatch>> batch = take_batch();
  if (!batch) return batch.diagnostics();
  api.CmdFillBuffer((*batch)->commands(), piece.buffer, piece.offset, piece.bytes, 0);
  Result<void> done = (*batch)->submit();
  give_back(std::move(*batch));
  return done;
}

Result<void> VulkanGpu::write(const VulkanPiece& to, std::uint64_t offset,
                              std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  if (to.host == nullptr) return staging_->write(to, offset, bytes);
  const Result<void> done = check(queue_->wait(queue_->last()));
  if (done) copy_bytes(to.host + offset, bytes.data(), bytes.size());
  return done;
}

Result<void> VulkanGpu::read(const VulkanPiece& from, std::uint64_t offset,
                             std::span<std::byte> bytes) {
  if (bytes.empty()) return {};
  if (from.host == nullptr) return staging_->read(from, offset, bytes);
  const Result<void> done = check(queue_->wait(queue_->last()));
  if (done) copy_bytes(bytes.data(), from.host + offset, bytes.size());
  return done;
}

// --- Code ---------------------------------------------------------------------------------------

std::string VulkanGpu::cache_key(const std::vector<std::uint32_t>& words) const {
  std::string key = "spirv " VYRE_VERSION " " + hex(properties_.pipelineCacheUUID) + " " +
                    std::to_string(properties_.vendorID) + " " +
                    std::to_string(properties_.deviceID) + " " +
                    std::to_string(properties_.driverVersion) + " " + driver_ + "\n";
  key.append(reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]);
  return key;
}

// Why there is no pipeline, or what is wrong with the device.
Diagnostic VulkanGpu::no_code(VkResult status, std::string_view program) const {
  switch (status) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_DEVICE_LOST: return failure(status);
    default: return diagnose<message::no_machine_code>(program, vulkan::describe(status));
  }
}

std::optional<Diagnostic> VulkanGpu::refuses(const ShaderCall& call,
                                             std::string_view program) const {
  const VkPhysicalDeviceLimits& limits = properties_.limits;
  // Each has a word among the parameters, beside few others.
  constexpr std::uint32_t kOthers = 64;
  const std::uint64_t most =
      std::min({limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers,
                limits.maxPerStageResources - 1, limits.maxUniformBufferRange / 4 - kOthers});
  return refused_shader(call, std::string(program), info, most);
}

VkResult VulkanGpu::make_layout(const ShaderCall& call, VulkanCode& code) const {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  const auto add = [&](std::uint32_t number, VkDescriptorType type) {
    bindings.push_back({number, type, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  };
  add(kShaderParameters, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC);
  if (!call.tables.empty()) add(kShaderTables, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
  for (std::uint32_t i = 0; i < call.buffers.size(); ++i) {
    add(kShaderBuffers + i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
  }
  auto set = vulkan::made<VkDescriptorSetLayoutCreateInfo>(
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  set.bindingCount = static_cast<std::uint32_t>(bindings.size());
  set.pBindings = bindings.data();
  const VkResult status = api.CreateDescriptorSetLayout(device_, &set, nullptr, &code.bindings);
  if (status != VK_SUCCESS) return status;
  auto layout =
      vulkan::made<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &code.bindings;
  return api.CreatePipelineLayout(device_, &layout, nullptr, &code.layout);
}

// With what the driver made of it before, which it may use or not.
Result<void> VulkanGpu::make_pipeline(const SpirvKernel& kernel, VulkanCode& code,
                                      std::string_view program) const {
  const auto fails = [&](VkResult status) -> Result<void> {
    if (Result<void> fine = check(VK_SUCCESS); !fine) return fine;  // the layer says it better
    if (status == VK_SUCCESS) return {};
    return no_code(status, program);
  };
  const std::vector<std::uint32_t>& words = kernel.words;
  auto create = vulkan::made<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  create.codeSize = words.size() * sizeof words[0];
  create.pCode = words.data();
  auto pipeline =
      vulkan::made<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  pipeline.layout = code.layout;
  pipeline.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  pipeline.stage.pName = "main";
  VkShaderModule& module = pipeline.stage.module;
  // What is not valid must not reach the compiler, which may do anything with it.
  Result<void> done = fails(api.CreateShaderModule(device_, &create, nullptr, &module));

  const std::string key = cache_key(words);
  const std::optional<std::string> kept = read_cache(key);
  auto known =
      vulkan::made<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  known.initialDataSize = kept ? kept->size() : 0;
  known.pInitialData = kept ? kept->data() : nullptr;
  VkPipelineCache cache = VK_NULL_HANDLE;
  if (done) done = fails(api.CreatePipelineCache(device_, &known, nullptr, &cache));
  if (done) {
    done = fails(api.CreateComputePipelines(device_, cache, 1, &pipeline, nullptr, &code.pipeline));
  }
  std::size_t size = 0;
  if (done && !kept && api.GetPipelineCacheData(device_, cache, &size, nullptr) == VK_SUCCESS) {
    std::string made(size, '\0');
    if (api.GetPipelineCacheData(device_, cache, &size, made.data()) == VK_SUCCESS) {
      write_cache(key, made);
    }
  }
  api.DestroyPipelineCache(device_, cache, nullptr);
  api.DestroyShaderModule(device_, module, nullptr);
  return done;
}

Result<std::shared_ptr<const VulkanCode>> VulkanGpu::load(const SpirvKernel& kernel,
                                                          std::string_view program) {
  const ModuleKey key(kernel.words, kernel.call.tables);
  {
    const std::lock_guard lock(codes_mutex_);
    const auto known = codes_.find(key);
    if (known != codes_.end()) return known->second;
  }
  if (const auto why = refuses(kernel.call, program)) return *why;
  auto code = std::make_shared<VulkanCode>(*this);
  Result<void> done = check(make_layout(kernel.call, *code));
  if (done) done = make_pipeline(kernel, *code, program);
  if (done && !kernel.call.tables.empty()) {
    const auto tables = std::as_bytes(std::span(kernel.call.tables));
    Result<VulkanPiece> piece = allocate(tables.size());
    if (!piece) return piece.diagnostics();
    code->tables = *piece;
    done = write(*piece, 0, tables);
  }
  if (!done) return done.diagnostics();
  const std::lock_guard lock(codes_mutex_);
  if (codes_.size() >= kMaxCodes) codes_.clear();
  return codes_.emplace(key, std::move(code)).first->second;
}

// --- Batches ------------------------------------------------------------------------------------

Result<std::unique_ptr<VulkanBatch>> VulkanGpu::take_batch() {
  std::unique_ptr<VulkanBatch> batch;
  {
    const std::lock_guard lock(batches_mutex_);
    const auto found = std::ranges::find_if(
        batches_, [&](const auto& each) { return queue_->has_ended(each->ticket()); });
    if (found != batches_.end()) {
      batch = std::move(*found);
      batches_.erase(found);
    }
  }
  if (batch == nullptr) batch = std::make_unique<VulkanBatch>(*this);
  if (Result<void> done = batch->begin(); !done) return done.diagnostics();
  return batch;
}

void VulkanGpu::give_back(std::unique_ptr<VulkanBatch> batch) {
  const std::lock_guard lock(batches_mutex_);
  batches_.push_back(std::move(batch));
}

// ------------------------------------------------------------------------------------------------

VulkanGpu& find_gpu(const vulkan::Api& api, std::uint32_t number) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::map<std::uint32_t, std::unique_ptr<VulkanGpu>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<VulkanGpu>& gpu = all[number];
  if (gpu == nullptr) gpu = std::make_unique<VulkanGpu>(api, api.gpus[number]);
  return *gpu;
}

}  // namespace vyre
