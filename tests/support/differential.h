// Runs cases on a device and on the interpreter.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <thread>

#include "tests/support/command.h"
#include "tests/support/running.h"
#include "vyre/base/random.h"
#include "vyre/conform/generator.h"
#include "vyre/conform/reducer.h"
#include "vyre/interp/script.h"
#include "vyre/vyre.h"

namespace vyre {

class Differential : public ::testing::Test {
 protected:
  // Of the backend; skips the test where it cannot run.
  void open(const char* backend, bool compiles_anew = true) {
    Opened opened = find_backend(backend)->open(0);
    if (opened.device == nullptr) GTEST_SKIP() << opened.reason;
    if (compiles_anew) {
      folder_ =
          ::testing::TempDir() + "vyre_" + std::string(backend) + "_" + std::to_string(getpid());
      kept_ = std::getenv("VYRE_CACHE") != nullptr ? std::getenv("VYRE_CACHE") : "";
      setenv("VYRE_CACHE", folder_.c_str(), 1);
    }
    interp_ = *open_device("interp");
    device_ = std::move(opened.device);
  }
  void TearDown() override {
    if (folder_.empty()) return;
    std::filesystem::remove_all(folder_);
    kept_.empty() ? unsetenv("VYRE_CACHE") : setenv("VYRE_CACHE", kept_.c_str(), 1);
  }

  // What is different; empty when nothing is, or the interpreter takes too long.
  virtual std::string difference(const Case& c) {
    const Result<Linked> linked = link(c);
    if (!linked.ok()) return render(linked.diagnostics()[0]);
    const Program& program = *linked;
    std::vector<HostBuffer> buffers;
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      if (!is_bound(program.buffers[i].access)) continue;
      buffers.emplace_back(program.buffers[i].name, c.contents[i]);
    }
    DispatchOptions options;
    options.device = interp_.get();
    options.run.max_steps = max_steps_;
    const Result<Outputs> expected = dispatch(*linked, c.grid, buffers, options);
    if (!expected.ok()) {
      const Diagnostic& why = expected.diagnostics()[0];
      return why.code == Code::R004 ? "" : render(why);
    }
    options.run.max_steps = 0;
    const Running running(to_text(c));
    for (Device* device : {device_.get(), other_.get()}) {
      if (device == nullptr) continue;
      options.device = device;
      const Result<Outputs> found = dispatch(*linked, c.grid, buffers, options);
      if (!found.ok()) return render(found.diagnostics()[0]);
      for (std::size_t i = 0; i < expected->buffers.size(); ++i) {
        if (expected->buffers[i].bytes != found->buffers[i].bytes) {
          return "another value in " + expected->buffers[i].name;
        }
      }
    }
    ++compared_;
    return {};
  }

  // Whether its bytes are fixed: it does not race, and ends.
  static bool is_clean(const Case& c) {
    const Result<Linked> linked = link(c);
    if (!linked.ok()) return false;
    std::vector<std::vector<std::byte>> contents = c.contents;
    const std::vector<Memory> memory(contents.begin(), contents.end());
    RunOptions options;
    options.max_steps = 5'000'000;
    const Result<RaceReport> races = find_races(make_script(*linked), c.grid, memory, options, {});
    return races.ok() && races->clean();
  }

  // Cases by their seeds, on all cores where it is to take long. VYRE_SEED and VYRE_COUNT choose
  // others. Nearly all are compared. Gives how many there were.
  std::uint64_t check_cases(std::uint64_t first, std::uint64_t count,
                            const std::function<Case(std::uint64_t)>& make,
                            bool uses_all_cores = is_long()) {
    const auto number = [](const char* name, std::uint64_t otherwise) {
      const char* given = std::getenv(name);
      return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
    };
    first = number("VYRE_SEED", first);
    count = number("VYRE_COUNT", count);
    EXPECT_GT(count, 0u);
    const std::uint64_t compared_before = compared_;
    const unsigned threads = uses_all_cores ? std::max(1u, std::thread::hardware_concurrency()) : 1;
    std::atomic<std::uint64_t> next = first;
    const auto work = [&] {
      for (std::uint64_t seed; (seed = next++) < first + count && !HasFailure();) {
        if (is_long() && (seed - first) % 1000 == 999) {
          std::cerr << std::to_string(seed - first + 1) + " of " + std::to_string(count) + "\n";
        }
        const Case c = make(seed);
        if (HasFailure()) return;
        const std::string wrong = difference(c);
        if (wrong.empty()) continue;
        const Case small = !reduces_ ? c : reduce(c, [&](const Case& less) {
          return !difference(less).empty() && is_clean(less);
        });
        ADD_FAILURE() << "seed " << seed << ": " << wrong << "\n" << to_text(small);
      }
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
    work();
    for (std::thread& thread : others) thread.join();
    EXPECT_TRUE(HasFailure() || compared_ - compared_before >= count * 9 / 10);
    return count;
  }

  // Each thread does something with a case before it runs it.
  std::uint64_t check_generated(std::uint64_t first, std::uint64_t count,
                                const std::function<void(std::uint64_t, const Case&)>& before = {},
                                bool uses_all_cores = is_long()) {
    const auto make = [&](std::uint64_t seed) {
      GeneratorOptions options;
      options.statements = 3 + static_cast<std::uint32_t>(seed % 8);
      options.dense = seed % 2 == 1;
      Case c = generate_case(seed, options);
      if (before) before(seed, c);
      return c;
    };
    return check_cases(first, count, make, uses_all_cores);
  }

  // Every op of the library, and so every operation, on edge values and others; or one of `every`.
  void check_library(std::size_t every) {
    std::size_t number = 0;
    std::uint64_t wanted = compared_;
    for (const Op* op : Registry().all()) {
      const Result<Program> program = elementwise(*op);
      if (!program.ok() || number++ % every != 0) continue;
      Random random(7);
      Case c;
      c.module.items.emplace_back(*program);
      constexpr std::uint32_t kCount = 300;
      for (const BufferDecl& buffer : program->buffers) {
        std::vector<std::byte> bytes(std::size_t{kCount} * stride(buffer.element));
        for (std::size_t i = 0; i < bytes.size(); i += 4) {
          static constexpr std::uint32_t kEdges[] = {
              0, 1, 2, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 0xffff, 3, 7};
          const std::uint32_t word = random.below(3) == 0
                                         ? static_cast<std::uint32_t>(random.next())
                                         : kEdges[random.below(std::size(kEdges))];
          std::memcpy(bytes.data() + i, &word, 4);
        }
        c.contents.push_back(std::move(bytes));
      }
      c.grid = {kCount / program->workgroup_size[0] + 1, 1, 1};
      EXPECT_EQ(difference(c), "") << op->id;
      ++wanted;
    }
    EXPECT_EQ(compared_, wanted);
  }

  std::atomic<std::uint64_t> compared_ = 0;  // cases
  bool reduces_ = true;                      // cases that fail
  std::uint64_t max_steps_ = 20'000'000;     // of the interpreter; 0: as many as it takes
  std::string folder_;
  std::string kept_;
  std::unique_ptr<Device> interp_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Device> other_;  // one more that gives the same, if any
};

}  // namespace vyre
