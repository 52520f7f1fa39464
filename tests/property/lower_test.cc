// Lowered programs give the bytes of the interpreter, whatever the target lacks; nothing of what it
// lacks is left; and every row of lower.def is what the operation means.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "tests/support/build.h"
#include "tests/support/cpu_fixture.h"
#include "tests/support/families.h"
#include "tests/support/lowered.h"
#include "tests/support/ptx_fixture.h"
#include "vyre/ir/eval.h"
#include "vyre/ir/typing.h"
#include "vyre/ir/walk.h"
#include "vyre/prove/rules.h"
#include "vyre/validate/validate.h"

namespace vyre {
namespace {

using enum DataType;

// --- Programs -----------------------------------------------------------------------------------

// `workgroup_broadcast(a[k], 0)` of workgroup memory, k a constant.
bool is_uniform_load(const Program& program, const Collective& collective) {
  const auto is_number = [&](ExprId id) { return program.body[id].op == Operation::Literal; };
  const Expr& load = program.body[collective.value];
  return collective.op == CollectiveOp::Broadcast && load.op == Operation::Load &&
         program.buffers[load.imm].access == BufferAccess::Workgroup && is_number(load.args[0]) &&
         is_number(collective.invocation) && program.body[collective.invocation].imm == 0;
}

// What of a program such a target lacks; empty when nothing is.
std::string lacking(const Program& program, const Capabilities& has) {
  const Types types = types_of(program.body, program.buffers, {}, {});
  const auto is_missing = [&](DataType type) {
    return (type == U64 && !has.u64) || (type == U128 && !(has.u128 && has.u64));
  };
  for (const BufferDecl& buffer : program.buffers) {
    if (is_missing(buffer.element)) return "an element of " + std::string(text(buffer.element));
  }
  for (std::size_t i = 0; i < program.body.exprs.size(); ++i) {
    const Expr& expr = program.body.exprs[i];
    if (is_missing(types.exprs[i])) return "a value of " + std::string(text(types.exprs[i]));
    const std::span<const ExprId> args = operands(program.body, expr);
    for (const LowerRow& row : all_lower_rows()) {
      const bool is_row = row.op == expr.op && !args.empty() && types[args[0]] == row.type &&
                          (expr.op != Operation::Cast || type_of_detail(expr) == row.target);
      if (is_row && !(has.*row.capability)) return std::string(info(expr.op).name);
    }
  }
  for (const Stmt& stmt : program.body.stmts) {
    const Collective* left = std::get_if<Collective>(&stmt);
    if (left == nullptr || has.collectives) continue;
    if (!has.uniform_loads || !is_uniform_load(program, *left)) return "a collective";
  }
  return {};
}

// By the interpreter, for targets of all kinds.
class Lower : public LoweredOn<Differential> {
 protected:
  void SetUp() override { open("interp", false); }
  std::vector<Capabilities> targets() override { return lacking_targets(); }

  std::string difference(const Case& c) override {
    const Result<Linked> linked = link(c);
    if (!linked.ok()) return render(linked.diagnostics()[0]);
    for (const Capabilities& target : targets()) {
      const Result<Program> lowered = lowered_for(*linked, target);
      if (!lowered.ok()) continue;
      const std::string lacks = lacking(*lowered, target);
      if (!lacks.empty()) return "it has " + lacks + " left\n" + print(Module{{*lowered}});
      // Without uniform loads it cannot be told that a result is uniform.
      const bool loses_uniform = !target.collectives && !target.uniform_loads;
      for (const Diagnostic& wrong : validate(*lowered)) {
        if (loses_uniform && wrong.code == Code::V010) continue;
        return render(wrong) + print(Module{{*lowered}});
      }
    }
    return LoweredOn<Differential>::difference(c);
  }
};

TEST_F(Lower, GeneratedProgramsGiveTheSameBytes) { check_generated(200'000, cases(160, 20'000)); }

TEST_F(Lower, LibraryOpsGiveTheSameBytes) { check_library(is_long() ? 1 : 5 * every()); }

class CpuLowered : public LoweredOn<Cpu> {};

TEST_F(CpuLowered, GeneratedProgramsGiveTheSameBytes) {
  check_generated(210'000, cases(40, 5'000));
}

