// The interpreter itself: its orders, its run-time checks, calls, and threads.
#include "vyre/interp/interp.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "vyre/interp/groups.h"
#include "vyre/interp/race.h"
#include "vyre/interp/script.h"
#include "vyre/interp/trace.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

using u32 = std::uint32_t;
using Words = std::vector<u32>;

// A program from text; not validated, so that the checks at run time can be tried.
Script script_of(std::string_view text) {
  Result<Module> module = parse(text);
  if (!module) {
    ADD_FAILURE() << render(module.diagnostics()[0]);
    return {};
  }
  Program program;
  Linked::Ops ops;
  for (Item& item : module->items) {
    if (Op* op = std::get_if<Op>(&item)) {
      ops.push_back(std::make_shared<const Op>(*op));
    } else {
      program = std::get<Program>(item);
    }
  }
  return make_script(Linked::trust(std::move(program), std::move(ops)));
}

struct Ran {
  std::vector<Words> buffers;
  Result<RunStats> stats;
};

Ran run(const Script& script, Grid grid, std::vector<Words> buffers,
        const RunOptions& options = {}) {
  std::vector<Memory> memory;
  for (Words& buffer : buffers) memory.push_back(std::as_writable_bytes(std::span(buffer)));
  Result<RunStats> stats = interpret(script, grid, memory, options);
  return {std::move(buffers), std::move(stats)};
}

const Schedule kSequential{Schedule::Kind::Sequential, 0};
const Schedule kReverse{Schedule::Kind::Reverse, 0};
const Schedule kRoundRobin{Schedule::Kind::RoundRobin, 0};

RunOptions in_order(const Schedule& schedule) {
  RunOptions options;
  options.schedule = schedule;
  return options;
}

// --- Orders
// ---------------------------------------------------------------------------------------

// Each invocation takes a ticket before and behind another statement.
constexpr std::string_view kTickets = R"(
program tickets workgroup(2) {
  read_write counter: u32[1]
  read_write first: u32[4]
  read_write second: u32[4]

  let a = atomic_add(counter[0], 1)
  first[invocation_id.x] = a
  let b = atomic_add(counter[0], 1)
  second[invocation_id.x] = b
}
)";

TEST(Interp, OrdersAreWhatTheyAreCalled) {
  const Script script = script_of(kTickets);
  const std::vector<Words> zeros = {Words(1), Words(4), Words(4)};
  const auto tickets = [&](const Schedule& schedule) {
    return run(script, {2}, zeros, in_order(schedule)).buffers;
  };
  EXPECT_EQ(tickets(kSequential), (std::vector<Words>{{8}, {0, 2, 4, 6}, {1, 3, 5, 7}}));
  EXPECT_EQ(tickets(kReverse), (std::vector<Words>{{8}, {6, 4, 2, 0}, {7, 5, 3, 1}}));
  EXPECT_EQ(tickets(kRoundRobin), (std::vector<Words>{{8}, {0, 1, 4, 5}, {2, 3, 6, 7}}));

  std::set<std::vector<Words>> seen;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Schedule random{Schedule::Kind::Random, seed};
    const std::vector<Words> result = tickets(random);
    EXPECT_EQ(tickets(random), result) << "the seed decides";
    std::set<u32> taken(result[1].begin(), result[1].end());
    taken.insert(result[2].begin(), result[2].end());
    EXPECT_EQ(taken.size(), 8u);
    seen.insert(result);
  }
  EXPECT_GT(seen.size(), 10u);
}

TEST(Interp, ARandomOrderVisitsEachWorkgroupOnce) {
  for (const Grid& grid : {Grid{1, 1, 1}, Grid{7, 3, 2}, Grid{64, 1, 1}, Grid{5, 0, 5}}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Groups groups(grid, {Schedule::Kind::Random, seed});
      std::set<Ids> seen;
      for (std::uint64_t i = 0; i < groups.count(); ++i) seen.insert(groups[i]);
      EXPECT_EQ(seen.size(), std::uint64_t{grid[0]} * grid[1] * grid[2]);
      for (const Ids& ids : seen) {
        for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_LT(ids[axis], grid[axis]);
      }
    }
  }
}

TEST(Interp, OrdersHaveNames) {
  for (const Schedule& schedule : race_schedules()) {
    const std::optional<Schedule> found = find_schedule(to_text(schedule));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(*found, schedule);
  }
  EXPECT_GE(race_schedules().size(), 8u);
  EXPECT_TRUE(find_schedule("random").has_value());
  for (std::string_view wrong : {"", "rand", "random:", "random:x", "random:1x", "random:-1",
                                 "random:99999999999999999999", "reverse:1", "Sequential"}) {
    EXPECT_FALSE(find_schedule(wrong).has_value()) << wrong;
  }
}

