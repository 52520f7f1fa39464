// Variants of a program: the one that is right for every dispatch, and ones that are right where
// some assumptions hold, and need fewer checks there.
#pragma once

#include <vector>

#include "vyre/ir/program.h"
#include "vyre/passes/bounds.h"

namespace vyre {

struct Variant {
  Program program;
  Bounds bounds;
  std::vector<Assumption> assumptions;  // none: right for every dispatch

  bool fits(const DispatchFacts& facts) const;
};

// What else a backend wants of an optimised program, behind all that facts may still change.
using Finish = Program (*)(const Program& program);

// Of an optimised program.
Variant general_variant(const Program& program, Finish finish = nullptr);

// For a dispatch of which the facts are true, and others like it. Where the order of lengths proves
// all that the facts can prove, that is all it assumes; otherwise grid, lengths and uniforms are
// put into the program, and it is optimised again.
Variant special_variant(const Program& program, const DispatchFacts& facts,
                        Finish finish = nullptr);

}  // namespace vyre
