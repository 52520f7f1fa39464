// A variant is only used where its assumptions hold, gives the same bytes there, and is found
// again.
#include "vyre/backends/variants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/support/must.h"
#include "vyre/passes/pass.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

// As an optimised program, lowered for a target that has everything.
Variants variants_of(std::string_view text) {
  const Module module = must(parse(text));
  const Linked linked = must(link(std::get<Program>(module.items[0])));
  const Program program = must(optimise(linked));
  return {linked, program, {}, lower(program, {})};
}

constexpr std::string_view kAdd = R"(
program add workgroup(4) {
  read a: u32[]
  read b: u32[]
  read_write out: u32[]
  if invocation_id.x < len(out) {
    out[invocation_id.x] = a[invocation_id.x] + b[invocation_id.x]
  }
}
)";

constexpr std::string_view kPlane = R"(
program plane workgroup(4, 4) {
  uniform size: u32[2]
  read_write out: u32[]
  if invocation_id.x < size[0] && invocation_id.y < size[1] {
    out[invocation_id.y * size[0] + invocation_id.x] = invocation_id.x
  }
}
)";

DispatchFacts facts(std::array<std::uint64_t, 3> grid, std::vector<std::uint32_t> lengths,
                    std::vector<std::vector<std::uint32_t>> uniforms = {}) {
  uniforms.resize(lengths.size());
  return {grid, std::move(lengths), std::move(uniforms)};
}

TEST(Variants, TheOrderOfLengthsServesAllSizes) {
  Variants variants = variants_of(kAdd);
  const Lowered& equal = variants.choose(facts({2, 1, 1}, {8, 8, 8}));
  EXPECT_EQ(equal.bounds.checked(), 0u);
  ASSERT_EQ(equal.assumptions.size(), 2u);
  EXPECT_EQ(equal.assumptions[0].kind, Assumption::Kind::Order);
  EXPECT_EQ(&variants.choose(facts({9, 1, 1}, {100, 70, 64})), &equal);
  // A shorter input needs its checks.
  const Lowered& shorter = variants.choose(facts({2, 1, 1}, {7, 8, 8}));
  EXPECT_NE(&shorter, &equal);
  EXPECT_TRUE(shorter.fits(facts({2, 1, 1}, {7, 8, 8})));
}

TEST(Variants, AUniformServesItsOwnValueOnly) {
  Variants variants = variants_of(kPlane);
  const DispatchFacts small = facts({1, 1, 1}, {2, 12}, {{4, 3}});
  const Lowered& own = variants.choose(small);
  EXPECT_EQ(own.bounds.checked(), 0u);
  EXPECT_EQ(&variants.choose(small), &own);
  EXPECT_FALSE(own.fits(facts({1, 1, 1}, {2, 12}, {{5, 3}})));
  EXPECT_FALSE(own.fits(facts({2, 1, 1}, {2, 12}, {{4, 3}})));
  EXPECT_FALSE(own.fits(facts({1, 1, 1}, {2, 11}, {{4, 3}})));
  EXPECT_TRUE(own.fits(facts({1, 1, 1}, {2, 500}, {{4, 3}})));
}

TEST(Variants, ThereAreNeverMany) {
  Variants variants = variants_of(kPlane);
  std::vector<const Lowered*> seen;
  for (std::uint32_t n = 1; n < 40; ++n) {
    const DispatchFacts now = facts({1, 1, 1}, {2, n * 3}, {{n, 3}});
    const Lowered& chosen = variants.choose(now);
    EXPECT_TRUE(chosen.fits(now));
    if (std::ranges::find(seen, &chosen) == seen.end()) seen.push_back(&chosen);
  }
  EXPECT_LE(seen.size(), 8u);
  // Those that there were are still there.
  EXPECT_EQ(&variants.choose(facts({1, 1, 1}, {2, 3}, {{1, 3}})), seen[0]);
}

TEST(Variants, GiveTheSameBytes) {
  Variants variants = variants_of(kPlane);
  const Program& program = variants.source().program();
  for (std::uint32_t columns : {0u, 1u, 4u, 7u}) {
    for (std::uint32_t length : {0u, 5u, 28u, 30u}) {
      const std::vector<std::uint32_t> size{columns, 4};
      const std::vector<std::uint32_t> out(length, 9);
      const std::vector<std::span<const std::byte>> contents{std::as_bytes(std::span(size)),
                                                             std::as_bytes(std::span(out))};
      const Grid grid{2, 1, 1};
      const Lowered& variant = variants.choose(facts_of(program, grid, contents));
      const auto bytes = [&](const Program& each) {
        const Outputs outputs = must(
            dispatch(must(link(each)), grid, {HostBuffer("size", size), HostBuffer("out", out)}));
        return outputs.buffers[0].bytes;
      };
      EXPECT_EQ(bytes(variant.program), bytes(program)) << columns << " " << length;
    }
  }
}

TEST(Variants, AreSafeToChooseFromThreads) {
  Variants variants = variants_of(kPlane);
  std::vector<std::jthread> threads;
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&variants, t] {
      for (std::uint32_t n = 1; n < 20; ++n) {
        const DispatchFacts now = facts({1, 1, 1}, {2, 64}, {{(n + t) % 10, 3}});
        EXPECT_TRUE(variants.choose(now).fits(now));
      }
    });
  }
}

TEST(Variants, FactsPadBytesToWords) {
  const Result<Module> module = parse(
      "program p workgroup(1) {\nuniform u: bytes\nread_write out: bytes\nout[0] = u[1]\n}\n");
  const std::byte bytes[] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}};
  const std::vector<std::span<const std::byte>> contents{bytes, std::span(bytes).first(1)};
  const DispatchFacts found =
      facts_of(std::get<Program>(module->items[0]), Grid{1, 2, 3}, contents);
  EXPECT_EQ(found.grid, (std::array<std::uint64_t, 3>{1, 2, 3}));
  EXPECT_EQ(found.lengths, (std::vector<std::uint32_t>{2, 1}));
  EXPECT_EQ(found.uniforms[0], (std::vector<std::uint32_t>{0x04030201, 5}));
}

}  // namespace
}  // namespace vyre
