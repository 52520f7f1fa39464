// Reading and writing files, with errors as diagnostics.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/vyre/command.h"

namespace vyre {
namespace {

Diagnostic failed_to_read(std::string_view path) {
  Diagnostic diagnostic = diagnose<message::unreadable>(std::strerror(errno));
  diagnostic.file = path;
  return diagnostic;
}

Diagnostic failed_to_write(std::string_view path) {
  Diagnostic diagnostic = diagnose<message::unwritable>(std::strerror(errno));
  diagnostic.file = path;
  return diagnostic;
}

}  // namespace

Result<Source> read_input(std::string_view path, const Console& console) {
  Source source{std::string(path), {}};
  const bool is_stdin = path == "-";
  if (is_stdin) source.file = "<stdin>";
  std::FILE* file = is_stdin ? console.in : std::fopen(source.file.c_str(), "rb");
  if (file == nullptr) return failed_to_read(source.file);

  // One byte more than a source may have shows that it is too large; the rest is not read.
  struct stat status{};
  const bool regular = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
  constexpr std::size_t kMost = kMaxSourceBytes + 1;
  std::size_t capacity = std::size_t{64} << 10;
  if (regular) capacity = std::min(kMost, static_cast<std::size_t>(status.st_size) + 1);
  bool failed = false;
  while (source.text.size() < kMost) {
    const std::size_t before = source.text.size();
    source.text.resize(std::min(kMost, before + capacity));
    const std::size_t room = source.text.size() - before;
    const std::size_t got = std::fread(source.text.data() + before, 1, room, file);
    source.text.resize(before + got);
    if (got < room) {
      failed = std::ferror(file) != 0;
      break;
    }
    capacity = source.text.size();
  }
  if (failed) {
    Diagnostic diagnostic = failed_to_read(source.file);
    if (!is_stdin) std::fclose(file);
    return diagnostic;
  }
  if (!is_stdin) std::fclose(file);
  return source;
}

Result<bool> write_file(std::string_view path, std::string_view bytes) {
  // A finished file takes the place of the old one; what a link points to is replaced, not the
  // link.
  std::string target(path);
  if (char* real = realpath(target.c_str(), nullptr)) {
    target = real;
    std::free(real);
  }
  struct stat old{};
  const bool exists = stat(target.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) {
    // A device or a pipe cannot be replaced; it is written to.
    std::FILE* file = std::fopen(target.c_str(), "wb");
    if (file == nullptr) return failed_to_write(path);
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    if (std::fclose(file) != 0 || !written) return failed_to_write(path);
    return true;
  }
  std::string temporary = target + ".XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) return failed_to_write(path);
  std::string_view rest = bytes;
  bool written = true;
  while (!rest.empty() && written) {
    const ssize_t count = write(descriptor, rest.data(), rest.size());
    written = count > 0 || (count < 0 && errno == EINTR);
    if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
  }
  const mode_t mask = umask(0);
  umask(mask);
  written = written && fchmod(descriptor, exists ? old.st_mode & 07777 : 0666 & ~mask) == 0;
  written = (close(descriptor) == 0) && written;
  if (!written || std::rename(temporary.c_str(), target.c_str()) != 0) {
    Diagnostic diagnostic = failed_to_write(path);
    unlink(temporary.c_str());
    return diagnostic;
  }
  return true;
}

}  // namespace vyre
