// Every row of rules.def: proved by the solver for all values, tried on edges by eval(), found by
// the simplifier, and shown to make what it matches simpler, so that rewriting ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/support/build.h"
#include "vyre/base/random.h"
#include "vyre/ir/eval.h"
#include "vyre/ir/walk.h"
#include "vyre/passes/rules.h"
#include "vyre/passes/simplify.h"
#include "vyre/prove/rules.h"
#include "vyre/text/print.h"

namespace vyre {
namespace {

using namespace type_sets;
using Kind = PatternNode::Kind;

std::string text_of(const RuleRow& row) {
  std::string text = std::string(row.pattern) + "  ->  " + std::string(row.result);
  if (!row.condition.empty()) text += "  where " + std::string(row.condition);
  return text;
}

struct Case {
  const RuleRow* row;
  Rule rule;
  DataType t;

  std::string name() const { return text_of(*row) + "  for " + std::string(text(t)); }
};

std::vector<Case> cases_of(std::span<const RuleRow> rows) {
  std::vector<Case> all;
  for (const RuleRow& row : rows) {
    const std::optional<Rule> rule = read_rule(row);
    if (!rule) {
      ADD_FAILURE() << "not a rule: " << text_of(row);
      continue;
    }
    for (const TypeInfo& type : all_types()) {
      if (contains(row.types, type.type)) all.push_back({&row, *rule, type.type});
    }
  }
  return all;
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case> all = cases_of(all_rules());
  return all;
}

std::size_t lanes_of(DataType type) { return is_vector(type) ? words(type) : 1; }
unsigned width_of(DataType type) { return is_vector(type) ? 32 : min_bytes(type) * 8; }

// --- What a row is ------------------------------------------------------------------------------

// Why a pattern makes no sense for a type, or nothing.
std::string type_error(const Pattern& pattern, DataType t) {
  for (const PatternNode& node : pattern.nodes) {
    if (node.kind != Kind::Apply) continue;
    const auto type = [&](std::size_t i) { return type_of(pattern.nodes[node.args[i]].role, t); };
    const DataType own = type_of(node.role, t);
    if (node.op == Operation::Cast) {
      if (!cast_exists(type(0), own)) return "there is no such cast";
    } else if (node.op == Operation::Select) {
      if (type(0) != U32 || type(1) != own || type(2) != own) return "select";
    } else {
      if (!contains(info(node.op).types, type(0))) return std::string(info(node.op).name);
      if (result_of(node.op, type(0)) != own) return "result of " + std::string(info(node.op).name);
      const bool wrong = info(node.op).arity == 2 && second_operand(node.op, type(0)) != type(1);
      if (wrong) return "second operand of " + std::string(info(node.op).name);
    }
  }
  return {};
}

TEST(Rules, MakeSense) {
  EXPECT_GE(all_rules().size(), 140u);
  std::set<std::string> seen;
  for (const Case& each : all_cases()) {
    EXPECT_EQ(type_error(each.rule.pattern, each.t), "") << each.name();
    EXPECT_EQ(type_error(each.rule.result, each.t), "") << each.name();
    EXPECT_EQ(type_error(each.rule.condition, each.t), "") << each.name();
    EXPECT_EQ(type_of(each.rule.pattern.root().role, each.t),
              type_of(each.rule.result.root().role, each.t))
        << each.name();
    EXPECT_TRUE(seen.insert(each.name()).second) << "twice: " << each.name();

    const std::vector<std::uint8_t> variables = variables_of(each.rule.pattern);
    EXPECT_FALSE(variables.empty()) << each.name();
    const auto knows = [&](std::uint8_t variable) {
      return std::ranges::find(variables, variable) != variables.end();
    };
    EXPECT_TRUE(std::ranges::all_of(variables_of(each.rule.result), knows)) << each.name();
    const std::vector<std::uint8_t> tested = variables_of(each.rule.condition);
    EXPECT_TRUE(std::ranges::all_of(tested, knows)) << each.name();
    EXPECT_TRUE(std::ranges::all_of(tested, is_constant_variable)) << each.name();
  }
}

// --- Values -------------------------------------------------------------------------------------

// Numbers at which mistakes show, as they stand in a lane or in all words.
constexpr std::uint32_t kEdges[] = {
    0,      1,     2,          3,          7,          31,         32,         33,        0xff,
    0xffff, 65536, 0x55555555, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};

Bits random_bits(Random& random, DataType type) {
  Bits bits;
  if (type == Bool) return {{random.below(2)}};
  const std::uint32_t way = random.below(5);
  const unsigned width = width_of(type);
  const unsigned bit = random.below(width);
  const bool short_one = random.one_in(2);
  for (std::size_t i = 0; i < words(type); ++i) {
    std::uint32_t& word = bits.lanes[i];
    const bool low = is_vector(type) || i == 0;
    if (way == 0) {
      word = low || !short_one ? random.pick(kEdges) : 0;
    } else if (way == 1) {  // a power of two
      word = is_vector(type) || bit / 32 == i ? 1u << bit % 32 : 0;
    } else if (way == 2) {
      word = low ? random.below(2 * width + 2) : 0;
    } else {
      word = random.word() & random.word() >> random.below(32);
    }
  }
  if (way < 3 && random.one_in(3)) bits = eval(Operation::Negate, type, bits);
  if (way < 3 && random.one_in(4)) bits = eval(Operation::BitNot, type, bits);
  return bits;
}

// Something that a condition could want to have to do with `bits`.
Bits related(Random& random, DataType type, const Bits& bits) {
  if (type == Bool) return {{random.below(2)}};
  const Bits other = random_bits(random, type);
  Bits one;
  for (std::size_t i = 0; i < lanes_of(type); ++i) one.lanes[i] = 1;
  switch (random.below(7)) {
    case 0: return bits;
    case 1: return eval(Operation::Add, type, bits, one);
    case 2: return eval(Operation::Sub, type, bits, one);
    case 3: return eval(Operation::BitNot, type, bits);
    case 4: return eval(Operation::BitAnd, type, bits, other);
    case 5: return eval(Operation::BitOr, type, bits, other);
    default: return eval(Operation::Mul, type, bits, other);
  }
}

// Values for all variables; constants are the same in all lanes, counts often small.
PatternValues random_values(Random& random, DataType t) {
  PatternValues values;
  for (std::uint8_t i = 0; i < kPatternVariables; ++i) {
    const Role role = role_of_variable(i);
    const DataType type = type_of(role, t);
    Bits& bits = values[i] = random_bits(random, type);
    if (is_constant_variable(i) && is_vector(type)) {
      bits = {};
      const std::uint32_t lane = random_bits(random, U32).lanes[0];
      for (std::size_t k = 0; k < lanes_of(type); ++k) bits.lanes[k] = lane;
    }
    if (role.kind == Role::Kind::Count && random.one_in(2)) {
      const std::uint32_t count = random.below(width_of(t));
      for (std::size_t k = 0; k < lanes_of(type); ++k) bits.lanes[k] = count;
    }
  }
  const auto at = [&](char name) -> Bits& { return values[kVariableNames.find(name)]; };
  if (random.one_in(2)) {
    (random.one_in(2) ? at('d') : at('c')) = related(random, t, at('c'));
    if (random.one_in(2)) at('y') = related(random, t, at('x'));
  }
  if (random.one_in(8)) {
    at('c') = {{random.below(2)}};
    at('d') = {{random.below(2)}};
  }
  if (random.one_in(2)) {
    for (std::size_t k = 0; k < lanes_of(type_of({Role::Kind::Count, {}}, t)); ++k) {
      at('l').lanes[k] = width_of(t) - at('k').lanes[k];
    }
  }
  return values;
}

// Values for which the condition holds; none if that never happens.
std::optional<PatternValues> fitting_values(Random& random, const Case& of) {
  for (int tries = 0; tries < 3000; ++tries) {
    const PatternValues values = random_values(random, of.t);
    if (holds(of.rule.condition, of.t, values)) return values;
  }
  return {};
}

// How many of some instances of a row are wrong.
int wrong_instances(Random& random, const Case& of, int instances) {
  int wrong = 0;
  for (int i = 0; i < instances; ++i) {
    const std::optional<PatternValues> values = fitting_values(random, of);
    if (!values) {
      ADD_FAILURE() << "no values for " << of.name();
      return 0;
    }
    const Bits before = evaluate(of.rule.pattern, of.t, *values);
    if (before != evaluate(of.rule.result, of.t, *values)) ++wrong;
  }
  return wrong;
}

TEST(Rules, HoldOnEdges) {
  Random random(1);
  for (const Case& each : all_cases()) {
    EXPECT_EQ(wrong_instances(random, each, 24), 0) << each.name();
  }
}

// --- Proofs -------------------------------------------------------------------------------------

// What needs a solver. `./dev` installs one; without it these say so.
class RuleProofs : public testing::Test {
 protected:
  void SetUp() override {
    const Result<Proof> proof = prove_rule(all_rules()[0], U32, {.use_cache = false});
    if (!proof.ok()) GTEST_SKIP() << "SKIPPED: " << proof.diagnostics()[0].problem;
  }
};

// What written proofs want of the constants, in exact arithmetic.
__extension__ using Wide = unsigned __int128;
using SideCondition = bool (*)(Wide c, Wide d, unsigned width);
static_assert(!contains(HighHalf, U128));  // no product of constants has more than 128 bits
bool product_fits(Wide c, Wide d, unsigned width) { return c * d >> width == 0; }
bool product_is_too_large(Wide c, Wide d, unsigned width) { return c * d >> width != 0; }
bool is_at_most(Wide c, Wide d, unsigned /*width*/) { return c <= d; }
// The divisor 0 is left: both sides are 0 then.
bool is_multiple(Wide c, Wide d, unsigned /*width*/) { return c > 0 && (d == 0 || c % d == 0); }
bool is_divisor(Wide c, Wide /*d*/, unsigned /*width*/) { return c != 0; }

// Rows that are too much for the solver, with what their written proofs in rules.def come down to:
// statements on integers, which it proves for numbers of any size. A quotient q and a remainder r
// of x are defined by x = qc + r and 0 <= r < c. The row's condition says what `side` says.
struct Written {
  std::string_view pattern;
  std::string_view result;
  SideCondition side;
  std::string_view given;
  std::string_view then;
};
constexpr Written kWritten[] = {
    // The product c * d of the row is cd.
    {"(x / c) / d", "x / (c * d)", product_fits,
     "(= x (+ (* q c) r)) (<= 0 r) (< r c) (= q (+ (* s d) t)) (<= 0 t) (< t d)",
     "(and (= x (+ (* s (* c d)) (+ (* t c) r))) (<= 0 (+ (* t c) r)) (< (+ (* t c) r) (* c d)))"},
    // x < cd, since cd is no number of the type.
    {"(x / c) / d", "0", product_is_too_large,
     "(= x (+ (* q c) r)) (<= 0 r) (< r c) (= q (+ (* s d) t)) (<= 0 t) (< t d) (<= 0 x) (<= 0 s) "
     "(< x (* c d))",
     "(= s 0)"},
    // r < c <= d.
    {"(x % c) % d", "x % c", is_at_most, "(<= 0 r) (< r c) (<= c d)", "(and (<= 0 r) (< r d))"},
    // c = md, so x has the quotient qm + s by d, and the same remainder.
    {"(x % c) % d", "x % d", is_multiple,
     "(= x (+ (* q c) r)) (= c (* m d)) (= r (+ (* s d) t)) (<= 0 t) (< t d)",
     "(and (= x (+ (* (+ (* q m) s) d) t)) (<= 0 t) (< t d))"},
    // There are a quotient and a remainder.
    {"x - (x / c) * c", "x % c", is_divisor, "(= x (+ (* q c) r))", "(= (- x (* q c)) r)"},
    {"(x / c) * c + x % c", "x", is_divisor, "(= x (+ (* q c) r))", "(= (+ (* q c) r) x)"},
};

const Written* written_proof(const RuleRow& row) {
  for (const Written& written : kWritten) {
    if (written.pattern == row.pattern && written.result == row.result) return &written;
  }
  return nullptr;
}

TEST_F(RuleProofs, AreProvedForAllValues) {
  // What has been proved in another build of the same text needs no proof.
  if (std::getenv("VYRE_CACHE") == nullptr) {
    setenv("VYRE_CACHE", (std::filesystem::temp_directory_path() / "vyre_proofs").c_str(), 0);
  }
  std::vector<const Case*> all;
  for (const Case& each : all_cases()) {
    if (written_proof(*each.row) == nullptr) all.push_back(&each);
  }
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i; (i = every() * next++) < all.size();) {
      const Result<Proof> proof = prove_rule(*all[i]->row, all[i]->t);
      const std::lock_guard lock(mutex);
      ASSERT_TRUE(proof.ok()) << proof.diagnostics()[0].problem;
      if (proof->verdict == Proof::Verdict::Proved) continue;
      std::string values;
      for (const TypedBits& value : proof->values) values += " " + print_literal(value);
      ADD_FAILURE() << all[i]->name() << " is not proved: " << proof->reason << values;
    }
  };
  std::thread other(work);
  work();
  other.join();
}

