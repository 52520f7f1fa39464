// Memory that starts as zeros, costs nothing until it is touched, and may not be there.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>

namespace vyre {

// Bytes of memory that this machine has.
inline std::uint64_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::uint64_t{1} << 32;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

template <class T>
class ZeroedArray {
  static_assert(std::is_trivial_v<T>);

 public:
  // False when there is not so much memory.
  bool allocate(std::uint64_t count) {
    if (count >= std::numeric_limits<std::size_t>::max() / sizeof(T)) return false;
    // One more, since none at all may be a null pointer.
    items_.reset(static_cast<T*>(std::calloc(static_cast<std::size_t>(count) + 1, sizeof(T))));
    count_ = items_ == nullptr ? 0 : static_cast<std::size_t>(count);
    return items_ != nullptr;
  }

  std::span<T> span() { return {items_.get(), count_}; }
  std::span<const T> span() const { return {items_.get(), count_}; }

 private:
  struct Free {
    void operator()(T* items) const { std::free(items); }
  };
  std::unique_ptr<T, Free> items_;
  std::size_t count_ = 0;
};

}  // namespace vyre
