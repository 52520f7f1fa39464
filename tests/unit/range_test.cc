// The transfer functions of ranges against what the operations do to numbers: at 8 bits to all the
// numbers of a range, at 32 and 64 to some. And that they say no less than the passes count on.
#include "vyre/passes/range.h"
#include "tests/support/build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "vyre/base/random.h"
#include "vyre/ir/eval.h"

namespace vyre {

std::string show(const Range& a) {
  const auto text = [](std::uint64_t number) { return std::to_string(number); };
  return "[" + text(a.lo) + ", " + text(a.hi) + "] zeros " + text(a.zeros) + " ones " +
         text(a.ones) + " width " + text(a.width);
}

// GoogleTest looks for this beside the type.
void PrintTo(const Range& a, std::ostream* out) { *out << show(a); }  // NOLINT

namespace {

using u8 = std::uint8_t;
using u64 = std::uint64_t;

struct Case {
  const OperationInfo& row;
  bool is_signed;
};

std::string show(const Case& c, const Range& a, const Range& b) {
  return std::string(c.row.name) + (c.is_signed ? " signed of " : " of ") + show(a) + " and " +
         show(b);
}

// Each operation, once without sign and once with where i32 has it.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const OperationInfo& row : all_operations()) {
    if (row.signature == Signature::Form) continue;
    all.push_back({row, false});
    if (contains(row.types, DataType::I32)) all.push_back({row, true});
  }
  return all;
}

bool is_unary(const Case& c) { return c.row.arity == 1; }

using Table = std::array<std::array<u8, 256>, 256>;

Table table_of(const Case& c) {
  Table table;
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      table[a][b] = eval_byte(c.row.op, c.is_signed, static_cast<u8>(a), static_cast<u8>(b));
    }
  }
  return table;
}

// The least range with some values.
struct Hull {
  u64 lo = ~u64{0}, hi = 0, all = ~u64{0}, some = 0;

  void add(u64 value) {
    lo = std::min(lo, value);
    hi = std::max(hi, value);
    all &= value;
    some |= value;
  }
  void add(const Hull& other) {
    lo = std::min(lo, other.lo);
    hi = std::max(hi, other.hi);
    all &= other.all;
    some |= other.some;
  }
  bool within(const Range& a) const {
    return a.lo <= lo && hi <= a.hi && (some & a.zeros) == 0 && (~all & a.ones) == 0;
  }
  Range range(unsigned width) const {
    const u64 mask = any(width).hi;
    return {lo, hi, ~some & mask, all & mask, static_cast<u8>(width)};
  }
};

Range hull_of(unsigned width, std::span<const u64> values) {
  Hull hull;
  for (const u64 value : values) hull.add(value);
  return hull.range(width);
}

// --- Operations on 8 bits -----------------------------------------------------------------------

// All intervals with ends among some numbers. These cut the line into pieces, each of them and each
// gap beside it; what an operation gives for two pieces is computed once, and for two intervals it
// is put together from there. Calls `check` with the operands and the hull of all results.
template <class Check>
void for_intervals(const Table& table, std::span<const u64> edges, bool unary, const Check& check) {
  constexpr u64 kZero[] = {0};
  const std::span<const u64> others = unary ? std::span<const u64>(kZero) : edges;
  const auto first = [](std::span<const u64> of, std::size_t piece) {
    return of[piece / 2] + piece % 2;
  };
  const auto end = [](std::span<const u64> of, std::size_t piece) {
    return piece % 2 == 0 ? of[piece / 2] + 1 : of[piece / 2 + 1];
  };
  const std::size_t across = 2 * others.size() - 1;
  std::vector<std::vector<Hull>> pieces(2 * edges.size() - 1, std::vector<Hull>(across));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t k = 0; k < across; ++k) {
      for (u64 a = first(edges, i); a < end(edges, i); ++a) {
        for (u64 b = first(others, k); b < end(others, k); ++b) pieces[i][k].add(table[a][b]);
      }
    }
  }
  std::vector<Range> ranges(edges.size() * edges.size());
  for (std::size_t k = 0; k < edges.size(); ++k) {
    for (std::size_t l = k; l < edges.size(); ++l) {
      ranges[k * edges.size() + l] = between(8, edges[k], edges[l]);
    }
  }
  std::vector<Hull> row;
  for (std::size_t i = 0; i < pieces.size(); i += 2) {
    row.assign(across, Hull{});
    for (std::size_t j = i; j < pieces.size(); ++j) {
      for (std::size_t k = 0; k < across; ++k) row[k].add(pieces[j][k]);
      if (j % 2 != 0) continue;
      const Range& a = ranges[i / 2 * edges.size() + j / 2];
      for (std::size_t k = 0; k < across; k += 2) {
        Hull hull;
        for (std::size_t l = k; l < across; ++l) {
          hull.add(row[l]);
          if (l % 2 != 0) continue;
          const Range& b = unary ? ranges[0] : ranges[k / 2 * edges.size() + l / 2];
          if (!check(a, b, hull)) return;
        }
      }
    }
  }
}

