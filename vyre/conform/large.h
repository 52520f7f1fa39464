// Large programs: valid, quick to run, and as long, deep or wide as they are asked to be. A backend
// that does not take one of them says so, and does not take forever.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "vyre/conform/case.h"

namespace vyre {

enum class LargeShape : std::uint8_t {
  Statements,       // one after the other, on a few locals
  Branches,         // one after the other, each with two statements
  Loops,            // one after the other, each with a statement
  Chain,            // tests of one `else if`
  Nesting,          // levels of loops and branches
  Depth,            // levels of an expression
  Locals,           // wide ones that live across barriers and a loop
  LargeGroup,       // the same, u128 in a workgroup of 1024
  Divisions,        // of u64, u128 and vec4u32
  Buffers,          // each is read and written
  WorkgroupMemory,  // elements
};

struct LargeShapeInfo {
  LargeShape shape;
  std::string_view name;
  std::uint32_t most;  // of what a program has so many: the language's limit, or what is sensible
};
std::span<const LargeShapeInfo> all_large_shapes();

// With `size` of what the shape is about, which is at most what its row says.
Case generate_large(LargeShape shape, std::uint32_t size);

}  // namespace vyre
