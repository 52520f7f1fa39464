// The one hash table: open addressing over entries that somebody else keeps in a vector. A slot is
// the index of an entry + 1, below half of its hash, or 0: most other entries are passed over
// without a look at them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace vyre {

using Slots = std::vector<std::uint64_t>;

// Where an entry belongs in a table: `near` says which row is looked at first. What is made at
// about the same time should have it close together, so that a large table is not fetched again and
// again for each entry; `hash` says the rest.
struct Spot {
  std::uint64_t hash = 0;
  std::uint32_t near = 0;
};

inline constexpr std::size_t kSlotRow = 8;  // slots: a cache line

// At most three quarters of the slots are taken.
inline bool is_full(const Slots& slots, std::size_t entries) {
  return slots.size() * 3 <= entries * 4;
}

// Finds an entry in a table that is not full, or makes it the next one: `entries` is how many there
// are, and `equals(i)` compares entry i with the one sought. The row is left when it is full; from
// there on the hash alone says where to look.
template <class Equals>
std::uint32_t find_or_add(Slots& slots, std::size_t entries, Spot spot, Equals equals) {
  const std::size_t mask = slots.size() / kSlotRow - 1;
  for (std::uint64_t row = spot.near / 4, step = 0;;) {
    std::uint64_t* const begin = slots.data() + (row & mask) * kSlotRow;
    for (std::size_t k = 0; k < kSlotRow; ++k) {
      std::uint64_t& slot = begin[(spot.hash + k) % kSlotRow];
      if (slot == 0) {
        slot = spot.hash >> 32 << 32 | (entries + 1);
        return static_cast<std::uint32_t>(entries);
      }
      const std::uint32_t entry = static_cast<std::uint32_t>(slot) - 1;
      if (slot >> 32 == spot.hash >> 32 && equals(entry)) return entry;
    }
    row = step == 0 ? spot.hash >> 8 : row + step;
    step = spot.hash >> 40 | 1;
  }
}

// Makes room for more entries than there are; `spot_of(i)` says where entry i is.
template <class SpotOf>
void grow(Slots& slots, std::size_t entries, std::size_t expected, SpotOf spot_of) {
  std::size_t size = 2 * kSlotRow;
  while (size * 3 <= std::max(entries, expected) * 4) size *= 2;
  slots.assign(size, 0);
  for (std::size_t i = 0; i < entries; ++i) {
    find_or_add(slots, i, spot_of(i), [](std::uint32_t) { return false; });
  }
}

// Finds or adds in a table that may be full.
template <class SpotOf, class Equals>
std::uint32_t find_or_add(Slots& slots, std::size_t entries, Spot spot, SpotOf spot_of,
                          Equals equals) {
  if (is_full(slots, entries)) grow(slots, entries, 0, spot_of);
  return find_or_add(slots, entries, spot, equals);
}

}  // namespace vyre
