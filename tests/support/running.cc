#include "tests/support/running.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace vyre {
namespace {

constexpr std::size_t kSlots = 64;  // programs that run at once; those beyond are not told
std::atomic<const std::string*> running[kSlots];
std::string folder;  // as it was when the first program ran
std::string file;
struct sigaction before[2];
constexpr int kSignals[] = {SIGSEGV, SIGBUS};

void put(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(to, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Only calls that are allowed in a handler of signals. Then the instruction runs again, for what
// would have handled it otherwise.
void tell(int) {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before[i], nullptr);
  mkdir(folder.c_str(), 0777);
  const int saved = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  for (const std::atomic<const std::string*>& each : running) {
    const std::string* text = each;
    if (text == nullptr) continue;
    put(2, "\nIt crashed while this was running:\n\n");
    put(2, *text);
    if (saved >= 0) put(saved, *text);
  }
  if (saved >= 0) {
    put(2, "\nSaved as ");
    put(2, file);
    put(2, "\n");
    close(saved);
  }
}

bool install() {
  const char* given = std::getenv("VYRE_FAILURES");
  folder = given != nullptr ? given : "failures";
  file = folder + "/crash_" + std::to_string(getpid()) + ".vyre";
  struct sigaction action{};
  action.sa_handler = tell;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before[i]);
  return true;
}

}  // namespace

Running::Running(std::string text) : text_(std::move(text)), slot_(0) {
  static const bool installed = install();
  (void)installed;
  const std::string* free = nullptr;
  while (slot_ < kSlots && !running[slot_].compare_exchange_strong(free, &text_)) {
    free = nullptr;
    ++slot_;
  }
}

Running::~Running() {
  if (slot_ < kSlots) running[slot_] = nullptr;
}

}  // namespace vyre
