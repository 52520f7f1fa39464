#include "vyre/backends/cpu/ops.h"

#include <cassert>

#include "vyre/ir/ops.h"

namespace vyre {

using llvm::Compare;
using Value = Ir::Value;

Lanes Ops::constant(DataType type, const Bits& bits) {
  return lanes_of(type, [&](std::size_t i) {
    if (part_bits(type) == 32) return ir_.word(bits.lanes[i]);
    return ir_.wide(bits.lanes[2 * i] | std::uint64_t{bits.lanes[2 * i + 1]} << 32);
  });
}

Lanes Ops::whole(Lanes value) {
  if (value.is_bit) value.parts[0] = ir_.zext(value.parts[0], 32);
  value.is_bit = false;
  return value;
}

Value Ops::truth(const Lanes& value) {
  return value.is_bit ? value.parts[0] : ir_.not_zero(value.parts[0]);
}

Lanes Ops::splat(Lanes value) {
  for (Value& part : value.parts) {
    if (part) part = ir_.splat(part);
  }
  return value;
}

void Ops::unify(Lanes& a, Lanes& b) {
  if (is_vector(a) == is_vector(b)) return;
  a = splat(a);
  b = splat(b);
}

Lanes Ops::select(Lanes condition, Lanes yes, Lanes no) {
  if (yes.is_bit != no.is_bit) {
    yes = whole(yes);
    no = whole(no);
  }
  const Value test = truth(condition);
  unify(yes, no);
  if (ir_.is_vector(test)) {
    yes = splat(yes);
    no = splat(no);
  }
  for (std::size_t i = 0; i < part_count(yes.type); ++i) {
    yes.parts[i] = ir_.select(test, yes.parts[i], no.parts[i]);
  }
  return yes;
}

Lanes Ops::apply(Operation op, Lanes a, Lanes b) {
  // Halves of a u128 are taken and put together by these, at no cost.
  if (a.type == DataType::U128 && ir_.constant(b.parts[0]) == 64) {
    const Value none = ir_.zero_like(a.parts[0]);
    if (op == Operation::Shl) return {a.type, {none, a.parts[0]}};
    if (op == Operation::Shr) return {a.type, {a.parts[1], none}};
  }
  if (arity(op) == 1) b = a;
  unify(a, b);
  if (a.type == DataType::U128 && op == Operation::BitOr) {
    const Value none = ir_.zero_like(a.parts[0]);
    if (a.parts[0] == none && b.parts[1] == none) return {a.type, {b.parts[0], a.parts[1]}};
  }
  if (op == Operation::LogicalNot) return bit(~truth(a));
  if (op == Operation::And || op == Operation::Or) {
    const Value first = truth(a);
    const Value second = truth(b);
    return bit(op == Operation::And ? first & second : first | second);
  }
  // Tests stay i1 where they are put together.
  const bool bits = a.is_bit && b.is_bit;
  if (bits && op == Operation::BitAnd) return bit(a.parts[0] & b.parts[0], a.type);
  if (bits && op == Operation::BitOr) return bit(a.parts[0] | b.parts[0], a.type);
  if (bits && op == Operation::BitXor) return bit(a.parts[0] ^ b.parts[0], a.type);
  if (bits && op == Operation::Ne) return bit(a.parts[0] ^ b.parts[0]);
  a = whole(a);
  b = whole(b);
  if (a.type == DataType::U128) return of_pair(op, a, b);
  const unsigned width = part_bits(a.type);
  const bool is_signed = has_sign(a.type);
  const DataType type = result_of(op, a.type);
  if (gives_truth(op)) {
    if (!vyre::is_vector(a.type)) return bit(test(op, is_signed, a.parts[0], b.parts[0]));
    return lanes_of(
        type, [&](std::size_t i) { return ir_.zext(test(op, false, a.parts[i], b.parts[i]), 32); });
  }
  const bool counts = op == Operation::Popcount || op == Operation::Clz || op == Operation::Ctz;
  return lanes_of(type, [&](std::size_t i) {
    const Value made = number(op, width, is_signed, a.parts[i], b.parts[i]);
    return counts && width == 64 ? ir_.trunc(made, 32) : made;
  });
}

Value Ops::test(Operation op, bool is_signed, Value a, Value b) {
  constexpr struct {
    Operation op;
    Compare on_unsigned, on_signed;
  } kTests[] = {
      {Operation::Eq, Compare::Eq, Compare::Eq},   {Operation::Ne, Compare::Ne, Compare::Ne},
      {Operation::Lt, Compare::Ult, Compare::Slt}, {Operation::Gt, Compare::Ugt, Compare::Sgt},
      {Operation::Le, Compare::Ule, Compare::Sle}, {Operation::Ge, Compare::Uge, Compare::Sge},
  };
  const auto* row = std::ranges::find(kTests, op, [](const auto& r) { return r.op; });
  assert(row != std::end(kTests));
  return ir_.compare(is_signed ? row->on_signed : row->on_unsigned, a, b);
}

// A count of 32 bits for a value of so many, modulo that. LLVM 19 gets counts of 0 wrong where two
// parts are shifted together, and on AVX2 also in rotations, which it sees in two shifts, too: it
// must not know the counts there, unless they are the same in all lanes (docs/backends/cpu.md).
Value Ops::count_for(Value count, unsigned bits, bool is_of_pair) {
  if (bits == 64) count = ir_.zext(count, 64);
  count = count & (bits - 1);
  const bool may_be_known = !is_of_pair && !is_avx2_;
  if (may_be_known || !ir_.is_vector(count) || ir_.is_constant_splat(count)) return count;
  return count ^ ir_.splat(ir_.hidden(ir_.integer(bits), 0));
}

// On parts of 32 or 64 bits.
Value Ops::number(Operation op, unsigned bits, bool is_signed, Value a, Value b) {
  const Value no = ir_.zero(ir_.boolean);
  switch (op) {
    case Operation::Negate: return ir_.zero_like(a) - a;
    case Operation::BitNot: return ~a;
    case Operation::Popcount: return ir_.call("llvm.ctpop", {a});
    case Operation::Clz: return ir_.call("llvm.ctlz", {a, no});
    case Operation::Ctz: return ir_.call("llvm.cttz", {a, no});
    case Operation::ReverseBits: return ir_.call("llvm.bitreverse", {a});
    case Operation::BitOr: return a | b;
    case Operation::BitXor: return a ^ b;
    case Operation::BitAnd: return a & b;
    case Operation::Shl: return a << count_for(b, bits);
    case Operation::Shr:
      return is_signed ? ir_.ashr(a, count_for(b, bits)) : a >> count_for(b, bits);
    case Operation::RotateLeft: return ir_.call("llvm.fshl", {a, a, count_for(b, bits)});
    case Operation::RotateRight: return ir_.call("llvm.fshr", {a, a, count_for(b, bits)});
    case Operation::Add: return a + b;
    case Operation::Sub: return a - b;
    case Operation::Mul: return a * b;
    case Operation::Div: return quotient(bits, is_signed, a, b);
    case Operation::Mod: {
      const Value rest = a - quotient(bits, is_signed, a, b) * b;
      return ir_.select(ir_.equal(b, 0), ir_.zero_like(a), rest);
    }
    case Operation::Min: return ir_.call(is_signed ? "llvm.smin" : "llvm.umin", {a, b});
    case Operation::Max: return ir_.call(is_signed ? "llvm.smax" : "llvm.umax", {a, b});
    case Operation::MulHigh: return high_product(bits, a, b);
    case Operation::AddSat: return ir_.call(is_signed ? "llvm.sadd.sat" : "llvm.uadd.sat", {a, b});
    case Operation::SubSat: return ir_.call(is_signed ? "llvm.ssub.sat" : "llvm.usub.sat", {a, b});
    case Operation::AbsDiff:  // lowered
    case Operation::LogicalNot:
    case Operation::Or:
    case Operation::And:
    case Operation::Eq:
    case Operation::Ne:
    case Operation::Lt:
    case Operation::Gt:
    case Operation::Le:
    case Operation::Ge:  // tests
#define FORM(name, ...) case Operation::name:
#include "vyre/ir/ops.def"
      break;
  }
  return a;
}

// Truncated; 0 where the divisor is 0. The quotient of two numbers of 32 bits, as doubles, rounds
// to a number whose integer part is the right one: a / b is at least 1 / b away from the next
// integer above it, which is more than half a unit in the last place of 53 bits.
Value Ops::quotient(unsigned bits, bool is_signed, Value a, Value b) {
  const Value none = ir_.equal(b, 0);
  const Value divisor = ir_.select(none, ir_.like(b, 1), b);
  const auto magnitude = [&](Value of) {
    return ir_.call("llvm.abs", {of, ir_.zero(ir_.boolean)});
  };
  const Value dividend = is_signed ? magnitude(a) : a;
  const Value by = is_signed ? magnitude(divisor) : divisor;
  Value result;
  if (bits == 32 && ir_.is_vector(a)) {
    result = ir_.divide_as_doubles(dividend, by);
  } else if (ir_.is_vector(a)) {
    // By lane, as the CPU does it. Of vectors LLVM 19 takes a zero in one lane of a constant for a
    // zero in all of them (docs/backends/cpu.md).
    result = ir_.poison(ir_.type(a));
    for (unsigned i = 0; i < ir_.width(); ++i) {
      const Value lane = ir_.lane(dividend, i);
      result = ir_.with_lane(result, ir_.word(i), lane / ir_.lane(by, i));
    }
  } else {
    result = dividend / by;
  }
  if (is_signed) {
    const Value sign = ir_.ashr(a ^ b, bits - 1);
    result = (result ^ sign) - sign;
  }
  return ir_.select(none, ir_.zero_like(a), result);
}

// The upper words of the products of all lanes. CPUs multiply every second one of 32 bits.
Value Ops::high_words(Value a, Value b) {
  const Ir::Type wide = ir_.vector(ir_.i64, ir_.width() / 2);
  const Ir::Type words = ir_.vector(ir_.i32);
  const auto even = [&](Value of) { return ir_.bits(of, wide) & 0xffffffff; };
  const auto odd = [&](Value of) { return ir_.bits(of, wide) >> 32; };
  const Value even_a = even(a);
  const Value evens = ir_.bits(even_a * even(b), words);
  const Value odd_a = odd(a);
  const Value odds = ir_.bits(odd_a * odd(b), words);
  std::vector<unsigned> upper;
  std::vector<unsigned> in_turns;
  for (unsigned i = 0; i < ir_.width(); ++i) {
    upper.push_back(i | 1);
    in_turns.push_back(i % 2 == 0 ? i : ir_.width() + i);
  }
  const Value moved = ir_.shuffle(evens, evens, upper);
  if (!has_masks_) return ir_.shuffle(moved, odds, in_turns);
  // Moves under a mask, which is one instruction. LLVM would make slower ones of a mask it knows.
  const Value lanes = ir_.hidden(ir_.integer(ir_.width()), 0x5555555555555555);
  return ir_.select(ir_.bits(lanes, ir_.vector(ir_.boolean)), moved, odds);
}

Value Ops::high_product(unsigned bits, Value a, Value b) {
  if (bits == 32 && ir_.is_vector(a)) return high_words(a, b);
  if (!ir_.is_vector(a)) {
    const Value wide = ir_.zext(a, 2 * bits);
    return ir_.trunc((wide * ir_.zext(b, 2 * bits)) >> bits, bits);
  }
  // From four products of halves.
  constexpr std::uint32_t kHalf = 0xffffffff;
  const Value a0 = a & kHalf;
  const Value a1 = a >> 32;
  const Value b0 = b & kHalf;
  const Value b1 = b >> 32;
  const Value low = (a0 * b0) >> 32;
  const Value middle = a1 * b0 + low;
  const Value rest = middle & kHalf;
  const Value other = a0 * b1 + rest;
  const Value high = a1 * b1 + (middle >> 32);
  return high + (other >> 32);
}

// --- 128 bits, as two parts ---------------------------------------------------------------------

// Shifts a pair left and gives its upper half, or right and gives its lower half. Scalars do
// without LLVM's operation: LLVM 19 fails to select an instruction for it where the result is one
// bit.
Value Ops::shifted_pair(bool left, Pair a, Value count) {
  if (ir_.is_vector(count)) {
    return ir_.call(left ? "llvm.fshl" : "llvm.fshr", {a.high, a.low, count});
  }
  const Value rest = count ^ 63;
  const Value own = left ? a.high << count : a.low >> count;
  const Value moved = left ? a.low >> 1 : a.high << 1;
  return own | (left ? moved >> rest : moved << rest);
}

// One lane after the other.
Ops::Pair Ops::divided(Operation op, Pair a, Pair b) {
  const Ir::Type whole = ir_.integer(128);
  const auto joined = [&](Value low, Value high) {
    const Value upper = ir_.zext(high, 128) << 64;
    return ir_.zext(low, 128) | upper;
  };
  const auto one = [&](Pair x, Pair y) -> Pair {
    const Value by = joined(y.low, y.high);
    const Value none = ir_.equal(by, 0);
    const Value divisor = ir_.select(none, ir_.number(whole, 1), by);
    const Value dividend = joined(x.low, x.high);
    const Value value = op == Operation::Div ? dividend / divisor : dividend % divisor;
    const Value result = ir_.select(none, ir_.zero(whole), value);
    return {ir_.trunc(result, 64), ir_.trunc(result >> 64, 64)};
  };
  if (!ir_.is_vector(a.low)) return one(a, b);
  Pair all{ir_.zero_like(a.low), ir_.zero_like(a.low)};
  for (unsigned i = 0; i < ir_.width(); ++i) {
    const Pair each =
        one({ir_.lane(a.low, i), ir_.lane(a.high, i)}, {ir_.lane(b.low, i), ir_.lane(b.high, i)});
    all.low = ir_.with_lane(all.low, ir_.word(i), each.low);
    all.high = ir_.with_lane(all.high, ir_.word(i), each.high);
  }
  return all;
}

Lanes Ops::of_pair(Operation op, const Lanes& left, const Lanes& right) {
  const Pair a{left.parts[0], left.parts[1]};
  const Pair b{right.parts[0], right.parts[1]};  // or a count
  const auto pair = [](Pair of) { return Lanes{DataType::U128, {of.low, of.high}}; };
  const Value zero = ir_.zero_like(a.low);
  // A count modulo 64, and whether it is 64 or more modulo 128.
  const auto count = [&] { return count_for(b.low, 64, true); };
  const auto is_far = [&] { return bit(ir_.not_zero(b.low & 64)); };
  switch (op) {
    case Operation::BitOr: return pair({a.low | b.low, a.high | b.high});
    case Operation::Shl: {
      const Value low = a.low << count();
      const Value high = shifted_pair(true, a, count());
      return select(is_far(), pair({zero, low}), pair({low, high}));
    }
    case Operation::Shr: {
      const Value high = a.high >> count();
      const Value low = shifted_pair(false, a, count());
      return select(is_far(), pair({high, zero}), pair({low, high}));
    }
    case Operation::Mul: {
      const Value cross = a.low * b.high;
      const Value crosses = cross + a.high * b.low;
      return pair({a.low * b.low, high_product(64, a.low, b.low) + crosses});
    }
    case Operation::Div:
    case Operation::Mod: return pair(divided(op, a, b));
    case Operation::Negate:
    case Operation::BitNot:
    case Operation::Popcount:
    case Operation::Clz:
    case Operation::Ctz:
    case Operation::ReverseBits:
    case Operation::Eq:
    case Operation::Ne:
    case Operation::Lt:
    case Operation::Gt:
    case Operation::Le:
    case Operation::Ge:
    case Operation::BitXor:
    case Operation::BitAnd:
    case Operation::Add:
    case Operation::Sub:
    case Operation::Min:
    case Operation::Max:
    case Operation::AbsDiff:
    case Operation::AddSat:
    case Operation::SubSat:
    case Operation::RotateLeft:
    case Operation::RotateRight:  // lowered
    case Operation::MulHigh:      // not of this type
    case Operation::LogicalNot:
    case Operation::Or:
    case Operation::And:
#define FORM(name, ...) case Operation::name:
#include "vyre/ir/ops.def"
      break;
  }
  return left;
}

// --- Casts --------------------------------------------------------------------------------------

// Between words and u64, and between u64 and u128; the others are lowered.
Lanes Ops::cast(DataType target, Lanes value) {
  if (value.is_bit && (target == DataType::U32 || target == DataType::Bool)) {
    value.type = target;
    return value;
  }
  if (value.type == target) return value;
  value = whole(value);
  const Value first = value.parts[0];
  if (target == DataType::Bool) return bit(ir_.not_zero(first), target);
  const unsigned bits = part_bits(target);
  Lanes result{target, {first}};
  if (bits < part_bits(value.type)) result.parts[0] = ir_.trunc(first, bits);
  if (bits > part_bits(value.type)) {
    result.parts[0] = has_sign(value.type) ? ir_.sext(first, bits) : ir_.zext(first, bits);
  }
  if (target == DataType::U128) result.parts[1] = ir_.zero_like(first);
  return result;
}

}  // namespace vyre
