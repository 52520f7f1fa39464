// The GPU that WebGPU gives this process: the queue that all work goes to in order, memory,
// pipelines and the errors that it reports. There is one from when it is first asked for until the
// process ends, or it is lost. Safe to use from several threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "vyre/backends/backend.h"
#include "vyre/backends/launches.h"
#include "vyre/backends/shader.h"
#include "vyre/backends/wgsl/emit.h"
#include "vyre/backends/wgsl/webgpu.h"
#include "vyre/base/result.h"

namespace vyre {

// A kernel that the driver has compiled.
struct WgslCode {
  webgpu::OwnedBindGroupLayout layout;
  webgpu::OwnedPipeline pipeline;
  webgpu::OwnedBuffer tables;  // none where the kernel has no tables
};

// What measures up to kLaunches launches, each by the time when it begins and when it ends.
struct WebGpuClock {
  static constexpr std::uint32_t kLaunches = 256;
  static constexpr std::uint64_t kBytes = std::uint64_t{kLaunches} * 2 * sizeof(std::uint64_t);
  webgpu::OwnedQuerySet times;  // null: the GPU cannot measure
  webgpu::OwnedBuffer resolved;
  webgpu::OwnedBuffer mapped;
};

class WebGpu {
 public:
  // Null where there is none that computes; then `reason` says why and what helps.
  static std::unique_ptr<WebGpu> open(const webgpu::Api& api, std::string& reason);
  ~WebGpu();

  webgpu::Gpu device() const { return device_.get(); }
  // Zeros; at least one byte, a multiple of kShaderBytes.
  Result<webgpu::OwnedBuffer> allocate(std::uint64_t bytes, std::uint64_t usage);
  Result<void> write(webgpu::Buffer to, std::uint64_t offset, std::span<const std::byte> bytes);
  Result<void> read(webgpu::Buffer from, std::uint64_t offset, std::span<std::byte> bytes);
  // Hands over what was encoded, with the words that it finds in `parameters`.
  Result<void> submit(webgpu::Encoder encoder, std::span<const std::byte> words);
  // Until all that was submitted has ended, or somebody wants to stop; what runs cannot be stopped.
  Result<void> finish(const RunOptions& options);
  // The bytes of a buffer that is copied to and mapped, from its beginning.
  Result<void> map(webgpu::Buffer buffer, std::span<std::byte> into, std::uint64_t skipped,
                   const RunOptions& options);
  // From memory or compiled. `program` is the name.
  Result<std::shared_ptr<const WgslCode>> load(const WgslKernel& kernel, std::string_view program);

  // Clocks are made once and used again.
  Result<WebGpuClock> take_clock();
  void give_back(WebGpuClock clock);

  // What this thread's calls did wrong since it asked last, or that the GPU is lost.
  Result<void> check();
  bool is_lost() const;

  const webgpu::Api& api;
  DeviceInfo info;
  GridStep max_grid{};  // of a dispatch
  // Of the parameters of dispatches that are submitted together. Who fills it holds `submitting`.
  static constexpr std::uint64_t kParameterBytes = std::uint64_t{256} << 10;
  webgpu::OwnedBuffer parameters;
  // Held while work that belongs together goes to the queue.
  std::mutex submitting;

 private:
  explicit WebGpu(const webgpu::Api& library) : api(library) {}
  std::string start();
  void make_instance();
  void describe(const webgpu::AdapterInfo& adapter, const webgpu::Limits& limits);
  Result<void> wait(webgpu::Future future, const RunOptions& options);
  Result<void> write_words(webgpu::Buffer to, std::uint64_t offset,
                           std::span<const std::byte> bytes);
  Result<std::shared_ptr<const WgslCode>> compile(const WgslKernel& kernel,
                                                  std::string_view program);
  webgpu::OwnedBindGroupLayout layout_of(const ShaderCall& call) const;

  mutable std::mutex said_;  // held for what Dawn says, which may be at any time
  std::string log_;
  std::string lost_;  // why it is

  webgpu::OwnedInstance instance_;
  webgpu::OwnedAdapter adapter_;
  webgpu::OwnedGpu device_;
  webgpu::OwnedQueue queue_;
  std::uint32_t max_storage_buffers_ = 0;  // of a kernel
  bool has_clocks_ = false;
  std::mutex reading_;
  std::mutex mending_;  // of words that are written in part
  webgpu::OwnedBuffer staging_;
  std::uint64_t staging_bytes_ = 0;
  std::mutex clocks_mutex_;
  std::vector<WebGpuClock> clocks_;
  std::mutex kernels_mutex_;
  std::map<std::string, std::shared_ptr<const WgslCode>> kernels_;  // by text and tables
};

// The one of this process. Null where there is none; then `reason` says why and what helps.
WebGpu* find_webgpu(std::string& reason);

}  // namespace vyre