TEST_F(RuleProofs, ThatAreWrittenHoldOnIntegers) {
  std::set<const Written*> used;
  for (const RuleRow& row : all_rules()) {
    const Written* written = written_proof(row);
    if (written == nullptr || !used.insert(written).second) continue;
    std::string question = "(set-logic QF_NIA)\n";
    for (char name : std::string_view("xcdmqrst")) {
      question += std::string("(declare-const ") + name + " Int)\n";
    }
    question += "(assert (and (> c 0) (> d 0) " + std::string(written->given) + " (not " +
                std::string(written->then) + ")))\n";
    const Result<Solved> solved = solve(question);
    ASSERT_TRUE(solved.ok());
    EXPECT_EQ(*solved, Solved::No) << text_of(row);
  }
  EXPECT_EQ(used.size(), std::size(kWritten));
}

Result<Proof> prove_on_bytes(const RuleRow& row, bool is_signed) {
  return prove_rule(row, is_signed ? I32 : U32, {.word_bits = 8});
}

// The same rows by the solver, on numbers of 8 bits.
TEST_F(RuleProofs, ThatAreWrittenAreProvedOnBytes) {
  struct Asked {
    const RuleRow& row;
    bool is_signed;
    std::future<Result<Proof>> proof;
  };
  std::vector<Asked> asked;
  std::set<const RuleRow*> rows;
  for (const RuleRow& row : all_rules()) {
    if (written_proof(row) == nullptr) continue;
    for (const bool is_signed : {false, true}) {
      if ((row.types & (is_signed ? type_set(I32) : Unsigned)) == 0) continue;
      rows.insert(&row);
      asked.push_back({row, is_signed, std::async(std::launch::async, [&row, is_signed] {
                         return prove_on_bytes(row, is_signed);
                       })});
    }
  }
  for (Asked& each : asked) {
    const Result<Proof> proof = each.proof.get();
    ASSERT_TRUE(proof.ok()) << proof.diagnostics()[0].problem;
    EXPECT_EQ(proof->verdict, Proof::Verdict::Proved)
        << text_of(each.row) << (each.is_signed ? ", signed: " : ": ") << proof->reason;
  }
  EXPECT_EQ(rows.size(), std::size(kWritten));  // and no row that has another one's proof
}

