// Accesses that need no check are in bounds: what the analysis claims about examples, templates and
// generated programs is held against the indices that the interpreter sees, also in other
// dispatches of which the same assumptions are true. A table says what it is expected to prove, and
// a count how much of the examples that is.
#include "vyre/passes/bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tests/support/command.h"
#include "tools/vyre/request.h"
#include "vyre/base/random.h"
#include "vyre/conform/generator.h"
#include "vyre/conform/reducer.h"
#include "vyre/interp/machine.h"
#include "vyre/interp/script.h"
#include "vyre/passes/inline.h"
#include "vyre/passes/lowered.h"
#include "vyre/passes/pass.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

using Verdict = CheckedAccess::Verdict;

Module parsed(const std::string& source) {
  const Result<Loaded> loaded = load_module({"test", source});
  if (loaded.ok()) return loaded->module;
  ADD_FAILURE() << render(loaded.diagnostics()[0], false) << source;
  return {};
}

// --- Running with claims ------------------------------------------------------------------------

struct Totals {
  std::array<std::uint64_t, 3> accesses{};  // executed, by verdict
  std::uint64_t last = 0;                   // without a check, to the last element
  std::uint64_t outside = 0;                // with one, beyond it
  std::uint64_t elsewhere = 0;              // runs in other dispatches
};

std::string described(const Program& program, const CheckedAccess& access) {
  constexpr std::string_view kVerdicts[] = {"checked", "proved", "specialised"};
  const bool store = std::holds_alternative<Store>(program.body[access.stmt]);
  return std::string(access.load.exists() ? "load "
                     : store              ? "store "
                                          : "atomic ") +
         program.buffers[access.buffer.index].name + "[" +
         print_expr(program.body, program.buffers, access.index, 200) + "], " +
         std::string(kVerdicts[static_cast<std::size_t>(access.verdict)]);
}

// Looks at each index that is not checked.
class Claims : public NoWatch {
 public:
  Claims(const Program& program, const Bounds& bounds, Totals& totals)
      : program_(program), bounds_(bounds), totals_(totals) {}

  void begin_step(const Step& step, std::uint32_t invocation) {
    stmt_ = StmtId{step.stmt};
    invocation_ = invocation;
  }
  void load(const Node& node, std::uint32_t index, bool inside, const Bits&) {
    check(ExprId{node.id}, BufferId{node.imm}, index, inside);
  }
  void store(const Step& step, std::uint32_t index, bool inside, const Bits&) {
    check({}, step.buffer, index, inside);
  }
  void atomic(const Step& step, std::uint32_t index, bool inside, std::uint32_t, std::uint32_t) {
    check({}, step.buffer, index, inside);
  }

  std::vector<std::uint32_t> lengths;
  std::string wrong;

 private:
  void check(ExprId load, BufferId buffer, std::uint32_t index, bool inside) {
    const CheckedAccess* access = bounds_.find(stmt_, load);
    if (access == nullptr || access->buffer != buffer) {
      wrong = "an access that is not in the table at " + path_of(program_.body, stmt_);
      return;
    }
    // Under a condition that does not hold it goes nowhere.
    const bool is_nowhere = access->condition.exists() && index == 0xffffffff;
    const Verdict verdict = is_nowhere                   ? Verdict::Checked
                            : access->condition.exists() ? access->inner_verdict
                                                         : access->verdict;
    ++totals_.accesses[static_cast<std::size_t>(verdict)];
    if (verdict == Verdict::Checked) {
      totals_.outside += inside ? 0 : 1;
      return;
    }
    totals_.last += index + 1 == lengths[buffer.index] ? 1 : 0;
    if (inside || !wrong.empty()) return;
    wrong = path_of(program_.body, stmt_) + ": " + described(program_, *access) + ", is at " +
            std::to_string(index) + " of " + std::to_string(lengths[buffer.index]) + " for " +
            ids_text(local_ids(program_, invocation_));
  }

  const Program& program_;
  const Bounds& bounds_;
  Totals& totals_;
  StmtId stmt_;
  std::uint32_t invocation_ = 0;
};

struct Ran {
  bool ended = true;  // within the limit of steps
  std::string wrong;
  std::vector<std::vector<std::byte>> contents;
};

// One workgroup after the other, on the grid and contents of the case.
Ran run_watched(const Program& program, const Bounds& bounds, const Case& c,
                std::uint64_t max_steps, Totals& totals) {
  const Script script = make_script(Linked::trust(program, {}));
  RunOptions options;
  options.max_steps = max_steps;
  Control control{options, 1};
  Ran ran;
  ran.contents = c.contents;
  std::vector<Memory> memories;
  Claims claims(program, bounds, totals);
  for (std::size_t i = 0; i < ran.contents.size(); ++i) {
    const std::uint32_t length = length_of(c, i);
    claims.lengths.push_back(length);
    const bool workgroup = program.buffers[i].access == BufferAccess::Workgroup;
    ran.contents[i].resize(workgroup ? 0
                                     : std::size_t{length} * stride(program.buffers[i].element));
    memories.emplace_back(ran.contents[i]);
  }
  Machine<Claims> machine(script, memories, control, claims);
  for (std::uint32_t z = 0; z < c.grid[2]; ++z) {
    for (std::uint32_t y = 0; y < c.grid[1]; ++y) {
      for (std::uint32_t x = 0; x < c.grid[0]; ++x) {
        ran.ended = ran.ended && machine.run({x, y, z});
      }
    }
  }
  ran.wrong = claims.wrong;
  return ran;
}

DispatchFacts facts_of(const Case& c) {
  DispatchFacts facts;
  std::ranges::copy(c.grid, facts.grid.begin());
  for (std::size_t i = 0; i < c.contents.size(); ++i) {
    facts.lengths.push_back(length_of(c, i));
    std::vector<std::uint32_t>& words = facts.uniforms.emplace_back();
    if (c.program().buffers[i].access != BufferAccess::Uniform) continue;
    words.resize((c.contents[i].size() + 3) / 4);
    if (!words.empty()) std::memcpy(words.data(), c.contents[i].data(), c.contents[i].size());
  }
  return facts;
}

