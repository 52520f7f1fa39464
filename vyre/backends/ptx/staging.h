// Large copies between the host and a GPU. The driver copies from memory that it has not pinned
// with one thread; here several threads move pieces through pinned slots of their own, each with a
// stream, which is four times as fast.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "vyre/backends/ptx/cuda.h"

namespace vyre {

// Threads and slots are made when they are first needed, and live as long as the process.
class CudaStaging {
 public:
  CudaStaging(const cuda::Api& api, cuda::Context context);
  ~CudaStaging();

  struct Copied {
    bool done = false;  // otherwise nothing is pinned, and somebody else has to copy
    cuda::Status status = cuda::kSuccess;
  };
  // After what is in the stream already, and before what comes there later.
  Copied write(cuda::Pointer to, std::span<const std::byte> bytes, cuda::Stream stream);
  Copied read(cuda::Pointer from, std::span<std::byte> bytes, cuda::Stream stream);

 private:
  struct Worker;
  struct Job {
    cuda::Pointer device = 0;
    const std::byte* from = nullptr;  // one of the two
    std::byte* to = nullptr;
    std::size_t bytes = 0;
    std::size_t piece = 0;
    std::atomic<std::size_t> next = 0;  // piece
    std::atomic<cuda::Status> status = cuda::kSuccess;
    std::size_t workers = 0;
  };

  Copied copy(Job& job, cuda::Stream stream);
  bool prepare(Worker& worker);
  void serve(Worker& worker);
  void move(Worker& worker, Job& job);

  const cuda::Api& api_;
  cuda::Context context_;
  cuda::Event ready_ = nullptr;  // of the stream, when a job may begin
  std::mutex one_job_;
  std::mutex mutex_;  // of the rest
  std::condition_variable begin_;
  std::condition_variable end_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::size_t most_workers_ = 0;  // none: nothing can be pinned
  Job* job_ = nullptr;
  std::uint64_t round_ = 0;
  std::size_t busy_ = 0;  // workers
};

}  // namespace vyre
