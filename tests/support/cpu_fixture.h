// Runs cases on the CPU backend and on the interpreter.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "tests/support/command.h"
#include "vyre/backends/cpu/device.h"
#include "vyre/conform/generator.h"
#include "vyre/conform/reducer.h"
#include "vyre/vyre.h"

namespace vyre {

inline bool is_long() { return std::getenv("VYRE_LONG") != nullptr; }

class Cpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const Opened opened = open_cpu();
    if (opened.device == nullptr) GTEST_SKIP() << opened.reason;
    // What was compiled before is not what is tested.
    folder_ = ::testing::TempDir() + "vyre_cpu_" + std::to_string(getpid());
    kept_ = std::getenv("VYRE_CACHE") != nullptr ? std::getenv("VYRE_CACHE") : "";
    setenv("VYRE_CACHE", folder_.c_str(), 1);
    interp_ = std::move(*open_device(*find_backend("interp")));
    cpu_ = std::move(*open_device(*find_backend("cpu")));
  }
  void TearDown() override {
    unsetenv("VYRE_CPU");
    if (folder_.empty()) return;
    std::filesystem::remove_all(folder_);
    kept_.empty() ? unsetenv("VYRE_CACHE") : setenv("VYRE_CACHE", kept_.c_str(), 1);
  }

  // What is different; empty when nothing is, or the interpreter takes too long.
  std::string difference(const Case& c) {
    Registry registry;
    if (!registry.add(c.module).ok()) return {};
    const Program& program = c.program();
    std::vector<HostBuffer> buffers;
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      if (program.buffers[i].access == BufferAccess::Workgroup) continue;
      buffers.emplace_back(program.buffers[i].name, c.contents[i]);
    }
    DispatchOptions options;
    options.registry = &registry;
    options.device = interp_.get();
    options.run.max_steps = 20'000'000;
    const Result<Outputs> expected = dispatch(program, c.grid, buffers, options);
    if (!expected.ok()) return {};
    options.run.max_steps = 0;
    options.device = cpu_.get();
    const Result<Outputs> found = dispatch(program, c.grid, buffers, options);
    if (!found.ok()) return render(found.diagnostics()[0]);
    ++compared_;
    for (std::size_t i = 0; i < expected->buffers.size(); ++i) {
      if (expected->buffers[i].bytes != found->buffers[i].bytes) {
        return "another value in " + expected->buffers[i].name;
      }
    }
    return {};
  }

  void check_generated(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      GeneratorOptions options;
      options.statements = 3 + static_cast<std::uint32_t>(seed % 8);
      const Case c = generate_case(seed, options);
      const std::string wrong = difference(c);
      if (wrong.empty()) continue;
      const Case small = reduce(c, [&](const Case& less) { return !difference(less).empty(); });
      ADD_FAILURE() << "seed " << seed << ": " << wrong << "\n" << print(small.module);
      return;
    }
  }

  std::atomic<std::uint64_t> compared_ = 0;  // cases
  std::string folder_;
  std::string kept_;
  std::unique_ptr<Device> interp_;
  std::unique_ptr<Device> cpu_;
};

}  // namespace vyre
