#include "tools/vyre/progress.h"

#include <chrono>
#include <cmath>

namespace vyre {
namespace {

using Clock = std::chrono::steady_clock;

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(seconds);
  if (whole < 120) return std::to_string(whole) + " s";
  if (whole < 7200) return std::to_string(whole / 60) + " min";
  return std::to_string(whole / 3600) + " h";
}

}  // namespace

std::string progress_text(double done, double seconds) {
  std::string text;
  if (done > 0) text = std::to_string(static_cast<int>(done * 100)) + " %, ";
  text += duration(seconds);
  if (done > 0) text += ", about " + duration(std::ceil(seconds / done - seconds)) + " left";
  return text;
}

Progress::Progress(const Console& console) : console_(console) {
  if (console.err_is_terminal) thread_.start([this] { watch(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ends_.notify_one();
  thread_.join();
}

std::function<void(double)> Progress::sink() {
  if (!thread_.joinable()) return nullptr;
  return [this](double done) { done_.store(done, std::memory_order_relaxed); };
}

void Progress::watch() {
  const Clock::time_point begin = Clock::now();
  auto wait = std::chrono::milliseconds(1000);
  std::size_t width = 0;
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, wait, [this] { return ended_; })) {
    wait = std::chrono::milliseconds(200);
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    std::string line = progress_text(done_.load(std::memory_order_relaxed), elapsed.count());
    width = std::max(width, line.size());
    line.resize(width, ' ');
    console_.print_error("\r" + line);
    std::fflush(console_.err);
  }
  if (width > 0) console_.print_error("\r" + std::string(width, ' ') + "\r");
}

}  // namespace vyre
