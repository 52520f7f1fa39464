// Forms that are only in the text: each is the same program as what docs/text-format.md says it
// stands for, and numbers without a suffix are what the same numbers with one are.
#include <gtest/gtest.h>

#include <string>

#include "vyre/text/parse.h"
#include "vyre/text/print.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

constexpr const char* kHead = R"(
program p workgroup(8) {
  read_write a: u32[]
  read_write b: u64[]
  read_write c: i32[]
  read_write d: u8[]
  read_write v: vec2u32[]
  let x = 0
  let y = 0u64
  let z = 0i32
  let w: u32[4]
  let q = true
)";

Module parsed(const std::string& text) {
  Result<Module> module = parse(text, "test.vyre");
  EXPECT_TRUE(module.ok()) << text << render(module.diagnostics().front());
  return module.ok() ? std::move(*module) : Module{};
}

// What both are printed as is easier to compare than they are.
void expect_same(const std::string& shorthand, const std::string& written_out) {
  const Module a = parsed(shorthand), b = parsed(written_out);
  ASSERT_FALSE(a.items.empty());
  EXPECT_EQ(print(a), print(b));
  EXPECT_EQ(a, b);
  EXPECT_TRUE(validate(a, {}).empty()) << shorthand;
}
void expect_body(const std::string& shorthand, const std::string& written_out) {
  expect_same(kHead + shorthand + "\n}\n", kHead + written_out + "\n}\n");
}

TEST(Shorthand, Updates) {
  expect_body("x += 2 * x", "x = x + 2 * x");
  expect_body("x -= 1 x *= 3 x /= 5 x %= 7", "x = x - 1 x = x * 3 x = x / 5 x = x % 7");
  expect_body("x &= 1 x |= 3 x ^= 5", "x = x & 1 x = x | 3 x = x ^ 5");
  expect_body("y <<= 3 y >>= x", "y = y << 3 y = y >> x");
  expect_body("x *= x + 1", "x = x * (x + 1)");
  expect_body("a[x + 1] += a[x]", "a[x + 1] = a[x + 1] + a[x]");
  expect_body("b[a[x]] ^= 1", "b[a[x]] = b[a[x]] ^ 1u64");
  expect_body("w[x % 4] -= 2", "w[x % 4] = w[x % 4] - 2");
  expect_body("c[-1 + x] += -5", "c[-1 + x] = c[-1 + x] + -5i32");
}

TEST(Shorthand, Results) {
  expect_body("x = atomic_add(a[1], 2)", "{ let __result = atomic_add(a[1], 2) x = __result }");
  expect_body("y = workgroup_add(1)", "{ let __result = workgroup_add(1u64) y = __result }");
  expect_body("let s: u64 = workgroup_add(1)", "let s = workgroup_add(1u64)");
}

TEST(Shorthand, While) {
  expect_body("while x < 5 { x += 1 if q { continue } x += 2 }",
              "for __round0 in 0..4294967295 { if !(x < 5) { break } x = x + 1 "
              "if q { continue } x = x + 2 }");
  expect_body("while q { while x != 1 { x /= 2 } q = bool(x) }",
              "for __round0 in 0..4294967295 { if !q { break } "
              "for __round1 in 0..4294967295 { if !(x != 1) { break } x = x / 2 } q = bool(x) }");
  expect_body("while 1 { break }", "for __round0 in 0..4294967295 { if !1 { break } break }");
}

TEST(Shorthand, Steps) {
  expect_body("for i in x..100 step 3 { a[i] = 1 }",
              "{ let __from0 = x let __span0 = sub_sat(100, __from0) "
              "for __round0 in 0..__span0 / 3 + (__span0 % 3 != 0) { "
              "let i = __from0 + __round0 * 3 a[i] = 1 } }");
  expect_body("for i in 2..x step 1 { a[i] = 1 }", "for i in 2..x { a[i] = 1 }");
  expect_body("for i in reversed x..100 { a[i] = i }",
              "{ let __from0 = x let __to0 = 100 for __round0 in __from0..__to0 { "
              "let i = __to0 - 1 - (__round0 - __from0) a[i] = i } }");
  expect_body("for i in reversed 0..4 { for j in 0..i step 2 { a[j] = 1 } }",
              "{ let __from0 = 0 let __to0 = 4 for __round0 in __from0..__to0 { "
              "let i = __to0 - 1 - (__round0 - __from0) "
              "{ let __from1 = 0 let __span1 = sub_sat(i, __from1) "
              "for __round1 in 0..__span1 / 2 + (__span1 % 2 != 0) { "
              "let j = __from1 + __round1 * 2 a[j] = 1 } } } }");
}

