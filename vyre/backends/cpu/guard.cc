#include "vyre/backends/cpu/guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace vyre {
namespace {

// 2^32 elements of 16 bytes.
constexpr std::size_t kReach = std::size_t{16} << 32;

}  // namespace

std::optional<Guard> wanted_guard() {
  const char* wanted = std::getenv("VYRE_GUARD");
  if (wanted == nullptr) return Guard::None;
  if (wanted == std::string_view("end")) return Guard::End;
  if (wanted == std::string_view("begin")) return Guard::Begin;
  return std::nullopt;
}

std::optional<GuardedPages> map_guarded(std::uint64_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t inside = (bytes + page - 1) / page * page;
  const std::size_t size = inside + 2 * kReach;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* mapping = mmap(nullptr, size, PROT_NONE, kFlags, -1, 0);
  if (mapping == MAP_FAILED) return std::nullopt;
  std::byte* begin = static_cast<std::byte*>(mapping) + kReach;
  if (inside > 0 && mprotect(begin, inside, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping, size);
    return std::nullopt;
  }
  return GuardedPages{mapping, size, begin, begin + inside};
}

}  // namespace vyre