TEST_F(RuleProofs, OnBytesNeedTheConditions) {
  for (RuleRow row : all_rules()) {
    if (written_proof(row) == nullptr) continue;
    row.condition = "";
    for (const bool is_signed : {false, true}) {
      const Result<Proof> proof = prove_on_bytes(row, is_signed);
      ASSERT_TRUE(proof.ok());
      EXPECT_EQ(proof->verdict, Proof::Verdict::Refuted) << text_of(row) << proof->reason;
    }
  }
}

TEST_F(RuleProofs, OnBytesKnowWhatOperationsMean) {
  using Verdict = Proof::Verdict;
  struct Expected {
    std::string_view pattern;
    std::string_view result;
    Verdict without_sign;
    Verdict with_sign;
  };
  constexpr Expected kExpected[] = {
      // Nothing is undefined.
      {"x / 0", "0", Verdict::Proved, Verdict::Proved},
      {"x % 0", "0", Verdict::Proved, Verdict::Proved},
      {"x << 8", "x", Verdict::Proved, Verdict::Proved},
      {"x >> 9", "x >> 1", Verdict::Proved, Verdict::Proved},
      // With a sign a byte is at most 127, and a quotient is rounded to 0.
      {"x <= 127", "1", Verdict::Refuted, Verdict::Proved},
      {"(x >> 7) <= 0", "1", Verdict::Refuted, Verdict::Proved},
      {"(x / 127) / 2", "0", Verdict::Refuted, Verdict::Proved},
      {"(x % 127) / 126", "(x - x / 127 * 127) / 126", Verdict::Proved, Verdict::Proved},
      {"0 <= x % 2", "1", Verdict::Proved, Verdict::Refuted},
      {"x / 2", "x >> 1", Verdict::Proved, Verdict::Refuted},
      {"min(x, 127)", "x", Verdict::Refuted, Verdict::Proved},
      {"select(p, x, x)", "x", Verdict::Proved, Verdict::Proved},
      {"x & ones", "x", Verdict::Proved, Verdict::Proved},
      {"popcount(x)", "9", Verdict::Refuted, Verdict::Refuted},
      {"add_sat(x, 127)", "127", Verdict::Refuted, Verdict::Refuted},
      // A number that is another one on bytes.
      {"x & 255", "x", Verdict::Unknown, Verdict::Unknown},
  };
  for (const Expected& each : kExpected) {
    const RuleRow row{false, type_set(U32, I32), each.pattern, each.result, ""};
    for (const bool is_signed : {false, true}) {
      const Result<Proof> proof = prove_on_bytes(row, is_signed);
      ASSERT_TRUE(proof.ok());
      const Verdict expected = is_signed ? each.with_sign : each.without_sign;
      EXPECT_EQ(proof->verdict, expected) << text_of(row) << proof->reason;
      EXPECT_EQ(proof->reason.empty(), expected != Verdict::Unknown) << proof->reason;
    }
  }
}

