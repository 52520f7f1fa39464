#include "vyre/backends/cpu/llvm.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

namespace vyre::llvm {
namespace {

namespace fs = std::filesystem;

// What vyre needs of LLVM, as its build puts it beside the program, or an installation into a
// folder near it; or else all of it, which takes four times as long to load.
std::vector<std::string> files() {
  std::vector<std::string> names;
  std::error_code unknown;
  const fs::path own = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  for (const char* folder : {".", "..", "../lib"}) {
    if (!own.empty()) names.push_back(own / folder / "libvyre-llvm.so");
  }
  names.insert(names.end(), {"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so"});
  return names;
}

struct Loaded {
  Api api;
  bool usable = false;
  std::string reason;
};

// It stays loaded for as long as the process lives.
Loaded load() {
  Loaded loaded;
  void* library = nullptr;
  std::string problem = "is not installed";
  for (const std::string& name : files()) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    const std::string error = dlerror();
    if (!error.ends_with("No such file or directory")) problem = "does not load, " + error;
  }
  if (library == nullptr) {
    loaded.reason = "LLVM 19 " + problem + " (on Debian: apt install libllvm19)";
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

bool finds_llvm(std::string& reason) {
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib/llvm-19/lib"}) {
    for (const std::string& name : files()) {
      if (access((fs::path(folder) / name).c_str(), R_OK) == 0) return true;
    }
  }
  return load_llvm(reason) != nullptr;
}

const Api* load_llvm(std::string& reason) {
  static const Loaded& loaded = *new Loaded(load());
  reason = loaded.reason;
  return loaded.usable ? &loaded.api : nullptr;
}

}  // namespace vyre::llvm
