// Other programs that do something for this one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vyre {

struct ProcessResult {
  std::string out;      // what it wrote to standard output
  std::string failure;  // why it did not start or did not end with status 0; empty: it did
};

// Runs a program, which is looked up in PATH, with this on its standard input. It ends when we do,
// however that comes about.
ProcessResult run_process(std::vector<std::string> arguments, std::string_view input);

}  // namespace vyre
