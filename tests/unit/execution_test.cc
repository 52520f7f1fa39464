// The execution model, statement by statement: invocations and their ids, order, barriers, memory,
// atomics, races, the life of a dispatch, determinism. The comment of a test says in words what it
// holds the reference to.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "tests/support/command.h"
#include "tests/support/must.h"
#include "vyre/runtime/dispatch.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

using Words = std::vector<std::uint32_t>;
using Buffers = std::map<std::string, Words>;

Words zeros(std::size_t count) { return Words(count); }
Words iota(std::size_t count) {
  Words words(count);
  std::iota(words.begin(), words.end(), 0);
  return words;
}

std::unique_ptr<Device> interpreter() { return must(open_device(*find_backend("interp"))); }

Linked program_of(const std::string& text) {
  const Result<Loaded> loaded = load_module({"test.vyre", text});
  if (!loaded.ok()) ADD_FAILURE() << render(loaded.diagnostics()[0]) << "\n" << text;
  return loaded.ok() ? program_at(*loaded, loaded->module.items.size() - 1) : Linked();
}

// Runs a program on the interpreter; all contents are words, whatever the elements are.
Buffers run(const std::string& text, const Grid& grid, const Buffers& contents,
            const RunOptions& options = {}) {
  const std::unique_ptr<Device> device = interpreter();
  std::vector<HostBuffer> bound;
  for (const auto& [name, words] : contents) bound.emplace_back(name, words);
  DispatchOptions dispatch_options;
  dispatch_options.device = device.get();
  dispatch_options.run = options;
  const Result<Outputs> outputs = dispatch(program_of(text), grid, bound, dispatch_options);
  if (!outputs.ok()) {
    ADD_FAILURE() << render(outputs.diagnostics()[0]) << "\n" << text;
    return {};
  }
  Buffers after;
  for (const OutputBuffer& buffer : outputs->buffers) {
    after[buffer.name] = *outputs->get<std::uint32_t>(buffer.name);
  }
  return after;
}

// The orders in which a conforming backend might run the invocations: all one by one, or
// interleaved in any way.
std::vector<RunOptions> orders() {
  std::vector<RunOptions> orders;
  const auto add = [&](Schedule::Kind kind, std::uint64_t seed, unsigned threads) {
    RunOptions& order = orders.emplace_back();
    order.schedule = {kind, seed};
    order.threads = threads;
  };
  add(Schedule::Kind::Sequential, 0, 1);
  add(Schedule::Kind::Sequential, 0, 4);
  add(Schedule::Kind::Reverse, 0, 1);
  add(Schedule::Kind::RoundRobin, 0, 1);
  for (std::uint64_t seed = 0; seed < 12; ++seed) add(Schedule::Kind::Random, seed, 1);
  return orders;
}

// Each order that gives another result, once.
std::set<Buffers> outcomes(const std::string& text, const Grid& grid, const Buffers& contents) {
  std::set<Buffers> all;
  for (const RunOptions& order : orders()) all.insert(run(text, grid, contents, order));
  return all;
}

// --- Invocations --------------------------------------------------------------------------------

// A dispatch has as many workgroups as the product of the grid's axes, each with as many
// invocations as the product of the workgroup's; each runs the body once.
TEST(Execution, InvocationsAreTheProductOfGridAndWorkgroup) {
  const std::string count =
      "read_write count: u32[]\natomic_add(count[0], 1)\n"
      "if local_id.x + local_id.y + local_id.z == 0 {\n"
      "atomic_add(count[1], 1)\n}\n}\n";
  const auto counted = [&](const std::string& shape, const Grid& grid) {
    return run("program p workgroup(" + shape + ") {\n" + count, grid, {{"count", zeros(2)}})
        .at("count");
  };
  EXPECT_EQ(counted("1", {1, 1, 1}), (Words{1, 1}));
  EXPECT_EQ(counted("5", {7, 1, 1}), (Words{35, 7}));
  EXPECT_EQ(counted("4, 3", {2, 5, 1}), (Words{120, 10}));
  EXPECT_EQ(counted("2, 3, 4", {3, 2, 5}), (Words{720, 30}));
  EXPECT_EQ(counted("64", {0, 1, 1}), (Words{0, 0}));
  EXPECT_EQ(counted("64", {3, 1, 0}), (Words{0, 0}));
}

