// Programs as SPIR-V, for tests that look at it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"
#include "vyre/backends/spirv/emit.h"
#include "vyre/backends/spirv/module.h"
#include "vyre/backends/spirv/target.h"
#include "vyre/vyre.h"

namespace vyre {

// What devices may be.
inline constexpr std::string_view kSpirvKinds[] = {"", kSpirvInt64};

// Right for every dispatch, with the lines of a file where that is given.
inline Result<SpirvKernel> compile_spirv(const Linked& linked, std::string_view kind,
                                         std::string_view file = {}) {
  const Result<Lowered> lowered = lower(linked, *find_backend("spirv"), kind);
  if (!lowered.ok()) return lowered.diagnostics();
  return emit_spirv(*lowered, file);
}

// Whether a program is in PATH.
inline bool is_installed(const std::string& program) {
  std::istringstream list(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(list, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// What spirv-val has against a module; nothing where it is not installed.
inline std::string validator_says(std::span<const std::uint32_t> words) {
  if (!is_installed("spirv-val")) return {};
  const TempFolder folder;
  const std::string path = folder / "shader.spv";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()),
             static_cast<std::streamsize>(words.size_bytes()));
  std::FILE* pipe = popen(("spirv-val --target-env vulkan1.1 " + path + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "it does not start";
  std::string said;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) said += static_cast<char>(c);
  return pclose(pipe) == 0 ? "" : "it says: " + said;
}

struct SpirvInstruction {
  SpirvOp op;
  std::vector<std::uint32_t> operands;

  // The text that begins at an operand.
  std::string text(std::size_t at) const {
    std::string text;
    for (std::size_t i = at; i < operands.size(); ++i) {
      for (unsigned byte = 0; byte < 4; ++byte) {
        const char c = static_cast<char>(operands[i] >> (8 * byte));
        if (c == '\0') return text;
        text += c;
      }
    }
    return text;
  }
};

inline std::vector<SpirvInstruction> instructions_of(std::span<const std::uint32_t> words) {
  constexpr std::size_t kHeader = 5;
  std::vector<SpirvInstruction> all;
  for (std::size_t at = kHeader; at < words.size();) {
    const std::size_t size = words[at] >> 16;
    const auto operands = words.subspan(at + 1, size - 1);
    all.push_back({static_cast<SpirvOp>(words[at] & 0xffff), {operands.begin(), operands.end()}});
    at += size;
  }
  return all;
}

inline std::size_t count_of(SpirvOp op, std::span<const std::uint32_t> words) {
  return static_cast<std::size_t>(
      std::ranges::count(instructions_of(words), op, &SpirvInstruction::op));
}

}  // namespace vyre