// Numbers at which products and quotients change: around powers of two, small and large ones, and
// the largest that can be multiplied by a small one.
std::vector<Wide> edges_of(unsigned width, unsigned small) {
  const Wide most = ~Wide{0} >> (128 - width);
  std::set<Wide> all;
  for (unsigned i = 0; i < width; ++i) {
    const Wide power = Wide{1} << i;
    all.insert({power - 1, power, power + 1});
  }
  for (unsigned i = 0; i < small; ++i) {
    const Wide root = Wide{1} << width / 2;
    const Wide quotient = most / (i + 1);
    all.insert({Wide{i}, root - i, root + i, quotient, quotient + (i > 0 ? 1 : 0), most - i});
  }
  return {all.begin(), all.end()};
}

// Constants that have something to do with each other as often as not.
std::pair<Wide, Wide> random_words(Random& random) {
  const std::uint64_t bits = random.next();
  const std::uint64_t lengths = random.next();
  const std::uint32_t most = 0xffffffff;
  const std::uint32_t c = static_cast<std::uint32_t>(bits) >> lengths % 32;
  const std::uint32_t d = static_cast<std::uint32_t>(bits >> 32) >> lengths / 32 % 32;
  switch (lengths >> 62) {
    case 0: return {c, d};
    case 1: return {c, c == 0 ? d : most / c + (c > 1 ? d % 2 : 0)};
    case 2: return {c, d == 0 ? d : c / d};
    default: return {c - (d == 0 ? 0 : c % d), d};
  }
}

TEST(Rules, WithWrittenProofsHaveTheirSideConditions) {
  const std::vector<Wide> many = edges_of(32, 110);
  EXPECT_GE(many.size(), 600u);
  for (const Case& each : all_cases()) {
    const Written* written = written_proof(*each.row);
    if (written == nullptr) continue;
    const DataType t = each.t;
    const unsigned width = width_of(t);
    PatternValues values;
    Bits& c_bits = values[kVariableNames.find('c')];
    Bits& d_bits = values[kVariableNames.find('d')];
    std::uint32_t failures = 0;
    std::uint32_t met = 0;
    const auto check = [&](Wide c, Wide d) {
      bool expected = written->side(c, d, width);
      for (unsigned i = 0; i < words(t); ++i) {
        // Lanes of a vector have c and d in turns: the condition has to hold in all of them.
        const bool swapped = is_vector(t) && i % 2 == 1;
        const unsigned shift = is_vector(t) ? 0 : 32 * i;
        c_bits.lanes[i] = static_cast<std::uint32_t>((swapped ? d : c) >> shift);
        d_bits.lanes[i] = static_cast<std::uint32_t>((swapped ? c : d) >> shift);
      }
      if (is_vector(t)) expected = expected && written->side(d, c, width);
      if (expected) ++met;
      if (holds(each.rule.condition, t, values) != expected) ++failures;
    };
    const std::vector<Wide> edges = t == U32 ? many : edges_of(width, 16);
    // With one constant there is nothing to pair, but for that of another lane.
    const bool pairs = is_vector(t) || each.row->pattern.find('d') != std::string_view::npos;
    for (const Wide& c : edges) {
      for (const Wide d : pairs ? std::span(edges) : std::span(&c, 1)) check(c, d);
    }
    Random random(7);
    for (int i = 0; pairs && t == U32 && i < 1000000; ++i) {
      const auto [c, d] = random_words(random);
      check(c, d);
    }
    EXPECT_EQ(failures, 0u) << each.name();
    EXPECT_GT(met, 0u) << each.name();
  }
}

// The same rows on all numbers of 8 bits.
class Bytes8 {
 public:
  explicit Bytes8(bool is_signed) : is_signed_(is_signed) {}

  std::uint8_t evaluate(const Pattern& pattern, const std::array<std::uint8_t, 3>& xcd) {
    std::array<std::uint8_t, kPatternNodes> results;
    for (std::size_t i = 0; i < pattern.nodes.size(); ++i) {
      const PatternNode& node = pattern.nodes[i];
      if (node.kind == Kind::Variable) {
        const char name = kVariableNames[node.variable];
        results[i] = xcd[name == 'x' ? 0 : name == 'c' ? 1 : 2];
      } else if (node.kind == Kind::Number) {
        results[i] = static_cast<std::uint8_t>(node.number);
      } else {
        results[i] =
            table(node.op)[std::size_t{results[node.args[0]]} << 8 | results[node.args[1]]];
      }
    }
    return results[pattern.nodes.size() - 1];
  }

 private:
  // Looking a result up is faster than computing it, sixteen million times.
  const std::vector<std::uint8_t>& table(Operation op) {
    std::vector<std::uint8_t>& table = tables_[static_cast<std::size_t>(op)];
    for (std::uint32_t i = static_cast<std::uint32_t>(table.size()); i < 65536; ++i) {
      table.push_back(eval_byte(op, is_signed_, static_cast<std::uint8_t>(i >> 8),
                                static_cast<std::uint8_t>(i)));
    }
    return table;
  }

  const bool is_signed_;
  std::array<std::vector<std::uint8_t>, 256> tables_;
};

