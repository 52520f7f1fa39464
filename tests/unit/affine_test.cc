// How values change along a workgroup: a table of expressions, and the claims about generated
// programs held against what the interpreter computes.
#include "vyre/passes/affine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "tests/support/command.h"
#include "tests/support/must.h"
#include "vyre/base/random.h"
#include "vyre/conform/generator.h"
#include "vyre/interp/machine.h"
#include "vyre/interp/script.h"
#include "vyre/ir/typing.h"
#include "vyre/ir/walk.h"
#include "vyre/passes/inline.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

Program parsed(const std::string& source, std::size_t item = 0) {
  const Result<Loaded> loaded = load_module({"test", source});
  if (!loaded.ok()) {
    ADD_FAILURE() << render(loaded.diagnostics()[0], false) << source;
    return {};
  }
  return std::get<Program>(loaded->module.items[item]);
}

std::string described(const Shape& shape) { return text(shape) + (shape.row_base ? ", rows" : ""); }

// --- A table ------------------------------------------------------------------------------------

std::string shape_in(const std::string& size, const std::string& expression) {
  const Program program = parsed("program p workgroup(" + size + R"() {
  read       data: u32[]
  uniform    size: u32[4]
  read_write out: u32[]
  workgroup  cells: u32[48]
  let n = size[0]
  let x = local_id.x
  let y = local_id.y
  let i = invocation_id.x
  let moving = 0
  for k in 0..n {
    moving = moving + x
    out[)" + expression + R"(] = 0
    if x < y { moving = k }
  }
}
)");
  const Shapes shapes = shapes_of(program);
  for (const Stmt& stmt : program.body.stmts) {
    if (const Store* store = std::get_if<Store>(&stmt)) return described(shapes[store->index]);
  }
  return "";
}

