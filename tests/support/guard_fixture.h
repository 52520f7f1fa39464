// Runs cases on the CPU backend with memory beside which there is nothing: an access that goes
// astray ends the process, and tests/support/running.h tells where.
#pragma once

#include "tests/support/cpu_fixture.h"

namespace vyre {

class CpuGuard : public Cpu {
 protected:
  // Each case runs on both: buffers that end where nothing is, and buffers that begin there.
  void SetUp() override {
    setenv("VYRE_GUARD", "end", 1);
    Cpu::SetUp();
    setenv("VYRE_GUARD", "begin", 1);
    other_ = std::move(find_backend("cpu")->open(0).device);
    unsetenv("VYRE_GUARD");
  }
};

}  // namespace vyre
