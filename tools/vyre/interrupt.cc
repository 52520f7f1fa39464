#include "tools/vyre/interrupt.h"

#include <poll.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>

namespace vyre {
namespace {

std::atomic<bool> asked = false;
std::atomic<int> first_signal = 0;
std::atomic<const char*> temporary = nullptr;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

// What is said where the process is ended, and where to.
struct Farewell {
  int descriptor = -1;
  std::string text;
};
Farewell farewell;
std::atomic<const Farewell*> ready_farewell = nullptr;

void end_process(int) {
  if (const char* path = temporary) unlink(path);
  if (const Farewell* last = ready_farewell) {
    // Writing to a full pipe or a stopped terminal would block.
    pollfd ready{last->descriptor, POLLOUT, 0};
    if (poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0) {
      (void)!write(last->descriptor, last->text.data(), last->text.size());
    }
  }
  _exit(interrupted_status());
}

void on_signal(int number) {
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, number)) end_process(number);
  asked = true;
  const int before = errno;
  struct sigaction action{};
  sigfillset(&action.sa_mask);
  action.sa_handler = end_process;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval soon{{0, 0}, {0, 50'000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
  errno = before;
}

}  // namespace

const std::atomic<bool>& interrupted() { return asked; }

int interrupted_status() {
  const int number = first_signal;
  return 128 + (number == 0 ? SIGINT : number);
}

Interruptible::Interruptible() {
  struct sigaction action{};
  sigfillset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = on_signal;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &before_[i]);
    // A parent that starts us in the background may ignore the signal; then it stays ignored.
    if (before_[i].sa_handler == SIG_IGN) sigaction(kSignals[i], &before_[i], nullptr);
  }
}

Interruptible::Interruptible(bool json, const Console& console) : Interruptible() {
  const Diagnostic stopped = diagnose<message::interrupted>();
  if (json) {
    farewell = {fileno(console.out), to_json({{stopped}})};
  } else {
    // There may be a line that shows the progress.
    const std::string blank = console.err_is_terminal ? "\r" + std::string(60, ' ') + "\r" : "";
    farewell = {fileno(console.err), blank + render(stopped, console.colour)};
  }
  ready_farewell = &farewell;
  has_farewell_ = true;
}

Interruptible::~Interruptible() {
  if (has_farewell_) forget_farewell();
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

void forget_farewell() { ready_farewell = nullptr; }

void name_temporary(const char* path) { temporary = path; }

}  // namespace vyre
