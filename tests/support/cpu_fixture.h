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
    if (const char* only = std::getenv("VYRE_CPU")) only_ = only;
    open("cpu", ahead().empty());
    reduces_ = ahead().empty();  // which takes programs that were not compiled
  }
  void TearDown() override {
    if (!ahead().empty()) {
      std::printf("%s %llu programs\n", only_compiles() ? "compiled" : "compared",
                  static_cast<unsigned long long>(compared_));
    }
    only_.empty() ? unsetenv("VYRE_CPU") : setenv("VYRE_CPU", only_.c_str(), 1);
    Differential::TearDown();
  }

  // Calls visit(number, name) with the code of each kind that runs here: what this machine gets
  // without asking, and those that VYRE_CPU names. Where the environment asks for one, only that.
  void for_each_kind(auto visit) {
    unsetenv("VYRE_CPU");
    const CpuTarget own = *host_target();
    std::uint64_t number = 0;
    const auto call = [&](const std::string& name) {
      SCOPED_TRACE(name);
      if (is_long()) std::cerr << name << "\n";
      visit(number++, name);
    };
    if (only_.empty()) call("this machine's own");
    for (std::string_view name : cpu_targets()) {
      if (!runs_here(name) || (!only_.empty() && name != only_)) continue;
      if (only_.empty() && *find_cpu_target(name) == own) continue;
      setenv("VYRE_CPU", std::string(name).c_str(), 1);
      call(std::string(name));
    }
  }

  std::string difference(const Case& c) override {
    if (!only_compiles()) return Differential::difference(c);
    const Result<Linked> linked = link(c);
    if (!linked.ok()) return render(linked.diagnostics()[0]);
    const Result<Artifact> made = compile(*linked, *find_backend("cpu"), ahead());
    if (!made.ok()) return render(made.diagnostics()[0]);
    ++compared_;
    return {};
  }

 private:
  std::string only_;
};

}  // namespace vyre
