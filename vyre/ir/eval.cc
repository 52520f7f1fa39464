// One function template says what an operation does to one number; eval() applies it to the
// numbers of a value. Arithmetic is done on unsigned words, where C++ wraps as the operations do.
#include "vyre/ir/eval.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <type_traits>

namespace vyre {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
__extension__ typedef unsigned __int128 u128;

int popcount(u128 a) {
  return std::popcount(static_cast<u64>(a)) + std::popcount(static_cast<u64>(a >> 64));
}

int leading_zeros(u128 a) {
  const u64 high = static_cast<u64>(a >> 64);
  return high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<u64>(a));
}

template <class Word>
Word reverse_bits(Word a) {
  Word result = 0;
  for (std::size_t i = 0; i < sizeof(Word) * 8; ++i, a >>= 1) {
    result = static_cast<Word>((result << 1) | (a & 1));
  }
  return result;
}

template <class Number>
Number saturate(i64 exact) {
  using limits = std::numeric_limits<Number>;
  return static_cast<Number>(std::clamp<i64>(exact, limits::min(), limits::max()));
}

// Word holds the bits of a number; Number is how they are read where that matters: as i32 for I32,
// else as Word itself. A shift count is a U32, which every Word can hold.
template <class Word, class Number = Word>
Word eval_number(Operation op, Word a, Word b) {
  constexpr int width = sizeof(Word) * 8;
  constexpr bool is_signed = std::is_signed_v<Number>;
  constexpr Word ones = static_cast<Word>(~Word{0});
  const Number x = static_cast<Number>(a);
  const Number y = static_cast<Number>(b);
  const int count = static_cast<int>(b & (width - 1));
  const int rest = -count & (width - 1);  // rotating by 0 shifts by 0 both ways

  switch (op) {
    case Operation::Negate: return 0 - a;
    case Operation::BitNot: return ~a;
    case Operation::LogicalNot: return a == 0;
    case Operation::Popcount: return static_cast<Word>(popcount(a));
    case Operation::Clz: return static_cast<Word>(leading_zeros(a) - (128 - width));
    case Operation::Ctz: return static_cast<Word>(popcount(static_cast<Word>(~a & (a - 1))));
    case Operation::ReverseBits: return reverse_bits(a);

    case Operation::Or: return a != 0 || b != 0;
    case Operation::And: return a != 0 && b != 0;
    case Operation::Eq: return a == b;
    case Operation::Ne: return a != b;
    case Operation::Lt: return x < y;
    case Operation::Gt: return x > y;
    case Operation::Le: return x <= y;
    case Operation::Ge: return x >= y;
    case Operation::BitOr: return a | b;
    case Operation::BitXor: return a ^ b;
    case Operation::BitAnd: return a & b;
    case Operation::Shl: return static_cast<Word>(a << count);
    case Operation::Shr: return static_cast<Word>(x >> count);
    case Operation::Add: return a + b;
    case Operation::Sub: return a - b;
    case Operation::Mul: return a * b;
    case Operation::Div:
      if (b == 0) return 0;
      if (is_signed && b == ones) return 0 - a;  // C++ does not define MIN / -1
      return static_cast<Word>(x / y);
    case Operation::Mod:
      if (b == 0 || (is_signed && b == ones)) return 0;
      return static_cast<Word>(x % y);
    case Operation::Min: return x < y ? a : b;
    case Operation::Max: return x < y ? b : a;
    case Operation::AbsDiff: return a < b ? b - a : a - b;
    case Operation::MulHigh:
      // Two shifts, so that this compiles for u128, which has no mul_high.
      return static_cast<Word>(static_cast<u128>(a) * b >> (width / 2) >> (width / 2));
    case Operation::AddSat:
      if constexpr (is_signed) return static_cast<Word>(saturate<Number>(i64{x} + y));
      return a > ones - b ? ones : a + b;
    case Operation::SubSat:
      if constexpr (is_signed) return static_cast<Word>(saturate<Number>(i64{x} - y));
      return a < b ? 0 : a - b;
    case Operation::RotateLeft: return static_cast<Word>((a << count) | (a >> rest));
    case Operation::RotateRight: return static_cast<Word>((a >> count) | (a << rest));

#define FORM(name, ...) case Operation::name:
#include "vyre/ir/ops.def"
      break;  // not a function of operands alone
  }
  return 0;
}

