// Follows one invocation of a run, statement by statement, also into the ops that it calls.
#pragma once

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

// One executed step. `frame` is that of the invocation, or of the op, after it; its values are
// those of the expressions of this step, and of literals. All of it is valid during the call.
struct TracedStep {
  const Step* step = nullptr;
  BodyFrame frame;
  std::span<const TracedAccess> loads;   // in the order of evaluation
  const TracedAccess* effect = nullptr;  // of a store or an atomic
  std::uint32_t old = 0;                 // of an atomic: the value before
};

// What a trace tells. An op is its index in Linked::ops.
struct TraceVisitor {
  virtual ~TraceVisitor() = default;
  // A step has been executed; if it is a collective, it waits for the others.
  virtual void step(const TracedStep& traced) = 0;
  // The collective has its result, in the local that it sets.
  virtual void receive(const Step& step, const BodyFrame& frame) = 0;
  // A step calls an op: the arguments are its first locals. True: its steps are wanted, too.
  virtual bool enter(const Step& caller, std::uint32_t op, const BodyFrame& frame) = 0;
  virtual void leave(std::uint32_t op, const BodyFrame& frame, ExprId result) = 0;
};

// Runs the whole dispatch, in the order of `options` and on one thread, and reports the steps of
// the invocation with that global id.
Result<RunStats> trace(const Script& script, const Grid& grid, std::span<const Memory> buffers,
                       const std::array<std::uint32_t, 3>& invocation, const RunOptions& options,
                       TraceVisitor& visitor);

}  // namespace vyre
