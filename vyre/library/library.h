// The texts of the standard library. They are part of the program; finding out which ops there are
// takes no parsing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vyre {

struct LibraryEntry {
  std::string id;
  std::string_view file;                   // "math", without its ending
  std::string text;                        // `op … { … }`, after the tables that it reads
  std::vector<std::string_view> examples;  // "primitive.math.gcd(12, 18) = 6"
};

// In the order of their ids.
std::span<const LibraryEntry> library_entries();
const LibraryEntry* find_library_entry(std::string_view id);

}  // namespace vyre
