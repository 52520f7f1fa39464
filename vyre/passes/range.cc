// Transfer functions. Those on numbers without sign come first; a signed operation is put together
// from them by cutting its operands at the sign, because a half has one order, signed or not.
#include "vyre/passes/range.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace vyre {
namespace {

using u64 = std::uint64_t;
__extension__ typedef unsigned __int128 u128;

// All bits for a width of 0 too, so that a range of a type that is not covered excludes nothing.
u64 mask_of(unsigned width) { return ~u64{0} >> ((64 - width) & 63); }
u64 sign_of(unsigned width) { return u64{1} << (width - 1); }

// Raises a number to the least one from there on that has the known bits.
bool raise_to_match(u64& from, u64 zeros, u64 ones, u64 mask) {
  const u64 wrong = (from & zeros) | (~from & ones);
  if (wrong == 0) return true;
  u64 bit = std::bit_floor(wrong);
  if ((from & bit) != 0) {  // it has to go, so a free bit above it has to be set
    const u64 free = mask & ~(from | zeros | bit | (bit - 1));
    if (free == 0) return false;
    bit = free & (0 - free);
  }
  const u64 below = bit - 1;
  from = (from & ~below) | bit | (ones & below);
  return true;
}

// Of numbers in order the first and the last share the bits at the top that all share. Below those,
// whatever is not known occurs as 0 and as 1 when the ends match the bits, so that is all.
void learn_bits(Range& a) {
  const u64 differ = a.lo ^ a.hi;
  const u64 same = mask_of(a.width) & ~(differ == 0 ? 0 : ~u64{0} >> std::countl_zero(differ));
  a.zeros |= same & ~a.lo;
  a.ones |= same & a.lo;
}

// False when it is empty.
bool tighten(Range& a) {
  if (a.lo > a.hi || (a.zeros & a.ones) != 0) return false;
  const u64 mask = mask_of(a.width);
  if (!raise_to_match(a.lo, a.zeros, a.ones, mask) || a.lo > a.hi) return false;
  u64 down = ~a.hi & mask;  // downwards is upwards for the inverted bits
  raise_to_match(down, a.ones, a.zeros, mask);
  a.hi = ~down & mask;
  learn_bits(a);
  return true;
}

// Facts about the same values do not contradict each other, unless the code is unreachable.
Range tight(Range a) { return tighten(a) ? a : any(a.width); }

Range from_to(Range a, u64 lo, u64 hi) {
  a.lo = std::max(a.lo, lo);
  a.hi = std::min(a.hi, hi);
  return tight(a);
}

// --- Arithmetic ---------------------------------------------------------------------------------

struct Ends {
  u64 lo, hi;
};

Ends ends_of(const Range& a) { return {a.lo, a.hi}; }

// Exact ends, modulo 2^width; nothing when that tears the interval apart.
std::optional<Ends> wrapped(unsigned width, u128 lo, u128 hi) {
  if (lo >> width != hi >> width) return std::nullopt;
  const u64 mask = mask_of(width);
  return Ends{static_cast<u64>(lo) & mask, static_cast<u64>(hi) & mask};
}

std::optional<Ends> negative(unsigned width, Ends a) {
  if (a.lo == 0 && a.hi != 0) return std::nullopt;
  const u64 mask = mask_of(width);
  return Ends{(0 - a.hi) & mask, (0 - a.lo) & mask};
}

Range with_ends(Range bits, const std::optional<Ends>& ends) {
  if (ends) {
    bits.lo = ends->lo;
    bits.hi = ends->hi;
  }
  return tight(bits);
}

Range inverted(const Range& a) {
  const u64 mask = mask_of(a.width);
  return {~a.hi & mask, ~a.lo & mask, a.ones, a.zeros, a.width};
}

Range sum(const Range& a, const Range& b, u64 carry) {
  // The greatest and the least sum tell where a carry cannot or must arrive.
  const u64 most = ~a.zeros + ~b.zeros + carry;
  const u64 least = a.ones + b.ones + carry;
  const u64 no_carry = ~(most ^ a.zeros ^ b.zeros);
  const u64 sure_carry = least ^ a.ones ^ b.ones;
  const u64 known = (a.zeros | a.ones) & (b.zeros | b.ones) & (no_carry | sure_carry);
  Range result = any(a.width);
  result.zeros = known & ~most;
  result.ones = known & least;
  return with_ends(result, wrapped(a.width, u128{a.lo} + b.lo + carry, u128{a.hi} + b.hi + carry));
}

Range difference(const Range& a, const Range& b) { return sum(a, inverted(b), 1); }
Range minus(const Range& a) { return difference(constant(a.width, 0), a); }

// A negative factor wraps all the time, but its product is that of the negated one, negated.
std::optional<Ends> product_ends(const Range& a, const Range& b) {
  for (const bool minus_a : {false, true}) {
    for (const bool minus_b : {false, true}) {
      const auto x = minus_a ? negative(a.width, ends_of(a)) : ends_of(a);
      const auto y = minus_b ? negative(a.width, ends_of(b)) : ends_of(b);
      if (!x || !y) continue;
      auto ends = wrapped(a.width, u128{x->lo} * y->lo, u128{x->hi} * y->hi);
      if (ends && minus_a != minus_b) ends = negative(a.width, *ends);
      if (ends) return ends;
    }
  }
  return std::nullopt;
}

// With 2^s and 2^t split off two factors, the product of the rests is known in as many low bits as
// both of them are, and is s + t bits higher.
Range times(const Range& a, const Range& b) {
  const int known_a = std::countr_one(a.zeros | a.ones);
  const int known_b = std::countr_one(b.zeros | b.ones);
  const int zeros_a = std::countr_one(a.zeros);
  const int zeros_b = std::countr_one(b.zeros);
  const int known = std::min(known_a - zeros_a, known_b - zeros_b) + zeros_a + zeros_b;
  const u64 low = known == 0 ? 0 : mask_of(static_cast<unsigned>(std::min<int>(known, a.width)));
  Range result = any(a.width);
  result.zeros = ~(a.ones * b.ones) & low;
  result.ones = a.ones * b.ones & low;
  return with_ends(result, product_ends(a, b));
}

Range high_product(const Range& a, const Range& b) {
  return between(a.width, static_cast<u64>(u128{a.lo} * b.lo >> a.width),
                 static_cast<u64>(u128{a.hi} * b.hi >> a.width));
}

Range shifted_right(const Range& a, unsigned count) {
  const u64 mask = mask_of(a.width);
  const u64 zeros = (a.zeros >> count) | (mask & ~(mask >> count));
  return {a.lo >> count, a.hi >> count, zeros, a.ones >> count, a.width};
}

Range quotient(const Range& a, const Range& b) {
  if (b.hi == 0) return constant(a.width, 0);
  if (is_constant(b) && std::has_single_bit(b.lo)) {
    return shifted_right(a, static_cast<unsigned>(std::countr_zero(b.lo)));
  }
  return between(a.width, b.lo == 0 ? 0 : a.lo / b.hi, a.hi / std::max<u64>(b.lo, 1));
}

Range remainder(const Range& a, const Range& b) {
  if (b.hi == 0) return constant(a.width, 0);
  if (a.hi < b.lo) return a;
  // A multiple of the divisor is taken away, which leaves the low bits where that has zeros. The
  // remainder by 0 is 0, in which only the zeros are right.
  const u64 kept = (u64{1} << std::countr_one(b.zeros)) - 1;
  Range result = any(a.width);
  result.zeros = a.zeros & kept;
  if (b.lo != 0) result.ones = a.ones & kept;
  if (b.lo != 0 && a.lo / b.hi == a.hi / b.lo) {
    const u64 times_b = a.lo / b.hi;
    return with_ends(result, Ends{a.lo - times_b * b.hi, a.hi - times_b * b.lo});
  }
  return with_ends(result, Ends{0, std::min(a.hi, b.hi - 1)});
}

Range smaller(const Range& a, const Range& b) {
  if (a.hi <= b.lo) return a;
  if (b.hi <= a.lo) return b;
  return a.hi < b.hi ? join(a, from_to(b, 0, a.hi)) : join(from_to(a, 0, b.hi), b);
}

Range larger(const Range& a, const Range& b) { return inverted(smaller(inverted(a), inverted(b))); }

Range distance(const Range& a, const Range& b) {
  if (a.lo >= b.hi) return difference(a, b);
  if (b.lo >= a.hi) return difference(b, a);
  return with_ends(join(difference(a, b), difference(b, a)),
                   Ends{0, std::max(a.hi - b.lo, b.hi - a.lo)});
}

Range saturated_difference(const Range& a, const Range& b) {
  if (a.lo >= b.hi) return difference(a, b);
  if (a.hi <= b.lo) return constant(a.width, 0);
  Range result = any(a.width);
  result.zeros = difference(a, b).zeros;
  return with_ends(result, Ends{0, a.hi - b.lo});
}

// a + b runs over where ~a - b runs under.
Range saturated_sum(const Range& a, const Range& b) {
  return inverted(saturated_difference(inverted(a), b));
}

// --- Bits ---------------------------------------------------------------------------------------

Range with_bits(const Range& ends, u64 zeros, u64 ones) {
  return tight({ends.lo, ends.hi, zeros, ones, ends.width});
}

// a | b and a ^ b are at most a + b.
u64 most_together(const Range& a, const Range& b) {
  const u64 mask = mask_of(a.width);
  return a.hi > mask - b.hi ? mask : a.hi + b.hi;
}

Range bits_of_either(const Range& a, const Range& b) {
  return with_bits({std::max(a.lo, b.lo), most_together(a, b), 0, 0, a.width}, a.zeros & b.zeros,
                   a.ones | b.ones);
}

Range bits_of_both(const Range& a, const Range& b) {
  const Range result = inverted(bits_of_either(inverted(a), inverted(b)));
  const Range& mask = is_constant(b) ? b : a;
  const Range& other = is_constant(b) ? a : b;
  const bool is_low = is_constant(mask) && (mask.lo & (mask.lo + 1)) == 0;
  if (!is_low || ((other.lo ^ other.hi) & ~mask.lo) != 0) return result;
  // Low bits keep their order where all above them is the same.
  return with_ends(result, Ends{other.lo & mask.lo, other.hi & mask.lo});
}

Range bits_of_one(const Range& a, const Range& b) {
  return with_bits({0, most_together(a, b), 0, 0, a.width}, (a.zeros & b.zeros) | (a.ones & b.ones),
                   (a.zeros & b.ones) | (a.ones & b.zeros));
}

u64 rotated(unsigned width, u64 a, unsigned count) {
  return ((a << count) | (a >> (width - count))) & mask_of(width);
}

Range rotated_left(const Range& a, unsigned count) {
  if (count == 0) return a;
  Range result = any(a.width);
  result.zeros = rotated(a.width, a.zeros, count);
  result.ones = rotated(a.width, a.ones, count);
  const unsigned rest = a.width - count;
  if (a.lo >> rest == a.hi >> rest) {  // the same for all leaves at the top, so the order stays
    result.lo = rotated(a.width, a.lo, count);
    result.hi = rotated(a.width, a.hi, count);
  }
  return result;
}

Range rotated_right(const Range& a, unsigned count) {
  return rotated_left(a, (a.width - count) & (a.width - 1u));
}

Range shifted_left(const Range& a, unsigned count) {
  const u64 mask = mask_of(a.width);
  Range result = any(a.width);
  result.zeros = ((a.zeros << count) | ((u64{1} << count) - 1)) & mask;
  result.ones = (a.ones << count) & mask;
  if (const auto ends = wrapped(a.width, u128{a.lo} << count, u128{a.hi} << count)) {
    result.lo = ends->lo;
    result.hi = ends->hi;
  }
  return result;
}

// A shift for each count that there may be. They need not be tight, which is faster.
Range shifted(const Range& a, const Range& b, Range (*shift)(const Range&, unsigned)) {
  const Range count = bits_of_both(b, constant(b.width, a.width - 1u));
  Range result = shift(a, static_cast<unsigned>(count.lo));
  for (u64 i = count.lo + 1; i <= count.hi; ++i) {
    if (contains(count, i)) result = join(result, shift(a, static_cast<unsigned>(i)));
    if ((result.zeros | result.ones) == 0 && result.lo == 0 && result.hi == mask_of(a.width)) break;
  }
  return tight(result);
}

Range reversed(const Range& a) {
  const auto reverse = [&](u64 bits) {
    u64 result = 0;
    for (; bits != 0; bits &= bits - 1) {
      result |= sign_of(a.width) >> std::countr_zero(bits);
    }
    return result;
  };
  return with_bits(any(a.width), reverse(a.zeros), reverse(a.ones));
}

// --- Tests and counts ---------------------------------------------------------------------------

Range number(const Range& a, int lo, int hi) {
  return between(a.width == 8 ? 8 : 32, static_cast<u64>(lo), static_cast<u64>(hi));
}
Range truth(const Range& a, bool can_hold, bool can_fail) {
  return number(a, can_fail ? 0 : 1, can_hold ? 1 : 0);
}

// How many bits it takes to write a number; std::bit_width() gives an int only in newer libraries.
int length_of(u64 a) { return 64 - std::countl_zero(a); }

// Of the numbers up to hi, the one with the most bits is either hi or has all below its highest.
Range bits_set(const Range& a) {
  const int below = a.hi == ~u64{0} ? 64 : length_of(a.hi + 1) - 1;
  return number(a, std::max(std::popcount(a.ones), a.lo != 0 ? 1 : 0),
                std::min(a.width - std::popcount(a.zeros), below));
}

Range leading_zeros(const Range& a) {
  return number(a, a.width - length_of(a.hi), a.width - length_of(a.lo));
}

Range trailing_zeros(const Range& a) {
  const int least = std::min<int>(std::countr_one(a.zeros), a.width);
  if (a.lo == 0) return number(a, least, int{a.width});
  int most = std::countr_zero(a.lo);
  if (!is_constant(a)) most = std::max(most, length_of(a.lo ^ a.hi) - 1);
  if (a.ones != 0) most = std::min(most, std::countr_zero(a.ones));
  return number(a, least, most);
}

// --- Signs --------------------------------------------------------------------------------------

// Called only where there are both.
Range nonnegative_half(const Range& a) { return from_to(a, 0, sign_of(a.width) - 1); }
Range negative_half(const Range& a) { return from_to(a, sign_of(a.width), mask_of(a.width)); }

bool has_one_sign(const Range& a) { return ((a.zeros | a.ones) & sign_of(a.width)) != 0; }
bool is_negative(const Range& half) { return half.lo >= sign_of(half.width); }
Range magnitude(const Range& half) { return is_negative(half) ? minus(half) : half; }

template <class Function>
Range by_sign(const Range& a, const Function& of) {
  if (has_one_sign(a)) return of(a);
  return join(of(nonnegative_half(a)), of(negative_half(a)));
}

template <class Function>
Range by_signs(const Range& a, const Range& b, const Function& of) {
  return by_sign(
      a, [&](const Range& x) { return by_sign(b, [&](const Range& y) { return of(x, y); }); });
}

Range signed_shift(const Range& a, const Range& b) {
  return by_sign(a, [&](const Range& x) {
    if (!is_negative(x)) return shifted(x, b, shifted_right);
    return inverted(shifted(inverted(x), b, shifted_right));
  });
}

Range signed_quotient(const Range& a, const Range& b) {
  return by_signs(a, b, [](const Range& x, const Range& y) {
    const Range result = quotient(magnitude(x), magnitude(y));
    return is_negative(x) != is_negative(y) ? minus(result) : result;
  });
}

Range signed_remainder(const Range& a, const Range& b) {
  return by_signs(a, b, [](const Range& x, const Range& y) {
    const Range result = remainder(magnitude(x), magnitude(y));
    return is_negative(x) ? minus(result) : result;
  });
}

Range signed_smaller(const Range& a, const Range& b) {
  return by_signs(a, b, [](const Range& x, const Range& y) {
    if (is_negative(x) == is_negative(y)) return smaller(x, y);
    return is_negative(x) ? x : y;
  });
}

Range signed_larger(const Range& a, const Range& b) {
  return inverted(signed_smaller(inverted(a), inverted(b)));
}

// Only a sum of two of one sign has to be clamped, and that is right as a number without sign.
Range signed_saturated_sum(const Range& a, const Range& b) {
  return by_signs(a, b, [](const Range& x, const Range& y) {
    const Range result = sum(x, y, 0);
    const u64 sign = sign_of(x.width);
    if (is_negative(x) != is_negative(y)) return result;
    return is_negative(x) ? larger(result, constant(x.width, sign))
                          : smaller(result, constant(x.width, sign - 1));
  });
}

// ~a + b is ~(a - b), and clamping is symmetric under ~.
Range signed_saturated_difference(const Range& a, const Range& b) {
  return inverted(signed_saturated_sum(inverted(a), b));
}

// The least and the greatest, as numbers without sign in the same order.
Ends order_of(const Range& a, bool is_signed) {
  if (!is_signed) return ends_of(a);
  const u64 sign = sign_of(a.width);
  if (has_one_sign(a)) return {a.lo ^ sign, a.hi ^ sign};
  return {negative_half(a).lo ^ sign, nonnegative_half(a).hi ^ sign};
}

Range equal(const Range& a, const Range& b, bool holds) {
  const bool can_be = meet(a, b).has_value();
  const bool can_fail = !is_constant(a) || a != b;
  return holds ? truth(a, can_be, can_fail) : truth(a, can_fail, can_be);
}

Range less(const Range& a, const Range& b, bool is_signed, bool holds) {
  const Ends x = order_of(a, is_signed);
  const Ends y = order_of(b, is_signed);
  const bool can_be = x.lo < y.hi;
  const bool can_fail = x.hi >= y.lo;
  return holds ? truth(a, can_be, can_fail) : truth(a, can_fail, can_be);
}

}  // namespace

