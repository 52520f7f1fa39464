#include "vyre/backends/backend.h"

#include "vyre/backends/cpu/device.h"
#include "vyre/backends/interp/device.h"

namespace vyre {
namespace {

Opened not_built() { return {nullptr, "this version of vyre does not have it"}; }

constexpr Backend kBackends[] = {
    {"interp", "", "the reference interpreter", 2, true, emit_interp, open_interp},
    {"cpu", "", "machine code for all cores", 2, false, emit_cpu_artifact, open_cpu},
    {"wgsl", "webgpu", "WebGPU", 2, false, nullptr, not_built},
    {"spirv", "vulkan", "Vulkan", 2, false, nullptr, not_built},
    {"ptx", "cuda", "NVIDIA GPUs", 2, false, nullptr, not_built},
};

}  // namespace

std::span<const Backend> all_backends() { return kBackends; }

const Backend* find_backend(std::string_view name) {
  for (const Backend& backend : kBackends) {
    if (backend.name == name || (!name.empty() && backend.alias == name)) return &backend;
  }
  return nullptr;
}

const Backend& default_backend() {
  static const Backend& best = kBackends[open_cpu().device != nullptr ? 1 : 0];
  return best;
}

Result<std::unique_ptr<Device>> open_device(const Backend& backend) {
  Opened opened = backend.open();
  if (opened.device != nullptr) return std::move(opened.device);
  std::string others;
  for (const Backend& candidate : kBackends) {
    if (candidate.open().device == nullptr) continue;
    others += (others.empty() ? "" : ", ") + std::string(candidate.name);
  }
  return diagnose<message::unavailable_backend>(backend.name, opened.reason, others);
}

}  // namespace vyre
