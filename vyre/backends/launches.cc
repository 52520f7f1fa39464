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

std::uint64_t count_parts(const Grid& grid, const GridStep& step, std::uint64_t limit) {
  std::uint64_t count = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    count *= (grid[axis] + step[axis] - 1) / step[axis];
    count = std::min(count, limit + 1);
  }
  return count;
}

}  // namespace vyre