// Each invocation has an identity of its own; on each axis the global id is the workgroup's id
// times the workgroup's size plus the local id, and all three stay in their ranges and reach both
// ends.
TEST(Execution, IdsAreUniqueInRangeAndRelated) {
  const std::string text = R"(program p workgroup(2, 3, 4) {
    read_write ids: u32[]
    let x = invocation_id.x
    let y = invocation_id.y
    let z = invocation_id.z
    let at = ((z * 6 + y) * 10 + x) * 9
    ids[at] = x
    ids[at + 1] = y
    ids[at + 2] = z
    ids[at + 3] = workgroup_id.x
    ids[at + 4] = workgroup_id.y
    ids[at + 5] = workgroup_id.z
    ids[at + 6] = local_id.x
    ids[at + 7] = local_id.y
    ids[at + 8] = local_id.z
  })";
  constexpr std::array<std::uint32_t, 3> kSize{2, 3, 4};
  constexpr Grid kGrid{5, 2, 3};
  const Words ids = run(text, kGrid, {{"ids", Words(6480, 0xffff'ffff)}}).at("ids");
  std::set<Words> seen;
  std::array<std::set<std::uint32_t>, 9> values;
  for (std::size_t at = 0; at < ids.size(); at += 9) {
    const std::uint32_t* id = ids.data() + at;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_LT(id[3 + axis], kGrid[axis]);
      EXPECT_LT(id[6 + axis], kSize[axis]);
      EXPECT_EQ(id[axis], id[3 + axis] * kSize[axis] + id[6 + axis]);
    }
    for (std::size_t i = 0; i < 9; ++i) values[i].insert(id[i]);
    seen.insert(Words(id, id + 3));
  }
  EXPECT_EQ(seen.size(), 720u);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(values[axis].size(), kGrid[axis] * kSize[axis]);
    EXPECT_EQ(values[3 + axis].size(), kGrid[axis]);
    EXPECT_EQ(values[6 + axis].size(), kSize[axis]);
  }
}

// Invocations run on their own: what one binds, assigns or returns from is nothing to another.
TEST(Execution, LocalsBelongToOneInvocation) {
  const std::string text = R"(program p workgroup(4) {
    read_write out: u32[]
    let i = invocation_id.x
    let sum = 1
    for k in 0..i {
      sum = sum * 3
      if k == 5 { return }
    }
    out[i] = sum
  })";
  const std::set<Buffers> all = outcomes(text, {2, 1, 1}, {{"out", zeros(8)}});
  EXPECT_EQ(all, (std::set<Buffers>{{{"out", {1, 3, 9, 27, 81, 243, 0, 0}}}}));
}

// --- Order within an invocation -----------------------------------------------------------------

// One invocation alone: a body on the words of `out`.
Words alone(const std::string& body, std::size_t count) {
  return run("program p workgroup(1) {\nread_write out: u32[]\n" + body + "}\n", {1, 1, 1},
             {{"out", zeros(count)}})
      .at("out");
}

// Statements run one after the other in the order in which they are written.
TEST(Execution, StatementsRunInOrder) {
  EXPECT_EQ(alone("out[0] = 1\nout[0] = out[0] * 10 + 2\nout[0] = out[0] * 10 + 3\n", 1),
            Words{123});
}

// A `let` binds before later statements name it, and fixes the value; an assignment changes it for
// the statements behind, and what was computed from it before stays.
TEST(Execution, LetBindsAndAssignChanges) {
  EXPECT_EQ(alone("let a = 5\nlet b = a + 1\na = b * 2\nout[0] = a\nout[1] = b\n", 2),
            (Words{12, 6}));
  EXPECT_EQ(alone("let a = out[0]\nout[0] = 9\nout[1] = a\nout[2] = out[0]\n", 3),
            (Words{9, 0, 9}));
}

// An `if` evaluates its condition and runs exactly one of its branches.
TEST(Execution, IfRunsExactlyOneBranch) {
  for (const std::string condition : {"0", "1", "7", "0x8000_0000", "true", "false", "3 < 2"}) {
    const Words out =
        alone("if " + condition + " {\nout[0] = out[0] + 1\n} else {\nout[1] = out[1] + 1\n}\n", 2);
    const bool holds = condition != "0" && condition != "false" && condition != "3 < 2";
    EXPECT_EQ(out, (holds ? Words{1, 0} : Words{0, 1})) << condition;
  }
  // The branch may change what the condition read: that was evaluated before.
  EXPECT_EQ(alone("if out[0] == 0 {\nout[0] = 1\nout[1] = 5\n} else {\nout[1] = 6\n}\n", 2),
            (Words{1, 5}));
  EXPECT_EQ(
      alone("if out[0] {\nout[1] = 1\n} else if out[2] {\nout[1] = 2\n} else {\nout[1] = 3\n}\n",
            3),
      (Words{0, 3, 0}));
}

