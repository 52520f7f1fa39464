// Every law that an operation or a library op declares: proved by the solver for all values, tried
// on all edges through the interpreter, and for built-in operations on all numbers of 8 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/support/build.h"
#include "tests/support/temp_folder.h"
#include "vyre/base/random.h"
#include "vyre/interp/machine.h"
#include "vyre/interp/script.h"
#include "vyre/passes/inline.h"
#include "vyre/prove/laws.h"
#include "vyre/prove/prove.h"
#include "vyre/prove/smt.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

struct Declared {
  const Op* op;
  const Law* law;
};

// Of the library, and of built-in operations on each type.
std::vector<Declared> declared_laws() {
  std::vector<Declared> all;
  for (const Op* op : builtin_ops().all()) {
    for (const Law& law : op->laws) all.push_back({op, &law});
  }
  return all;
}

std::string name_of(const Declared& declared) {
  return declared.op->id + ": " + print_law(*declared.law);
}

// What needs a solver. `./dev` installs one; without it these say so.
class WithSolver : public testing::Test {
 protected:
  void SetUp() override {
    const Op& op = *Registry().find("primitive.bitwise.and");
    const Result<Proof> proof = prove(op.laws[0], op, {}, {.use_cache = false});
    if (!proof.ok()) GTEST_SKIP() << "SKIPPED: " << proof.diagnostics()[0].problem;
  }
};
using Proofs = WithSolver;
using Formulas = WithSolver;

TEST_F(Proofs, AreProvedForAllValues) {
  // What has been proved in another build of the same text needs no proof.
  if (std::getenv("VYRE_CACHE") == nullptr) {
    setenv("VYRE_CACHE", (std::filesystem::temp_directory_path() / "vyre_proofs").c_str(), 0);
  }
  const std::vector<Declared> all = declared_laws();
  EXPECT_GT(all.size(), 1000u);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i; (i = every() * next++) < all.size();) {
      const Result<Proof> proof = prove(*all[i].law, *all[i].op, builtin_ops());
      const std::lock_guard lock(mutex);
      ASSERT_TRUE(proof.ok()) << proof.diagnostics()[0].problem;
      if (proof->verdict == Proof::Verdict::Proved) continue;
      ADD_FAILURE() << name_of(all[i]) << " is not proved: " << proof->reason
                    << values_text(proof->values);
    }
  };
  std::thread other(work);
  work();
  other.join();
}

// --- Values at which mistakes show --------------------------------------------------------------

std::vector<TypedBits> edges(DataType type) {
  std::vector<TypedBits> values;
  const auto add = [&](std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t w) {
    TypedBits value{type, {}};
    const std::array lanes{x, y, z, w};
    for (std::size_t i = 0; i < words(type); ++i) value.bits.lanes[i] = lanes[i];
    if (type == DataType::Bool) value.bits.lanes[0] &= 1;
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  };
  for (std::uint32_t low : {0u, 1u, 2u, 3u, 7u, 31u, 32u, 33u, 0x7fu, 0xffffu, 0x12345678u,
                            0x7fffffffu, 0x80000000u, 0x80000001u, 0xfffffffeu, 0xffffffffu}) {
    add(low, 0, 0, 0);
    if (min_bytes(type) == 4 || (low > 2 && low < 0x12345678)) continue;
    add(low, low, low, low);
    add(0xffffffff - low, 0xffffffff, 0xffffffff, 0xffffffff);
  }
  return values;
}

// --- Formulas -----------------------------------------------------------------------------------

// That one value of a formula is not what it should be, for arguments that are variables, so that
// nothing is computed in advance.
class Differences {
 public:
  explicit Differences(const std::vector<DataType>& inputs) {
    for (DataType type : inputs) {
      variables_.push_back(formula_.variable(type, "v" + std::to_string(variables_.size())));
    }
  }
  Formula& formula() { return formula_; }
  const std::vector<Symbol>& variables() const { return variables_; }

