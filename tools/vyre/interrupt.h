// Ctrl-C, or another polite request to end, while a program runs or a file is written. The first
// asks to stop, and what is going on ends in its own time; a second one ends the process at once.
// No half-written file stays behind in either case.
#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace vyre {

// Set by the first Ctrl-C.
const std::atomic<bool>& interrupted();

// Ctrl-C asks to stop as long as one of these lives; before and after that it ends the process.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

// The file that a second Ctrl-C removes; null when there is none. It outlives its being named.
void name_temporary(const char* path);

}  // namespace vyre
