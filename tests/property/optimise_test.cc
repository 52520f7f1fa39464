// Optimising changes nothing but speed: examples, templates and generated programs give the same
// bytes before and after the whole list of passes and after each pass alone; every state prints,
// loads and validates; what differs is made small.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/command.h"
#include "vyre/base/random.h"
#include "vyre/conform/generator.h"
#include "vyre/conform/reducer.h"
#include "vyre/library/library.h"
#include "vyre/passes/pass.h"
#include "vyre/validate/validate.h"
#include "vyre/vyre.h"
#include "vyre/wire/wire.h"

namespace vyre {
namespace {

// How many programs were compared; those that take too long are not.
std::atomic<std::size_t> compared = 0;

using Run = std::optional<std::vector<std::vector<std::byte>>>;

// The outputs; nothing when the run takes too long.
Run run_case(const Program& program, const Case& c, const Registry& registry,
             std::uint64_t max_steps = 0) {
  std::vector<HostBuffer> buffers;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (!is_bound(program.buffers[i].access)) continue;
    buffers.emplace_back(program.buffers[i].name, c.contents[i]);
  }
  DispatchOptions options;
  options.device = &reference();
  options.run.threads = 1;
  options.run.max_steps = max_steps;
  const Result<Linked> linked = link(program, registry);
  if (!linked.ok()) return {};
  const Result<Outputs> outputs = dispatch(*linked, c.grid, buffers, options);
  if (!outputs.ok()) return {};
  std::vector<std::vector<std::byte>> bytes;
  for (const OutputBuffer& buffer : outputs->buffers) bytes.push_back(buffer.bytes);
  return bytes;
}

// What is wrong with the case after these passes (all when there are none); nothing when all is
// well.
// With `checks_text` every state also has to load from its text.
std::string wrong_after(const Case& c, std::span<const Pass* const> passes,
                        std::uint64_t max_steps = 0, bool checks_text = true) {
  Registry registry;
  if (!registry.add(c.module).ok()) return {};
  const Result<Linked> linked = link(c.program(), registry);
  if (!linked.ok()) return {};
  const Run before = run_case(c.program(), c, registry, max_steps);
  if (!before) return {};
  ++compared;
  std::string wrong;
  Program last;  // whose bytes are known
  const Result<Program> result =
      optimise(*linked, passes, [&](const Pass& pass, const Program& state) {
        if (state == last) return true;
        last = state;
        const auto after = [&] {
          return "after " + std::string(pass.name) + ":\n" + print(Module{{state}});
        };
        if (checks_text) {
          const Result<Loaded> loaded = load_module({"state", print(Module{{state}})});
          if (!loaded.ok()) {
            wrong = render(loaded.diagnostics()[0], false) + after();
          } else if (std::get<Program>(loaded->module.items[0]) != state) {
            // Its own memory is written as arrays and tables.
            const Program& written = std::get<Program>(loaded->module.items[0]);
            const bool same = count_declared(state.buffers) < state.buffers.size() &&
                              run_case(written, c, loaded->registry) == before;
            if (!same) wrong = "the text does not load as the same program " + after();
          }
        } else if (const std::vector<Diagnostic> invalid = validate(state); !invalid.empty()) {
          wrong = render(invalid[0], false) + after();
        }
        if (wrong.empty() && &pass != find_pass("inline") &&
            run_case(state, c, registry) != before) {
          wrong = "other bytes " + after();
        }
        return wrong.empty();
      });
  // Beyond a limit after inlining is no fault of the passes.
  return result.ok() ? wrong : "";
}

// Those that change only the body; shape_test.cc has the others.
std::vector<const Pass*> body_passes() {
  std::vector<const Pass*> passes;
  for (const Pass& pass : all_passes()) {
    if (pass.shape == nullptr) passes.push_back(&pass);
  }
  return passes;
}

// After each pass of the whole list, and with `alone_too` after each on the program as it is.
std::string wrong_with(const Case& c, bool checks_text = true, bool alone_too = true) {
  if (std::string wrong = wrong_after(c, {}, 0, checks_text); !wrong.empty()) return wrong;
  if (!alone_too) return {};
  for (const Pass* pass : body_passes()) {
    const Pass* alone[] = {pass};
    if (std::string wrong = wrong_after(c, alone, 0, checks_text); !wrong.empty()) return wrong;
  }
  return {};
}

// The failure with a smaller case that fails in the same way.
std::string shrunk(const Case& c) {
  const Case small =
      reduce(c, [](const Case& smaller) { return !wrong_with(smaller).empty(); }, {.tries = 3000});
  return to_text(small) + "\n" + wrong_with(small);
}

TEST(Optimise, GeneratedProgramsGiveTheSameBytes) {
  const std::uint64_t end = cases(2'000, 20'000);
  const auto case_of_seed = [](std::uint64_t seed) {
    GeneratorOptions options;
    options.statements = 8 + static_cast<std::uint32_t>(seed % 40);
    options.invocations = 64;
    options.work = 10'000;
    options.dense = seed % 2 == 1;
    return generate_case(seed, options);
  };
  std::atomic<std::uint64_t> next = 0;
  std::atomic<std::uint64_t> failed = end;  // the first that does
  std::vector<std::jthread> workers(std::max(1u, std::thread::hardware_concurrency()));
  for (std::jthread& worker : workers) {
    worker = std::jthread([&] {
      for (std::uint64_t seed = next++; seed < end && failed == end; seed = next++) {
        const bool fully = is_long() || seed % 4 == 0;
        if (wrong_with(case_of_seed(seed), fully, fully).empty()) continue;
        std::uint64_t before = failed;
        while (seed < before && !failed.compare_exchange_weak(before, seed)) {
        }
      }
    });
  }
  workers.clear();
  EXPECT_GE(compared, is_long() ? end * (body_passes().size() + 1) : end);
  if (failed != end) ADD_FAILURE() << "seed " << failed << "\n" << shrunk(case_of_seed(failed));
}

// --- Examples and templates ---------------------------------------------------------------------

struct Named {
  std::string name;
  Module module;
};

std::vector<Named> examples() {
  std::vector<Named> all;
  for (const std::filesystem::path path : program_files({"examples"})) {
    const Result<Loaded> loaded = load_module({path.string(), read_file(path.string())});
    EXPECT_TRUE(loaded.ok()) << path;
    if (loaded.ok()) all.push_back({path.filename().string(), loaded->module});
  }
  return all;
}

// The case of a program with contents of about `length` elements, on a grid that covers them; with
// `wild` some are any number, otherwise they are small and do not fall.
Case case_of(const Module& module, const Program& program, std::uint32_t length, Random& random,
             bool wild = true) {
  Case c;
  for (const Item& item : module.items) {
    if (std::holds_alternative<Op>(item)) c.module.items.push_back(item);
  }
  c.module.items.emplace_back(program);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint32_t size = program.workgroup_size[axis];
    c.grid[axis] = axis == 0 || size > 1 ? std::min(4u, length / size + 1) : 1;
  }
  for (const BufferDecl& buffer : program.buffers) {
    std::vector<std::byte>& bytes = c.contents.emplace_back();
    if (!is_bound(buffer.access)) continue;
    const bool uniform = buffer.access == BufferAccess::Uniform;
    const std::uint32_t count = std::max(buffer.count, uniform ? 4 : length + random.below(3));
    bytes.resize(std::size_t{count} * stride(buffer.element));
    std::uint32_t tame = 0;
    for (std::size_t i = 0; i < bytes.size(); i += 4) {
      // Small numbers keep loops short and hit each other.
      tame += random.below(3);
      std::uint32_t word = random.one_in(3) ? random.word() : random.below(length + 2);
      if (!wild) word = tame;
      const std::uint32_t value = uniform ? random.below(wild ? 20 : 7) : word;
      std::memcpy(bytes.data() + i, &value, 4);
    }
  }
  return c;
}

