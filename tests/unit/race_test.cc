// The race detector. Every program of tests/golden/race is caught and its twin is not; and on small
// random programs the detector agrees, element by element, with one that is too slow to be wrong:
// it writes down every access of a run and compares all pairs by the definition of a race.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "tests/support/command.h"
#include "tests/support/must.h"
#include "vyre/base/random.h"
#include "vyre/compile.h"
#include "vyre/conform/generator.h"
#include "vyre/interp/groups.h"
#include "vyre/interp/machine.h"
#include "vyre/interp/race.h"

namespace vyre {
namespace {

namespace fs = std::filesystem;

// --- Racy programs and their twins --------------------------------------------------------------

const fs::path kFolder = source_root() + "/tests/golden/race";
constexpr std::string_view kTwin = "_fixed";

// The names of the racy programs.
std::vector<std::string> pairs() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    const std::string name = entry.path().stem();
    if (entry.path().extension() == ".vyre" && !name.ends_with(kTwin)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// Runs a file as its first line says.
CommandResult run_file(const std::string& name) {
  const std::string path = kFolder / (name + ".vyre");
  const std::string text = read_file(path);
  constexpr std::string_view kDirective = "// run: ";
  EXPECT_TRUE(text.starts_with(kDirective)) << path;
  std::vector<std::string_view> arguments = split(
      std::string_view(text).substr(kDirective.size(), text.find('\n') - kDirective.size()), ' ');
  std::ranges::replace(arguments, "%s", path);
  return run_vyre(arguments);
}

class RacePair : public testing::TestWithParam<std::string> {};

TEST_P(RacePair, OneIsCaughtAndTheOtherIsClean) {
  // A program named order_... has no race; its output depends on the order of its atomics.
  const bool is_order = GetParam().starts_with("order_");
  const CommandResult racy = run_file(GetParam());
  EXPECT_EQ(racy.status, 1);
  EXPECT_EQ(racy.err.find("error[R001]") != racy.err.npos, !is_order) << racy.err;
  EXPECT_EQ(racy.err.find("error[R002]") != racy.err.npos, is_order) << racy.err;

  const CommandResult twin = run_file(GetParam() + std::string(kTwin));
  EXPECT_EQ(twin.status, 0) << twin.err;
  EXPECT_EQ(twin.err.find("error"), twin.err.npos) << twin.err;  // warnings and notes are fine
}

INSTANTIATE_TEST_SUITE_P(Files, RacePair, testing::ValuesIn(pairs()),
                         [](const auto& name) { return name.param; });

TEST(Race, ThereAreManyPairs) {
  const std::vector<std::string> names = pairs();
  const auto orders = std::ranges::count_if(
      names, [](const std::string& name) { return name.starts_with("order_"); });
  EXPECT_GE(std::ssize(names) - orders, 40);
  EXPECT_GE(orders, 10);
  for (const std::string& name : names) {
    EXPECT_TRUE(fs::exists(kFolder / (name + std::string(kTwin) + ".vyre"))) << name;
  }
}

// --- The definition -----------------------------------------------------------------------------

struct Recorded {
  std::uint32_t buffer = 0;
  std::uint32_t element = 0;
  AccessKind kind = AccessKind::Read;
  std::uint32_t stmt = 0;
  Ids group{};
  std::uint32_t invocation = 0;  // in its group
  std::uint32_t epoch = 0;       // barriers that the group has passed

  friend auto operator<=>(const Recorded&, const Recorded&) = default;
};

// By buffer and element.
using Records = std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<Recorded>>;

struct Recorder : NoWatch {
  Records records;
  Recorded now;

  void begin_group(const Ids& group) {
    now.group = group;
    now.epoch = 0;
  }
  void barrier() { ++now.epoch; }
  void begin_step(const Step& step, std::uint32_t invocation) {
    now.stmt = step.stmt;
    now.invocation = invocation;
  }
  void load(const Node& node, std::uint32_t index, bool inside, const Bits&) {
    if (inside) add(AccessKind::Read, node.imm, index);
  }
  void store(const Step& step, std::uint32_t index, bool inside, const Bits&) {
    if (inside) add(AccessKind::Write, step.buffer.index, index);
  }
  void atomic(const Step& step, std::uint32_t index, bool inside, std::uint32_t, std::uint32_t) {
    const bool loads = step.atomic == AtomicOp::Load;
    if (inside) add(loads ? AccessKind::AtomicLoad : AccessKind::Atomic, step.buffer.index, index);
  }
  void add(AccessKind kind, std::uint32_t buffer, std::uint32_t index) {
    now.kind = kind;
    now.buffer = buffer;
    now.element = index;
    records[{buffer, index}].insert(now);
  }
};

// Whether two accesses of one element race.
bool race(const Program& program, const Recorded& a, const Recorded& b) {
  const bool same_group = a.group == b.group;
  if (same_group && a.invocation == b.invocation) return false;
  if (same_group && a.epoch != b.epoch) return false;
  const bool is_shared = program.buffers[a.buffer].access != BufferAccess::Workgroup;
  if (!same_group && !is_shared) return false;
  const bool plain_write = a.kind == AccessKind::Write || b.kind == AccessKind::Write;
  const std::set kinds = {a.kind, b.kind};
  const bool read_beside_atomic = kinds == std::set{AccessKind::Read, AccessKind::Atomic};
  return plain_write || read_beside_atomic;
}

// A program with the contents of its buffers.
struct Dispatch {
  Script script;
  Grid grid;
  std::vector<std::vector<std::uint64_t>> contents;
  std::vector<std::size_t> sizes;  // in bytes

  std::vector<Memory> memory() {
    std::vector<Memory> buffers;
    for (std::size_t i = 0; i < contents.size(); ++i) {
      buffers.emplace_back(reinterpret_cast<std::byte*>(contents[i].data()), sizes[i]);
    }
    return buffers;
  }
};

Dispatch dispatch_of(const Case& c) {
  Dispatch dispatch{make_script(must(link(c))), c.grid, {}, {}};
  for (const std::vector<std::byte>& bytes : c.contents) {
    const std::size_t size = (bytes.size() + 3) / 4 * 4;  // those of a bytes buffer are padded
    std::vector<std::uint64_t>& words = dispatch.contents.emplace_back((size + 7) / 8);
    if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
    dispatch.sizes.push_back(size);
  }
  return dispatch;
}

// Works on a copy, as a run changes the contents.
Records record(Dispatch dispatch, const Schedule& schedule) {
  RunOptions options;
  options.schedule = schedule;
  Recorder recorder;
  EXPECT_TRUE(
      run_watched(dispatch.script, dispatch.grid, dispatch.memory(), options, recorder).ok());
  return recorder.records;
}

using RacyElements = std::vector<std::vector<std::uint32_t>>;  // by buffer

RacyElements racy_by_definition(const Program& program, const Records& records) {
  RacyElements racy(program.buffers.size());
  for (const auto& [place, accesses] : records) {
    const bool races = std::ranges::any_of(accesses, [&, &all = accesses](const Recorded& a) {
      return std::ranges::any_of(all, [&](const Recorded& b) { return race(program, a, b); });
    });
    if (races) racy[place.first].push_back(place.second);
  }
  return racy;
}

// Whether a report names two accesses that the run made, and that race.
bool is_witness(const Race& reported, const Records& records, const Program& program) {
  const auto at = records.find({reported.buffer.index, reported.element});
  if (at == records.end()) return false;
  const auto& size = program.workgroup_size;
  const auto is = [&](const Recorded& recorded, const Access& access) {
    bool same_ids = recorded.group == access.workgroup &&
                    recorded.invocation ==
                        (access.local[2] * size[1] + access.local[1]) * size[0] + access.local[0];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      same_ids &= access.global[axis] == access.workgroup[axis] * size[axis] + access.local[axis];
    }
    return same_ids && recorded.kind == access.kind && recorded.stmt == access.stmt.index;
  };
  return std::ranges::any_of(at->second, [&](const Recorded& a) {
    return is(a, reported.first) && std::ranges::any_of(at->second, [&](const Recorded& b) {
             return is(b, reported.second) && race(program, a, b);
           });
  });
}

// Two places of a program that race, in order: buffer, statement and kind of access.
using RacyPlace = std::tuple<std::uint32_t, std::uint32_t, AccessKind>;
using RacyPlaces = std::set<std::pair<RacyPlace, RacyPlace>>;

RacyPlaces places_by_definition(const Program& program, const std::vector<Records>& runs) {
  const auto place = [](const Recorded& r) { return RacyPlace(r.buffer, r.stmt, r.kind); };
  RacyPlaces places;
  for (const Records& records : runs) {
    for (const auto& [element, accesses] : records) {
      for (const Recorded& a : accesses) {
        for (const Recorded& b : accesses) {
          if (race(program, a, b)) places.insert(std::minmax(place(a), place(b)));
        }
      }
    }
  }
  return places;
}

RacyPlaces places_of(const RaceReport& report) {
  RacyPlaces places;
  for (const Race& race : report.races) {
    const auto place = [&](const Access& access) {
      return RacyPlace(race.buffer.index, access.stmt.index, access.kind);
    };
    places.insert(std::minmax(place(race.first), place(race.second)));
  }
  return places;
}

std::vector<Schedule> schedules() {
  return {{Schedule::Kind::Sequential, 0},
          {Schedule::Kind::Reverse, 0},
          {Schedule::Kind::RoundRobin, 0},
          {Schedule::Kind::Random, 1}};
}

// What is to be seen of a case in all schedules.
struct Comparison {
  std::size_t racy_elements = 0;  // in the schedule that has most of them
  RacyPlaces expected;
  RacyPlaces reported;
};

// Compares the detector with the definition.
Comparison compare(const Case& c) {
  const Program& program = c.program();
  Dispatch dispatch = dispatch_of(c);
  const std::vector<std::vector<std::uint64_t>> before = dispatch.contents;
  const std::vector<Memory> memory = dispatch.memory();
  Comparison comparison;
  std::vector<Records> runs;
  std::vector<RacyElements> racy;  // of each run
  for (const Schedule& schedule : schedules()) {
    runs.push_back(record(dispatch, schedule));
    RunOptions options;
    options.schedule = schedule;
    const RacyElements& expected = racy.emplace_back(racy_by_definition(program, runs.back()));
    const Result<RacyElements> found =
        racy_elements(dispatch.script, dispatch.grid, memory, options);
    EXPECT_TRUE(found.ok() && *found == expected) << to_text(schedule) << "\n" << to_text(c);
    std::size_t count = 0;
    for (const std::vector<std::uint32_t>& elements : expected) count += elements.size();
    comparison.racy_elements = std::max(comparison.racy_elements, count);
  }
  comparison.expected = places_by_definition(program, runs);

  const Result<RaceReport> report =
      find_races(dispatch.script, dispatch.grid, memory, {}, schedules());
  EXPECT_TRUE(report.ok());
  if (!report.ok()) return comparison;
  comparison.reported = places_of(*report);
  EXPECT_EQ(report->racy_elements, comparison.racy_elements) << to_text(c);
  EXPECT_EQ(report->races.empty(), comparison.racy_elements == 0) << to_text(c);
  for (const Race& reported : report->races) {
    const std::uint32_t buffer = reported.buffer.index;
    std::size_t run = 0;
    while (run < runs.size() && (!is_witness(reported, runs[run], program) ||
                                 racy[run][buffer].size() != reported.elements)) {
      ++run;
    }
    EXPECT_LT(run, runs.size()) << "no schedule has a race on " << program.buffers[buffer].name
                                << "[" << reported.element << "] like that\n"
                                << to_text(c);
  }
  EXPECT_EQ(dispatch.contents, before) << "the initial contents stay";
  return comparison;
}

// --- Random programs ----------------------------------------------------------------------------

// A handful of accesses to a handful of elements, with barriers and guards between them, so that
// often a single one decides whether there is a race.
class TinyProgram {
 public:
  explicit TinyProgram(std::uint64_t seed) : random_(seed) {}

