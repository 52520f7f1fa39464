// Programs as PTX, for tests that look at it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "tests/support/command.h"
#include "vyre/backends/ptx/code.h"
#include "vyre/vyre.h"

namespace vyre {

// Right for every dispatch.
inline Result<PtxKernel> compile_ptx(const Linked& linked, std::string_view entry = {}) {
  const Result<Lowered> lowered = lower(linked, *find_backend("ptx"));
  if (!lowered.ok()) return lowered.diagnostics();
  return emit_ptx(*lowered, entry);
}

// The last program of a text, as a kernel with the lines of the text.
inline Result<PtxKernel> ptx_kernel(const std::string& text) {
  const Result<Loaded> loaded = load_module({"shape.vyre", text});
  if (!loaded.ok()) return loaded.diagnostics();
  std::size_t last = 0;
  for (std::size_t i = 0; i < loaded->module.items.size(); ++i) {
    if (std::holds_alternative<Program>(loaded->module.items[i])) last = i;
  }
  Linked linked = program_at(*loaded, last);
  linked.set_source(source_lines(*loaded)[last]);
  return compile_ptx(linked);
}

// What the backend emitted for a program.
inline Result<std::shared_ptr<const PtxProgram>> ptx_program(const Linked& linked) {
  const Result<Artifact> artifact = compile(linked, *find_backend("ptx"));
  if (!artifact.ok()) return artifact.diagnostics();
  return std::static_pointer_cast<const PtxProgram>(artifact->code);
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

// What ptxas has against a module, for a generation of GPUs that depends on it, or with VYRE_LONG
// for each; nothing where there is no ptxas.
inline std::string assembler_says(const std::string& module) {
  const std::string ptxas = find_ptxas();
  if (ptxas.empty()) return {};
  const std::string path = ::testing::TempDir() + "vyre_" + std::to_string(getpid()) + ".ptx";
  std::ofstream(path) << module;
  std::string wrong;
  std::size_t turn = std::hash<std::string>()(module);
  for (const char* target : {"sm_75", "sm_80", "sm_90"}) {
    if (turn++ % 3 != 0 && !is_long()) continue;
    const std::string command = ptxas + " -O1 -arch=" + target + " -o /dev/null " + path + " 2>&1";
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return "it does not start";
    std::string said = std::string(target) + ": ";
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;) said += static_cast<char>(c);
    if (pclose(pipe) != 0) wrong += said.substr(0, 2000);
  }
  std::filesystem::remove(path);
  return wrong;
}

// Its text, which ptxas takes, or what is wrong.
inline std::string ptx_of(const std::string& text) {
  const Result<PtxKernel> kernel = ptx_kernel(text);
  if (!kernel.ok()) return render(kernel.diagnostics()[0]);
  EXPECT_EQ(assembler_says(ptx_header("shape.vyre") + kernel->text), "") << kernel->text;
  return kernel->text;
}

inline std::size_t count_of(const std::string& in, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(in.begin(), in.end(), regex), std::sregex_iterator()));
}

}  // namespace vyre
