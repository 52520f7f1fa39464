// Runs cases on the CPU backend, on every kind of vectors, with memory beside which there is
// nothing: an access that goes astray ends the process, and tests/support/running.h tells where.
#pragma once

#include "tests/support/cpu_fixture.h"
#include "vyre/backends/cpu/target.h"

namespace vyre {

class CpuGuard : public Cpu {
 protected:
  // Each case runs on both: buffers that end where nothing is, and buffers that begin there.
  void SetUp() override {
    const char* only = std::getenv("VYRE_CPU");
    if (only != nullptr) only_ = only;
    setenv("VYRE_GUARD", "end", 1);
    Cpu::SetUp();
    setenv("VYRE_GUARD", "begin", 1);
    other_ = std::move(find_backend("cpu")->open(0).device);
  }
  void TearDown() override {
    unsetenv("VYRE_GUARD");
    Cpu::TearDown();
    if (!only_.empty()) setenv("VYRE_CPU", only_.c_str(), 1);
  }

  // Calls visit(number, name) with the code of each kind that runs here: what this machine gets
  // without asking, and those that VYRE_CPU names. Where the environment asks for one, only that.
  void for_each_kind(auto visit) {
    unsetenv("VYRE_CPU");
    const std::string own = text(*host_target());
    std::uint64_t number = 0;
    const auto call = [&](const std::string& name) {
      SCOPED_TRACE(name);
      if (is_long()) std::cerr << name << "\n";
      visit(number++, name);
    };
    if (only_.empty()) call("this machine's own");
    for (std::string_view name : cpu_targets()) {
      if (!runs_here(name) || (!only_.empty() && name != only_)) continue;
      if (only_.empty() && text(*find_cpu_target(name)) == own) continue;
      setenv("VYRE_CPU", std::string(name).c_str(), 1);
      call(std::string(name));
    }
  }

 private:
  std::string only_;
};

}  // namespace vyre