// --- Barriers
// -------------------------------------------------------------------------------------

TEST(Interp, AWorkgroupThatDivergesAtABarrierIsAnError) {
  struct Case {
    std::string_view body;
    std::string_view problem;
  };
  const Case cases[] = {
      {"if local_id.x == 1 { barrier }",
       "workgroup (0, 0, 0) diverged: local (1, 0, 0) waits at a barrier and local (0, 0, 0) has "
       "ended"},
      {"if local_id.x == 2 { return } barrier",
       "workgroup (0, 0, 0) diverged: local (0, 0, 0) waits at a barrier and local (2, 0, 0) has "
       "ended"},
      {"if local_id.x == 1 { barrier } else { barrier }",
       "workgroup (0, 0, 0) diverged: local (0, 0, 0) waits at a barrier and local (1, 0, 0) at "
       "another one"},
      {"for k in 0..local_id.x { barrier }",
       "workgroup (0, 0, 0) diverged: local (1, 0, 0) waits at a barrier and local (0, 0, 0) has "
       "ended"},
  };
  for (const Case& c : cases) {
    const Script script = script_of("program p workgroup(3) { " + std::string(c.body) + " }");
    const Ran ran = run(script, {2}, {}, in_order(kSequential));
    ASSERT_FALSE(ran.stats.ok()) << c.body;
    EXPECT_EQ(ran.stats.diagnostics()[0].code, Code::R003);
    EXPECT_EQ(ran.stats.diagnostics()[0].problem, c.problem);
    for (const Schedule& schedule : race_schedules()) {
      EXPECT_FALSE(run(script, {2}, {}, in_order(schedule)).stats.ok()) << c.body;
    }
  }
}

// --- Statements and calls
// -------------------------------------------------------------------------

TEST(Interp, AnExpressionIsEvaluatedByEachStatementThatMentionsIt) {
  const Script script = script_of(R"(
program p workgroup(1) {
  read_write m: u32[4]

  let before = m[0] + m[0]
  m[0] = m[0] + 1
  let after = m[0] + m[0]
  m[1] = before
  m[2] = after
}
)");
  EXPECT_EQ(run(script, {1}, {{5, 0, 0, 9}}).buffers[0], (Words{6, 10, 12, 9}));
}

TEST(Interp, LoopsNestBreakAndReturn) {
  const Script script = script_of(R"(
program p workgroup(8) {
  read_write out: u32[8]

  let i = invocation_id.x
  let sum = 0
  for a in 0..10 {
    for b in a..10 {
      if b == a + i {
        break
      }
      sum = sum + 1
      if sum > 50 {
        out[i] = 1000
        return
      }
    }
    for nothing in 5..a {
      sum = sum + 100
    }
    if a == 4 { break }
  }
  out[i] = sum
}
)");
  Words expected(8);
  for (u32 i = 0; i < 8; ++i) {
    expected[i] = [&]() -> u32 {
      u32 sum = 0;
      for (u32 a = 0; a < 10; ++a) {
        for (u32 b = a; b < 10; ++b) {
          if (b == a + i) break;
          if (++sum > 50) return 1000;
        }
        for (u32 n = 5; n < a; ++n) sum += 100;
        if (a == 4) break;
      }
      return sum;
    }();
  }
  for (const Schedule& schedule : race_schedules()) {
    EXPECT_EQ(run(script, {1}, {Words(8)}, in_order(schedule)).buffers[0], expected);
  }
}

TEST(Interp, ALoopReachesTheLastNumber) {
  const Script script = script_of(R"(
program p workgroup(1) {
  read_write out: u32[2]

  for k in 0xfffffffe..0xffffffff {
    out[0] = k
    out[1] = out[1] + 1
  }
}
)");
  EXPECT_EQ(run(script, {1}, {{0, 0}}).buffers[0], (Words{0xfffffffe, 1}));
}

TEST(Interp, CallsReturnEarlyAndChangeOnlyTheirOwnParameters) {
  const Script script = script_of(R"(
op t.inner(n: u32) -> u32 {
  for k in 0..n {
    if k * k > n {
      return k
    }
  }
  n = n + 100
  return n
}
op t.outer(a: u32, b: u32) -> u32 {
  let first = t.inner(a)
  a = first
  return t.inner(b) * 1000 + a
}
program p workgroup(1) {
  read_write out: u32[3]

  let a = 20
  out[0] = t.outer(a, 2)
  out[1] = t.inner(t.inner(a)) + t.inner(a)
  out[2] = a
}
)");
  // inner(20) = 5, inner(2) = 102, inner(5) = 3
  EXPECT_EQ(run(script, {1}, {Words(3)}).buffers[0], (Words{102005, 8, 20}));
}