  void expect(const std::vector<TypedBits>& arguments, const Symbol& result, const Bits& value) {
    std::string truth =
        formula_.negated(formula_.equal(result, formula_.constant(result.type, value)));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Symbol given = formula_.constant(arguments[i].type, arguments[i].bits);
      const std::string same = formula_.equal(variables_[i], given);
      truth = formula_.both(same, truth);
    }
    any_ = formula_.either(any_, truth);
  }
  bool none() const { return *solve(formula_.question(any_)) == Solved::No; }

 private:
  Formula formula_;
  std::vector<Symbol> variables_;
  std::string any_ = "false";
};

TEST_F(Formulas, OfOperationsAgreeWithEval) {
  Random random(1);
  std::size_t operations = 0;
  for (const Op* op : builtin_ops().all()) {
    if (!op->id.starts_with("builtin.")) continue;
    ++operations;
    const Operation operation = op->body[std::get<Return>(op->body.stmts[0]).value].op;
    const DataType type = op->signature.inputs[0];
    Differences differences(op->signature.inputs);
    const Result<Symbol> result = differences.formula().apply(*op, differences.variables());
    ASSERT_TRUE(result.ok()) << op->id;
    for (int i = 0; i < static_cast<int>(cases(10, 40)); ++i) {
      std::vector<TypedBits> arguments;
      for (DataType input : op->signature.inputs) arguments.push_back(random.pick(edges(input)));
      const Bits value = eval(operation, type, arguments[0].bits, arguments.back().bits);
      differences.expect(arguments, *result, value);
    }
    EXPECT_TRUE(differences.none()) << op->id;
  }
  EXPECT_GT(operations, 150u);
}

TEST_F(Formulas, OfCastsAgreeWithEval) {
  for (const TypeInfo& source : all_types()) {
    for (const TypeInfo& target : all_types()) {
      const bool is_value = source.type != DataType::Bytes && target.type != DataType::Bytes;
      if (!is_value || !cast_exists(source.type, target.type)) continue;
      Differences differences({source.type});
      const Symbol result = differences.formula().cast(target.type, differences.variables()[0]);
      for (const TypedBits& value : edges(source.type)) {
        differences.expect({value}, result, eval_cast(source.type, target.type, value.bits));
      }
      EXPECT_TRUE(differences.none()) << source.text << " to " << target.text;
    }
  }
}

// Bodies with branches, loops, `break` and `return`: all library ops without loops of unknown
// length.
TEST_F(Formulas, OfBodiesAgreeWithTheInterpreter) {
  const Registry library;
  Random random(2);
  RunOptions options;
  Control control{options, 1};
  NoWatch watch;
  std::size_t compared = 0;
  for (const Op* op : library.all()) {
    // A few of those with statements; for all of them the solver would take its time.
    if (op->body.stmts.size() < 3 || random.below(is_long() ? 4 : 30) != 0) continue;
    if (op->signature.inputs.empty() || !is_elementwise(*op)) continue;
    const Result<FlatOp> flat = inline_calls(*op, library);
    ASSERT_TRUE(flat.ok());
    Differences differences(op->signature.inputs);
    const Result<Symbol> result =
        differences.formula().apply(flat->op, differences.variables(), flat->memory);
    if (!result.ok()) continue;  // a loop with other bounds
    const Script script = make_script(link(*op, library));
    Machine<NoWatch> machine(script, {}, control, watch);
    for (int i = 0; i < 6; ++i) {
      std::vector<TypedBits> arguments;
      std::vector<Bits> bits;
      for (DataType input : op->signature.inputs) {
        arguments.push_back(random.pick(edges(input)));
        bits.push_back(arguments.back().bits);
      }
      const auto last = static_cast<std::uint32_t>(script.ops.size() - 1);
      differences.expect(arguments, *result, machine.call_op(last, bits));
    }
    ++compared;
    EXPECT_TRUE(differences.none()) << op->id;
  }
  EXPECT_GT(compared, 4u);
}

// --- Edges, through the interpreter -------------------------------------------------------------

