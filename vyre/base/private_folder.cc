#include "vyre/base/private_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "vyre/base/text.h"

namespace vyre {
namespace {

constexpr const char* kKeyFile = "vyre-key";
constexpr std::size_t kNameDigits = 32;

bool fill_random(std::span<unsigned char> bytes) {
  return getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

// Of no other thread or process.
std::string temporary_name(const std::string& name) {
  unsigned char number[8];
  return fill_random(number) ? name + "." + hex_bytes(number) : std::string();
}

// An entry, or what is to become one.
bool is_our_name(std::string_view name) {
  const auto is_hex = [](std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == text.npos;
  };
  if (!is_hex(name.substr(0, kNameDigits))) return false;
  if (name.size() == kNameDigits) return true;
  return name.size() == kNameDigits + 17 && name[kNameDigits] == '.' &&
         is_hex(name.substr(kNameDigits + 1));
}

bool is_our_file(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

// An open file, closed at the end.
struct Open {
  int descriptor;
  explicit Open(int opened) : descriptor(opened) {}
  ~Open() {
    if (descriptor >= 0) close(descriptor);
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
};

// Neither follows a link nor waits for what is no file.
int open_to_read(int folder, const char* name) {
  return openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// Reads or writes all of it: `move` is one of the two.
bool move_all(auto move, int file, auto* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t moved = move(file, bytes, size);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    bytes += moved;
    size -= static_cast<std::size_t>(moved);
  }
  return true;
}

// Makes a file with a name that there is not yet. Where it fails, there is none.
bool write_new(int folder, const std::string& name, const SipBytes& head, std::string_view rest) {
  if (name.empty()) return false;
  const int file =
      openat(folder, name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool written = move_all(::write, file, head.data(), head.size()) &&
                 move_all(::write, file, rest.data(), rest.size());
  written = close(file) == 0 && written;
  if (!written) unlinkat(folder, name.c_str(), 0);
  return written;
}

// Whether the nearest parent that exists belongs to another user. Under `sudo` with the home of
// somebody else, a folder that root makes there would lock them out.
bool is_in_a_folder_of_another_user(std::string path) {
  struct stat status{};
  for (;;) {
    const std::size_t slash = path.rfind('/');
    const bool is_last = slash == path.npos || slash == 0;
    path = slash == path.npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
    if (stat(path.c_str(), &status) == 0) return status.st_uid != geteuid() && status.st_uid != 0;
    if (is_last) return false;
  }
}

struct EntryKeys {
  std::string name;
  SipBytes tag;  // the key of the hash of its contents, so that one entry is not taken for another
};
EntryKeys keys_of(const SipBytes& secret, std::string_view key) {
  const SipBytes id = siphash(secret, key);
  const std::string name = hex_bytes(id);
  return {name, siphash(secret, "tag of " + name)};
}

}  // namespace

std::string cache_folder(std::string_view kind) {
  for (const auto& [name, below] :
       {std::pair("VYRE_CACHE", "/"), {"XDG_CACHE_HOME", "/vyre/"}, {"HOME", "/.cache/vyre/"}}) {
    const char* set = std::getenv(name);
    if (set != nullptr && *set != '\0') return std::string(set) + below + std::string(kind);
  }
  return {};
}

PrivateFolder::PrivateFolder(std::string path, Missing missing) : path_(std::move(path)) {
  if (!path_.empty()) open_folder(missing);
  if (folder_ >= 0) find_secret(missing);
}

PrivateFolder::~PrivateFolder() {
  if (folder_ >= 0) close(folder_);
}

void PrivateFolder::open_folder(Missing missing) {
  const auto refuse = [&](std::string_view why) {
    refusal_ = std::string(why) + ". Set VYRE_CACHE to a folder of your own.";
  };
  const auto open_it = [&] {
    return open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  };
  int opened = open_it();
  if (opened < 0 && errno == ENOENT) {
    if (missing == Missing::Stays) return;
    const char* named = std::getenv("VYRE_CACHE");  // which the user may want anywhere
    if ((named == nullptr || *named == '\0') && is_in_a_folder_of_another_user(path_)) {
      return refuse("the folder around it belongs to another user");
    }
    for (std::size_t slash = path_.find('/', 1); slash != path_.npos;
         slash = path_.find('/', slash + 1)) {
      mkdir(path_.substr(0, slash).c_str(), 0700);
    }
    const int failed = mkdir(path_.c_str(), 0700) != 0 ? errno : 0;
    opened = open_it();
    if (opened < 0 && failed != 0 && failed != EEXIST) {
      return refuse("it cannot be created: " + std::string(std::strerror(failed)));
    }
  }
  struct stat status{};
  if (opened < 0 && (errno == ENOTDIR || errno == ELOOP)) {
    refuse("it is a link, or not a folder");
  } else if (opened < 0 || fstat(opened, &status) != 0) {
    refuse("it cannot be opened: " + std::string(std::strerror(errno)));
  } else if (status.st_uid != geteuid()) {
    refuse("it belongs to another user");
  } else if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    // It is not for us to change the mode of a folder that may be shared on purpose.
    refusal_ = "others can write to it. Run `chmod 700` on it, or set VYRE_CACHE to another one.";
  } else {
    folder_ = opened;
    return;
  }
  if (opened >= 0) close(opened);
}

// Leaves a refusal where it finds something else.
bool PrivateFolder::read_secret() {
  const Open file(open_to_read(folder_, kKeyFile));
  if (file.descriptor < 0 && errno == ENOENT) return false;
  struct stat status{};
  SipBytes secret{};
  // It may have two names for a moment, see below.
  if (file.descriptor < 0 || fstat(file.descriptor, &status) != 0 || !is_our_file(status) ||
      (status.st_mode & (S_IRWXG | S_IRWXO)) != 0 ||
      status.st_size != static_cast<off_t>(secret.size()) ||
      !move_all(::read, file.descriptor, secret.data(), secret.size())) {
    refusal_ = std::string("the file ") + kKeyFile + " in it is damaged, or not yours alone. " +
               "Delete that file.";
    return false;
  }
  secret_ = secret;
  return true;
}

void PrivateFolder::find_secret(Missing missing) {
  if (read_secret() || !refusal_.empty() || missing == Missing::Stays) return;
  // Of several processes that do this at once, one gives the file its name, and all read that.
  SipBytes secret{};
  const std::string temporary = temporary_name(hex_bytes(secret));
  if (!fill_random(secret) || !write_new(folder_, temporary, secret, {})) return;
  (void)!linkat(folder_, temporary.c_str(), folder_, kKeyFile, 0);
  unlinkat(folder_, temporary.c_str(), 0);
  read_secret();
}

std::optional<std::string> PrivateFolder::read(std::string_view key, std::uint64_t most) const {
  if (!secret_) return std::nullopt;
  const EntryKeys keys = keys_of(*secret_, key);
  const Open file(open_to_read(folder_, keys.name.c_str()));
  struct stat status{};
  // It has no name any more where another process has just replaced it.
  if (file.descriptor < 0 || fstat(file.descriptor, &status) != 0 || !is_our_file(status) ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 || status.st_nlink > 1) {
    return std::nullopt;
  }
  SipBytes tag{};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < tag.size() || size - tag.size() > most) return std::nullopt;
  std::string contents(static_cast<std::size_t>(size) - tag.size(), '\0');
  if (!move_all(::read, file.descriptor, tag.data(), tag.size()) ||
      !move_all(::read, file.descriptor, contents.data(), contents.size()) ||
      siphash(keys.tag, contents) != tag) {
    return std::nullopt;
  }
  (void)!futimens(file.descriptor, nullptr);
  return contents;
}

void PrivateFolder::write(std::string_view key, std::string_view contents) const {
  if (!secret_) return;
  const EntryKeys keys = keys_of(*secret_, key);
  const std::string temporary = temporary_name(keys.name);
  if (!write_new(folder_, temporary, siphash(keys.tag, contents), contents)) return;
  if (renameat(folder_, temporary.c_str(), folder_, keys.name.c_str()) != 0) {
    unlinkat(folder_, temporary.c_str(), 0);
  }
}

std::vector<PrivateFolder::File> PrivateFolder::files() const {
  std::vector<File> all;
  // Of its own, since reading moves on in it.
  const int opened = openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = opened < 0 ? nullptr : fdopendir(opened);
  if (stream == nullptr) {
    if (opened >= 0) close(opened);
    return all;
  }
  while (const dirent* each = readdir(stream)) {
    struct stat status{};
    if (!is_our_name(each->d_name) ||
        fstatat(folder_, each->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !is_our_file(status)) {
      continue;
    }
    all.push_back({each->d_name, static_cast<std::uint64_t>(status.st_size), status.st_mtim});
  }
  closedir(stream);
  return all;
}

bool PrivateFolder::remove(const std::string& name) const {
  return unlinkat(folder_, name.c_str(), 0) == 0;
}

std::uint64_t PrivateFolder::clear() {
  std::uint64_t count = 0;
  for (const File& file : files()) count += remove(file.name) ? 1 : 0;
  struct stat status{};
  if (fstatat(folder_, kKeyFile, &status, AT_SYMLINK_NOFOLLOW) == 0 && is_our_file(status) &&
      remove(kKeyFile)) {
    secret_.reset();
    refusal_.clear();
  }
  return count;
}

}  // namespace vyre
