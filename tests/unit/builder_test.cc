// The builder makes the same programs as the text, and reports misuse instead of crashing.
#include "vyre/build/builder.h"
#include "tests/support/must.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "vyre/compile.h"
#include "vyre/runtime/dispatch.h"
#include "vyre/text/parse.h"
#include "vyre/text/print.h"
#include "vyre/validate/validate.h"
#include "vyre/wire/wire.h"

namespace vyre {
namespace {

using namespace types;

std::string messages(const std::vector<Diagnostic>& diagnostics) {
  std::string all;
  for (const Diagnostic& diagnostic : diagnostics) all += render(diagnostic);
  return all;
}

template <class Item>
void expect_same(const Result<Item>& built, std::string_view text) {
  ASSERT_TRUE(built.ok()) << messages(built.diagnostics());
  const Result<Module> parsed = parse(text);
  ASSERT_TRUE(parsed.ok()) << messages(parsed.diagnostics());
  const Module module{{*built}};
  EXPECT_EQ(module, *parsed) << print(*built);
  EXPECT_EQ(print(*built), print(*parsed));
  EXPECT_EQ(digest(module), digest(*parsed));
  EXPECT_EQ(*decode(*encode(module)), *parsed);
}

// --- The same programs ---------------------------------------------------------------------------

TEST(Builder, MakesTheExampleOfItsHeader) {
  Builder b("xor", {64});
  auto lhs = b.read<u32>("lhs"), rhs = b.read<u32>("rhs");
  auto out = b.read_write<u32>("out");
  auto i = b.invocation_id(0);
  b.if_(i < out.length(), [&] { out[i] = lhs[i] ^ rhs[i]; });
  const Result<Linked> program = b.finish();
  expect_same(program, R"(program xor workgroup(64) {
    read lhs: u32[] @0
    read rhs: u32[] @1
    read_write out: u32[] @2
    if invocation_id.x < len(out) { out[invocation_id.x] = lhs[invocation_id.x] ^ rhs[invocation_id.x] }
  })");
  EXPECT_TRUE(validate(*program).empty());
}

TEST(Builder, DeclaresEveryKindOfBuffer) {
  Builder b("p", {8, 4, 2});
  b.read<vec2u32>("a");
  b.read_write<vec4u32>("c", 3);
  b.uniform<i32>("d", 16);
  b.workgroup<boolean>("e", 64);
  b.read<bytes>("f");
  b.read_write<u128>("g");
  b.add_buffer("h", BufferAccess::ReadOnly, DataType::U64, 0);
  expect_same(b.finish(), R"(program p workgroup(8, 4, 2) {
    read a: vec2u32[] @0
    read_write c: vec4u32[3] @1
    uniform d: i32[16] @2
    workgroup e: bool[64]
    read f: bytes @3
    read_write g: u128[] @4
    read h: u64[] @5
  })");
}

TEST(Builder, HasEveryOperator) {
  Builder b("p", {1});
  const Value a = b.let("a", b.invocation_id(0));
  const Value c = b.let("c", b.invocation_id(1));
  b.let(-a);
  b.let(~a);
  b.let(!a);
  b.let(a + c);
  b.let(a - c);
  b.let(a * c);
  b.let(a / c);
  b.let(a % c);
  b.let(a & c);
  b.let(a | c);
  b.let(a ^ c);
  b.let(a << c);
  b.let(a >> c);
  b.let(a == c);
  b.let(a != c);
  b.let(a < c);
  b.let(a > c);
  b.let(a <= c);
  b.let(a >= c);
  b.let(a && c);
  b.let(a || c);
  expect_same(b.finish(), R"(program p workgroup(1) {
    let a = invocation_id.x  let c = invocation_id.y
    let v0 = -a  let v1 = ~a  let v2 = !a
    let v3 = a + c  let v4 = a - c  let v5 = a * c  let v6 = a / c  let v7 = a % c
    let v8 = a & c  let v9 = a | c  let v10 = a ^ c  let v11 = a << c  let v12 = a >> c
    let v13 = a == c  let v14 = a != c  let v15 = a < c  let v16 = a > c
    let v17 = a <= c  let v18 = a >= c  let v19 = a && c  let v20 = a || c
  })");
}

// Functions are declared from the table; this calls each of them by its name.
TEST(Builder, HasEveryFunction) {
  Builder b("p", {1});
  const Value a = b.let("a", b.local_id(2));
  std::string text = "program p workgroup(1) {\n  let a = local_id.z\n";
#define UNARY_FN(name, function, ...) \
  b.let(#function, function(a));      \
  text += "  let " #function " = " #function "(a)\n";
#define BINARY_FN(name, function, ...) \
  b.let(#function, function(a, 3));    \
  text += "  let " #function " = " #function "(a, 3)\n";
#include "vyre/ir/ops.def"
  expect_same(b.finish(), text + "}");
}

TEST(Builder, AppliesAnyOperation) {
  for (const OperationInfo& row : all_operations()) {
    if (is_form(row.op)) continue;
    for (const TypeInfo& type : all_types()) {
      if (!contains(row.types, type.type)) continue;
      Builder b("p", {1});
      const Buffer data = b.add_buffer("data", BufferAccess::ReadOnly, type.type, 0);
      const Buffer more =
          b.add_buffer("more", BufferAccess::ReadOnly, second_operand(row.op, type.type), 0);
      const Value x = data[0];
      const Value y = more[1];
      const Value result = row.arity == 1 ? apply(row.op, x) : apply(row.op, x, y);
      EXPECT_EQ(result.type(), result_of(row.op, type.type)) << row.name;
      const Buffer out = b.add_buffer("out", BufferAccess::ReadWrite, result.type(), 0);
      out[2] = result;
      const Result<Linked> program = b.finish();
      ASSERT_TRUE(program.ok()) << row.name << " on " << type.text << "\n"
                                << messages(program.diagnostics());
      EXPECT_EQ(Module{{*program}}, *parse(print(*program)));
    }
  }
}

TEST(Builder, CastsSelectsAndMakesVectors) {
  Builder b("p", {1});
  const Value a = b.let("a", b.workgroup_id(0));
  b.let(i32(a));
  b.let(u64(a));
  b.let(u128(a));
  b.let(boolean(a));
  b.let(u32(a));
  const Value pair = b.let("pair", vec2u32(a, 1));
  const Value quad = b.let("quad", vec4u32(a, 2, 3, 4));
  b.let(pair.x() + pair.y());
  b.let(quad.x() + quad.y() + quad.z() + quad.w() + quad.lane(3));
  b.let(select(a, pair, pair));
  b.let(select(a == 0, a, 7));
  b.let(select(boolean(a), 7, a));
  b.let(cast(DataType::U64, pair));
  b.let(vec4u32(a));
  b.let(b.literal(DataType::U128, {{1, 2, 3, 4}}));
  b.let(make_vector(DataType::Vec2U32, {a, a}));
  expect_same(b.finish(), R"(program p workgroup(1) {
    let a = workgroup_id.x
    let v0 = i32(a)  let v1 = u64(a)  let v2 = u128(a)  let v3 = bool(a)  let v4 = u32(a)
    let pair = vec2u32(a, 1)
    let quad = vec4u32(a, 2, 3, 4)
    let v5 = pair.x + pair.y
    let v6 = quad.x + quad.y + quad.z + quad.w + quad.w
    let v7 = select(a, pair, pair)
    let v8 = select(a == 0, a, 7)
    let v9 = select(bool(a), 7, a)
    let v10 = u64(pair)
    let v11 = vec4u32(a)
    let v12 = 0x00000004_00000003_00000002_00000001u128
    let v13 = vec2u32(a, a)
  })");
}

TEST(Builder, NumbersTakeTheTypeOfWhatTheyMeet) {
  Builder b("p", {1});
  const Buffer wide = b.read_write<u64>("wide");
  const Buffer sign = b.read_write<i32>("sign");
  const Buffer flag = b.read_write<boolean>("flag");
  const Buffer huge = b.read_write<u128>("huge");
  wide[0] = 0xffff'ffff'ffff'ffffu;
  wide[1] = 1 + wide[0];
  wide[2] = wide[0] << 3;
  sign[0] = -2147483647 - 1;
  sign[1] = sign[0] * -1;
  sign[2] = i32(5) - sign[0];
  flag[0] = true;
  flag[1] = flag[0] ^ false;
  huge[0] = huge[0] + 1;
  huge[1] = u128(9);
  b.let("n", 7);
  b.let("m", u64(7));
  b.let("t", true);
  expect_same(b.finish(), R"(program p workgroup(1) {
    read_write wide: u64[] @0
    read_write sign: i32[] @1
    read_write flag: bool[] @2
    read_write huge: u128[] @3
    wide[0] = 0xffffffffffffffffu64
    wide[1] = 1 + wide[0]
    wide[2] = wide[0] << 3
    sign[0] = -2147483648
    sign[1] = sign[0] * -1
    sign[2] = 5 - sign[0]
    flag[0] = true
    flag[1] = flag[0] ^ false
    huge[0] = huge[0] + 1u128
    huge[1] = 9u128
    let n = 7  let m = 7u64  let t = true
  })");
}