// The words are names where they always were.
TEST(Shorthand, WordsAreNames) {
  expect_body(
      "let while = 1 while = 2 while += 3 let step = while let reversed = 2 "
      "for i in reversed..step { a[i] = 1 }",
      "let while = 1 while = 2 while = while + 3 let step = while let reversed = 2 "
      "for i in reversed..step { a[i] = 1 }");
  expect_body("let const = 1 let use = const let over = use a[over] = use",
              "let const = 1 let use = const let over = use a[over] = use");
}

TEST(Shorthand, NumbersTakeTheTypeThatIsWanted) {
  expect_body("y = y + 1 + 2", "y = y + 1u64 + 2u64");
  expect_body("y = 1 + 2 + y", "y = 1u64 + 2u64 + y");
  expect_body("x = z < 0", "x = z < 0i32");
  expect_body("x = -5 < z", "x = -5i32 < z");
  expect_body("z = -2147483648", "z = -2147483648i32");
  expect_body("z = 3 - -(4)", "z = 3i32 - -4i32");
  expect_body("z = -(1 + 2)", "z = -(1i32 + 2i32)");
  expect_body("y = 1 << 40", "y = 1u64 << 40");
  expect_body("y = 1 << x", "y = 1u64 << x");
  expect_body("y = ~0 ^ -1", "y = ~0u64 ^ -(1u64)");
  expect_body("y = max(y, 3)", "y = max(y, 3u64)");
  expect_body("z = min(3, z)", "z = min(3i32, z)");
  expect_body("y = select(q, 1, y)", "y = select(q, 1u64, y)");
  expect_body("y = select(x < 3, 1, 2)", "y = select(x < 3, 1u64, 2u64)");
  expect_body("b[0] = 0xffffffffffff", "b[0] = 0xffffffffffffu64");
  expect_body("c[0] = -1", "c[0] = -1i32");
  expect_body("d[0] = 255", "d[0] = 255u32");
  expect_body("let t: u64 = 1 << 40", "let t = 1u64 << 40");
  expect_body("let t: u64[3] = [1, 2, 1 << 50]", "let t = [1u64, 2u64, 1u64 << 50]");
  expect_body("let t = [1, y, 3]", "let t = [1u64, y, 3u64]");
  expect_body("y = [1, y, 3][x]", "y = [1u64, y, 3u64][x]");
  expect_body("let old = atomic_compare_exchange(c[0], 1, -1)",
              "let old = atomic_compare_exchange(c[0], 1i32, -1i32)");
  expect_body("v[0] = v[0] << vec2u32(1, 2)", "v[0] = v[0] << vec2u32(1u32, 2u32)");
}

TEST(Shorthand, NumbersAreU32WhereNothingIsWanted) {
  expect_body("let t = -1 x = t", "let t = -(1u32) x = t");
  expect_body("x = u32(u64(7)) + popcount(1 + 2)", "x = u32(u64(7u32)) + popcount(1u32 + 2u32)");
  expect_body("if 1 { x = 2 == 3 }", "if 1u32 { x = 2u32 == 3u32 }");
  expect_body("for i in 0..4 { a[i] = i }", "for i in 0u32..4u32 { a[i] = i }");
}

