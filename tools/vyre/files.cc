// Reading and writing files, with errors as diagnostics.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tools/vyre/command.h"
#include "tools/vyre/interrupt.h"
#include "tools/vyre/request.h"
#include "tools/vyre/used_files.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

Diagnostic about(std::string_view path, Diagnostic diagnostic) {
  diagnostic.file = path.empty() ? "(empty)" : path;
  return diagnostic;
}

Diagnostic failed_to_read(std::string_view path) {
  return about(path, diagnose<message::unreadable>(std::strerror(errno)));
}

Diagnostic failed_to_write(std::string_view path) {
  return about(path, diagnose<message::unwritable>(std::strerror(errno)));
}

// Reads a file to its end, or to one byte more than the limit, which shows that it is too large;
// the rest is not read. False leaves the reason in errno.
template <class Bytes>
bool read_all(std::string_view path, std::uint64_t limit, const Console& console, Bytes& bytes) {
  const bool is_stdin = path == "-";
  std::FILE* file = is_stdin ? console.in : std::fopen(std::string(path).c_str(), "rb");
  if (file == nullptr) return false;
  struct stat status{};
  const bool regular = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
  const std::size_t most = limit + 1;
  std::size_t capacity = std::size_t{64} << 10;
  if (regular) capacity = std::min(most, static_cast<std::size_t>(status.st_size) + 1);
  bool failed = false;
  while (bytes.size() < most) {
    const std::size_t before = bytes.size();
    bytes.resize(std::min(most, before + capacity));
    const std::size_t room = bytes.size() - before;
    const std::size_t got = std::fread(bytes.data() + before, 1, room, file);
    bytes.resize(before + got);
    if (got < room) {
      failed = std::ferror(file) != 0;
      break;
    }
    capacity = bytes.size();
  }
  const int reason = errno;
  if (!is_stdin) std::fclose(file);
  errno = reason;
  return !failed;
}

}  // namespace

std::vector<Diagnostic> missing_folders(const Invocation& invocation) {
  std::vector<Diagnostic> missing;
  for (std::string_view folder : invocation.values("--include")) {
    std::error_code unknown;
    if (std::filesystem::is_directory(folder, unknown)) continue;
    missing.push_back(diagnose<message::no_folder>(shown(folder)));
  }
  return missing;
}

Result<Source> read_input(std::string_view path, const Console& console) {
  Source source{path == "-" ? "<stdin>" : std::string(path), {}};
  if (!read_all(path, kMaxSourceBytes, console, source.text)) return failed_to_read(source.file);
  return source;
}

Result<Loaded> load_file(std::string_view path, const Invocation& invocation,
                         const Console& console) {
  Result<Source> source = read_input(path, console);
  if (!source.ok()) return source.diagnostics();
  UsedFiles files(path, source->file, invocation.values("--include"), console);
  const FindFile find = [&](std::string_view used, std::string_view from) {
    return files.find(used, from);
  };
  return load_module(std::move(*source), {}, find);
}

Result<std::vector<std::size_t>> chosen_programs(const Loaded& loaded,
                                                 const Invocation& invocation) {
  std::vector<std::size_t> items;
  if (invocation.has("--program")) {
    const Result<std::size_t> item = find_program(loaded, invocation.value("--program"));
    if (!item.ok()) return item.diagnostics();
    items.push_back(*item);
    return items;
  }
  for (std::size_t i = 0; i < loaded.own_items; ++i) {
    if (std::holds_alternative<Program>(loaded.module.items[i])) items.push_back(i);
  }
  if (items.empty()) return diagnose<message::no_programs>(loaded.source.file);
  return items;
}

Result<std::vector<std::byte>> read_bytes(std::string_view path, std::uint64_t limit,
                                          const Console& console) {
  std::vector<std::byte> bytes;
  if (!read_all(path, limit, console, bytes)) {
    return failed_to_read(path == "-" ? "<stdin>" : path);
  }
  return bytes;
}

std::vector<std::string_view> inputs_of(const Invocation& invocation) {
  std::vector<std::string_view> paths = invocation.operands;
  for (std::string_view option : {"--in", "--expect"}) {
    for (std::string_view text : invocation.values(option)) {
      const std::string_view data = split_at(text, '=').value.value_or("");
      if (data.starts_with('@')) paths.push_back(data.substr(1));
    }
  }
  return paths;
}

Result<void> check_writable(std::string_view path, std::span<const std::string_view> inputs,
                            const Console& console) {
  const std::string file(path);
  if (file.empty()) {
    errno = ENOENT;
    return failed_to_write(path);
  }
  struct stat status{};
  const bool exists = stat(file.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) errno = EISDIR;
    if (S_ISDIR(status.st_mode) || access(file.c_str(), W_OK) != 0) return failed_to_write(path);
    return {};
  }
  for (std::string_view each : inputs) {
    struct stat input{};
    const int found =
        each == "-" ? fstat(fileno(console.in), &input) : stat(std::string(each).c_str(), &input);
    if (found != 0 || !exists || input.st_dev != status.st_dev || input.st_ino != status.st_ino) {
      continue;
    }
    return about(path, diagnose<message::written_input>(each == "-" ? "<stdin>" : shorten(each)));
  }
  // A new file takes the place of an old one, which takes the right to change the folder.
  const std::size_t slash = file.rfind('/');
  const std::string folder = slash == file.npos ? "." : slash == 0 ? "/" : file.substr(0, slash);
  if (access(folder.c_str(), W_OK | X_OK) != 0) return failed_to_write(path);
  return {};
}

Result<void> write_file(std::string_view path, std::string_view bytes) {
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
    return {};
  }
  const Interruptible interruptible;
  // Not with the name of the file in it, which may be as long as names can be.
  std::string temporary = target.substr(0, target.rfind('/') + 1) + ".vyre-XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) return failed_to_write(path);
  name_temporary(temporary.c_str());
  // Piece by piece, to look for an interrupt in between.
  constexpr std::size_t kPiece = std::size_t{4} << 20;
  std::string_view rest = bytes;
  bool written = true;
  while (!rest.empty() && written && !interrupted()) {
    const ssize_t count = write(descriptor, rest.data(), std::min(rest.size(), kPiece));
    written = count > 0 || (count < 0 && errno == EINTR);
    if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
  }
  const mode_t mask = umask(0);
  umask(mask);
  written = written && fchmod(descriptor, exists ? old.st_mode & 07777 : 0666 & ~mask) == 0;
  written = (close(descriptor) == 0) && written;
  if (!written || interrupted() || std::rename(temporary.c_str(), target.c_str()) != 0) {
    Diagnostic diagnostic =
        interrupted() ? diagnose<message::interrupted>() : failed_to_write(path);
    unlink(temporary.c_str());
    name_temporary(nullptr);
    return diagnostic;
  }
  name_temporary(nullptr);
  return {};
}

}  // namespace vyre
