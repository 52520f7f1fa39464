// The line of a program: each stage runs once, and what it made is used again.
#include "vyre/compile.h"

#include <gtest/gtest.h>

#include <random>

#include "vyre/base/counters.h"
#include "vyre/ir/walk.h"
#include "vyre/passes/pass.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

// What ran between two moments.
struct Ran {
  std::uint64_t validations, inlinings, optimisations, lowerings, emissions, launch_checks;
  friend bool operator==(const Ran&, const Ran&) = default;
  friend void PrintTo(const Ran& ran, std::ostream* out) {
    *out << ran.validations << " validations, " << ran.inlinings << " inlinings, "
         << ran.optimisations << " optimisations, " << ran.lowerings << " lowerings, "
         << ran.emissions << " emissions, " << ran.launch_checks << " checks of launches";
  }
};
template <class Action>
Ran count(Action action) {
  const auto now = [] {
    return Ran{counters.validations, counters.inlinings, counters.optimisations,
               counters.lowerings,   counters.emissions, counters.launch_checks};
  };
  const Ran before = now();
  action();
  const Ran after = now();
  return {after.validations - before.validations,     after.inlinings - before.inlinings,
          after.optimisations - before.optimisations, after.lowerings - before.lowerings,
          after.emissions - before.emissions,         after.launch_checks - before.launch_checks};
}

// With an op of its own and one of the library. A new name makes it a program that no cache has.
std::string text_of(const std::string& name) {
  return "op my.count_twice(x: u32) -> u32 { return primitive.math.min(popcount(x) * 2, 60) }\n"
         "program " +
         name +
         " workgroup(64) {\n  read_write data: u32[]\n"
         "  let i = invocation_id.x\n  if i < len(data) { data[i] = my.count_twice(data[i]) }\n}\n";
}

TEST(Compile, EachStageRunsOnce) {
  const std::vector<std::uint32_t> numbers = {1, 3, 7, 0xffffffff};
  const std::vector<std::uint32_t> doubled = {2, 4, 6, 60};
  for (const Backend& backend : all_backends()) {
    if (backend.open(0).device == nullptr) continue;
    SCOPED_TRACE(backend.name);
    const Result<std::unique_ptr<Device>> device = open_device(backend);
    ASSERT_TRUE(device.ok());
    DispatchOptions options;
    options.device = device->get();
    Result<Linked> linked = Linked();
    const auto run = [&] {
      const Result<Outputs> outputs = dispatch(*linked, 1, {{"data", numbers}}, options);
      ASSERT_TRUE(outputs.ok());
      EXPECT_EQ(*outputs->get<std::uint32_t>("data"), doubled);
    };
    const std::uint64_t emits = backend.emitter == nullptr ? 0 : 1;
    const Ran first = count([&] {
      const Result<Loaded> loaded =
          load_module({"once.vyre", text_of("once_" + std::to_string(std::random_device()()))});
      ASSERT_TRUE(loaded.ok());
      linked = link(*loaded);
      ASSERT_TRUE(linked.ok());
      run();
    });
    EXPECT_EQ(first, (Ran{1, emits, emits, emits, emits, 1}));
    const std::uint64_t copies = counters.copies;
    EXPECT_EQ(count(run), (Ran{0, 0, 0, 0, 0, 1}));
    EXPECT_EQ(counters.copies, copies) << "of the program";
  }
}

TEST(Compile, PipelinesShareTheProgram) {
  const Result<Loaded> loaded = load_module({"shared.vyre", text_of("shared")});
  ASSERT_TRUE(loaded.ok());
  const Result<Linked> linked = link(*loaded);
  ASSERT_TRUE(linked.ok());
  const Result<std::unique_ptr<Device>> device = open_device(*find_backend("interp"));
  ASSERT_TRUE(device.ok());
  const Result<Pipeline> pipeline = make_pipeline(**device, *linked);
  ASSERT_TRUE(pipeline.ok());
  EXPECT_EQ(&pipeline->program(), &linked->program());
}

TEST(Compile, DevicesRefuseCodeOfOtherBackends) {
  const Result<Loaded> loaded = load_module({"other.vyre", text_of("other")});
  ASSERT_TRUE(loaded.ok());
  const Result<Linked> linked = link(*loaded);
  ASSERT_TRUE(linked.ok());
  const Result<Artifact> artifact = compile(*linked, *find_backend("ptx"));
  ASSERT_TRUE(artifact.ok());
  const Opened cpu = find_backend("cpu")->open(0);
  if (cpu.device == nullptr) GTEST_SKIP() << "SKIPPED: " << cpu.reason;
  const Result<std::unique_ptr<Kernel>> kernel = cpu.device->load(*artifact);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(name(kernel.diagnostics()[0].code), "B005");
}

// What others may write to meanwhile is loaded once, also where a statement is taken apart.
TEST(Compile, ShortStatementsLoadAsOftenAsLongOnes) {
  std::string sum = "data[i]";
  for (int k = 1; k < 40; ++k) sum = "(" + sum + " ^ " + std::to_string(k) + ") * (data[i] | 1)";
  const Result<Loaded> loaded = load_module({"long.vyre",
                                             "program p workgroup(64) {\n  read_write data: u32[]\n"
                                             "  let i = invocation_id.x\n  data[i] = " +
                                                 sum + "\n}\n"});
  ASSERT_TRUE(loaded.ok());
  const std::optional<Program> shorter = shorten(std::get<Program>(loaded->module.items[0]), 20);
  ASSERT_TRUE(shorter);
  EXPECT_GT(shorter->body.stmts.size(), 5u);
  std::size_t loads = 0;
  for (const Stmt& stmt : shorter->body.stmts) {
    for_each_below(shorter->body, roots(stmt),
                   [&](ExprId id) { loads += shorter->body[id].op == Operation::Load ? 1 : 0; });
  }
  EXPECT_EQ(loads, 1u);
  EXPECT_FALSE(shorten(*shorter, 400));
}

}  // namespace
}  // namespace vyre