bool all_hold(const std::vector<Assumption>& assumptions, const DispatchFacts& facts) {
  return std::ranges::all_of(assumptions,
                             [&](const Assumption& each) { return holds(each, facts); });
}

std::string assumption_list(const std::vector<Assumption>& assumptions, const Program& program) {
  std::string list;
  for (const Assumption& each : assumptions) {
    list += (list.empty() ? "" : ", ") + text(each, program);
  }
  return list;
}

// --- Other dispatches ---------------------------------------------------------------------------

// Data, and now and then a number of groups, a length or a word of a uniform, become another.
Case varied(const Case& c, Random& random) {
  Case other = c;
  const auto word = [&] { return random.one_in(6) ? random.word() : random.below(10); };
  for (std::size_t i = 0; i < c.contents.size(); ++i) {
    const BufferDecl& buffer = c.program().buffers[i];
    if (!is_bound(buffer.access)) continue;
    std::vector<std::byte>& bytes = other.contents[i];
    const std::uint32_t each = stride(buffer.element);
    std::uint32_t length = length_of(c, i);
    if (random.one_in(3)) length = std::max(buffer.count, length + random.below(8) - 3);
    if (length < 2000) bytes.resize(std::size_t{length} * each);
    const bool uniform = buffer.access == BufferAccess::Uniform;
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      if (at + 4 <= c.contents[i].size() && !random.one_in(uniform ? 6 : 2)) continue;
      const std::uint32_t value = word();
      std::memcpy(bytes.data() + at, &value, 4);
    }
  }
  for (std::uint32_t& axis : other.grid) {
    if (random.one_in(3)) axis = 1 + random.below(axis + 1);
  }
  return other;
}

// --- In another shape ---------------------------------------------------------------------------

// The case for a program that shape passes have changed, which is launched as that says.
Case shaped(const Case& c, const Lowered& variant) {
  Case own{{{variant.program}}, {}, c.contents};
  const std::array<std::uint64_t, 3> grid{c.grid[0], c.grid[1], c.grid[2]};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    own.grid[axis] = static_cast<std::uint32_t>(variant.launch.grid(grid)[axis]);
  }
  own.contents.resize(variant.program.buffers.size());
  if (variant.launch.uniform.exists()) {
    const std::vector<std::uint32_t> words = variant.launch.words(grid);
    const auto bytes = std::as_bytes(std::span(words));
    own.contents[variant.launch.uniform.index].assign(bytes.begin(), bytes.end());
  }
  return own;
}

// What is claimed of the accesses of a program in the shape for GPUs, right for every dispatch and
// for this one, and whether it gives the same bytes.
std::string wrong_in_shape(const Program& program, const Case& c, std::uint64_t max_steps,
                           Totals& totals) {
  const DispatchFacts facts = facts_of(c);
  const Ran plain = run_watched(program, bounds_of(program), c, max_steps, totals);
  const Target gpu{.name = {},
                   .capabilities = {},
                   .shape = [](const Program& each) { return shape_for_gpu(each, {}); },
                   .zeroed_memory = false};
  const Lowered special = lower(program, gpu, facts);
  if (!special.fits(facts)) return "a variant that does not fit its own dispatch";
  Random random(facts.grid[0] + facts.lengths[0]);
  for (const Lowered& variant : {lower(program, gpu), special}) {
    for (std::uint32_t left = 4; left > 0; --left) {
      const Case other = left == 4 ? c : varied(c, random);
      if (!variant.fits(facts_of(other))) continue;
      const Ran fast =
          run_watched(variant.program, variant.bounds, shaped(other, variant), max_steps, totals);
      if (!fast.wrong.empty()) {
        return fast.wrong + "\nassuming " + assumption_list(variant.assumptions, program) +
               "\nin the dispatch of\n" + to_text(other) + "\nof\n" + print(variant.program);
      }
      if (left < 4 || !plain.ended || !fast.ended) continue;
      for (std::size_t i = 0; i < c.contents.size(); ++i) {
        if (plain.contents[i] != fast.contents[i]) return "other bytes:\n" + print(variant.program);
      }
    }
  }
  return {};
}

// --- All that can be wrong with a case ----------------------------------------------------------

struct Options {
  std::uint64_t max_steps = 4000;
  std::uint32_t others = 8;  // dispatches that are tried
  bool bytes = true;         // the specialised program gives the same
};

// The claims about a program in the dispatch of the case, and in others that they are good for.
std::string wrong_with(const Program& program, const Case& c, const Options& options,
                       Totals& totals) {
  const DispatchFacts facts = facts_of(c);
  const Bounds always = bounds_of(program);
  const Bounds here = bounds_of(program, &facts);
  if (always.accesses.size() != here.accesses.size()) return "other accesses with facts";
  for (std::size_t i = 0; i < always.accesses.size(); ++i) {
    if ((always.accesses[i].verdict == Verdict::Proved) !=
        (here.accesses[i].verdict == Verdict::Proved)) {
      return "proved or not, with facts: " + described(program, here.accesses[i]);
    }
    if (always.accesses[i].verdict == Verdict::Specialised) return "specialised without facts";
  }
  if (!all_hold(here.assumptions, facts)) return "an assumption that is not true";
  const Ran ran = run_watched(program, here, c, options.max_steps, totals);
  if (!ran.wrong.empty()) return ran.wrong;
  const bool special = std::ranges::any_of(here.accesses, [](const CheckedAccess& access) {
    return access.verdict == Verdict::Specialised;
  });
  if (!special) return here.assumptions.empty() ? "" : "assumptions without need";

  const Lowered variant = lower(program, {}, facts);
  if (!variant.fits(facts)) return "a variant that does not fit its own dispatch";
  Random random(facts.grid[0] + facts.lengths[0]);
  for (std::uint32_t left = options.others + 1; left > 0; --left) {
    const Case other = left == options.others + 1 ? c : varied(c, random);
    const DispatchFacts elsewhere = facts_of(other);
    const bool claimed = all_hold(here.assumptions, elsewhere);
    const bool fits = variant.fits(elsewhere);
    if (!claimed && !fits) continue;
    totals.elsewhere += left <= options.others ? 1 : 0;
    const auto where = [&](const Program& of, const std::vector<Assumption>& assumptions) {
      return "\nassuming " + assumption_list(assumptions, program) + "\nin the dispatch of\n" +
             to_text(other) + "\nof\n" + print(Module{{of}});
    };
    const Ran plain =
        run_watched(program, claimed ? here : always, other, options.max_steps, totals);
    if (!plain.wrong.empty()) return plain.wrong + where(program, here.assumptions);
    if (!fits) continue;
    const Ran fast = run_watched(variant.program, variant.bounds, other, options.max_steps, totals);
    if (!fast.wrong.empty()) return fast.wrong + where(variant.program, variant.assumptions);
    if (options.bytes && plain.ended && fast.ended && plain.contents != fast.contents) {
      return "other bytes" + where(variant.program, variant.assumptions);
    }
  }
  return {};
}

