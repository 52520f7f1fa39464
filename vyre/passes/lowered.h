// What an emitter is given: a program in the shape in which it runs, and all that is known of it.
// It is computed once, here; an emitter analyses nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "vyre/ir/program.h"
#include "vyre/ir/typing.h"
#include "vyre/passes/bounds.h"
#include "vyre/passes/launch.h"
#include "vyre/passes/places.h"
#include "vyre/passes/specialise.h"

namespace vyre {

struct Lowered {
  Program program;
  LaunchShape launch;
  Bounds bounds;
  Types types;
  Places places;               // of the accesses, in the order of the bounds
  std::vector<bool> products;  // by expression: of u32, of which both halves are wanted
  struct Local {
    bool is_assigned = false;  // after it was declared
    bool is_test = true;       // a u32 that only ever holds what comparisons give
  };
  std::vector<Local> locals;
  std::vector<std::uint32_t> lines;  // by statement: where it comes from, or 0; none: not known
};

Lowered lowered(Variant variant, std::vector<std::uint32_t> lines = {});
// With the lines of the source.
Lowered lowered(Variant variant, const Linked& source);

// The lines that can be told: of statements that write what a single statement of the source
// writes. Nothing where the source has none.
std::vector<std::uint32_t> lines_of(const Program& optimised, const Program& source,
                                    const std::vector<std::uint32_t>& source_lines);

}  // namespace vyre
