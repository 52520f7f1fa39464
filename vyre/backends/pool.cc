#include "vyre/backends/pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "vyre/base/thread.h"

namespace vyre {
namespace {

using Clock = std::chrono::steady_clock;

// How long a thread works on what it takes: long enough that taking it costs nothing, and short
// enough that nobody who wants to stop has to wait.
constexpr std::chrono::milliseconds kShort(2);
constexpr std::chrono::milliseconds kLong(20);

// A job that somebody works on.
struct Open {
  explicit Open(const Job& given) : job(given), piece(std::max<std::uint64_t>(1, given.piece)) {}

  const Job& job;
  std::atomic<std::uint64_t> piece;  // how much a thread takes at most
  std::atomic<std::uint64_t> next = 0;
  std::atomic<std::uint64_t> done = 0;
  std::atomic<bool> ended = false;
  unsigned wanted = 0;   // more threads; guarded by the pool's mutex
  unsigned working = 0;  // besides the calling one; the same

  bool step() {
    if (ended.load(std::memory_order_relaxed)) return false;
    const std::uint64_t most = piece.load(std::memory_order_relaxed);
    std::uint64_t begin = next.load(std::memory_order_relaxed);
    std::uint64_t end = 0;
    do {
      if (begin >= job.count) return false;
      // The last pieces are small: no thread waits long for another.
      const std::uint64_t share =
          (job.count - begin) / (std::uint64_t{4} * std::max(1u, job.threads));
      end = begin + std::clamp(share, std::uint64_t{1}, most);
    } while (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed));
    if (job.stopped && job.stopped()) {
      ended = true;
      return false;
    }
    const Clock::time_point start = Clock::now();
    job.work(begin, end);
    const Clock::duration took = Clock::now() - start;
    if (took < kShort && end - begin == most) piece = 2 * most;
    if (took > kLong) piece = std::max<std::uint64_t>(1, (end - begin) / 2);
    done.fetch_add(end - begin, std::memory_order_relaxed);
    return true;
  }
  // Of the calling thread.
  void work() {
    while (step()) {
      if (job.progress) job.progress(done.load(std::memory_order_relaxed));
    }
  }
};

class Pool {
 public:
  Pool() {
    // The calling thread is one of the workers.
    for (unsigned i = 1; i < worker_count(); ++i) {
      Thread worker;
      if (worker.start([this] { serve(); })) worker.detach();
    }
  }

  void run(const Job& job) {
    Open open(job);
    const auto others = static_cast<unsigned>(std::min<std::uint64_t>(
        {job.threads - 1, worker_count() - 1, std::max<std::uint64_t>(1, job.count) - 1}));
    if (others > 0) {
      const std::lock_guard lock(mutex_);
      open.wanted = others;
      jobs_.push_back(&open);
      others == 1 ? wake_.notify_one() : wake_.notify_all();
    }
    open.work();
    if (others == 0) return;
    std::unique_lock lock(mutex_);
    open.wanted = 0;
    jobs_.remove(&open);
    ended_.wait(lock, [&] { return open.working == 0; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      Open* open = nullptr;
      wake_.wait(lock, [&] {
        for (Open* each : jobs_) {
          if (each->wanted > 0) open = each;
          if (open != nullptr) return true;
        }
        return false;
      });
      --open->wanted;
      ++open->working;
      lock.unlock();
      while (open->step()) {
      }
      lock.lock();
      --open->working;
      if (open->working == 0) ended_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable ended_;
  std::list<Open*> jobs_;
};

}  // namespace

unsigned worker_count() { return std::max(1u, std::thread::hardware_concurrency()); }

void run_job(const Job& job) {
  if (job.threads <= 1) {
    return Open(job).work();
  }
  static Pool& pool = *new Pool;  // its threads live as long as the process
  pool.run(job);
}

}  // namespace vyre
