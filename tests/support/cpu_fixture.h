// Runs cases on the CPU backend and on the interpreter.
#pragma once

#include <cstdio>

#include "tests/support/differential.h"
#include "vyre/backends/cpu/code.h"
#include "vyre/backends/cpu/target.h"

namespace vyre {

// With VYRE_AHEAD, tests on a machine that does not run this kind of CPU compile programs for it
// into the cache. The same tests on a machine that does, which needs no LLVM, run them from there.
inline std::string ahead() {
  const char* kind = std::getenv("VYRE_AHEAD");
  return kind == nullptr ? "" : kind;
}
inline bool only_compiles() { return !ahead().empty() && !runs_here(ahead()); }

class Cpu : public Differential {
 protected:
  void SetUp() override {
    open("cpu", ahead().empty());
    reduces_ = ahead().empty();  // which takes programs that were not compiled
  }
  void TearDown() override {
    if (!ahead().empty()) {
      std::printf("%s %llu programs\n", only_compiles() ? "compiled" : "compared",
                  static_cast<unsigned long long>(compared_));
    }
    unsetenv("VYRE_CPU");
    Differential::TearDown();
  }

  std::string difference(const Case& c) override {
    if (!only_compiles()) return Differential::difference(c);
    Registry registry;
    if (!registry.add(c.module).ok()) return {};
    const Result<Linked> linked = link(c.program(), registry);
    if (!linked.ok()) return render(linked.diagnostics()[0]);
    const Result<CpuProgram> made = compile_cpu(*linked, *find_cpu_target(ahead()));
    if (!made.ok()) return render(made.diagnostics()[0]);
    ++compared_;
    return {};
  }
};

}  // namespace vyre