TEST(Rules, WithWrittenProofsHoldOnAllBytes) {
  for (const Case& each : all_cases()) {
    const bool once = each.t == U32 || each.t == I32;
    if (!once || written_proof(*each.row) == nullptr) continue;
    Bytes8 bytes(each.t == I32);
    const bool has_d = each.row->pattern.find('d') != std::string_view::npos;
    std::uint32_t failures = 0;
    for (std::uint32_t cd = 0; cd < (has_d ? 65536u : 256u); ++cd) {
      std::array values{std::uint8_t{0}, static_cast<std::uint8_t>(cd),
                        static_cast<std::uint8_t>(cd >> 8)};
      if (bytes.evaluate(each.rule.condition, values) == 0) continue;
      for (std::uint32_t x = 0; x < 256; ++x) {
        values[0] = static_cast<std::uint8_t>(x);
        const bool same =
            bytes.evaluate(each.rule.pattern, values) == bytes.evaluate(each.rule.result, values);
        if (!same) ++failures;
      }
    }
    EXPECT_EQ(failures, 0u) << each.name();
  }
}

// And around the multiples at which quotients change, in full width.
TEST(Rules, WithWrittenProofsHoldAroundMultiples) {
  Random random(2);
  for (const Case& each : all_cases()) {
    if (written_proof(*each.row) == nullptr) continue;
    const DataType t = each.t;
    const std::size_t x = kVariableNames.find('x');
    int failures = 0;
    for (int i = 0; i < 300; ++i) {
      std::optional<PatternValues> values = fitting_values(random, each);
      ASSERT_TRUE(values) << each.name();
      const Bits& c = (*values)[kVariableNames.find('c')];
      const Bits& d = (*values)[kVariableNames.find('d')];
      const Bits unit = random.one_in(2) ? c : eval(Operation::Mul, t, c, d);
      const Bits multiple =
          eval(Operation::Sub, t, (*values)[x], eval(Operation::Mod, t, (*values)[x], unit));
      Bits one;
      for (std::size_t lane = 0; lane < lanes_of(t); ++lane) one.lanes[lane] = 1;
      for (const Bits& near : {multiple, eval(Operation::Add, t, multiple, one),
                               eval(Operation::Sub, t, multiple, one)}) {
        (*values)[x] = near;
        const Bits before = evaluate(each.rule.pattern, t, *values);
        if (before != evaluate(each.rule.result, t, *values)) ++failures;
      }
    }
    EXPECT_EQ(failures, 0) << each.name();
  }
}

// --- Rows that are wrong ------------------------------------------------------------------------

constexpr TypeSet kSome = type_set(U32, Vec2U32);
constexpr RuleRow kWrong[] = {
    // Identities.
    {false, kSome, "x - 0", "0", ""},
    {false, type_set(I32), "0 - x", "x", ""},
    // Constants that are collected.
    {false, type_set(U64), "(x - c) - d", "x - (c - d)", ""},
    {false, type_set(U128), "c - (x + d)", "(c + d) - x", ""},
    {false, kSome, "~x + c", "c - x", ""},
    // A condition that is missing, or another one.
    {false, kSome, "(x & c) | d", "d", ""},
    {false, type_set(U64), "(x | c) & d", "x & d", "(c & ~d) == 0"},
    {false, type_set(I32), "(x & c) < d", "1", "c < d"},
    // Distribution.
    {false, kSome, "(x & y) | (x & z)", "x | (y & z)", ""},
    {false, type_set(I32), "~x & ~y", "~(x & y)", ""},
    // Comparisons: one that wraps, one off by one, one the wrong way, a wrong opposite.
    {false, Int, "x <= c", "x < c + 1", ""},
    {false, Int, "x <= c", "x < c", "c != highest"},
    {false, kSome, "c < x", "x < c", ""},
    {false, type_set(I32), "(x < y) == 0", "x > y", ""},
    {false, type_set(U128), "(x + c) == d", "x == d + c", ""},
    // Shifts and rotations.
    {false, type_set(U32, Vec4U32), "(x << k) << l", "x << (k + l)", ""},
    {false, type_set(U64), "(x << k) << l", "x << (k + l)", "(k < width) & (k + l < width)"},
    {false, kSome, "(x >> k) << k", "x & (ones >> k)", ""},
    {false, type_set(I32), "(x << k) >> k", "x & (ones >> k)", ""},
    {false, kSome, "(x << n) ^ (x >> (width - n))", "rotl(x, n)", ""},
    {false, type_set(U32), "rotr(rotl(x, k), l)", "rotl(x, l - k)", "(k < width) & (l < width)"},
    // Quotients and remainders.
    {false, type_set(U32), "(x / c) / d", "x / (c * d)", ""},
    {false, type_set(I32), "x / lowest", "0", ""},
    // The smaller and the larger, choices.
    {false, type_set(I32), "min(max(x, c), d)", "d", "c <= d"},
    {false, type_set(U64), "max(x, lowest)", "lowest", ""},
    {false, type_set(U128), "select(x < y, x, y)", "max(x, y)", ""},
    {false, type_set(Vec2U32, Bool), "select(p == 0, x, y)", "select(p, x, y)", ""},
    {false, type_set(U32), "select(p, c, d)", "p", "(c == 1) & (d == 0)"},
    // Casts.
    {false, type_set(I32), "u128(u64(x))", "u128(x)", ""},
    {false, type_set(U64), "u64(u32(x))", "x", ""},
    {false, type_set(Vec2U32), "u32(bool(x))", "u32(x != 0)", ""},
    // Cheaper operations: one that forgets 0, one that rounds down, one with another mask.
    {true, kSome, "x * c", "x << ctz(c)", "popcount(c) <= 1"},
    {true, kSome, "x * c", "x << ctz(c)", "(popcount(c) == 1) | (c == 0)"},
    {true, kSome, "x * c", "x << ctz(c)", "(popcount(c) == 1) == 0"},
    {true, type_set(I32), "x / c", "x >> ctz(c)", "popcount(c) == 1"},
    {true, type_set(U64), "x % c", "x & c", "popcount(c) == 1"},
};

