#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tools/vyre/command.h"

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const char* term = std::getenv("TERM");
  const bool colour = isatty(STDERR_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr &&
                      term != nullptr && std::string_view(term) != "dumb";
  const vyre::Console console{
      stdin, stdout, stderr, colour, isatty(STDOUT_FILENO) != 0, isatty(STDERR_FILENO) != 0};
  const int status = vyre::run_command(arguments, console);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    vyre::Diagnostic failed = vyre::diagnose<vyre::message::unwritable>(std::strerror(errno));
    failed.file = "<stdout>";
    return vyre::report({{failed}}, false, console);
  }
  return status;
}