  Case make() {
    constexpr std::string_view kTypes[] = {"u32",     "i32",     "u64",  "u128",
                                           "vec2u32", "vec4u32", "bool", "bytes"};
    constexpr std::string_view kShapes[] = {"1", "2", "3", "2, 2", "1, 2", "2, 1, 2"};
    constexpr Ids kGrids[] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {1, 2, 1}, {1, 1, 2}};
    const std::string type(random_.pick(kTypes));
    const bool is_bytes = type == "bytes";
    value_ = is_bytes ? "u32" : type;
    const std::string shape(random_.pick(kShapes));
    std::string text = "program tiny workgroup(" + shape + ") {\n";
    text += "read_write data: " + (is_bytes ? type : type + "[]") + "\n";
    text += "read_write count: u32[]\n";
    text += "workgroup tile: " + value_ + "[4]\n";
    text += statements(2 + random_.below(4), true) + "}\n";

    Case c;
    c.grid = random_.pick(kGrids);
    Result<Loaded> loaded = load_module({"tiny", text});
    EXPECT_TRUE(loaded.ok()) << text;
    if (loaded.ok()) c.module = loaded->module;
    c.contents = {std::vector<std::byte>(std::size_t{4} * stride(*find_type(type))),
                  std::vector<std::byte>(16),
                  {}};
    return c;
  }

