// What warnings take for certain is so: the ranges and orders that they read from a program as it
// is written are held against what the interpreter computes for each expression. And the programs
// of this project give none.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/support/command.h"
#include "vyre/conform/generator.h"
#include "vyre/interp/groups.h"
#include "vyre/passes/ranges.h"
#include "vyre/vyre.h"
#include "vyre/warnings/plain.h"
#include "vyre/warnings/warnings.h"

namespace vyre {
namespace {

namespace fs = std::filesystem;

// By statement and expression, what is known of the value there; and which comparisons of it are
// decided by an order.
struct Known {
  Range range;
  std::optional<bool> is_less;  // the first operand than the second one
};
using Claims = std::map<std::pair<std::uint32_t, std::uint32_t>, Known>;

Claims claims_of(const Module& module, const Registry& registry, std::size_t item) {
  Findings none;
  const Callees callees = resolve_callees(module, registry);
  Context context(module.items[item], callees, none, nullptr);
  context.types = types_of(module, module.items[item]);
  const Plain plain_item = plain(context);
  Ranges ranges(plain_item.program);
  Claims claims;
  const Body& body = context.body;
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    ranges.go_to(plain_item.at(i));
    const Roots ids = roots(body.stmts[i]);
    for_each_below(body, ids, [&](ExprId id) {
      if (!plain_item[id].exists()) return;
      Known known{ranges.range(ranges.value(plain_item[id])), {}};
      const Expr& expr = body[id];
      if (expr.op == Operation::Lt && context.types[expr.args[0]] == DataType::U32) {
        const ExprId a = ranges.value(plain_item[expr.args[0]]);
        const ExprId b = ranges.value(plain_item[expr.args[1]]);
        if (ranges.less(a, 0, b)) known.is_less = true;
        if (ranges.less(b, -1, a)) known.is_less = false;
      }
      if (known.range.width != 0 || known.is_less) claims[{i, id.index}] = known;
    });
  }
  return claims;
}

struct Totals {
  std::uint64_t values = 0;  // that were compared with a claim
  std::uint64_t narrow = 0;  // with one that says something
  std::uint64_t orders = 0;
};

class Checking : public NoWatch {
 public:
  Checking(const Script& script, const Claims& claims, Totals& totals)
      : script_(script), claims_(claims), totals_(totals) {}

  void end_step(const Step& step, const BodyFrame& frame) {
    for (std::uint32_t i = step.first; i < step.last && wrong.empty(); ++i) {
      const Node& node = script_.body.nodes[i];
      const auto claim = claims_.find({step.stmt, node.id});
      if (claim == claims_.end()) continue;
      const Bits& bits = frame.values[node.id];
      const std::uint64_t value = bits.lanes[0] | std::uint64_t{bits.lanes[1]} << 32;
      const Known& known = claim->second;
      ++totals_.values;
      totals_.narrow += known.range == any(known.range.width) ? 0 : 1;
      totals_.orders += known.is_less ? 1 : 0;
      const bool fits = known.range.width == 0 || contains(known.range, value);
      if (fits && (!known.is_less || *known.is_less == (value != 0))) continue;
      wrong = path_of(script_.program().body, StmtId{step.stmt}) + ": " +
              print_expr(script_.program().body, script_.program().buffers, ExprId{node.id}, 200) +
              " is " + std::to_string(value);
    }
  }

  std::string wrong;

 private:
  const Script& script_;
  const Claims& claims_;
  Totals& totals_;
};

std::string check(const Case& c, Totals& totals) {
  const Result<Linked> linked = link(c);
  if (!linked.ok()) return render(linked.diagnostics()[0]);
  Registry registry;
  if (!registry.add(c.module).ok()) return "ops that contradict each other";
  const Claims claims = claims_of(c.module, registry, c.module.items.size() - 1);
  std::vector<std::vector<std::byte>> contents = c.contents;
  std::vector<Memory> memories;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const BufferDecl& buffer = c.program().buffers[i];
    const bool workgroup = buffer.access == BufferAccess::Workgroup;
    contents[i].resize(workgroup ? 0 : std::size_t{length_of(c, i)} * stride(buffer.element));
    memories.emplace_back(contents[i]);
  }
  const Script script = make_script(*linked);
  Checking checking(script, claims, totals);
  RunOptions options;
  options.max_steps = 200'000;
  (void)run_watched(script, Grid(c.grid), memories, options, checking);
  return checking.wrong;
}

