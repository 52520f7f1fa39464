// A case that shows something shrinks to a few statements that still show it.
#include "vyre/conform/reducer.h"
#include "tests/support/command.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "vyre/conform/generator.h"
#include "vyre/ir/intern.h"
#include "vyre/ir/walk.h"
#include "vyre/validate/validate.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

using Predicate = std::function<bool(const Case&)>;

std::size_t statements(const Case& c) {
  std::size_t count = 0;
  for (const Item& item : c.module.items) count += body_of(item).stmts.size();
  return count;
}

Case case_of(std::string_view text, std::array<std::uint32_t, 3> grid = {1, 1, 1}) {
  const Result<Module> module = parse(text);
  EXPECT_TRUE(module.ok());
  Case c{module.ok() ? *module : Module{{Program{}}}, grid, {}};
  for (const BufferDecl& buffer : c.program().buffers) {
    const bool workgroup = buffer.access == BufferAccess::Workgroup;
    c.contents.emplace_back(workgroup ? 0 : std::size_t{8} * stride(buffer.element), std::byte{5});
  }
  return c;
}

// Of generated cases with more than forty statements in the program, the first for which it holds.
Case find_case(const Predicate& predicate) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    Case c = generate_case(seed);
    if (c.program().body.stmts.size() > 40 && predicate(c)) return c;
  }
  ADD_FAILURE() << "no such case";
  return {};
}

// Reduces, and checks what always holds.
Case checked_reduce(const Case& failing, const Predicate& predicate) {
  std::size_t calls = 0;
  const Case reduced = reduce(failing, [&](const Case& c) {
    ++calls;
    EXPECT_TRUE(validate(c.module).empty());
    return predicate(c);
  });
  EXPECT_TRUE(predicate(reduced));
  EXPECT_TRUE(validate(reduced.module).empty());
  EXPECT_LE(statements(reduced), statements(failing));
  for (const Item& item : reduced.module.items) {
    const Op* op = std::get_if<Op>(&item);
    const std::size_t parameters = op == nullptr ? 0 : op->signature.inputs.size();
    EXPECT_EQ(canonical(body_of(item), static_cast<std::uint32_t>(parameters)), body_of(item));
  }
  EXPECT_EQ(reduced.contents.size(), reduced.program().buffers.size());
  for (std::size_t i = 0; i < reduced.contents.size(); ++i) {
    EXPECT_GE(length_of(reduced, i), reduced.program().buffers[i].count);
  }
  EXPECT_EQ(reduce(reduced, predicate), reduced) << "there is nothing left to do";
  EXPECT_GT(calls, 0u);
  return reduced;
}

bool any_statement(const Case& c, auto holds) {
  return std::ranges::any_of(c.program().body.stmts, holds);
}

bool mentions(const Body& body, const Stmt& stmt, Operation op) {
  bool found = false;
  for (ExprId root : roots(stmt)) {
    for_each_use(body, root, [&](ExprId id) { found |= body[id].op == op; });
  }
  return found;
}

TEST(Reducer, KeepsOneAtomic) {
  const Predicate has_xor = [](const Case& c) {
    return any_statement(c, [](const Stmt& stmt) {
      const Atomic* atomic = std::get_if<Atomic>(&stmt);
      return atomic != nullptr && atomic->op == AtomicOp::Xor;
    });
  };
  const Case reduced = checked_reduce(find_case(has_xor), has_xor);
  EXPECT_EQ(statements(reduced), 1u) << to_text(reduced);
  EXPECT_EQ(reduced.module.items.size(), 1u);
  EXPECT_EQ(reduced.program().buffers.size(), 1u);
  EXPECT_EQ(reduced.program().workgroup_size, (std::array<std::uint32_t, 3>{1, 1, 1}));
  EXPECT_TRUE(reduced.contents[0].empty());
  const Atomic& atomic = std::get<Atomic>(reduced.program().body.stmts[0]);
  EXPECT_FALSE(atomic.result.exists());
  EXPECT_EQ(reduced.program().body[atomic.index].op, Operation::Literal);
}

// Dropping locals that one expression mentions together takes no more memory for each of them.
TEST(Reducer, DropsManyLocalsAtOnce) {
  std::string lets, sum = "0";
  for (int i = 0; i < 60; ++i) {
    lets += "  let x" + std::to_string(i) + " = out[" + std::to_string(i) + "]\n";
    sum += " + x" + std::to_string(i);
  }
  const Case c = case_of("program p workgroup(1) {\n  read_write out: u32[]\n" + lets +
                         "  out[0] = " + sum + "\n}\n");
  const Predicate stores = [](const Case& less) {
    return any_statement(less,
                         [](const Stmt& stmt) { return std::holds_alternative<Store>(stmt); });
  };
  EXPECT_EQ(statements(checked_reduce(c, stores)), 1u);
}

