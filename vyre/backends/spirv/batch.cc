#include "vyre/backends/spirv/batch.h"

#include <algorithm>
#include <cstring>

#include "vyre/base/text.h"

namespace vyre {
namespace {

constexpr std::uint32_t kMaxMarks = 1025;
constexpr std::uint32_t kSets = 64;  // of a pool

}  // namespace

VulkanBatch::~VulkanBatch() {
  for (VkDescriptorPool pool : sets_) {
    gpu_.api.DestroyDescriptorPool(gpu_.device(), pool, nullptr);
  }
  gpu_.api.DestroyQueryPool(gpu_.device(), times_, nullptr);
  gpu_.api.DestroyCommandPool(gpu_.device(), pool_, nullptr);
  gpu_.host_memory().free(parameters_);
}

Result<void> VulkanBatch::begin() {
  const vulkan::Api& api = gpu_.api;
  VkResult status = VK_SUCCESS;
  if (pool_ == VK_NULL_HANDLE) {
    auto create = vulkan::made<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    create.queueFamilyIndex = gpu_.family();
    status = api.CreateCommandPool(gpu_.device(), &create, nullptr, &pool_);
    auto allocate =
        vulkan::made<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    allocate.commandPool = pool_;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    if (status == VK_SUCCESS) {
      status = api.AllocateCommandBuffers(gpu_.device(), &allocate, &commands_);
    }
  } else {
    status = api.ResetCommandPool(gpu_.device(), pool_, 0);
  }
  used_ = 0;
  marks_ = 0;
  set_ = VK_NULL_HANDLE;
  codes_.clear();
  // The last one was large enough for what came last.
  for (; sets_.size() > 1; sets_.erase(sets_.begin())) {
    api.DestroyDescriptorPool(gpu_.device(), sets_.front(), nullptr);
  }
  if (!sets_.empty()) api.ResetDescriptorPool(gpu_.device(), sets_.front(), 0);
  const auto begin =
      vulkan::made<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  if (status == VK_SUCCESS) status = api.BeginCommandBuffer(commands_, &begin);
  if (status != VK_SUCCESS) return gpu_.failure(status);
  is_open_ = true;
  order();
  return {};
}

std::uint64_t VulkanBatch::room_of(std::size_t words) {
  return whole_shader_bytes(words * sizeof(std::uint32_t));
}

bool VulkanBatch::has_room(std::size_t words) const {
  // Without timestamps a batch has one launch, and its time is that of the batch.
  const std::uint32_t most = gpu_.tick_mask != 0 ? kMaxMarks : 2;
  return used_ + room_of(words) <= kRoom && marks_ < most;
}

Result<VkDescriptorSet> VulkanBatch::take_set(const VulkanCode& code, std::uint32_t buffers) {
  const vulkan::Api& api = gpu_.api;
  auto allocate =
      vulkan::made<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = &code.bindings;
  VkDescriptorSet set = VK_NULL_HANDLE;
  if (!sets_.empty()) {
    allocate.descriptorPool = sets_.back();
    if (api.AllocateDescriptorSets(gpu_.device(), &allocate, &set) == VK_SUCCESS) return set;
  }
  // Perhaps the pool is used up, or too small for so many buffers.
  const VkDescriptorPoolSize sizes[] = {
      {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, kSets},
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kSets * std::max(4u, buffers)}};
  auto create =
      vulkan::made<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  create.maxSets = kSets;
  create.poolSizeCount = std::size(sizes);
  create.pPoolSizes = sizes;
  VkResult status =
      api.CreateDescriptorPool(gpu_.device(), &create, nullptr, &allocate.descriptorPool);
  if (status != VK_SUCCESS) return gpu_.failure(status);
  sets_.push_back(allocate.descriptorPool);
  status = api.AllocateDescriptorSets(gpu_.device(), &allocate, &set);
  if (status != VK_SUCCESS) return gpu_.failure(status);
  return set;
}

