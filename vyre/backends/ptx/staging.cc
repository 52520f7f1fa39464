#include "vyre/backends/ptx/staging.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "vyre/backends/pool.h"

namespace vyre {
namespace {

constexpr std::size_t kSlot = std::size_t{4} << 20;
constexpr std::size_t kLeastPiece = std::size_t{512} << 10;
constexpr std::size_t kMaxLanes = 8;

}  // namespace

struct CudaStaging::Lane {
  struct Slot {
    std::byte* bytes = nullptr;
    cuda::Event moved = nullptr;  // what the stream does with it
  };
  std::array<Slot, 2> slots;
  cuda::Stream stream = nullptr;
  cuda::Event done = nullptr;
};

struct CudaStaging::Copy {
  cuda::Pointer device = 0;
  const std::byte* from = nullptr;  // one of the two
  std::byte* to = nullptr;
  std::size_t bytes = 0;
  std::size_t piece = 0;
  std::atomic<std::size_t> next = 0;  // piece
  std::atomic<cuda::Status> status = cuda::kSuccess;
};

CudaStaging::CudaStaging(const cuda::Api& api, cuda::Context context)
    : api_(api),
      context_(context),
      most_lanes_(std::clamp<std::size_t>(worker_count() / 2, 1, kMaxLanes)) {}

CudaStaging::~CudaStaging() = default;

std::optional<cuda::Status> CudaStaging::write(cuda::Pointer to, std::span<const std::byte> bytes,
                                               cuda::Stream stream) {
  Copy copy{.device = to, .from = bytes.data(), .bytes = bytes.size()};
  return run(copy, stream);
}

std::optional<cuda::Status> CudaStaging::read(cuda::Pointer from, std::span<std::byte> bytes,
                                              cuda::Stream stream) {
  Copy copy{.device = from, .to = bytes.data(), .bytes = bytes.size()};
  return run(copy, stream);
}

std::optional<cuda::Status> CudaStaging::run(Copy& copy, cuda::Stream stream) {
  const std::lock_guard lock(one_copy_);
  if (most_lanes_ == 0) return std::nullopt;
  copy.piece = std::clamp(copy.bytes / (2 * most_lanes_), kLeastPiece, kSlot);
  const std::size_t wanted = std::min(most_lanes_, (copy.bytes + copy.piece - 1) / copy.piece);
  if (ready_ == nullptr) {
    if (const auto status = api_.EventCreate(&ready_, cuda::kNoTiming)) return status;
  }
  while (lanes_.size() < wanted && lanes_.size() < most_lanes_) {
    auto lane = std::make_unique<Lane>();
    if (prepare(*lane)) {
      lanes_.push_back(std::move(lane));
    } else {
      most_lanes_ = lanes_.size();  // there is no room for more
    }
  }
  const std::size_t count = std::min(wanted, lanes_.size());
  if (count == 0) return std::nullopt;
  if (const auto status = api_.EventRecord(ready_, stream)) return status;
  Job job;
  job.count = count;
  job.threads = static_cast<unsigned>(count);
  job.work = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) move(*lanes_[i], copy);
  };
  run_job(job);
  // What the slots still hold is on its way.
  for (std::size_t i = 0; i < count && copy.from != nullptr; ++i) {
    if (copy.status != cuda::kSuccess) break;
    copy.status = api_.StreamWaitEvent(stream, lanes_[i]->done, 0);
  }
  return copy.status;
}

bool CudaStaging::prepare(Lane& lane) {
  const auto works = [](cuda::Status status) { return status == cuda::kSuccess; };
  bool fine = works(api_.StreamCreate(&lane.stream, cuda::kNonBlocking)) &&
              works(api_.EventCreate(&lane.done, cuda::kNoTiming));
  for (Lane::Slot& slot : lane.slots) {
    void* bytes = nullptr;
    fine = fine && works(api_.EventCreate(&slot.moved, cuda::kNoTiming)) &&
           works(api_.MemHostAlloc(&bytes, kSlot, 0));
    slot.bytes = static_cast<std::byte*>(bytes);
  }
  return fine;
}

// On any thread: as many pieces as are left when it comes to them.
void CudaStaging::move(const Lane& lane, Copy& copy) {
  const cuda::Entered entered(api_, context_);
  const auto check = [&](cuda::Status status) {
    if (status != cuda::kSuccess) copy.status = status;
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
    if (!check(api_.EventSynchronize(lane.slots[which].moved))) return false;
    std::memcpy(copy.to + piece.at, lane.slots[which].bytes, piece.size);
    return true;
  };
  bool fine = check(api_.StreamWaitEvent(lane.stream, ready_, 0));
  for (std::size_t turn = 0; fine && copy.status == cuda::kSuccess; turn ^= 1) {
    const std::size_t at = copy.next.fetch_add(1) * copy.piece;
    if (at >= copy.bytes) break;
    const std::size_t size = std::min(copy.piece, copy.bytes - at);
    const Lane::Slot& slot = lane.slots[turn];
    if (copy.from != nullptr) {
      fine = check(api_.EventSynchronize(slot.moved));
      if (!fine) break;
      std::memcpy(slot.bytes, copy.from + at, size);
      fine = check(api_.MemcpyHtoDAsync(copy.device + at, slot.bytes, size, lane.stream)) &&
             check(api_.EventRecord(slot.moved, lane.stream));
    } else {
      fine = take_out(turn) &&
             check(api_.MemcpyDtoHAsync(slot.bytes, copy.device + at, size, lane.stream)) &&
             check(api_.EventRecord(slot.moved, lane.stream));
      pieces[turn] = {at, size};
    }
  }
  for (std::size_t i = 0; fine && i < pieces.size(); ++i) fine = take_out(i);
  if (fine) check(api_.EventRecord(lane.done, lane.stream));
}

}  // namespace vyre