TEST(Laws, HoldOnAllEdges) {
  std::uint64_t tried = 0;
  std::size_t number = 0;
  for (const Declared& declared : declared_laws()) {
    if (denies(*declared.law) || number++ % every() != 0) continue;
    const LawTrial trial = law_trial(*declared.law, *declared.op, builtin_ops());
    std::vector<std::vector<TypedBits>> tables;
    for (DataType type : law_variables(*declared.law, declared.op->signature))
      tables.push_back(edges(type));
    std::vector<std::size_t> at(tables.size());
    for (bool more = true; more;) {
      std::vector<TypedBits> values;
      for (std::size_t i = 0; i < at.size(); ++i) values.push_back(tables[i][at[i]]);
      const Trial result = trial(values);
      ++tried;
      if (!result.holds) {
        ADD_FAILURE() << name_of(declared) << " fails for " << values_text(values);
        break;
      }
      // Pairs and triples are all tried; of more, as bounds on four and more inputs have, some.
      more = false;
      const std::size_t stride = tables.size() > 3 ? 5 : 1;
      for (std::size_t i = 0; i < at.size() && !more; ++i) {
        at[i] += i == 0 ? 1 : stride;
        more = at[i] < tables[i].size();
        if (!more) at[i] = 0;
      }
    }
  }
  EXPECT_GT(tried, 100'000u / every());
}

// --- Built-in operations on all numbers of 8 bits -----------------------------------------------

// What an operation gives for each pair of bytes.
std::vector<std::uint8_t> table_of(const Op& op, bool is_signed) {
  const Operation operation = op.body[std::get<Return>(op.body.stmts[0]).value].op;
  std::vector<std::uint8_t> table(65536);
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    table[i] = eval_byte(operation, is_signed, static_cast<std::uint8_t>(i >> 8),
                         static_cast<std::uint8_t>(i));
  }
  return table;
}

struct ByteAlgebra {
  using Value = std::uint8_t;
  using Truth = bool;

  const Op& op;
  const Law& law;
  bool is_signed;
  std::vector<std::vector<std::uint8_t>> tables;  // of the op, and of those that the law names

  ByteAlgebra(const Op& of, const Law& declared)
      : op(of), law(declared), is_signed(of.signature.inputs[0] == DataType::I32) {
    tables.push_back(table_of(op, is_signed));
    for (const LawArgument& argument : law.arguments) {
      const std::string* id = std::get_if<std::string>(&argument);
      tables.emplace_back();
      if (id != nullptr) tables.back() = table_of(*builtin_ops().find(*id), is_signed);
    }
  }

  static std::uint8_t byte_of(const TypedBits& value) {
    // Of the constants only the width depends on it.
    if (value.bits.lanes[0] == 32) return 8;
    return static_cast<std::uint8_t>(value.bits.lanes[0]);
  }
  Value call(std::size_t k, std::span<const Value> v) const {
    return tables[k][std::size_t{v[0]} << 8 | v.back()];
  }
  Value constant(std::size_t k) { return byte_of(std::get<TypedBits>(law.arguments[k])); }
  Value zero() { return 0; }
  Value add(Value a, Value b) { return static_cast<Value>(a + b); }
  bool equal(Value a, Value b) { return a == b; }
  bool at_most(Value a, Value b) {
    // Tests and counts are unsigned.
    if (is_signed && op.signature.output == DataType::I32) {
      return static_cast<std::int8_t>(a) <= static_cast<std::int8_t>(b);
    }
    return a <= b;
  }
  bool is_one(Value a) { return a == 1; }
  bool both(bool p, bool q) { return p && q; }
  bool either(bool p, bool q) { return p || q; }
  bool negated(bool p) { return !p; }
};

