// The queue of a GPU. What is submitted runs in that order and gets a ticket, the number of the
// submission: when it has ended, so have all before it. Safe to use from several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "vyre/backends/spirv/vulkan.h"

namespace vyre {

class VulkanQueue {
 public:
  using Ticket = std::uint64_t;  // 0: nothing, which has ended

  VulkanQueue(const vulkan::Api& api, VkDevice device, VkQueue queue)
      : api_(api), device_(device), queue_(queue) {}

  VkResult submit(VkCommandBuffer commands, Ticket& ticket);
  // Until it has ended. VK_TIMEOUT: somebody wants to stop; what runs cannot be stopped.
  VkResult wait(Ticket ticket, const std::atomic<bool>* stop = nullptr);
  bool has_ended(Ticket ticket) { return ticket <= ended(); }
  Ticket ended();  // the last one that has
  Ticket last() const { return last_; }

 private:
  struct Fence;
  void end(Ticket ticket);

  const vulkan::Api& api_;
  VkDevice device_;
  VkQueue queue_;
  std::mutex mutex_;
  std::atomic<Ticket> last_ = 0;
  Ticket ended_ = 0;
  VkResult lost_ = VK_SUCCESS;  // or what became of the device
  std::map<Ticket, std::shared_ptr<Fence>> running_;
};

}  // namespace vyre