TEST_F(RuleProofs, OfWrongRowsAreRefuted) {
  const std::vector<Case> all = cases_of(kWrong);
  Random random(3);
  std::size_t noticed = 0;
  for (const Case& each : all) {
    const Result<Proof> proof = prove_rule(*each.row, each.t, {.use_cache = false});
    ASSERT_TRUE(proof.ok());
    EXPECT_EQ(proof->verdict, Proof::Verdict::Refuted) << each.name() << proof->reason;
    // The values say why.
    EXPECT_EQ(proof->sides.size(), 2u) << each.name();
    EXPECT_EQ(proof->values.size(), variables_of(each.rule.pattern).size()) << each.name();
    if (wrong_instances(random, each, 200) > 0) ++noticed;
  }
  EXPECT_GE(noticed, all.size() * 9 / 10);
}

// --- The simplifier uses them -------------------------------------------------------------------

// A program whose buffers are the variables of patterns.
Program program_of(DataType t) {
  Program program;
  for (std::uint8_t i = 0; i < kPatternVariables; ++i) {
    const DataType type = type_of(role_of_variable(i), t);
    program.buffers.push_back(
        BufferDecl::storage(std::string(1, kVariableNames[i]), i, BufferAccess::ReadOnly, type));
  }
  return program;
}

class Instance {
 public:
  Instance(DataType t, unsigned what)
      : t_(t), program_(program_of(t)), simplifier_(program_, body_, what) {}

  ExprId variable(std::uint8_t i, const PatternValues& values) {
    if (is_constant_variable(i)) {
      return simplifier_.constant(type_of(role_of_variable(i), t_), values[i]);
    }
    const ExprId zero = simplifier_.number(0);
    return simplifier_.make(Operation::Load, 0, i, {&zero, 1});
  }

  // The nodes of a pattern, each of them simplified.
  std::vector<ExprId> build(const Pattern& pattern, const PatternValues& values) {
    std::vector<ExprId> made;
    for (const PatternNode& node : pattern.nodes) {
      const DataType type = type_of(node.role, t_);
      if (node.kind == Kind::Variable) {
        made.push_back(variable(node.variable, values));
      } else if (node.kind == Kind::Number) {
        made.push_back(simplifier_.constant(type, number_bits(node, type, t_)));
      } else {
        std::vector<ExprId> args;
        for (int i = 0; i < arity(node.op); ++i) {
          args.push_back(made[node.args[static_cast<std::size_t>(i)]]);
        }
        const bool cast = node.op == Operation::Cast;
        made.push_back(
            simplifier_.make(node.op, cast ? static_cast<std::uint8_t>(type) : 0, 0, args));
      }
    }
    return made;
  }

  // Whether an expression that exists is what a node of a pattern says.
  bool matches(const Pattern& pattern, std::uint8_t at, ExprId expr, DataType& t,
               std::array<ExprId, kPatternVariables>& bound) const {
    const PatternNode& node = pattern.nodes[at];
    if (node.kind == Kind::Number) {
      const std::optional<Bits> bits = simplifier_.bits(expr);
      return bits && *bits == number_bits(node, simplifier_.type(expr), t_);
    }
    if (node.kind == Kind::Variable) {
      if (is_constant_variable(node.variable) && !simplifier_.bits(expr)) return false;
      if (node.role.kind == Role::Kind::Value && t == DataType::Unknown) t = simplifier_.type(expr);
      if (!bound[node.variable].exists()) bound[node.variable] = expr;
      return bound[node.variable] == expr;
    }
    const Expr& made = body_[expr];
    if (made.op != node.op) return false;
    if (node.op == Operation::Cast && type_of_detail(made) != node.role.fixed) return false;
    return matches_operands(pattern, node, operands(body_, made), t, bound);
  }
  bool matches_operands(const Pattern& pattern, const PatternNode& node,
                        std::span<const ExprId> args, DataType& t,
                        std::array<ExprId, kPatternVariables>& bound) const {
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (!matches(pattern, node.args[i], args[i], t, bound)) return false;
    }
    return true;
  }

  // The row of the first rule for an operation with these operands.
  std::optional<std::uint32_t> first_row(const PatternNode& root, std::span<const ExprId> args,
                                         bool strength) const {
    const auto look = [&](std::size_t i) {
      if (i >= args.size()) return kAnything;
      return simplifier_.bits(args[i]) ? kConstant : static_cast<Look>(body_[args[i]].op);
    };
    for (const Rule* each : rules_for(root.op, look(0), look(1))) {
      const Rule& rule = *each;
      if (rule.strength && !strength) continue;
      const PatternNode& other = rule.pattern.root();
      const bool same_cast = root.op != Operation::Cast || root.role.fixed == other.role.fixed;
      std::array<ExprId, kPatternVariables> bound;
      DataType t = DataType::Unknown;
      if (!same_cast || !matches_operands(rule.pattern, other, args, t, bound)) continue;
      if (!contains(rule.types, t)) continue;
      PatternValues values;
      for (std::size_t i = 0; i < bound.size(); ++i) {
        if (bound[i].exists()) values[i] = simplifier_.bits(bound[i]).value_or(Bits{});
      }
      if (holds(rule.condition, t, values)) return rule.row;
    }
    return {};
  }

  const Body& body() const { return body_; }
  Simplifier& simplifier() { return simplifier_; }

 private:
  const DataType t_;
  const Program program_;
  Body body_;
  Simplifier simplifier_;
};

TEST(Rules, AreFoundByTheSimplifier) {
  Random random(4);
  std::map<const RuleRow*, bool> used;
  for (const Case& each : all_cases()) {
    const bool strength = each.row->strength;
    const unsigned what = kFold | kAlgebra | (strength ? kStrength : kNothing);
    const auto row = static_cast<std::uint32_t>(each.row - all_rules().data());
    bool& is_used = used[each.row];
    for (int i = 0; i < 40 && !is_used; ++i) {
      const std::optional<PatternValues> values = fitting_values(random, each);
      ASSERT_TRUE(values) << each.name();
      Instance instance(each.t, what);
      const std::vector<ExprId> made = instance.build(each.rule.pattern, *values);
      const PatternNode& root = each.rule.pattern.root();
      std::vector<ExprId> args;
      for (int k = 0; k < arity(root.op); ++k) {
        args.push_back(made[root.args[static_cast<std::size_t>(k)]]);
      }
      // Operands may have become something else on the way; then this says nothing.
      if (instance.first_row(root, args, strength) != row) continue;
      const ExprId result = instance.build(each.rule.result, *values).back();
      EXPECT_EQ(made.back(), result) << each.name();
      is_used = true;
    }
  }
  for (const RuleRow& row : all_rules()) {
    EXPECT_TRUE(used[&row]) << "another row comes first: " << text_of(row);
  }
}

