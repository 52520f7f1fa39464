// The threads that run workgroups and copy memory: one pool for the process, made when it is first
// needed. Any thread may run a job, also from inside of another job.
#pragma once

#include <cstdint>
#include <functional>

namespace vyre {

// Calls work(begin, end) with pieces of [0, count), on at most `threads` threads, the calling one
// among them. The first ones have `piece`, later ones what takes a few milliseconds, and those
// towards the end less. Goes on until all is done, or until stopped() says so.
struct Job {
  std::uint64_t count = 0;
  std::uint64_t piece = 1;
  unsigned threads = 1;
  std::function<void(std::uint64_t begin, std::uint64_t end)> work;
  std::function<bool()> stopped;
  std::function<void(std::uint64_t done)> progress;  // called by the calling thread
};
void run_job(const Job& job);

unsigned worker_count();  // threads that can work at the same time

}  // namespace vyre
