// The texts of the standard library. They are part of the program; finding out which ops there are
// takes no parsing.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace vyre {

struct LibraryEntry {
  std::string_view id;
  std::string_view file;                   // "math", without its ending
  std::string_view text;                   // `op … { … }`
  std::vector<std::string_view> examples;  // "primitive.math.gcd(12, 18) = 6"
};

// In the order of their ids.
std::span<const LibraryEntry> library_entries();
const LibraryEntry* find_library_entry(std::string_view id);

}  // namespace vyre
