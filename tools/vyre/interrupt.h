// Ctrl-C, SIGTERM and SIGHUP while a program runs or a file is written. The first asks to stop, and
// what is going on may end in its own way. After a twentieth of a second, or at a second signal,
// the process is ended wherever it is: compilers and drivers do not look whether somebody asked. No
// half-written file is left in either case.
#pragma once

#include <array>
#include <atomic>
#include <csignal>

#include "tools/vyre/command.h"

namespace vyre {

// Set by the first signal.
const std::atomic<bool>& interrupted();
// What to exit with after it: 128 and its number. Ctrl-C's while there was none.
int interrupted_status();

// A signal asks to stop as long as one of these lives; before and after that it ends the process.
class Interruptible {
 public:
  Interruptible();
  // Where the process is ended, it says so as report() does.
  Interruptible(bool json, const Console& console);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
  bool has_farewell_ = false;
};

// It has been said that the run was stopped; to end the process then says nothing more.
void forget_farewell();

// The file that is removed where the process is ended; null when there is none. The path has to
// live until another one is named.
void name_temporary(const char* path);

}  // namespace vyre
