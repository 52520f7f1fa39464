// The meaning of operations, casts and atomics: the specified examples row by row, and random
// vectors against a reference on unbounded integers (GMP) that shares no code with eval.cc.
#include "vyre/ir/eval.h"
#include "tests/support/command.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace vyre {
namespace {

using enum DataType;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
__extension__ typedef unsigned __int128 u128;

constexpr u32 kOnes = 0xFFFFFFFF;
constexpr u32 kMin = 0x80000000;  // the least I32
constexpr u32 kMax = 0x7FFFFFFF;  // the greatest I32

std::string show(const Bits& bits) {
  std::string text;
  for (u32 lane : bits.lanes) text += (text.empty() ? "(" : ", ") + std::to_string(lane);
  return text + ")";
}

// --- The examples of the specification ----------------------------------------------------------

struct BinaryRow {
  Operation op;
  u32 a, b, result;
};

// x stands for any value in the specification; kAny are the ones tried for it.
constexpr u32 kAny[] = {0, 1, 42, 0xFF00, kMax, kMin, 0xDEADBEEF, kOnes};

constexpr BinaryRow kBinaryRows[] = {
    {Operation::Add, 0, 0, 0},
    {Operation::Add, 1, 1, 2},
    {Operation::Add, 0xFFFFFFFF, 1, 0},
    {Operation::Add, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE},
    {Operation::Sub, 5, 3, 2},
    {Operation::Sub, 0, 1, 0xFFFFFFFF},
    {Operation::Sub, 0, 0, 0},
    {Operation::Mul, 3, 7, 21},
    {Operation::Mul, 0x10000, 0x10000, 0},
    {Operation::Mul, 0xFFFFFFFF, 2, 0xFFFFFFFE},
    {Operation::Div, 10, 3, 3},
    {Operation::Div, 5, 0, 0},
    {Operation::Div, 0, 0, 0},
    {Operation::Div, 0xFFFFFFFF, 1, 0xFFFFFFFF},
    {Operation::Div, 0xFFFFFFFF, 0xFFFFFFFF, 1},
    {Operation::Mod, 10, 3, 1},
    {Operation::Mod, 5, 0, 0},
    {Operation::Mod, 0, 5, 0},
    {Operation::Mod, 0, 0, 0},
    {Operation::BitAnd, 0xFF00, 0x0FF0, 0x0F00},
    {Operation::BitOr, 0xFF00, 0x00FF, 0xFFFF},
    {Operation::BitXor, 0xFF, 0xFF, 0},
    {Operation::BitXor, 0xFF, 0x00, 0xFF},
    {Operation::Shl, 1, 0, 1},
    {Operation::Shl, 1, 1, 2},
    {Operation::Shl, 1, 31, 0x80000000},
    {Operation::Shl, 1, 32, 1},
    {Operation::Shl, 0xFFFFFFFF, 1, 0xFFFFFFFE},
    {Operation::Shr, 0x80000000, 1, 0x40000000},
    {Operation::Shr, 1, 1, 0},
    {Operation::Shr, 1, 32, 1},
    {Operation::Lt, 0, 1, 1},
    {Operation::Lt, 1, 0, 0},
    {Operation::Lt, 5, 5, 0},
    {Operation::Lt, 0xFFFFFFFE, 0xFFFFFFFF, 1},
    {Operation::And, 0, 0, 0},
    {Operation::And, 1, 0, 0},
    {Operation::And, 0, 1, 0},
    {Operation::And, 1, 1, 1},
    {Operation::And, 42, 7, 1},
    {Operation::Or, 0, 0, 0},
    {Operation::Or, 1, 0, 1},
    {Operation::Or, 0, 1, 1},
    {Operation::Or, 42, 7, 1},
};

u32 eval_u32(Operation op, u32 a, u32 b = 0) {
  const Bits result = eval(op, U32, Bits{{a}}, Bits{{b}});
  EXPECT_EQ(result, (Bits{{result.lanes[0]}}));
  return result.lanes[0];
}

TEST(Eval, SpecifiedBinaryRows) {
  for (const BinaryRow& row : kBinaryRows) {
    EXPECT_EQ(eval_u32(row.op, row.a, row.b), row.result)
        << info(row.op).name << " " << row.a << ", " << row.b;
  }
}

TEST(Eval, SpecifiedRowsForAnyOperand) {
  for (u32 x : kAny) {
    EXPECT_EQ(eval_u32(Operation::BitAnd, 0xFFFFFFFF, x), x);
    EXPECT_EQ(eval_u32(Operation::BitAnd, 0, x), 0u);
    EXPECT_EQ(eval_u32(Operation::BitOr, 0, x), x);
    EXPECT_EQ(eval_u32(Operation::BitOr, 0xFFFFFFFF, x), 0xFFFFFFFF);
    EXPECT_EQ(eval_u32(Operation::BitXor, 0, x), x);
    EXPECT_EQ(eval_u32(Operation::Sub, x, 0), x);
    EXPECT_EQ(eval_u32(Operation::Div, x, 0), 0u);
    EXPECT_EQ(eval_u32(Operation::Div, x, 1), x);
    EXPECT_EQ(eval_u32(Operation::Div, 0, x), 0u);
    EXPECT_EQ(eval_u32(Operation::Mod, x, 0), 0u);
    EXPECT_EQ(eval_u32(Operation::Mod, x, 1), 0u);
    EXPECT_EQ(eval_u32(Operation::Mod, x, x), 0u);
    EXPECT_EQ(eval_u32(Operation::Shl, x, 0), x);
    EXPECT_EQ(eval_u32(Operation::Shr, x, 0), x);
    EXPECT_EQ(eval_u32(Operation::Lt, 0xFFFFFFFF, x), 0u);
    EXPECT_EQ(eval_u32(Operation::Lt, x, 0), 0u);
  }
}

// The comparisons that the specification defines through each other.
TEST(Eval, ComparisonsAgree) {
  for (u32 a : kAny) {
    for (u32 b : kAny) {
      EXPECT_EQ(eval_u32(Operation::Eq, a, b), a == b ? 1u : 0u);
      EXPECT_EQ(eval_u32(Operation::Ne, a, b), a != b ? 1u : 0u);
      EXPECT_EQ(eval_u32(Operation::Gt, a, b), eval_u32(Operation::Lt, b, a));
      EXPECT_EQ(eval_u32(Operation::Le, a, b), 1 - eval_u32(Operation::Lt, b, a));
      EXPECT_EQ(eval_u32(Operation::Ge, a, b), 1 - eval_u32(Operation::Lt, a, b));
    }
  }
}

// --- Edges of the other types -------------------------------------------------------------------

struct EdgeRow {
  Operation op;
  DataType type;
  Bits a, b, result;
};

Bits i32(int value) { return {{static_cast<u32>(value)}}; }
Bits u64_bits(u64 value) { return {{static_cast<u32>(value), static_cast<u32>(value >> 32)}}; }
Bits lanes(u32 a, u32 b = 0, u32 c = 0, u32 d = 0) { return {{a, b, c, d}}; }

TEST(Eval, EdgeRows) {
  constexpr u64 ones64 = ~u64{0};
  const Bits ones128 = lanes(kOnes, kOnes, kOnes, kOnes);
  const std::vector<EdgeRow> rows = {
      {Operation::Div, I32, i32(7), i32(-2), i32(-3)},
      {Operation::Div, I32, i32(-7), i32(2), i32(-3)},
      {Operation::Div, I32, i32(-7), i32(-2), i32(3)},
      {Operation::Div, I32, i32(-7), i32(0), i32(0)},
      {Operation::Div, I32, lanes(kMin), i32(-1), lanes(kMin)},
      {Operation::Div, I32, lanes(kMin), i32(1), lanes(kMin)},
      {Operation::Div, I32, lanes(kMax), i32(-1), lanes(kMin + 1)},
      {Operation::Div, I32, i32(1), lanes(kMin), i32(0)},
      {Operation::Mod, I32, i32(7), i32(-2), i32(1)},
      {Operation::Mod, I32, i32(-7), i32(2), i32(-1)},
      {Operation::Mod, I32, i32(-7), i32(-2), i32(-1)},
      {Operation::Mod, I32, i32(-7), i32(0), i32(0)},
      {Operation::Mod, I32, lanes(kMin), i32(-1), i32(0)},
      {Operation::Mod, I32, lanes(kMin), lanes(kMax), i32(-1)},
      {Operation::Shr, I32, i32(-1), lanes(31), i32(-1)},
      {Operation::Shr, I32, lanes(kMin), lanes(1), lanes(0xC0000000)},
      {Operation::Shr, I32, lanes(kMax), lanes(30), i32(1)},
      {Operation::Shr, I32, i32(-8), lanes(32), i32(-8)},
      {Operation::Shr, I32, i32(-8), lanes(kOnes), i32(-1)},
      {Operation::Shl, I32, i32(-1), lanes(31), lanes(kMin)},
      {Operation::Shl, I32, i32(-3), lanes(33), i32(-6)},
      {Operation::Lt, I32, i32(-1), i32(0), lanes(1)},
      {Operation::Lt, I32, lanes(kMax), lanes(kMin), lanes(0)},
      {Operation::Ge, I32, i32(0), i32(-1), lanes(1)},
      {Operation::Min, I32, i32(-1), i32(1), i32(-1)},
      {Operation::Max, I32, lanes(kMin), lanes(kMax), lanes(kMax)},
      {Operation::Negate, I32, lanes(kMin), {}, lanes(kMin)},
      {Operation::Clz, I32, i32(-1), {}, lanes(0)},
      {Operation::AddSat, I32, lanes(kMax), i32(1), lanes(kMax)},
      {Operation::AddSat, I32, lanes(kMin), i32(-1), lanes(kMin)},
      {Operation::SubSat, I32, lanes(kMin), i32(1), lanes(kMin)},
      {Operation::SubSat, I32, i32(0), lanes(kMin), lanes(kMax)},

      {Operation::Add, U64, u64_bits(ones64), u64_bits(1), u64_bits(0)},
      {Operation::Sub, U64, u64_bits(0), u64_bits(1), u64_bits(ones64)},
      {Operation::Mul, U64, u64_bits(u64{1} << 32), u64_bits(u64{1} << 32), u64_bits(0)},
      {Operation::MulHigh, U64, u64_bits(ones64), u64_bits(ones64), u64_bits(ones64 - 1)},
      {Operation::Div, U64, u64_bits(ones64), u64_bits(0), u64_bits(0)},
      {Operation::Div, U64, u64_bits(u64{1} << 63), u64_bits(ones64), u64_bits(0)},
      {Operation::Div, U64, u64_bits(ones64), u64_bits(10), u64_bits(1844674407370955161)},
      {Operation::Mod, U64, u64_bits(ones64), u64_bits(0), u64_bits(0)},
      {Operation::Mod, U64, u64_bits(ones64), u64_bits(10), u64_bits(5)},
      {Operation::Mod, U64, u64_bits(u64{1} << 63), u64_bits(ones64), u64_bits(u64{1} << 63)},
      {Operation::Shl, U64, u64_bits(1), lanes(63), u64_bits(u64{1} << 63)},
      {Operation::Shl, U64, u64_bits(1), lanes(64), u64_bits(1)},
      {Operation::Shr, U64, u64_bits(u64{1} << 63), lanes(63), u64_bits(1)},
      {Operation::Shr, U64, u64_bits(u64{1} << 63), lanes(64), u64_bits(u64{1} << 63)},
      {Operation::Shr, U64, u64_bits(u64{1} << 63), lanes(kOnes), u64_bits(1)},
      {Operation::RotateLeft, U64, u64_bits(u64{3} << 62), lanes(1), u64_bits((u64{1} << 63) | 1)},
      {Operation::RotateRight, U64, u64_bits(1), lanes(65), u64_bits(u64{1} << 63)},
      {Operation::Clz, U64, u64_bits(0), {}, lanes(64)},
      {Operation::Ctz, U64, u64_bits(0), {}, lanes(64)},
      {Operation::AddSat, U64, u64_bits(ones64), u64_bits(1), u64_bits(ones64)},
      {Operation::SubSat, U64, u64_bits(1), u64_bits(2), u64_bits(0)},

      {Operation::Add, U128, ones128, lanes(1), lanes(0)},
      {Operation::Sub, U128, lanes(0), lanes(1), ones128},
      {Operation::Mul, U128, ones128, ones128, lanes(1)},
      {Operation::Div, U128, ones128, lanes(0), lanes(0)},
      {Operation::Div, U128, ones128, lanes(0, 0, 1), lanes(kOnes, kOnes)},
      {Operation::Mod, U128, ones128, lanes(0), lanes(0)},
      {Operation::Mod, U128, ones128, lanes(0, 0, 1), lanes(kOnes, kOnes)},
      {Operation::Shl, U128, lanes(1), lanes(127), lanes(0, 0, 0, kMin)},
      {Operation::Shl, U128, lanes(1), lanes(128), lanes(1)},
      {Operation::Shl, U128, lanes(1), lanes(32), lanes(0, 1)},
      {Operation::Shr, U128, lanes(0, 0, 0, kMin), lanes(127), lanes(1)},
      {Operation::Shr, U128, ones128, lanes(128), ones128},
      {Operation::RotateLeft, U128, lanes(0, 0, 0, kMin), lanes(1), lanes(1)},
      {Operation::RotateRight, U128, lanes(1), lanes(129), lanes(0, 0, 0, kMin)},
      {Operation::Lt, U128, lanes(kOnes, kOnes, kOnes), lanes(0, 0, 0, 1), lanes(1)},
      {Operation::Popcount, U128, ones128, {}, lanes(128)},
      {Operation::Clz, U128, lanes(0), {}, lanes(128)},
      {Operation::Ctz, U128, lanes(0), {}, lanes(128)},
      {Operation::Ctz, U128, lanes(0, 0, 0, 1), {}, lanes(96)},
      {Operation::ReverseBits, U128, lanes(1), {}, lanes(0, 0, 0, kMin)},
      {Operation::AddSat, U128, ones128, ones128, ones128},
      {Operation::SubSat, U128, lanes(0), ones128, lanes(0)},

      {Operation::Add, Vec2U32, lanes(kOnes, 1), lanes(1, 2), lanes(0, 3)},
      {Operation::Div, Vec2U32, lanes(7, kMin), lanes(0, kOnes), lanes(0, 0)},
      {Operation::Div, Vec4U32, lanes(9, 9, 9, kOnes), lanes(0, 1, 2, 10),
       lanes(0, 9, 4, 429496729)},
      {Operation::Mod, Vec4U32, lanes(9, 9, 9, kOnes), lanes(0, 1, 2, 10), lanes(0, 0, 1, 5)},
      {Operation::Shl, Vec4U32, lanes(1, 1, 1, 1), lanes(0, 31, 32, 33), lanes(1, kMin, 1, 2)},
      {Operation::Shr, Vec2U32, lanes(kMin, kMin), lanes(31, 32), lanes(1, kMin)},
      {Operation::Lt, Vec2U32, lanes(0, kMin), lanes(kOnes, 1), lanes(1, 0)},
      {Operation::Clz, Vec4U32, lanes(0, 1, kMin, kOnes), {}, lanes(32, 31, 0, 0)},
      {Operation::Ctz, Vec2U32, lanes(0, kMin), {}, lanes(32, 31)},
  };
  for (const EdgeRow& row : rows) {
    const Bits result = eval(row.op, row.type, row.a, row.b);
    EXPECT_TRUE(result == row.result) << info(row.op).name << " " << text(row.type) << show(row.a)
                                      << ", " << show(row.b) << " gives " << show(result);
  }
}

// --- Casts, row by row --------------------------------------------------------------------------

struct CastRow {
  DataType source, target;
  Bits value, result;
};

const CastRow kCastRows[] = {
    {U32, U32, lanes(42), lanes(42)},
    {U32, I32, lanes(0xFFFFFFFF), i32(-1)},
    {U32, Bool, lanes(0), lanes(0)},
    {U32, Bool, lanes(7), lanes(1)},
    {U32, U64, lanes(42), lanes(42, 0)},
    {U32, U64, lanes(kOnes), lanes(kOnes, 0)},
    {U32, U128, lanes(kOnes), lanes(kOnes, 0, 0, 0)},
    {U32, Vec2U32, lanes(5), lanes(5, 5)},
    {U32, Vec4U32, lanes(5), lanes(5, 5, 5, 5)},

    {I32, I32, i32(-1), i32(-1)},
    {I32, U32, i32(-1), lanes(0xFFFFFFFF)},
    {I32, Bool, lanes(0), lanes(0)},
    {I32, Bool, i32(-1), lanes(1)},
    {I32, U64, i32(-1), lanes(0xFFFFFFFF, 0xFFFFFFFF)},
    {I32, U64, lanes(kMin), lanes(kMin, kOnes)},
    {I32, U64, lanes(kMax), lanes(kMax, 0)},
    {I32, U128, i32(-2), lanes(0xFFFFFFFE, kOnes, kOnes, kOnes)},
    {I32, U128, lanes(kMax), lanes(kMax, 0, 0, 0)},
    {I32, Vec2U32, i32(-1), lanes(0xFFFFFFFF, 0xFFFFFFFF)},
    {I32, Vec2U32, i32(-2), lanes(0xFFFFFFFE, 0xFFFFFFFE)},
    {I32, Vec4U32, i32(-1), lanes(kOnes, kOnes, kOnes, kOnes)},
    {I32, Vec4U32, i32(-2), lanes(0xFFFFFFFE, 0xFFFFFFFE, 0xFFFFFFFE, 0xFFFFFFFE)},

    {Bool, U32, lanes(0), lanes(0)},
    {Bool, U32, lanes(1), lanes(1)},
    {Bool, I32, lanes(0), lanes(0)},
    {Bool, I32, lanes(1), lanes(1)},
    {Bool, Bool, lanes(0), lanes(0)},
    {Bool, Bool, lanes(1), lanes(1)},
    {Bool, U64, lanes(0), lanes(0, 0)},
    {Bool, U64, lanes(1), lanes(1, 0)},
    {Bool, U128, lanes(0), lanes(0, 0, 0, 0)},
    {Bool, U128, lanes(1), lanes(1, 0, 0, 0)},
    {Bool, Vec2U32, lanes(0), lanes(0, 0)},
    {Bool, Vec2U32, lanes(1), lanes(1, 1)},
    {Bool, Vec4U32, lanes(0), lanes(0, 0, 0, 0)},
    {Bool, Vec4U32, lanes(1), lanes(1, 1, 1, 1)},

    {U64, U32, lanes(0xDEAD, 0xBEEF), lanes(0xDEAD)},
    {U64, I32, lanes(0xFFFFFFFF, 0), i32(-1)},
    {U64, Bool, lanes(0, 0), lanes(0)},
    {U64, Bool, lanes(1, 0), lanes(1)},
    {U64, Bool, lanes(0, 1), lanes(1)},
    {U64, U64, lanes(3, 7), lanes(3, 7)},
    {U64, U128, lanes(3, kOnes), lanes(3, kOnes, 0, 0)},
    {U64, Vec2U32, lanes(3, 7), lanes(3, 7)},

    {Vec2U32, U32, lanes(3, 7), lanes(3)},
    {Vec2U32, I32, lanes(0xFFFFFFFF, 0), i32(-1)},
    {Vec2U32, Bool, lanes(0, 0), lanes(0)},
    {Vec2U32, Bool, lanes(0, 2), lanes(1)},
    {Vec2U32, U64, lanes(3, 7), lanes(3, 7)},
    {Vec2U32, U128, lanes(3, kOnes), lanes(3, kOnes, 0, 0)},
    {Vec2U32, Vec2U32, lanes(3, 7), lanes(3, 7)},

    {Vec4U32, U32, lanes(1, 2, 3, 4), lanes(1)},
    {Vec4U32, I32, lanes(kOnes, 2, 3, 4), i32(-1)},
    {Vec4U32, Bool, lanes(0, 0, 0, 0), lanes(0)},
    {Vec4U32, Bool, lanes(0, 0, 0, kMin), lanes(1)},
    {Vec4U32, U64, lanes(1, 2, 3, 4), lanes(1, 2)},
    {Vec4U32, U128, lanes(1, 2, 3, 4), lanes(1, 2, 3, 4)},
    {Vec4U32, Vec2U32, lanes(1, 2, 3, 4), lanes(1, 2)},
    {Vec4U32, Vec4U32, lanes(1, 2, 3, 4), lanes(1, 2, 3, 4)},

    {U128, U32, lanes(1, 2, 3, 4), lanes(1)},
    {U128, I32, lanes(kOnes, 2, 3, 4), i32(-1)},
    {U128, Bool, lanes(0, 0, 0, 0), lanes(0)},
    {U128, Bool, lanes(0, 0, 1, 0), lanes(1)},
    {U128, U64, lanes(1, 2, 3, 4), lanes(1, 2)},
    {U128, U128, lanes(1, 2, 3, 4), lanes(1, 2, 3, 4)},
    {U128, Vec2U32, lanes(1, 2, 3, 4), lanes(1, 2)},
    {U128, Vec4U32, lanes(1, 2, 3, 4), lanes(1, 2, 3, 4)},

    {Bytes, Bytes, lanes(1, 2, 3, 4), lanes(1, 2, 3, 4)},
};

TEST(EvalCast, SpecifiedRows) {
  std::map<DataType, TypeSet> seen;
  for (const CastRow& row : kCastRows) {
    ASSERT_TRUE(cast_exists(row.source, row.target)) << text(row.source) << " " << text(row.target);
    const Bits result = eval_cast(row.source, row.target, row.value);
    EXPECT_TRUE(result == row.result) << text(row.source) << show(row.value) << " to "
                                      << text(row.target) << " gives " << show(result);
    seen[row.source] |= type_set(row.target);
  }
  for (const TypeInfo& source : all_types()) {
    for (const TypeInfo& target : all_types()) {
      EXPECT_EQ(contains(seen[source.type], target.type), cast_exists(source.type, target.type))
          << "no row for " << source.text << " to " << target.text;
    }
  }
}

// The 32-bit digits of one number of a type.
unsigned digits_of(DataType type) { return info(type).width < 32 ? 1 : info(type).width / 32; }

// The digits of number n of a value.
auto number_of(DataType type, auto& bits, unsigned n) {
  return std::span(bits.lanes).subspan(n * digits_of(type), digits_of(type));
}

// --- Random values ------------------------------------------------------------------------------

class Random {
 public:
  u64 next() {
    state_ += 0x9e3779b97f4a7c15;
    u64 z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  unsigned below(unsigned n) { return static_cast<unsigned>(next() % n); }

  Bits value(DataType type) {
    Bits bits;
    if (type == Bool) {
      bits.lanes[0] = next() & 1;
      return bits;
    }
    for (unsigned n = 0; n < info(type).lanes; ++n) {
      u128 word = number(info(type).width);
      for (u32& digit : number_of(type, bits, n)) {
        digit = static_cast<u32>(word & kOnes);
        word >>= 32;
      }
    }
    return bits;
  }

 private:
  // `width` random bits with a leaning to edges.
  u128 number(unsigned width) {
    const unsigned k = below(width);
    const unsigned small = below(20);
    const u128 all = (static_cast<u128>(next()) << 64 | next()) >> (128 - width);
    const u128 one = 1;
    switch (below(10)) {
      case 0: return 0;
      case 1: return ~u128{0};
      case 2: return small;
      case 3: return u128{0} - small;
      case 4: return one << k;
      case 5: return (one << k) - 1;
      case 6: return (one << k) + 1;
      case 7: return (one << (width - 1)) - small % 2;  // where a sign would turn
      case 8: return all >> k;
      default: return all;
    }
  }

  u64 state_ = 1;
};

// --- The reference ------------------------------------------------------------------------------

// Digits to base 2^32, lowest first, as an integer; of an I32 the upper half is negative.
void to_integer(std::span<const u32> digits, DataType type, mpz_class& out) {
  mpz_import(out.get_mpz_t(), digits.size(), -1, sizeof(u32), 0, 0, digits.data());
  if (type == I32 && digits[0] >= kMin) out -= 0x1'0000'0000;
}

// The digits of an integer modulo 2^(32 digits.size()).
void to_digits(const mpz_class& integer, std::span<u32> digits) {
  static mpz_class rest;
  mpz_fdiv_r_2exp(rest.get_mpz_t(), integer.get_mpz_t(), 32 * digits.size());
  std::fill(digits.begin(), digits.end(), 0);
  mpz_export(digits.data(), nullptr, -1, sizeof(u32), 0, 0, rest.get_mpz_t());
}

// One number of each operand, as integers, and what the operation makes of them, of which the
// result's type keeps the value modulo 2^W. Variables live on between uses to save allocations.
struct Exact {
  unsigned width = 0;
  mpz_class least, greatest;  // of the operands' type
  mpz_class a, b, result, scratch;

