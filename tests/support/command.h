// Runs `vyre` inside the test's own process, and reads files of the source tree.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/build.h"
#include "vyre/backends/backend.h"

namespace vyre {

struct CommandResult {
  int status;
  std::string out;
  std::string err;
};

// The arguments are those behind `vyre`; `input` is what it finds on standard input. With
// `terminal` it believes that its output goes to one.
CommandResult run_vyre(std::span<const std::string_view> arguments, std::string_view input = {},
                       bool terminal = false);

// Where the source tree and the command are: VYRE_ROOT and VYRE_COMMAND in the environment, or
// where they were when this was built.
std::string source_root();
std::string command_path();

// What a program that succeeds prints.
std::string output_of(const std::string& program);

std::string read_file(const std::string& path);

// The paths of the valid programs in folders of it, in order.
std::vector<std::string> program_files(std::initializer_list<const char*> folders);

// Whether expectations and generated documents are rewritten instead of compared.
bool updating();

// The reference, which tests compare with; the same device for all.
Device& reference();

// The parts of a text between occurrences of a separator.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace vyre
