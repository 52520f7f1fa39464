#include "vyre/backends/cpu/llvm.h"

#include <dlfcn.h>

namespace vyre::llvm {
namespace {

struct Loaded {
  Api api;
  bool usable = false;
  std::string reason;
};

// It stays loaded for as long as the process lives.
Loaded load() {
  Loaded loaded;
  void* library = nullptr;
  for (const char* name : {"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so"}) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    loaded.reason = "LLVM 19 is not installed (on Debian: apt install libllvm19)";
    return loaded;
  }
  const char* missing = nullptr;
#define FUNCTION(result, name, parameters)                                                     \
  loaded.api.name = reinterpret_cast<decltype(loaded.api.name)>(dlsym(library, "LLVM" #name)); \
  if (loaded.api.name == nullptr) missing = #name;
#include "vyre/backends/cpu/llvm.def"
  if (missing != nullptr) {
    loaded.reason = "the LLVM that is installed has no LLVM" + std::string(missing);
    return loaded;
  }
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  loaded.api.GetVersion(&major, &minor, &patch);
  loaded.api.version =
      std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  if (major != 19) {
    loaded.reason = "LLVM " + loaded.api.version + " is installed, and version 19 is needed";
    return loaded;
  }
  loaded.api.InitializeX86TargetInfo();
  loaded.api.InitializeX86Target();
  loaded.api.InitializeX86TargetMC();
  loaded.api.InitializeX86AsmPrinter();
  loaded.api.InitializeAArch64TargetInfo();
  loaded.api.InitializeAArch64Target();
  loaded.api.InitializeAArch64TargetMC();
  loaded.api.InitializeAArch64AsmPrinter();
  loaded.usable = true;
  return loaded;
}

}  // namespace

const Api* load_llvm(std::string& reason) {
  static const Loaded& loaded = *new Loaded(load());
  reason = loaded.reason;
  return loaded.usable ? &loaded.api : nullptr;
}

}  // namespace vyre::llvm
