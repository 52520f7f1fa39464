#include "vyre/backends/spirv/memory.h"

#include <algorithm>
#include <iterator>

#include "vyre/backends/shader.h"

namespace vyre {
namespace {

// Of blocks that are shared, the first and the largest. What takes much of one has its own.
constexpr std::uint64_t kFirstBlock = std::uint64_t{4} << 20;
constexpr std::uint64_t kLargestBlock = std::uint64_t{256} << 20;
constexpr std::uint64_t kShared = kLargestBlock / 4;

VkResult make_buffer(const vulkan::Api& api, VkDevice device, std::uint64_t bytes,
                     VkBuffer& buffer) {
  auto create = vulkan::made<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  create.size = bytes;
  create.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  return api.CreateBuffer(device, &create, nullptr, &buffer);
}

}  // namespace

std::uint32_t buffer_memory_types(const vulkan::Api& api, VkDevice device) {
  VkBuffer buffer = VK_NULL_HANDLE;
  if (make_buffer(api, device, kShaderBytes, buffer) != VK_SUCCESS) return 0;
  VkMemoryRequirements needs{};
  api.GetBufferMemoryRequirements(device, buffer, &needs);
  api.DestroyBuffer(device, buffer, nullptr);
  return needs.memoryTypeBits;
}

struct VulkanHeap::Block {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  std::byte* host = nullptr;
  std::uint64_t bytes = 0;
  std::map<std::uint64_t, std::uint64_t> free;  // offset and bytes of each gap

  bool is_empty() const { return free.size() == 1 && free.begin()->second == bytes; }
};

VulkanHeap::VulkanHeap(const vulkan::Api& api, VkDevice device, VulkanQueue& queue,
                       std::uint32_t type, VkMemoryPropertyFlags properties)
    : api_(api),
      device_(device),
      queue_(queue),
      type_(type),
      is_mapped_((properties & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0),
      next_block_(kFirstBlock) {}

VulkanHeap::~VulkanHeap() = default;

VkResult VulkanHeap::allocate(std::uint64_t bytes, VulkanPiece& piece) {
  bytes = std::max<std::uint64_t>(1, (bytes + kShaderBytes - 1) / kShaderBytes) * kShaderBytes;
  const std::lock_guard lock(mutex_);
  take_back();
  if (find(bytes, piece)) return VK_SUCCESS;
  // What is empty is too small. To keep it beside a larger one would take up the memory.
  drop_empty();
  VkResult status = add_block(bytes > kShared ? bytes : std::max(bytes, next_block_));
  if (status == VK_ERROR_OUT_OF_DEVICE_MEMORY || status == VK_ERROR_OUT_OF_HOST_MEMORY) {
    // Perhaps what was given back is enough, once nothing runs, or a block for this alone.
    queue_.wait(queue_.last());
    take_back();
    if (find(bytes, piece)) return VK_SUCCESS;
    drop_empty();
    status = add_block(bytes);
  }
  if (status != VK_SUCCESS) return status;
  if (bytes <= kShared) next_block_ = std::min(2 * next_block_, kLargestBlock);
  find(bytes, piece);
  return VK_SUCCESS;
}

void VulkanHeap::free(const VulkanPiece& piece) {
  if (piece.bytes == 0) return;
  const std::lock_guard lock(mutex_);
  late_.push_back({queue_.last(), piece});
}

void VulkanHeap::take_back() {
  if (late_.empty()) return;
  const VulkanQueue::Ticket ended = queue_.ended();
  const auto is_late = [&](const Late& late) { return late.ticket > ended; };
  const auto over = std::partition(late_.begin(), late_.end(), is_late);
  for (auto it = over; it != late_.end(); ++it) {
    const VulkanPiece& piece = it->piece;
    auto& gaps = (*std::ranges::find(blocks_, piece.block, &std::unique_ptr<Block>::get))->free;
    auto gap = gaps.emplace(piece.offset, piece.bytes).first;
    const auto next = std::next(gap);
    if (next != gaps.end() && gap->first + gap->second == next->first) {
      gap->second += next->second;
      gaps.erase(next);
    }
    if (gap == gaps.begin()) continue;
    const auto before = std::prev(gap);
    if (before->first + before->second != gap->first) continue;
    before->second += gap->second;
    gaps.erase(gap);
  }
  late_.erase(over, late_.end());
}

void VulkanHeap::drop_empty() {
  std::erase_if(blocks_, [&](const std::unique_ptr<Block>& block) {
    if (!block->is_empty()) return false;
    api_.DestroyBuffer(device_, block->buffer, nullptr);
    api_.FreeMemory(device_, block->memory, nullptr);
    return true;
  });
}

// Takes the smallest gap that is large enough.
bool VulkanHeap::find(std::uint64_t bytes, VulkanPiece& piece) {
  Block* best = nullptr;
  std::map<std::uint64_t, std::uint64_t>::iterator gap;
  for (const std::unique_ptr<Block>& block : blocks_) {
    for (auto it = block->free.begin(); it != block->free.end(); ++it) {
      if (it->second < bytes || (best != nullptr && it->second >= gap->second)) continue;
      best = block.get();
      gap = it;
    }
  }
  if (best == nullptr) return false;
  const auto [offset, room] = *gap;
  piece = {best->buffer, offset, bytes, best->host != nullptr ? best->host + offset : nullptr,
           best};
  best->free.erase(gap);
  if (room > bytes) best->free.emplace(offset + bytes, room - bytes);
  return true;
}

VkResult VulkanHeap::add_block(std::uint64_t bytes) {
  auto block = std::make_unique<Block>();
  block->bytes = bytes;
  block->free.emplace(0, bytes);
  VkResult status = make_buffer(api_, device_, bytes, block->buffer);
  if (status != VK_SUCCESS) return status;
  VkMemoryRequirements needs{};
  api_.GetBufferMemoryRequirements(device_, block->buffer, &needs);
  auto allocate = vulkan::made<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = type_;
  status = api_.AllocateMemory(device_, &allocate, nullptr, &block->memory);
  if (status == VK_SUCCESS) {
    status = api_.BindBufferMemory(device_, block->buffer, block->memory, 0);
  }
  void* host = nullptr;
  if (status == VK_SUCCESS && is_mapped_) {
    status = api_.MapMemory(device_, block->memory, 0, VK_WHOLE_SIZE, 0, &host);
  }
  if (status != VK_SUCCESS) {
    api_.DestroyBuffer(device_, block->buffer, nullptr);
    api_.FreeMemory(device_, block->memory, nullptr);
    return status;
  }
  block->host = static_cast<std::byte*>(host);
  blocks_.push_back(std::move(block));
  return VK_SUCCESS;
}

}  // namespace vyre