// --- Sets ---------------------------------------------------------------------------------------

Range any(unsigned width) { return {0, mask_of(width), 0, 0, static_cast<std::uint8_t>(width)}; }

Range constant(unsigned width, u64 value) {
  const u64 mask = mask_of(width);
  value &= mask;
  return {value, value, ~value & mask, value, static_cast<std::uint8_t>(width)};
}

Range between(unsigned width, u64 lo, u64 hi) {
  assert(lo <= hi && hi <= mask_of(width));
  Range result{lo, hi, 0, 0, static_cast<std::uint8_t>(width)};
  learn_bits(result);
  return result;
}

Range any(DataType type) {
  return type == DataType::Bool ? between(32, 0, 1) : any(range_width(type));
}

Range range_of_element(DataType element) {
  const DataType type = loaded_type(element);
  if (!is_narrow(element) || has_sign(element)) return any(type);
  return between(range_width(type), 0, (std::uint64_t{1} << lane_bits(element)) - 1);
}

std::optional<Range> normalise(Range a) { return tighten(a) ? std::optional(a) : std::nullopt; }

// Tight where both are: a bit that the new ends share is shared by each of the old ones.
Range join(const Range& a, const Range& b) {
  assert(a.width == b.width);
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi), a.zeros & b.zeros, a.ones & b.ones, a.width};
}

