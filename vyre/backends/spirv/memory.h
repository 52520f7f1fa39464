// Memory of one kind on a GPU: large blocks from the driver, and pieces of them. What is given back
// is used again as soon as nothing that was submitted before can access it. Safe to use from
// several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "vyre/backends/spirv/queue.h"
#include "vyre/backends/spirv/vulkan.h"

namespace vyre {

// Whole stretches of kShaderBytes, at a multiple of them.
struct VulkanPiece {
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;      // 0: there is none
  std::byte* host = nullptr;    // where the host sees it, if it does
  const void* block = nullptr;  // that it is a piece of
};

// The memory types that buffers can have, a bit for each; 0: there are none.
std::uint32_t buffer_memory_types(const vulkan::Api& api, VkDevice device);

class VulkanHeap {
 public:
  // `type` is a memory type, by number.
  VulkanHeap(const vulkan::Api& api, VkDevice device, VulkanQueue& queue, std::uint32_t type,
             VkMemoryPropertyFlags properties);
  ~VulkanHeap();
  VulkanHeap(const VulkanHeap&) = delete;
  VulkanHeap& operator=(const VulkanHeap&) = delete;

  // At least so many bytes, and at least one stretch.
  VkResult allocate(std::uint64_t bytes, VulkanPiece& piece);
  void free(const VulkanPiece& piece);
  bool is_mapped() const { return is_mapped_; }

 private:
  struct Block;
  struct Late {
    VulkanQueue::Ticket ticket = 0;  // has to have ended
    VulkanPiece piece;
  };
  void take_back();
  void drop_empty();
  bool find(std::uint64_t bytes, VulkanPiece& piece);
  VkResult add_block(std::uint64_t bytes);

  const vulkan::Api& api_;
  VkDevice device_;
  VulkanQueue& queue_;
  const std::uint32_t type_;
  const bool is_mapped_;
  std::mutex mutex_;
  std::uint64_t next_block_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Late> late_;
};

}  // namespace vyre
