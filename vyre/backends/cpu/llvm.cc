#include "vyre/backends/cpu/llvm.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace vyre::llvm {
namespace {

namespace fs = std::filesystem;

#if defined(__aarch64__)
constexpr const char* kLibraries = "/usr/lib/aarch64-linux-gnu";
#else
constexpr const char* kLibraries = "/usr/lib/x86_64-linux-gnu";
#endif

// Whether a file is a whole ELF file, as far as its header tells: what a copy that broke off leaves
// is not. Loading it, the only other way to know, takes milliseconds.
bool is_whole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  std::error_code unknown;
  // The table of sections comes last.
  const std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
  return end <= fs::file_size(path, unknown) && !unknown;
}

// What vyre needs of LLVM: beside the program or the shared library that this code is in, as a
// build puts it, or where an installation does, or where the system looks; or else all of LLVM,
// which takes four times as long to load.
std::vector<fs::path> files() {
  constexpr const char* kOwn = "libvyre-llvm.so";
  std::vector<fs::path> paths;
  const auto add_beside = [&](const fs::path& image) {
    const fs::path folder = image.parent_path();
    if (folder.empty()) return;
    for (const fs::path& path : {folder / kOwn, folder / ".." / VYRE_LIBDIR / kOwn}) {
      if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
    }
  };
  std::error_code unknown;
  Dl_info image{};
  link_map* entry = nullptr;  // with an empty name for the program itself
  if (dladdr1(reinterpret_cast<const void*>(&finds_llvm), &image, reinterpret_cast<void**>(&entry),
              RTLD_DL_LINKMAP) != 0 &&
      std::strchr(entry->l_name, '/') != nullptr) {
    add_beside(fs::canonical(entry->l_name, unknown));
  }
  add_beside(fs::read_symlink("/proc/self/exe", unknown));
  paths.insert(paths.end(), {kOwn, "libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so"});
  return paths;
}

// Gives what is wrong with it, if anything. It stays loaded for as long as the process lives.
std::string load(const fs::path& path, Api& api) {
  if (path.is_absolute() && access(path.c_str(), F_OK) == 0 && !is_whole(path)) {
    return path.string() + " is damaged";
  }
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
      if (access(whole.c_str(), R_OK) == 0 && is_whole(whole)) return true;
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
