// The generator's programs are free of races, and give the same bytes in every order in which
// invocations may run. All ten thousand are run when VYRE_LONG is set, otherwise a part of them. A
// program that fails is shrunk and saved in the folder that VYRE_FAILURES names, or in failures/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/command.h"
#include "tests/support/temp_folder.h"
#include "vyre/conform/generator.h"
#include "vyre/conform/reducer.h"
#include "vyre/interp/interp.h"
#include "vyre/interp/race.h"
#include "vyre/interp/script.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

namespace fs = std::filesystem;

// A case on the interpreter, again and again from the same contents.
class Runner {
 public:
  explicit Runner(const Case& c) : case_(c) {
    const Result<Linked> linked = link(c);
    if (linked.ok()) script_ = make_script(*linked);
  }

  bool ok() const { return script_.has_value(); }

  struct Outcome {
    std::vector<std::vector<Bits>> memory;  // the buffers' bytes, filled up to whole 16
    std::uint64_t evaluations = 0;
  };
  Result<Outcome> run(const Schedule& schedule) const {
    Outcome outcome{contents(), 0};
    RunOptions options;
    options.schedule = schedule;
    options.threads = 1;
    const Result<RunStats> stats = interpret(*script_, case_.grid, views(outcome.memory), options);
    if (!stats.ok()) return stats.diagnostics();
    outcome.evaluations = stats->evaluations;
    return outcome;
  }
  Result<RaceReport> races() const {
    std::vector<std::vector<Bits>> memory = contents();
    return find_races(*script_, case_.grid, views(memory));
  }

 private:
  std::vector<std::vector<Bits>> contents() const {
    std::vector<std::vector<Bits>> memory;
    for (const std::vector<std::byte>& bytes : case_.contents) {
      std::vector<Bits>& to = memory.emplace_back((bytes.size() + 15) / 16);
      if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
    }
    return memory;
  }
  std::vector<Memory> views(std::vector<std::vector<Bits>>& memory) const {
    std::vector<Memory> result;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const BufferDecl& buffer = case_.program().buffers[i];
      const bool workgroup = buffer.access == BufferAccess::Workgroup;
      const std::size_t bytes =
          workgroup ? 0 : std::size_t{length_of(case_, i)} * stride(buffer.element);
      result.push_back(std::as_writable_bytes(std::span(memory[i])).first(bytes));
    }
    return result;
  }

  const Case& case_;
  std::optional<Script> script_;
};

std::vector<Schedule> schedules() {
  using enum Schedule::Kind;
  return {{Sequential, 0}, {Reverse, 0}, {RoundRobin, 0}, {Random, 1},
          {Random, 2},     {Mixed, 1},   {Sequential, 0}};
}

// What is wrong with a case, if anything; and how much work it is.
struct Verdict {
  std::string problem;
  std::uint64_t evaluations = 0;
};

Verdict judge(const Case& c) {
  const Runner runner(c);
  if (!runner.ok()) return {"it is not valid"};
  const Result<RaceReport> report = runner.races();
  if (!report.ok()) return {report.diagnostics()[0].message()};
  if (!report->races.empty()) return {"a race"};
  if (!report->dependences.empty()) return {"a result that depends on the order of atomics"};

  Verdict verdict;
  std::vector<std::vector<Bits>> expected;
  for (const Schedule& schedule : schedules()) {
    const Result<Runner::Outcome> outcome = runner.run(schedule);
    if (!outcome.ok()) return {outcome.diagnostics()[0].message()};
    if (expected.empty()) expected = outcome->memory;
    if (outcome->memory != expected) return {"another result in the order " + to_text(schedule)};
    verdict.evaluations = outcome->evaluations;
  }
  return verdict;
}

// Shrinks the case as long as the predicate holds, saves it, and gives the file's path.
std::string save_reduced(const Case& failing, const std::string& name, const fs::path& folder,
                         const std::function<bool(const Case&)>& still_fails) {
  const Case reduced = reduce(failing, still_fails);
  fs::create_directories(folder);
  const std::string path = folder / (name + ".vyre");
  std::ofstream(path) << to_text(reduced, path);
  return path;
}

fs::path failures_folder() {
  const char* folder = std::getenv("VYRE_FAILURES");
  return folder != nullptr ? folder : "failures";
}