TEST(Builder, NestsAndLeavesBlocks) {
  constexpr std::string_view kText = R"(program p workgroup(1) {
    read_write out: u32[] @0
    let sum = 0
    if invocation_id.x == 0 { sum = 1 } else if invocation_id.x == 1 { sum = 2 } else { return }
    for k in 0..4 {
      if k > sum { break }
      out[k] = sum
    }
    { out[0] = 9 }
    barrier
  })";
  const auto without_return = [&](auto make) {
    Builder b("p", {1});
    const Buffer out = b.read_write<u32>("out");
    make(b, out);
    expect_same(b.finish(), std::string(kText).replace(kText.find("return"), 6, "sum = 3"));
  };
  without_return([](Builder& b, const Buffer& out) {
    const Value i = b.invocation_id(0);
    Variable sum = b.let("sum", 0);
    b.if_(i == 0, [&] { sum = 1; }, [&] { b.if_(i == 1, [&] { sum = 2; }, [&] { sum = 3; }); });
    b.for_("k", 0, 4, [&](Value k) {
      b.if_(k > sum, [&] { b.break_(); });
      out[k] = sum;
    });
    b.block([&] { out[0] = 9; });
    b.barrier();
  });
  without_return([](Builder& b, const Buffer& out) {
    const Value i = b.invocation_id(0);
    Variable sum = b.let("sum", 0);
    b.begin_if(i == 0);
    sum = 1;
    b.begin_else();
    b.begin_if(i == 1);
    sum = 2;
    b.begin_else();
    sum = 3;
    b.end();
    b.end();
    const Value k = b.begin_for("k", 0, 4);
    b.begin_if(k > sum);
    b.break_();
    b.end();
    out[k] = sum;
    b.end();
    b.begin_block();
    out[0] = 9;
    b.end();
    b.barrier();
  });
}

TEST(Builder, Returns) {
  Builder b("p", {1});
  b.if_(b.invocation_id(0), [&] { b.return_(); });
  expect_same(b.finish(), "program p workgroup(1) { if invocation_id.x { return } }");
}

TEST(Builder, HasEveryAtomic) {
  Builder b("p", {1});
  const Buffer out = b.read_write<u32>("out");
  const Value i = b.invocation_id(0);
  b.atomic_add(out[i], 1);
  b.atomic_and(out[i], 2);
  b.atomic_or(out[i], 3);
  b.atomic_xor(out[i], 4);
  b.atomic_min(out[i], 5);
  b.atomic_max(out[i], 6);
  b.atomic_exchange(out[i], 7);
  const Value old = b.atomic_compare_exchange(out[i], 8, 9);
  EXPECT_EQ(old.type(), DataType::U32);
  out[1] = old;
  b.let("x", b.atomic(AtomicOp::Add, out[2], 10)) = 11;
  b.let("unused", b.atomic_add(out[3], 12));
  const Value loaded = b.atomic_load(out[4]);
  Variable copy = b.let("copy", loaded);
  copy = b.atomic_load(out[5]);
  b.atomic_store(out[6], copy);
  expect_same(b.finish(), R"(program p workgroup(1) {
    read_write out: u32[] @0
    atomic_add(out[invocation_id.x], 1)
    atomic_and(out[invocation_id.x], 2)
    atomic_or(out[invocation_id.x], 3)
    atomic_xor(out[invocation_id.x], 4)
    atomic_min(out[invocation_id.x], 5)
    atomic_max(out[invocation_id.x], 6)
    atomic_exchange(out[invocation_id.x], 7)
    let old0 = atomic_compare_exchange(out[invocation_id.x], 8, 9)
    out[1] = old0
    let x = atomic_add(out[2], 10)
    x = 11
    let unused = atomic_add(out[3], 12)
    let old1 = atomic_load(out[4])
    let copy = old1
    copy = atomic_load(out[5])
    atomic_store(out[6], copy)
  })");
}

TEST(Builder, LoadsStoresAndCopiesElements) {
  Builder b("p", {1});
  const Buffer data = b.read<bytes>("data");
  const Buffer out = b.read_write<u32>("out");
  out[0] = data[1];
  out[1] = out[2];
  out[3] = u32(out[4]) + 1;
  expect_same(b.finish(), R"(program p workgroup(1) {
    read data: bytes @0
    read_write out: u32[] @1
    out[0] = data[1]
    out[1] = out[2]
    out[3] = u32(out[4]) + 1
  })");
}

TEST(Builder, CallsOps) {
  Builder b("p", {1});
  const Value x = b.call("primitive.bitwise.xor", {b.invocation_id(0), 5});
  EXPECT_EQ(x.type(), DataType::U32);
  b.let(x + 1);
  expect_same(b.finish(), R"(program p workgroup(1) {
    let v0 = primitive.bitwise.xor(invocation_id.x, 5) + 1
  })");
}

