// Threads that run several workgroups' invocations at once, statement by statement, so that each
// has several loads under way, and several workgroups wait at one barrier: whether that pays, and
// what is the same for all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "vyre/ir/program.h"
#include "vyre/passes/bounds.h"

namespace vyre {

// What differs between the copies of an invocation in workgroups that are neighbours along an axis:
// same local id, another workgroup.
struct PtxCopies {
  std::uint32_t count = 1;
  std::size_t axis = 0;
  std::vector<bool> exprs;
  std::vector<bool> locals;
  std::vector<bool> buffers;  // only workgroup memory: what it holds
  std::vector<bool> stmts;    // of an `if`: its condition, so that no branch can take it; and where
                              // there is one copy, those that are better without a branch

  bool differs(ExprId id) const { return count > 1 && exprs[id.index]; }
  bool differs(LocalId id) const { return count > 1 && locals[id.index]; }
  bool differs(BufferId id) const { return count > 1 && buffers[id.index]; }
  bool differs(StmtId id) const { return !stmts.empty() && stmts[id.index]; }
};

// Of a program without calls.
PtxCopies find_copies(const Program& program);

// Updates of few elements that a block gathers in memory of its own, as it does not matter when
// they come: those of a buffer that nothing else accesses, by operations that commute, without
// looking at the old value.
struct PtxBins {
  BufferId buffer;
  AtomicOp op = AtomicOp::Add;
  std::uint32_t count = 0;    // elements, from the first one
  std::uint32_t nothing = 0;  // what changes none of them
};
std::vector<PtxBins> find_bins(const Program& program, const Bounds& bounds);

}  // namespace vyre