// A loop runs its body once for each number from the first bound up to, and without, the second.
// The bounds are evaluated once.
TEST(Execution, LoopRunsFromAToBExclusive) {
  const auto visited = [](const std::string& range) {
    return alone("for k in " + range + " {\nout[0] = out[0] + 1\nout[out[0]] = k + 1\n}\n", 6);
  };
  EXPECT_EQ(visited("0..3"), (Words{3, 1, 2, 3, 0, 0}));
  EXPECT_EQ(visited("2..4"), (Words{2, 3, 4, 0, 0, 0}));
  EXPECT_EQ(visited("4..5"), (Words{1, 5, 0, 0, 0, 0}));
  EXPECT_EQ(visited("3..3"), (Words{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(visited("4..2"), (Words{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(visited("0xffff_fffe..0xffff_ffff"), (Words{1, 0xffff'ffff, 0, 0, 0, 0}));
  EXPECT_EQ(alone("out[0] = 2\nfor k in 0..out[0] {\nout[0] = 9\nout[1] = out[1] + 1\n}\n", 2),
            (Words{9, 2}));
  // `break` leaves the innermost loop only.
  EXPECT_EQ(
      alone(
          "for k in 0..3 {\nfor m in 0..9 {\nif m == k { break }\nout[0] = out[0] + 1\n}\nout[1] = out[1] + 1\n}\n",
          2),
      (Words{3, 3}));
}

// `return` ends the invocation at once, from however deep.
TEST(Execution, ReturnEndsTheInvocation) {
  EXPECT_EQ(alone("out[0] = 1\n{\nout[1] = 1\nif 1 { return }\n}\nout[2] = 1\n", 3),
            (Words{1, 1, 0}));
  EXPECT_EQ(
      alone(
          "for k in 0..5 {\nfor m in 0..5 {\nout[0] = out[0] + 1\nif k * m == 2 { return }\n}\n}\nout[1] = 1\n",
          2),
      (Words{8, 0}));
}

// A block runs its contents in order, as a part of what is around it.
TEST(Execution, BlockRunsItsContentsInOrder) {
  EXPECT_EQ(
      alone("let a = 1\n{\na = a + 1\n{\na = a * 10\n}\nlet b = a\nout[0] = b\n}\nout[1] = a + 1\n",
            2),
      (Words{20, 21}));
}

// A statement sees all effects of those before it: stores, atomics, also to the same element in
// every kind of memory.
TEST(Execution, LaterStatementsSeeEarlierEffects) {
  const std::string text = R"(program p workgroup(3) {
    read_write out: u32[]
    workgroup  tile: u32[3]
    let l = local_id.x
    tile[l] = l + 5
    out[l] = tile[l]
    let old = atomic_add(out[l], 100)
    out[l + 3] = out[l] + old
    tile[l] = tile[l] * 2
    out[l + 6] = tile[l]
  })";
  EXPECT_EQ(outcomes(text, {1, 1, 1}, {{"out", zeros(9)}}),
            (std::set<Buffers>{{{"out", {105, 106, 107, 110, 112, 114, 10, 12, 14}}}}));
}

// --- Order across invocations -------------------------------------------------------------------

// Nothing orders the statements of different invocations: the orders in which this test runs
// programs do differ, each invocation's own statements stay in order, and workgroups are not
// ordered either.
TEST(Execution, InvocationsAreNotOrdered) {
  const std::string text = R"(program p workgroup(2) {
    read_write count: u32[]
    read_write when: u32[]
    let i = invocation_id.x
    let first = atomic_add(count[0], 1)
    let second = atomic_add(count[0], 1)
    when[i * 2] = first
    when[i * 2 + 1] = second
  })";
  const std::set<Buffers> all =
      outcomes(text, {2, 1, 1}, {{"count", zeros(1)}, {"when", zeros(8)}});
  bool interleaved = false;
  bool second_group_first = false;
  for (const Buffers& outcome : all) {
    const Words& when = outcome.at("when");
    for (std::size_t i = 0; i < 8; i += 2) EXPECT_LT(when[i], when[i + 1]);
    interleaved |= when[1] != when[0] + 1;
    second_group_first |= when[4] < when[0];
  }
  EXPECT_GE(all.size(), 4u);
  EXPECT_TRUE(interleaved);
  EXPECT_TRUE(second_group_first);
  for (const auto& [kind, when] :
       {std::pair<Schedule::Kind, Words>(Schedule::Kind::Sequential, iota(8)),
        {Schedule::Kind::Reverse, {6, 7, 4, 5, 2, 3, 0, 1}},
        {Schedule::Kind::RoundRobin, {0, 2, 1, 3, 4, 6, 5, 7}}}) {
    RunOptions order;
    order.schedule.kind = kind;
    EXPECT_EQ(run(text, {2, 1, 1}, {{"count", zeros(1)}, {"when", zeros(8)}}, order).at("when"),
              when);
  }
}

// --- Barriers -----------------------------------------------------------------------------------

// Nobody passes a barrier before all of the workgroup have come: what each did before it is done.
TEST(Execution, BarrierWaitsForTheWholeWorkgroup) {
  const std::string text = R"(program p workgroup(8) {
    read_write count: u32[]
    read_write seen: u32[]
    let g = workgroup_id.x
    for k in 0..local_id.x { atomic_add(count[g], 0) }
    atomic_add(count[g], 1)
    barrier
    seen[invocation_id.x] = count[g]
  })";
  EXPECT_EQ(outcomes(text, {2, 1, 1}, {{"count", zeros(2)}, {"seen", zeros(16)}}),
            (std::set<Buffers>{{{"count", {8, 8}}, {"seen", Words(16, 8)}}}));
}

// Writes to storage from before a barrier are visible to the whole workgroup behind it.
TEST(Execution, BarrierMakesStorageWritesVisible) {
  const std::string text = R"(program p workgroup(4, 2) {
    read_write data: u32[]
    read_write out: u32[]
    let l = local_id.y * 4 + local_id.x
    let base = workgroup_id.x * 8
    data[base + l] = l * l
    barrier
    out[base + l] = data[base + (l + 5) % 8]
  })";
  EXPECT_EQ(
      outcomes(text, {2, 1, 1}, {{"data", zeros(16)}, {"out", zeros(16)}}),
      (std::set<Buffers>{{{"data", {0, 1, 4, 9, 16, 25, 36, 49, 0, 1, 4, 9, 16, 25, 36, 49}},
                          {"out", {25, 36, 49, 0, 1, 4, 9, 16, 25, 36, 49, 0, 1, 4, 9, 16}}}}));
}

// And so are writes to workgroup memory, again at each barrier, also in a loop.
TEST(Execution, BarrierMakesWorkgroupWritesVisible) {
  const std::string text = R"(program p workgroup(4) {
    read_write out: u32[]
    workgroup  tile: u32[4]
    let l = local_id.x
    tile[l] = invocation_id.x
    for k in 0..3 {
      barrier
      let next = tile[(l + 1) % 4]
      barrier
      tile[l] = next
    }
    out[invocation_id.x] = tile[l]
  })";
  EXPECT_EQ(outcomes(text, {2, 1, 1}, {{"out", zeros(8)}}),
            (std::set<Buffers>{{{"out", {3, 0, 1, 2, 7, 4, 5, 6}}}}));
}

