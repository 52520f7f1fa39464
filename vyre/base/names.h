// A table of names: gives each distinct name a small number. Keeps views; the texts must outlive
// it.
#pragma once

#include <string_view>
#include <vector>

#include "vyre/base/hash.h"
#include "vyre/base/slots.h"

namespace vyre {

class NameTable {
 public:
  std::uint32_t number(std::string_view name) {
    const std::uint32_t number = find_or_add(
        slots_, names_.size(), spot_of(name), [&](std::size_t i) { return spot_of(names_[i]); },
        [&](std::uint32_t i) { return names_[i] == name; });
    if (number == names_.size()) names_.push_back(name);
    return number;
  }

  std::string_view name(std::uint32_t number) const { return names_[number]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }

 private:
  static Spot spot_of(std::string_view text) {
    const std::uint64_t hash = hash_text(text);
    return {hash, static_cast<std::uint32_t>(hash)};
  }

  std::vector<std::string_view> names_;
  Slots slots_;
};

}  // namespace vyre
