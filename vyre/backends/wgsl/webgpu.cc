#include "vyre/backends/wgsl/webgpu.h"

#include <dlfcn.h>

#include <cstdlib>

namespace vyre::webgpu {
namespace {

constexpr std::string_view kFix =
    " (install the npm package bun-webgpu-linux-x64, and name its libwebgpu_wrapper.so in "
    "VYRE_WEBGPU)";

Api& table() {
  static Api& api = *new Api;
  return api;
}

// Gives why it cannot be used; empty: it can. It stays loaded for as long as the process lives.
std::string load(Api& api) {
  const char* path = std::getenv("VYRE_WEBGPU");
  void* library = nullptr;
  if (path != nullptr && *path != '\0') {
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      return "VYRE_WEBGPU names what cannot be loaded: " + std::string(dlerror());
    }
  } else {
    for (const char* known : {VYRE_WEBGPU_LIBRARY, "libwebgpu_wrapper.so"}) {
      path = known;
      library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) break;
    }
  }
  if (library == nullptr) return std::string("there is no WebGPU library").append(kFix);
  const char* missing = nullptr;
#define FUNCTION(result, name, parameters)                                       \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, "wgpu" #name)); \
  if (api.name == nullptr && missing == nullptr) missing = "wgpu" #name;
#define HANDLE(name, full) FUNCTION(void, full##Release, (name))
#include "vyre/backends/wgsl/webgpu.def"
  if (missing == nullptr) return {};
  dlclose(library);
  return (std::string(path) + " has no " + missing).append(kFix);
}

}  // namespace

const Api* load_webgpu(std::string& reason) {
  static const std::string& problem = *new std::string(load(table()));
  reason = problem;
  return problem.empty() ? &table() : nullptr;
}

const Api& loaded_webgpu() { return table(); }

}  // namespace vyre::webgpu
