#include "vyre/backends/cpu/host_memory.h"

#include <unistd.h>

#include <string_view>

namespace vyre {
namespace {

// 2^32 elements of 16 bytes.
constexpr std::size_t kReach = std::size_t{16} << 32;
// Much memory is made of large pages, where the system gives them.
constexpr std::size_t kLargePage = std::size_t{2} << 20;

}  // namespace

std::optional<Guard> wanted_guard() {
  const char* wanted = std::getenv("VYRE_GUARD");
  if (wanted == nullptr) return Guard::None;
  if (wanted == std::string_view("end")) return Guard::End;
  if (wanted == std::string_view("begin")) return Guard::Begin;
  return std::nullopt;
}

OwnedMemory map_memory(std::size_t bytes, int access, int flags) {
  void* mapped = mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return mapped == MAP_FAILED ? OwnedMemory() : OwnedMemory(mapped, Release{bytes});
}

HostBytes::HostBytes(std::uint64_t bytes, std::size_t align, Guard guard) {
  guard == Guard::None ? allocate(bytes, align) : allocate_guarded(bytes, guard);
}

void HostBytes::allocate(std::uint64_t bytes, std::size_t align) {
  const bool is_large = bytes >= kLargePage;
  if (is_large) {
    align = kLargePage;
    whole_ = map_memory(bytes + align, PROT_READ | PROT_WRITE);
  } else {
    whole_.reset(std::calloc(bytes + align, 1));
  }
  if (whole_ == nullptr) return;
  const auto address = reinterpret_cast<std::uintptr_t>(whole_.get());
  begin_ = static_cast<std::byte*>(whole_.get()) + (align - address % align) % align;
  if (is_large) madvise(begin_, bytes, MADV_HUGEPAGE);
}

// To both sides nothing can be accessed, as far as any index reaches.
void HostBytes::allocate_guarded(std::uint64_t bytes, Guard guard) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t inside = (bytes + page - 1) / page * page;
  whole_ = map_memory(inside + 2 * kReach, PROT_NONE, MAP_NORESERVE);
  if (whole_ == nullptr) return;
  std::byte* first = static_cast<std::byte*>(whole_.get()) + kReach;
  if (inside > 0 && mprotect(first, inside, PROT_READ | PROT_WRITE) != 0) return;
  begin_ = guard == Guard::End ? first + (inside - bytes) : first;
}

}  // namespace vyre
