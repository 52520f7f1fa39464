// How often the stages of a compilation ran in this process. A test holds us to once each.
#pragma once

#include <atomic>
#include <cstdint>

namespace vyre {

struct Counters {
  std::atomic<std::uint64_t> validations{0};    // of modules, and of programs alone
  std::atomic<std::uint64_t> inlinings{0};      // of programs
  std::atomic<std::uint64_t> optimisations{0};  // by all passes
  std::atomic<std::uint64_t> emissions{0};
  std::atomic<std::uint64_t> launch_checks{0};
};
inline Counters counters;

}  // namespace vyre