TEST(OpBuilder, MakesOpsWithLaws) {
  OpBuilder b("example.avg_floor", DataType::U32);
  const Value x = b.parameter<u32>("a");
  const Value y = b.add_parameter("b", DataType::U32);
  b.describe("floor((a + b) / 2) without overflow");
  b.law(LawKind::Commutative);
  b.law(LawKind::Bounded, {TypedBits{DataType::U32, {{0}}}, TypedBits{DataType::U32, {{9}}}});
  b.return_((x & y) + ((x ^ y) >> 1));
  const Result<Op> op = b.finish();
  expect_same(op, R"(op example.avg_floor(a: u32, b: u32) -> u32 {
    "floor((a + b) / 2) without overflow"
    law commutative
    law bounded(0, 9)
    return (a & b) + ((a ^ b) >> 1)
  })");

  Builder without("p", {1});
  without.let(without.call("example.avg_floor", {1, 2}));
  EXPECT_FALSE(without.finish().ok());
}

TEST(Builder, DeclaresVariables) {
  Builder b("p", {1});
  const Buffer out = b.read_write<u32>("out");
  b.let<u32>("a");
  b.let<vec4u32>("v");
  b.let<boolean>("t");
  Variable wide = b.let("wide", u64(5));
  Variable x = b.let("x", out[0]);
  Variable y = b.let("y", x);
  const Value sum = x + y;  // whatever they are when it is used
  x = y;
  y = 7;
  x += sum;
  y -= 1;
  x *= y;
  x /= 2;
  x %= 3;
  x &= 4;
  x |= 5;
  x ^= 6;
  x <<= 7;
  wide >>= x;
  wide += 1;
  out[1] = sum;
  std::vector<Variable> several;
  for (const char* name : {"p0", "p1"}) several.push_back(b.let(name, x));
  several[1] = several[0];
  expect_same(b.finish(), R"(program p workgroup(1) {
    read_write out: u32[]
    let a: u32  let v: vec4u32  let t: bool
    let wide: u64 = 5
    let x = out[0]  let y = x
    x = y  y = 7
    x += x + y  y -= 1  x *= y  x /= 2  x %= 3  x &= 4  x |= 5  x ^= 6  x <<= 7
    wide >>= x  wide += 1
    out[1] = x + y
    let p0 = x  let p1 = x
    p1 = p0
  })");
}

template <class Place>
concept HasUpdates = requires(Place place) { place += 1; };

// What is no place to assign to does not compile.
static_assert(HasUpdates<Variable&> && HasUpdates<Element> && HasUpdates<ArrayElement>);
static_assert(!HasUpdates<Value&> && !HasUpdates<const Variable&> && !HasUpdates<Fresh&>);
static_assert(std::is_assignable_v<Variable&, int> && !std::is_assignable_v<const Variable&, int>);
static_assert(!std::is_default_constructible_v<Variable> &&
              !std::is_copy_constructible_v<Variable>);
static_assert(!std::is_swappable_v<Variable>);
static_assert(!std::is_constructible_v<Value, const char*>);

TEST(Builder, HasArrays) {
  Builder b("p", {1});
  const Buffer out = b.read_write<u64>("out");
  const Variable i = b.let("i", b.invocation_id(0));
  Variable w = b.array<u64>("w", 64);
  Variable v = b.let("v", b.array({1, out[0], 3}));
  b.let("n", b.array(std::array{1, 2}));
  b.let("m", b.array(std::vector<Value>{i, 2}));
  w[i] = 5;
  w[1] = v[i];
  w[2] = w[3];
  w[i] += 4;
  w[0] <<= i;
  v = b.array({7, 8, 9});
  Variable copy = b.let("copy", w);
  copy = w;
  out[i] = copy[i & 63] + w[w.length() - 1];
  out[1] = b.array({out[1], 2})[i];
  const Variable& fixed = w;
  const Value element = fixed[i];
  out[2] = element;
  expect_same(b.finish(), R"(program p workgroup(1) {
    read_write out: u64[]
    let i = invocation_id.x
    let w: u64[64]
    let v = [1, out[0], 3]
    let n = [1, 2]
    let m = [i, 2]
    w[i] = 5
    w[1] = v[i]
    w[2] = w[3]
    w[i] += 4
    w[0] <<= i
    v = [7, 8, 9]
    let copy = w
    copy = w
    out[i] = copy[i & 63] + w[len(w) - 1]
    out[1] = [out[1], 2][i]
    out[2] = w[i]
  })");
}

TEST(Builder, PassesArraysToOps) {
  OpBuilder make("my.rotate", array_type(DataType::U64, 3));
  Variable a = make.parameter<u64>("a", 3);
  const Value by = make.parameter<u32>("by");
  a[0] += 1;
  Variable r = make.array<u64>("r", 3);
  make.for_("k", 0, a.length(), [&](Value k) { r[(k + by) % 3] = a[k]; });
  make.if_(by == 9, [&] { make.return_(make.array({1, 2, 3})); });
  make.return_(r);
  const Result<Op> rotate = make.finish();
  constexpr std::string_view kRotate = R"(op my.rotate(a: u64[3], by: u32) -> u64[3] {
    a[0] += 1
    let r: u64[3]
    for k in 0..len(a) { r[(k + by) % 3] = a[k] }
    if by == 9 { return [1, 2, 3] }
    return r
  })";
  expect_same(rotate, kRotate);

  Builder b("p", {1});
  const Buffer out = b.read_write<u64>("out");
  b.use(*rotate);
  Variable v = b.let("v", b.call("my.rotate", {b.array({1, 2, 3}), 1}));
  v = b.call("my.rotate", {v, 2});
  out[0] = b.call("my.rotate", {v, 4})[2];
  const Result<Linked> program = b.finish();
  ASSERT_TRUE(program.ok()) << messages(program.diagnostics());
  const Module text = *parse(std::string(kRotate) + R"(program p workgroup(1) {
    read_write out: u64[]
    let v = my.rotate([1, 2, 3], 1)
    v = my.rotate(v, 2)
    out[0] = my.rotate(v, 4)[2]
  })");
  EXPECT_EQ(program->program(), std::get<Program>(text.items[1])) << print(*program);
  const std::vector<std::uint64_t> zero(1);
  EXPECT_EQ(*dispatch(*program, 1, {{"out", zero}})->get<std::uint64_t>("out"),
            (std::vector<std::uint64_t>{2}));
}