// --- Rewriting ends -----------------------------------------------------------------------------

// How heavy an expression is, for given weights of its variables: a sum of products with them. Each
// row has to make what it matches lighter, whatever its variables stand for; so no sequence of them
// goes on for ever.
struct Weight {
  std::array<int, kPatternVariables> factor{};
  int rest = 0;

  void add(const Weight& other, int times) {
    for (std::size_t i = 0; i < factor.size(); ++i) factor[i] += times * other.factor[i];
    rest += times * other.rest;
  }
  // For variables that weigh at least 1.
  bool is_less(const Weight& other) const {
    int least = rest - other.rest;
    for (std::size_t i = 0; i < factor.size(); ++i) {
      if (factor[i] > other.factor[i]) return false;
      least += factor[i] - other.factor[i];
    }
    return least < 0;
  }
};

int weight_of(Operation op) {
  switch (op) {
    case Operation::Shl:
    case Operation::Shr:
    case Operation::BitAnd:
    case Operation::BitOr: return 3;
    case Operation::Negate: return 4;
    case Operation::Add:
    case Operation::BitNot:
    case Operation::RotateLeft:
    case Operation::RotateRight:
    case Operation::Popcount:
    case Operation::Clz:
    case Operation::Ctz:
    case Operation::ReverseBits: return 5;
    case Operation::Sub:
    case Operation::BitXor:
    case Operation::Cast: return 6;
    case Operation::Min:
    case Operation::Max:
    case Operation::AbsDiff:
    case Operation::AddSat:
    case Operation::SubSat: return 8;
    case Operation::Eq:
    case Operation::Ne: return 10;
    case Operation::Lt:
    case Operation::Gt: return 11;
    case Operation::Le:
    case Operation::Ge: return 16;
    case Operation::Mul:
    case Operation::MulHigh:
    case Operation::Select:
    case Operation::LogicalNot: return 20;
    case Operation::And:
    case Operation::Or:
    case Operation::Div:
    case Operation::Mod: return 60;
    case Operation::Literal:
    case Operation::Local:
    case Operation::Load:
    case Operation::Length:
    case Operation::InvocationId:
    case Operation::WorkgroupId:
    case Operation::LocalId:
    case Operation::Vec2:
    case Operation::Vec4:
    case Operation::Lane:
    case Operation::NumWorkgroups:
#define WRITTEN(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      break;  // in no pattern
  }
  return 0;
}

// Small constants are preferred, 0 most of all, and negative ones are not.
int weight_of(DataType type, const Bits& bits) {
  if (bits == Bits{}) return 1;
  if (type == Bool) return 2;
  const Operation test = type == I32 ? Operation::Lt : Operation::Gt;
  const bool large = eval(test, type, bits, eval(Operation::Negate, type, bits)) != Bits{};
  return large ? 4 : 2;
}

Weight weight_of(const Pattern& pattern, DataType t, const PatternValues& values) {
  struct Part {
    Weight weight;
    bool constant = false;
    Bits bits;
  };
  std::vector<Part> parts;
  for (const PatternNode& node : pattern.nodes) {
    Part part;
    const DataType type = type_of(node.role, t);
    const auto operand = [&](int i) -> const Part& {
      return parts[node.args[static_cast<std::size_t>(i)]];
    };
    if (node.kind == Kind::Number) {
      part = {{}, true, number_bits(node, type, t)};
    } else if (node.kind == Kind::Variable) {
      part = {{}, is_constant_variable(node.variable), values[node.variable]};
      part.weight.factor[node.variable] = 1;
    } else {
      const int arity = vyre::arity(node.op);
      part.constant = true;
      part.weight.rest = weight_of(node.op);
      for (int i = 0; i < arity; ++i) {
        part.constant = part.constant && operand(i).constant;
        // What a quotient is made of may be needed more than once without it.
        const bool divides = node.op == Operation::Div || node.op == Operation::Mod;
        part.weight.add(operand(i).weight, divides ? 4 : 1);
      }
      const DataType first = type_of(pattern.nodes[node.args[0]].role, t);
      if (part.constant) {
        part.bits = node.op == Operation::Cast
                        ? eval_cast(first, type, operand(0).bits)
                        : eval(node.op, first, operand(0).bits, operand(arity == 1 ? 0 : 1).bits);
      }
      const OperationInfo& row = info(node.op);
      if (row.precedence == kComparisonPrecedence && operand(0).constant) ++part.weight.rest;
      if (row.signature == Signature::Shift && operand(1).constant &&
          operand(1).bits.lanes[0] >= width_of(t)) {
        ++part.weight.rest;
      }
    }
    if (part.constant) part.weight = {{}, weight_of(type, part.bits)};
    parts.push_back(part);
  }
  return parts.back().weight;
}

TEST(Rules, MakeExpressionsLighter) {
  Random random(5);
  for (const Case& each : all_cases()) {
    for (int i = 0; i < 12; ++i) {
      const std::optional<PatternValues> values = fitting_values(random, each);
      ASSERT_TRUE(values) << each.name();
      const Weight before = weight_of(each.rule.pattern, each.t, *values);
      const Weight after = weight_of(each.rule.result, each.t, *values);
      if (after.is_less(before)) continue;
      ADD_FAILURE() << each.name();
      break;
    }
  }
}

// --- Together -----------------------------------------------------------------------------------

// A random expression of type t, made in the same way by both.
struct Pair {
  ExprId raw;
  ExprId simple;
};