TEST(Affine, Table) {
  const struct {
    const char* size;
    const char* expression;
    const char* shape;
  } rows[] = {
      // Ids.
      {"16, 4", "local_id.x", "unit stride, aligned to 2^31"},
      {"16, 4", "invocation_id.x", "unit stride, aligned to 16"},
      {"24, 4", "invocation_id.x", "unit stride, aligned to 8"},
      {"7", "invocation_id.x", "unit stride"},
      {"16, 4", "local_id.y", "row"},
      {"16, 4", "invocation_id.y", "row"},
      {"16, 1, 2", "local_id.z", "row"},
      {"16, 4", "local_id.z", "uniform, aligned to 2^31"},
      {"16, 4", "invocation_id.z", "uniform"},
      {"1, 4", "local_id.x", "uniform, aligned to 2^31"},
      {"1, 4", "invocation_id.x", "uniform"},
      {"1, 4", "x + y", "row"},
      {"16", "y * 16 + x", "unit stride, aligned to 2^31"},
      {"1", "data[x * n + y]", "uniform"},
      {"16, 4", "workgroup_id.y", "uniform"},
      // Constants and lengths.
      {"16, 4", "48", "uniform, aligned to 16"},
      {"16, 4", "0", "uniform, aligned to 2^31"},
      {"16, 4", "len(data)", "uniform"},
      {"16, 4", "len(size)", "uniform"},
      {"16, 4", "len(cells)", "uniform, aligned to 16"},
      // Sums.
      {"16, 4", "i + n", "unit stride"},
      {"16, 4", "i + 8", "unit stride, aligned to 8"},
      {"16, 4", "x + i", "stride 2, aligned to 16"},
      {"16, 4", "n - x", "stride -1"},
      {"16, 4", "i - x", "uniform, aligned to 16"},
      {"16, 4", "x + y - x", "row"},
      {"16, 4", "y * 16 + x", "unit stride, aligned to 16, rows"},
      {"16, 4", "y * n + x", "unit stride, rows"},
      {"16, 4", "x * 17 + y", "stride 17, rows"},
      {"16, 4", "-x", "stride -1, aligned to 2^31"},
      {"16, 4", "~x", "stride -1"},
      {"16, 4", "u32(i32(i) * -2i32 + 6i32)", "stride -2, aligned to 2"},
      {"16, 4", "u32(u64(i))", "irregular"},
      {"16, 4", "u32(u64(y))", "row"},
      // Multiples.
      {"16, 4", "4 * i", "stride 4, aligned to 64"},
      {"16, 4", "(i + 4) << 2", "stride 4, aligned to 16"},
      {"16, 4", "x << 33", "stride 2, aligned to 2^31"},
      {"16, 4", "x * 0x80000000", "stride -2147483648, aligned to 2^31"},
      {"16, 4", "x * 4 * 0x40000000", "uniform, aligned to 2^31"},
      {"16, 4", "x * n", "irregular"},
      {"16, 4", "1 << x", "irregular"},
      {"16, 4", "12 << n", "uniform, aligned to 4"},
      {"16, 4", "n * 4 * y", "row, aligned to 4"},
      // Other operations.
      {"16, 4", "x / 4", "irregular"},
      {"16, 4", "i & 0xfffffff0", "irregular, aligned to 16"},
      {"16, 4", "x * 4 & 0xff", "irregular, aligned to 4"},
      {"16, 4", "x * 8 >> 2", "irregular, aligned to 2"},
      {"16, 4", "n * 24 % 12", "uniform, aligned to 4"},
      {"16, 4", "min(y * 8, 20)", "row, aligned to 4"},
      {"16, 4", "x * 8 | 4", "irregular, aligned to 4"},
      {"16, 4", "x < y", "irregular"},
      {"16, 4", "y < n", "row"},
      {"16, 4", "vec2u32(n, y).x", "row"},
      {"16, 4", "select(n, x + 4, x)", "unit stride, aligned to 4"},
      {"16, 4", "select(y, x, x + n)", "unit stride, rows"},
      {"16, 4", "select(x, n, 0)", "irregular"},
      {"16, 4", "select(n, x * 4, x * 2)", "irregular, aligned to 2"},
      // Memory.
      {"16, 4", "size[3]", "uniform"},
      {"16, 4", "data[n]", "uniform"},
      {"16, 4", "data[y]", "row"},
      {"16, 4", "data[x]", "irregular"},
      {"16, 4", "data[x] * 4 + i", "irregular"},
      {"16, 4", "data[x] * 4 + i * 2", "irregular, aligned to 2"},
      {"16, 4", "out[n]", "irregular"},
      {"16, 4", "cells[0]", "irregular"},
      // Locals.
      {"16, 4", "k", "uniform"},
      {"16, 4", "k * 16 + x", "unit stride, aligned to 16"},
      {"16, 4", "moving", "irregular"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(shape_in(row.size, row.expression), row.shape) << row.size << ": " << row.expression;
  }
}

// Where the examples access memory.
TEST(Affine, Examples) {
  const struct {
    const char* file;
    std::size_t item;
    const char* index;
    const char* shape;
  } rows[] = {
      {"matmul", 0, "y * 16 + x", "unit stride, aligned to 16, rows"},
      {"matmul", 0, "row * inner + across", "unit stride, rows"},
      {"matmul", 0, "down * columns + column", "unit stride, rows"},
      {"matmul", 0, "y * 16 + k", "row"},
      {"matmul", 0, "k * 16 + x", "unit stride, aligned to 16"},
      {"life", 0, "cell", "unit stride, rows"},
      {"life", 0, "row * columns + column", "irregular"},
      {"transpose", 0, "y * columns + x", "unit stride, rows"},
      {"transpose", 0, "row * rows + column", "unit stride, rows"},
      {"transpose", 0, "local_id.x * 17 + local_id.y", "stride 17, rows"},
      {"histogram", 0, "i / 4", "irregular"},
      {"histogram", 0, "data[i / 4] >> i % 4 * 8 & 255", "irregular"},
      {"prefix_sum", 0, "i", "unit stride, aligned to 256"},
      {"prefix_sum", 0, "lane - reach", "unit stride"},
      {"prefix_sum", 1, "lane", "unit stride, aligned to 2^31"},
      {"prefix_sum", 1, "workgroup_id.x", "uniform"},
      {"prefix_sum", 2, "invocation_id.x", "unit stride, aligned to 256"},
  };
  for (const auto& row : rows) {
    const std::string path = source_root() + "/examples/" + row.file + ".vyre";
    const Program program = parsed(read_file(path), row.item);
    const Shapes shapes = shapes_of(program);
    std::string found;
    for (std::size_t i = 0; i < program.body.exprs.size(); ++i) {
      if (print_expr(program.body, program.buffers, ExprId{i}, 100) == row.index) {
        found = described(shapes[ExprId{i}]);
      }
    }
    EXPECT_EQ(found, row.shape) << row.file << ": " << row.index;
  }
}

// Bound where not all invocations come, a value is still the same for those that do.
TEST(Affine, InDivergentControlFlow) {
  const Program program = parsed(R"(program p workgroup(16) {
  read_write out: u32[]
  if local_id.x < 4 {
    let a = 8
    out[a + local_id.x] = 0
    a = 9
    let b = 8
    out[b + local_id.x] = 0
  }
}
)");
  const Shapes shapes = shapes_of(program);
  std::string found;
  for (std::size_t i = 0; i < program.body.stmts.size(); ++i) {
    EXPECT_EQ(shapes.uniformity[StmtId{i}], i == 0);
    const Store* store = std::get_if<Store>(&program.body.stmts[i]);
    if (store != nullptr) found += described(shapes[store->index]) + "; ";
  }
  EXPECT_EQ(found, "irregular; unit stride, aligned to 8; ");
}