// A barrier may stand in a conditional whose condition is the same for the whole workgroup; then a
// workgroup passes it together or not at all.
TEST(Execution, BarrierInAUniformConditional) {
  const std::string text = R"(program p workgroup(4) {
    uniform    mode: u32[4]
    read_write out: u32[]
    workgroup  tile: u32[4]
    let l = local_id.x
    if mode[workgroup_id.x] != 0 {
      tile[l] = l
      barrier
      out[invocation_id.x] = tile[3 - l]
    } else {
      out[invocation_id.x] = 9
    }
  })";
  EXPECT_EQ(outcomes(text, {2, 1, 1}, {{"mode", {0, 1, 0, 0}}, {"out", zeros(8)}}),
            (std::set<Buffers>{{{"out", {9, 9, 9, 9, 3, 2, 1, 0}}}}));
}

// A barrier that not all invocations of a workgroup would reach makes the program invalid.
TEST(Execution, BarrierInADivergentConditionalIsRejected) {
  for (const std::string condition :
       {"local_id.x == 0", "invocation_id.y > 1", "out[0] == 0", "local_id.x < workgroup_id.x"}) {
    const Result<Loaded> loaded =
        load_module({"test.vyre", "program p workgroup(4) {\nread_write out: u32[]\nif " +
                                      condition + " {\nbarrier\n}\n}\n"});
    ASSERT_FALSE(loaded.ok()) << condition;
    EXPECT_EQ(name(loaded.diagnostics()[0].code), "V010");
  }
}

// A barrier does not hold up other workgroups: one may be through before another starts.
TEST(Execution, BarriersDoNotOrderWorkgroups) {
  const std::string text = R"(program p workgroup(2) {
    read_write count: u32[]
    read_write seen: u32[]
    atomic_add(count[0], 1)
    barrier
    let old = atomic_add(count[0], 0)
    seen[invocation_id.x] = old
  })";
  const std::set<Buffers> all =
      outcomes(text, {2, 1, 1}, {{"count", zeros(1)}, {"seen", zeros(4)}});
  // Both of one's own workgroup are through; those of the other are or are not.
  for (const Buffers& outcome : all) {
    for (const std::uint32_t seen : outcome.at("seen")) {
      EXPECT_GE(seen, 2u);
      EXPECT_LE(seen, 4u);
    }
  }
  EXPECT_GT(all.size(), 1u);
}

// What needs all workgroups takes two dispatches: the second sees everything the first wrote.
TEST(Execution, ASecondDispatchSynchronisesWorkgroups) {
  const std::unique_ptr<Device> device = interpreter();
  const Result<Pipeline> fill = make_pipeline(*device, program_of(R"(program p workgroup(4) {
    read_write data: u32[]
    data[invocation_id.x] = invocation_id.x * 3
  })"));
  const Result<Pipeline> mirror = make_pipeline(*device, program_of(R"(program p workgroup(4) {
    read       data: u32[]
    read_write out: u32[]
    out[invocation_id.x] = data[len(data) - 1 - invocation_id.x]
  })"));
  ASSERT_TRUE(fill.ok() && mirror.ok());
  for (const RunOptions& order : orders()) {
    Result<DeviceBuffer> data = make_buffer(*device, 32);
    Result<DeviceBuffer> out = make_buffer(*device, 32);
    ASSERT_TRUE(data.ok() && out.ok());
    const PipelineLaunch launches[] = {{&*fill, {2, 1, 1}, {{"data", &*data}}},
                                       {&*mirror, {2, 1, 1}, {{"data", &*data}, {"out", &*out}}}};
    ASSERT_TRUE(vyre::run_launches(*device, launches, order).ok());
    const Result<std::vector<std::byte>> bytes = read_buffer(*out);
    ASSERT_TRUE(bytes.ok());
    Words words(8);
    ASSERT_EQ(bytes->size(), 32u);
    std::memcpy(words.data(), bytes->data(), 32);
    EXPECT_EQ(words, (Words{21, 18, 15, 12, 9, 6, 3, 0}));
  }
}

