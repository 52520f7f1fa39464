// A device of this process: its queue, its memory, and the pipelines on it. There is one for each
// device, from when it is first asked for until the process ends. Safe to use from several threads.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/backends/backend.h"
#include "vyre/backends/spirv/emit.h"
#include "vyre/backends/spirv/memory.h"
#include "vyre/backends/spirv/queue.h"
#include "vyre/backends/spirv/vulkan.h"
#include "vyre/base/result.h"

namespace vyre {

class VulkanBatch;
class VulkanGpu;
class VulkanStaging;

// A kernel as a pipeline, with its tables.
struct VulkanCode {
  explicit VulkanCode(VulkanGpu& owner) : gpu(owner) {}
  ~VulkanCode();
  VulkanCode(const VulkanCode&) = delete;
  VulkanCode& operator=(const VulkanCode&) = delete;

  VulkanGpu& gpu;
  VkDescriptorSetLayout bindings = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
  VulkanPiece tables;
};

class VulkanGpu {
 public:
  VulkanGpu(const vulkan::Api& driver, VkPhysicalDevice gpu);
  ~VulkanGpu();

  // Makes the device when it is first needed: that takes as long as a thousand launches.
  Result<void> start();

  // All that needs a device that has been started.
  VkDevice device() const { return device_; }
  std::uint32_t family() const { return family_; }  // of the queue
  VulkanQueue& queue() { return *queue_; }
  Result<VulkanPiece> allocate(std::uint64_t bytes);  // zeros, before all that comes later
  Result<void> clear(const VulkanPiece& piece);       // of memory that nothing uses
  void free(const VulkanPiece& piece) { memory_->free(piece); }
  Result<void> write(const VulkanPiece& to, std::uint64_t offset, std::span<const std::byte> bytes);
  Result<void> read(const VulkanPiece& from, std::uint64_t offset, std::span<std::byte> bytes);
  // Memory of the host that the device sees.
  VulkanHeap& host_memory() { return *host_; }
  // From memory, from the cache folder, or compiled by the driver. `program` is its name.
  Result<std::shared_ptr<const VulkanCode>> load(const SpirvKernel& kernel,
                                                 std::string_view program);

  // What the driver made of a module is kept under.
  std::string cache_key(const std::vector<std::uint32_t>& words) const;

  // Batches are made once and used again, when what was submitted with them has ended.
  Result<std::unique_ptr<VulkanBatch>> take_batch();
  void give_back(std::unique_ptr<VulkanBatch> batch);

  // What ended a kernel or the device, with what helps.
  Diagnostic failure(VkResult status) const;
  // Also what the validation layer has found by now.
  Result<void> check(VkResult status) const;

  const vulkan::Api& api;
  DeviceInfo info;
  std::array<std::uint64_t, 3> max_grid{};  // of a launch
  double tick = 0;                          // in seconds, of timestamps
  std::uint64_t tick_mask = 0;              // their bits; 0: the device measures no time
  // Held while work that belongs together is submitted.
  std::mutex submitting;

 private:
  Result<void> make_device();
  Result<void> make_heaps();
  Diagnostic no_code(VkResult status, std::string_view program) const;
  std::optional<Diagnostic> refuses(const ShaderCall& call, std::string_view program) const;
  VkResult make_layout(const ShaderCall& call, VulkanCode& code) const;
  Result<void> make_pipeline(const SpirvKernel& kernel, VulkanCode& code,
                             std::string_view program) const;

  VkPhysicalDevice physical_;
  VkPhysicalDeviceProperties properties_{};
  VkPhysicalDeviceFeatures features_{};  // those that are switched on
  std::string driver_;
  const std::uint32_t family_;
  std::mutex starting_;
  std::atomic<bool> is_started_ = false;
  VkDevice device_ = nullptr;
  std::unique_ptr<VulkanQueue> queue_;
  std::unique_ptr<VulkanHeap> memory_;
  std::unique_ptr<VulkanHeap> host_;
  std::unique_ptr<VulkanStaging> staging_;
  std::mutex batches_mutex_;
  std::vector<std::unique_ptr<VulkanBatch>> batches_;
  std::mutex codes_mutex_;
  using ModuleKey = std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>;
  std::map<ModuleKey, std::shared_ptr<const VulkanCode>> codes_;  // by their words and tables
};

// One of those that there are.
VulkanGpu& find_gpu(const vulkan::Api& api, std::uint32_t number);

}  // namespace vyre