TEST(Reducer, KeepsADivisionInALoop) {
  const Predicate divides = [](const Case& c) {
    const Body& body = c.program().body;
    for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
      const For* loop = std::get_if<For>(&body.stmts[i]);
      for (std::uint32_t k = i + 1; loop != nullptr && k < loop->end.index; ++k) {
        if (mentions(body, body.stmts[k], Operation::Div)) return true;
      }
    }
    return false;
  };
  const Case reduced = checked_reduce(find_case(divides), divides);
  EXPECT_EQ(statements(reduced), 2u) << to_text(reduced);
}

TEST(Reducer, KeepsABarrierBetweenStoreAndLoad) {
  const Predicate passes = [](const Case& c) {
    const Body& body = c.program().body;
    int step = 0;
    for (const Stmt& stmt : body.stmts) {
      if (step == 2 && mentions(body, stmt, Operation::Load)) return true;
      if (step == 0 && std::holds_alternative<Store>(stmt)) step = 1;
      if (step == 1 && std::holds_alternative<Barrier>(stmt)) step = 2;
    }
    return false;
  };
  const Case reduced = checked_reduce(find_case(passes), passes);
  EXPECT_EQ(statements(reduced), 3u) << to_text(reduced);
}

TEST(Reducer, KeepsACallAndWhatItCalls) {
  const Predicate calls = [](const Case& c) {
    return any_statement(c, [&](const Stmt& stmt) {
      for (const std::string& id : c.program().body.callees) {
        if (id.ends_with("op1")) return mentions(c.program().body, stmt, Operation::Call);
      }
      return false;
    });
  };
  const Case reduced = checked_reduce(find_case(calls), calls);
  EXPECT_LE(statements(reduced), 2u) << to_text(reduced);
  ASSERT_EQ(reduced.module.items.size(), 2u);
  EXPECT_EQ(std::get<Op>(reduced.module.items[0]).description, "");
}

TEST(Reducer, DropsLaws) {
  const Case c = case_of(
      "op x.f(a: u32, b: u32) -> u32 {\n"
      "  \"adds\"\n"
      "  law commutative\n"
      "  law identity(0)\n"
      "  return a + b\n"
      "}\n"
      "program p workgroup(1) {\n"
      "  let a = x.f(1, 2)\n"
      "}\n");
  const Predicate has_identity = [](const Case& candidate) {
    const Op* op = std::get_if<Op>(&candidate.module.items.front());
    return op != nullptr && std::ranges::any_of(op->laws, [](const Law& law) {
             return law.kind == LawKind::Identity;
           });
  };
  EXPECT_EQ(print(checked_reduce(c, has_identity).module),
            "op x.f(a: u32, b: u32) -> u32 {\n"
            "  law identity(0)\n"
            "  return 0\n"
            "}\n\n"
            "program p workgroup(1) {}\n");
}

// Grid, workgroup, contents and literals go as far as the predicate lets them.
TEST(Reducer, ShrinksNumbers) {
  Case c = case_of(
      "program p workgroup(16, 4) {\n"
      "  read input: u32[3]\n"
      "  read_write out: u32[]\n"
      "  workgroup tile: u32[64]\n"
      "  for i in 0..100 {\n"
      "    out[invocation_id.x] = input[i] + tile[0]\n"
      "  }\n"
      "}\n",
      {5, 3, 2});
  const Predicate large = [](const Case& candidate) {
    const Program& program = candidate.program();
    const For* loop =
        program.body.stmts.empty() ? nullptr : std::get_if<For>(&program.body.stmts.front());
    return loop != nullptr && program.buffers.size() == 3 && candidate.grid[0] >= 3 &&
           program.workgroup_size[0] >= 5 && program.body[loop->to].op == Operation::Literal &&
           program.body[loop->to].imm >= 9 && length_of(candidate, 0) >= 2 &&
           candidate.contents[0][4] == std::byte{5} &&
           std::ranges::any_of(program.body.stmts, [&](const Stmt& stmt) {
             return mentions(program.body, stmt, Operation::Load);
           });
  };
  ASSERT_TRUE(large(c));
  const Case reduced = checked_reduce(c, large);
  EXPECT_EQ(reduced.grid, (std::array<std::uint32_t, 3>{3, 1, 1}));
  EXPECT_EQ(reduced.program().workgroup_size, (std::array<std::uint32_t, 3>{5, 1, 1}));
  EXPECT_EQ(length_of(reduced, 0), 2u);
  EXPECT_EQ(reduced.contents[0][0], std::byte{0});
  EXPECT_TRUE(reduced.contents[1].empty());
  EXPECT_EQ(reduced.program().buffers[2].count, 1u);
  const For& loop = std::get<For>(reduced.program().body.stmts[0]);
  EXPECT_LE(reduced.program().body[loop.to].imm, 16u);
}