// --- Memory without barriers --------------------------------------------------------------------

// Two invocations that write one element leave one of the two values, in every order; either may be
// the one, inside a workgroup and across workgroups.
TEST(Execution, UnsynchronisedWritesLeaveOneOfTheValues) {
  for (const auto& [shape, grid] :
       {std::pair<std::string, Grid>("4", {1, 1, 1}), {"1", {4, 1, 1}}, {"2", {2, 1, 1}}}) {
    const std::set<Buffers> all =
        outcomes("program p workgroup(" + shape +
                     ") {\nread_write out: u32[]\nout[0] = invocation_id.x + 10\n}\n",
                 grid, {{"out", {77, 88}}});
    for (const Buffers& outcome : all) {
      EXPECT_GE(outcome.at("out")[0], 10u);
      EXPECT_LE(outcome.at("out")[0], 13u);
      EXPECT_EQ(outcome.at("out")[1], 88u);
    }
    EXPECT_GT(all.size(), 1u);
  }
}

// A racing read gets one of the values that the element had: the initial one or a written one.
TEST(Execution, RacingReadsGetOneOfTheValues) {
  const std::string text = R"(program p workgroup(4) {
    read_write data: u32[]
    read_write out: u32[]
    let i = invocation_id.x
    data[i % 2] = i + 10
    out[i] = data[1 - i % 2]
  })";
  const std::set<Buffers> all = outcomes(text, {2, 1, 1}, {{"data", {5, 6}}, {"out", zeros(8)}});
  for (const Buffers& outcome : all) {
    for (std::uint32_t i = 0; i < 8; ++i) {
      const std::uint32_t got = outcome.at("out")[i];
      const bool written = got >= 10 && got < 18 && got % 2 != i % 2;
      EXPECT_TRUE(written || got == 6 - i % 2) << i << " got " << got;
    }
  }
  EXPECT_GT(all.size(), 1u);
}

