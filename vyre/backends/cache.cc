#include "vyre/backends/cache.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>

#include "vyre/base/private_folder.h"

namespace vyre {
namespace {

using Missing = PrivateFolder::Missing;

constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kMaxEntry = kMaxBytes / 4;
constexpr std::uint64_t kStep = kMaxBytes / 64;

std::string folder() { return cache_folder("code"); }

// Code that this process has, by key.
struct Kept {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const EmittedCode>> code;
};
Kept& kept() {
  static Kept& all = *new Kept;
  return all;
}
constexpr std::size_t kMaxKept = 256;

void keep_in_memory(const std::string& key, std::shared_ptr<const EmittedCode> code) {
  const std::lock_guard lock(kept().mutex);
  if (kept().code.size() >= kMaxKept) kept().code.clear();
  kept().code.insert_or_assign(key, std::move(code));
}

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

std::shared_ptr<const EmittedCode> find_code(const std::string& key, const Emitter& emitter) {
  {
    const std::lock_guard lock(kept().mutex);
    const auto known = kept().code.find(key);
    if (known != kept().code.end()) return known->second;
  }
  if (emitter.unpack == nullptr) return nullptr;
  const std::optional<std::string> bytes = read_cache(key);
  if (!bytes || !bytes->starts_with(key)) return nullptr;
  std::shared_ptr<const EmittedCode> code =
      emitter.unpack(std::string_view(*bytes).substr(key.size()));
  if (code != nullptr) keep_in_memory(key, code);
  return code;
}

void keep_code(const std::string& key, std::shared_ptr<const EmittedCode> code) {
  if (const std::string bytes = code->pack(); !bytes.empty()) write_cache(key, key + bytes);
  keep_in_memory(key, std::move(code));
}

CacheStats cache_stats() {
  const PrivateFolder files(folder(), Missing::IsMade);  // or it says why it cannot be
  CacheStats stats{folder(), files.refusal()};
  for (const PrivateFolder::File& file : files.files()) {
    ++stats.files;
    stats.bytes += file.bytes;
  }
  return stats;
}

std::uint64_t clear_cache() { return PrivateFolder(folder(), Missing::Stays).clear(); }

}  // namespace vyre
