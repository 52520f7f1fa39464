// What numbers an expression may be: the domain that the range analysis computes with. Everything
// here is about sets of values and knows nothing of programs.
#pragma once

#include <cstdint>
#include <optional>

#include "vyre/ir/ops.h"

namespace vyre {

// A set of numbers without sign of `width` bits: those from lo to hi in which each bit of `zeros`
// is 0 and each of `ones` is 1. Never empty. What the functions below return is tight: lo and hi
// are in the set, and a bit that all its members share is known. A width of 0 is that of a type
// that is not covered: nothing is known of it, nor of what is computed from it.
struct Range {
  std::uint64_t lo = 0;
  std::uint64_t hi = ~std::uint64_t{0};
  std::uint64_t zeros = 0;
  std::uint64_t ones = 0;
  std::uint8_t width = 64;
  friend bool operator==(const Range&, const Range&) = default;
};

Range any(unsigned width);
Range constant(unsigned width, std::uint64_t value);
Range between(unsigned width, std::uint64_t lo, std::uint64_t hi);  // lo <= hi

// 32 for u32, i32 and bool, 64 for u64, and 0 for the others.
inline unsigned range_width(DataType type) {
  switch (type) {
    case DataType::U32:
    case DataType::I32:
    case DataType::Bool: return 32;
    case DataType::U64: return 64;
    case DataType::U128:
    case DataType::Vec2U32:
    case DataType::Vec4U32:
    case DataType::Bytes:
    case DataType::U8:
    case DataType::U16:
    case DataType::I8:
    case DataType::I16:
    case DataType::Unknown: return 0;
  }
  return 0;
}
Range any(DataType type);  // 0 or 1 for bool
// Of what is loaded from such an element.
Range range_of_element(DataType element);

inline bool is_constant(const Range& a) { return a.lo == a.hi; }
inline bool contains(const Range& a, std::uint64_t value) {
  return a.lo <= value && value <= a.hi && (value & a.zeros) == 0 && (~value & a.ones) == 0;
}

// The same set with ends and bits as tight as they can be; nothing when it is empty.
std::optional<Range> normalise(Range a);

// The least range with all of both, and the one with what both have.
Range join(const Range& a, const Range& b);
std::optional<Range> meet(const Range& a, const Range& b);

// What an operation gives for any operand in `a` and any in `b`, which a unary one ignores. A count
// may have another width than what it shifts. Tests and counts of bits are u32; only where `a` has
// 8 bits are they of 8, as in eval_byte(). For a form, any.
Range apply(Operation op, bool is_signed, const Range& a, const Range& b = {});

// A range of type `source`, cast.
Range cast_range(DataType source, DataType target, const Range& value);

// --- Comparisons: Eq, Ne, Lt, Gt, Le, Ge --------------------------------------------------------

// The members of `a` for which the comparison with some member of `b` holds; nothing when it
// cannot.
std::optional<Range> refine(Operation comparison, bool is_signed, const Range& a, const Range& b);

Operation negated(Operation comparison);  // holds when that does not
Operation swapped(Operation comparison);  // holds for b, a when that does for a, b

}  // namespace vyre