// A value is never made of parts of two: elements of every size are written whole, also when
// workgroups run on several threads at once.
TEST(Execution, RacingWritesAreNotTorn) {
  for (const auto& [type, words] : {std::pair<std::string, std::size_t>("u32", 1),
                                    {"i32", 1},
                                    {"u64", 2},
                                    {"vec2u32", 2},
                                    {"u128", 4},
                                    {"vec4u32", 4}}) {
    const std::string copies = type == "u64"    ? "u64(i) << 32 | u64(i)"
                               : type == "u128" ? "u128(vec4u32(i))"
                                                : type + "(i)";
    const std::string text = "program p workgroup(2) {\nread_write one: " + type +
                             "[]\nread_write seen: " + type +
                             "[]\nlet i = invocation_id.x\nfor k in 0..100 {\none[0] = " + copies +
                             "\nseen[i * 100 + k] = one[0]\n}\n}\n";
    for (const RunOptions& order : orders()) {
      const std::uint32_t groups = order.threads > 1 ? 64 : 2;
      const Buffers after =
          run(text, {groups, 1, 1},
              {{"one", zeros(words)}, {"seen", Words(words * groups * 200, 0xffff'ffff)}}, order);
      for (const char* name : {"one", "seen"}) {
        const Words& buffer = after.at(name);
        for (std::size_t at = 0; at < buffer.size(); at += words) {
          ASSERT_LT(buffer[at], groups * 2);
          for (std::size_t lane = 1; lane < words; ++lane) {
            ASSERT_EQ(buffer[at + lane], buffer[at]) << type;
          }
        }
      }
    }
  }
}

// A program with races does not crash and does no harm to memory that it does not name, whatever it
// reads and uses as an index, a bound or a condition.
TEST(Execution, RacyProgramsDoNotCrashOrCorrupt) {
  const std::string text = R"(program p workgroup(4) {
    read       fixed: u32[]
    read_write data: u32[]
    read_write near: u32[]
    workgroup  tile: u32[8]
    let i = invocation_id.x
    for k in 0..data[i % 4] % 16 {
      data[data[k % 16]] = data[i] * 0x1001 + k
      tile[data[k] % 8] = tile[(i + k) % 16]
      if tile[k] > data[0] { data[tile[k]] = fixed[k] }
      let old = atomic_exchange(data[k], data[i])
      data[old] = k
      if old == 3 { break }
    }
  })";
  for (const RunOptions& order : orders()) {
    const Buffers after = run(
        text, {4, 1, 1}, {{"fixed", iota(8)}, {"data", iota(16)}, {"near", Words(4, 7)}}, order);
    EXPECT_EQ(after.at("near"), Words(4, 7));
    EXPECT_EQ(after.at("data").size(), 16u);
  }
}

// Two invocations that access one element, one of them writing, with no barrier between them, is
// what `vyre race` reports; with the barrier it is not.
TEST(Execution, ARaceIsTwoAccessesWithoutABarrierBetween) {
  const auto status = [](const std::string& between, std::string_view grid) {
    const std::string text =
        "program p workgroup(2) {\nread_write data: u32[]\nread_write out: u32[]\n"
        "let i = invocation_id.x\ndata[i] = i\n" +
        between + "out[i] = data[i ^ 1]\n}\n";
    const std::string_view arguments[] = {"race",         "-",    "--grid",     grid, "--in",
                                          "data=zeros:4", "--in", "out=zeros:4"};
    return run_vyre(arguments, text).status;
  };
  EXPECT_EQ(status("", "1"), 1);
  EXPECT_EQ(status("barrier\n", "1"), 0);
  EXPECT_EQ(status("barrier\n", "2"), 0);
}

// --- Atomics ------------------------------------------------------------------------------------

// Concurrent additions to one element all happen: the final value is the sum, in every order.
TEST(Execution, AtomicAddsAllHappen) {
  const std::string text = R"(program p workgroup(8) {
    read_write sum: u32[]
    atomic_add(sum[0], invocation_id.x + 1)
    atomic_add(sum[1], 1)
  })";
  EXPECT_EQ(outcomes(text, {8, 1, 1}, {{"sum", {100, 0xffff'fff0}}}),
            (std::set<Buffers>{{{"sum", {2180, 48}}}}));
}

// The final value of the other commutative atomics does not depend on the order either.
TEST(Execution, CommutativeAtomicsAreDeterministic) {
  const std::string text = R"(program p workgroup(4) {
    read_write u: u32[]
    read_write s: i32[]
    let i = invocation_id.x
    atomic_and(u[0], ~(1 << i))
    atomic_or(u[1], 1 << i)
    atomic_xor(u[2], i * 5)
    atomic_min(u[3], 20 - i)
    atomic_max(u[4], i * i)
    atomic_min(s[0], i32(i) - 3i32)
    atomic_max(s[1], i32(i) - 9i32)
    atomic_add(s[2], -1i32)
  })";
  const std::uint32_t mixed = 0 ^ 5 ^ 10 ^ 15 ^ 20 ^ 25 ^ 30 ^ 35;
  const auto word = [](std::int32_t value) { return static_cast<std::uint32_t>(value); };
  EXPECT_EQ(outcomes(text, {2, 1, 1},
                     {{"u", {0xffff'ffff, 0, 0, 0xffff'ffff, 0}}, {"s", {0, word(-100), 3}}}),
            (std::set<Buffers>{{{"u", {0xffff'ff00, 0xff, mixed, 13, 49}},
                                {"s", {word(-3), word(-2), word(-5)}}}}));
}

// An atomic gives the value from immediately before it: additions of 1 give each number once.
TEST(Execution, AtomicsReturnTheValueBefore) {
  const std::string text = R"(program p workgroup(4) {
    read_write count: u32[]
    read_write old: u32[]
    let mine = atomic_add(count[0], 1)
    old[invocation_id.x] = mine
  })";
  const std::set<Buffers> all =
      outcomes(text, {4, 1, 1}, {{"count", zeros(1)}, {"old", zeros(16)}});
  for (const Buffers& outcome : all) {
    Words old = outcome.at("old");
    std::ranges::sort(old);
    EXPECT_EQ(old, iota(16));
    EXPECT_EQ(outcome.at("count"), Words{16});
  }
  EXPECT_GT(all.size(), 4u);
}

// The results of all atomics on one element fit one order of all of them. Four invocations do two
// atomics each; every interleaving that keeps their own order is tried.
TEST(Execution, AtomicsOnOneElementHaveOneOrder) {
  const std::string text = R"(program p workgroup(2) {
    read_write x: u32[]
    read_write old: u32[]
    let i = invocation_id.x
    if i == 0 {
      let a = atomic_add(x[0], 5)
      let b = atomic_exchange(x[0], 12)
      old[0] = a
      old[1] = b
    } else if i == 1 {
      let a = atomic_xor(x[0], 9)
      let b = atomic_compare_exchange(x[0], 12, 40)
      old[2] = a
      old[3] = b
    } else if i == 2 {
      let a = atomic_max(x[0], 11)
      let b = atomic_and(x[0], 0xe)
      old[4] = a
      old[5] = b
    } else {
      let a = atomic_or(x[0], 0x10)
      let b = atomic_min(x[0], 20)
      old[6] = a
      old[7] = b
    }
  })";
  struct Update {
    AtomicOp op;
    std::uint32_t value;
    std::uint32_t expected = 0;
  };
  const Update updates[8] = {{AtomicOp::Add, 5},   {AtomicOp::Exchange, 12},
                             {AtomicOp::Xor, 9},   {AtomicOp::CompareExchange, 40, 12},
                             {AtomicOp::Max, 11},  {AtomicOp::And, 0xe},
                             {AtomicOp::Or, 0x10}, {AtomicOp::Min, 20}};
  std::set<Buffers> possible;
  std::array<std::size_t, 8> turns{0, 0, 1, 1, 2, 2, 3, 3};
  do {
    std::array<std::size_t, 4> done{};
    Buffers outcome{{"x", {3}}, {"old", zeros(8)}};
    std::uint32_t& x = outcome["x"][0];
    for (const std::size_t who : turns) {
      const std::size_t which = who * 2 + done[who]++;
      outcome["old"][which] = x;
      const Update& update = updates[which];
      switch (update.op) {
        case AtomicOp::Add: x += update.value; break;
        case AtomicOp::And: x &= update.value; break;
        case AtomicOp::Or: x |= update.value; break;
        case AtomicOp::Xor: x ^= update.value; break;
        case AtomicOp::Min: x = std::min(x, update.value); break;
        case AtomicOp::Max: x = std::max(x, update.value); break;
        case AtomicOp::Exchange: x = update.value; break;
        case AtomicOp::CompareExchange: x = x == update.expected ? update.value : x; break;
        case AtomicOp::Load: break;
        case AtomicOp::Store: x = update.value; break;
      }
    }
    possible.insert(outcome);
  } while (std::ranges::next_permutation(turns).found);
  const std::set<Buffers> all = outcomes(text, {2, 1, 1}, {{"x", {3}}, {"old", zeros(8)}});
  for (const Buffers& outcome : all) EXPECT_TRUE(possible.contains(outcome));
  EXPECT_GT(all.size(), 4u);
}