std::optional<Range> meet(const Range& a, const Range& b) {
  assert(a.width == b.width);
  return normalise(
      {std::max(a.lo, b.lo), std::min(a.hi, b.hi), a.zeros | b.zeros, a.ones | b.ones, a.width});
}

// --- Operations ---------------------------------------------------------------------------------

Range apply(Operation op, bool is_signed, const Range& a, const Range& b) {
  if (a.width == 0 || b.width == 0) return any(0);
  switch (op) {
    case Operation::Negate: return minus(a);
    case Operation::BitNot: return inverted(a);
    case Operation::LogicalNot: return truth(a, a.lo == 0, a.hi != 0);
    case Operation::Popcount: return bits_set(a);
    case Operation::Clz: return leading_zeros(a);
    case Operation::Ctz: return trailing_zeros(a);
    case Operation::ReverseBits: return reversed(a);

    case Operation::Or: return truth(a, a.hi != 0 || b.hi != 0, a.lo == 0 && b.lo == 0);
    case Operation::And: return truth(a, a.hi != 0 && b.hi != 0, a.lo == 0 || b.lo == 0);
    case Operation::Eq: return equal(a, b, true);
    case Operation::Ne: return equal(a, b, false);
    case Operation::Lt: return less(a, b, is_signed, true);
    case Operation::Gt: return less(b, a, is_signed, true);
    case Operation::Le: return less(b, a, is_signed, false);
    case Operation::Ge: return less(a, b, is_signed, false);
    case Operation::BitOr: return bits_of_either(a, b);
    case Operation::BitXor: return bits_of_one(a, b);
    case Operation::BitAnd: return bits_of_both(a, b);
    case Operation::Shl: return shifted(a, b, shifted_left);
    case Operation::Shr: return is_signed ? signed_shift(a, b) : shifted(a, b, shifted_right);
    case Operation::Add: return sum(a, b, 0);
    case Operation::Sub: return difference(a, b);
    case Operation::Mul: return times(a, b);
    case Operation::Div: return is_signed ? signed_quotient(a, b) : quotient(a, b);
    case Operation::Mod: return is_signed ? signed_remainder(a, b) : remainder(a, b);
    case Operation::Min: return is_signed ? signed_smaller(a, b) : smaller(a, b);
    case Operation::Max: return is_signed ? signed_larger(a, b) : larger(a, b);
    case Operation::AbsDiff: return distance(a, b);
    case Operation::MulHigh: return high_product(a, b);
    case Operation::AddSat: return is_signed ? signed_saturated_sum(a, b) : saturated_sum(a, b);
    case Operation::SubSat:
      return is_signed ? signed_saturated_difference(a, b) : saturated_difference(a, b);
    case Operation::RotateLeft: return shifted(a, b, rotated_left);
    case Operation::RotateRight: return shifted(a, b, rotated_right);

#define FORM(name, ...) case Operation::name:
#include "vyre/ir/ops.def"
      break;
  }
  return any(a.width);
}