// Where the least interval that holds all results of two intervals is found.
bool is_exact(const Case& c) {
  switch (c.row.op) {
    case Operation::Negate:
    case Operation::BitNot:
    case Operation::LogicalNot:
    case Operation::Clz:
    case Operation::Ctz:
    case Operation::Or:
    case Operation::And:
    case Operation::Eq:
    case Operation::Ne:
    case Operation::Lt:
    case Operation::Gt:
    case Operation::Le:
    case Operation::Ge:
    case Operation::Shr:
    case Operation::Add:
    case Operation::Sub:
    case Operation::Min:
    case Operation::Max:
    case Operation::AbsDiff:
    case Operation::MulHigh:
    case Operation::AddSat:
    case Operation::SubSat: return true;
    case Operation::Div: return !c.is_signed;
    case Operation::Popcount:
    case Operation::ReverseBits:
    case Operation::BitOr:
    case Operation::BitXor:
    case Operation::BitAnd:
    case Operation::Shl:
    case Operation::Mul:
    case Operation::Mod:
    case Operation::RotateLeft:
    case Operation::RotateRight:
#define FORM(name, ...) case Operation::name:
#include "vyre/ir/ops.def"
      return false;
  }
  return false;
}

TEST(Range, HoldsTheResultsOfIntervals) {
  // Around 0 and powers of two, and the same below 0.
  constexpr u64 kNear[] = {0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 64, 127};
  std::vector<u64> edges;
  for (u64 i = 0; i < 128; ++i) {
    if (std::ranges::count(kNear, i) > 0 || (is_long() && i % 6 == 5)) edges.push_back(i);
  }
  for (std::size_t i = edges.size(); i-- > 0;) edges.push_back(255 - edges[i]);

  for (const Case& c : cases()) {
    const Table table = table_of(c);
    const bool exact = is_exact(c);
    for_intervals(table, edges, is_unary(c), [&](const Range& a, const Range& b, const Hull& hull) {
      const Range result = apply(c.row.op, c.is_signed, a, b);
      if (!hull.within(result)) {
        ADD_FAILURE() << show(c, a, b) << " gives " << show(result);
        return false;
      }
      if (exact && (result.lo != hull.lo || result.hi != hull.hi)) {
        ADD_FAILURE() << show(c, a, b) << " could be closer than " << show(result);
        return false;
      }
      return true;
    });
  }
}

// A range with some numbers in it; few of them, so that many bits are known.
Range some_range(Random& random, unsigned width, std::vector<u64>& members) {
  const u64 mask = any(width).hi;
  members.clear();
  const unsigned shift = random.below(width);
  for (u64 count = 1 + random.below(5); count > 0; --count) {
    u64 value = random.next();
    if (random.one_in(3)) value >>= 64 - width + shift;
    if (random.one_in(3)) value <<= shift;
    if (random.one_in(8)) value = u64{1} << random.below(width);
    if (random.one_in(8)) value = 0 - value;
    members.push_back(value & mask);
  }
  return hull_of(width, members);
}

// All members of a range of 8 bits.
std::vector<u64> members_of(const Range& a) {
  std::vector<u64> members;
  for (u64 value = 0; value < 256; ++value) {
    if (contains(a, value)) members.push_back(value);
  }
  return members;
}

TEST(Range, HoldsTheResultsOfKnownBits) {
  Random random(1);
  std::vector<u64> unused;
  for (const Case& c : cases()) {
    const Table table = table_of(c);
    for (int round = is_long() ? 8'000 : 200; round > 0; --round) {
      const Range a = some_range(random, 8, unused);
      const Range b = some_range(random, 8, unused);
      const Range result = apply(c.row.op, c.is_signed, a, b);
      ASSERT_EQ(normalise(result), result) << show(c, a, b);
      const std::vector<u64> others = members_of(b);
      Hull hull;
      for (const u64 x : members_of(a)) {
        for (const u64 y : others) hull.add(table[x][y]);
      }
      ASSERT_TRUE(hull.within(result)) << show(c, a, b) << " gives " << show(result);
    }
  }
}

