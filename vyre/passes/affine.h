// What tells which elements are neighbours. How values change from one invocation of a workgroup to
// the next: whether an access touches one element, neighbouring ones, every fourth or any; a table
// beside a program, which cost models and backends read. And indices as a sum and a number.
//
// Arithmetic is modulo 2^32, as in programs: neighbours in x differ by the stride modulo 2^32, and
// whether an index wraps inside a row is for a range analysis to say.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vyre/ir/program.h"
#include "vyre/ir/uniformity.h"

namespace vyre {

// What is said of a value holds for all invocations of a workgroup that evaluate it.
struct Shape {
  enum class Kind : std::uint8_t {
    Uniform,    // the same in the whole workgroup
    Row,        // the same for all invocations with the same local_id.y and local_id.z
    Linear,     // stride * local_id.x + base; only u32 and i32
    Irregular,  // anything
  };
  Kind kind = Kind::Irregular;
  bool row_base = false;    // of Linear: the base is Row; otherwise it is Uniform
  std::int32_t stride = 0;  // of Linear, where it is not 0
  // A power of two that divides the base, or the value where it is not Linear. 1 when nothing is
  // known, and for types other than u32 and i32; at most 2^31, which zero has.
  std::uint32_t align = 1;

  friend bool operator==(const Shape&, const Shape&) = default;
};

struct Shapes {
  std::vector<Shape> exprs;
  Uniformity uniformity;

  const Shape& operator[](ExprId id) const { return exprs[id.index]; }
};

// Of a valid program without calls. What is uniform is Uniform; more is where the workgroup has the
// size 1 along an axis, and for values that are bound in divergent control flow.
Shapes shapes_of(const Program& program);

// "uniform", "row", "unit stride, aligned to 16", "stride 4", "irregular".
std::string text(const Shape& shape);

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