TEST(Laws, OfBuiltInsHoldOnAllBytes) {
  std::size_t laws = 0;
  for (const Op* op : builtin_ops().all()) {
    const DataType type =
        op->signature.inputs.empty() ? DataType::Unknown : op->signature.inputs[0];
    const bool is_builtin = op->id.starts_with("builtin.");
    if (!is_builtin || (type != DataType::U32 && type != DataType::I32)) continue;
    for (const Law& law : op->laws) {
      ++laws;
      ByteAlgebra algebra(*op, law);
      const std::size_t variables = law_variables(law, op->signature).size();
      const std::uint32_t all = 1u << (8 * variables);
      std::uint32_t failures = 0;
      for (std::uint32_t i = 0; i < all; ++i) {
        const std::array<std::uint8_t, 3> v{static_cast<std::uint8_t>(i),
                                            static_cast<std::uint8_t>(i >> 8),
                                            static_cast<std::uint8_t>(i >> 16)};
        const std::span<const std::uint8_t> values(v.data(), variables);
        if (!law_statement(algebra, law, op->signature, values)) ++failures;
      }
      EXPECT_EQ(failures > 0, denies(law)) << op->id << ": " << print_law(law);
    }
  }
  EXPECT_GT(laws, 60u);
}

// --- What the seed declares ---------------------------------------------------------------------

TEST(Laws, OfTheFirstOperationsAreExactlyThoseOfTheirDocument) {
  const std::map<Operation, std::string_view> document = {
      {Operation::Add, "commutative associative identity(0)"},
      {Operation::Sub, "self_inverse(0)"},
      {Operation::Mul, "commutative associative identity(1) absorbing(0) zero_product(false)"},
      {Operation::Div, ""},
      {Operation::Mod, "self_inverse(0)"},
      {Operation::BitAnd,
       "commutative associative identity(ones) idempotent absorbing(0) "
       "distributive_over(primitive.bitwise.or)"},
      {Operation::BitOr,
       "commutative associative identity(0) idempotent absorbing(ones) "
       "distributive_over(primitive.bitwise.and)"},
      {Operation::BitXor, "commutative associative identity(0) self_inverse(0)"},
      {Operation::Shl, ""},
      {Operation::Shr, ""},
      {Operation::Eq, "commutative self_inverse(1) bounded(0, 1)"},
      {Operation::Ne, "commutative self_inverse(0) bounded(0, 1)"},
      {Operation::Lt, "self_inverse(0) bounded(0, 1)"},
      {Operation::Gt, "self_inverse(0) bounded(0, 1)"},
      {Operation::Le, "self_inverse(1) bounded(0, 1)"},
      {Operation::Ge, "self_inverse(1) bounded(0, 1)"},
      {Operation::And, ""},
      {Operation::Or, ""},
  };
  for (const auto& [op, laws] : document) EXPECT_EQ(info(op).laws, laws) << info(op).name;
  // On every type, with the type's own constants.
  const auto laws_of = [](std::string_view id) {
    std::string text;
    for (const Law& law : builtin_ops().find(id)->laws) text += print_law(law) + " ";
    return text;
  };
  EXPECT_EQ(laws_of("builtin.bitand.u64"),
            "commutative associative identity(0xffffffffffffffffu64) idempotent absorbing(0u64) "
            "distributive_over(builtin.bitor.u64) ");
  EXPECT_EQ(laws_of("builtin.bitand.bool"),
            "commutative associative identity(true) idempotent absorbing(false) "
            "distributive_over(builtin.bitor.bool) ");
  EXPECT_EQ(laws_of("builtin.lt.vec2u32"),
            "self_inverse(vec2u32(0, 0)) bounded(vec2u32(0, 0), vec2u32(1, 1)) ");
  EXPECT_EQ(laws_of("builtin.mul.i32"),
            "commutative associative identity(1i32) absorbing(0i32) zero_product(false) ");
  EXPECT_EQ(laws_of("builtin.shl.u128"), "");
}

// --- Laws that do not hold ----------------------------------------------------------------------

struct False {
  LawKind kind;
  std::string_view text;  // of an op `my.f` with a law that is false, and others that it names
};