 private:
  std::string statements(std::uint32_t count, bool is_uniform) {
    std::string text;
    for (; count > 0; --count) text += statement(is_uniform);
    return text;
  }

  std::string statement(bool is_uniform) {
    constexpr std::string_view kPlaces[] = {"data", "tile"};
    const std::uint32_t choice = random_.below(is_uniform ? 14 : 8);
    const std::string place(random_.pick(kPlaces));
    const std::string element = place + "[" + index() + "]";
    switch (choice) {
      case 0:
      case 1: return element + " = " + value_ + "(1)\n";
      case 2:
      case 3: return "let v" + std::to_string(locals_++) + " = " + element + "\n";
      case 4: {
        const std::string from(random_.pick(kPlaces));
        return element + " = " + from + "[" + index() + "]\n";
      }
      case 5: return "atomic_add(count[" + index() + "], 1)\n";
      case 6: return "count[" + index() + "] = 1\n";
      case 7: return "let v" + std::to_string(locals_++) + " = count[" + index() + "]\n";
      case 8: return "if " + guard() + " {\n" + statements(1, false) + "}\n";
      case 9: return "if " + guard() + " {\n" + statements(2, false) + "}\n";
      case 10: {
        const std::string variable = "k" + std::to_string(locals_++);
        return "for " + variable + " in 0..2 {\n" + statements(2, true) + "}\n";
      }
      case 11: return "if workgroup_id.x == 0 {\nbarrier\n}\n";
      default: return "barrier\n";
    }
  }