TEST(Builder, HasTables) {
  Builder b("p", {1});
  const Buffer out = b.read_write<u32>("out");
  const Variable i = b.let("i", b.invocation_id(0));
  const std::vector<std::uint8_t> bytes_of_host = {0x63, 0x7c, 0xff};
  const Value sbox = b.table<u8>("sbox", bytes_of_host);
  const Value signs = b.table<i16>("signs", {-32768, 32767, i32(-1)});
  const Value wide = b.table<u64>("wide", {1, u64(2), 0xffff'ffff'ffff'ffff});
  const Value pairs = b.table<vec2u32>("pairs", {vec2u32(1, 2), vec2u32(3, 4)});
  const Value flags = b.table<boolean>("flags", {true, false});
  b.table<u32>("unused", {1});
  out[0] = sbox[i] + u32(signs[i]) + u32(wide[i]) + pairs[i].y() + u32(flags[0]);
  out[1] = sbox.length();
  Variable copy = b.let("copy", sbox);
  copy[0] = 1;
  expect_same(b.finish(), R"(
    const sbox: u8[3] = [0x63, 0x7c, 0xff]
    const signs: i16[3] = [-32768, 32767, -1]
    const wide: u64[3] = [1, 2, 0xffffffffffffffff]
    const pairs = [vec2u32(1, 2), vec2u32(3, 4)]
    const flags = [true, false]
    program p workgroup(1) {
      read_write out: u32[]
      let i = invocation_id.x
      out[0] = sbox[i] + u32(signs[i]) + u32(wide[i]) + pairs[i].y + u32(flags[0])
      out[1] = len(sbox)
      let copy = sbox
      copy[0] = 1
    })");
  OpBuilder op("my.square", DataType::U32);
  const Value k = op.parameter<u32>("k");
  op.return_(op.table<u16>("squares", {0, 1, 4, 9})[k]);
  expect_same(op.finish(), R"(const squares: u16[4] = [0, 1, 4, 9]
    op my.square(k: u32) -> u32 { return squares[k] })");
}

TEST(Builder, HasNarrowElements) {
  Builder b("p", {64});
  const Buffer text = b.read<u8>("text");
  const Buffer table = b.uniform<i16>("table", 8);
  const Buffer tile = b.workgroup<u16>("tile", 64);
  const Buffer out = b.read_write<i8>("out");
  const Variable i = b.let("i", b.invocation_id(0));
  tile[i] = text[i] + 1;
  out[i] = table[i] * -1;
  out[0] += 3;
  out[1] = -5;
  expect_same(b.finish(), R"(program p workgroup(64) {
    read text: u8[]
    uniform table: i16[8]
    workgroup tile: u16[64]
    read_write out: i8[]
    let i = invocation_id.x
    tile[i] = text[i] + 1
    out[i] = table[i] * -1
    out[0] += 3
    out[1] = -5
  })");
}

TEST(Builder, HasEveryLoop) {
  Builder b("p", {1});
  const Buffer out = b.read_write<u32>("out");
  Variable n = b.let("n", out[0]);
  b.while_(n > 1, [&] {
    n >>= 1;
    b.if_(n == 4, [&] { b.continue_(); });
    b.for_("k", 3, n, 4, [&](Value k) {
      b.for_reversed("m", k, 9, [&](Value m) { out[m] += k; });
      out[k] = 1;
    });
    b.for_("k", 3, n, 1, [&](Value k) { out[k] = 2; });
  });
  b.begin_while(true);
  b.break_();
  b.end();
  const Value k = b.begin_for_reversed("k", 0, 2);
  out[k] = 3;
  b.end();
  expect_same(b.finish(), R"(program p workgroup(1) {
    read_write out: u32[]
    let n = out[0]
    while n > 1 {
      n >>= 1
      if n == 4 { continue }
      for k in 3..n step 4 {
        for m in reversed k..9 { out[m] += k }
        out[k] = 1
      }
      for k in 3..n { out[k] = 2 }
    }
    while true { break }
    for k in reversed 0..2 { out[k] = 3 }
  })");
}

TEST(Builder, HasEveryCollective) {
  Builder b("p", {64});
  const Buffer out = b.read_write<u64>("out");
  const Value wide = out[b.invocation_id(0)];
  Variable sum = b.let("sum", b.workgroup_add(wide));
  EXPECT_EQ(sum.type(), DataType::U64);
  sum = b.workgroup_min(wide);
  b.let("a", b.workgroup_max(1));
  b.let("b", b.workgroup_and(wide));
  b.let("c", b.workgroup_or(wide));
  b.let("d", b.workgroup_xor(wide));
  b.let("e", b.workgroup_scan_add(wide));
  b.let("f", b.workgroup_scan_min(wide));
  b.let("g", b.workgroup_scan_max(i32(-1)));
  b.let("h", b.workgroup_broadcast(wide, 3));
  b.let("k", b.workgroup_shuffle(wide, b.local_id(0) ^ 1));
  b.if_(sum == 0, [&] { b.barrier(); });  // they are uniform
  out[b.num_workgroups(2)] = sum;
  expect_same(b.finish(), R"(program p workgroup(64) {
    read_write out: u64[]
    let sum = workgroup_add(out[invocation_id.x])
    sum = workgroup_min(out[invocation_id.x])
    let a = workgroup_max(1)
    let b = workgroup_and(out[invocation_id.x])
    let c = workgroup_or(out[invocation_id.x])
    let d = workgroup_xor(out[invocation_id.x])
    let e = workgroup_scan_add(out[invocation_id.x])
    let f = workgroup_scan_min(out[invocation_id.x])
    let g = workgroup_scan_max(-1i32)
    let h = workgroup_broadcast(out[invocation_id.x], 3)
    let k = workgroup_shuffle(out[invocation_id.x], local_id.x ^ 1)
    if sum == 0u64 { barrier }
    out[num_workgroups.z] = sum
  })");
}

TEST(Builder, FinishesTwice) {
  Builder b("p", {1});
  const Buffer out = b.read_write<u32>("out");
  b.atomic_add(out[0], 1);
  out[1] = b.let(b.invocation_id(0)) + 1;
  const Result<Linked> first = b.finish();
  const Result<Linked> second = b.finish();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->program(), second->program());
  out[2] = 5;
  const Result<Linked> longer = b.finish();
  ASSERT_TRUE(longer.ok());
  EXPECT_EQ(longer->program().body.stmts.size(), first->program().body.stmts.size() + 1);
}

// C++ may evaluate the operands of an operator in either order, and a builder makes expressions
// that nobody uses.
TEST(Builder, OrderOfConstructionDoesNotMatter) {
  const auto make = [](bool right_first, bool clutter) {
    Builder b("p", {1});
    const Buffer data = b.read<u64>("data");
    const Buffer out = b.read_write<u64>("out");
    Value left, right;
    if (clutter) b.call("no.such.op", {b.literal(DataType::U128, {{9, 9}})});
    for (bool now : {right_first, !right_first}) {
      if (now) right = data[b.invocation_id(1)] * b.literal(DataType::U64, {{1, 2}});
      if (clutter) (void)(b.invocation_id(2) + 77);
      if (!now) left = data[b.invocation_id(0)] / b.literal(DataType::U64, {{3, 4}});
    }
    out[0] = left + right;
    return must(b.finish()).program();
  };
  EXPECT_EQ(make(false, false), make(true, false));
  EXPECT_EQ(make(false, false), make(false, true));
  EXPECT_EQ(digest(make(false, false)), digest(make(true, true)));
}