// One for each kind of law.
constexpr False kFalse[] = {
    {LawKind::Commutative, "op my.f(a: u32, b: u32) -> u32 { law commutative return a - b }"},
    {LawKind::Associative, "op my.f(a: u32, b: u32) -> u32 { law associative return a - b }"},
    {LawKind::Identity, "op my.f(a: u32, b: u32) -> u32 { law identity(0) return a - b }"},
    {LawKind::LeftIdentity, "op my.f(a: u32, b: u32) -> u32 { law left_identity(0) return a - b }"},
    {LawKind::RightIdentity,
     "op my.f(a: u32, b: u32) -> u32 { law right_identity(1) return a - b }"},
    {LawKind::Idempotent, "op my.f(a: u32, b: u32) -> u32 { law idempotent return (a + b) / 2 }"},
    {LawKind::SelfInverse, "op my.f(a: u32, b: u32) -> u32 { law self_inverse(1) return a / b }"},
    {LawKind::Absorbing, "op my.f(a: u32, b: u32) -> u32 { law absorbing(1) return a * b }"},
    {LawKind::LeftAbsorbing,
     "op my.f(a: u32, b: u32) -> u32 { law left_absorbing(1) return a % b }"},
    {LawKind::RightAbsorbing,
     "op my.f(a: u32, b: u32) -> u32 { law right_absorbing(0) return a | b }"},
    {LawKind::Involution, "op my.f(a: u32) -> u32 { law involution return a + 0x80000001 }"},
    {LawKind::InverseOf,
     "op my.f(a: u32) -> u32 { law inverse_of(my.g) return a >> 1 }\n"
     "op my.g(a: u32) -> u32 { return a << 1 }"},
    {LawKind::DistributiveOver,  // false only for large numbers
     "op my.f(a: u32, b: u32) -> u32 { law distributive_over(primitive.math.min) return a + b }"},
    {LawKind::LatticeAbsorption,
     "op my.f(a: u32, b: u32) -> u32 { law lattice_absorption(primitive.bitwise.xor) return a & b }"},
    {LawKind::DeMorgan,
     "op my.f(a: u32) -> u32 { law de_morgan(primitive.bitwise.and, primitive.bitwise.and) return "
     "~a }"},
    {LawKind::Complement,
     "op my.f(a: u32, b: u32) -> u32 { law complement(my.g, 0xffffffff) return a + b }\n"
     "op my.g(a: u32) -> u32 { return -a }"},
    {LawKind::Monotonic, "op my.f(a: u32) -> u32 { law monotonic(non_decreasing) return a + 1 }"},
    {LawKind::Bounded,
     "op my.f(a: u32, b: u32, c: u32) -> u32 { law bounded(0, 100) return a % 101 + b / c / 4294967295 }"},
    {LawKind::Trichotomy,
     "op my.f(a: u32, b: u32) -> u32 { law trichotomy(primitive.compare.lt, primitive.compare.eq, "
     "primitive.compare.ge) return a }"},
    {LawKind::ZeroProduct,
     "op my.f(a: u32, b: u32) -> u32 { law zero_product(true) return a * b }"},
};

TEST_F(Proofs, ThatAreFalseAreRefuted) {
  std::set<LawKind> kinds;
  for (const False& wrong : kFalse) {
    const Result<Loaded> loaded = load_module({"false", std::string(wrong.text)});
    ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0], false);
    Registry registry;
    ASSERT_TRUE(registry.add(loaded->module).ok());
    const Op& op = *registry.find("my.f");
    ASSERT_EQ(op.laws[0].kind, wrong.kind);
    kinds.insert(wrong.kind);
    const Result<Proof> proof = prove(op.laws[0], op, registry, {.use_cache = false});
    ASSERT_TRUE(proof.ok());
    ASSERT_EQ(proof->verdict, Proof::Verdict::Refuted) << wrong.text << proof->reason;
    // The interpreter agrees, and on the way to it the values have become small.
    const LawTrial trial = law_trial(op.laws[0], op, registry);
    EXPECT_FALSE(trial(proof->values).holds) << wrong.text << values_text(proof->values);
    if (wrong.kind != LawKind::Trichotomy && wrong.kind != LawKind::ZeroProduct) {
      EXPECT_EQ(proof->sides.size(), 2u) << wrong.text;
    }
    if (wrong.kind == LawKind::Commutative) {
      const std::string values = values_text(proof->values);
      EXPECT_TRUE(values == "a = 0, b = 1" || values == "a = 1, b = 0") << values;
    }
    if (wrong.kind == LawKind::Idempotent) {
      EXPECT_EQ(values_text(proof->values), "a = 0x80000000");
    }
  }
  EXPECT_EQ(kinds.size(), all_laws().size());
}

