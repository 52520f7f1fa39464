#include "tools/vyre/used_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace vyre {
namespace {

namespace fs = std::filesystem;

std::string absolute(const fs::path& path) {
  std::error_code unknown;
  return fs::absolute(path, unknown).lexically_normal().string();
}

// Without links; empty where there is no such file, and errno says why.
std::string real_path(const std::string& path) {
  char* const found = realpath(path.c_str(), nullptr);
  if (found == nullptr) return {};
  std::string real = found;
  std::free(found);
  return real;
}

bool is_below(std::string_view path, std::string folder) {
  if (path == folder) return true;
  if (!folder.ends_with('/')) folder += '/';
  return path.starts_with(folder);
}

}  // namespace

UsedFiles::UsedFiles(std::string_view path, std::string_view name,
                     std::span<const std::string_view> folders, const Console& console)
    : console_(console), first_(name) {
  const bool is_stdin = path == "-";
  struct stat status{};
  const int known =
      is_stdin ? fstat(fileno(console.in), &status) : stat(std::string(path).c_str(), &status);
  if (known == 0) names_.emplace(std::pair(status.st_dev, status.st_ino), first_);
  add_root(is_stdin ? "" : fs::path(path).parent_path().string());
  for (std::string_view folder : folders) add_root(folder);
}

void UsedFiles::add_root(std::string_view folder) {
  const std::string shown(folder.empty() ? "." : folder);
  const std::string path = absolute(shown);
  roots_.push_back({shown, path, real_path(path)});
}

Result<Source> UsedFiles::find(std::string_view path, std::string_view from) {
  if (path.starts_with('/')) return diagnose<message::absolute_use>(path);
  bool is_outside = false;
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    const bool is_own = i == 0 && from != first_;
    const fs::path folder = is_own ? fs::path(from).parent_path() : fs::path(roots_[i].shown);
    const std::string name = (folder / path).lexically_normal().string();
    if (const auto known = found_.find(name); known != found_.end()) {
      return Source{known->second, {}};
    }
    // What is outside is not looked at, so that nobody learns whether it exists.
    const std::string named = absolute(name);
    if (std::ranges::none_of(roots_,
                             [&](const Root& root) { return is_below(named, root.absolute); })) {
      is_outside = true;
      continue;
    }
    const std::string real = real_path(named);
    if (real.empty() && (errno == ENOENT || errno == ENOTDIR)) continue;
    if (real.empty()) return diagnose<message::unreadable>(std::strerror(errno));
    if (std::ranges::none_of(roots_, [&](const Root& root) {
          return !root.real.empty() && is_below(real, root.real);
        })) {
      return diagnose<message::use_link>(path);
    }
    return read(name, real, path);
  }
  if (is_outside) return diagnose<message::use_outside>(path);
  return diagnose<message::no_used_file>(path);
}

Result<Source> UsedFiles::read(const std::string& name, const std::string& real,
                               std::string_view path) {
  struct stat status{};
  if (stat(real.c_str(), &status) != 0) return diagnose<message::unreadable>(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) {
    return diagnose<message::no_regular_file>(path,
                                              S_ISDIR(status.st_mode) ? "a folder" : "no file");
  }
  const auto [known, fresh] = names_.emplace(std::pair(status.st_dev, status.st_ino), name);
  found_.emplace(name, known->second);
  if (!fresh) return Source{known->second, {}};
  Result<Source> source = read_input(real, console_);
  if (source) source->file = name;
  return source;
}

}  // namespace vyre
