// Copies between the host and memory of a device that the host does not see: in chunks through two
// slots that both see, so that the device moves one while threads of the host fill or empty the
// other.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>

#include "vyre/backends/spirv/gpu.h"

namespace vyre {

// With as many threads as make it fast.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes);

// Slots are made when they are first needed, and live as long as the process.
class VulkanStaging {
 public:
  explicit VulkanStaging(VulkanGpu& gpu) : gpu_(gpu) {}

  // After what is submitted already, and before what is submitted later. The bytes have been taken
  // when this is back.
  Result<void> write(const VulkanPiece& to, std::uint64_t offset, std::span<const std::byte> bytes);
  Result<void> read(const VulkanPiece& from, std::uint64_t offset, std::span<std::byte> bytes);

 private:
  struct Slot {
    VulkanPiece memory;
    VulkanQueue::Ticket ticket = 0;  // what the device does with it
  };
  // The next one, when the device is through with it, with room for so many bytes.
  Result<Slot*> next_slot(std::size_t bytes);
  Result<void> copy(Slot& slot, VkBuffer from, VkBuffer to, const VkBufferCopy& range);

  VulkanGpu& gpu_;
  std::mutex one_copy_;
  std::array<Slot, 2> slots_;
  std::size_t turn_ = 0;
};

}  // namespace vyre