TEST_F(Proofs, ThatDenyFindTheirCounterexample) {
  const Op& mul = *Registry().find("primitive.math.mul");
  const Law& law = mul.laws.back();
  ASSERT_TRUE(denies(law));
  const Result<Proof> proof = prove(law, mul, {}, {.use_cache = false});
  ASSERT_TRUE(proof.ok());
  EXPECT_EQ(proof->verdict, Proof::Verdict::Proved);
  ASSERT_EQ(proof->values.size(), 2u);
  const std::uint32_t a = proof->values[0].bits.lanes[0];
  const std::uint32_t b = proof->values[1].bits.lanes[0];
  EXPECT_NE(a, 0u);
  EXPECT_NE(b, 0u);
  EXPECT_EQ(a * b, 0u);

  // One that has none cannot be claimed.
  const Result<Loaded> loaded =
      load_module({"f", "op my.f(a: u32, b: u32) -> u32 { law zero_product(false) return a | b }"});
  ASSERT_TRUE(loaded.ok());
  const Op& op = std::get<Op>(loaded->module.items[0]);
  const Result<Proof> none = prove(op.laws[0], op, {}, {.use_cache = false});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->verdict, Proof::Verdict::Refuted);
}

// By work, not by time: the same on a slow machine.
TEST_F(Proofs, EndWhereTheSolverHasDoneItsSteps) {
  const Result<Loaded> loaded =
      load_module({"f", "op my.f(a: u64, b: u64) -> u64 { law associative return a * b }"});
  ASSERT_TRUE(loaded.ok());
  const Op& op = std::get<Op>(loaded->module.items[0]);
  const ProveOptions few{.steps = 10, .use_cache = false};
  const Result<Proof> proof = prove(op.laws[0], op, {}, few);
  ASSERT_TRUE(proof.ok());
  EXPECT_EQ(proof->verdict, Proof::Verdict::Unknown);
  EXPECT_EQ(proof->reason, "the solver did not finish in 10 steps");
}

TEST_F(Proofs, AreRememberedByTheirText) {
  const TempFolder folder;
  const char* before = std::getenv("VYRE_CACHE");
  const std::string kept = before != nullptr ? before : "";
  setenv("VYRE_CACHE", folder.path().c_str(), 1);
  const Op& op = *Registry().find("primitive.bitwise.and");
  EXPECT_FALSE(prove(op.laws[0], op, {})->remembered);
  EXPECT_TRUE(prove(op.laws[0], op, {})->remembered);
  EXPECT_FALSE(prove(op.laws[1], op, {})->remembered);
  // An op with another body has another text.
  Op changed = op;
  changed.body = Registry().find("primitive.math.sub")->body;
  const Result<Proof> proof = prove(changed.laws[0], changed, {});
  EXPECT_FALSE(proof->remembered);
  EXPECT_EQ(proof->verdict, Proof::Verdict::Refuted);
  if (kept.empty()) {
    unsetenv("VYRE_CACHE");
  } else {
    setenv("VYRE_CACHE", kept.c_str(), 1);
  }
}

TEST(Laws, WithoutASolverSayWhatToInstall) {
  setenv("VYRE_SOLVER", "/nowhere/z3", 1);
  const Op& op = *Registry().find("primitive.bitwise.and");
  const Result<Proof> proof = prove(op.laws[0], op, {}, {.use_cache = false});
  unsetenv("VYRE_SOLVER");
  ASSERT_FALSE(proof.ok());
  EXPECT_EQ(proof.diagnostics()[0].code, Code::B006);
}

}  // namespace
}  // namespace vyre