TEST(Builder, NamesOfItsOwnAvoidTheUsers) {
  Builder b("p", {1});
  const Buffer out = b.read_write<u32>("old0");
  const Value first = b.let(out[0]);
  out[0] = b.atomic_add(out[0], 1) + first;
  b.let("v0", first);
  b.for_("old1", 0, 2, [&](Value k) { out[k] = b.let(first); });
  b.read<u32>("v1");
  const Result<Linked> program = b.finish();
  ASSERT_TRUE(program.ok()) << messages(program.diagnostics());
  EXPECT_EQ(*parse(print(*program)), Module{{*program}});
}

TEST(Builder, BindingsCanBeGiven) {
  Builder b("p", {1});
  b.read<u32>("a");
  b.read<u32>("b").binding(0);
  b.workgroup<u32>("c", 4);
  b.uniform<u32>("d").binding(2);
  b.read_write<u32>("e");
  const Result<Linked> program = b.finish();
  ASSERT_TRUE(program.ok()) << messages(program.diagnostics());
  EXPECT_EQ(Module{{*program}},
            *parse("program p workgroup(1) { read a: u32[] read b: u32[] @0 workgroup c: u32[4] "
                   "uniform d: u32[] @2 read_write e: u32[] }"));
}

TEST(Builder, ComputesConstantsAsVyreDoes) {
  const auto stored = [](auto value) {
    Builder b("p", {1});
    b.read_write<u64>("wide")[0] = value(0);
    b.read_write<vec2u32>("pair")[0] = value(1);
    return print(must(b.finish()));
  };
  const std::string text = stored([](int k) -> Value {
    return k == 0 ? (u64(1) << 40) / (u64(3) - u64(3)) + u64(vec2u32(7, 9))
                  : vec2u32(1, 2) * vec2u32(i32(-1));
  });
  EXPECT_NE(text.find("wide[0] = 0x900000007u64\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pair[0] = vec2u32(0xffffffff, 0xfffffffe)\n"), std::string::npos) << text;
}

// --- Misuse --------------------------------------------------------------------------------------

template <class Finished>
std::vector<std::string> codes(const Finished& finished) {
  std::vector<std::string> found;
  for (const Diagnostic& diagnostic : finished.diagnostics()) {
    EXPECT_FALSE(diagnostic.problem.empty());
    EXPECT_FALSE(diagnostic.fix.empty());
    EXPECT_FALSE(diagnostic.path.empty()) << diagnostic.problem;
    const std::string sentence = diagnostic.specified.empty()
                                     ? diagnostic.problem + ". Fix: " + diagnostic.fix
                                     : diagnostic.specified;
    EXPECT_EQ(diagnostic.message(),
              "vyre IR validation: " + sentence + (sentence.ends_with('?') ? "" : "."));
    found.emplace_back(name(diagnostic.code));
  }
  return found;
}

using Codes = std::vector<std::string>;

// An op comes along with the program, and a number takes the type of its parameter.
TEST(Builder, CallsOpsOfItsUser) {
  OpBuilder inner("my.inner", DataType::U64);
  inner.return_(inner.parameter<u64>("x") + 1);
  const Result<Op> increment = inner.finish();
  ASSERT_TRUE(increment.ok());
  OpBuilder outer("my.outer", DataType::U64);
  const Value x = outer.parameter<u64>("x");
  outer.use(*increment);
  outer.return_(outer.call(*increment, {x * 2}) - outer.call("my.inner", {0xffff'ffff'ffff'ffff}));
  const Result<Op> op = outer.finish();
  ASSERT_TRUE(op.ok());

  Builder b("p", {1});
  Buffer out = b.read_write<u64>("out");
  b.use(*increment);
  out[0] = b.call(*op, {20});
  out[1] = b.call("my.inner", {6});
  const Result<Linked> program = b.finish();
  ASSERT_TRUE(program.ok()) << render(program.diagnostics()[0]);
  EXPECT_EQ(program->ops().size(), 2u);
  const std::vector<std::uint64_t> zeros(2);
  EXPECT_EQ(*dispatch(*program, 1, {{"out", zeros}})->get<std::uint64_t>("out"),
            (std::vector<std::uint64_t>{41, 7}));

  const Result<Loaded> file = load_module({"ops.vyre", "op my.inner(x: u32) -> u32 { return x }"});
  Builder clash("p", {1});
  clash.use(*increment);
  clash.use(file->registry);
  EXPECT_EQ(codes(clash.finish()), Codes{"V039"});
  Builder from_file("p", {1});
  from_file.use(file->registry);
  from_file.let(from_file.call("my.inner", {1}));
  EXPECT_TRUE(from_file.finish().ok());
}

TEST(Builder, UpdatesLocalsAndElements) {
  Builder b("p", {1});
  Buffer data = b.read_write<u32>("data");
  Variable sum = b.let("sum", 1);
  sum += data[0];
  data[1] <<= 2;
  data[0] -= sum;
  expect_same(b.finish(), R"(program p workgroup(1) {
    read_write data: u32[]
    let sum = 1
    sum = sum + data[0]
    data[1] = data[1] << 2
    data[0] = data[0] - sum
  })");
}

// A program with one buffer of each scalar kind, after `use` was done to it.
struct Bench {
  Builder b{"p", {64}};
  Buffer src = b.read<u32>("src");
  Buffer out = b.read_write<u32>("out");
  Buffer wide = b.read_write<u64>("wide");
  Value i = b.invocation_id(0);
};

Codes misused(auto use) {
  Bench bench;
  use(bench);
  return codes(bench.b.finish());
}

TEST(BuilderMisuse, WrongTypes) {
  EXPECT_EQ(misused([](Bench& t) { t.out[t.i] = t.wide[0]; }), Codes{"V028"});
  EXPECT_EQ(misused([](Bench& t) { t.out[t.wide[0]] = 1; }), Codes{"V027"});
  EXPECT_EQ(misused([](Bench& t) { t.out[1] = t.b.atomic(AtomicOp::Store, t.out[0], 1); }),
            Codes{"V049"});
  EXPECT_EQ(misused([](Bench& t) {
              Value nested = 1;
              for (int i = 0; i < 100'000; ++i) nested = t.b.array({nested, 1});
            }).front(),
            "V046");
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = t.i + t.wide[0]; }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = !t.wide[0]; }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = t.src[0] << t.wide[0]; }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = t.i.z(); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = vec2u32(t.i, t.i).lane(4); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = vec2u32(t.wide[0], 1).x(); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = select(t.i, t.i, t.wide[0]); }), Codes{"V029"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = select(t.wide[0], t.i, 1); }), Codes{"V030"});
  EXPECT_EQ(misused([](Bench& t) { t.b.if_(t.wide[0], [] {}); }), Codes{"V030"});
  EXPECT_EQ(misused([](Bench& t) { t.b.for_("k", 0, t.wide[0], [](Value) {}); }), Codes{"V015"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let("x", 1) = t.wide[0]; }), Codes{"V031"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(vec4u32(t.wide[0])); }), Codes{"V012"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(cast(DataType::Bytes, t.i)); }), Codes{"V023"});
  EXPECT_EQ(misused([](Bench& t) { t.src[0] = 1; }), Codes{"V006"});
  EXPECT_EQ(misused([](Bench& t) { t.b.atomic_add(t.src[0], 1); }), Codes{"V009"});
  EXPECT_EQ(misused([](Bench& t) { t.b.atomic_add(t.wide[0], 1); }), Codes{"V014"});
  EXPECT_EQ(misused([](Bench& t) { t.b.atomic_add(t.out[0], t.wide[0]); }), Codes{"V028"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.call("no.such.op", {1})); }), Codes{"V016"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.call("primitive.bitwise.or", {t.i})); }),
            Codes{"V021"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.call("primitive.bitwise.or", {t.i, t.wide[0]})); }),
            Codes{"V022"});
}

