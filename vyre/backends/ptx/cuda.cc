#include "vyre/backends/ptx/cuda.h"

#include <dlfcn.h>

#include <fstream>

namespace vyre::cuda {
namespace {

constexpr int kOldest = 11040;  // the first that has all of the functions

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string why_not(const Api& api, Status status) {
  if (status == kNoDevice) return "there is no NVIDIA GPU, or CUDA_VISIBLE_DEVICES hides it";
  if (status == kStubLibrary) {
    return "the libcuda.so.1 that was found is a stub to link with (install the NVIDIA driver, and "
           "take the stub out of LD_LIBRARY_PATH)";
  }
  if (status == kDriverMismatch) {
    return "libcuda.so.1 and the driver in the kernel are of different versions (restart the "
           "machine, or install both from one package)";
  }
  return "the NVIDIA driver does not start: " + describe(api, status) +
         " (`nvidia-smi` tells more)";
}

// Gives why it cannot be used; empty: it can. It stays loaded for as long as the process lives.
std::string load(Api& api) {
  void* library = nullptr;
  for (const char* name : {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    return "there is no libcuda.so.1 (install the NVIDIA driver, 470 or newer; on Debian: apt "
           "install nvidia-driver libcuda1)";
  }
  const char* missing = nullptr;
#define FUNCTION(name, symbol, parameters)                                  \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #symbol)); \
  if (api.name == nullptr && missing == nullptr) missing = #symbol;
#include "vyre/backends/ptx/cuda.def"
  if (api.DriverGetVersion != nullptr) api.DriverGetVersion(&api.version);
  std::ifstream("/sys/module/nvidia/version") >> api.driver;
  if (api.version != 0 && api.version < kOldest) {
    return "the NVIDIA driver is for CUDA " + version_text(api.version) +
           ", and 11.4 is needed (install driver 470 or newer)";
  }
  if (missing != nullptr) {
    return "the libcuda.so.1 that is installed has no " + std::string(missing) +
           " (install NVIDIA driver 470 or newer)";
  }
  Status status = api.Init(0);
  if (status == kSuccess) status = api.DeviceGetCount(&api.gpus);
  if (status == kSuccess && api.gpus == 0) status = kNoDevice;
  return status == kSuccess ? "" : why_not(api, status);
}

}  // namespace

std::string describe(const Api& api, Status status) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.GetErrorName(status, &name) != kSuccess || name == nullptr) {
    return "error " + std::to_string(status);
  }
  if (api.GetErrorString(status, &text) != kSuccess || text == nullptr) return name;
  return std::string(name) + " (" + text + ")";
}

const Api* load_cuda(std::string& reason) {
  static Api& api = *new Api;
  static const std::string& problem = *new std::string(load(api));
  reason = problem;
  return problem.empty() ? &api : nullptr;
}

}  // namespace vyre::cuda