  std::string index() {
    constexpr std::string_view kIndices[] = {"0",
                                             "1",
                                             "4",
                                             "local_id.x",
                                             "local_id.x + local_id.y * 2",
                                             "invocation_id.x",
                                             "workgroup_id.x",
                                             "workgroup_id.y + workgroup_id.z",
                                             "(local_id.x + 1) % 2",
                                             "local_id.z"};
    return std::string(random_.pick(kIndices));
  }

  std::string guard() {
    constexpr std::string_view kIds[] = {"local_id.x", "local_id.y", "local_id.z", "workgroup_id.x",
                                         "invocation_id.x"};
    const std::string id(random_.pick(kIds));
    return id + " == " + std::to_string(random_.below(2));
  }

  Random random_;
  std::string value_;
  std::uint32_t locals_ = 0;
};

TEST(Race, AgreesWithTheDefinitionOnTinyPrograms) {
  int racy = 0;
  constexpr int kPrograms = 1500;
  for (int seed = 0; seed < kPrograms && !HasFailure(); ++seed) {
    const Case c = TinyProgram(static_cast<std::uint64_t>(seed)).make();
    const Comparison comparison = compare(c);
    // So few elements are all looked at, and every pair of places is in the report.
    EXPECT_EQ(comparison.reported, comparison.expected) << to_text(c);
    if (comparison.racy_elements > 0) ++racy;
  }
  // Both verdicts come often.
  EXPECT_GT(racy, kPrograms / 4);
  EXPECT_LT(racy, kPrograms * 3 / 4);
}

// The generator's programs in two kinds: any invocation accesses any element, or they are free of
// races by construction.
GeneratorOptions small(bool race_free) {
  GeneratorOptions options;
  options.race_free = race_free;
  options.invocations = 24;
  options.work = 20'000;
  return options;
}

TEST(Race, AgreesWithTheDefinitionOnGeneratedPrograms) {
  int racy = 0;
  for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    const Comparison comparison = compare(generate_case(seed, small(false)));
    if (comparison.racy_elements > 0) ++racy;
    if (comparison.expected.size() <= kMaxRaces) {
      EXPECT_EQ(comparison.reported, comparison.expected) << seed;
    }
  }
  EXPECT_GT(racy, 50);
}

TEST(Race, GeneratedProgramsAreFreeOfRacesByDefinition) {
  for (std::uint64_t seed = 0; seed < 100 && !HasFailure(); ++seed) {
    const Case c = generate_case(seed, small(true));
    EXPECT_EQ(compare(c).racy_elements, 0u) << to_text(c);
  }
}

}  // namespace
}  // namespace vyre