TEST(Optimise, ExamplesGiveTheSameBytes) {
  Random random(5);
  for (const auto& [name, module] : examples()) {
    for (const Item& item : module.items) {
      const Program* program = std::get_if<Program>(&item);
      if (program == nullptr) continue;
      compared = 0;
      bool alone_too = true;  // for the longest of at most 64 elements that does not take too long
      for (std::uint32_t length : {300u, 64u, 5u, 1u, 0u}) {
        if (!is_long() && (length == 1 || length == 300)) continue;
        const Case wild = case_of(module, *program, length, random);
        EXPECT_EQ(wrong_after(wild, {}, 1'000'000), "") << name << " " << program->name;
        const Case c = case_of(module, *program, length, random, false);
        const std::size_t before = compared;
        EXPECT_EQ(wrong_after(c, {}, 1'000'000), "") << name << " " << program->name;
        if (HasFailure()) return;
        if (length > 64 || compared == before || !alone_too) continue;
        alone_too = false;
        for (const Pass* pass : body_passes()) {
          const Pass* alone[] = {pass};
          EXPECT_EQ(wrong_after(c, alone, 1'000'000), "") << name << " " << program->name;
        }
      }
      EXPECT_GE(compared, body_passes().size() + 2) << name << " " << program->name;
    }
  }
}

