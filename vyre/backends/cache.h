// Compiled code that is kept: in memory, and on disk in the user's cache folder, one file per key.
// Only what this user wrote is read back (base/private_folder.h), and only that is deleted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "vyre/backends/backend.h"

namespace vyre {

// Nothing where there is no such entry, or one that is not to be believed.
std::optional<std::string> read_cache(std::string_view key);
// Does nothing where it cannot. Entries that were not used for long go when there is too much.
void write_cache(std::string_view key, std::string_view contents);

// Code that was made before, by key: in memory, or on disk where unpack() takes it.
std::shared_ptr<const EmittedCode> find_code(const std::string& key, const Emitter& emitter);
void keep_code(const std::string& key, std::shared_ptr<const EmittedCode> code);

struct CacheStats {
  std::string folder;   // empty: there is none
  std::string refusal;  // why it is not used, and what to do; empty when it is
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};
CacheStats cache_stats();
// Drops all entries; how many there were.
std::uint64_t clear_cache();

}  // namespace vyre