// --- The life of a dispatch ---------------------------------------------------------------------

// An invalid program is rejected with diagnostics before anything is done.
TEST(Execution, InvalidProgramsAreRejectedFirst) {
  Program program = program_of("program p workgroup(4) {\nread_write out: u32[]\nout[0] = 1\n}\n");
  program.workgroup_size[0] = 0;
  const Result<Linked> linked = link(program);
  ASSERT_FALSE(linked.ok());
  EXPECT_EQ(name(linked.diagnostics()[0].code), "V003");
  EXPECT_FALSE(linked.diagnostics()[0].fix.empty());
}

// Of several launches none runs when one of them is wrong.
TEST(Execution, NothingRunsWhenOneLaunchIsWrong) {
  const std::unique_ptr<Device> device = interpreter();
  const Result<Pipeline> pipeline = make_pipeline(
      *device, program_of("program p workgroup(1) {\nread_write out: u32[2]\nout[0] = 1\n}\n"));
  Result<DeviceBuffer> good = make_buffer(*device, 8);
  Result<DeviceBuffer> small = make_buffer(*device, 4);
  ASSERT_TRUE(pipeline.ok() && good.ok() && small.ok());
  const PipelineLaunch launches[] = {{&*pipeline, {1, 1, 1}, {{"out", &*good}}},
                                     {&*pipeline, {1, 1, 1}, {{"out", &*small}}}};
  const auto result = vyre::run_launches(*device, launches);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(name(result.diagnostics()[0].code), "D002");
  EXPECT_EQ(*read_buffer(*good), std::vector<std::byte>(8));
}

// Input data comes from the host; read-back is of the read_write buffers and of nothing else, and
// the host's own memory stays as it was.
TEST(Execution, OnlyReadWriteBuffersAreReadBack) {
  const Words input = {1, 2, 3};
  const Words constants = {10};
  const Words out = {7, 7, 7, 7};
  const Result<Outputs> outputs = dispatch(
      program_of(R"(program p workgroup(3) {
    read       input: u32[] @2
    uniform    constants: u32[1] @5
    read_write out: u32[] @7
    read_write also: u32[] @1
    workgroup  tile: u32[4]
    out[local_id.x] = input[local_id.x] + constants[0]
  })"),
      {1, 1, 1}, {{"input", input}, {"constants", constants}, {"out", out}, {"also", Words{4, 5}}});
  ASSERT_TRUE(outputs.ok());
  ASSERT_EQ(outputs->buffers.size(), 2u);
  EXPECT_EQ(outputs->buffers[0].name, "also");
  EXPECT_EQ(*outputs->get<std::uint32_t>("also"), (Words{4, 5}));
  EXPECT_EQ(*outputs->get<std::uint32_t>("out"), (Words{11, 12, 13, 7}));
  EXPECT_EQ(input, (Words{1, 2, 3}));
  EXPECT_EQ(out, (Words{7, 7, 7, 7}));
}

// A dispatch starts from what the host passes, not from what an earlier one left behind.
TEST(Execution, ContentsDoNotSurviveADispatch) {
  const std::string text = R"(program p workgroup(2) {
    read_write out: u32[]
    workgroup  tile: u32[2]
    tile[local_id.x] = tile[local_id.x] + 1
    out[invocation_id.x] = out[invocation_id.x] + tile[local_id.x]
  })";
  const std::unique_ptr<Device> device = interpreter();
  DispatchOptions options;
  options.device = device.get();
  const Words out = {1, 2, 3, 4};
  for (int round = 0; round < 3; ++round) {
    const Result<Outputs> outputs = dispatch(program_of(text), {2, 1, 1}, {{"out", out}}, options);
    ASSERT_TRUE(outputs.ok());
    EXPECT_EQ(*outputs->get<std::uint32_t>("out"), (Words{2, 3, 4, 5}));
  }
}