// --- Sets ---------------------------------------------------------------------------------------

// Intervals and bits that need not fit each other, and the numbers that satisfy both.
TEST(Range, NormalisesToTheLeastRange) {
  Random random(2);
  for (int round = is_long() ? 200'000 : 10'000; round > 0; --round) {
    Range a = any(8);
    a.lo = random.below(256);
    a.hi = random.below(256);
    a.zeros = random.below(256) & random.below(256);
    a.ones = random.below(256) & random.below(256);
    const std::vector<u64> members = members_of(a);
    const std::optional<Range> result = normalise(a);
    if (members.empty()) {
      ASSERT_EQ(result, std::nullopt) << show(a);
    } else {
      ASSERT_EQ(result, hull_of(8, members)) << show(a);
    }
  }
}

TEST(Range, MeetsAndJoins) {
  Random random(3);
  std::vector<u64> unused;
  for (int round = is_long() ? 200'000 : 10'000; round > 0; --round) {
    const Range a = some_range(random, 8, unused);
    const Range b = some_range(random, 8, unused);
    std::vector<u64> in_both;
    std::vector<u64> in_one = members_of(a);
    for (const u64 value : members_of(b)) {
      if (contains(a, value)) in_both.push_back(value);
      in_one.push_back(value);
    }
    ASSERT_EQ(join(a, b), hull_of(8, in_one)) << show(a) << show(b);
    const std::optional<Range> both = meet(a, b);
    ASSERT_EQ(both.has_value(), !in_both.empty()) << show(a) << show(b);
    if (both) {
      ASSERT_EQ(*both, hull_of(8, in_both)) << show(a) << show(b);
    }
  }
}

TEST(Range, KnowsWhichTypesItCovers) {
  EXPECT_EQ(any(DataType::U32), between(32, 0, 0xFFFFFFFF));
  EXPECT_EQ(any(DataType::I32), any(DataType::U32));
  EXPECT_EQ(any(DataType::Bool), between(32, 0, 1));
  EXPECT_EQ(any(DataType::U64), Range{});
  for (const DataType type : {DataType::U128, DataType::Vec2U32, DataType::Vec4U32}) {
    EXPECT_EQ(range_width(type), 0u);
    EXPECT_FALSE(is_constant(any(type)));
    EXPECT_EQ(apply(Operation::Eq, false, any(type), any(type)), any(type));
  }
  EXPECT_EQ(apply(Operation::Load, false, any(32)), any(32));
}

// --- Wider numbers ------------------------------------------------------------------------------

Bits bits_of(u64 value) {
  return {{static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)}};
}
u64 number_of(const Bits& bits) { return bits.lanes[0] | u64{bits.lanes[1]} << 32; }

TEST(Range, HoldsTheResultsOfWideNumbers) {
  Random random(4);
  std::vector<u64> x;
  std::vector<u64> y;
  for (const OperationInfo& row : all_operations()) {
    if (row.signature == Signature::Form) continue;
    for (const DataType type : {DataType::U32, DataType::I32, DataType::U64}) {
      if (!contains(row.types, type)) continue;
      const Case c{row, type == DataType::I32};
      for (int round = is_long() ? 100'000 : 4'000; round > 0; --round) {
        const Range a = some_range(random, range_width(type), x);
        const Range b = some_range(random, range_width(second_operand(row.op, type)), y);
        const Range result = apply(row.op, c.is_signed, a, b);
        ASSERT_EQ(result.width, range_width(result_of(row.op, type)));
        for (const u64 v : x) {
          for (const u64 w : y) {
            const u64 value = number_of(eval(row.op, type, bits_of(v), bits_of(w)));
            ASSERT_TRUE(contains(result, value))
                << show(c, a, b) << " gives " << show(result) << ", not " << value;
          }
        }
      }
    }
  }
}

