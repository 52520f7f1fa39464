#include "vyre/backends/cpu/llvm.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

namespace vyre::llvm {
namespace {

namespace fs = std::filesystem;

#if defined(__aarch64__)
constexpr const char* kLibraries = "/usr/lib/aarch64-linux-gnu";
#else
constexpr const char* kLibraries = "/usr/lib/x86_64-linux-gnu";
#endif

// What vyre needs of LLVM, beside the program as a build puts it, or where an installation does; or
// else all of it, which takes four times as long to load.
std::vector<fs::path> files() {
  std::vector<fs::path> paths;
  std::error_code unknown;
  const fs::path own = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  if (!own.empty()) paths = {own / "libvyre-llvm.so", own / "../lib/libvyre-llvm.so"};
  paths.insert(paths.end(), {"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so"});
  return paths;
}

// Gives what is wrong with it, if anything. It stays loaded for as long as the process lives.
std::string load(const fs::path& path, Api& api) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return dlerror();
#define FUNCTION(result, name, parameters)                                       \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, "LLVM" #name)); \
  if (api.name == nullptr) return path.string() + " has no LLVM" #name;
#include "vyre/backends/cpu/llvm.def"
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  api.GetVersion(&major, &minor, &patch);
  api.version = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  if (major != 19) return path.string() + " is LLVM " + api.version;
  api.InitializeX86TargetInfo();
  api.InitializeX86Target();
  api.InitializeX86TargetMC();
  api.InitializeX86AsmPrinter();
  api.InitializeAArch64TargetInfo();
  api.InitializeAArch64Target();
  api.InitializeAArch64TargetMC();
  api.InitializeAArch64AsmPrinter();
  return {};
}

struct Loaded {
  Api api;
  bool usable = false;
  std::string reason;
};

Loaded load_first() {
  Loaded loaded;
  std::string problem;  // of the first that is there
  for (const fs::path& path : files()) {
    const std::string wrong = load(path, loaded.api);
    loaded.usable = wrong.empty();
    if (loaded.usable) return loaded;
    const bool is_there = !wrong.starts_with(path.string() + ": cannot open");
    if (problem.empty() && is_there) problem = "LLVM 19 does not load: " + wrong;
  }
  if (problem.empty()) problem = "LLVM 19 is not installed";
  loaded.reason = problem + " (on Debian: apt install libllvm19)";
  return loaded;
}

}  // namespace

bool finds_llvm(std::string& reason) {
  for (const fs::path& path : files()) {
    for (const fs::path folder : {kLibraries, "/usr/lib64", "/usr/lib", "/usr/lib/llvm-19/lib"}) {
      const fs::path whole = path.is_absolute() ? path : folder / path;
      if (access(whole.c_str(), R_OK) == 0) return true;
    }
  }
  return load_llvm(reason) != nullptr;
}

const Api* load_llvm(std::string& reason) {
  static const Loaded& loaded = *new Loaded(load_first());
  reason = loaded.reason;
  return loaded.usable ? &loaded.api : nullptr;
}

}  // namespace vyre::llvm
