// Memory of zeros, for buffers and threads. VYRE_GUARD asks for memory with nothing beside it, for
// finding accesses that go astray: whatever touches something outside ends the process.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>

namespace vyre {

// Where memory touches what cannot be accessed: at its end, or at its beginning. On the other side
// there is the rest of a page, where an access goes unnoticed.
enum class Guard : std::uint8_t { None, End, Begin };

// What VYRE_GUARD asks for; nothing where it is something else.
std::optional<Guard> wanted_guard();

struct Release {
  std::size_t mapped = 0;  // bytes; none: it is from calloc()
  void operator()(void* memory) const {
    mapped != 0 ? (void)munmap(memory, mapped) : std::free(memory);
  }
};
// Memory that ends with its owner.
using OwnedMemory = std::unique_ptr<void, Release>;

// As mmap() does it, of zeros; null if there is not enough memory.
OwnedMemory map_memory(std::size_t bytes, int access, int flags = 0);

class HostBytes {
 public:
  HostBytes() = default;
  // `align` counts only without a guard.
  HostBytes(std::uint64_t bytes, std::size_t align, Guard guard);

  // Null if there is not enough memory.
  std::byte* begin() const { return begin_; }

 private:
  void allocate(std::uint64_t bytes, std::size_t align);
  void allocate_guarded(std::uint64_t bytes, Guard guard);

  OwnedMemory whole_;
  std::byte* begin_ = nullptr;
};

}  // namespace vyre