TEST(Reducer, StopsWhenTheTriesAreUsedUp) {
  std::uint32_t calls = 0;
  const Predicate count = [&](const Case&) {
    ++calls;
    return calls % 3 == 0;
  };
  const Case c = generate_case(1);
  EXPECT_NE(reduce(c, count, {.tries = 40}), c);
  EXPECT_EQ(calls, 40u);
  EXPECT_EQ(reduce(c, count, {.tries = 0}), c);
}

// A case whose predicate holds for nothing smaller stays as it is.
TEST(Reducer, ChangesNothingInVain) {
  GeneratorOptions options;
  options.statements = 5;
  const Case c = generate_case(3, options);
  EXPECT_EQ(reduce(c, [](const Case&) { return false; }), c);
}

// A backend that takes one operation for another, found by comparing results.
Result<Outputs> run(const Case& c) {
  Registry registry;
  const Result<void> added = registry.add(c.module);
  if (!added.ok()) return added.diagnostics();
  std::vector<HostBuffer> buffers;
  for (std::size_t i = 0; i < c.contents.size(); ++i) {
    const BufferDecl& buffer = c.program().buffers[i];
    if (buffer.access != BufferAccess::Workgroup) buffers.emplace_back(buffer.name, c.contents[i]);
  }
  const Result<Linked> linked = link(c.program(), registry);
  if (!linked.ok()) return linked.diagnostics();
  DispatchOptions options;
  options.device = &reference();
  options.run.threads = 1;
  return dispatch(*linked, c.grid, buffers, options);
}

TEST(Reducer, FindsTheOperationThatABackendHasWrong) {
  struct Mistake {
    Operation right;
    Operation wrong;
  };
  constexpr Mistake kMistakes[] = {{Operation::Sub, Operation::Add},
                                   {Operation::Shr, Operation::Shl},
                                   {Operation::Lt, Operation::Le},
                                   {Operation::Popcount, Operation::Clz}};
  for (const Mistake& mistake : kMistakes) {
    const Predicate differs = [&](const Case& c) {
      Case wrong = c;
      for (Item& item : wrong.module.items) {
        Program* program = std::get_if<Program>(&item);
        const std::uint32_t parameters =
            program != nullptr
                ? 0
                : static_cast<std::uint32_t>(std::get<Op>(item).signature.inputs.size());
        Body& body = program != nullptr ? program->body : std::get<Op>(item).body;
        for (Expr& expr : body.exprs) {
          if (expr.op == mistake.right) expr.op = mistake.wrong;
        }
        body = canonical(body, parameters);
      }
      const Result<Outputs> expected = run(c);
      const Result<Outputs> got = run(wrong);
      if (!expected.ok() || !got.ok()) return false;
      const auto same = [](const OutputBuffer& a, const OutputBuffer& b) {
        return a.bytes == b.bytes;
      };
      return !std::ranges::equal(expected->buffers, got->buffers, same);
    };
    const Case reduced = checked_reduce(find_case(differs), differs);
    EXPECT_LE(statements(reduced), 5u) << to_text(reduced);
    EXPECT_EQ(reduced.program().workgroup_size, (std::array<std::uint32_t, 3>{1, 1, 1}));
  }
}

// --- Text ----------------------------------------------------------------------------------------

TEST(CaseText, SaysHowToRunIt) {
  Case c = case_of(
      "program p workgroup(2) {\n"
      "  read a: i32[]\n"
      "  read b: u64[]\n"
      "  read c: vec2u32[]\n"
      "  read d: bool[]\n"
      "  read_write out: bytes\n"
      "  read none: u128[]\n"
      "  workgroup tile: u32[2]\n"
      "}\n",
      {3, 1, 2});
  const auto words = [](std::initializer_list<std::uint32_t> numbers) {
    std::vector<std::byte> bytes;
    for (std::uint32_t number : numbers) {
      for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(number >> (8 * i)));
    }
    return bytes;
  };
  c.contents = {words({1, 0xffffffff, 0x80000000}),
                words({1, 0, 0xffffffff, 0x12345678}),
                words({7, 0x10000}),
                words({0, 1, 0xff000000}),
                {std::byte{1}, std::byte{2}, std::byte{255}},
                {},
                {}};
  EXPECT_EQ(to_text(c, "failing.vyre"),
            "// vyre run failing.vyre --grid 3,1,2 --in a=1,-1,-2147483648"
            " --in b=1,0x12345678ffffffff --in c=7,0x10000 --in d=0,1,0xff000000"
            " --in out=1,2,255 --in none=\n\n" +
                print(c.module));
}

}  // namespace
}  // namespace vyre