TEST(Optimise, TemplatesGiveTheSameBytes) {
  Random random(6);
  const Registry library;
  std::size_t index = 0;
  for (const Op* op : library.all()) {
    if (!is_long() && index++ % 10 != 0) continue;
    const Result<Program> program = elementwise(*op);
    if (!program.ok()) continue;
    const Case c = case_of({}, *program, 20, random);
    EXPECT_EQ(wrong_after(c, {}, 3'000'000), "") << op->id;
    if (HasFailure()) return;
  }
}

// Each invocation writes beside its own element, between barriers: what it stored before is not
// what it finds.
TEST(Optimise, BarriersEndWhatIsRemembered) {
  const Result<Module> module = parse(
      "program p workgroup(2) {\nread_write out: u32[2]\nworkgroup cells: u32[3]\n"
      "let lane = local_id.x\ncells[lane] = 5\nbarrier\ncells[lane + 1] = lane\nbarrier\n"
      "out[lane] = cells[lane]\n}\n");
  ASSERT_TRUE(module.ok());
  const Case c{*module, {1, 1, 1}, {std::vector<std::byte>(8), {}}};
  EXPECT_EQ(wrong_with(c), "");
}

// --- Limits -------------------------------------------------------------------------------------

TEST(Optimise, KeepsToTheLimitsOfPrograms) {
  const std::string head = "program p workgroup(1) {\nread a: u32[]\nread_write out: u32[]\n";
  // As many statements as there may be, with much to share; a long chain of branches; an expression
  // as deep as it may be around a load; values that double from local to local.
  std::string many = head;
  for (int i = 0; i < 49'000; ++i) {
    const std::string n = std::to_string(i);
    many += "out[" + n + "] = a[" + n + "] * 3\nout[a[" + n + "] * 3] = " + n + "\n";
  }
  std::string chain = head;
  for (int i = 0; i < 20'000; ++i) {
    chain += (i == 0 ? "if" : " else if") + (" a[1] == " + std::to_string(i)) + " { out[0] = 1 }";
  }
  std::string deep = head + "let x = a[0] ^ a[1] ^ a[2]\nout[1] = ";
  for (int i = 0; i < 500; ++i) deep += "~(x + ";
  deep += "out[0]" + std::string(500, ')');
  std::string doubling = head + "let v0 = out[0] + a[0]\n";
  for (int i = 0; i < 200; ++i) {
    const std::string before = "v" + std::to_string(i);
    doubling +=
        "let v" + std::to_string(i + 1) + " = (" + before + " ^ 1) * (" + before + " + 1)\n";
  }
  doubling += "out[1] = v200\n";
  std::string rounds = head + "let s = 0\n";
  for (int i = 0; i < 2'000; ++i) {
    rounds += "for k" + std::to_string(i) + " in 0..60 { s = s * 3 + a[s] }\n";
  }
  // A chain of branches behind which many locals may have changed.
  std::string locals = head;
  for (int i = 0; i < 5'000; ++i) locals += "let x" + std::to_string(i) + " = 0\n";
  for (int i = 0; i < 900; ++i) {
    locals += (i == 0 ? "if" : " else if") + (" a[1] == " + std::to_string(i)) + " { out[0] = 1 }";
  }
  locals += " else {\n";
  for (int i = 0; i < 5'000; ++i) locals += "x" + std::to_string(i) + " = 1\n";
  locals += "}\nout[1] = x1 + x2\n";
  for (const std::string& text : {many, chain, deep, doubling, rounds + "out[0] = s\n", locals}) {
    const Result<Loaded> loaded = load_module({"large", text + "\n}\n"});
    ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0], false).substr(0, 300);
    const Result<Linked> linked = link(std::get<Program>(loaded->module.items[0]));
    ASSERT_TRUE(linked.ok());
    const Result<Program> result = optimise(*linked);
    ASSERT_TRUE(result.ok());
    EXPECT_TRUE(validate(*result).empty());
  }
}

