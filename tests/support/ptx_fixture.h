// Programs as PTX, for tests that look at it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <sstream>
#include <string>

#include "vyre/backends/ptx/emit.h"
#include "vyre/vyre.h"

namespace vyre {

// The last program of a text, as a kernel with the lines of the text.
inline Result<PtxKernel> ptx_kernel(const std::string& text) {
  const Result<Loaded> loaded = load({"shape.vyre", text});
  if (!loaded.ok()) return loaded.diagnostics();
  Registry registry;
  EXPECT_TRUE(registry.add(loaded->module).ok());
  std::size_t last = 0;
  for (std::size_t i = 0; i < loaded->module.items.size(); ++i) {
    if (std::holds_alternative<Program>(loaded->module.items[i])) last = i;
  }
  Result<Linked> linked = link(std::get<Program>(loaded->module.items[last]), registry);
  if (!linked.ok()) return linked.diagnostics();
  linked->source = source_lines(*loaded, last);
  return compile_ptx(*linked);
}

// The toolkit's assembler, where there is one.
inline std::string find_ptxas() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("PATH")) {
    std::istringstream list(path);
    for (std::string folder; std::getline(list, folder, ':');) folders.push_back(folder);
  }
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(std::string(home) + "/bin");
  folders.emplace_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders) {
    if (access((folder + "/ptxas").c_str(), X_OK) == 0) return folder + "/ptxas";
  }
  return {};
}

// Its text, or what is wrong.
inline std::string ptx_of(const std::string& text) {
  const Result<PtxKernel> kernel = ptx_kernel(text);
  return kernel.ok() ? kernel->text : render(kernel.diagnostics()[0]);
}

inline std::size_t count_of(const std::string& in, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(in.begin(), in.end(), regex), std::sregex_iterator()));
}

}  // namespace vyre
