// spirv-val takes what programs become: examples, every op of the library, and generated programs,
// for devices with and without 64-bit integers.
#include <gtest/gtest.h>

#include "tests/support/build.h"
#include "tests/support/command.h"
#include "tests/support/families.h"
#include "tests/support/spirv_fixture.h"
#include "vyre/backends/variants.h"
#include "vyre/conform/generator.h"
#include "vyre/passes/inline.h"
#include "vyre/passes/pass.h"

namespace vyre {
namespace {

class SpirvValidator : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_installed("spirv-val")) GTEST_SKIP() << "spirv-val (spirv-tools) is not installed";
  }
  void TearDown() override {
    if (!IsSkipped()) EXPECT_GT(modules_, 0u);
  }

  void check(const Result<SpirvKernel>& kernel) {
    ASSERT_TRUE(kernel.ok()) << render(kernel.diagnostics()[0]);
    EXPECT_EQ(validator_says(kernel->words), "");
    ++modules_;
  }
  // For devices of every kind.
  void check(const Linked& linked, std::string_view file = {}) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, print(Module{{linked.program()}}));
    for (const std::string_view kind : kSpirvKinds) check(compile_spirv(linked, kind, file));
  }

  std::size_t modules_ = 0;
};

TEST_F(SpirvValidator, TakesExamples) {
  for (const std::string& path : program_files({"examples", "bench/programs"})) {
    const Result<Loaded> loaded = load_module({path, read_file(path)});
    ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0]);
    for (std::size_t i = 0; i < loaded->own_items; ++i) {
      if (!std::holds_alternative<Program>(loaded->module.items[i])) continue;
      Linked linked = program_at(*loaded, i);
      check(linked);
      linked.set_source(source_lines(*loaded)[i]);
      check(linked, path);
    }
  }
}

TEST_F(SpirvValidator, TakesLibraryOps) {
  const Registry registry;
  const std::size_t part = is_long() ? 1 : 10;  // one in so many
  std::size_t number = 0;
  for (const Op* op : registry.all()) {
    const Result<Program> program = elementwise(*op);
    if (!program.ok() || number++ % part != 0) continue;
    check(*link(*program, registry));
  }
}

TEST_F(SpirvValidator, TakesCollectives) {
  for (const std::array<std::uint32_t, 3>& size : workgroup_sizes(is_long() ? 1 : 20)) {
    check(*link(collectives_case(size, 0)));
  }
  for (std::uint64_t seed = 0; seed < cases(10, 100); ++seed) check(*link(neighbours_case(seed)));
}

TEST_F(SpirvValidator, TakesNarrowElementsAndTables) {
  for (std::uint64_t seed = 0; seed < cases(10, 100); ++seed) {
    check(*link(narrow_case(seed)));
    check(*link(table_case(seed)));
  }
}

// Optimised, as they are written, which has operations on constants, and for one dispatch.
TEST_F(SpirvValidator, TakesGeneratedPrograms) {
  for (std::uint64_t seed = 0; seed < cases(50, 1'000); ++seed) {
    GeneratorOptions options;
    options.statements = 3 + static_cast<std::uint32_t>(seed % 14);
    const Case c = generate_case(seed, options);
    const testing::ScopedTrace trace(__FILE__, __LINE__, "seed " + std::to_string(seed));
    const Result<Linked> linked = link(c);
    ASSERT_TRUE(linked.ok());
    check(*linked);
    const Target target = *spirv_target(kSpirvKinds[seed % 2]);
    Target plain = target;
    plain.shape = {};
    check(emit_spirv(lower(*inline_calls(*linked), plain)));
    const std::vector<std::span<const std::byte>> contents(c.contents.begin(), c.contents.end());
    check(emit_spirv(lower(*optimise(*linked), target, facts_of(c.program(), c.grid, contents))));
  }
}

}  // namespace
}  // namespace vyre