TEST_F(CpuLowered, LibraryOpsGiveTheSameBytes) { check_library(is_long() ? 3 : 37 * every()); }

// --- Collectives --------------------------------------------------------------------------------

std::vector<Capabilities> without_collectives_targets() {
  Capabilities target;
  target.collectives = false;
  std::vector<Capabilities> targets{target};
  target.u64 = false;
  targets.push_back(target);
  return targets;
}

// Rounds until what all have together is small: barriers depend on it.
Case rounds_case(std::uint64_t seed) {
  Random random(seed);
  constexpr std::uint32_t kSizes[] = {1, 2, 7, 16, 17, 32, 40, 64, 100, 256};
  const std::string type = random.one_in(3) ? "u32" : random.one_in(2) ? "i32" : "u64";
  const std::string size = std::to_string(random.pick(kSizes));
  const auto one_of = [&](std::initializer_list<const char*> all) {
    return std::string(all.begin()[random.below(static_cast<std::uint32_t>(all.size()))]);
  };
  const std::string text =
      "program rounds workgroup(" + size + ") {\n  read a: u32[]\n  read_write out: u64[]\n" +
      "  let x = " + type + "(a[invocation_id.x])\n  let sum = 0u64\n  while true {\n" +
      "    let all = workgroup_" + one_of({"add", "max", "or", "xor"}) + "(x)\n" +
      (random.one_in(2) ? "    let least = workgroup_min(x)\n    if all - least < 40 { break }\n"
                        : "    if all < 10 { break }\n") +
      "    let before = workgroup_scan_" + one_of({"add", "min", "max"}) + "(x)\n" +
      "    let one = workgroup_broadcast(x, u32(all) % (" + size + " + 1))\n" +
      "    if u32(one) % 2 == 1 {\n" +
      "      let other = workgroup_shuffle(before, local_id.x ^ 1)\n" +
      "      sum = sum * 7 + u64(other)\n    }\n" +
      "    sum = sum * 3 + u64(one ^ before)\n    x = x / 2\n  }\n" +
      "  out[invocation_id.x] = sum + u64(x)\n}\n";
  return case_of(text, {1 + random.below(2), 1, 1}, random, [](const BufferDecl&) { return 512u; });
}

// Blocks without collectives between them, in a loop: what one left in a round may still be read in
// the next.
Case blocks_case(std::uint64_t seed) {
  Random random(seed);
  constexpr std::uint32_t kSizes[] = {2, 7, 17, 40, 64};
  const std::string size = std::to_string(random.pick(kSizes));
  const auto block = [&] {
    if (random.one_in(3)) return std::string();
    return std::string(random.one_in(2)
                           ? "    for j in 0..(a[invocation_id.x] & 7) { y = y * 3 + j }\n"
                           : "    if a[invocation_id.x] % 3 == 0 { y += k }\n");
  };
  const std::string text =
      "program blocks workgroup(" + size + ") {\n  read a: u32[]\n  read_write out: u32[]\n" +
      "  let x = a[invocation_id.x]\n  for k in 0..len(a) / 32 {\n    let y = x\n" + block() +
      "    let s = workgroup_" + (random.one_in(2) ? "add" : "scan_max") + "(y)\n" + block() +
      (random.one_in(2) ? "    let t = workgroup_shuffle(y, s % 5)\n" : "    let t = s\n") +
      block() + "    x = x * 5 + s + t + y\n  }\n  out[invocation_id.x] = x\n}\n";
  return case_of(text, {1 + random.below(2), 1, 1}, random, [](const BufferDecl&) { return 128u; });
}

class LowerCollectives : public Lower {
 protected:
  std::vector<Capabilities> targets() override {
    std::vector<Capabilities> targets = without_collectives_targets();
    targets.push_back(targets[0]);
    targets.back().uniform_loads = false;
    return targets;
  }
};

TEST_F(LowerCollectives, OfAllWorkgroupsGiveTheSameBytes) {
  const auto sizes = workgroup_sizes(kSanitized && !is_long() ? 4 : 1);
  check_cases(0, sizes.size(), [&](std::uint64_t i) { return collectives_case(sizes[i], i); });
}

