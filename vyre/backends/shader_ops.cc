#include "vyre/backends/shader_ops.h"

#include "vyre/ir/ops.h"

namespace vyre {
namespace {

using Part = ShaderPart;

constexpr std::uint64_t kLeast = 0x80000000;  // of i32
constexpr std::uint64_t kMinusOne = 0xffffffff;

Part literal(std::uint64_t value) { return Part::literal(value); }

std::uint32_t width_of(DataType type) { return type == DataType::U64 ? 64 : 32; }

// Whether it is 0 or 1.
bool is_bit(const ShaderValue& value) {
  if (value.is_test) return true;
  return !is_vector(value.type) && value.parts[0].is_literal() && value.parts[0].value <= 1;
}

bool works_on_tests(Operation op) {
  return op == Operation::BitAnd || op == Operation::BitOr || op == Operation::BitXor ||
         op == Operation::Eq || op == Operation::Ne;
}

bool is_logical(Operation op) {
  return op == Operation::LogicalNot || op == Operation::And || op == Operation::Or;
}

}  // namespace

ShaderValue ShaderOps::constant(DataType type, const Bits& bits) {
  const auto& lanes = bits.lanes;
  if (type == DataType::U64) {
    return {type, false, {literal(lanes[0] | std::uint64_t{lanes[1]} << 32)}};
  }
  return {type,
          type == DataType::Bool,
          {literal(lanes[0]), literal(lanes[1]), literal(lanes[2]), literal(lanes[3])}};
}

ShaderValue ShaderOps::whole(const ShaderValue& value) {
  if (!value.is_test) return value;
  return {value.type, false, {converted(DataType::U32, DataType::Bool, value.parts[0])}};
}

ShaderPart ShaderOps::truth(const ShaderValue& value) {
  const Part& part = value.parts[0];
  if (value.is_test) return part;
  if (part.is_literal()) return literal(part.value != 0);
  return speller_.binary(Operation::Ne, value.type, part, literal(0));
}

ShaderPart ShaderOps::kept(DataType type, const Part& part) {
  return part.is_literal() || !part.exists() ? part : speller_.keep(type, {}, part);
}

ShaderValue ShaderOps::kept(const ShaderValue& value) {
  ShaderValue result = value;
  const DataType type = value.is_test ? DataType::Bool : shader_part_type(value.type);
  for (Part& part : result.parts) part = kept(type, part);
  return result;
}

ShaderPart ShaderOps::word(Operation op, const Part& a, const Part& b) {
  if (a.is_literal() && b.is_literal()) {
    const auto x = static_cast<std::uint32_t>(a.value);
    const auto y = static_cast<std::uint32_t>(b.value);
    if (op == Operation::Add) return literal(x + y);
    if (op == Operation::Mul) return literal(x * y);
    if (op == Operation::BitAnd) return literal(x & y);
    if (op == Operation::BitOr) return literal(x | y);
    if (op == Operation::Shl) return literal(x << (y & 31));
    if (op == Operation::Shr) return literal(x >> (y & 31));
  }
  const bool is_nothing = b.is(0) && (op == Operation::Add || op == Operation::Shl ||
                                      op == Operation::Shr || op == Operation::BitOr);
  if (is_nothing || (op == Operation::Mul && b.is(1))) return a;
  return speller_.binary(op, DataType::U32, a, b);
}

ShaderPart ShaderOps::converted(DataType to, DataType from, const Part& part) {
  if (to == from) return part;
  if (!part.is_literal()) return speller_.convert(to, from, part);
  return to == DataType::U64 ? part : literal(part.value & kMinusOne);
}

ShaderPart ShaderOps::joined(const Part& low, const Part& high) {
  if (low.is_literal() && high.is_literal()) return literal(low.value | high.value << 32);
  const Part wide = converted(DataType::U64, DataType::U32, low);
  if (high.is(0)) return wide;
  const Part above = converted(DataType::U64, DataType::U32, high);
  const Part moved = speller_.binary(Operation::Shl, DataType::U64, above, literal(32));
  return speller_.binary(Operation::BitOr, DataType::U64, wide, moved);
}

// --- Memory -------------------------------------------------------------------------------------

ShaderValue ShaderOps::of_words(DataType type, const std::array<Part, 4>& words) {
  if (type == DataType::Bool) {
    return {type, true, {speller_.binary(Operation::Ne, DataType::U32, words[0], literal(0))}};
  }
  if (type == DataType::U64) return {type, false, {joined(words[0], words[1])}};
  if (type == DataType::I32) return {type, false, {converted(type, DataType::U32, words[0])}};
  return {type, false, words};
}

std::array<ShaderPart, 4> ShaderOps::words_of(const ShaderValue& value) {
  const ShaderValue given = whole(value);
  if (given.type == DataType::I32) {
    return {converted(DataType::U32, DataType::I32, given.parts[0])};
  }
  if (given.type != DataType::U64) return given.parts;
  const Part wide = kept(DataType::U64, given.parts[0]);
  if (wide.is_literal()) return {literal(wide.value & kMinusOne), literal(wide.value >> 32)};
  const Part above = speller_.binary(Operation::Shr, DataType::U64, wide, literal(32));
  return {converted(DataType::U32, DataType::U64, wide),
          converted(DataType::U32, DataType::U64, above)};
}

ShaderValue ShaderOps::narrow(DataType element, const Part& word, const Part& bit) {
  const std::uint32_t width = 8 * stride(element);
  const Part moved = this->word(Operation::Shr, word, bit);
  if (!has_sign(element)) {
    return ShaderValue::word(this->word(Operation::BitAnd, moved, literal((1u << width) - 1)));
  }
  const Part rest = literal(32 - width);
  const Part top = converted(DataType::I32, DataType::U32, this->word(Operation::Shl, moved, rest));
  return {DataType::I32, false, {speller_.binary(Operation::Shr, DataType::I32, top, rest)}};
}

// --- Casts and select ---------------------------------------------------------------------------

ShaderValue ShaderOps::cast(DataType target, const ShaderValue& value) {
  if (value.type == target) return value;
  const bool keeps_test = target == DataType::Bool || target == DataType::U32;
  if (value.is_test && keeps_test) return {target, true, value.parts};
  if (target == DataType::Bool) return {target, true, {truth(value)}};
  const ShaderValue from = whole(value);
  const DataType given = from.type == DataType::Bool ? DataType::U32 : from.type;
  Part part = from.parts[0];
  if (target == DataType::U64 && given == DataType::I32) {
    part = kept(given, part);
    const Part sign = number(Operation::Shr, given, part, literal(31), {});
    return {target,
            false,
            {joined(converted(DataType::U32, given, part), converted(DataType::U32, given, sign))}};
  }
  return {target, false, {converted(target, given, part)}};
}

ShaderValue ShaderOps::select(const ShaderValue& condition, const ShaderValue& yes,
                              const ShaderValue& no) {
  if (condition.parts[0].is_literal()) return condition.parts[0].value != 0 ? yes : no;
  Part chooses = truth(condition);
  const bool is_test = is_bit(yes) && is_bit(no) && (yes.is_test || no.is_test);
  const ShaderValue a = is_test ? yes : whole(yes);
  const ShaderValue b = is_test ? no : whole(no);
  const std::uint32_t count = lane_count(yes.type);
  if (count > 1) chooses = kept(DataType::Bool, chooses);
  ShaderValue result{yes.type, is_test, {}};
  const DataType type = is_test ? DataType::Bool : shader_part_type(yes.type);
  for (std::size_t i = 0; i < count; ++i) {
    const bool same = a.parts[i] == b.parts[i];
    result.parts[i] = same ? a.parts[i] : speller_.select(type, chooses, a.parts[i], b.parts[i]);
  }
  return result;
}

// --- Operations ---------------------------------------------------------------------------------

ShaderValue ShaderOps::apply(Operation op, const ShaderValue& a, const ShaderValue& b,
                             const Places::Divisor& divisor) {
  const bool on_tests = works_on_tests(op) && is_bit(a) && is_bit(b) && (a.is_test || b.is_test);
  if (a.type == DataType::Bool || is_logical(op) || on_tests) return of_tests(op, a, b);
  const ShaderValue x = whole(a);
  const ShaderValue y = arity(op) == 1 ? ShaderValue{} : whole(b);
  const DataType each = shader_part_type(a.type);
  const bool is_test = gives_truth(op);
  ShaderValue result{result_of(op, a.type), is_test && !is_vector(a.type), {}};
  for (std::size_t i = 0; i < lane_count(a.type); ++i) {
    Part& part = result.parts[i];
    part = number(op, each, x.parts[i], y.parts[i], divisor);
    if (is_test && is_vector(a.type)) part = converted(DataType::U32, DataType::Bool, part);
  }
  return result;
}

ShaderValue ShaderOps::of_tests(Operation op, const ShaderValue& a, const ShaderValue& b) {
  ShaderValue result{result_of(op, a.type), true, {}};
  const Part x = truth(a);
  const auto inverted = [&](const Part& part) {
    return part.is_literal() ? literal(part.value ^ 1)
                             : speller_.unary(Operation::LogicalNot, DataType::Bool, part);
  };
  if (op == Operation::LogicalNot) {
    result.parts[0] = inverted(x);
    return result;
  }
  const bool is_and = op == Operation::And || op == Operation::BitAnd;
  const bool is_or = op == Operation::Or || op == Operation::BitOr;
  const bool is_equal = op == Operation::Eq;
  const Part y = truth(b);
  Operation own = is_equal ? Operation::Eq : Operation::BitXor;
  if (is_and || is_or) {
    own = is_and ? Operation::BitAnd : Operation::BitOr;
  } else if (x.is_literal() || y.is_literal()) {
    const Part& known = x.is_literal() ? x : y;
    const Part& other = x.is_literal() ? y : x;
    result.parts[0] = (known.value != 0) == is_equal ? other : inverted(other);
    return result;
  }
  result.parts[0] = speller_.binary(own, DataType::Bool, x, y);
  return result;
}

// Of the number that an i32 has the bits of.
ShaderPart ShaderOps::of_unsigned(Operation op, DataType type, const Part& a) {
  if (type != DataType::I32) return speller_.unary(op, type, a);
  return speller_.unary(op, DataType::U32, converted(DataType::U32, type, a));
}

// On one number; a comparison gives a truth value.
ShaderPart ShaderOps::number(Operation op, DataType type, Part a, Part b,
                             const Places::Divisor& divisor) {
  switch (op) {
    case Operation::Negate: return speller_.binary(Operation::Sub, type, literal(0), a);
    case Operation::BitNot: return speller_.unary(op, type, a);
    case Operation::Popcount:
    case Operation::Clz:
    case Operation::Ctz: return of_unsigned(op, type, a);
    case Operation::ReverseBits: {
      const DataType made = type == DataType::I32 ? DataType::U32 : type;
      return converted(type, made, of_unsigned(op, type, a));
    }
    case Operation::Shl:
    case Operation::Shr: {
      const Part most = literal(width_of(type) - 1);
      b = b.is_literal() ? literal(b.value & most.value) : word(Operation::BitAnd, b, most);
      return speller_.binary(op, type, a, b);
    }
    case Operation::Div:
    case Operation::Mod: return quotient(op, type, a, b, divisor);
    case Operation::Eq:
    case Operation::Ne:
    case Operation::Lt:
    case Operation::Gt:
    case Operation::Le:
    case Operation::Ge:
    case Operation::BitOr:
    case Operation::BitXor:
    case Operation::BitAnd:
    case Operation::Add:
    case Operation::Sub:
    case Operation::Mul:
    case Operation::Min:
    case Operation::Max:
    case Operation::MulHigh: return speller_.binary(op, type, a, b);
    case Operation::LogicalNot:
    case Operation::Or:
    case Operation::And:  // on truth values
    case Operation::AbsDiff:
    case Operation::AddSat:
    case Operation::SubSat:
    case Operation::RotateLeft:
    case Operation::RotateRight:  // lowered
#define FORM(name, tag, ...) case Operation::name:
#include "vyre/ir/ops.def"
      break;
  }
  return {};
}

// By 1 where the quotient is not defined; a remainder is 0 then, as it has to be.
ShaderPart ShaderOps::quotient(Operation op, DataType type, Part a, Part b,
                               const Places::Divisor& divisor) {
  const bool is_signed = type == DataType::I32;
  if (b.is(0)) return literal(0);
  a = kept(type, a);
  b = kept(type, b);
  const auto equals = [&](const Part& part, std::uint64_t number) {
    return speller_.binary(Operation::Eq, type, part, literal(number));
  };
  const auto both = [&](Operation how, const Part& x, const Part& y) {
    return x.exists() ? speller_.binary(how, DataType::Bool, x, y) : y;
  };
  Part is_zero;
  if (!b.is_literal() && !divisor.not_zero) is_zero = kept(DataType::Bool, equals(b, 0));
  Part is_wrong = is_zero;
  if (is_signed && (b.is_literal() ? b.is(kMinusOne) : !divisor.not_minus_one)) {
    const Part is_least = equals(a, kLeast);
    const Part overflows =
        b.is_literal() ? is_least : both(Operation::BitAnd, is_least, equals(b, kMinusOne));
    is_wrong = both(Operation::BitOr, is_zero, overflows);
  }
  if (is_wrong.exists()) {
    b = kept(type, speller_.select(type, is_wrong, literal(1), b));
  }
  if (op == Operation::Mod && !is_signed) return speller_.binary(op, type, a, b);
  const Part whole = speller_.binary(Operation::Div, type, a, b);
  if (op == Operation::Mod) {
    const Part product = speller_.binary(Operation::Mul, type, whole, b);
    return speller_.binary(Operation::Sub, type, a, product);
  }
  return is_zero.exists() ? speller_.select(type, is_zero, literal(0), whole) : whole;
}

}  // namespace vyre