TEST(Range, HoldsWhatIsCast) {
  using enum DataType;
  Random random(5);
  std::vector<u64> x;
  for (const DataType source : {U32, I32, Bool, U64, U128, Vec2U32}) {
    for (const DataType target : {U32, I32, Bool, U64, U128, Vec2U32}) {
      if (!cast_exists(source, target)) continue;
      for (int round = is_long() ? 100'000 : 1'000; round > 0; --round) {
        Range a = any(source);
        if (source == U128 || source == Vec2U32) {
          x = {random.next()};
        } else {
          a = some_range(random, range_width(source), x);
        }
        const Range result = cast_range(source, target, a);
        ASSERT_EQ(result.width, range_width(target));
        for (const u64 v : x) {
          const u64 value = number_of(eval_cast(source, target, bits_of(v)));
          ASSERT_TRUE(contains(result, value))
              << text(source) << " " << show(a) << " as " << text(target) << " gives "
              << show(result) << ", not " << value;
        }
      }
    }
  }
  const Range minus = between(32, 0xFFFFFFF0, 0xFFFFFFFE);
  EXPECT_EQ(cast_range(I32, U64, minus), between(64, ~u64{0xF}, ~u64{1}));
  EXPECT_EQ(cast_range(U32, U64, minus), between(64, 0xFFFFFFF0, 0xFFFFFFFE));
  EXPECT_EQ(cast_range(U64, U32, between(64, 0x100000003, 0x100000009)), between(32, 3, 9));
  EXPECT_EQ(cast_range(U32, Bool, between(32, 5, 9)), constant(32, 1));
  EXPECT_EQ(cast_range(U64, Bool, constant(64, 0)), constant(32, 0));
  EXPECT_EQ(cast_range(Bool, U64, any(Bool)), between(64, 0, 1));
}

// --- Comparisons --------------------------------------------------------------------------------

constexpr Operation kComparisons[] = {Operation::Eq, Operation::Ne, Operation::Lt,
                                      Operation::Gt, Operation::Le, Operation::Ge};

TEST(Range, RefinesToTheLeastRange) {
  Random random(6);
  std::vector<u64> unused;
  for (int round = is_long() ? 20'000 : 1'000; round > 0; --round) {
    const Range a = some_range(random, 8, unused);
    const Range b = random.one_in(2) ? some_range(random, 8, unused) : constant(8, random.next());
    const std::vector<u64> others = members_of(b);
    for (const Operation op : kComparisons) {
      for (const bool is_signed : {false, true}) {
        Hull hull;
        for (const u64 x : members_of(a)) {
          for (const u64 y : others) {
            const bool holds =
                eval_byte(op, is_signed, static_cast<u8>(x), static_cast<u8>(y)) != 0;
            if (!holds) continue;
            hull.add(x);
            break;
          }
        }
        const std::optional<Range> result = refine(op, is_signed, a, b);
        const bool possible = hull.lo <= hull.hi;
        ASSERT_EQ(result.has_value(), possible) << show({info(op), is_signed}, a, b);
        if (possible) {
          ASSERT_TRUE(hull.within(*result)) << show({info(op), is_signed}, a, b);
          // To be without a number in the middle may tell bits too, but is not worth the search.
          const Range least = op == Operation::Ne ? between(8, hull.lo, hull.hi) : hull.range(8);
          ASSERT_EQ(meet(*result, least), result) << show({info(op), is_signed}, a, b);
        }
      }
    }
  }
}

TEST(Range, NegatesAndSwapsComparisons) {
  for (const Operation op : kComparisons) {
    for (u8 a = 0; a < 4; ++a) {
      for (u8 b = 0; b < 4; ++b) {
        EXPECT_NE(eval_byte(op, false, a, b), eval_byte(negated(op), false, a, b));
        EXPECT_EQ(eval_byte(op, false, a, b), eval_byte(swapped(op), false, b, a));
      }
    }
  }
}

// --- What the passes count on -------------------------------------------------------------------

// A multiple of a power of two, from lo to hi.
Range multiples(u64 of, u64 lo, u64 hi) { return *normalise({lo, hi, of - 1, 0, 32}); }