TEST(Schedules, AgreeOnGeneratedPrograms) {
  const std::uint64_t count = cases(250, 10'000);
  std::uint64_t evaluations = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const Case c = generate_case(seed);
    const Verdict verdict = judge(c);
    evaluations += verdict.evaluations;
    EXPECT_LE(verdict.evaluations, 2'000'000u) << "seed " << seed;
    if (verdict.problem.empty()) continue;
    const auto fails = [&](const Case& candidate) {
      return judge(candidate).problem == verdict.problem;
    };
    ADD_FAILURE() << "seed " << seed << ": " << verdict.problem << "; shrunk and saved as "
                  << save_reduced(c, "schedules_" + std::to_string(seed), failures_folder(), fails);
  }
  // Neither trifles nor a strain.
  EXPECT_GT(evaluations / count, 5'000u);
  EXPECT_LT(evaluations / count, 50'000u);
}

// The programs that are not free of races show that the test above sees them, and what it does
// then: the file that it saves is enough to see the race again.
TEST(Schedules, ARaceIsShrunkAndSaved) {
  GeneratorOptions options;
  options.race_free = false;
  const TempFolder folder;
  const auto races = [](const Case& c) { return judge(c).problem == "a race"; };
  int found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Case c = generate_case(seed, options);
    if (!races(c)) continue;
    ++found;
    if (found > 3) continue;
    const std::string path = save_reduced(c, "race_" + std::to_string(seed), folder.path(), races);
    const std::string text = read_file(path);
    const std::string command = text.substr(0, text.find('\n'));
    std::vector<std::string_view> arguments = split(command, ' ');
    ASSERT_GT(arguments.size(), 3u);
    arguments.erase(arguments.begin(), arguments.begin() + 2);  // the comment's "// vyre"
    EXPECT_EQ(arguments[0], "run");
    EXPECT_EQ(run_vyre(arguments).status, 0) << text;
    arguments[0] = "race";
    const CommandResult result = run_vyre(arguments);
    EXPECT_EQ(result.status, 1) << text;
    EXPECT_NE(result.err.find("error[R001]"), std::string::npos) << result.err;
    EXPECT_LT(text.size(), 2'000u) << text;
  }
  EXPECT_GT(found, 10);
}

// The command takes the contents from the text as they were, for every type.
TEST(CaseText, KeepsEveryByte) {
  const TempFolder folder;
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Case c = generate_case(seed);
    c.program().body = {};  // so that all of it comes back
    for (std::size_t i = 0; i < c.contents.size(); ++i) {
      BufferDecl& buffer = c.program().buffers[i];
      if (buffer.access != BufferAccess::Workgroup) buffer.access = BufferAccess::ReadWrite;
      // A list has no other words for a bool.
      for (std::size_t at = 0; at < c.contents[i].size(); ++at) {
        if (buffer.element == DataType::Bool) c.contents[i][at] &= std::byte{at % 4 == 0};
      }
    }
    const std::string path = folder / "case.vyre";
    std::string text = to_text(c, path);
    std::ofstream(path) << text;
    text.resize(text.find('\n'));
    for (const BufferDecl& buffer : c.program().buffers) {
      if (!is_bound(buffer.access)) continue;
      text += " --out " + buffer.name + "=" + folder / buffer.name;
    }
    std::vector<std::string_view> arguments = split(text, ' ');
    arguments.erase(arguments.begin(), arguments.begin() + 2);
    const CommandResult result = run_vyre(arguments);
    ASSERT_EQ(result.status, 0) << result.err << text;
    for (std::size_t i = 0; i < c.contents.size(); ++i) {
      const BufferDecl& buffer = c.program().buffers[i];
      if (!is_bound(buffer.access)) continue;
      const std::vector<std::byte>& bytes = c.contents[i];
      std::string expected(std::size_t{length_of(c, i)} * stride(buffer.element), '\0');
      std::ranges::transform(bytes, expected.begin(),
                             [](std::byte byte) { return static_cast<char>(byte); });
      ASSERT_EQ(read_file(folder / buffer.name), expected) << text;
      compared += expected.size();
    }
  }
  EXPECT_GT(compared, 10'000u);
}

}  // namespace
}  // namespace vyre
