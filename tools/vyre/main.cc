#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "tools/vyre/command.h"

namespace {

// The core has no exceptions. What to say when there is no memory is made while there is some.
struct LastWords {
  int descriptor;
  std::string text;
};
LastWords last_words;

void out_of_memory() {
  (void)!write(last_words.descriptor, last_words.text.data(), last_words.text.size());
  _exit(vyre::kEnvironment);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like any other
  const std::vector<std::string_view> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const vyre::Diagnostic full = vyre::diagnose<vyre::message::full_machine>();
  last_words = std::ranges::find(arguments, "--json") != arguments.end()
                   ? LastWords{STDOUT_FILENO, vyre::to_json({&full, 1})}
                   : LastWords{STDERR_FILENO, vyre::render(full)};
  std::set_new_handler(out_of_memory);
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
