#include "tests/support/command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tools/vyre/command.h"

namespace vyre {
namespace {

// A FILE that collects what is written to it.
class Collector {
 public:
  Collector() : file_(open_memstream(&text_, &size_)) {}
  ~Collector() {
    std::fclose(file_);
    std::free(text_);
  }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  std::FILE* file() const { return file_; }
  std::string text() const {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

}  // namespace

CommandResult run_vyre(std::span<const std::string_view> arguments, std::string_view input,
                       bool terminal) {
  std::string text(input);
  // fmemopen() does not take empty buffers.
  std::FILE* in =
      text.empty() ? std::fopen("/dev/null", "rb") : fmemopen(text.data(), text.size(), "rb");
  if (in == nullptr) return {-1, "", "no input"};
  const Collector out, err;
  const int status =
      run_command(arguments, {in, out.file(), err.file(), terminal, terminal, terminal});
  std::fclose(in);
  return {status, out.text(), err.text()};
}

std::string source_root() {
  const char* root = std::getenv("VYRE_ROOT");
  return root != nullptr ? root : kSourceRoot;
}

std::string command_path() {
  const char* path = std::getenv("VYRE_COMMAND");
  return path != nullptr ? path : kCommand;
}

std::string output_of(const std::string& program) {
  std::FILE* pipe = popen(program.c_str(), "r");
  if (pipe == nullptr) return "it does not start";
  std::string out;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << program;
  return out;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << "cannot read " << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> program_files(std::initializer_list<const char*> folders) {
  std::vector<std::string> all;
  for (const char* folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(source_root() + "/" + folder)) {
      const std::filesystem::path& path = entry.path();
      if (path.extension() == ".vyre" && path.stem() != "broken") all.push_back(path.string());
    }
  }
  std::ranges::sort(all);
  return all;
}

bool updating() {
  const char* value = std::getenv("VYRE_UPDATE");
  return value != nullptr && std::string_view(value) == "1";
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Device& reference() {
  static Device& device = *open_device(*find_backend("interp"))->release();
  return device;
}

}  // namespace vyre
