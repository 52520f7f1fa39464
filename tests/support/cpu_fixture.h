// Runs cases on the CPU backend and on the interpreter.
#pragma once

#include "tests/support/differential.h"

namespace vyre {

class Cpu : public Differential {
 protected:
  void SetUp() override { open("cpu"); }
  void TearDown() override {
    unsetenv("VYRE_CPU");
    Differential::TearDown();
  }
};

}  // namespace vyre
