// Ctrl-C while a program runs or a file is written. The first one asks to stop, and what is going
// on ends in its own time; a second one ends the process at once. No half-written file stays behind
// in either case.
#pragma once

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
  struct sigaction before_{};
};

// The file that a second Ctrl-C removes; null when there is none. It outlives its being named.
void name_temporary(const char* path);

}  // namespace vyre
