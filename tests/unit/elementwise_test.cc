// Array programs made of ops.
#include <gtest/gtest.h>

#include <numeric>

#include "vyre/passes/pass.h"
#include "vyre/validate/validate.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

const Op& op(std::string_view id) { return *Registry().find(id); }

TEST(Elementwise, AppliesAnOpToArrays) {
  const Result<Program> program = elementwise(op("primitive.math.gcd"));
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(print(Module{{*program}}), R"(program primitive_math_gcd workgroup(64) {
  read       a: u32[] @0
  read       b: u32[] @1
  read_write out: u32[] @2

  let i = invocation_id.x
  if i < len(out) {
    out[i] = primitive.math.gcd(a[i], b[i])
  }
}
)");
  std::vector<std::uint32_t> a(100);
  std::vector<std::uint32_t> b(100);
  std::iota(a.begin(), a.end(), 0);
  std::iota(b.begin(), b.end(), 50);
  const Result<Outputs> outputs =
      dispatch(*link(*program), 2, {{"a", a}, {"b", b}, {"out", std::vector<std::uint32_t>(100)}});
  ASSERT_TRUE(outputs.ok());
  const std::vector<std::uint32_t> out = *outputs->get<std::uint32_t>("out");
  ASSERT_EQ(out.size(), 100u);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], std::gcd(a[i], b[i]));
}

TEST(Elementwise, FusesAChainIntoOneProgram) {
  const Op* chain[] = {&op("primitive.bitwise.xor"), &op("primitive.bitwise.popcount"),
                       &op("primitive.math.max")};
  const Result<Program> program = elementwise(chain);
  ASSERT_TRUE(program.ok());
  ASSERT_EQ(program->buffers.size(), 4u);
  const Result<Linked> linked = link(*program);
  ASSERT_TRUE(linked.ok());
  const Result<Program> flat = optimise(*linked);
  ASSERT_TRUE(flat.ok());
  EXPECT_NE(print(Module{{*flat}})
                .find("= max(\n"
                      "      popcount(a[invocation_id.x] ^ b[invocation_id.x]),\n"
                      "      b_[invocation_id.x]\n"
                      "    )\n"),
            std::string::npos)
      << print(Module{{*flat}});
}

TEST(Elementwise, AChainHasOpsThatFit) {
  const auto code_of = [](const Result<Program>& result) {
    return result.ok() ? "" : std::string(name(result.diagnostics()[0].code));
  };
  EXPECT_EQ(code_of(elementwise(std::span<const Op* const>())), "V021");
  const Op* unfit[] = {&op("primitive.bitwise.popcount_u64"), &op("primitive.math.add_u64")};
  EXPECT_EQ(code_of(elementwise(unfit)), "V022");
}

// All of the library but what has arrays can be used so, and what is made is valid.
TEST(Elementwise, TakesEveryOpOfTheLibrary) {
  for (const Op* each : Registry().all()) {
    if (!is_elementwise(*each)) continue;
    const Result<Program> program = elementwise(*each);
    ASSERT_TRUE(program.ok()) << each->id;
    EXPECT_TRUE(validate(*program).empty()) << each->id;
    const Result<Linked> linked = link(*program);
    ASSERT_TRUE(linked.ok()) << each->id;
    const Result<Program> flat = optimise(*linked);
    ASSERT_TRUE(flat.ok()) << each->id;
    EXPECT_TRUE(validate(*flat).empty()) << each->id;
  }
}

}  // namespace
}  // namespace vyre
