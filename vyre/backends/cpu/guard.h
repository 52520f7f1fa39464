// Memory with nothing beside it, for finding accesses that go astray: whatever touches something
// outside ends the process. VYRE_GUARD asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace vyre {

// Where memory touches what cannot be accessed: at its end, or at its beginning. On the other side
// there is the rest of a page, where an access goes unnoticed.
enum class Guard : std::uint8_t { None, End, Begin };

// What VYRE_GUARD asks for; nothing where it is something else.
std::optional<Guard> wanted_guard();

// Zeros, in whole pages, none of them for no bytes. To both sides nothing can be accessed, as far
// as any index reaches.
struct GuardedPages {
  void* mapping = nullptr;  // with what cannot be accessed
  std::size_t size = 0;
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
};

std::optional<GuardedPages> map_guarded(std::uint64_t bytes);

inline std::byte* place(const GuardedPages& pages, std::uint64_t bytes, Guard guard) {
  return guard == Guard::End ? pages.end - bytes : pages.begin;
}

}  // namespace vyre