class RandomExpressions {
 public:
  RandomExpressions(std::uint64_t seed, DataType t, unsigned what)
      : random_(seed), t_(t), raw_(t, kNothing), simple_(t, what) {}

  Pair make(DataType type, int depth) {
    if (depth == 0 || random_.one_in(6)) return leaf(type);
    const bool scalar = !is_vector(type);
    if (scalar && random_.one_in(6)) {
      const Pair p = make(U32, depth - 1);
      return apply(Operation::Select, {p, make(type, depth - 1), make(type, depth - 1)});
    }
    if (scalar && type == t_ && t_ != Bool && random_.one_in(10)) {
      const DataType through = random_.pick(std::array{U32, I32, U64, U128, Bool});
      return cast(type, cast(through, make(type, depth - 1)));
    }
    for (;;) {
      const OperationInfo& row = random_.pick(all_operations());
      if (is_form(row.op)) continue;
      // An operation on T that gives `type`, or one on `type`.
      for (DataType operand : {t_, type}) {
        if (!contains(row.types, operand) || result_of(row.op, operand) != type) continue;
        std::vector<Pair> args{make(operand, depth - 1)};
        if (row.arity == 2) {
          args.push_back(random_.one_in(4) && second_operand(row.op, operand) == operand
                             ? args[0]
                             : make(second_operand(row.op, operand), depth - 1));
        }
        return apply(row.op, args);
      }
    }
  }

  Instance& raw() { return raw_; }
  Instance& simple() { return simple_; }

 private:
  Pair leaf(DataType type) {
    std::vector<std::uint8_t> fitting;
    for (std::uint8_t i = 0; i < kPatternVariables; ++i) {
      const bool fits = type_of(role_of_variable(i), t_) == type;
      if (fits && !is_constant_variable(i)) fitting.push_back(i);
    }
    if (fitting.empty() || random_.one_in(3)) {
      const Bits bits = random_bits(random_, type);
      return {raw_.simplifier().constant(type, bits), simple_.simplifier().constant(type, bits)};
    }
    const std::uint8_t variable = random_.pick(fitting);
    return {raw_.variable(variable, {}), simple_.variable(variable, {})};
  }
  Pair apply(Operation op, const std::vector<Pair>& args) {
    std::vector<ExprId> raw;
    std::vector<ExprId> simple;
    for (const Pair& arg : args) {
      raw.push_back(arg.raw);
      simple.push_back(arg.simple);
    }
    return {raw_.simplifier().make(op, 0, 0, raw), simple_.simplifier().make(op, 0, 0, simple)};
  }
  Pair cast(DataType target, const Pair& value) {
    return {raw_.simplifier().cast(target, value.raw),
            simple_.simplifier().cast(target, value.simple)};
  }

  Random random_;
  const DataType t_;
  Instance raw_;
  Instance simple_;
};

// The value of every expression of a body, where the buffers hold these.
std::vector<Bits> values_of(const Body& body, const Simplifier& simplifier,
                            const PatternValues& buffers) {
  std::vector<Bits> values;
  for (std::size_t i = 0; i < body.exprs.size(); ++i) {
    const Expr& expr = body.exprs[i];
    const std::span<const ExprId> args = operands(body, expr);
    const auto value = [&](std::size_t k) -> const Bits& { return values[args[k].index]; };
    Bits bits;
    if (const std::optional<Bits> constant = simplifier.bits(ExprId(i))) {
      bits = *constant;
    } else if (expr.op == Operation::Load) {
      bits = buffers[expr.imm];
    } else if (expr.op == Operation::Select) {
      bits = value(value(0) == Bits{} ? 2 : 1);
    } else if (expr.op == Operation::Cast) {
      bits = eval_cast(simplifier.type(args[0]), type_of_detail(expr), value(0));
    } else {
      bits = eval(expr.op, simplifier.type(args[0]), value(0), value(args.size() - 1));
    }
    values.push_back(bits);
  }
  return values;
}

TEST(Rules, TogetherKeepTheValueAndLeaveNothingToDo) {
  Random random(6);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const DataType t = random.pick(std::array{U32, U32, I32, U64, U128, Vec2U32, Bool});
    const unsigned what = kFold | kAlgebra | (random.one_in(3) ? kStrength : kNothing);
    RandomExpressions expressions(seed, t, what);
    const Pair root = expressions.make(t, 6);
    for (int i = 0; i < 4; ++i) {
      PatternValues buffers = random_values(random, t);
      const Bits raw = values_of(expressions.raw().body(), expressions.raw().simplifier(),
                                 buffers)[root.raw.index];
      const Bits simple = values_of(expressions.simple().body(), expressions.simple().simplifier(),
                                    buffers)[root.simple.index];
      ASSERT_EQ(raw, simple) << "seed " << seed << " for " << text(t);
    }
    // Made again, every part is already what it becomes.
    const Body& body = expressions.simple().body();
    Instance again(t, what);
    std::vector<ExprId> made;
    std::vector<bool> needed(body.exprs.size());
    needed[root.simple.index] = true;
    for (std::size_t i = body.exprs.size(); i-- > 0;) {
      if (!needed[i]) continue;
      for (ExprId arg : operands(body, body.exprs[i])) needed[arg.index] = true;
    }
    for (std::size_t i = 0; i < body.exprs.size(); ++i) {
      const Expr& expr = body.exprs[i];
      made.emplace_back();
      if (!needed[i]) continue;
      const DataType type = expressions.simple().simplifier().type(ExprId(i));
      const std::optional<Bits> bits = expressions.simple().simplifier().bits(ExprId(i));
      std::vector<ExprId> args;
      for (ExprId arg : operands(body, expr)) args.push_back(made[arg.index]);
      made.back() = bits ? again.simplifier().constant(type, *bits)
                         : again.simplifier().make(expr.op, expr.detail, expr.imm, args);
      const Expr& other = again.body()[made.back()];
      ASSERT_EQ(other.op, expr.op) << "seed " << seed << " for " << text(t);
      if (bits) continue;
      ASSERT_TRUE(std::ranges::equal(operands(again.body(), other), args)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace vyre