TEST(BuilderMisuse, Arrays) {
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = t.b.let("x", 1)[0]; }), Codes{"V046"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let("x", 1)[0] = 2; }), Codes{"V046"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = t.i[0]; }), Codes{"V046"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = Value(5)[0]; }), Codes{"V046"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = vec2u32(1, 2)[0]; }), Codes{"V046"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = t.i.length(); }), Codes{"V046"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = u64(5).length(); }), Codes{"V046"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = Value()[0]; }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = Value().length(); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = t.b.array({1, 2})[t.wide[0]]; }), Codes{"V027"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<u32>("w", 4)[t.wide[0]] = 1; }), Codes{"V027"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<u32>("w", 4)[0] = t.wide[0]; }), Codes{"V028"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<u32>("w", 4)[0] += t.wide[0]; }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<u32>("w", 4)[0] = -1; }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<u32>("w", 4) = 7; }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<u32>("w", 4) = t.i; }), Codes{"V031"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<u32>("w", 4) = t.b.array({1, 2}); }), Codes{"V031"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<u32>("w", 4) += t.i; }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.array({1, 2}) + t.i); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(u64(t.b.array({1, 2}))); }), Codes{"V012"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.array({1, 2}).x()); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(select(t.i, t.b.array({1}), t.b.array({2}))); }),
            Codes{"V046"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.array({t.i, t.wide[0]})); }), Codes{"V046"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.array({t.b.array({1}), 2})); }), Codes{"V046"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.array({u64(1), -2})); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.array({Value(), 2})); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = t.b.array({1, 2}); }), Codes{"V028"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.array(std::vector<Value>())); }), Codes{"V047"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<u32>("w", 0); }), Codes{"V047"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<u32>("w", 4097); }), Codes{"V047"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<u128>("w", 1025); }), Codes{"V047"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<u32>("w", 0xffff'ffff); }), Codes{"V047"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.array(std::vector<int>(5000))); }), Codes{"V047"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.array(std::vector<int>(70'000))); }), Codes{"V047"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<u8>("w", 4); }), Codes{"V013"});
  EXPECT_EQ(misused([](Bench& t) { t.b.array<bytes>("w", 4); }), Codes{"V013"});
  EXPECT_EQ(misused([](Bench& t) { t.b.add_array("w", DataType::Unknown, 4); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) {
              for (int k = 0; k < 5; ++k) t.b.array<u32>("w" + std::to_string(k), 4096);
            }),
            Codes{"V047"});
  Builder other("other", {1});
  const Value foreign = other.let("x", 1);
  Variable foreign_array = other.array<u32>("y", 4);
  EXPECT_EQ(misused([&](Bench& t) { t.b.let(t.b.array({1, foreign})); }), Codes{"V043"});
  EXPECT_EQ(misused([&](Bench& t) { t.b.let(t.b.array({1, 2})[foreign]); }), Codes{"V043"});
  EXPECT_EQ(misused([&](Bench& t) { t.out[0] = foreign_array[0]; }), Codes{"V043"});
  EXPECT_EQ(misused([&](Bench& t) { t.out[0] = other.array({1, 2})[t.i]; }), Codes{"V043"});
  EXPECT_EQ(misused([&](Bench& t) { foreign_array[t.i] = 1; }), Codes());
  EXPECT_EQ(codes(other.finish()), (Codes{"V043", "V043"}));  // of t.i, twice

  OpBuilder op("my.op", array_type(DataType::U8, 4));
  op.return_(op.parameter<u32>("a", 70'000));
  EXPECT_EQ(codes(op.finish()), (Codes{"V047", "V013"}));
}

TEST(BuilderMisuse, Tables) {
  const auto used = [](auto make) { return misused([&](Bench& t) { t.b.let(make(t)[t.i]); }); };
  EXPECT_EQ(used([](Bench& t) { return t.b.table<u8>("k", {255}); }), Codes());
  EXPECT_EQ(used([](Bench& t) { return t.b.table<u8>("k", {256}); }), Codes{"V026"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<u8>("k", {-1}); }), Codes{"V026"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<u8>("k", {u32(256)}); }), Codes{"V026"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<i8>("k", {-128}); }), Codes());
  EXPECT_EQ(used([](Bench& t) { return t.b.table<i8>("k", {128}); }), Codes{"V026"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<i8>("k", {i32(-129)}); }), Codes{"V026"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<i8>("k", {u32(1)}); }), Codes{"V026"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<u32>("k", {u64(1)}); }), Codes{"V026"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<u32>("k", {u32(1) + u64(1)}); }), Codes{"V026"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<u32>("k", {t.i}); }), Codes{"V026"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<u32>("k", {Value()}); }), Codes{"V026"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<vec2u32>("k", {5}); }), Codes{"V026"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<bytes>("k", {5}); }), Codes{"V013"});
  EXPECT_EQ(used([](Bench& t) { return t.b.add_table("k", DataType::Unknown, {5}); }),
            Codes{"V043"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<u32>("k", std::vector<int>()); }), Codes{"V047"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<u8>("k", std::vector<int>(65'537)); }),
            Codes{"V047"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<u128>("k", std::vector<int>(20'000)); }),
            Codes{"V047"});
  EXPECT_EQ(used([](Bench& t) { return t.b.table<u32>("a b", {1}); }), Codes{"V040"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.table<u8>("k", std::vector<int>(5000))); }),
            Codes{"V047"});
  EXPECT_EQ(
      misused([](Bench& t) { t.out[0] = t.b.table<u8>("k", {1})[0] + t.b.table<u8>("k", {2})[0]; }),
      Codes{"V048"});
  EXPECT_EQ(misused([](Bench& t) { t.out[t.b.table<u32>("out", {1})[0]] = 1; }).size(), 1u);
}

TEST(BuilderMisuse, CollectivesAndAtomics) {
  EXPECT_EQ(misused([](Bench& t) { t.b.workgroup_add(true); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.workgroup_add(t.b.array({1, 2})); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.workgroup_add(Value()); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.b.workgroup_broadcast(1, u64(1)); }), Codes{"V027"});
  EXPECT_EQ(misused([](Bench& t) { t.b.workgroup_broadcast(1, t.i); }), Codes{"V010"});
  EXPECT_EQ(misused([](Bench& t) { t.b.workgroup_shuffle(1, Value()); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.b.if_(t.i, [&] { t.b.workgroup_add(1); }); }), Codes{"V010"});
  EXPECT_EQ(misused([](Bench& t) { t.b.atomic_load(t.wide[0]); }), Codes{"V014"});
  EXPECT_EQ(misused([](Bench& t) { t.b.atomic_store(t.src[0], 1); }), Codes{"V009"});
  EXPECT_EQ(misused([](Bench& t) { t.b.atomic_store(t.out[0], t.wide[0]); }), Codes{"V028"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let("x", t.b.num_workgroups(3)); }), Codes{"V007"});
  EXPECT_EQ(misused([](Bench& t) { t.b.continue_(); }), Codes{"V034"});
  EXPECT_EQ(misused([](Bench& t) { t.b.while_(t.wide[0], [] {}); }), Codes{"V026"});
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 32}) {
    EXPECT_EQ(misused([&](Bench& t) { t.b.for_("k", 0, 4, step, [](Value) {}); }), Codes{"V015"});
  }
  EXPECT_EQ(misused([](Bench& t) { t.b.for_reversed("k", t.wide[0], 4, [](Value) {}); }),
            (Codes{"V015", "V026"}));
  Builder other("other", {1});
  EXPECT_EQ(misused([&](Bench& t) {
              t.b.atomic_add(t.out[0], 1);  // its result has no name, either
              t.b.let("x", other.workgroup_add(1));
            }),
            Codes{"V043"});
  EXPECT_EQ(misused([&](Bench& t) { t.b.let("x", 0) = other.workgroup_add(1); }), Codes{"V043"});
}