// Only a buffer that the host keeps on the device and passes again has its contents still.
// Workgroup memory is zero whenever a workgroup starts.
TEST(Execution, BuffersOnTheDeviceKeepTheirContents) {
  const std::unique_ptr<Device> device = interpreter();
  const Result<Pipeline> pipeline = make_pipeline(*device, program_of(R"(program p workgroup(2) {
    read_write out: u32[]
    workgroup  tile: u32[2]
    tile[local_id.x] = tile[local_id.x] + 1
    out[invocation_id.x] = out[invocation_id.x] * 10 + tile[local_id.x]
  })"));
  const Words before = {1, 2, 3, 4};
  Result<DeviceBuffer> kept = make_buffer(*device, std::as_bytes(std::span(before)));
  Result<DeviceBuffer> other = make_buffer(*device, 16);
  ASSERT_TRUE(pipeline.ok() && kept.ok() && other.ok());
  for (DeviceBuffer* buffer : {&*kept, &*other, &*kept}) {
    const PipelineLaunch launches[] = {{&*pipeline, {2, 1, 1}, {{"out", buffer}}}};
    ASSERT_TRUE(vyre::run_launches(*device, launches).ok());
  }
  const auto words = [](const DeviceBuffer& buffer) {
    const Result<std::vector<std::byte>> bytes = read_buffer(buffer);
    Words read(bytes.ok() ? bytes->size() / 4 : 0);
    if (bytes.ok()) std::memcpy(read.data(), bytes->data(), read.size() * 4);
    return read;
  };
  EXPECT_EQ(words(*kept), (Words{111, 211, 311, 411}));
  EXPECT_EQ(words(*other), (Words{1, 1, 1, 1}));
}

// --- Determinism --------------------------------------------------------------------------------

// Identical input gives identical bytes, however often and in whatever order it runs.
TEST(Execution, EqualInputGivesEqualBytes) {
  const std::string text = R"(program p workgroup(8) {
    read       a: u32[]
    read_write out: u32[]
    read_write bins: u32[]
    workgroup  tile: u32[8]
    let l = local_id.x
    let i = invocation_id.x
    tile[l] = a[i] * 0x9e37_79b1
    barrier
    for k in 0..3 {
      let mixed = tile[l] ^ rotl(tile[l ^ (1 << k)], 7)
      barrier
      tile[l] = mixed
      barrier
    }
    atomic_add(bins[tile[l] % 4], 1)
    out[i] = tile[l]
  })";
  const std::set<Buffers> all =
      outcomes(text, {4, 1, 1}, {{"a", iota(32)}, {"out", zeros(32)}, {"bins", zeros(4)}});
  EXPECT_EQ(all.size(), 1u);

  const std::string_view arguments[] = {
      "run",      "-",         "--backend", "interp",       "--grid", "4",
      "--in",     "a=iota:32", "--in",      "out=zeros:32", "--in",   "bins=zeros:4",
      "--repeat", "3",         "--json"};
  const CommandResult first = run_vyre(arguments, text);
  EXPECT_EQ(first.status, 0) << first.err;
  const auto without_times = [](const std::string& out) {
    return out.substr(0, out.find(",\"seconds\""));
  };
  EXPECT_NE(without_times(first.out), first.out);
  EXPECT_EQ(without_times(run_vyre(arguments, text).out), without_times(first.out));
}

// Out of bounds is defined: a load gives 0, a store and an atomic do nothing and the atomic gives
// 0, in every kind of memory and however far beyond the end.
TEST(Execution, OutOfBoundsGivesZeroAndHasNoEffect) {
  // 0x4000_0000 and its like come back to the start when multiplied by the size of an element.
  for (const std::string index :
       {"len(out)", "0x1000_0000", "0x2000_0000", "0x4000_0000", "0x8000_0001", "0xffff_ffff"}) {
    const std::string text =
        "program p workgroup(2) {\n"
        "read input: vec4u32[]\nuniform small: u64[1]\n"
        "read_write out: u32[]\nworkgroup tile: u32[3]\n"
        "let at = " +
        index + " + local_id.x * 0\n" + R"(
      tile[local_id.x] = 6
      out[at] = 99
      tile[at] = 99
      let old = atomic_add(out[at], 5)
      let swapped = atomic_compare_exchange(out[at], 0, 5)
      barrier
      if local_id.x == 0 {
        out[0] = out[at] + tile[at] + input[at].w + u32(small[at]) + old + swapped
        out[1] = tile[0] + tile[1] + tile[2]
      }
    })";
    EXPECT_EQ(
        outcomes(text, {1, 1, 1}, {{"input", Words(8, 1)}, {"small", {1, 1}}, {"out", {5, 5, 5}}}),
        (std::set<Buffers>{{{"out", {0, 12, 5}}}}))
        << index;
  }
}

}  // namespace
}  // namespace vyre
