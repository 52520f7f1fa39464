// Variants of a program: the one that is right for every dispatch, and ones that are right where
// some assumptions hold, and need fewer checks there.
#pragma once

#include <vector>

#include "vyre/ir/program.h"
#include "vyre/passes/bounds.h"
#include "vyre/passes/launch.h"

namespace vyre {

struct Variant {
  Program program;
  LaunchShape launch;
  Bounds bounds;
  std::vector<Assumption> assumptions = {};  // none: right for every dispatch

  bool fits(const DispatchFacts& facts) const;
  // How many accesses of an invocation are compared with a length.
  std::size_t checked() const { return (bounds.checked() + launch.copies - 1) / launch.copies; }
};

// What else a backend wants of an optimised program, after all that facts may still change.
using Finish = Shaped (*)(const Program& program);

// Of an optimised program.
Variant general_variant(const Program& program, Finish finish = nullptr);

// For a dispatch of which the facts are true, and others like it. Where the order of lengths proves
// all that the facts can prove, that is all it assumes; otherwise grid, lengths and uniforms are
// put into the program, and it is optimised again.
Variant special_variant(const Program& program, const DispatchFacts& facts,
                        Finish finish = nullptr);

}  // namespace vyre