TEST(Warnings, KnowOnlyWhatIsSo) {
  GeneratorOptions options;
  Totals totals;
  for (std::uint64_t seed = 1; seed <= cases(300, 10'000); ++seed) {
    options.race_free = seed % 2 == 0;
    const Case c = generate_case(seed, options);
    const std::string wrong = check(c, totals);
    ASSERT_EQ(wrong, "") << "seed " << seed << "\n" << to_text(c);
    // And looking for warnings ends, for text and without it.
    const std::string text = print(c.module);
    Result<Loaded> loaded = load_module({"case.vyre", text});
    ASSERT_TRUE(loaded.ok()) << text;
    const std::size_t count = warnings_of(*loaded).size();
    loaded->positions.clear();
    // Positions tell of L006 and L007 as well.
    EXPECT_LE(warnings_of(*loaded).size(), count) << text;
  }
  EXPECT_GT(totals.values, 100'000u);
  EXPECT_GT(totals.narrow, totals.values / 4);
  EXPECT_GT(totals.orders, 0u);
}

std::string warnings_in(const fs::path& file) {
  const Result<Loaded> loaded = load_module({file.filename(), read_file(file)});
  std::string text;
  if (!loaded.ok()) return text;
  for (const Diagnostic& warning : warnings_of(*loaded)) text += render(warning);
  return text;
}

TEST(Warnings, NoneFiresOnWhatIsMeant) {
  std::size_t files = 0;
  for (const char* folder : {"/examples", "/vyre/library"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(source_root() + folder)) {
      if (entry.path().extension() != ".vyre") continue;
      ++files;
      EXPECT_EQ(warnings_in(entry.path()), "");
    }
  }
  EXPECT_GT(files, 30u);
}

// --- What is out of bounds ----------------------------------------------------------------------

struct Counted {
  std::uint64_t stores, atomics, loads, workgroup;
  std::uint32_t invocation, stmt;
  friend bool operator==(const Counted&, const Counted&) = default;
};

Counted count_on(const Linked& linked, const RunOptions& options) {
  const std::vector<std::uint32_t> data(1000, 1), bins(3);
  const std::unique_ptr<Device> device = *open_device("interp");
  OutOfBounds hidden;
  DispatchOptions dispatched{device.get(), options};
  dispatched.run.out_of_bounds = &hidden;
  const Result<Outputs> ran =
      dispatch(linked, Grid(7, 3), {{"data", data}, {"bins", bins}}, dispatched);
  EXPECT_TRUE(ran.ok());
  return {hidden.stores,          hidden.atomics,          hidden.loads,
          hidden.first.workgroup, hidden.first.invocation, hidden.first.stmt.index};
}

// Invocations are counted by hand: 7 × 3 workgroups of 64, those of a row have the x from 0 to 447.
TEST(OutOfBounds, IsTheSameOnAllThreadsAndInAllOrders) {
  const Result<Loaded> loaded = load_module({"", R"(
program hidden workgroup(64) {
  read_write data: u32[]
  read_write bins: u32[]

  let at = invocation_id.y * 448 + invocation_id.x
  if at % 64 == 7 {
    atomic_add(bins[invocation_id.x % 5], 1)
  }
  barrier
  data[at] = data[at + 1]
}
)"});
  ASSERT_TRUE(loaded.ok());
  const Linked linked = *link(*loaded);
  // x is 7 + 64 g with g from 0 to 6: modulo 5 it is 2, 1, 0, 4, 3, 2, 1; two of seven in a row.
  // The first one is that of workgroup 3. Of 1344 elements 1000 exist.
  const Counted expected{344, 6, 345, 3, 7, 2};
  RunOptions options;
  for (unsigned threads : {0u, 1u, 2u, 5u, 16u}) {
    options.threads = threads;
    EXPECT_EQ(count_on(linked, options), expected) << threads << " threads";
  }
  for (const Schedule& schedule : race_schedules()) {
    options.schedule = schedule;
    EXPECT_EQ(count_on(linked, options), expected) << to_text(schedule);
  }
}

}  // namespace
}  // namespace vyre
