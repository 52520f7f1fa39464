// The assembler takes what programs become: examples, every op of the library, and generated
// programs, for several kinds of GPUs. Without a GPU that is all that can be told.
#include <gtest/gtest.h>

#include "tests/support/build.h"
#include "tests/support/command.h"
#include "tests/support/ptx_fixture.h"
#include "vyre/backends/variants.h"
#include "vyre/conform/generator.h"
#include "vyre/passes/inline.h"
#include "vyre/passes/pass.h"

namespace vyre {
namespace {

class PtxAssembler : public ::testing::Test {
 protected:
  void SetUp() override {
    if (find_ptxas().empty())
      GTEST_SKIP() << "there is no ptxas in PATH, CUDA_HOME or /usr/local/cuda";
  }
  void TearDown() override {
    if (IsSkipped()) return;
    ASSERT_GT(kernels_, 0u);
    EXPECT_EQ(assembler_says(module_), "");
  }

  void add(const Result<PtxKernel>& kernel) {
    ASSERT_TRUE(kernel.ok()) << render(kernel.diagnostics()[0]);
    module_ += "\n" + kernel->text;
    ++kernels_;
  }
  std::string next_entry() const { return "kernel" + std::to_string(kernels_); }

  std::string module_ = ptx_header();
  std::size_t kernels_ = 0;
};

TEST_F(PtxAssembler, TakesExamples) {
  std::vector<std::string> paths = program_files({"examples", "bench/programs"});
  for (const char* name : {"ptx", "ptx_workgroup"}) {
    paths.push_back(source_root() + "/tests/golden/lower/" + name + ".vyre");
  }
  for (const std::string& path : paths) {
    const Result<Loaded> loaded = load_module({path, read_file(path)});
    ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0]);
    Registry registry;
    ASSERT_TRUE(registry.add(loaded->module).ok());
    for (const Item& item : loaded->module.items) {
      const Program* program = std::get_if<Program>(&item);
      if (program == nullptr) continue;
      add(compile_ptx(*link(*program, registry), next_entry()));
    }
  }
}

TEST_F(PtxAssembler, TakesLibraryOps) {
  const Registry registry;
  std::size_t number = 0;
  for (const Op* op : registry.all()) {
    const Result<Program> program = elementwise(*op);
    if (!program.ok() || number++ % every() != 0) continue;
    add(compile_ptx(*link(*program, registry), next_entry()));
  }
}

// Optimised, as they are written, which has operations on constants, and for one dispatch.
TEST_F(PtxAssembler, TakesGeneratedPrograms) {
  for (std::uint64_t seed = 0; seed < cases(50, 1'000); ++seed) {
    GeneratorOptions options;
    options.statements = 3 + static_cast<std::uint32_t>(seed % 14);
    const Case c = generate_case(seed, options);
    const Result<Linked> linked = link(c);
    ASSERT_TRUE(linked.ok());
    add(compile_ptx(*linked, next_entry()));
    Target plain = ptx_target();
    plain.shape = {};
    add(emit_ptx(lower(*inline_calls(*linked), plain), next_entry()));
    const std::vector<std::span<const std::byte>> contents(c.contents.begin(), c.contents.end());
    const DispatchFacts facts = facts_of(c.program(), c.grid, contents);
    add(emit_ptx(lower(*optimise(*linked), ptx_target(), facts), next_entry()));
  }
}

}  // namespace
}  // namespace vyre
