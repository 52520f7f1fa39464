// Follows one invocation of a run, statement by statement.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/interp/script.h"
#include "vyre/ir/run.h"

namespace vyre {

struct TracedAccess {
  ExprId expr;  // of a load
  BufferId buffer;
  std::uint32_t index = 0;
  bool inside = true;  // else out of bounds
  Bits value;          // loaded, stored, or left by an atomic
};

// One executed step. `locals` and `values` are those of the invocation after it, valid during the
// call: values by ExprId, for the expressions of this step and for literals.
struct TracedStep {
  const Step* step = nullptr;
  std::span<const TracedAccess> loads;   // in the order of evaluation
  const TracedAccess* effect = nullptr;  // of a store or an atomic
  std::uint32_t old = 0;                 // of an atomic: the value before
  const Bits* locals = nullptr;
  const Bits* values = nullptr;
};

// Runs the whole dispatch, in the order of `options` and on one thread, and reports the steps of
// the invocation with that global id.
Result<RunStats> trace(const Script& script, const Grid& grid, std::span<const Memory> buffers,
                       const std::array<std::uint32_t, 3>& invocation, const RunOptions& options,
                       const std::function<void(const TracedStep&)>& report);

}  // namespace vyre
