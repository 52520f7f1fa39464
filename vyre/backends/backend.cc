#include "vyre/backends/backend.h"

#include <numeric>

#include "vyre/backends/cpu/code.h"
#include "vyre/backends/cpu/device.h"
#include "vyre/backends/interp/device.h"
#include "vyre/backends/ptx/code.h"
#include "vyre/backends/ptx/device.h"
#include "vyre/backends/spirv/code.h"
#include "vyre/backends/spirv/device.h"
#include "vyre/backends/wgsl/code.h"
#include "vyre/backends/wgsl/device.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

constexpr Backend kBackends[] = {
    {"interp", "", "the reference interpreter", true, open_interp, nullptr},
    {"cpu", "", "machine code for all cores", false, open_cpu, &kCpuEmitter},
    {"wgsl", "webgpu", "WebGPU", false, open_webgpu, &kWgslEmitter},
    {"spirv", "vulkan", "Vulkan", false, open_vulkan, &kSpirvEmitter},
    {"ptx", "cuda", "NVIDIA GPUs", false, open_cuda, &kPtxEmitter},
};

class Again : public Recording {
 public:
  Again(Device& device, std::span<const Launch> launches)
      : device_(device), launches_(launches.begin(), launches.end()) {}

  Result<RunTimes> run(const RunOptions& options) override {
    Result<std::vector<double>> each = device_.run(launches_, options);
    if (!each) return each.diagnostics();
    return RunTimes{std::accumulate(each->begin(), each->end(), 0.0), std::move(*each)};
  }

 private:
  Device& device_;
  std::vector<Launch> launches_;
};

Diagnostic unavailable(std::string_view backend, std::string_view reason) {
  std::string others;
  for (const Backend& candidate : kBackends) {
    if (candidate.open(0).device == nullptr) continue;
    others += (others.empty() ? "" : ", ") + std::string(candidate.name);
  }
  return diagnose<message::unavailable_backend>(backend, reason, others);
}

}  // namespace

Result<std::unique_ptr<Recording>> Device::record(std::span<const Launch> launches) {
  return std::unique_ptr<Recording>(std::make_unique<Again>(*this, launches));
}

std::span<const Backend> all_backends() { return kBackends; }

const Backend* find_backend(std::string_view name) {
  for (const Backend& backend : kBackends) {
    if (backend.name == name || (!name.empty() && backend.alias == name)) return &backend;
  }
  return nullptr;
}

const Backend& default_backend() {
  static const Backend& best = kBackends[open_cpu(0).device != nullptr ? 1 : 0];
  return best;
}

bool reference_can(const Diagnostic& refusal) {
  return refusal.code == Code::B003 || refusal.code == Code::B005;
}

Result<std::unique_ptr<Device>> open_device(const Backend& backend, std::uint32_t device) {
  Opened opened = backend.open(device);
  if (opened.reason.empty() && device >= opened.devices) {
    return diagnose<message::unknown_device>(backend.name, device, opened.devices);
  }
  if (opened.device != nullptr) return std::move(opened.device);
  return unavailable(backend.name, opened.reason);
}

Result<std::unique_ptr<Device>> open_device(std::string_view backend, std::uint32_t device) {
  if (const Backend* known = find_backend(backend)) return open_device(*known, device);
  return unavailable(shorten(backend), "vyre knows none of this name");
}

Result<std::unique_ptr<Device>> open_device() {
  Opened opened = open_cpu(0);
  if (opened.device != nullptr) return std::move(opened.device);
  return open_interp("`cpu` cannot run here: " + opened.reason);
}

}  // namespace vyre
