// The texts of the standard library. They are part of the program; finding out which ops there are
// takes no parsing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vyre {

struct LibraryVariant;

struct LibraryEntry {
  std::string_view id;
  std::string_view file;                    // "math", without its ending
  std::string_view comments;                // what the file says before it
  std::string_view written;                 // as it is in the file, after the tables that it reads
  const LibraryVariant* variant = nullptr;  // of what is written, if it is for another type

  std::string text() const;                        // `op … { … }`, with its tables
  std::vector<std::string_view> examples() const;  // "primitive.math.gcd(12, 18) = 6"
};

// In the order of their ids.
std::span<const LibraryEntry> library_entries();
const LibraryEntry* find_library_entry(std::string_view id);

}  // namespace vyre
