// How often the stages of a compilation ran in this process. A test holds us to once each.
#pragma once

#include <atomic>
#include <cstdint>

namespace vyre {

struct Counters {
  std::atomic<std::uint64_t> validations{0};    // of modules, and of programs alone
  std::atomic<std::uint64_t> inlinings{0};      // of programs
  std::atomic<std::uint64_t> optimisations{0};  // by all passes
  std::atomic<std::uint64_t> lowerings{0};
  std::atomic<std::uint64_t> emissions{0};
  std::atomic<std::uint64_t> launch_checks{0};
  std::atomic<std::uint64_t> copies{0};  // of whole bodies
};
inline Counters counters;

// A member whose copies are counted.
struct CopyCount {
  CopyCount() = default;
  CopyCount(const CopyCount&) { ++counters.copies; }
  CopyCount(CopyCount&&) noexcept {}
  CopyCount& operator=(const CopyCount&) {
    ++counters.copies;
    return *this;
  }
  CopyCount& operator=(CopyCount&&) noexcept { return *this; }
  friend bool operator==(const CopyCount&, const CopyCount&) = default;
};

}  // namespace vyre