Range cast_range(DataType source, DataType target, const Range& value) {
  const unsigned from = range_width(source);
  const unsigned to = range_width(target);
  if (from == 0 || to == 0 || value.width != from) return any(target);
  if (source == target) return value;
  if (target == DataType::Bool) return truth(value, value.hi != 0, value.lo == 0);
  const u64 mask = mask_of(to);
  if (from >= to) {
    return with_ends(
        {0, mask, value.zeros & mask, value.ones & mask, static_cast<std::uint8_t>(to)},
        wrapped(to, value.lo, value.hi));
  }
  const auto extended = [&](const Range& part) {
    const u64 above = mask & ~mask_of(from);
    const bool fill = has_sign(source) && is_negative(part);
    const u64 top = fill ? above : 0;
    return Range{part.lo | top, part.hi | top, part.zeros | (above & ~top), part.ones | top,
                 static_cast<std::uint8_t>(to)};
  };
  return has_sign(source) ? by_sign(value, extended) : extended(value);
}

// --- Comparisons --------------------------------------------------------------------------------

namespace {

struct Comparison {
  Operation op, negated, swapped;
};

constexpr Comparison kComparisons[] = {
    {Operation::Eq, Operation::Ne, Operation::Eq}, {Operation::Ne, Operation::Eq, Operation::Ne},
    {Operation::Lt, Operation::Ge, Operation::Gt}, {Operation::Gt, Operation::Le, Operation::Lt},
    {Operation::Le, Operation::Gt, Operation::Ge}, {Operation::Ge, Operation::Lt, Operation::Le},
};

const Comparison& find_comparison(Operation op) {
  const auto* row = std::ranges::find(kComparisons, op, &Comparison::op);
  assert(row != std::end(kComparisons));
  return *row;
}

// What is left of `a` when one value is taken out: tells something only at an end.
std::optional<Range> without(Range a, u64 value) {
  if (is_constant(a)) return a.lo == value ? std::nullopt : std::optional(a);
  if (a.lo == value) ++a.lo;
  if (a.hi == value) --a.hi;
  return normalise(a);
}

// Turns signed order into that without sign, and back.
Range flipped(Range half) {
  const u64 sign = sign_of(half.width);
  const u64 swap = half.zeros & sign ? half.ones | sign : half.ones & ~sign;
  half.zeros = half.ones & sign ? half.zeros | sign : half.zeros & ~sign;
  half.ones = swap;
  half.lo ^= sign;
  half.hi ^= sign;
  return half;
}

}  // namespace