TEST_F(LowerCollectives, SideBySideGiveTheSameBytes) {
  check_cases(0, cases(120, 5'000), neighbours_case);
}

TEST_F(LowerCollectives, ThatBarriersDependOnGiveTheSameBytes) {
  check_cases(0, cases(60, 3'000), rounds_case);
}

TEST_F(LowerCollectives, OfGeneratedProgramsGiveTheSameBytes) {
  check_cases(240'000, cases(120, 10'000),
              [](std::uint64_t seed) { return generate_case(seed, {.dense = true}); });
}

class CpuLowerCollectives : public LoweredOn<Cpu> {
 protected:
  std::vector<Capabilities> targets() override { return without_collectives_targets(); }
};

TEST_F(CpuLowerCollectives, OfAllWorkgroupsGiveTheSameBytes) {
  const auto sizes = workgroup_sizes(is_long() ? 1 : kSanitized ? 49 : 13);
  check_cases(0, sizes.size(), [&](std::uint64_t i) { return collectives_case(sizes[i], i); });
}

TEST_F(CpuLowerCollectives, SideBySideGiveTheSameBytes) {
  check_cases(100, cases(16, 2'000), neighbours_case);
}

TEST_F(CpuLowerCollectives, ThatBarriersDependOnGiveTheSameBytes) {
  check_cases(100, cases(16, 2'000), rounds_case);
}

// The ways in which a program may be lowered that has collectives, each with its memory.
void for_each_lowered(const Case& c, const std::function<void(const Program&)>& visit) {
  const Result<Linked> linked = link(c);
  ASSERT_TRUE(linked.ok());
  for (Capabilities target : without_collectives_targets()) {
    for (const bool uniform_loads : {true, false}) {
      target.uniform_loads = uniform_loads;
      const Result<Program> lowered = lowered_for(*linked, target);
      ASSERT_TRUE(lowered.ok());
      visit(*lowered);
    }
  }
}

// Of workgroups that are not large: looking for races takes long.
Case some_case(std::uint64_t seed) {
  constexpr std::array<std::uint32_t, 3> kSizes[] = {{1, 1, 1},  {2, 1, 1},  {5, 1, 1},  {16, 1, 1},
                                                     {17, 1, 1}, {3, 4, 2},  {1, 6, 7},  {8, 8, 1},
                                                     {65, 1, 1}, {2, 2, 25}, {128, 1, 1}};
  if (seed % 4 == 0) return neighbours_case(seed);
  if (seed % 4 == 2) return blocks_case(seed);
  return seed % 4 == 1 ? rounds_case(seed) : collectives_case(kSizes[seed % 11], seed);
}

// No barrier is missing.
TEST(LoweredCollectives, DoNotRace) {
  for (std::uint64_t seed = 0; seed < cases(40, 1'000); ++seed) {
    Case c = some_case(seed);
    c.grid = {1, 1, 1};
    std::vector<std::vector<std::byte>> contents = c.contents;
    for_each_lowered(c, [&](const Program& program) {
      std::vector<Memory> memory(contents.begin(), contents.end());
      memory.resize(program.buffers.size());
      const Result<RaceReport> races =
          find_races(make_script(Linked::trust(program)), c.grid, memory);
      ASSERT_TRUE(races.ok()) << render(races.diagnostics()[0]);
      EXPECT_TRUE(races->clean()) << "seed " << seed << "\n" << print(Module{{program}});
    });
    if (::testing::Test::HasFailure()) return;
  }
}

// What their memory begins with does not matter: the host gives it instead, full of ones.
TEST(LoweredCollectives, NeedNoZeros) {
  for (std::uint64_t seed = 0; seed < cases(40, 1'000); ++seed) {
    Case c = some_case(seed);
    c.grid = {1, 1, 1};
    std::vector<HostBuffer> buffers;
    for (std::size_t i = 0; i < c.program().buffers.size(); ++i) {
      buffers.emplace_back(c.program().buffers[i].name, c.contents[i]);
    }
    DispatchOptions options;
    options.device = &reference();
    const Result<Outputs> expected = dispatch(*link(c), c.grid, buffers, options);
    ASSERT_TRUE(expected.ok());
    for_each_lowered(c, [&](const Program& lowered) {
      Program program = lowered;
      std::vector<HostBuffer> all = buffers;
      std::vector<std::byte> ones;
      for (BufferDecl& buffer : program.buffers) {
        if (buffer.access != BufferAccess::Workgroup) continue;
        EXPECT_EQ(buffer.name, "collectives");
        buffer.access = BufferAccess::ReadWrite;
        buffer.binding = static_cast<std::uint32_t>(program.buffers.size());
        ones.resize(std::size_t{buffer.count} * 4, std::byte{255});
        all.emplace_back(buffer.name, ones);
      }
      const Result<Outputs> found = dispatch(Linked::trust(program), c.grid, all, options);
      ASSERT_TRUE(found.ok()) << render(found.diagnostics()[0]);
      for (std::size_t i = 0; i < expected->buffers.size(); ++i) {
        EXPECT_EQ(found->buffers[i].bytes, expected->buffers[i].bytes) << "seed " << seed << "\n"
                                                                       << print(Module{{lowered}});
      }
    });
    if (::testing::Test::HasFailure()) return;
  }
}

Program parsed(const std::string& body, std::uint32_t size, const std::string& memory = "") {
  const Result<Loaded> loaded =
      load_module({"test", "program p workgroup(" + std::to_string(size) + ") {\nread a: u32[]\n" +
                               "read_write out: u32[]\n" + memory + body + "\n}\n"});
  EXPECT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0]);
  return std::get<Program>(loaded->module.items[0]);
}

std::size_t barriers_of(const Program& program) {
  return static_cast<std::size_t>(std::ranges::count_if(
      program.body.stmts, [](const Stmt& stmt) { return std::holds_alternative<Barrier>(stmt); }));
}

// Barriers that are not needed are not there.
TEST(LoweredCollectives, WaitAsOftenAsTheyMust) {
  const std::string result = "\nout[invocation_id.x] = r";
  const struct {
    std::uint32_t size;
    std::string body;
    std::size_t barriers;
  } cases[] = {
      {1, "let r = workgroup_add(a[local_id.x])", 0},
      {16, "let r = workgroup_add(a[local_id.x])", 1},
      {256, "let r = workgroup_scan_add(a[local_id.x])", 2},
      {256, "let r = workgroup_shuffle(a[local_id.x], a[0])", 1},
      // Side by side.
      {256,
       "let x = a[local_id.x]\nlet p = workgroup_add(x)\nlet q = workgroup_scan_min(x)\n"
       "let r = p + q",
       2},
      // One of what another one gives: what the first left is read before.
      {256, "let q = workgroup_add(a[local_id.x])\nlet r = workgroup_add(q + local_id.x)", 5},
      {256, "let q = workgroup_add(a[local_id.x])\nbarrier\nlet r = workgroup_add(q + local_id.x)",
       5},
      // Of what the first one orders: it is loaded after it.
      {256,
       "let p = workgroup_add(a[local_id.x])\nlet q = workgroup_add(out[local_id.x])\n"
       "let r = p + q",
       5},
      // In every round.
      {256, "let r = local_id.x\nfor k in 0..a[0] { let s = workgroup_shuffle(r, k + r)\nr = s }",
       2},
      // Uniform loads wait.
      {16,
       "let r = local_id.x\nwhile true { let s = workgroup_add(r)\n if s > 99 { break }\nr = s }",
       2},
  };
  for (const auto& each : cases) {
    const Program program = parsed(each.body + result, each.size);
    const Program lowered = replace_missing(optimise(program), without_collectives_targets()[0]);
    EXPECT_EQ(barriers_of(lowered), each.barriers) << print(Module{{lowered}});
  }
}

// Lowering says how much memory they take, and a program has as much that fits without them as the
// smallest devices have.
TEST(LoweredCollectives, TakeTheMemoryThatIsSaid) {
  const std::string four =
      "let x = a[local_id.x]\nlet p = workgroup_add(x)\nlet q = workgroup_scan_add(u64(x))\n"
      "let r = workgroup_min(x)\nlet s = workgroup_max(x)\n"
      "out[invocation_id.x] = p + u32(q) + r + s";
  const Target target{.name = {}, .capabilities = without_collectives_targets()[0]};
  const struct {
    std::uint32_t declared;
    std::uint64_t scratch;
  } cases[] = {
      {0, 5 * 1024}, {2816, 5 * 1024}, {2817, 4 * 1024}, {3073, 3 * 1024}, {4096, 2 * 1024}};
  for (const auto& each : cases) {
    const std::string words = std::to_string(each.declared);
    const Program program =
        parsed((each.declared > 0 ? "own[local_id.x] = a[1]\n" : "") + four, 256,
               each.declared > 0 ? "workgroup own: u32[" + words + "]\n" : "");
    const Lowered lowered = lower(program, target);
    EXPECT_EQ(lowered.scratch, each.scratch) << words;
    EXPECT_EQ(workgroup_bytes(lowered.program), each.declared * 4 + each.scratch);
    EXPECT_EQ(refuse_memory("p", 4096, lowered.scratch, "this", 4096), std::nullopt);
    const auto wrong = refuse_memory("p", 4097, lowered.scratch, "this", 4096);
    ASSERT_TRUE(wrong.has_value());
    EXPECT_EQ(wrong->code, Code::B002);
    EXPECT_NE(wrong->problem.find(std::to_string(each.scratch) + " of them for collectives"),
              std::string::npos);
  }
}

// --- Code ---------------------------------------------------------------------------------------

// Without a GPU, that is all that can be told of it; cuda_test.cc runs them.
TEST(PtxLowered, GeneratedProgramsAreEmitted) {
  std::string module = ptx_header();
  std::size_t kernels = 0;
  for (std::uint64_t seed = 230'000; seed < 230'000 + cases(8, 8); ++seed) {
    const Case c = generate_case(seed);
    const Result<Linked> linked = link(c);
    ASSERT_TRUE(linked.ok());
    for (const Capabilities& target : lacking_targets()) {
      const Result<Program> lowered = lowered_for(*linked, target);
      ASSERT_TRUE(lowered.ok());
      const Result<PtxKernel> kernel =
          compile_ptx(Linked::trust(*lowered), "kernel" + std::to_string(kernels++));
      ASSERT_TRUE(kernel.ok()) << render(kernel.diagnostics()[0]);
      module += "\n" + kernel->text;
    }
  }
  EXPECT_EQ(assembler_says(module), "");
}

// A target that has all of it gets the program as it is.
TEST(LowerTargets, ThatLackNothingChangeNothing) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Program program = generate_case(seed).program();
    if (!program.body.callees.empty()) continue;
    EXPECT_EQ(replace_missing(program, {}), program);
  }
}

// --- Rows ---------------------------------------------------------------------------------------

// Every operation on a type that a target may lack has a row, and every cast from and to it.
TEST(LowerRows, AreThereForAllThatATargetMayLack) {
  std::set<std::tuple<Operation, DataType, DataType>> known;
  for (const LowerRow& row : all_lower_rows()) {
    known.emplace(row.op, row.type, row.op == Operation::Cast ? row.target : Unknown);
  }
  for (const DataType wide : {U64, U128}) {
    for (const OperationInfo& row : all_operations()) {
      if (is_form(row.op) || !contains(row.types, wide)) continue;
      EXPECT_TRUE(known.contains({row.op, wide, Unknown})) << row.name << " " << text(wide);
    }
    for (const TypeInfo& other : all_types()) {
      // A u128 is lowered before a u64.
      if (other.type == wide || (wide == U64 && other.type == U128)) continue;
      for (const auto& [from, to] : {std::pair(wide, other.type), std::pair(other.type, wide)}) {
        if (!cast_exists(from, to)) continue;
        EXPECT_TRUE(known.contains({Operation::Cast, from, to})) << text(from) << text(to);
      }
    }
  }
}

// Numbers around the ends of words and halves of words.
std::vector<std::uint32_t> edge_words() {
  std::vector<std::uint32_t> all{0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128};
  for (const std::uint32_t end : {0x8000u, 0x10000u, 0x80000000u, 0u}) {
    for (const std::uint32_t by : {0u, 1u, 2u}) {
      all.push_back(end - by);
      all.push_back(end + by);
    }
  }
  return all;
}

Bits random_edge(Random& random, DataType type) {
  static const std::vector<std::uint32_t> edges = edge_words();
  Bits bits;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, min_bytes(type) / 4); ++i) {
    bits.lanes[i] = random.one_in(3) ? random.word() : random.pick(edges);
  }
  // Numbers of all sizes: a quotient of two large ones is hardly ever large.
  if (half_of(type) != Unknown && random.one_in(2)) {
    bits = eval(Operation::Shr, type, bits, {{random.below(info(type).width)}});
  }
  if (type == Bool) bits.lanes[0] &= 1;
  return bits;
}

// Also for the rows that are too much for the solver.
TEST(LowerRows, GiveWhatTheOperationGives) {
  Random random(3);
  for (const LowerRow& row : all_lower_rows()) {
    RowTrial trial(row);
    for (std::uint64_t i = 0; i < cases(2'000, 100'000); ++i) {
      const Bits a = random_edge(random, row.type);
      const bool unary = row.op == Operation::Cast || info(row.op).arity == 1;
      const Bits b = unary               ? Bits{}
                     : random.one_in(10) ? a
                                         : random_edge(random, second_operand(row.op, row.type));
      const Bits expected = row.op == Operation::Cast ? eval_cast(row.type, row.target, a)
                                                      : eval(row.op, row.type, a, b);
      ASSERT_EQ(trial(a, b), expected)
          << row.low->id << " of " << print_literal({row.type, a}) << " and "
          << print_literal({unary ? row.type : second_operand(row.op, row.type), b});
    }
  }
}

// --- Proofs -------------------------------------------------------------------------------------

// Products and quotients in full width are too much for the solver. These are the proofs of their
// rows on integers: what is left of them where ll, lh, hl and hh are the products of halves, of
// which the product is hh B^2 + (lh + hl) B + ll with B = 2^half, and qn is the product of q and n.
struct Written {
  Operation op;
  std::string_view given;
  std::string_view then;
};
constexpr Written kWritten[] = {
    // p is mul_high(al, bl), and l is al * bl.
    {Operation::Mul, "(= ll (+ (* p B) l))",
     "(= (+ (* hh B B) (* (+ lh hl) B) ll) (+ (* hh B B) (* (+ p lh hl) B) l))"},
    // p and l are the halves of ll, m and n those of `middle`, o and r those of `other`.
    {Operation::MulHigh,
     "(= ll (+ (* p B) l)) (= (+ hl p) (+ (* m B) n)) (= (+ lh n) (+ (* o B) r))",
     "(= (+ (* hh B B) (* (+ lh hl) B) ll) (+ (* (+ hh m o) B B) (* r B) l))"},
    // So it is the high half, as the rest has no more than its width.
    {Operation::MulHigh, "(< r B) (< l B)", "(< (+ (* r B) l) (* B B))"},
    // No sum leaves T: hl is the product of two numbers below B.
    {Operation::MulHigh, "(<= hl (+ (* B B) (* (- 2) B) 1)) (< p B)", "(< (+ hl p) (* B B))"},
    // Where the divisor n has two digits, the first digit of the dividend is below it.
    {Operation::Div, "(< m B) (>= o 1) (= n (+ (* o B) p))", "(< m n)"},
    // One bit l more of the dividend m, which has the quotient q and the remainder r.
    {Operation::Div, "(= m (+ qn r)) (< r n) (<= l 1) (>= (+ (* 2 r) l) n)",
     "(and (= (+ (* 2 m) l) (+ (+ (* 2 qn) n) (- (+ (* 2 r) l) n)))"
     "     (<= 0 (- (+ (* 2 r) l) n)) (< (- (+ (* 2 r) l) n) n))"},
    {Operation::Div, "(= m (+ qn r)) (< r n) (<= l 1) (< (+ (* 2 r) l) n)",
     "(= (+ (* 2 m) l) (+ (* 2 qn) (+ (* 2 r) l)))"},
    // The remainder never leaves T: twice as much and a bit is no more than what was divided.
    {Operation::Div, "(= m (+ qn r))", "(<= (+ (* 2 r) l) (+ (* 2 m) l))"},
    {Operation::Mod, "(= m (+ qn r))", "(= (- m qn) r)"},
};

bool is_written(const LowerRow& row) {
  return std::ranges::find(kWritten, row.op, &Written::op) != std::end(kWritten);
}

// What needs a solver. `./dev` installs one; without it these say so.
class LowerProofs : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<Solved> solved = solve("(assert true)\n");
    if (!solved.ok()) GTEST_SKIP() << "SKIPPED: " << solved.diagnostics()[0].problem;
  }
};

TEST_F(LowerProofs, HoldForAllValues) {
  std::size_t number = 0;
  for (const LowerRow& row : all_lower_rows()) {
    if (is_written(row) || number++ % every() != 0) continue;
    const Result<Proof> proof = prove_row(row);
    ASSERT_TRUE(proof.ok()) << proof.diagnostics()[0].problem;
    EXPECT_EQ(proof->verdict, Proof::Verdict::Proved)
        << row.low->id << ": " << proof->reason << values_text(proof->values);
  }
}

TEST_F(LowerProofs, ThatAreWrittenHoldOnIntegers) {
  std::set<Operation> used;
  for (const LowerRow& row : all_lower_rows()) {
    if (is_written(row)) used.insert(row.op);
  }
  for (const Written& written : kWritten) {
    EXPECT_TRUE(used.contains(written.op)) << written.then;
    for (const unsigned half : {16u, 32u, 64u}) {
      std::string question = "(set-logic QF_LIA)\n(define-fun B () Int " +
                             std::string(half == 16   ? "65536"
                                         : half == 32 ? "4294967296"
                                                      : "18446744073709551616") +
                             ")\n";
      for (const char* name : {"ll", "lh", "hl", "hh", "qn", "l", "m", "n", "o", "p", "q", "r"}) {
        question += "(declare-const " + std::string(name) + " Int)\n(assert (>= " + name + " 0))\n";
      }
      question += "(assert (and " + std::string(written.given) + " (not " +
                  std::string(written.then) + ")))\n";
      const Result<Solved> solved = solve(question);
      ASSERT_TRUE(solved.ok());
      EXPECT_EQ(*solved, Solved::No) << written.then;
    }
  }
}

// Their own text, on numbers of 8 bits: as two words of 4 for a u64, as four of 2 for a u128.
TEST_F(LowerProofs, ThatAreWrittenHoldOnNarrowWords) {
  std::size_t proved = 0;
  std::size_t refuted = 0;
  for (const auto& [word_bits, types] :
       {std::pair(8u, type_set(U32)), std::pair(4u, type_set(U64, Vec2U32, Vec4U32)),
        std::pair(2u, type_set(U128))}) {
    for (LowerRow& row : read_lower_rows(word_bits)) {
      if (!is_written(row) || !contains(types, row.type)) continue;
      const Result<Proof> proof = prove_row(row, {.word_bits = word_bits});
      ASSERT_TRUE(proof.ok()) << proof.diagnostics()[0].problem;
      EXPECT_EQ(proof->verdict, Proof::Verdict::Proved)
          << row.low->id << ": " << proof->reason << values_text(proof->values);
      ++proved;
      // A row with its halves exchanged is wrong.
      std::swap(row.low, row.high);
      if (row.low == nullptr) continue;
      EXPECT_EQ(prove_row(row, {.word_bits = word_bits})->verdict, Proof::Verdict::Refuted);
      ++refuted;
    }
  }
  EXPECT_EQ(proved, static_cast<std::size_t>(std::ranges::count_if(all_lower_rows(), is_written)));
  EXPECT_EQ(refuted, 4u);  // products and quotients; of the others there is one op
}

// A row that is wrong for few values.
TEST_F(LowerProofs, RefuteWhatIsWrong) {
  for (const LowerRow& row : all_lower_rows()) {
    if (row.op != Operation::Add || row.type != U64) continue;
    LowerRow wrong = row;
    Result<Module> module = parse(
        "op lower.wrong(al: u32, ah: u32, bl: u32, bh: u32) -> u32 {\n  \"no carry\"\n"
        "  return ah + bh + select(al == bl, 0, u32(al + bl < al))\n}\n");
    ASSERT_TRUE(module.ok());
    wrong.high = std::make_shared<const Op>(std::get<Op>(module->items[0]));
    const Result<Proof> proof = prove_row(wrong, {.use_cache = false});
    ASSERT_TRUE(proof.ok());
    ASSERT_EQ(proof->verdict, Proof::Verdict::Refuted);
    ASSERT_EQ(proof->values.size(), 2u);
    EXPECT_EQ(proof->values[0].bits.lanes[0], proof->values[1].bits.lanes[0]);
  }
}

}  // namespace
}  // namespace vyre