TEST(Interp, WorkgroupMemoryIsZeroWhenAWorkgroupStarts) {
  const Script script = script_of(R"(
program p workgroup(4) {
  read_write out: u32[]
  workgroup  cells: u128[4]

  let before = cells[local_id.x]
  cells[local_id.x] = ~0u128
  out[invocation_id.x] = u32(before)
}
)");
  for (const Schedule& schedule : race_schedules()) {
    const Words ones(32, 1);
    EXPECT_EQ(run(script, {8}, {ones, {}}, in_order(schedule)).buffers[0], Words(32));
  }
}

TEST(Interp, StepsAreCounted) {
  const Script script = script_of(R"(
program p workgroup(1) {
  read_write out: u32[1]

  for k in 0..10 {
    out[0] = k
  }
}
)");
  // Entering the loop, ten rounds of a store and a step to the next, and the end.
  RunOptions options;
  options.max_steps = 22;
  EXPECT_TRUE(run(script, {1}, {{0}}, options).stats.ok());
  options.max_steps = 21;
  const Ran ran = run(script, {1}, {{0}}, options);
  ASSERT_FALSE(ran.stats.ok());
  EXPECT_EQ(ran.stats.diagnostics()[0].code, Code::R004);
}

TEST(Interp, ARunCanBeStopped) {
  const Script script = script_of(R"(
program p workgroup(1) {
  read_write out: u32[1]

  for k in 0..0xffffffff {
    for l in 0..0xffffffff {
      out[0] = l
    }
  }
}
)");
  for (const Schedule& schedule : {kSequential, kRoundRobin}) {
    std::atomic<bool> stop = false;
    RunOptions options = in_order(schedule);
    options.stop = &stop;
    std::thread other([&] { stop = true; });
    const Ran ran = run(script, {4}, {{0}}, options);
    other.join();
    ASSERT_FALSE(ran.stats.ok());
    EXPECT_EQ(ran.stats.diagnostics()[0].code, Code::R005);
  }
}

// --- Threads
// --------------------------------------------------------------------------------------

TEST(Interp, WorkgroupsAreSpreadOnlyWhereNoOrderShows) {
  const auto free = [](const std::string& body) {
    const std::string text =
        "program p workgroup(1) { read_write a: u32[] read_write b: u32[] " + body + " }";
    return ordered_atomics(script_of(text).program()).empty();
  };
  EXPECT_TRUE(free("a[0] = 1"));
  EXPECT_TRUE(free("atomic_add(a[0], 1) atomic_add(a[1], 2) atomic_xor(b[0], 1)"));
  EXPECT_TRUE(free("let old = atomic_max(a[0], 1)"));
  EXPECT_FALSE(free("let old = atomic_add(a[0], 1) b[0] = old"));
  EXPECT_FALSE(free("atomic_exchange(a[0], 1)"));
  EXPECT_FALSE(free("atomic_compare_exchange(a[0], 0, 1)"));
  EXPECT_FALSE(free("atomic_add(a[0], 1) atomic_xor(a[0], 1)"));
}

TEST(Interp, ThreadsGiveTheSameBytes) {
  const Script script = script_of(R"(
program p workgroup(8) {
  read_write counts: u32[16]
  read_write out: u128[]
  workgroup  cells: u32[8]

  let i = invocation_id.x
  cells[local_id.x] = i * i
  barrier
  atomic_add(counts[i % 16], cells[7 - local_id.x])
  out[i] = u128(cells[7 - local_id.x]) << 64
}
)");
  const std::vector<Words> zeros = {Words(16), Words(4 * 8 * 200), {}};
  RunOptions one;
  one.threads = 1;
  RunOptions many;
  many.threads = 7;
  const Ran expected = run(script, {200}, zeros, one);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(script, {200}, zeros, many).buffers, expected.buffers);
}

// What a race leaves is one of the values written, also of the widest elements.
TEST(Interp, RacingThreadsDoNotTearElements) {
  const Script script = script_of(R"(
program p workgroup(1) {
  read_write wide: u128[1]
  read_write half: u64[1]
  read_write torn: u32[1]

  let word = workgroup_id.x * 0x01010101
  for k in 0..100 {
    wide[0] = u128(vec4u32(word, word, word, word))
    half[0] = u64(vec2u32(word, word))
    let seen = vec4u32(wide[0])
    let pair = vec2u32(half[0])
    if seen.x != seen.w || seen.y != seen.z || seen.x != seen.y || pair.x != pair.y {
      atomic_add(torn[0], 1)
    }
  }
}
)");
  RunOptions options;
  options.threads = 4;
  const Ran ran = run(script, {256}, {Words(4), Words(2), Words(1)}, options);
  EXPECT_EQ(ran.buffers[2][0], 0u);
  EXPECT_EQ(ran.buffers[0], Words(4, ran.buffers[0][0]));
}