Operation negated(Operation comparison) { return find_comparison(comparison).negated; }
Operation swapped(Operation comparison) { return find_comparison(comparison).swapped; }

std::optional<Range> refine(Operation comparison, bool is_signed, const Range& a, const Range& b) {
  if (a.width == 0 || a.width != b.width) return a;
  if (comparison == Operation::Eq) return meet(a, b);
  if (comparison == Operation::Ne) return is_constant(b) ? without(a, b.lo) : a;

  const u64 mask = mask_of(a.width);
  const Ends limit = order_of(b, is_signed);
  const bool is_less = comparison == Operation::Lt || comparison == Operation::Le;
  const bool is_strict = comparison == Operation::Lt || comparison == Operation::Gt;
  assert(is_less || comparison == Operation::Gt || comparison == Operation::Ge);
  const u64 end = is_less ? limit.hi : limit.lo;
  if (is_strict && end == (is_less ? 0 : mask)) return std::nullopt;
  const u64 step = is_strict ? 1 : 0;
  const Range bound =
      is_less ? between(a.width, 0, end - step) : between(a.width, end + step, mask);
  if (!is_signed) return meet(a, bound);

  const auto limited = [&](const Range& half) -> std::optional<Range> {
    const std::optional<Range> rest = meet(flipped(half), bound);
    return rest ? std::optional(flipped(*rest)) : std::nullopt;
  };
  if (has_one_sign(a)) return limited(a);
  const std::optional<Range> above = limited(nonnegative_half(a));
  const std::optional<Range> below = limited(negative_half(a));
  return above && below ? join(*above, *below) : above ? above : below;
}

}  // namespace vyre
