// What bounds checks cost: code with them beside code without any, which exists only here.
#pragma once

#include <string>
#include <vector>

#include "bench/cpu/workloads.h"
#include "vyre/ir/program.h"
#include "vyre/runtime/dispatch.h"

namespace bench {

struct Checks {
  double with = 0;  // instructions
  double without = 0;
  double time = 0;  // without by with; medians of runs on all of the grid
  std::string error;
};

// `few` is a part of the grid that is small enough to count instructions one by one.
Checks count_checks(const vyre::Linked& linked, const std::vector<std::vector<u32>>& buffers,
                    const vyre::Grid& grid, const vyre::Grid& few, int runs);

}  // namespace bench