// --- Whether it is true -------------------------------------------------------------------------

// Compares what invocations compute in the same statement and the same rounds of the loops around.
class Claims : public NoWatch {
 public:
  explicit Claims(const Script& script)
      : script_(script), body_(script.program().body), shapes_(shapes_of(script.program())) {
    const Types types = types_of(body_, script.program().buffers, {}, {});
    BlockStack<OpenBlock> stack(body_);
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      stack.enter(i);
      std::vector<LocalId>& variables = loops_.emplace_back();
      for (const OpenBlock& block : stack.frames()) {
        if (block.is_loop) variables.push_back(std::get<For>(body_.stmts[block.owner]).variable);
      }
      stack.open(i);
    }
    // What arrays hold has no shape, though it may be the same for all.
    const bool has_arrays = std::ranges::any_of(
        script.program().buffers,
        [](const BufferDecl& buffer) { return buffer.access == BufferAccess::Private; });
    for (std::size_t i = 0; i < body_.exprs.size(); ++i) {
      const Shape& shape = shapes_[ExprId{i}];
      const bool word = types.exprs[i] == DataType::U32 || types.exprs[i] == DataType::I32;
      EXPECT_TRUE(word || shape.align == 1);
      EXPECT_TRUE(word || shape.kind != Shape::Kind::Linear);
      EXPECT_EQ(shape.kind == Shape::Kind::Linear, shape.stride != 0);
      EXPECT_TRUE(shape.kind == Shape::Kind::Uniform || !shapes_.uniformity[ExprId{i}] ||
                  has_arrays);
    }
  }

  void begin_step(const Step&, std::uint32_t invocation) { invocation_ = invocation; }
  void end_step(const Step& step, const BodyFrame& frame) {
    using Kind = Step::Kind;
    if (step.kind == Kind::Again || step.kind == Kind::Jump || step.stmt >= loops_.size()) return;
    std::vector<std::uint32_t> place{step.stmt};
    std::vector<std::uint32_t>& starts = starts_[invocation_];
    starts.resize(body_.locals.size());
    if (step.kind == Kind::Enter) starts[step.local.index] = frame.values[step.from.index].lanes[0];
    for (LocalId variable : loops_[step.stmt]) {
      place.push_back(frame.locals[variable.index].lanes[0] - starts[variable.index]);
    }
    Visit& visit = visits_[place];
    ++visit.invocations;
    for (std::uint32_t i = step.first; i < step.last; ++i) {
      const ExprId id{script_.body.nodes[i].id};
      check(id, visit, frame.values[id.index]);
    }
  }

  // Once the workgroup has ended.
  void check_statements(std::uint32_t invocations) {
    for (const auto& [place, visit] : visits_) {
      if (!shapes_.uniformity[StmtId{place[0]}]) continue;
      ++statements;
      EXPECT_EQ(visit.invocations, invocations) << path_of(body_, StmtId{place[0]}) << "\n"
                                                << print(script_.program());
    }
  }

  std::array<std::size_t, 4> compared{};  // by kind
  std::size_t statements = 0;

 private:
  struct Visit {
    std::uint32_t invocations = 0;
    std::map<std::pair<ExprId, Ids>, Bits> bases;  // by expression, and row where that matters
  };

  void check(ExprId id, Visit& visit, Bits value) {
    const Shape& shape = shapes_[id];
    const Ids local = local_ids(script_.program(), invocation_);
    value.lanes[0] -= static_cast<std::uint32_t>(shape.stride) * local[0];
    bool ok = value.lanes[0] % shape.align == 0;
    if (shape.kind != Shape::Kind::Irregular) {
      const bool by_row = shape.kind == Shape::Kind::Row || shape.row_base;
      const Ids row = by_row ? Ids{0, local[1], local[2]} : Ids{};
      const auto [first, fresh] = visit.bases.try_emplace({id, row}, value);
      if (!fresh) ++compared[static_cast<std::size_t>(shape.kind)];
      ok = ok && first->second == value;
    }
    if (ok) return;
    ADD_FAILURE() << print_expr(body_, script_.program().buffers, id, 200) << " is not "
                  << described(shape) << " at " << ids_text(local) << "\n"
                  << print(script_.program());
  }

  const Script& script_;
  const Body& body_;
  const Shapes shapes_;
  std::vector<std::vector<LocalId>> loops_;  // by statement: the variables of the loops around
  std::uint32_t invocation_ = 0;
  std::map<std::uint32_t, std::vector<std::uint32_t>> starts_;  // of loops, by invocation
  std::map<std::vector<std::uint32_t>, Visit> visits_;          // by statement and rounds of loops
};

