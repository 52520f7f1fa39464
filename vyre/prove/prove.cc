#include "vyre/prove/prove.h"

#include <chrono>
#include <cstdlib>

#include "vyre/base/private_folder.h"
#include "vyre/base/process.h"
#include "vyre/base/text.h"
#include "vyre/compile.h"
#include "vyre/interp/machine.h"
#include "vyre/passes/inline.h"
#include "vyre/prove/laws.h"
#include "vyre/prove/smt.h"
#include "vyre/text/print.h"

namespace vyre {
namespace {

// The ops that a law speaks of: the op itself, then the law's arguments in their places.
std::vector<const Op*> ops_of(const Law& law, const Op& op, const Registry& registry) {
  std::vector<const Op*> ops{&op};
  for (const LawArgument& argument : law.arguments) {
    const std::string* id = std::get_if<std::string>(&argument);
    ops.push_back(id == nullptr ? nullptr : *id == op.id ? &op : registry.find(*id));
  }
  return ops;
}

// --- A law as a formula -------------------------------------------------------------------------

struct Symbols : Formula {
  using Value = Symbol;
  using Truth = std::string;
  using Formula::constant;

  const Law& law;
  std::vector<FlatOp> ops;
  std::vector<Diagnostic> failure;

  explicit Symbols(const Law& declared) : law(declared) {}

