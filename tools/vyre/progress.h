// A line on the terminal about a run that takes longer than a second: how far it is, how long it
// has taken and may still take. Nothing if standard error is not a terminal.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "tools/vyre/command.h"
#include "vyre/base/thread.h"

namespace vyre {

class Progress {
 public:
  explicit Progress(const Console& console);
  ~Progress();  // erases the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // For RunOptions::progress: takes the part of the work that is done.
  std::function<void(double)> sink();

 private:
  void watch();

  const Console& console_;
  std::atomic<double> done_ = 0;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ended_ = false;
  Thread thread_;  // its own, because a single workgroup may take very long
};

// "3 %, 2 s, about 65 s left"
std::string progress_text(double done, double seconds);

}  // namespace vyre
