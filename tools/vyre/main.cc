#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "tools/vyre/command.h"

namespace {

// The core has no exceptions: where there is no memory at all, this is what can still be said.
void out_of_memory() {
  constexpr std::string_view kText =
      "error[B004]: there is no memory left on this machine\n"
      "fix: use smaller buffers, or another device\n";
  (void)!write(STDERR_FILENO, kText.data(), kText.size());
  _exit(vyre::kEnvironment);
}

}  // namespace

int main(int argc, char** argv) {
  std::set_new_handler(out_of_memory);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like any other
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
