// Runs cases on the CPU backend and on the interpreter.
#pragma once

#include "tests/support/differential.h"
#include "vyre/backends/cpu/target.h"

namespace vyre {

class Cpu : public Differential {
 protected:
  void SetUp() override {
    if (const char* only = std::getenv("VYRE_CPU")) only_ = only;
    open("cpu");
  }
  void TearDown() override {
    only_.empty() ? unsetenv("VYRE_CPU") : setenv("VYRE_CPU", only_.c_str(), 1);
    Differential::TearDown();
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
