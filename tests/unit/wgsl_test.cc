// The WGSL that programs become.
#include <gtest/gtest.h>

#include "tests/support/must.h"
#include "vyre/backends/wgsl/emit.h"
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
// errors. Where the optimiser leaves such expressions, they are no literals for WGSL.
TEST(Wgsl, NoExpressionIsMadeOfLiteralsAlone) {
  std::string deep = "a[i]";
  for (int k = 0; k < 600; ++k) deep = "(" + deep + " ^ (0xffffffff + (7 / (3 - 3))))";
  const std::string text = wgsl_of(with_value(deep));
  EXPECT_EQ(text.find("4294967295u +"), std::string::npos);
  EXPECT_EQ(text.find("0xffffffffu + "), std::string::npos) << text.substr(0, 3000);
  EXPECT_EQ(text.find("3u - 3u"), std::string::npos) << text.substr(0, 3000);
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