TEST(BuilderMisuse, WrongConstants) {
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = vec2u32(1, 2).z(); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = u64(1).x(); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = u64(1) + u32(1); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = popcount(true); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = vec2u32(u64(1), 2).x(); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(vec4u32(u64(5))); }), Codes{"V012"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(cast(DataType::Bytes, 0)); }), Codes{"V023"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(select(u32(1), u32(2), u64(3))); }), Codes{"V029"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(select(u64(1), u32(2), u32(3))); }), Codes{"V030"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(select(Value(), u32(2), u32(3))); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.literal(DataType::Bool, {{7}})); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.literal(DataType::U64, {{1, 2, 3}})); }),
            Codes{"V026"});
  EXPECT_EQ(
      misused([](Bench& t) { t.b.add_buffer("x", BufferAccess::ReadOnly, DataType::Unknown, 0); }),
      Codes{"V043"});
}

TEST(BuilderMisuse, NamesTheStatement) {
  Bench bench;
  bench.out[0] = 1;
  bench.b.if_(bench.out[0], [&] { bench.out[0] = bench.out[1] + -1; });
  const Result<Linked> program = bench.b.finish();
  ASSERT_EQ(program.diagnostics().size(), 1u);
  EXPECT_EQ(program.diagnostics()[0].path, "program p: body[1].then[0]");
}

TEST(BuilderMisuse, RegisteredOpsThatRecurseOrNestTooDeeply) {
  Registry registry;
  const auto add = [&](const std::string& id, const std::string& callee) {
    const Module module = *parse("op " + id + "(x: u32) -> u32 { return " +
                                 (callee.empty() ? "x" : callee + "(x)") + " }");
    EXPECT_TRUE(registry.add(std::get<Op>(module.items[0])).ok());
  };
  add("q.a", "q.b");
  add("q.b", "q.a");
  add("q.x", "q.a");
  add("q.d1", "");
  for (int i = 2; i <= 41; ++i) add("q.d" + std::to_string(i), "q.d" + std::to_string(i - 1));
  const auto check = [&](const std::string& id) {
    Builder b("p", {1});
    b.use(registry);
    b.let(b.call(id, {1}));
    return codes(b.finish());
  };
  EXPECT_EQ(check("q.a"), Codes{"V017"});
  EXPECT_EQ(check("q.x"), Codes{"V017"});
  EXPECT_EQ(check("q.d32"), Codes());
  EXPECT_EQ(check("q.d33"), Codes{"V017"});
  EXPECT_EQ(check("q.d41"), Codes{"V017"});
  Op bad;
  bad.id = "Bad Id";
  EXPECT_FALSE(registry.add(bad).ok());
}

TEST(BuilderMisuse, Structure) {
  EXPECT_EQ(misused([](Bench& t) { t.b.break_(); }), Codes{"V034"});
  EXPECT_EQ(misused([](Bench& t) { (t.b.return_(), t.b.barrier()); }), Codes{"V033"});
  EXPECT_EQ(misused([](Bench& t) { t.b.if_(t.i, [&] { t.b.barrier(); }); }), Codes{"V010"});
  EXPECT_EQ(misused([](Bench& t) {
              std::optional<Variable> inner;
              t.b.block([&] { inner.emplace(t.b.let("x", 1)); });
              t.out[0] = *inner;
              *inner = 2;
            }),
            (Codes{"V024", "V025"}));
  EXPECT_EQ(misused([](Bench& t) { (t.b.let("x", 1), t.b.let("x", 2)); }), Codes{"V008"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let("out", 1); }), Codes{"V008"});
  EXPECT_EQ(misused([](Bench& t) { t.b.read<u32>("out"); }), Codes{"V001"});
}

TEST(BuilderMisuse, ForeignAndEmptyValues) {
  Builder other("other", {1});
  const Buffer there = other.read_write<u32>("there");
  Variable foreign = other.let("x", 1);
  EXPECT_EQ(misused([&](Bench& t) { t.out[0] = foreign; }), Codes{"V043"});
  EXPECT_EQ(misused([&](Bench& t) { t.out[foreign] = 1; }), Codes{"V043"});
  EXPECT_EQ(misused([&](Bench& t) { t.out[0] = t.i + foreign; }), Codes{"V043"});
  EXPECT_EQ(misused([&](Bench& t) { t.out[0] = there[0]; }), Codes{"V043"});
  EXPECT_EQ(misused([&](Bench& t) { t.b.atomic_add(there[0], 1); }), Codes{"V043"});
  EXPECT_EQ(misused([&](Bench& t) { t.b.let("y", 1) = foreign; }), Codes{"V043"});
  EXPECT_EQ(misused([&](Bench& t) { t.b.if_(foreign, [] {}); }), Codes{"V043"});
  EXPECT_EQ(misused([&](Bench& t) { t.b.let(t.b.call("primitive.bitwise.or", {foreign, 1})); }),
            Codes{"V043"});

  EXPECT_EQ(misused([](Bench& t) { t.out[0] = Value(); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = t.i * Value(); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = Value() * Value(); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = -Value(); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = u32(Value()); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = Value().x(); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = select(Value(), t.i, t.i); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(Value()); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let("x", 1) = Value(); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.b.atomic_compare_exchange(t.out[0], Value(), 1); }),
            Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.b.for_("k", Value(), 1, [](Value) {}); }), Codes{"V043"});
}

