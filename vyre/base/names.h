// A table of names: gives each distinct name a small number. Keeps views; the texts must outlive
// it.
#pragma once

#include <string_view>
#include <vector>

#include "vyre/base/hash.h"

namespace vyre {

class NameTable {
 public:
  std::uint32_t number(std::string_view name) {
    if (names_.size() * 2 >= slots_.size()) grow();
    const std::uint64_t hash = hash_text(name);
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].number != kFree) {
      if (slots_[at].hash == static_cast<std::uint32_t>(hash) &&
          names_[slots_[at].number] == name) {
        return slots_[at].number;
      }
      at = (at + 1) & (slots_.size() - 1);
    }
    slots_[at] = {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(names_.size())};
    names_.push_back(name);
    return slots_[at].number;
  }

  std::string_view name(std::uint32_t number) const { return names_[number]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }

 private:
  static constexpr std::uint32_t kFree = 0xffffffff;
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = kFree;
  };

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number == kFree) continue;
      std::size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].number != kFree) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<std::string_view> names_;
  std::vector<Slot> slots_;
};

}  // namespace vyre
