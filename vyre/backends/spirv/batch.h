// A command buffer with what its launches need: their parameters, what they bind, and timestamps.
// It is begun, filled and submitted, perhaps several times, and begun again when that has ended.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "vyre/backends/spirv/gpu.h"

namespace vyre {

class VulkanBatch {
 public:
  explicit VulkanBatch(VulkanGpu& gpu) : gpu_(gpu) {}
  ~VulkanBatch();
  VulkanBatch(const VulkanBatch&) = delete;
  VulkanBatch& operator=(const VulkanBatch&) = delete;

  // Empty; what is added comes after all that is submitted before.
  Result<void> begin();
  VkCommandBuffer commands() const { return commands_; }

  // What the parameters of a launch, or a part of one, take of kRoom.
  static std::uint64_t room_of(std::size_t words);
  static constexpr std::uint64_t kRoom = std::uint64_t{1} << 20;
  // Whether there is room for one more.
  bool has_room(std::size_t words) const;
  // For the launches that follow: the code, which stays loaded, and what is bound after the
  // parameters, in the order of the bindings.
  Result<void> bind(std::shared_ptr<const VulkanCode> code,
                    std::span<const VkDescriptorBufferInfo> buffers, std::size_t words);
  void launch(std::span<const std::uint32_t> words, const std::array<std::uint64_t, 3>& groups);
  // What follows sees what was written before.
  void order();
  // Where a time is measured.
  Result<void> mark();

  Result<void> submit();
  VulkanQueue::Ticket ticket() const { return ticket_; }
  // Until it has ended; the seconds between the marks.
  Result<std::vector<double>> wait_for(const RunOptions& options);

 private:
  Result<VkDescriptorSet> take_set(const VulkanCode& code, std::uint32_t buffers);

  VulkanGpu& gpu_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = nullptr;
  bool is_open_ = false;
  VulkanQueue::Ticket ticket_ = 0;
  std::chrono::steady_clock::time_point submitted_;

  VulkanPiece parameters_;
  std::uint64_t used_ = 0;  // bytes of the parameters
  std::vector<VkDescriptorPool> sets_;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
  std::vector<std::shared_ptr<const VulkanCode>> codes_;
  VkQueryPool times_ = VK_NULL_HANDLE;
  std::uint32_t marks_ = 0;
};

}  // namespace vyre
