#include "vyre/backends/spirv/queue.h"

#include <algorithm>

namespace vyre {

struct VulkanQueue::Fence {
  Fence(const vulkan::Api& functions, VkDevice owner) : api(functions), device(owner) {}
  ~Fence() { api.DestroyFence(device, handle, nullptr); }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

  const vulkan::Api& api;
  VkDevice device;
  VkFence handle = VK_NULL_HANDLE;
};

VkResult VulkanQueue::submit(VkCommandBuffer commands, Ticket& ticket) {
  const auto fence = std::make_shared<Fence>(api_, device_);
  const auto create = vulkan::made<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  VkResult status = api_.CreateFence(device_, &create, nullptr, &fence->handle);
  if (status != VK_SUCCESS) return status;
  auto submission = vulkan::made<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  submission.commandBufferCount = 1;
  submission.pCommandBuffers = &commands;
  const std::lock_guard lock(mutex_);
  status = api_.QueueSubmit(queue_, 1, &submission, fence->handle);
  if (status != VK_SUCCESS) return status;
  ticket = ++last_;
  running_.emplace(ticket, fence);
  return VK_SUCCESS;
}

VkResult VulkanQueue::wait(Ticket ticket, const std::atomic<bool>* stop) {
  constexpr std::uint64_t kSlice = 1'000'000;  // nanoseconds
  std::shared_ptr<Fence> fence;
  {
    const std::lock_guard lock(mutex_);
    if (ticket <= ended_) return lost_;
    fence = running_.at(ticket);
  }
  for (;;) {
    const VkResult status = api_.WaitForFences(device_, 1, &fence->handle, VK_TRUE,
                                               stop == nullptr ? ~std::uint64_t{0} : kSlice);
    if (status == VK_SUCCESS) {
      const std::lock_guard lock(mutex_);
      end(ticket);
    }
    if (status != VK_SUCCESS && status != VK_TIMEOUT) {
      const std::lock_guard lock(mutex_);
      if (lost_ == VK_SUCCESS) lost_ = status;
    }
    if (status != VK_TIMEOUT) return status;
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) return VK_TIMEOUT;
  }
}

VulkanQueue::Ticket VulkanQueue::ended() {
  const std::lock_guard lock(mutex_);
  while (!running_.empty()) {
    const auto& [ticket, fence] = *running_.begin();
    const VkResult status = api_.GetFenceStatus(device_, fence->handle);
    if (status == VK_NOT_READY) break;
    if (lost_ == VK_SUCCESS) lost_ = status;  // after an error nothing runs any more
    end(ticket);
  }
  return ended_;
}

// With the mutex.
void VulkanQueue::end(Ticket ticket) {
  ended_ = std::max(ended_, ticket);
  running_.erase(running_.begin(), running_.upper_bound(ended_));
}

}  // namespace vyre
