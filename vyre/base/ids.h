// Typed 32-bit ids: indices into the tables of a program. An id is only meaningful together with
// the table it indexes; the type keeps ids of different tables apart.
#pragma once

#include <compare>
#include <cstdint>

namespace vyre {

template <class Tag>
struct Id {
  static constexpr std::uint32_t kNone = 0xffffffff;

  std::uint32_t index = kNone;

  constexpr Id() = default;
  explicit constexpr Id(std::uint32_t i) : index(i) {}
  explicit constexpr Id(std::size_t i) : index(static_cast<std::uint32_t>(i)) {}

  // An id that names nothing stands where a name could not be resolved; whoever made it has
  // reported why, and everybody else passes over it in silence.
  constexpr bool exists() const { return index != kNone; }

  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace vyre
