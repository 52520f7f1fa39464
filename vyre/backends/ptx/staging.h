// Large copies between the host and a GPU. The driver copies from memory that it has not pinned
// with one thread; here several threads move pieces through pinned slots of their own, each with a
// stream, which is four times as fast.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "vyre/backends/ptx/cuda.h"

namespace vyre {

// Slots are made when they are first needed, and live as long as the process.
class CudaStaging {
 public:
  CudaStaging(const cuda::Api& api, cuda::Context context);
  ~CudaStaging();

  // After what is in the stream already, and before what comes there later. Nothing where no memory
  // can be pinned: then somebody else has to copy.
  std::optional<cuda::Status> write(cuda::Pointer to, std::span<const std::byte> bytes,
                                    cuda::Stream stream);
  std::optional<cuda::Status> read(cuda::Pointer from, std::span<std::byte> bytes,
                                   cuda::Stream stream);

 private:
  struct Lane;  // what a thread copies with
  struct Copy;

  std::optional<cuda::Status> run(Copy& copy, cuda::Stream stream);
  bool prepare(Lane& lane);
  void move(const Lane& lane, Copy& copy);

  const cuda::Api& api_;
  cuda::Context context_;
  cuda::Event ready_ = nullptr;  // of the stream, when a copy may begin
  std::mutex one_copy_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t most_lanes_ = 0;  // none: nothing can be pinned
};

}  // namespace vyre