// A message that shows an expression with a part that could not be made.
TEST(BuilderMisuse, BrokenPartsCanBeShown) {
  EXPECT_EQ(misused([](Bench& t) { t.out[vec2u32(t.i, Value())] = 1; }), (Codes{"V043", "V027"}));
  EXPECT_EQ(misused([](Bench& t) { t.b.if_(vec2u32(t.i, -1), [] {}); }), (Codes{"V026", "V030"}));
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = t.wide[t.b.invocation_id(3)]; }),
            (Codes{"V007", "V028"}));
}

TEST(BuilderMisuse, Blocks) {
  EXPECT_EQ(misused([](Bench& t) { t.b.begin_if(t.i); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { (t.b.begin_block(), t.b.begin_for("k", 0, 1)); }),
            Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.b.end(); }), Codes{"V043"});
  for (int loop = 0; loop < 3; ++loop) {
    Bench bench;
    if (loop == 0) bench.b.begin_while(1);
    if (loop == 1) bench.b.begin_for("k", 0, 8, 2);
    if (loop == 2) bench.b.begin_for_reversed("k", 0, 8);
    const Result<Linked> unclosed = bench.b.finish();
    EXPECT_EQ(codes(unclosed), Codes{"V043"});
    EXPECT_EQ(unclosed.diagnostics()[0].problem, "`p` is finished with 1 block(s) open");
    bench.b.end();
    EXPECT_TRUE(bench.b.finish().ok());
  }
  EXPECT_EQ(misused([](Bench& t) { (t.b.begin_block(), t.b.end(), t.b.end()); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { t.b.begin_else(); }), Codes{"V043"});
  EXPECT_EQ(misused([](Bench& t) { (t.b.begin_block(), t.b.begin_else(), t.b.end()); }),
            Codes{"V043"});
  EXPECT_EQ(
      misused([](Bench& t) { (t.b.begin_if(t.i), t.b.begin_else(), t.b.begin_else(), t.b.end()); }),
      Codes{"V043"});
  Bench bench;
  Codes inside;
  bench.b.if_(bench.i, [&] { inside = codes(bench.b.finish()); }, [] {});
  EXPECT_EQ(inside, Codes{"V043"});
  EXPECT_TRUE(bench.b.finish().ok());
}

TEST(BuilderMisuse, Constants) {
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = -1; }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = 0x1'0000'0000; }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = t.i + 0x1'0000'0000; }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(i32(0x8000'0000)); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(i32(-0x8000'0001ll)); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(boolean(2)); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.wide[0] = -1; }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(vec2u32(7)); }), Codes());  // both lanes
  EXPECT_EQ(misused([](Bench& t) { t.b.let(vec2u32(-7)); }), Codes{"V026"});
  EXPECT_EQ(misused([](Bench& t) { t.out[0] = true; }), Codes{"V028"});
  Bench bench;
  bench.out[0] = -1;
  const Result<Linked> program = bench.b.finish();
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.diagnostics()[0].problem, "-1 is not a value of u32");
}

TEST(BuilderMisuse, NamesAxesAndLocals) {
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.invocation_id(3)); }), Codes{"V007"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.workgroup_id(4)); }), Codes{"V007"});
  EXPECT_EQ(misused([](Bench& t) { t.b.let(t.b.local_id(0xffffffff)); }), Codes{"V007"});
  for (const char* name : {"", "1x", "a b", "a.b", "ä", "let", "u32", "a\n"}) {
    EXPECT_EQ(misused([&](Bench& t) { t.b.let(name, 1); }), Codes{"V040"}) << name;
    EXPECT_EQ(misused([&](Bench& t) { t.b.for_(name, 0, 1, [](Value) {}); }), Codes{"V040"});
    EXPECT_EQ(misused([&](Bench& t) { t.b.read<u32>(name); }), Codes{"V040"}) << name;
    EXPECT_EQ(codes(Builder(name, {1}).finish()),
              name[0] == '\0' ? codes(Builder(name, {1}).finish()) : Codes{"V040"});
  }
  EXPECT_FALSE(Builder("", {1}).finish().ok());
  EXPECT_EQ(codes(Builder("p", {1, 1, 1, 1}).finish()), Codes{"V043"});
  EXPECT_EQ(codes(Builder("p", {1, 0}).finish()), Codes{"V003"});
}

TEST(BuilderMisuse, Ops) {
  const auto finished = [](std::string id, auto make) {
    OpBuilder b(std::move(id), DataType::U32);
    make(b);
    return codes(b.finish());
  };
  const auto give_one = [](OpBuilder& b) { b.return_(1); };
  EXPECT_EQ(finished("my.op", give_one), Codes());
  for (const char* id : {"op", "My.op", "my.", ".op", "my..op", "my.1", "my op.x"}) {
    EXPECT_EQ(finished(id, give_one), Codes{"V040"}) << id;
  }
  EXPECT_EQ(finished("my.op", [](OpBuilder&) {}), Codes{"V035"});
  EXPECT_EQ(finished("my.op", [](OpBuilder& b) { b.return_(b.parameter<u64>("a")); }),
            Codes{"V035"});
  EXPECT_EQ(finished("my.op", [](OpBuilder& b) { b.return_(-5); }), Codes{"V026"});
  EXPECT_EQ(finished("my.op",
                     [](OpBuilder& b) {
                       b.let("x", 1);
                       b.return_(b.parameter<u32>("a"));
                     })
                .front(),
            "V043");
  EXPECT_EQ(finished("my.op", [](OpBuilder& b) { b.return_(b.call("my.op", {})); }), Codes{"V017"});
  EXPECT_EQ(finished("my.op",
                     [](OpBuilder& b) {
                       b.law(LawKind::Commutative);
                       b.return_(1);
                     }),
            Codes{"V041"});
  using namespace std::string_literals;
  for (const std::string& text : {"\xff"s, "a\0b"s, "\x1b[2J"s, "\x7f"s, "\xc2\x9b"s, "\r"s}) {
    EXPECT_EQ(finished("my.op",
                       [&](OpBuilder& b) {
                         b.describe(text);
                         b.return_(1);
                       }),
              Codes{"V045"});
  }
  EXPECT_EQ(finished("my.op",
                     [](OpBuilder& b) {
                       b.describe("two\nlines,\ta tab, Größe");
                       b.return_(1);
                     }),
            Codes());
  OpBuilder bytes_op("my.op", DataType::Bytes);
  bytes_op.return_(bytes_op.parameter<u32>("a"));
  EXPECT_EQ(codes(bytes_op.finish()), Codes{"V013"});
}

}  // namespace
}  // namespace vyre