std::string wrong_with(const Case& c, const Options& options, Totals& totals) {
  const Result<Linked> linked = link(c);
  if (!linked.ok()) return {};
  const Result<Program> flat = inline_calls(*linked);
  if (!flat.ok()) return {};  // beyond a limit
  if (std::string wrong = wrong_with(*flat, c, options, totals); !wrong.empty()) return wrong;
  const Result<Program> fast = optimise(*linked);
  if (!fast.ok()) return {};
  std::string wrong = wrong_with(*fast, c, options, totals);
  return wrong.empty() ? wrong : "optimised:\n" + print(Module{{*fast}}) + wrong;
}

// The failure with a smaller case that fails too.
std::string shrunk(const Case& c, const Options& options) {
  Totals totals;
  const auto fails = [&](const Case& smaller) {
    return !wrong_with(smaller, options, totals).empty();
  };
  const Case small = reduce(c, fails, {.tries = 3000});
  return to_text(small) + "\n" + wrong_with(small, options, totals);
}

void expect_variety(const Totals& totals, std::uint64_t least) {
  if (kSanitized) least /= 8;
  for (std::uint64_t count : totals.accesses) EXPECT_GT(count, least);
  EXPECT_GT(totals.last, least / 10);
  EXPECT_GT(totals.outside, least / 10);
  EXPECT_GT(totals.elsewhere, least / 100);
  if (std::getenv("VYRE_SHOW") == nullptr) return;
  std::printf(
      "checked %llu, of which outside %llu; proved %llu, specialised %llu, of which last "
      "%llu; other dispatches %llu\n",
      static_cast<unsigned long long>(totals.accesses[0]),
      static_cast<unsigned long long>(totals.outside),
      static_cast<unsigned long long>(totals.accesses[1]),
      static_cast<unsigned long long>(totals.accesses[2]),
      static_cast<unsigned long long>(totals.last),
      static_cast<unsigned long long>(totals.elsewhere));
}