  Value call(std::size_t k, std::span<const Value> args) {
    Result<Value> result = apply(ops[k].op, args, ops[k].memory);
    if (result.ok()) return *result;
    failure = result.diagnostics();
    return constant(ops[k].op.signature.output, {});
  }
  Value constant(std::size_t k) {
    const TypedBits& value = std::get<TypedBits>(law.arguments[k]);
    return constant(value.type, value.bits);
  }
  Value zero() { return constant(ops[0].op.signature.output, {}); }
  Value add(const Value& a, const Value& b) { return apply(Operation::Add, a, b); }
  Truth is_one(const Value& a) { return equal(a, constant(a.type, {{1}})); }
};

struct Question {
  std::string text;
  std::vector<FormulaVariable> variables;
};

constexpr std::string_view kNames[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
std::string name_of(std::size_t i) {
  return i < std::size(kNames) ? std::string(kNames[i]) : "v" + std::to_string(i);
}

Result<Question> question_of(const Law& law, const Op& op, const Registry& registry) {
  Symbols symbols(law);
  for (const Op* each : ops_of(law, op, registry)) {
    if (each == nullptr) {
      symbols.ops.emplace_back();
      continue;
    }
    Result<FlatOp> flat = inline_calls(*each, registry);
    if (!flat.ok()) return flat.diagnostics();
    symbols.ops.push_back(std::move(*flat));
  }
  std::vector<Symbol> values;
  std::vector<FormulaVariable> variables;
  for (DataType type : law_variables(law, op.signature)) {
    variables.push_back({name_of(values.size()), type});
    values.push_back(symbols.variable(type, variables.back().name));
  }
  const std::string statement =
      law_statement(symbols, law, op.signature, std::span<const Symbol>(values));
  if (!symbols.failure.empty()) return symbols.failure;
  return Question{symbols.question(symbols.negated(statement)), std::move(variables)};
}

// --- The solver ---------------------------------------------------------------------------------

std::string solver_name() {
  const char* named = std::getenv("VYRE_SOLVER");
  return named != nullptr && *named != '\0' ? named : "z3";
}

Diagnostic no_answer(const std::string& why) {
  return diagnose<message::no_solver>(solver_name(), why);
}

// What the solver says.
Result<std::string> ask(const std::string& question, std::uint64_t steps) {
  // It works for so many steps; the seconds are for one that hangs.
  const ProcessResult result = run_process(
      {solver_name(), "-smt2", "-in", "rlimit=" + std::to_string(steps), "-T:1800"}, question);
  const std::string& text = result.out;
  for (const std::string_view word : {"sat", "unsat", "unknown", "timeout"}) {
    if (text.starts_with(word)) return text;
  }
  return no_answer((result.failure.empty() ? "it has no answer" : result.failure) +
                   (text.empty() ? "" : ": " + shorten(text, 120)));
}

// The value of a variable in the answer to (get-value (…)): ((a #x0000000f) (b.x #x01…)).
std::optional<TypedBits> value_in(std::string_view answer, const FormulaVariable& variable,
                                  unsigned word_bits) {
  TypedBits value{variable.type, {}};
  unsigned first = 0;  // bit of the lane
  for (const std::string& lane : lane_names(variable.type, variable.name)) {
    const std::size_t at = answer.find("(" + lane + " #");
    if (at == answer.npos) return {};
    std::string_view digits = answer.substr(at + lane.size() + 3);
    const unsigned each = digits[0] == 'x' ? 4 : 1;  // bits of a digit
    digits = digits.substr(1, digits.find(')') - 1);
    const unsigned width = each * static_cast<unsigned>(digits.size());
    for (unsigned bit = 0; bit < width; ++bit) {
      const char c = digits[digits.size() - 1 - bit / each];
      const auto digit = static_cast<std::uint32_t>(is_digit(c) ? c - '0' : c - 'a' + 10);
      const unsigned to = first + bit;
      value.bits.lanes[to / word_bits] |= (digit >> bit % each & 1) << to % word_bits;
    }
    first += width;
  }
  return value;
}

// --- The cache ----------------------------------------------------------------------------------

using Missing = PrivateFolder::Missing;

std::string cache_key(const std::string& question) { return question + "; by " + solver_name(); }

// An entry without contents says all.
bool is_remembered(const std::string& question) {
  const PrivateFolder proofs(cache_folder("proofs"), Missing::Stays);
  return proofs.read(cache_key(question), 0).has_value();
}

void remember(const std::string& question) {
  PrivateFolder(cache_folder("proofs"), Missing::IsMade).write(cache_key(question), {});
}

// --- Small counterexamples ----------------------------------------------------------------------

constexpr std::size_t kWays = 10;
// Where a law fails only far from zero, steps of one would take for ever.
constexpr int kMaxTrials = 20'000;

// How far from zero a word is; as a number with a sign where it has one.
std::uint32_t magnitude(DataType type, std::uint32_t word) {
  return has_sign(type) && word >> 31 != 0 ? 0 - word : word;
}

// A word that is nearer to zero, or the same where this way does not lead there.
std::uint32_t smaller(DataType type, std::uint32_t now, std::size_t way) {
  const std::uint32_t size = magnitude(type, now);
  const std::uint32_t sizes[kWays] = {
      0, 1, 2, 3, size >> 16, size >> 8, size >> 4, size >> 1, size & (size - 1), size - 1};
  if (sizes[way] >= size) return now;
  return size == now ? sizes[way] : 0 - sizes[way];
}

// Makes the values smaller as long as the law's statement fails for them: one word at a time, and
// the same of all values together.
void minimise(const LawTrial& trial, std::vector<TypedBits>& values) {
  const auto fails = [&] { return !trial(values).holds; };
  if (!fails()) return;
  bool changed = true;
  int trials = 0;
  const auto attempt = [&](auto edit) {
    const std::vector<TypedBits> before = values;
    edit();
    if (values != before && ++trials <= kMaxTrials && fails()) {
      changed = true;
    } else {
      values = before;
    }
  };
  while (std::exchange(changed, false)) {
    for (std::size_t way = 0; way < kWays; ++way) {
      attempt([&] {
        for (TypedBits& value : values) {
          for (std::uint32_t& word : value.bits.lanes) word = smaller(value.type, word, way);
        }
      });
      for (TypedBits& value : values) {
        for (std::uint32_t& word : value.bits.lanes) {
          attempt([&] { word = smaller(value.type, word, way); });
        }
      }
    }
  }
}

// --- A law on numbers ---------------------------------------------------------------------------

// Runs ops on the interpreter.
struct Numbers {
  using Value = TypedBits;
  using Truth = bool;

  const Law& law;
  std::vector<const Op*> ops;
  std::vector<Script> scripts{};  // per op: a program without statements, and its ops; ours is last
  std::vector<TypedBits> sides{};
  RunOptions options{};
  Control control{options, 1};
  NoWatch watch{};
  std::vector<std::unique_ptr<Machine<NoWatch>>> machines{};

  Value call(std::size_t k, std::span<const Value> args) {
    std::vector<Bits> bits;
    for (const Value& value : args) bits.push_back(value.bits);
    const auto last = static_cast<std::uint32_t>(scripts[k].ops.size() - 1);
    return {ops[k]->signature.output, machines[k]->call_op(last, bits)};
  }
  Value constant(std::size_t k) { return std::get<TypedBits>(law.arguments[k]); }
  Value zero() { return {ops[0]->signature.output, {}}; }
  Value add(const Value& a, const Value& b) {
    return {a.type, eval(Operation::Add, a.type, a.bits, b.bits)};
  }
  Truth compared(const Value& a, const Value& b, bool holds) {
    if (!holds) sides = {a, b};
    return holds;
  }
  Truth equal(const Value& a, const Value& b) { return compared(a, b, a.bits == b.bits); }
  Truth at_most(const Value& a, const Value& b) {
    const Bits tests = eval(Operation::Le, a.type, a.bits, b.bits);
    bool all = true;
    for (std::size_t i = 0; i < lane_count(a.type); ++i) all = all && tests.lanes[i] != 0;
    return compared(a, b, all);
  }
  Truth is_one(const Value& a) { return a.bits == Bits{{1}}; }
  Truth both(bool p, bool q) { return p && q; }
  Truth either(bool p, bool q) { return p || q; }
  Truth negated(bool p) { return !p; }
};

}  // namespace

LawTrial law_trial(const Law& law, const Op& op, const Registry& registry) {
  const auto numbers = std::make_shared<Numbers>(law, ops_of(law, op, registry));
  numbers->scripts.reserve(numbers->ops.size());
  for (const Op* each : numbers->ops) {
    Linked linked;
    if (each != nullptr) linked = link(*each, registry);
    numbers->scripts.push_back(make_script(linked));
    numbers->machines.push_back(std::make_unique<Machine<NoWatch>>(
        numbers->scripts.back(), std::span<const Memory>(), numbers->control, numbers->watch));
  }
  return [numbers, &law, &op](const std::vector<TypedBits>& values) -> Trial {
    numbers->sides.clear();
    const bool holds =
        law_statement(*numbers, law, op.signature, std::span<const TypedBits>(values));
    return {holds, holds ? std::vector<TypedBits>() : numbers->sides};
  };
}

std::vector<DataType> law_variables(const Law& law, const OpSignature& f) {
  const DataType first = f.inputs.empty() ? DataType::U32 : f.inputs[0];
  switch (law.kind) {
    case LawKind::Identity:
    case LawKind::Idempotent:
    case LawKind::SelfInverse:
    case LawKind::Absorbing:
    case LawKind::RightIdentity:
    case LawKind::RightAbsorbing:
    case LawKind::Involution: return {first};
    case LawKind::LeftIdentity:
    case LawKind::LeftAbsorbing: return {f.inputs[1]};
    case LawKind::Commutative:
    case LawKind::LatticeAbsorption:
    case LawKind::Trichotomy:
    case LawKind::DeMorgan:
    case LawKind::Monotonic:
    case LawKind::ZeroProduct: return {first, first};
    case LawKind::Associative: return {first, first, first};
    case LawKind::DistributiveOver: return {first, f.output, f.output};
    case LawKind::InverseOf:
      if (f.inputs.size() == 1) return {f.output};
      return {f.output, f.inputs[1]};
    case LawKind::Complement: return {first};
    case LawKind::Bounded: return f.inputs;
  }
  return {};
}

Result<Solved> solve(const std::string& question, std::uint64_t steps) {
  const Result<std::string> answer = ask(question + "(check-sat)\n", steps);
  if (!answer) return answer.diagnostics();
  if (answer->starts_with("sat")) return Solved::Yes;
  return answer->starts_with("unsat") ? Solved::No : Solved::Unknown;
}

std::string values_text(const std::vector<TypedBits>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += (i > 0 ? ", " : "") + name_of(i) + " = " + print_literal(values[i]);
  }
  return text;
}

Result<Proof> prove_none(const std::string& question, const std::vector<FormulaVariable>& variables,
                         const ProveOptions& options) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  Proof proof;
  if (options.use_cache && is_remembered(question)) {
    proof.verdict = Proof::Verdict::Proved;
    proof.remembered = true;
    return proof;
  }
  std::string names;
  for (const FormulaVariable& variable : variables) {
    for (const std::string& lane : lane_names(variable.type, variable.name)) names += lane + " ";
  }
  const Result<std::string> answer =
      ask(question + "(check-sat)\n(get-value (" + names + "))\n", options.steps);
  if (!answer) return answer.diagnostics();
  proof.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (answer->starts_with("unsat")) {
    proof.verdict = Proof::Verdict::Proved;
    if (options.use_cache) remember(question);
    return proof;
  }
  if (!answer->starts_with("sat")) {
    proof.reason = "the solver did not finish in " + plural(options.steps, "step");
    return proof;
  }
  for (const FormulaVariable& variable : variables) {
    const std::optional<TypedBits> value = value_in(*answer, variable, options.word_bits);
    if (!value) {
      proof.values.clear();
      proof.reason = "the solver's answer cannot be read";
      return proof;
    }
    proof.values.push_back(*value);
  }
  proof.verdict = Proof::Verdict::Refuted;
  return proof;
}

