// Compiled code on disk, in the user's cache folder: one file per key, checked when it is read,
// written beside and renamed, so that several processes can share the folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vyre {

// Nothing where there is no such entry, or a damaged one.
std::optional<std::string> read_cache(std::string_view key);
// Does nothing where it cannot. Entries that were not used for long go when there is too much.
void write_cache(std::string_view key, std::string_view contents);

struct CacheStats {
  std::string folder;  // empty: there is none
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};
CacheStats cache_stats();
// Drops all entries; how many there were.
std::uint64_t clear_cache();

}  // namespace vyre