// --- Twice is once ------------------------------------------------------------------------------

Result<Program> optimised(const Program& program, const Registry& registry) {
  const Result<Linked> linked = link(program, registry);
  if (!linked.ok()) return linked.diagnostics();
  return optimise(*linked);
}

TEST(Optimise, TwiceChangesNothing) {
  std::vector<Named> all = examples();
  for (const Op* op : Registry().all()) {
    if (Result<Program> program = elementwise(*op); program.ok()) {
      all.push_back({op->id, {{*program}}});
    }
  }
  for (const auto& [name, module] : all) {
    Registry registry;
    ASSERT_TRUE(registry.add(module).ok());
    for (const Item& item : module.items) {
      const Program* program = std::get_if<Program>(&item);
      if (program == nullptr) continue;
      const Result<Program> once = optimised(*program, registry);
      if (!once.ok()) continue;
      const Result<Program> twice = optimised(*once, registry);
      ASSERT_TRUE(twice.ok());
      EXPECT_EQ(print(Module{{*once}}), print(Module{{*twice}})) << name;
    }
  }
}

TEST(Optimise, TwiceChangesHardlyAnyGeneratedProgram) {
  const std::uint64_t count = cases(400, 20'000);
  std::uint64_t same = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const Case c = generate_case(seed);
    Registry registry;
    ASSERT_TRUE(registry.add(c.module).ok());
    const Result<Program> once = optimised(c.program(), registry);
    ASSERT_TRUE(once.ok());
    const Result<Program> twice = optimised(*once, registry);
    ASSERT_TRUE(twice.ok());
    if (*once == *twice) {
      ++same;
    } else if (std::getenv("VYRE_SHOW") != nullptr) {
      std::printf("seed %llu\n%s%s", static_cast<unsigned long long>(seed),
                  print(Module{{*once}}).c_str(), print(Module{{*twice}}).c_str());
    }
  }
  std::printf("optimising twice changes nothing in %.2f %% of %llu generated programs\n",
              100.0 * static_cast<double>(same) / static_cast<double>(count),
              static_cast<unsigned long long>(count));
  // In the others `decide` finds something in what `branches` and `strength` have made.
  EXPECT_GE(same * 100, count * 94);
}

// The same program whichever compiler has built this: all of them compare with one list.
TEST(Optimise, GivesTheSameProgramFromEveryCompiler) {
  std::string list;
  for (const auto& [name, module] : examples()) {
    Registry registry;
    ASSERT_TRUE(registry.add(module).ok());
    for (const Item& item : module.items) {
      const Program* program = std::get_if<Program>(&item);
      if (program == nullptr) continue;
      const Result<Program> result = optimised(*program, registry);
      if (result.ok()) list += name + " " + program->name + " " + digest(*result) + "\n";
    }
  }
  Module generated;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Case c = generate_case(seed);
    Registry registry;
    ASSERT_TRUE(registry.add(c.module).ok());
    const Result<Program> result = optimised(c.program(), registry);
    ASSERT_TRUE(result.ok());
    generated.items.emplace_back(*result);
  }
  list += "300 generated programs " + digest(generated) + "\n";
  const std::string path = source_root() + "/tests/golden/optimised.txt";
  if (updating()) {
    std::ofstream(path) << list;
    return;
  }
  EXPECT_EQ(list, read_file(path)) << "./dev test --update rewrites the list: read the diff";
}

}  // namespace
}  // namespace vyre