TEST(Range, IsPrecise) {
  using enum Operation;
  const Range all = any(32);
  const Range id = between(32, 0, 63);
  const Range minus_one = constant(32, 0xFFFFFFFF);
  const Range byte = between(32, 0, 255);
  const auto is = [](u64 value) { return constant(32, value); };
  const auto from = [](u64 lo, u64 hi) { return between(32, lo, hi); };
  const struct {
    Operation op;
    bool is_signed;
    Range a, b, result;
  } rows[] = {
      {Add, false, id, is(64), from(64, 127)},
      {Add, false, from(5, 9), minus_one, from(4, 8)},  // wraps at both ends
      {Add, false, multiples(16, 0, 4080), is(3), *normalise({3, 4083, 12, 3, 32})},
      {Sub, false, from(64, 127), is(64), id},
      {Sub, false, is(0), from(1, 5), from(0xFFFFFFFB, 0xFFFFFFFF)},
      {Mul, false, id, is(16), multiples(16, 0, 1008)},
      {Mul, false, all, is(16), multiples(16, 0, 0xFFFFFFF0)},
      {Mul, false, from(3, 5), from(7, 9), from(21, 45)},
      {Mul, true, from(1, 10), is(0xFFFFFFFC), *normalise({0xFFFFFFD8, 0xFFFFFFFC, 3, 0, 32})},
      {Div, false, from(100, 200), is(10), from(10, 20)},
      {Div, false, from(100, 200), from(0, 10), from(0, 200)},
      {Div, false, all, is(16), from(0, 0x0FFFFFFF)},
      {Div, true, from(0xFFFFFF9C, 0xFFFFFFCE), is(10), from(0xFFFFFFF6, 0xFFFFFFFB)},
      {Div, true, is(0x80000000), minus_one, is(0x80000000)},
      {Mod, false, all, is(10), from(0, 9)},
      {Mod, false, id, is(64), id},
      {Mod, false, from(64, 127), is(64), id},
      {Mod, false, multiples(4, 0, 0xFFFFFFFC), is(64), multiples(4, 0, 60)},
      {Mod, true, from(0, 100), is(0xFFFFFFF6), from(0, 9)},
      {BitAnd, false, all, is(255), byte},
      {BitAnd, false, all, is(0xF0), multiples(16, 0, 0xF0)},
      {BitAnd, false, all, from(0, 9), from(0, 9)},
      {BitAnd, false, from(259, 265), is(255), from(3, 9)},
      {BitAnd, false, is(255), from(259, 265), from(3, 9)},
      {BitOr, false, multiples(64, 0, 4032), id, from(0, 4095)},
      {BitOr, false, all, is(0xFFFFFF00), from(0xFFFFFF00, 0xFFFFFFFF)},
      {BitOr, false, from(0, 4), from(0, 2), from(0, 6)},
      {BitXor, false, id, is(64), from(64, 127)},
      {BitNot, false, byte, all, from(0xFFFFFF00, 0xFFFFFFFF)},
      {Shl, false, id, is(4), multiples(16, 0, 1008)},
      {Shl, false, is(1), from(0, 4), from(1, 16)},
      {Shr, false, all, is(24), byte},
      {Shr, false, all, from(24, 31), byte},
      {Shr, false, all, is(32), all},  // a count is taken modulo the width
      {Shr, true, from(0x80000000, 0xFFFFFFFF), is(31), minus_one},
      {RotateLeft, false, id, is(8), multiples(256, 0, 0x3F00)},
      {ReverseBits, false, byte, all, multiples(1 << 24, 0, 0xFF000000)},
      {Min, false, all, is(63), id},
      {Max, true, all, is(0), from(0, 0x7FFFFFFF)},
      {Lt, false, id, is(64), is(1)},
      {Lt, true, minus_one, id, is(1)},
      {Lt, true, all, is(0x80000000), is(0)},
      {Ge, false, all, is(0), is(1)},
      {Eq, false, multiples(2, 0, 100), is(5), is(0)},
      {Ne, false, id, from(64, 70), is(1)},
      {LogicalNot, false, from(1, 5), all, is(0)},
      {AddSat, false, from(0xFFFFFFF0, 0xFFFFFFF8), is(16), minus_one},
      {AddSat, true, from(0x7FFFFFF0, 0x7FFFFFFF), id, from(0x7FFFFFF0, 0x7FFFFFFF)},
      {SubSat, false, byte, is(250), from(0, 5)},
      {AbsDiff, false, id, is(10), from(0, 53)},
      {MulHigh, false, all, is(16), from(0, 15)},
      {Popcount, false, byte, all, from(0, 8)},
      {Popcount, false, all, all, from(0, 32)},
      {Clz, false, byte, all, from(24, 32)},
      {Ctz, false, multiples(8, 8, 56), all, from(3, 5)},
      {Negate, false, from(1, 5), all, from(0xFFFFFFFB, 0xFFFFFFFF)},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(apply(row.op, row.is_signed, row.a, row.b), row.result)
        << show({info(row.op), row.is_signed}, row.a, row.b);
  }
  EXPECT_EQ(apply(Shr, false, any(64), is(40)), between(64, 0, (1 << 24) - 1));
  EXPECT_EQ(apply(Popcount, false, any(64)), from(0, 64));
  EXPECT_EQ(apply(MulHigh, false, any(64), constant(64, 16)), between(64, 0, 15));
}

}  // namespace
}  // namespace vyre
