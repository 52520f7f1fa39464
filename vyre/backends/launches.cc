#include "vyre/backends/launches.h"

#include <cstring>

namespace vyre {

void KnownWords::reset(std::uint64_t bytes) {
  words_.reset();
  if (bytes <= kMax) words_.emplace((bytes + 3) / 4);
}

void KnownWords::write(std::span<const std::byte> bytes, std::uint64_t offset, std::uint64_t size) {
  if (bytes.size() == size) reset(size);
  if (!words_ || bytes.empty()) return;
  std::memcpy(reinterpret_cast<std::byte*>(words_->data()) + offset, bytes.data(), bytes.size());
}

LaunchLayout::LaunchLayout(const Program& program) {
  for (const BufferDecl& buffer : program.buffers) {
    buffers.push_back({stride(buffer.element), buffer.access, buffer.count});
  }
}

std::uint32_t LaunchLayout::length(std::size_t buffer, const Launch& launch) const {
  return buffers[buffer].access == BufferAccess::Workgroup
             ? buffers[buffer].count
             : static_cast<std::uint32_t>(launch.buffers[buffer].bytes / buffers[buffer].stride);
}

DispatchFacts LaunchLayout::facts(const Launch& launch, bool is_now,
                                  const std::set<const DeviceMemory*>& written) const {
  DispatchFacts facts;
  for (std::size_t axis = 0; axis < 3; ++axis) facts.grid[axis] = launch.grid[axis];
  facts.uniforms.resize(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    facts.lengths.push_back(length(i, launch));
    if (!is_now || buffers[i].access != BufferAccess::Uniform) continue;
    const DeviceMemory& memory = *launch.buffers[i].memory;
    const std::vector<std::uint32_t>* words = memory.known.words();
    if (words == nullptr || written.contains(&memory)) continue;
    facts.uniforms[i] = *words;
    facts.uniforms[i].resize(std::min(words->size(), launch.buffers[i].bytes / 4));
  }
  return facts;
}

std::uint64_t count_parts(const Grid& grid, const GridStep& step, std::uint64_t limit) {
  std::uint64_t count = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    count *= (grid[axis] + step[axis] - 1) / step[axis];
    count = std::min(count, limit + 1);
  }
  return count;
}

}  // namespace vyre