  bool bit(unsigned i) const { return mpz_tstbit(a.get_mpz_t(), i) != 0; }
  unsigned count() const { return static_cast<unsigned>(mpz_fdiv_ui(b.get_mpz_t(), width)); }

  void multiply_by_power(const mpz_class& x, unsigned exponent) {
    mpz_mul_2exp(result.get_mpz_t(), x.get_mpz_t(), exponent);
  }
  void floor_by_power(const mpz_class& x, unsigned exponent) {
    mpz_fdiv_q_2exp(result.get_mpz_t(), x.get_mpz_t(), exponent);
  }
  void clamp() {
    if (result < least) result = least;
    if (result > greatest) result = greatest;
  }
  // a * 2^n for a number that is a circle of `width` bits: what leaves at the top comes in below.
  void rotate(unsigned n) {
    multiply_by_power(a, n);
    mpz_fdiv_q_2exp(scratch.get_mpz_t(), result.get_mpz_t(), width);
    result += scratch;
  }
};

const std::map<Operation, void (*)(Exact&)> kReference = {
    {Operation::Negate, [](Exact& e) { e.result = -e.a; }},
    {Operation::BitNot, [](Exact& e) { e.result = e.greatest + e.least - e.a; }},
    {Operation::LogicalNot, [](Exact& e) { e.result = e.a == 0; }},
    {Operation::Popcount,
     [](Exact& e) {
       unsigned n = 0;
       for (unsigned i = 0; i < e.width; ++i) n += e.bit(i);
       e.result = n;
     }},
    {Operation::Clz,
     [](Exact& e) {
       unsigned n = 0;
       while (n < e.width && !e.bit(e.width - 1 - n)) ++n;
       e.result = n;
     }},
    {Operation::Ctz,
     [](Exact& e) {
       unsigned n = 0;
       while (n < e.width && !e.bit(n)) ++n;
       e.result = n;
     }},
    {Operation::ReverseBits,
     [](Exact& e) {
       e.result = 0;
       for (unsigned i = 0; i < e.width; ++i) {
         if (e.bit(i)) mpz_setbit(e.result.get_mpz_t(), e.width - 1 - i);
       }
     }},
    {Operation::Or, [](Exact& e) { e.result = e.a != 0 || e.b != 0; }},
    {Operation::And, [](Exact& e) { e.result = e.a != 0 && e.b != 0; }},
    {Operation::Eq, [](Exact& e) { e.result = e.a == e.b; }},
    {Operation::Ne, [](Exact& e) { e.result = e.a != e.b; }},
    {Operation::Lt, [](Exact& e) { e.result = e.a < e.b; }},
    {Operation::Gt, [](Exact& e) { e.result = e.a > e.b; }},
    {Operation::Le, [](Exact& e) { e.result = e.a <= e.b; }},
    {Operation::Ge, [](Exact& e) { e.result = e.a >= e.b; }},
    {Operation::BitOr, [](Exact& e) { e.result = e.a | e.b; }},
    {Operation::BitXor, [](Exact& e) { e.result = e.a ^ e.b; }},
    {Operation::BitAnd, [](Exact& e) { e.result = e.a & e.b; }},
    {Operation::Shl, [](Exact& e) { e.multiply_by_power(e.a, e.count()); }},
    {Operation::Shr, [](Exact& e) { e.floor_by_power(e.a, e.count()); }},
    {Operation::Add, [](Exact& e) { e.result = e.a + e.b; }},
    {Operation::Sub, [](Exact& e) { e.result = e.a - e.b; }},
    {Operation::Mul, [](Exact& e) { e.result = e.a * e.b; }},
    {Operation::Div,
     [](Exact& e) {
       e.result = 0;
       if (e.b != 0) mpz_tdiv_q(e.result.get_mpz_t(), e.a.get_mpz_t(), e.b.get_mpz_t());
     }},
    {Operation::Mod,
     [](Exact& e) {
       e.result = 0;
       if (e.b != 0) mpz_tdiv_r(e.result.get_mpz_t(), e.a.get_mpz_t(), e.b.get_mpz_t());
     }},
    {Operation::Min, [](Exact& e) { e.result = e.a < e.b ? e.a : e.b; }},
    {Operation::Max, [](Exact& e) { e.result = e.a > e.b ? e.a : e.b; }},
    {Operation::AbsDiff,
     [](Exact& e) {
       e.result = e.a - e.b;
       mpz_abs(e.result.get_mpz_t(), e.result.get_mpz_t());
     }},
    {Operation::MulHigh,
     [](Exact& e) {
       e.scratch = e.a * e.b;
       e.floor_by_power(e.scratch, e.width);
     }},
    {Operation::AddSat,
     [](Exact& e) {
       e.result = e.a + e.b;
       e.clamp();
     }},
    {Operation::SubSat,
     [](Exact& e) {
       e.result = e.a - e.b;
       e.clamp();
     }},
    {Operation::RotateLeft, [](Exact& e) { e.rotate(e.count()); }},
    {Operation::RotateRight, [](Exact& e) { e.rotate(e.width - e.count()); }},
};

// For each operation, over all of its types.
const auto kVectors = static_cast<unsigned>(cases(400'000, 1'000'000));

void check_operation(const OperationInfo& row, DataType type, unsigned vectors, Random& random) {
  const auto reference = kReference.find(row.op);
  ASSERT_NE(reference, kReference.end()) << row.name << " has no reference";
  const DataType second = second_operand(row.op, type);
  const DataType result = result_of(row.op, type);

  Exact exact;
  exact.width = info(type).width;
  const mpz_class size = mpz_class(1) << exact.width;
  exact.least = type == I32 ? mpz_class(-size / 2) : mpz_class(0);
  exact.greatest = exact.least + size - 1;

  for (unsigned i = 0; i < vectors; ++i) {
    const Bits a = random.value(type);
    const Bits b = second == type && random.below(8) == 0 ? a : random.value(second);
    Bits expected;
    for (unsigned n = 0; n < info(type).lanes; ++n) {
      to_integer(number_of(type, a, n), type, exact.a);
      to_integer(number_of(second, b, n), second, exact.b);
      reference->second(exact);
      to_digits(exact.result, number_of(result, expected, n));
    }
    const Bits actual = eval(row.op, type, a, b);
    ASSERT_TRUE(actual == expected) << row.name << " " << text(type) << show(a) << ", " << show(b)
                                    << " gives " << show(actual) << ", not " << show(expected);
  }
}

TEST(Eval, RandomVectorsAgainstIntegers) {
  Random random;
  for (const OperationInfo& row : all_operations()) {
    if (is_form(row.op)) continue;
    const auto types = static_cast<unsigned>(std::popcount(row.types));
    ASSERT_GT(types, 0u) << row.name;
    for (const TypeInfo& type : all_types()) {
      if (!contains(row.types, type.type)) continue;
      ASSERT_NO_FATAL_FAILURE(check_operation(row, type.type, kVectors / types + 1, random));
    }
  }
}

// A value is one integer, of which a vector's lanes are the digits. A cast keeps it modulo what
// the target can hold, but Bool asks whether it is zero and a vector repeats a single digit.
Bits exact_cast(DataType source, DataType target, const Bits& value) {
  static mpz_class integer;
  const unsigned source_digits = words(source);
  const unsigned target_digits = words(target);
  Bits result;
  to_integer({value.lanes.data(), source_digits}, source, integer);
  if (target == Bool) {
    result.lanes[0] = integer != 0;
  } else if (is_vector(target) && source_digits == 1) {
    for (unsigned i = 0; i < target_digits; ++i) to_digits(integer, {&result.lanes[i], 1});
  } else {
    to_digits(integer, {result.lanes.data(), target_digits});
  }
  return result;
}

TEST(EvalCast, RandomVectorsAgainstIntegers) {
  Random random;
  for (const TypeInfo& source : all_types()) {
    for (const TypeInfo& target : all_types()) {
      if (source.type == Bytes || !cast_exists(source.type, target.type)) continue;
      for (unsigned i = 0; i < kVectors / 20; ++i) {
        const Bits value = random.value(source.type);
        const Bits expected = exact_cast(source.type, target.type, value);
        const Bits actual = eval_cast(source.type, target.type, value);
        ASSERT_TRUE(actual == expected) << source.text << show(value) << " to " << target.text
                                        << " gives " << show(actual) << ", not " << show(expected);
      }
    }
  }
}

// --- Atomics ------------------------------------------------------------------------------------

TEST(EvalAtomic, EdgeRows) {
  EXPECT_EQ(eval_atomic(AtomicOp::Add, U32, kOnes, 0, 1), 0u);
  EXPECT_EQ(eval_atomic(AtomicOp::Add, I32, kMax, 0, 1), kMin);
  EXPECT_EQ(eval_atomic(AtomicOp::And, U32, 0xFF00, 0, 0x0FF0), 0x0F00u);
  EXPECT_EQ(eval_atomic(AtomicOp::Or, U32, 0xFF00, 0, 0x00FF), 0xFFFFu);
  EXPECT_EQ(eval_atomic(AtomicOp::Xor, U32, 0xFF, 0, 0x0F), 0xF0u);
  EXPECT_EQ(eval_atomic(AtomicOp::Min, U32, 1, 0, kOnes), 1u);
  EXPECT_EQ(eval_atomic(AtomicOp::Min, I32, 1, 0, kOnes), kOnes);
  EXPECT_EQ(eval_atomic(AtomicOp::Max, U32, 1, 0, kOnes), kOnes);
  EXPECT_EQ(eval_atomic(AtomicOp::Max, I32, 1, 0, kOnes), 1u);
  EXPECT_EQ(eval_atomic(AtomicOp::Exchange, U32, 1, 1, 2), 2u);
  EXPECT_EQ(eval_atomic(AtomicOp::Exchange, U32, 1, 7, 2), 2u);
  EXPECT_EQ(eval_atomic(AtomicOp::CompareExchange, U32, 1, 1, 2), 2u);
  EXPECT_EQ(eval_atomic(AtomicOp::CompareExchange, U32, 1, 7, 2), 1u);
  EXPECT_EQ(eval_atomic(AtomicOp::Load, U32, 1, 1, 2), 1u);
  EXPECT_EQ(eval_atomic(AtomicOp::Store, U32, 1, 7, 2), 2u);
}

struct ExactAtomic {
  mpz_class old, expected, value, left;
};

const std::map<AtomicOp, void (*)(ExactAtomic&)> kAtomicReference = {
    {AtomicOp::Add, [](ExactAtomic& e) { e.left = e.old + e.value; }},
    {AtomicOp::And, [](ExactAtomic& e) { e.left = e.old & e.value; }},
    {AtomicOp::Or, [](ExactAtomic& e) { e.left = e.old | e.value; }},
    {AtomicOp::Xor, [](ExactAtomic& e) { e.left = e.old ^ e.value; }},
    {AtomicOp::Min, [](ExactAtomic& e) { e.left = e.value < e.old ? e.value : e.old; }},
    {AtomicOp::Max, [](ExactAtomic& e) { e.left = e.value > e.old ? e.value : e.old; }},
    {AtomicOp::Exchange, [](ExactAtomic& e) { e.left = e.value; }},
    {AtomicOp::CompareExchange,
     [](ExactAtomic& e) { e.left = e.old == e.expected ? e.value : e.old; }},
    {AtomicOp::Load, [](ExactAtomic& e) { e.left = e.old; }},
    {AtomicOp::Store, [](ExactAtomic& e) { e.left = e.value; }},
};

TEST(EvalAtomic, RandomVectorsAgainstIntegers) {
  Random random;
  ExactAtomic exact;
  for (const AtomicInfo& row : all_atomics()) {
    const auto reference = kAtomicReference.find(row.op);
    ASSERT_NE(reference, kAtomicReference.end()) << row.text << " has no reference";
    for (DataType type : {U32, I32}) {
      for (unsigned i = 0; i < kVectors / 10; ++i) {
        const u32 old = random.value(type).lanes[0];
        const u32 expected = random.below(2) == 0 ? old : random.value(type).lanes[0];
        const u32 value = random.value(type).lanes[0];
        to_integer({&old, 1}, type, exact.old);
        to_integer({&expected, 1}, type, exact.expected);
        to_integer({&value, 1}, type, exact.value);
        reference->second(exact);
        u32 left = 0;
        to_digits(exact.left, {&left, 1});
        ASSERT_EQ(eval_atomic(row.op, type, old, expected, value), left)
            << row.text << " " << text(type) << " " << old << ", " << expected << ", " << value;
      }
    }
  }
}

}  // namespace
}  // namespace vyre