template <class Word>
Word word_of(const Bits& bits) {
  u128 word = 0;
  for (std::size_t i = sizeof(Word) / 4; i-- > 0;) word = (word << 32) | bits.lanes[i];
  return static_cast<Word>(word);
}

template <class Word>
Bits bits_of(Word word) {
  Bits bits;
  for (std::size_t i = 0; i < sizeof(Word) / 4; ++i) {
    bits.lanes[i] = static_cast<u32>(static_cast<u128>(word) >> (32 * i));
  }
  return bits;
}

template <class Word, class Number = Word>
Bits eval_scalar(Operation op, const Bits& a, const Bits& b) {
  return bits_of(eval_number<Word, Number>(op, word_of<Word>(a), word_of<Word>(b)));
}

}  // namespace

Bits eval(Operation op, DataType type, const Bits& a, const Bits& b) {
  assert(contains(info(op).types, type));
  Bits result;
  switch (type) {
    case DataType::U32:
    case DataType::Bool: return eval_scalar<u32>(op, a, b);
    case DataType::I32: return eval_scalar<u32, i32>(op, a, b);
    case DataType::U64: return eval_scalar<u64>(op, a, b);
    case DataType::U128: return eval_scalar<u128>(op, a, b);
    case DataType::Vec2U32:
    case DataType::Vec4U32:
      for (std::size_t i = 0; i < lane_count(type); ++i) {
        result.lanes[i] = eval_number<u32>(op, a.lanes[i], b.lanes[i]);
      }
      break;
    case DataType::Unknown:
    case DataType::Bytes:
    case DataType::U8:
    case DataType::U16:
    case DataType::I8:
    case DataType::I16: break;  // in no operation's set
  }
  return result;
}

std::uint8_t eval_byte(Operation op, bool is_signed, std::uint8_t a, std::uint8_t b) {
  return is_signed ? eval_number<std::uint8_t, std::int8_t>(op, a, b)
                   : eval_number<std::uint8_t>(op, a, b);
}

Bits eval_cast(DataType source, DataType target, const Bits& value) {
  assert(cast_exists(source, target));
  const auto& lanes = value.lanes;
  if (source == target) return value;
  if (target == DataType::Bool) {
    return {{static_cast<u32>((lanes[0] | lanes[1] | lanes[2] | lanes[3]) != 0)}};
  }
  // Lanes that both types have are kept. A scalar fills the others with its sign, which is 0 for
  // an unsigned one; a vector is filled only from types of one lane, by copies of that.
  const u32 sign = has_sign(source) && lanes[0] >> 31 != 0 ? ~u32{0} : 0;
  const u32 fill = is_vector(target) ? lanes[0] : sign;
  Bits result;
  for (std::size_t i = 0; i < words(target); ++i) {
    result.lanes[i] = i < words(source) ? lanes[i] : fill;
  }
  return result;
}

u32 eval_atomic(AtomicOp op, DataType type, u32 old, u32 expected, u32 value) {
  const auto apply = [&](Operation operation) {
    return eval(operation, type, Bits{{old}}, Bits{{value}}).lanes[0];
  };
  switch (op) {
    case AtomicOp::Add: return apply(Operation::Add);
    case AtomicOp::And: return apply(Operation::BitAnd);
    case AtomicOp::Or: return apply(Operation::BitOr);
    case AtomicOp::Xor: return apply(Operation::BitXor);
    case AtomicOp::Min: return apply(Operation::Min);
    case AtomicOp::Max: return apply(Operation::Max);
    case AtomicOp::Exchange: return value;
    case AtomicOp::CompareExchange: return old == expected ? value : old;
    case AtomicOp::Load: return old;
    case AtomicOp::Store: return value;
  }
  return old;
}

Bits collective_identity(CollectiveOp op, DataType type) {
  // The least and the greatest number of the type.
  const auto extreme = [&](bool greatest) {
    Bits bits;
    for (std::size_t i = 0; i < words(type); ++i) bits.lanes[i] = greatest ? ~u32{0} : 0;
    if (has_sign(type)) bits.lanes[words(type) - 1] ^= u32{1} << 31;
    return bits;
  };
  switch (info(op).operation) {
    case Operation::Min: return extreme(true);
    case Operation::Max: return extreme(false);
    case Operation::BitAnd: return eval(Operation::BitNot, type, {}, {});
    default: return {};
  }
}

}  // namespace vyre
