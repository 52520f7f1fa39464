#include "vyre/backends/ptx/staging.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <utility>

#include "vyre/base/thread.h"

namespace vyre {
namespace {

constexpr std::size_t kSlot = std::size_t{4} << 20;
constexpr std::size_t kLeastPiece = std::size_t{512} << 10;
constexpr std::size_t kMaxWorkers = 8;

}  // namespace

struct CudaStaging::Worker {
  struct Slot {
    std::byte* bytes = nullptr;
    cuda::Event moved = nullptr;  // what the stream does with it
  };
  std::array<Slot, 2> slots;
  cuda::Stream stream = nullptr;
  cuda::Event done = nullptr;
  std::size_t index = 0;
};

CudaStaging::CudaStaging(const cuda::Api& api, cuda::Context context)
    : api_(api),
      context_(context),
      most_workers_(
          std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, kMaxWorkers)) {}

CudaStaging::~CudaStaging() = default;

CudaStaging::Copied CudaStaging::write(cuda::Pointer to, std::span<const std::byte> bytes,
                                       cuda::Stream stream) {
  Job job;
  job.device = to;
  job.from = bytes.data();
  job.bytes = bytes.size();
  return copy(job, stream);
}

CudaStaging::Copied CudaStaging::read(cuda::Pointer from, std::span<std::byte> bytes,
                                      cuda::Stream stream) {
  Job job;
  job.device = from;
  job.to = bytes.data();
  job.bytes = bytes.size();
  return copy(job, stream);
}

CudaStaging::Copied CudaStaging::copy(Job& job, cuda::Stream stream) {
  const std::lock_guard one(one_job_);
  if (most_workers_ == 0) return {};
  job.piece = std::clamp(job.bytes / (2 * most_workers_), kLeastPiece, kSlot);
  job.workers = std::min(most_workers_, (job.bytes + job.piece - 1) / job.piece);
  if (ready_ == nullptr) {
    if (const auto status = api_.EventCreate(&ready_, cuda::kNoTiming)) return {true, status};
  }
  while (workers_.size() < job.workers) {
    auto worker = std::make_unique<Worker>();
    worker->index = workers_.size();
    if (!prepare(*worker)) {
      most_workers_ = workers_.size();  // there is no room for more
      break;
    }
    const std::lock_guard lock(mutex_);
    Thread thread;
    if (!thread.start([this, which = worker.get()] { serve(*which); })) {
      most_workers_ = workers_.size();
      break;
    }
    thread.detach();
    workers_.push_back(std::move(worker));
  }
  job.workers = std::min(job.workers, workers_.size());
  if (job.workers == 0) return {};
  if (const auto status = api_.EventRecord(ready_, stream)) return {true, status};
  {
    std::unique_lock lock(mutex_);
    job_ = &job;
    busy_ = job.workers;
    ++round_;
    begin_.notify_all();
    end_.wait(lock, [&] { return busy_ == 0; });
    job_ = nullptr;
  }
  // What the slots still hold is on its way.
  for (std::size_t i = 0; i < job.workers && job.from != nullptr; ++i) {
    if (job.status != cuda::kSuccess) break;
    job.status = api_.StreamWaitEvent(stream, workers_[i]->done, 0);
  }
  return {true, job.status};
}

bool CudaStaging::prepare(Worker& worker) {
  const auto works = [](cuda::Status status) { return status == cuda::kSuccess; };
  bool fine = works(api_.StreamCreate(&worker.stream, cuda::kNonBlocking)) &&
              works(api_.EventCreate(&worker.done, cuda::kNoTiming));
  for (Worker::Slot& slot : worker.slots) {
    void* bytes = nullptr;
    fine = fine && works(api_.EventCreate(&slot.moved, cuda::kNoTiming)) &&
           works(api_.MemHostAlloc(&bytes, kSlot, 0));
    slot.bytes = static_cast<std::byte*>(bytes);
  }
  return fine;
}

void CudaStaging::serve(Worker& worker) {
  api_.CtxPushCurrent(context_);
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begin_.wait(lock, [&] { return job_ != nullptr && round_ != seen; });
    seen = round_;
    Job& job = *job_;
    if (worker.index >= job.workers) continue;
    lock.unlock();
    move(worker, job);
    lock.lock();
    if (--busy_ == 0) end_.notify_one();
  }
}

void CudaStaging::move(Worker& worker, Job& job) {
  const auto check = [&](cuda::Status status) {
    if (status != cuda::kSuccess) job.status = status;
    return status == cuda::kSuccess;
  };
  struct Piece {
    std::size_t at = 0;
    std::size_t size = 0;  // nothing is in the slot
  };
  std::array<Piece, 2> pieces;
  const auto take_out = [&](std::size_t which) {
    const Piece piece = std::exchange(pieces[which], {});
    if (piece.size == 0) return true;
    if (!check(api_.EventSynchronize(worker.slots[which].moved))) return false;
    std::memcpy(job.to + piece.at, worker.slots[which].bytes, piece.size);
    return true;
  };
  bool fine = check(api_.StreamWaitEvent(worker.stream, ready_, 0));
  for (std::size_t turn = 0; fine && job.status == cuda::kSuccess; turn ^= 1) {
    const std::size_t at = job.next.fetch_add(1) * job.piece;
    if (at >= job.bytes) break;
    const std::size_t size = std::min(job.piece, job.bytes - at);
    const Worker::Slot& slot = worker.slots[turn];
    if (job.from != nullptr) {
      fine = check(api_.EventSynchronize(slot.moved));
      if (!fine) break;
      std::memcpy(slot.bytes, job.from + at, size);
      fine = check(api_.MemcpyHtoDAsync(job.device + at, slot.bytes, size, worker.stream)) &&
             check(api_.EventRecord(slot.moved, worker.stream));
    } else {
      fine = take_out(turn) &&
             check(api_.MemcpyDtoHAsync(slot.bytes, job.device + at, size, worker.stream)) &&
             check(api_.EventRecord(slot.moved, worker.stream));
      pieces[turn] = {at, size};
    }
  }
  for (std::size_t i = 0; fine && i < pieces.size(); ++i) fine = take_out(i);
  if (fine) check(api_.EventRecord(worker.done, worker.stream));
}

}  // namespace vyre
