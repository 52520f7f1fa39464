// The WGSL that programs become.
#include <gtest/gtest.h>

#include <regex>

#include "tests/support/must.h"
#include "vyre/backends/wgsl/emit.h"
#include "vyre/backends/wgsl/speller.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

std::string wgsl_of(const std::string& text) {
  const Loaded loaded = must(load_module({"p.vyre", text}));
  const Lowered lowered = must(lower(must(link(loaded)), *find_backend("wgsl")));
  return must(emit_wgsl(lowered)).text;
}

std::string with_value(const std::string& value, const std::string& element = "u32") {
  return "program p workgroup(64) {\n  read a: " + element + "[] @0\n  read b: " + element +
         "[] @1\n  read_write out: " + element +
         "[] @2\n  let i = invocation_id.x\n  out[i] = " + value + "\n}\n";
}

TEST(Wgsl, ComposedProgramsAreLikeHandwrittenOnes) {
  EXPECT_EQ(wgsl_of(with_value("primitive.bitwise.popcount(primitive.bitwise.xor(a[i], b[i]))")),
            wgsl_of(with_value("popcount(a[i] ^ b[i])")));
}

// WGSL computes expressions of literals by other rules, in which overflow and division by zero are
// errors; so one of them is no literal for WGSL.
TEST(Wgsl, NoExpressionIsMadeOfLiteralsAlone) {
  const std::regex literals("[0-9a-f]u (\\+|-|\\*|/|%|<<) [0-9]");
  ASSERT_TRUE(std::regex_search("let a = 0xffu << 33u;", literals));
  for (const Operation op : {Operation::Add, Operation::Sub, Operation::Mul, Operation::Div,
                             Operation::Mod, Operation::Shl, Operation::Min}) {
    WgslSpeller speller;
    speller.begin(Program{"p", {1, 1, 1}, {}, {}}, {{.name = "out", .is_written = true}}, 4);
    const ShaderPart made =
        speller.binary(op, DataType::U32, ShaderPart::literal(0xffffffff), ShaderPart::literal(7));
    speller.store(0, ShaderPart::literal(0), made);
    EXPECT_FALSE(std::regex_search(speller.text(), literals)) << speller.text();
    EXPECT_NE(speller.text().find("out[0u] = "), std::string::npos) << speller.text();
  }
}

// The language has numbers of 32 bits only.
TEST(Wgsl, WideNumbersArePairs) {
  const std::string text = wgsl_of(with_value("a[i] * b[i] + 1", "u64"));
  EXPECT_EQ(text.find("u64"), std::string::npos) << text;
  EXPECT_NE(text.find("a: array<u32>"), std::string::npos) << text;
}

TEST(Wgsl, NoNestedTextIsLong) {
  std::string sum = "a[i]";
  for (int k = 0; k < 450; ++k) sum = "rotl(" + sum + " * b[i], " + std::to_string(k % 31) + ")";
  const std::string text = wgsl_of(with_value(sum));
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    EXPECT_LE(end - begin, 400u) << text.substr(begin, end - begin);
  }
}

}  // namespace
}  // namespace vyre