std::uint64_t programs(std::uint64_t count) { return is_long() ? 40 * count : count; }

struct Totals {
  std::array<std::size_t, 4> compared{};
  std::size_t statements = 0;
};

// Runs one workgroup.
void check_claims(const Program& program, const Ids& group,
                  std::vector<std::vector<std::byte>> contents, const Schedule& schedule,
                  Totals& totals) {
  const Script script = make_script(Linked::trust(program, {}));
  RunOptions options;
  options.schedule = schedule;
  Control control{options, 1};
  std::vector<Memory> memories;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const std::size_t each = stride(program.buffers[i].element);
    contents[i].resize((contents[i].size() + each - 1) / each * each);
    memories.emplace_back(contents[i]);
  }
  Claims claims(script);
  Machine<Claims> machine(script, memories, control, claims);
  ASSERT_TRUE(machine.run(group));
  const Ids& size = program.workgroup_size;
  claims.check_statements(size[0] * size[1] * size[2]);
  for (std::size_t i = 0; i < totals.compared.size(); ++i) {
    totals.compared[i] += claims.compared[i];
  }
  totals.statements += claims.statements;
}

TEST(Affine, IsTrueOfGeneratedPrograms) {
  Totals totals;
  for (std::uint64_t seed = 0; seed < programs(150); ++seed) {
    GeneratorOptions options;
    options.race_free = seed % 2 == 0;
    options.work = 20'000;
    const Case c = generate_case(seed, options);
    const Result<Program> flat = inline_calls(must(link(c)));
    ASSERT_TRUE(flat.ok());
    Random random(seed);
    Ids group{};
    for (std::size_t axis = 0; axis < 3; ++axis) group[axis] = random.below(c.grid[axis] + 1);
    check_claims(*flat, group, c.contents, {Schedule::Kind::Random, seed}, totals);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(totals.statements, 500u);
  EXPECT_GT(totals.compared[static_cast<std::size_t>(Shape::Kind::Uniform)], 5000u);
  EXPECT_GT(totals.compared[static_cast<std::size_t>(Shape::Kind::Linear)], 1000u);
}

// Programs of index arithmetic, where most values are regular and locals are bound, assigned and
// read in any control flow.
class IndexPrograms {
 public:
  explicit IndexPrograms(std::uint64_t seed) : random_(seed) {}

  std::string make() {
    constexpr const char* kSizes[] = {"8, 4", "6, 2, 2", "16", "1, 5", "5, 1, 3", "1", "3, 3"};
    out_ = "program p workgroup(" + std::string(random_.pick(kSizes)) + R"() {
  read       data: u32[]
  uniform    size: u32[]
  read_write out: u32[]
  workgroup  cells: u32[24]
)";
    block(0);
    return out_ + "}\n";
  }

 private:
  void block(std::uint32_t depth) {
    const std::size_t visible = names_.size();
    const std::size_t assignable = assignable_.size();
    for (std::uint32_t left = 10 - 2 * depth; left > 0; --left) {
      const std::uint32_t choice = random_.below(10);
      if (choice < 5 || (choice >= 8 && depth == 3)) {
        const std::string name = "v" + std::to_string(locals_++);
        out_ += "let " + name + " = " + simple_or(4) + "\n";
        names_.push_back(name);
        if (random_.one_in(3)) assignable_.push_back(name);
      } else if (choice < 7 && !assignable_.empty()) {
        out_ += random_.pick(assignable_) + " = " + simple_or(3) + "\n";
      } else if (choice < 8) {
        out_ += "out[" + value(3) + "] = " + value(2) + "\n";
      } else if (choice < 9) {
        out_ += "if " + simple_or(2) + " & 1 {\n";
        block(depth + 1);
        if (random_.one_in(loops_ > 0 ? 4 : 16)) {
          out_ += "return\n";
        } else if (loops_ > 0 && random_.one_in(4)) {
          out_ += "break\n";
        }
        if (random_.one_in(2)) {
          out_ += "} else {\n";
          block(depth + 1);
        }
        out_ += "}\n";
      } else {
        const std::string name = "v" + std::to_string(locals_++);
        const std::string first = random_.one_in(4) ? value(1) + " & 1" : "0";
        out_ += "for " + name + " in " + first + ".." + simple_or(2) + " & 3 {\n";
        names_.push_back(name);
        ++loops_;
        block(depth + 1);
        --loops_;
        names_.pop_back();
        out_ += "}\n";
      }
    }
    names_.resize(visible);
    assignable_.resize(assignable);
  }

  // Often a value that is uniform, so that it is control flow that makes the difference.
  std::string simple_or(std::uint32_t depth) {
    return random_.one_in(3) ? literal() : value(depth);
  }

  std::string literal() {
    constexpr std::uint32_t kNumbers[] = {0, 1, 2, 3, 4, 12, 17, 31, 0x80000000, 0xfffffff8};
    return std::to_string(random_.pick(kNumbers));
  }

  std::string leaf() {
    constexpr const char* kLeaves[] = {"local_id.x",      "local_id.x",      "local_id.y",
                                       "local_id.z",      "invocation_id.x", "invocation_id.y",
                                       "invocation_id.z", "workgroup_id.x",  "workgroup_id.y",
                                       "len(cells)",      "len(data)",       "size[0]"};
    if (!names_.empty() && random_.one_in(2)) return random_.pick(names_);
    return random_.one_in(4) ? literal() : random_.pick(kLeaves);
  }

  std::string value(std::uint32_t depth) {
    constexpr const char* kOperators[] = {" & ",  " | ", " ^ ",  " % ", " / ",
                                          " >> ", " < ", " << ", " * "};
    constexpr const char* kFunctions[] = {"min", "max", "abs_diff", "add_sat", "sub_sat", "rotl"};
    constexpr const char* kBuffers[] = {"data", "data", "size", "cells", "out"};
    if (depth == 0 || random_.one_in(6)) return leaf();
    const std::string a = value(depth - 1);
    switch (random_.below(14)) {
      case 0:
      case 1:
      case 2: return "(" + a + " + " + value(depth - 1) + ")";
      case 3: return "(" + a + " - " + value(depth - 1) + ")";
      case 4: return "(" + a + " * " + literal() + ")";
      case 5: return "(" + literal() + " * " + a + ")";
      case 6: return "(" + a + (random_.one_in(2) ? " << " : " >> ") + literal() + ")";
      case 7: return (random_.one_in(2) ? "(-" : "(~") + a + ")";
      case 8: return "u32(i32(" + a + ") * -3i32 >> 1)";
      case 9: return std::string(random_.pick(kBuffers)) + "[" + a + " & 15]";
      case 10: return "select(" + a + ", " + value(depth - 1) + ", " + value(depth - 1) + ")";
      case 11:
        return std::string(random_.pick(kFunctions)) + "(" + a + ", " + value(depth - 1) + ")";
      case 12: return "u32(-i32(" + a + "))";
      default: return "(" + a + random_.pick(kOperators) + value(depth - 1) + ")";
    }
  }

  Random random_;
  std::string out_;
  std::vector<std::string> names_;
  std::vector<std::string> assignable_;
  std::uint32_t locals_ = 0;
  std::uint32_t loops_ = 0;
};

TEST(Affine, IsTrueOfIndexArithmetic) {
  Totals totals;
  for (std::uint64_t seed = 0; seed < programs(400); ++seed) {
    const Program program = parsed(IndexPrograms(seed).make());
    Random random(seed);
    std::vector<std::vector<std::byte>> contents(4);
    for (std::vector<std::byte>& bytes : contents) {
      bytes.resize(4 * (1 + std::size_t{random.below(12)}));
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.word());
    }
    const Ids group{random.word(), random.below(9), random.below(9)};
    check_claims(program, group, contents, {Schedule::Kind::RoundRobin, 0}, totals);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(totals.statements, 300u);
  for (Shape::Kind kind : {Shape::Kind::Uniform, Shape::Kind::Row, Shape::Kind::Linear}) {
    EXPECT_GT(totals.compared[static_cast<std::size_t>(kind)], 3000u);
  }
}

}  // namespace
}  // namespace vyre
