#include "vyre/backends/cache.h"

#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

namespace vyre {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kStep = kMaxBytes / 64;

std::string hex(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx",
                static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return digits;
}

std::string folder() {
  for (const auto& [name, below] : {std::pair("VYRE_CACHE", "/code"),
                                    {"XDG_CACHE_HOME", "/vyre/code"},
                                    {"HOME", "/.cache/vyre/code"}}) {
    const char* set = std::getenv(name);
    if (set != nullptr && *set != '\0') return std::string(set) + below;
  }
  return {};
}

struct Entry {
  fs::path path;
  std::uint64_t bytes = 0;
  fs::file_time_type used;
};
std::vector<Entry> entries() {
  std::vector<Entry> all;
  std::error_code error;
  if (folder().empty()) return all;
  for (fs::directory_iterator it(folder(), error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    Entry entry{it->path(), it->file_size(gone), it->last_write_time(gone)};
    if (!gone) all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace

std::optional<std::string> read_cache(std::string_view key) {
  const std::string home = folder();
  if (home.empty()) return std::nullopt;
  const fs::path path = fs::path(home) / hex(key);
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  const std::string contents = text.str();
  // A checksum, then what it is of.
  if (contents.size() < 32 ||
      hex(std::string_view(contents).substr(32)) != contents.substr(0, 32)) {
    return std::nullopt;
  }
  std::error_code error;
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  return contents.substr(32);
}

void write_cache(std::string_view key, std::string_view contents) {
  const std::string home = folder();
  std::error_code error;
  if (home.empty() || contents.size() > kMaxBytes / 4) return;
  fs::create_directories(home, error);
  const fs::path path = fs::path(home) / hex(key);
  // Of no other thread or process; in two containers processes may have one number.
  static std::atomic<unsigned> count = std::random_device()();
  const fs::path beside =
      path.string() + "." + std::to_string(getpid()) + "." + std::to_string(count++);
  {
    std::ofstream file(beside, std::ios::binary);
    file << hex(contents) << contents;
    if (!file.flush()) {
      file.close();
      fs::remove(beside, error);
      return;
    }
  }
  fs::rename(beside, path, error);
  if (error) fs::remove(beside, error);

  // To look at thousands of files takes long: it is done once for every so many bytes, where a
  // process begins to count anywhere, so that those that write little do their share.
  static std::atomic<std::uint64_t> written = std::random_device()() % kStep;
  const std::uint64_t before = written.fetch_add(contents.size());
  if (before / kStep == (before + contents.size()) / kStep) return;
  std::vector<Entry> all = entries();
  std::uint64_t total = 0;
  for (const Entry& entry : all) total += entry.bytes;
  if (total <= kMaxBytes) return;
  std::ranges::sort(all, {}, &Entry::used);
  for (const Entry& entry : all) {
    if (total <= kMaxBytes / 2) break;
    fs::remove(entry.path, error);
    total -= entry.bytes;
  }
}

CacheStats cache_stats() {
  CacheStats stats;
  stats.folder = folder();
  for (const Entry& entry : entries()) {
    ++stats.files;
    stats.bytes += entry.bytes;
  }
  return stats;
}

std::uint64_t clear_cache() {
  std::uint64_t count = 0;
  for (const Entry& entry : entries()) {
    std::error_code error;
    if (fs::remove(entry.path, error)) ++count;
  }
  return count;
}

}  // namespace vyre