Result<Proof> prove(const Law& law, const Op& op, const Registry& registry,
                    const ProveOptions& options) {
  const Result<Question> question = question_of(law, op, registry);
  if (!question.ok()) {
    Proof proof;
    proof.reason = question.diagnostics()[0].problem;
    return proof;
  }
  // A law that says that there is a counterexample is proved by the values, which are not kept.
  const bool exists = denies(law);
  Result<Proof> proof = prove_none(question->text, question->variables,
                                   {options.steps, options.use_cache && !exists});
  if (!proof.ok()) return proof;
  if (proof->verdict == Proof::Verdict::Refuted) {
    const LawTrial trial = law_trial(law, op, registry);
    minimise(trial, proof->values);
    const Trial last = trial(proof->values);
    if (last.holds) {
      // Either the formula or the interpreter is wrong about an operation.
      proof->verdict = Proof::Verdict::Unknown;
      proof->reason = "the solver and the interpreter disagree for " + values_text(proof->values);
      return proof;
    }
    if (law.kind != LawKind::ZeroProduct) proof->sides = last.sides;
    if (exists) proof->verdict = Proof::Verdict::Proved;
  } else if (exists && proof->verdict == Proof::Verdict::Proved) {
    proof->verdict = Proof::Verdict::Refuted;
  }
  return proof;
}

}  // namespace vyre
