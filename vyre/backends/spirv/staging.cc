#include "vyre/backends/spirv/staging.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "vyre/backends/pool.h"
#include "vyre/backends/spirv/batch.h"

namespace vyre {
namespace {

constexpr std::size_t kLeastChunk = std::size_t{1} << 20;
constexpr std::size_t kSlot = std::size_t{16} << 20;
// Smaller copies are over before another thread has woken.
constexpr std::size_t kOneThread = std::size_t{4} << 20;
constexpr unsigned kMaxThreads = 8;

// Small enough that the first and the last one, which nothing overlaps, are a small part.
std::size_t chunk_of(std::size_t bytes) {
  return std::min(bytes, std::clamp(bytes / 8, kLeastChunk, kSlot));
}

}  // namespace

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes < kOneThread) {
    std::memcpy(to, from, bytes);
    return;
  }
  Job job;
  job.count = (bytes + kLeastChunk - 1) / kLeastChunk;
  job.threads = std::min(kMaxThreads, worker_count());
  job.work = [&](std::uint64_t begin, std::uint64_t end) {
    const std::size_t at = begin * kLeastChunk;
    std::memcpy(to + at, from + at, std::min(bytes, end * kLeastChunk) - at);
  };
  run_job(job);
}

Result<VulkanStaging::Slot*> VulkanStaging::next_slot(std::size_t bytes) {
  Slot& slot = slots_[turn_ ^= 1];
  const Result<void> done = gpu_.check(gpu_.queue().wait(slot.ticket));
  if (!done) return done.diagnostics();
  if (slot.memory.bytes >= bytes) return &slot;
  gpu_.host_memory().free(std::exchange(slot.memory, {}));
  const VkResult status = gpu_.host_memory().allocate(bytes, slot.memory);
  if (status != VK_SUCCESS) return gpu_.failure(status);
  return &slot;
}

Result<void> VulkanStaging::copy(Slot& slot, VkBuffer from, VkBuffer to,
                                 const VkBufferCopy& range) {
  Result<std::unique_ptr<VulkanBatch>> batch = gpu_.take_batch();
  if (!batch) return batch.diagnostics();
  gpu_.api.CmdCopyBuffer((*batch)->commands(), from, to, 1, &range);
  Result<void> done = (*batch)->submit();
  slot.ticket = (*batch)->ticket();
  gpu_.give_back(std::move(*batch));
  return done;
}

Result<void> VulkanStaging::write(const VulkanPiece& to, std::uint64_t offset,
                                  std::span<const std::byte> bytes) {
  const std::lock_guard lock(one_copy_);
  const std::size_t chunk = chunk_of(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += chunk) {
    const std::size_t size = std::min(chunk, bytes.size() - at);
    Result<Slot*> slot = next_slot(chunk);
    if (!slot) return slot.diagnostics();
    copy_bytes((*slot)->memory.host, bytes.data() + at, size);
    Result<void> done = copy(**slot, (*slot)->memory.buffer, to.buffer,
                             {(*slot)->memory.offset, to.offset + offset + at, size});
    if (!done) return done;
  }
  return {};
}

Result<void> VulkanStaging::read(const VulkanPiece& from, std::uint64_t offset,
                                 std::span<std::byte> bytes) {
  const std::lock_guard lock(one_copy_);
  const std::size_t chunk = chunk_of(bytes.size());
  Slot* full = nullptr;  // with the chunk before
  for (std::size_t at = 0;; at += chunk) {
    const std::size_t left = bytes.size() - std::min(at, bytes.size());
    Slot* next = nullptr;
    if (left > 0) {
      Result<Slot*> slot = next_slot(chunk);
      if (!slot) return slot.diagnostics();
      next = *slot;
      const Result<void> done =
          copy(*next, from.buffer, next->memory.buffer,
               {from.offset + offset + at, next->memory.offset, std::min(chunk, left)});
      if (!done) return done;
    }
    if (full != nullptr) {
      const Result<void> done = gpu_.check(gpu_.queue().wait(full->ticket));
      if (!done) return done;
      const std::size_t before = at - chunk;
      copy_bytes(bytes.data() + before, full->memory.host, std::min(chunk, bytes.size() - before));
    }
    if (next == nullptr) return {};
    full = next;
  }
}

}  // namespace vyre
