#include "vyre/backends/cache.h"

#include <algorithm>
#include <atomic>
#include <random>

#include "vyre/base/private_folder.h"

namespace vyre {
namespace {

using Missing = PrivateFolder::Missing;

constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kMaxEntry = kMaxBytes / 4;
constexpr std::uint64_t kStep = kMaxBytes / 64;

std::string folder() { return cache_folder("code"); }

}  // namespace

std::optional<std::string> read_cache(std::string_view key) {
  return PrivateFolder(folder(), Missing::Stays).read(key, kMaxEntry);
}

void write_cache(std::string_view key, std::string_view contents) {
  if (contents.size() > kMaxEntry) return;
  const PrivateFolder files(folder(), Missing::IsMade);
  files.write(key, contents);

  // To look at thousands of files takes long: it is done once for every so many bytes, where a
  // process begins to count anywhere, so that those that write little do their share.
  static std::atomic<std::uint64_t> written = std::random_device()() % kStep;
  const std::uint64_t before = written.fetch_add(contents.size());
  if (before / kStep == (before + contents.size()) / kStep) return;
  std::vector<PrivateFolder::File> all = files.files();
  std::uint64_t total = 0;
  for (const PrivateFolder::File& file : all) total += file.bytes;
  if (total <= kMaxBytes) return;
  std::ranges::sort(all, {}, [](const PrivateFolder::File& file) {
    return std::pair(file.used.tv_sec, file.used.tv_nsec);
  });
  for (const PrivateFolder::File& file : all) {
    if (total <= kMaxBytes / 2) break;
    files.remove(file.name);
    total -= file.bytes;
  }
}

CacheStats cache_stats() {
  const PrivateFolder files(folder(), Missing::Stays);
  CacheStats stats{folder(), files.refusal()};
  for (const PrivateFolder::File& file : files.files()) {
    ++stats.files;
    stats.bytes += file.bytes;
  }
  return stats;
}

std::uint64_t clear_cache() { return PrivateFolder(folder(), Missing::Stays).clear(); }

}  // namespace vyre
