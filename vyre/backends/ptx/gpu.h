// A GPU of this process: its context, which is the primary one, so that other code of the process
// can share it, the stream that all work goes to in order, its memory, and the modules on it. There
// is one for each GPU, from when it is first asked for until the process ends. Safe to use from
// several threads.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "vyre/backends/backend.h"
#include "vyre/backends/ptx/cuda.h"
#include "vyre/backends/ptx/emit.h"
#include "vyre/base/result.h"

namespace vyre {

class CudaGpu;
class CudaStaging;

// A kernel as machine code on a GPU.
struct CudaCode {
  explicit CudaCode(const CudaGpu& owner) : gpu(owner) {}
  ~CudaCode();
  CudaCode(const CudaCode&) = delete;
  CudaCode& operator=(const CudaCode&) = delete;

  const CudaGpu& gpu;
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
};

class CudaGpu {
 public:
  CudaGpu(const cuda::Api& driver, cuda::Gpu number);
  ~CudaGpu();

  // Makes the context when it is first needed: that takes as long as a thousand launches.
  Result<void> start();
  cuda::Entered enter() const { return {api, context_}; }

  // All that needs a GPU that has been started.
  cuda::Stream stream() const { return stream_; }
  Result<cuda::Pointer> allocate(std::uint64_t bytes);  // zeros, before all that comes later
  void free(cuda::Pointer pointer);
  Result<void> write(cuda::Pointer to, std::span<const std::byte> bytes);
  Result<void> read(cuda::Pointer from, std::span<std::byte> bytes);
  // From memory, from the cache folder, or assembled. `name` is the program's.
  Result<std::shared_ptr<const CudaCode>> load(const PtxKernel& kernel, std::string_view name);

  // What machine code of this text is kept under.
  std::string cache_key(const std::string& text) const;

  // Events are made once and used again.
  cuda::Status take_event(cuda::Event& event);
  void give_back(const std::vector<cuda::Event>& events);

  // What ended a kernel or the GPU, with what helps.
  Diagnostic failure(cuda::Status status) const;
  Result<void> check(cuda::Status status) const;

  const cuda::Api& api;
  DeviceInfo info;
  int sm = 0;                               // 90 is sm_90
  std::array<std::uint64_t, 3> max_grid{};  // of a launch
  // Held while work that belongs together goes to the stream.
  std::mutex submitting;
  // Something was left behind on the GPU that may never end.
  std::atomic<bool> is_abandoned = false;

 private:
  Result<std::string> assemble(const std::string& text, bool has_lines,
                               std::string_view program) const;
  Diagnostic no_code(cuda::Status status, std::string_view program,
                     std::string_view said = {}) const;

  cuda::Gpu number_;
  std::mutex starting_;
  std::atomic<bool> is_started_ = false;
  cuda::Context context_ = nullptr;
  cuda::Stream stream_ = nullptr;
  cuda::Pool pool_ = nullptr;  // null: memory does not come from one
  std::unique_ptr<CudaStaging> staging_;
  std::mutex events_mutex_;
  std::vector<cuda::Event> events_;
  std::mutex modules_mutex_;
  std::map<std::string, std::shared_ptr<const CudaCode>> modules_;  // by their text
};

// One of those that there are. Null where it does not run programs; then `reason` says why.
CudaGpu* find_gpu(const cuda::Api& api, std::uint32_t number, std::string& reason);

}  // namespace vyre