// --- Traces
// ---------------------------------------------------------------------------------------

// Writes down what a trace tells; enters the ops with these ids.
struct Diary : TraceVisitor {
  explicit Diary(const Script& followed) : script(followed) {}

  void step(const TracedStep& traced) override {
    std::string line = std::to_string(traced.step->stmt);
    for (const TracedAccess& load : traced.loads) {
      line += " load " + std::to_string(load.index) + "=" + std::to_string(load.value.lanes[0]);
    }
    if (traced.effect != nullptr) {
      line += " store " + std::to_string(traced.effect->index) +
              (traced.effect->inside ? "=" : " outside ") +
              std::to_string(traced.effect->value.lanes[0]);
    }
    seen.push_back(line);
  }
  void receive(const Step& step, const BodyFrame& frame) override {
    seen.push_back("receive " + std::to_string(frame.locals[step.local.index].lanes[0]));
  }
  bool enter(const Step& caller, std::uint32_t op, const BodyFrame& frame) override {
    const std::string& id = script.linked.ops()[op]->id;
    seen.push_back(std::to_string(caller.stmt) + " enter " + id + " " +
                   std::to_string(frame.locals[0].lanes[0]));
    return entered.contains(id);
  }
  void leave(std::uint32_t op, const BodyFrame& frame, ExprId result) override {
    seen.push_back("leave " + script.linked.ops()[op]->id + " " +
                   std::to_string(frame.values[result.index].lanes[0]));
  }

  const Script& script;
  std::set<std::string> entered;
  std::vector<std::string> seen;
};

TEST(Interp, ATraceSeesTheStepsOfOneInvocation) {
  const Script script = script_of(R"(
program p workgroup(2, 2) {
  read_write out: u32[16]

  let i = invocation_id.y * 4 + invocation_id.x
  if i == 6 {
    out[i] = out[i] + 40
  }
  out[i + 16] = 1
}
)");
  Words out(16, 2);
  const Memory memory[] = {std::as_writable_bytes(std::span(out))};
  std::vector<std::string> seen;
  Diary diary(script);
  ASSERT_TRUE(trace(script, {2, 2}, memory, {2, 1, 0}, {}, diary).ok());
  EXPECT_EQ(diary.seen, (std::vector<std::string>{"0", "1", "2 load 6=2 store 6=42",
                                                  "3 store 22 outside 1", "4"}));
  EXPECT_EQ(out[6], 42u);
}

// Also where invocations take turns: the calls of the others are not reported.
TEST(Interp, ATraceSeesTheStepsOfTheOpsThatAreEntered) {
  const Script script = script_of(R"(
op t.square(x: u32) -> u32 { return x * x }
op t.more(x: u32) -> u32 { return t.square(x) + 1 }
op t.most(x: u32) -> u32 {
  let y = t.more(x + 1)
  return t.square(y)
}
program p workgroup(2) {
  read_write out: u32[2]

  let all = workgroup_add(t.more(local_id.x))
  out[local_id.x] = t.most(local_id.x) + all
}
)");
  for (const char* schedule : {"sequential", "round-robin", "mixed:3"}) {
    RunOptions options;
    options.schedule = *find_schedule(schedule);
    Words out(2);
    const Memory memory[] = {std::as_writable_bytes(std::span(out))};
    Diary diary(script);
    diary.entered = {"t.more", "t.most"};
    ASSERT_TRUE(trace(script, {1}, memory, {1, 0, 0}, options, diary).ok());
    const std::vector<std::string> expected = {"0 enter t.more 1",
                                               "0 enter t.square 1",
                                               "leave t.square 1",
                                               "0",
                                               "leave t.more 2",
                                               "0",
                                               "receive 3",
                                               "1 enter t.most 1",
                                               "0 enter t.more 2",
                                               "0 enter t.square 2",
                                               "leave t.square 4",
                                               "0",
                                               "leave t.more 5",
                                               "0",
                                               "1 enter t.square 5",
                                               "leave t.square 25",
                                               "1",
                                               "leave t.most 25",
                                               "1 store 1=28",
                                               "2"};
    EXPECT_EQ(diary.seen, expected) << schedule;
  }
}

}  // namespace
}  // namespace vyre