TEST(Shorthand, ArgumentsOfOps) {
  const std::string program =
      "program p workgroup(1) { read_write o: u64[] o[0] = my.f(1, -2, [3, 4]) }\n";
  const std::string op =
      "op my.f(a: u64, b: i32, c: u64[2]) -> u64 { return a + u64(u32(b)) + c[1] }\n";
  const std::string typed =
      "program p workgroup(1) { read_write o: u64[] o[0] = my.f(1u64, -2i32, [3u64, 4u64]) }\n";
  expect_same(program + op, typed + op);
  expect_same(op + program, op + typed);
  const std::string one_line = program.substr(0, program.size() - 1) + " " + op;
  expect_same(one_line, typed + op);
  expect_same("op my.g(a: u64) -> u64 { return my.h(1) }\n op my.h(a: u64) -> u64 { return 2 }",
              "op my.g(a: u64) -> u64 { return my.h(1u64) }\n"
              "op my.h(a: u64) -> u64 { return 2u64 }");
  // Ops of the library, which a registry knows.
  const auto load = [](const char* text) { return load_module({"t.vyre", text}); };
  const auto bare =
      load("program p workgroup(1) { read_write o: i32[] o[0] = primitive.math.abs_i32(-3) + 1 }");
  const auto typed_call = load(
      "program p workgroup(1) { read_write o: i32[] o[0] = primitive.math.abs_i32(-3i32) + 1i32 }");
  ASSERT_TRUE(bare.ok() && typed_call.ok());
  EXPECT_EQ(bare->module, typed_call->module);
}

TEST(Shorthand, Constants) {
  const auto program = [](const std::string& n, const std::string& rest) {
    return "program p workgroup(" + n + ") {\n read_write a: u64[" + n + " * 2]\n" +
           " workgroup t: u32[" + n + "]\n let w: u32[" + n + " / 2]\n" + rest + "}\n";
  };
  expect_same("const N = 8\n" + program("N", "a[N] = N t[0] = N / 2 for i in 0..N { w[i] = N }"),
              program("8", "a[8] = 8u64 t[0] = 8 / 2 for i in 0..8 { w[i] = 8 }"));
  expect_same("const A = 1 << 3\nconst B = A + A\n" + program("B", "a[1] = B * 2 t[0] = A"),
              program("16", "a[1] = ((1u64 << 3) + (1u64 << 3)) * 2u64 t[0] = 1 << 3"));
  expect_same("const BIG: u64 = 1 << 40\nconst S = u32(BIG >> 38)\n" +
                  program("4", "a[0] = BIG + 1 t[1] = S"),
              program("4", "a[0] = (1u64 << 40) + 1u64 t[1] = u32((1u64 << 40) >> 38)"));
  expect_same("const T: u8[3] = [1, 2, 3]\nconst N = len(T)\n" + program("4", "t[0] = N"),
              "const T: u8[3] = [1, 2, 3]\n" + program("4", "t[0] = len(T)"));
  expect_same("const K = -1\n" + program("4", "let z: i32 = K t[0] = u32(z)"),
              program("4", "let z = -1i32 t[0] = u32(z)"));
  expect_same(
      "const Z = 0\nop my.f(a: u64, b: u64) -> u64 { law identity(Z) law absorbing(Z - 1) "
      "return a | b }",
      "op my.f(a: u64, b: u64) -> u64 { law identity(0u64) "
      "law absorbing(0xffffffffffffffffu64) return a | b }");
  expect_same(
      "const R: i8[4] = [1 << 6, -128, 3 - 4, 0x7f]\n"
      "program p workgroup(1) { read_write a: i32[] a[0] = R[a[1] == 1] }",
      "const R: i8[4] = [64, -128, -1, 127]\n"
      "program p workgroup(1) { read_write a: i32[] a[0] = R[a[1] == 1i32] }");
  expect_same("const S = 3\n" + program("4", "for i in 0..9 step S { t[i] = i }"),
              program("4", "for i in 0..9 step 3 { t[i] = i }"));
  // A local, a parameter or a buffer may have the name.
  expect_same("const x = 7\nop my.f(x: u32) -> u32 { return x }",
              "op my.f(x: u32) -> u32 { return x }");
}

}  // namespace
}  // namespace vyre
