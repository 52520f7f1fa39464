#include "tools/vyre/interrupt.h"

#include <unistd.h>

#include "tools/vyre/command.h"

namespace vyre {
namespace {

std::atomic<bool> asked = false;
std::atomic<const char*> temporary = nullptr;
static_assert(std::atomic<bool>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

void on_interrupt(int) {
  if (!asked.exchange(true)) return;
  if (const char* path = temporary) unlink(path);
  _exit(kInterrupted);
}

}  // namespace

const std::atomic<bool>& interrupted() { return asked; }

Interruptible::Interruptible() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &before_[i]);
    // Who starts us in the background may have had it ignored; then it stays so.
    if (before_[i].sa_handler == SIG_IGN) sigaction(kSignals[i], &before_[i], nullptr);
  }
}

Interruptible::~Interruptible() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

void name_temporary(const char* path) { temporary = path; }

}  // namespace vyre