Result<void> VulkanBatch::bind(std::shared_ptr<const VulkanCode> code,
                               std::span<const VkDescriptorBufferInfo> buffers, std::size_t words) {
  const vulkan::Api& api = gpu_.api;
  if (parameters_.bytes == 0) {
    const VkResult status = gpu_.host_memory().allocate(kRoom, parameters_);
    if (status != VK_SUCCESS) return gpu_.failure(status);
  }
  const Result<VkDescriptorSet> set = take_set(*code, static_cast<std::uint32_t>(buffers.size()));
  if (!set) return set.diagnostics();
  set_ = *set;
  const VkDescriptorBufferInfo parameters{parameters_.buffer, parameters_.offset, room_of(words)};
  std::vector<VkWriteDescriptorSet> writes;
  const auto write = [&](std::uint32_t binding, VkDescriptorType type,
                         const VkDescriptorBufferInfo& buffer) {
    VkWriteDescriptorSet& next = writes.emplace_back();
    next.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    next.dstSet = set_;
    next.dstBinding = binding;
    next.descriptorCount = 1;
    next.descriptorType = type;
    next.pBufferInfo = &buffer;
  };
  write(kShaderParameters, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, parameters);
  std::uint32_t binding = code->tables.bytes != 0 ? kShaderTables : kShaderBuffers;
  for (const VkDescriptorBufferInfo& buffer : buffers) {
    write(binding++, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffer);
  }
  api.UpdateDescriptorSets(gpu_.device(), static_cast<std::uint32_t>(writes.size()), writes.data(),
                           0, nullptr);
  api.CmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, code->pipeline);
  codes_.push_back(std::move(code));
  return {};
}

void VulkanBatch::launch(std::span<const std::uint32_t> words,
                         const std::array<std::uint64_t, 3>& groups) {
  std::memcpy(parameters_.host + used_, words.data(), words.size_bytes());
  const auto offset = static_cast<std::uint32_t>(used_);
  used_ += room_of(words.size());
  gpu_.api.CmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, codes_.back()->layout,
                                 0, 1, &set_, 1, &offset);
  gpu_.api.CmdDispatch(commands_, static_cast<std::uint32_t>(groups[0]),
                       static_cast<std::uint32_t>(groups[1]),
                       static_cast<std::uint32_t>(groups[2]));
}

void VulkanBatch::order() {
  auto all = vulkan::made<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  all.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  all.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                      VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT |
                      VK_ACCESS_HOST_READ_BIT;
  constexpr VkPipelineStageFlags kWork =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  gpu_.api.CmdPipelineBarrier(commands_, kWork, kWork | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &all, 0,
                              nullptr, 0, nullptr);
}

Result<void> VulkanBatch::mark() {
  const std::uint32_t number = marks_++;
  if (gpu_.tick_mask == 0) return {};
  if (times_ == VK_NULL_HANDLE) {
    auto create = vulkan::made<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
    create.queryType = VK_QUERY_TYPE_TIMESTAMP;
    create.queryCount = kMaxMarks;
    const VkResult status = gpu_.api.CreateQueryPool(gpu_.device(), &create, nullptr, &times_);
    if (status != VK_SUCCESS) return gpu_.failure(status);
  }
  if (number == 0) gpu_.api.CmdResetQueryPool(commands_, times_, 0, kMaxMarks);
  gpu_.api.CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, times_, number);
  return {};
}

Result<void> VulkanBatch::submit() {
  VkResult status = VK_SUCCESS;
  if (is_open_) {
    order();
    status = gpu_.api.EndCommandBuffer(commands_);
    is_open_ = false;
  }
  submitted_ = std::chrono::steady_clock::now();
  if (status == VK_SUCCESS) status = gpu_.queue().submit(commands_, ticket_);
  return gpu_.check(status);
}

Result<std::vector<double>> VulkanBatch::wait_for(const RunOptions& options) {
  const VkResult status = gpu_.queue().wait(ticket_, options.stop);
  if (status == VK_TIMEOUT) return diagnose<message::interrupted>();
  if (const Result<void> done = gpu_.check(status); !done) return done.diagnostics();
  std::vector<double> seconds;
  if (gpu_.tick_mask == 0) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - submitted_;
    seconds.push_back(took.count());
    return seconds;
  }
  std::vector<std::uint64_t> ticks(marks_);
  const VkResult read = gpu_.api.GetQueryPoolResults(
      gpu_.device(), times_, 0, marks_, ticks.size() * sizeof ticks[0], ticks.data(),
      sizeof ticks[0], VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (const Result<void> done = gpu_.check(read); !done) return done.diagnostics();
  for (std::size_t i = 0; i + 1 < ticks.size(); ++i) {
    seconds.push_back(static_cast<double>((ticks[i + 1] - ticks[i]) & gpu_.tick_mask) * gpu_.tick);
  }
  return seconds;
}

}  // namespace vyre