TEST(Bounds, HoldInTheShapeForGpus) {
  Totals totals;
  const std::uint64_t count = cases(300, 4'000);
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    GeneratorOptions options;
    options.statements = 3 + static_cast<std::uint32_t>(seed % 14);
    const Case c = generate_case(seed, options);
    const Result<Linked> linked = link(c);
    ASSERT_TRUE(linked.ok());
    const Result<Program> program = optimise(*linked);
    ASSERT_TRUE(program.ok());
    const std::string wrong = wrong_in_shape(*program, c, 400'000, totals);
    ASSERT_EQ(wrong, "") << "seed " << seed << "\n" << to_text(c);
  }
  EXPECT_GT(totals.accesses[static_cast<std::size_t>(Verdict::Specialised)], 3 * count);
  EXPECT_GT(totals.last, count / 3);
}

TEST(Bounds, TrueOfGeneratedPrograms) {
  const std::uint64_t count = cases(400, 10'000);
  Totals totals;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    GeneratorOptions generator;
    generator.statements = static_cast<std::uint32_t>(8 + seed % 40);
    generator.invocations = 32;
    generator.work = 5'000;
    generator.race_free = seed % 2 == 0;
    const Case c = generate_case(seed, generator);
    const Options options{.max_steps = 20'000, .others = 2, .bytes = generator.race_free};
    if (wrong_with(c, options, totals).empty()) continue;
    ADD_FAILURE() << "seed " << seed << "\n" << shrunk(c, options);
    break;
  }
  expect_variety(totals, 1000);
}

// --- Programs about indices ---------------------------------------------------------------------

// Guards of all forms and accesses near what they guard, with numbers where arithmetic wraps
// around.
class IndexPrograms {
 public:
  explicit IndexPrograms(std::uint64_t seed) : random_(seed) {}

  Case make() {
    constexpr const char* kSizes[] = {"4", "2, 2", "3", "1", "8", "3, 1, 2", "1, 4"};
    constexpr const char* kCounts[] = {"", "", "", "1", "2", "4"};
    const auto count = [&] { return std::string(random_.pick(kCounts)); };
    out_ = "program p workgroup(" + std::string(random_.pick(kSizes)) + ") {\nread a: u32[" +
           count() + "]\nread_write b: u32[" + count() + "]\nread_write c: u32[" + count() +
           "]\nuniform n: u32[" + count() + "]\nworkgroup w: u32[" +
           std::to_string(1 + random_.below(8)) + "]\n";
    if (!random_.one_in(3)) bind("invocation_id.x");
    block(0, 4);
    return finish(out_ + "}\n");
  }

 private:
  Case finish(const std::string& source) {
    Case c;
    c.module = parsed(source);
    if (c.module.items.empty()) return c;
    c.grid = {1 + random_.below(4), random_.one_in(3) ? 2u : 1u, 1};
    for (const BufferDecl& buffer : c.program().buffers) {
      std::vector<std::byte>& bytes = c.contents.emplace_back();
      if (!is_bound(buffer.access)) continue;
      constexpr std::uint32_t kLengths[] = {0, 1, 2, 5, 5, 5, 8, 9};
      const std::uint32_t length = std::max(buffer.count, random_.pick(kLengths));
      for (std::uint32_t i = 0; i < length; ++i) {
        const std::uint32_t value = random_.one_in(8) ? number() : random_.below(10);
        for (unsigned shift = 0; shift < 32; shift += 8) {
          bytes.push_back(static_cast<std::byte>(value >> shift));
        }
      }
    }
    return c;
  }

  void bind(const std::string& value) {
    const std::string name = "v" + std::to_string(locals_++);
    out_ += "let " + name + " = " + value + "\n";
    names_.push_back(name);
    assignable_.push_back(name);
  }

  // An access and so many statements.
  void block(std::uint32_t depth, std::uint32_t statements) {
    const std::size_t names = names_.size();
    const std::size_t assignable = assignable_.size();
    const std::size_t guarded = guarded_.size();
    access();
    for (; statements > 0; --statements) statement(depth);
    names_.resize(names);
    assignable_.resize(assignable);
    // Names that are gone may be in these.
    guarded_.resize(guarded);
  }

  void statement(std::uint32_t depth) {
    const std::uint32_t choice = random_.below(depth < 2 ? 16 : 11);
    if (choice < 2) {
      bind(random_.one_in(3) ? element() : value(2));
    } else if (choice < 4 && !assignable_.empty()) {
      out_ += random_.pick(assignable_) + " = " + value(2) + "\n";
    } else if (choice < 8) {
      access();
    } else if (choice < 11) {
      // Who is not in bounds leaves.
      const bool in_loop = loops_ > 0 && random_.one_in(2);
      const std::string leave = in_loop ? "break\n" : "return\n";
      const std::size_t before = guarded_.size();
      const std::string test = condition(2);
      if (random_.one_in(2)) {
        out_ += "if !(" + test + ") {\n" + leave + "}\n";
      } else if (random_.one_in(2)) {
        out_ += "if " + test + " {\n";
        block(depth, 0);
        out_ += "} else {\n" + leave + "}\n";
      } else {
        out_ += "if " + test + " {\n" + leave + "}\n";
        if (random_.one_in(2)) guarded_.resize(before);
      }
      access();
    } else if (choice < 14) {
      const std::size_t before = guarded_.size();
      out_ += "if " + condition(2) + " {\n";
      block(depth + 1, 2 - depth);
      out_ += "}\n";
      if (random_.one_in(2)) {
        out_.pop_back();
        out_ += " else {\n";
        block(depth + 1, 2 - depth);
        out_ += "}\n";
      }
      if (!random_.one_in(3)) guarded_.resize(before);
    } else {
      const std::string name = "v" + std::to_string(locals_++);
      const std::string buffer = random_.pick(kBuffers);
      const std::string ends[] = {"len(" + buffer + ")",
                                  "len(" + buffer + ")",
                                  "n[0]",
                                  "4",
                                  "sub_sat(len(" + buffer + "), 1)",
                                  "len(" + buffer + ") + 1",
                                  value(1) + " & 7",
                                  value(1)};
      const std::string from = random_.one_in(3) ? value(1) : std::to_string(random_.below(3));
      out_ += "for " + name + " in " + from + ".." + random_.pick(ends) + " {\n";
      names_.push_back(name);
      const std::size_t before = guarded_.size();
      guarded_.push_back({name, buffer});
      ++loops_;
      block(depth + 1, 2 - depth);
      --loops_;
      guarded_.resize(before);
      names_.pop_back();
      out_ += "}\n";
    }
  }

  // A load, store or atomic, mostly near what a guard is about.
  std::string place() {
    std::string buffer = random_.pick(kBuffers);
    std::string index = value(2);
    if (!guarded_.empty() && !random_.one_in(5)) {
      const Guarded& guard = random_.one_in(2) ? guarded_.back() : random_.pick(guarded_);
      if (!random_.one_in(4)) buffer = guard.buffer;
      index = guard.value;
      if (random_.one_in(3)) index = near(index);
    } else if (random_.one_in(3)) {
      const std::string clamps[] = {"min(" + index + ", len(" + buffer + ") - 1)",
                                    "min(" + index + ", sub_sat(len(" + buffer + "), 1))",
                                    index + " % len(" + buffer + ")",
                                    index + " & (len(" + buffer + ") - 1)",
                                    index + " % max(len(" + buffer + "), 1)",
                                    "select(" + index + " < len(" + buffer + "), " + index + ", 0)",
                                    "(" + index + " & 1)",
                                    "(" + index + " >> 31)"};
      index = random_.pick(clamps);
    }
    return buffer + "[" + index + "]";
  }

  std::string near(const std::string& index) {
    const std::string by = std::to_string(random_.one_in(4) ? number() : random_.below(3));
    const std::string forms[] = {index + " + " + by,
                                 index + " - " + by,
                                 by + " - " + index,
                                 index + " * " + by,
                                 index + " / " + by,
                                 index + " % (" + by + " + 1)",
                                 index + " << " + by,
                                 index + " >> " + by,
                                 "sub_sat(" + index + ", " + by + ")",
                                 "add_sat(" + index + ", " + by + ")",
                                 "min(" + index + ", " + by + ")",
                                 "max(" + index + ", " + by + ")",
                                 index + " ^ " + by,
                                 index + " | " + by,
                                 index + " & " + by};
    return random_.one_in(2) ? forms[random_.below(2)] : random_.pick(forms);
  }

  std::string element() {
    const std::string from = place();
    return from[0] == 'n' && from[1] == '[' && random_.one_in(2) ? "n[0]" : from;
  }

  void access() {
    const std::string at = place();
    const bool written = at[0] == 'b' || at[0] == 'c' || at[0] == 'w';
    if (written && at[0] != 'w' && random_.one_in(6)) {
      out_ += "atomic_add(" + at + ", 1)\n";
    } else if (written && !random_.one_in(3)) {
      out_ += at + " = " + value(1) + "\n";
    } else {
      bind(at);
    }
  }

  // A guard, which is remembered.
  std::string condition(std::uint32_t depth) {
    if (depth > 0 && random_.one_in(3)) {
      const std::string a = condition(depth - 1);
      const std::string b = condition(depth - 1);
      const std::string forms[] = {a + " && " + b,
                                   a + " && " + b,
                                   "(" + a + ") || (" + b + ")",
                                   "!(" + a + ")",
                                   "!(" + a + ") && (" + b + ")",
                                   "!((" + a + ") || (" + b + "))",
                                   "(" + a + ") & (" + b + ")",
                                   "(" + a + ") == 0",
                                   "(" + a + ") != 0",
                                   "select(" + a + ", " + b + ", 0)"};
      return "(" + random_.pick(forms) + ")";
    }
    const std::string buffer = random_.pick(kBuffers);
    const std::string index = random_.one_in(2) ? leaf() : value(1);
    std::string other = "len(" + buffer + ")";
    const std::string by = std::to_string(random_.one_in(6) ? number() : random_.below(4));
    if (random_.one_in(5)) {
      const std::string others[] = {other + " - " + by,
                                    "sub_sat(" + other + ", " + by + ")",
                                    other + " + " + by,
                                    "min(" + other + ", n[0])",
                                    "n[0]",
                                    other + " * 2",
                                    leaf(),
                                    other + " / 2"};
      other = random_.pick(others);
    }
    guarded_.push_back({index, buffer});
    const std::string near_by = random_.one_in(3) ? "(" + near(index) + ")" : index;
    constexpr const char* kTests[] = {" < ", " < ", " < ", " <= ", " != ", " == ", " >= ", " > "};
    if (random_.one_in(4))
      return "(" + other + " " + (random_.one_in(3) ? ">=" : ">") + " " + near_by + ")";
    return "(" + near_by + random_.pick(kTests) + other + ")";
  }

  std::uint32_t number() {
    constexpr std::uint32_t kNumbers[] = {
        0,  1,          2,          3,          4,          7,          8,         31,
        32, 0x3fffffff, 0x40000000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    return random_.pick(kNumbers);
  }

  std::string leaf() {
    constexpr const char* kLeaves[] = {"local_id.x",
                                       "local_id.y",
                                       "invocation_id.x",
                                       "workgroup_id.x",
                                       "invocation_id.y",
                                       "n[0]",
                                       "n[1]",
                                       "b[0]",
                                       "c[1]",
                                       "len(a)",
                                       "len(b)",
                                       "len(w)"};
    if (!names_.empty() && !random_.one_in(3)) return random_.pick(names_);
    return random_.one_in(4) ? std::to_string(number()) : random_.pick(kLeaves);
  }

  std::string value(std::uint32_t depth) {
    constexpr const char* kOperators[] = {" + ", " + ", " + ", " - ",  " - ",  " * ", " / ", " % ",
                                          " & ", " | ", " ^ ", " << ", " >> ", " < ", " == "};
    constexpr const char* kFunctions[] = {"min", "max", "sub_sat", "add_sat", "abs_diff"};
    if (depth == 0 || random_.one_in(3)) return leaf();
    const std::string a = value(depth - 1);
    switch (random_.below(12)) {
      case 0:
      case 1: return std::string(random_.pick(kFunctions)) + "(" + a + ", " + leaf() + ")";
      case 2: return "select(" + condition_of(a) + ", " + leaf() + ", " + value(depth - 1) + ")";
      case 3: return "u32(i32(" + a + ") / 2i32)";
      case 4: return "u32(u64(" + a + ") * u64(" + leaf() + "))";
      case 5: return "n[" + std::to_string(random_.below(2)) + " + 0]";
      case 6: return a[0] == '-' || a[0] == '~' ? a : "(~" + a + ")";
      default: return "(" + a + random_.pick(kOperators) + value(depth - 1) + ")";
    }
  }

  std::string condition_of(const std::string& a) { return "(" + a + " < " + leaf() + ")"; }

  struct Guarded {
    std::string value;
    std::string buffer;
  };
  static constexpr const char* kBuffers[] = {"a", "b", "b", "c", "w", "n"};

  Random random_;
  std::string out_;
  std::vector<std::string> names_;
  std::vector<std::string> assignable_;
  std::vector<Guarded> guarded_;
  std::uint32_t locals_ = 0;
  std::uint32_t loops_ = 0;
};

TEST(Bounds, TrueOfProgramsAboutIndices) {
  const std::uint64_t count = cases(1'600, 100'000);
  Totals totals;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const Case c = IndexPrograms(seed).make();
    if (HasFailure()) FAIL() << "seed " << seed;
    if (wrong_with(c, {}, totals).empty()) continue;
    ADD_FAILURE() << "seed " << seed << "\n" << shrunk(c, {});
    break;
  }
  expect_variety(totals, 10'000);
}

// --- Examples and templates ---------------------------------------------------------------------

struct Named {
  std::string name;
  Module module;
  std::string command;  // that its head says runs it
};

std::vector<Named> examples() {
  std::vector<Named> all;
  for (const std::filesystem::path path : program_files({"examples"})) {
    const std::string source = read_file(path.string());
    std::string command;
    for (std::string_view line : split(source, '\n')) {
      if (line.starts_with("// vyre run ")) command = line.substr(12);
    }
    all.push_back({path.filename().string(), parsed(source), command});
  }
  return all;
}

// The case of a program with contents of about `length` elements, on a grid that covers them.
Case case_of(const Module& module, const Program& program, std::uint32_t length, Random& random) {
  Case c;
  for (const Item& item : module.items) {
    if (std::holds_alternative<Op>(item)) c.module.items.push_back(item);
  }
  c.module.items.emplace_back(program);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint32_t size = program.workgroup_size[axis];
    c.grid[axis] = axis == 0 || size > 1 ? std::min(3u, length / size + 1) : 1;
  }
  for (const BufferDecl& buffer : program.buffers) {
    std::vector<std::byte>& bytes = c.contents.emplace_back();
    if (!is_bound(buffer.access)) continue;
    const bool uniform = buffer.access == BufferAccess::Uniform;
    const std::uint32_t count = std::max(buffer.count, uniform ? 4 : length + random.below(3));
    bytes.resize(std::size_t{count} * stride(buffer.element));
    for (std::size_t i = 0; i < bytes.size(); i += 4) {
      // Small numbers are good indices, and keep loops short.
      const std::uint32_t word = random.one_in(3) ? random.word() : random.below(length + 2);
      const std::uint32_t value = uniform ? random.below(20) : word;
      std::memcpy(bytes.data() + i, &value, 4);
    }
  }
  return c;
}

TEST(Bounds, TrueOfExamples) {
  Random random(7);
  Totals totals;
  for (const Named& example : examples()) {
    for (const Item& item : example.module.items) {
      const Program* program = std::get_if<Program>(&item);
      if (program == nullptr) continue;
      for (std::uint32_t length : {0u, 1u, 5u, 64u, 300u}) {
        const Case c = case_of(example.module, *program, length, random);
        const Options options{.max_steps = is_long() ? 1'000'000u : 30'000u, .others = 3};
        EXPECT_EQ(wrong_with(c, options, totals), "") << example.name << " " << length;
        if (HasFailure()) return;
      }
    }
  }
  expect_variety(totals, 5'000);
}

TEST(Bounds, TrueOfTemplates) {
  Random random(8);
  Totals totals;
  std::size_t index = 0;
  for (const Op* op : Registry().all()) {
    if (!is_long() && index++ % 5 != 0) continue;
    const Result<Program> program = elementwise(*op);
    if (!program.ok()) continue;
    const Case c = case_of({}, *program, 20, random);
    EXPECT_EQ(wrong_with(c, {.others = 3}, totals), "") << op->id;
    if (HasFailure()) return;
  }
  EXPECT_GT(totals.accesses[static_cast<std::size_t>(Verdict::Proved)], 1000u);
  EXPECT_GT(totals.accesses[static_cast<std::size_t>(Verdict::Specialised)], 1000u);
}

// --- What it proves -----------------------------------------------------------------------------

// What becomes of the last access of a program, in a dispatch of 64 x 16 invocations.
std::string last_verdict(const std::string& statements) {
  Case c;
  c.module = parsed(R"(program p workgroup(16, 4) {
  read       a: u32[]
  read_write b: u32[]
  read_write c: u32[]
  read       bins: u32[256]
  uniform    size: u32[2]
  workgroup  cells: u32[64]
  let i = invocation_id.x
  let x = local_id.x
  let y = local_id.y
)" + statements + "}\n");
  if (c.module.items.empty()) return {};
  c.grid = {4, 4, 1};
  for (std::uint32_t words : {80u, 80u, 100u, 256u, 2u, 0u}) c.contents.emplace_back(words * 4);
  const std::uint32_t size[] = {10, 8};
  std::memcpy(c.contents[4].data(), size, 8);
  const DispatchFacts facts = facts_of(c);
  const Bounds bounds = bounds_of(c.program(), &facts);
  const CheckedAccess& last = bounds.accesses.back();
  if (last.verdict == Verdict::Proved) return "proved";
  if (last.verdict == Verdict::Checked) {
    return depends_on_data(c.program())[last.index.index] ? "data" : "checked";
  }
  // Of this one alone: those before it may need others.
  std::string orders;
  for (const auto& [shorter, longer] : last.orders) {
    const Assumption order{Assumption::Kind::Order, 0, shorter, longer, 0, 0};
    orders += (orders.empty() ? "" : ", ") + text(order, c.program());
  }
  return orders.empty() ? "dispatch" : orders;
}

TEST(Bounds, Table) {
  const struct {
    const char* statements;
    const char* verdict;
  } rows[] = {
      // Guards.
      {"b[i] = 1", "dispatch"},
      {"b[i + 16] = 1", "dispatch"},
      {"b[i + 17] = 1", "checked"},
      {"if i < len(b) { b[i] = 1 }", "proved"},
      {"if len(b) > i { b[i] = 1 }", "proved"},
      {"if i <= len(b) { b[i] = 1 }", "dispatch"},
      {"if i + 24 <= len(b) { b[i + 24] = 1 }", "checked"},
      {"if i < len(b) { } else { b[i] = 1 }", "dispatch"},
      {"if i >= len(b) { } else { b[i] = 1 }", "proved"},
      {"if !(i >= len(b)) { b[i] = 1 }", "proved"},
      {"if (i < len(b)) != 0 { b[i] = 1 }", "proved"},
      {"if (i < len(b)) == 0 { b[i + 32] = 1 }", "checked"},
      {"if i < len(b) && y < 2 { b[i] = 1 }", "proved"},
      {"if (i < len(b)) & (y < 2) { b[i] = 1 }", "proved"},
      {"if i + 32 < len(b) || y < 2 { b[i + 32] = 1 }", "checked"},
      {"if !(i + 32 >= len(b) || y < 2) { b[i + 32] = 1 }", "proved"},
      {"if i < len(b) { if y < 2 { b[i] = 1 } }", "proved"},
      {"let near = i < len(b)\nif near { b[i] = 1 }", "proved"},
      {"if i == len(b) { b[i - 1] = 1 }", "checked"},
      {"if i < x && x < len(b) { b[i] = 1 }", "proved"},
      {"if i <= x && x < len(b) { b[i] = 1 }", "proved"},
      // Early ends.
      {"if i >= len(b) { return }\nb[i] = 1", "proved"},
      {"if i < len(b) { } else { return }\nb[i] = 1", "proved"},
      {"if i > len(b) { return }\nb[i + 30] = 1", "checked"},
      {"if i >= len(b) || y > 1 { return }\nb[i] = 1", "proved"},
      {"if i >= len(b) && y > 1 { return }\nb[i + 30] = 1", "checked"},
      {"for k in 0..100 { if k >= len(b) { break }\nb[k] = 1 }", "proved"},
      {"for k in 0..100 { if i >= len(b) { break } }\nb[i + 30] = 1", "checked"},
      {"if y < 2 { if i >= len(b) { return } }\nb[i + 30] = 1", "checked"},
      // Sums, and where they wrap around.
      {"if i + 1 < len(b) { b[i + 1] = 1 }", "proved"},
      {"if x + 1 < len(b) { b[x] = 1 }", "proved"},
      {"if x + 100 < len(b) { b[x + 50] = 1 }", "proved"},
      {"if i + 4 < len(b) { b[i] = 1 }", "dispatch"},
      {"for k in 0..len(b) { if k + 1 < len(b) { b[k] = 1 } }", "proved"},
      {"if i < len(b) { b[i + 0xffffffff] = 1 }", "checked"},
      {"if i < len(b) { b[i * 4] = 1 }", "checked"},
      {"if i * 4 < len(b) { b[i] = 1 }", "dispatch"},
      {"if i < len(b) { b[i - 1] = 1 }", "checked"},
      {"if i > 0 && i < len(b) { b[i - 1] = 1 }", "proved"},
      {"if i != 0 { if i < len(b) { b[i - 1] = 1 } }", "proved"},
      {"if i < len(b) && x <= i { b[i - x] = 1 }", "proved"},
      {"if i < len(b) { b[i - x] = 1 }", "checked"},
      {"if i < len(b) { b[sub_sat(i, 1)] = 1 }", "proved"},
      {"if i - 1 < len(b) { b[i - 1] = 1 }", "proved"},
      {"if i < len(b) - 40 { b[i + 40] = 1 }", "dispatch"},
      {"if i < len(b) - 1 { b[i] = 1 }", "dispatch"},
      {"if i < sub_sat(len(b), 1) { b[i + 1] = 1 }", "proved"},
      {"if i <= sub_sat(len(b), 1) { b[i] = 1 }", "dispatch"},
      {"if i < sub_sat(len(b), 7) { b[i + 7] = 1 }", "proved"},
      {"if i < sub_sat(len(b), 7) { b[i + 8] = 1 }", "dispatch"},
      // Operations that make small numbers.
      {"let v = bins[i & 255]", "proved"},
      {"let v = bins[i % 256]", "proved"},
      {"let v = bins[min(i, 255)]", "proved"},
      {"let v = bins[i >> 24]", "proved"},
      {"let v = bins[i / 0x1000000]", "proved"},
      {"let v = bins[a[i] & 255]", "proved"},
      {"let v = bins[a[i] >> 23]", "data"},
      {"let v = bins[select(i < 256, i, 0)]", "proved"},
      {"let v = bins[select(y < 2, x, 255)]", "proved"},
      {"let v = bins[select(y < 2, x, 256)]", "checked"},
      {"let v = bins[u32(u64(a[0]) * u64(x) >> 56)]", "proved"},
      {"if i < len(b) { b[i >> 1] = 1 }", "proved"},
      {"if i < len(b) { b[i / size[0]] = 1 }", "proved"},
      {"if i < len(b) { b[min(i, a[i])] = 1 }", "proved"},
      {"if i < len(b) { b[max(i, 1)] = 1 }", "dispatch"},
      {"if i < len(b) { b[max(i / 2, i & 7)] = 1 }", "proved"},
      {"let n = len(b)\nif n >= 1 { b[a[i] % n] = 1 }", "proved"},
      {"b[a[i] % len(b)] = 1", "dispatch"},
      {"if len(b) == 0 { return }\nb[a[i] % len(b)] = 1", "proved"},
      {"if len(b) == 0 { return }\nb[min(a[i], len(b) - 1)] = 1", "proved"},
      {"b[min(a[i], len(b) - 1)] = 1", "dispatch"},
      {"b[min(a[i], sub_sat(len(b), 1))] = 1", "dispatch"},
      {"if len(b) > 0 { b[len(b) - 1] = 1 }", "proved"},
      {"if len(b) > 4 { b[4] = 1 }", "proved"},
      {"let v = bins[255]", "proved"},
      {"let v = bins[256]", "checked"},
      {"let v = bins[len(bins) - 1]", "proved"},
      // Loops.
      {"for k in 0..len(b) { b[k] = 1 }", "proved"},
      {"for k in i..len(b) { b[k] = 1 }", "proved"},
      {"for k in i..len(b) { b[k - i] = 1 }", "proved"},
      {"for k in 0..len(b) { b[len(b) - 1 - k] = 1 }", "dispatch"},
      {"for k in 0..len(b) + 1 { b[k] = 1 }", "checked"},
      {"for k in 0..size[0] { b[k] = 1 }", "dispatch"},
      {"for k in 0..size[0] { if k < len(b) { b[k] = 1 } }", "proved"},
      {"if size[0] <= len(b) { for k in 0..size[0] { b[k] = 1 } }", "proved"},
      {"for k in 0..16 { cells[y * 16 + k] = 1 }", "proved"},
      {"for k in 0..17 { cells[y * 16 + k] = 1 }", "checked"},
      {"for k in 0..4 { for j in 0..16 { cells[k * 16 + j] = 1 } }", "proved"},
      {"for k in 1..65 { cells[k - 1] = 1 }", "proved"},
      // Workgroup memory.
      {"cells[y * 16 + x] = 1", "proved"},
      {"cells[y * 17 + x] = 1", "checked"},
      {"cells[(y << 4) | x] = 1", "proved"},
      {"if x < 8 { cells[x + 56] = 1 }", "proved"},
      {"if x >= 1 { cells[x - 1] = 1 }", "proved"},
      {"let reach = 1\nif x >= reach { cells[x - reach] = 1 }", "proved"},
      // Pictures.
      {"let w = size[0]\nlet h = size[1]\nif i < w && y < h { b[y * w + i] = 1 }", "dispatch"},
      {"let w = size[0]\nif i < w { b[invocation_id.y * w + i] = 1 }", "checked"},
      // Lengths.
      {"if i < len(b) { let v = a[i] }", "len(b) <= len(a)"},
      {"if i < len(a) { c[i] = 1 }", "len(a) <= len(c)"},
      {"if i < len(c) && y < 1 { b[i + 20] = 1 }", "checked"},
      {"if i < min(len(a), len(b)) { b[i] = 1 }", "proved"},
      {"if i < len(a) && len(a) <= len(b) { b[i] = 1 }", "proved"},
      {"if i < len(a) && len(a) == len(b) { b[i] = 1 }", "proved"},
      {"if i + 1 < len(a) { c[i + 1] = 1 }", "len(a) <= len(c)"},
      {"for k in 0..len(c) { let v = a[k] }", "checked"},
      // Memory that others write is read anew by each statement; `let` and `read` memory stay.
      {"if b[0] < len(c) { c[b[0]] = 1 }", "data"},
      {"let v = b[0]\nif v < len(c) { c[v] = 1 }", "proved"},
      {"if a[0] < len(c) { c[a[0]] = 1 }", "proved"},
      {"if cells[0] < len(c) { c[cells[0]] = 1 }", "data"},
      {"let old = atomic_add(b[0], 1)\nif old < len(c) { c[old] = 1 }", "proved"},
      {"let old = atomic_add(b[0], 1)\nif old <= len(c) { c[old] = 1 }", "data"},
      // Locals that change.
      {"let v = i\nif v < len(b) { v = v + 20\nb[v] = 1 }", "checked"},
      {"let v = i\nif v < len(b) { v = v / 2\nb[v] = 1 }", "proved"},
      {"let v = i + 20\nif v < len(b) { let w = v\nv = 100\nb[w] = 1 }", "proved"},
      {"let v = i\nfor k in 0..4 { if v < len(b) { b[v] = 1 }\nv = v + 20 }", "proved"},
      {"let v = i\nif v >= len(b) { return }\nfor k in 0..4 { b[v] = 1\nv = v + 20 }", "checked"},
      {"let v = 0\nfor k in 0..4 { v = v + 1 }\nlet u = bins[v]", "checked"},
      {"let v = 300\nif y < 2 { v = x } else { v = x + 100 }\nlet u = bins[v]", "proved"},
      {"let v = 300\nif y < 2 { v = x }\nlet u = bins[v]", "checked"},
      {"let v = 300\nif y < 2 { v = x } else { return }\nlet u = bins[v]", "proved"},
      {"let v = i\nif y < 2 { v = 0 }\nif v < len(b) { b[v] = 1 }", "proved"},
      {"let v = i\nif v < len(b) { if y < 2 { v = v + 30 }\nb[v] = 1 }", "checked"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(last_verdict(row.statements), row.verdict) << row.statements;
}

// In a long chain of `else if` less is followed, and nothing that is not so.
TEST(Bounds, LongChains) {
  std::string chain = "if y == 100 { }";
  for (int k = 0; k < 1200; ++k) chain += " else if y == " + std::to_string(101 + k) + " { }";
  const struct {
    const char* before;
    const char* inside;
    const char* verdict;
  } rows[] = {
      {"", "if i < len(b) { b[i] = 1 }", "proved"},
      {"", "if i >= len(b) { return }\nb[i] = 1", "proved"},
      {"let v = 300", "v = 3\nlet u = bins[v]", "proved"},
      {"let v = 300", "if x < 3 { v = 3 }\nlet u = bins[v]", "checked"},
      {"let v = 300", "if x < 3 { v = 3 } else { let u = bins[v] }", "checked"},
      {"let v = 300", "if x < 3 { { v = 3 } }\nlet u = bins[v]", "checked"},
      {"let v = 3", "if x < 3 { if x < 2 { v = 300 } } else { let u = bins[v] }", "checked"},
      {"let v = 3", "for k in 0..4 { if x < 3 { v = v + k } let u = bins[v] }", "checked"},
      {"let v = 3", "if x < 3 { let u = bins[v] }", "proved"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(
        last_verdict(std::string(row.before) + "\n" + chain + " else {\n" + row.inside + " }"),
        row.verdict)
        << row.before << "\n"
        << row.inside;
  }
}

// --- How much of it -----------------------------------------------------------------------------

struct Share {
  std::size_t sure = 0;
  std::size_t all = 0;  // but those whose index comes from data

  void add(const std::string& name, const Linked& linked, const DispatchFacts& facts) {
    const Result<Program> fast = optimise(linked);
    ASSERT_TRUE(fast.ok());
    const std::vector<bool> data = depends_on_data(*fast);
    for (const CheckedAccess& access : bounds_of(*fast, &facts).accesses) {
      if (data[access.index.index]) continue;
      ++all;
      sure += access.verdict != Verdict::Checked ? 1 : 0;
      if (access.verdict != Verdict::Checked || std::getenv("VYRE_SHOW") == nullptr) continue;
      std::printf("%s: %s\n", name.c_str(), described(*fast, access).c_str());
    }
  }

  // Those that need no check, in percent.
  double print(const char* of) const {
    const double percent = 100.0 * static_cast<double>(sure) / static_cast<double>(all);
    std::printf("no check for %.1f %% of %zu accesses of %s\n", percent, all, of);
    return percent;
  }
};

// The dispatch that a command line asks for.
Result<Request> request_of(const std::string& command) {
  const auto verb = std::ranges::find(all_verbs(), "run", &Verb::name);
  Invocation invocation{*verb, {}, {}};
  const std::vector<std::string_view> words = split(command, ' ');
  const std::string path = source_root() + "/" + std::string(words[0]);
  invocation.operands.push_back(path);
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    const auto option = std::ranges::find(verb->options, words[i], &Option::name);
    if (option == verb->options.end()) continue;
    invocation.options.push_back({&*option, words[i + 1]});
  }
  return read_request(invocation, {stdin, stdout, stderr});
}

TEST(Bounds, MostAccessesNeedNoCheck) {
  Share share;
  for (const Named& example : examples()) {
    if (example.command.empty()) continue;
    const Result<Request> request = request_of(example.command);
    ASSERT_TRUE(request.ok()) << render(request.diagnostics()[0], false);
    const Case c{{{request->program()}}, request->grid.axes, request->contents};
    share.add(example.name, request->linked, facts_of(c));
  }
  EXPECT_GE(share.print("examples"), 75);  // of those that are left: most loads are not
  share = {};
  for (const Op* op : Registry().all()) {
    const Result<Program> program = elementwise(*op);
    if (!program.ok()) continue;
    Case c{{{*program}}, {4, 1, 1}, {}};
    for (const BufferDecl& buffer : program->buffers) {
      c.contents.emplace_back(std::size_t{200} * stride(buffer.element));
    }
    const Result<Linked> linked = link(*program);
    ASSERT_TRUE(linked.ok());
    share.add(op->id, *linked, facts_of(c));
  }
  EXPECT_GE(share.print("templates"), 90);
}

}  // namespace
}  // namespace vyre
