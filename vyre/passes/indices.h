// Locals that are names of values, and indices as a sum and a number: what tells which accesses
// are neighbours.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "vyre/ir/program.h"

namespace vyre {

// By local, the value that it always has: a `let` declares it and nothing assigns it. It is the
// value for the same invocation in the same round of the loops around. None: it has no such value.
std::vector<ExprId> bound_values(const Body& body);

// An index of u32 as a sum and a number that is added to it. Indices with equal terms differ by
// their offsets alone.
using Terms = std::vector<std::pair<ExprId, bool>>;  // and whether they are subtracted
struct SplitIndex {
  Terms terms;
  std::uint32_t offset = 0;
};
SplitIndex split_index(const Body& body, std::span<const ExprId> bound, ExprId id);

}  // namespace vyre
