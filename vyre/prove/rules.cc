#include "vyre/prove/rules.h"

#include <algorithm>
#include <bit>

#include "vyre/base/text.h"
#include "vyre/ir/eval.h"
#include "vyre/prove/smt.h"

namespace vyre {
namespace {

using PatternSymbols = std::array<Symbol, kPatternVariables>;

// A pattern as a formula; with `lanes` lanes, at most as many as T has.
Symbol symbol_of(Formula& formula, const Pattern& pattern, DataType t, std::size_t lanes,
                 const PatternSymbols& variables) {
  std::vector<Symbol> made;
  made.reserve(pattern.nodes.size());
  for (const PatternNode& node : pattern.nodes) {
    const DataType type = type_of(node.role, t);
    const auto operand = [&](std::size_t i) -> const Symbol& { return made[node.args[i]]; };
    if (node.kind == PatternNode::Kind::Variable) {
      made.push_back(variables[node.variable]);
    } else if (node.kind == PatternNode::Kind::Number) {
      made.push_back(formula.constant(type, number_bits(node, type, t)));
    } else if (node.op == Operation::Select) {
      made.push_back(formula.select(formula.is_true(operand(0)), operand(1), operand(2)));
    } else if (node.op == Operation::Cast) {
      made.push_back(formula.cast(type, operand(0)));
    } else {
      const bool unary = info(node.op).arity == 1;
      made.push_back(formula.apply(node.op, operand(0), operand(unary ? 0 : 1)));
    }
    made.back().lanes.resize(std::min(made.back().lanes.size(), lanes));
  }
  return made.back();
}

// Whether a condition holds: in every lane.
std::string truth_of(Formula& formula, const Symbol& condition) {
  std::string all = "true";
  for (std::size_t i = 0; i < condition.lanes.size(); ++i) {
    all = formula.both(all, formula.is_true(condition.lane(i)));
  }
  return all;
}

bool applies(const PatternNode& node, Operation op) {
  return node.kind == PatternNode::Kind::Apply && node.op == op;
}

// Lanes of a vector meet only in these; elsewhere what holds for one lane holds for all, and the
// question is the same as for a u32.
bool lanes_meet(const Pattern& pattern) {
  return std::ranges::any_of(pattern.nodes, [](const PatternNode& node) {
    return applies(node, Operation::Select) || applies(node, Operation::Cast);
  });
}

Bits in_every_lane(DataType type, std::uint32_t word) {
  Bits bits;
  for (std::size_t i = 0; i < lane_count(type); ++i) bits.lanes[i] = word;
  return bits;
}

// The parts of a condition that all have to hold.
std::vector<PatternNode> conjuncts(const Pattern& condition) {
  std::vector<PatternNode> found;
  std::vector<std::size_t> parts;
  if (!condition.empty()) parts.push_back(condition.nodes.size() - 1);
  while (!parts.empty()) {
    const PatternNode& part = condition.nodes[parts.back()];
    parts.pop_back();
    if (applies(part, Operation::BitAnd)) {
      parts.insert(parts.end(), {part.args[0], part.args[1]});
    } else {
      found.push_back(part);
    }
  }
  return found;
}

// What the solver cannot see through as a variable takes its values one after the other: a constant
// that is a power of two or its negative, and what a shift count is modulo the width.
struct Cases {
  std::uint8_t variable = 0;
  bool rest_is_open = false;  // only the low bits of a count are known
  std::vector<Bits> values;
};

std::vector<Cases> cases_of(const Rule& rule, const std::vector<std::uint8_t>& variables,
                            DataType t) {
  std::vector<Cases> all;
  const DataType count = second_operand(Operation::Shl, t);
  const auto add = [&](std::uint8_t variable, bool rest_is_open, const auto& value) {
    Cases cases{variable, rest_is_open, {}};
    for (std::uint32_t k = 0; k < lane_bits(t); ++k) {
      cases.values.push_back(value(in_every_lane(count, k)));
    }
    all.push_back(std::move(cases));
  };
  const auto same = [](const Bits& k) { return k; };
  const std::vector<PatternNode>& nodes = rule.condition.nodes;
  for (const PatternNode& part : conjuncts(rule.condition)) {
    const PatternNode& left = nodes[part.args[0]];
    const PatternNode& right = nodes[part.args[1]];
    if (applies(part, Operation::Lt) && left.kind == PatternNode::Kind::Variable &&
        left.role.kind == Role::Kind::Count && right.special == PatternNode::Number::Width) {
      add(left.variable, false, same);
    } else if (applies(part, Operation::Eq) && applies(left, Operation::Popcount) &&
               right.kind == PatternNode::Kind::Number && right.number == 1) {
      const PatternNode& counted = nodes[left.args[0]];
      const bool negative = applies(counted, Operation::Negate);
      const PatternNode& of = negative ? nodes[counted.args[0]] : counted;
      if (of.kind != PatternNode::Kind::Variable || of.role.kind != Role::Kind::Value) continue;
      add(of.variable, false, [&](const Bits& k) {
        const Bits power = eval(Operation::Shl, t, in_every_lane(t, 1), k);
        return negative ? eval(Operation::Negate, t, power) : power;
      });
    }
  }
  std::vector<std::uint8_t> counts;
  for (std::uint8_t variable : variables) {
    if (role_of_variable(variable).kind == Role::Kind::Count) counts.push_back(variable);
  }
  const bool shifts = std::ranges::any_of(rule.pattern.nodes, [](const PatternNode& node) {
    return node.kind == PatternNode::Kind::Apply && info(node.op).signature == Signature::Shift;
  });
  if (all.empty() && shifts && counts.size() == 1) add(counts[0], true, same);
  return all;
}

// Calls `each` with every choice of cases, until it returns true.
bool any_of_all(const std::vector<Cases>& cases, const auto& each) {
  std::size_t choices = 1;
  for (const Cases& of : cases) choices *= of.values.size();
  std::vector<Bits> chosen(cases.size());
  for (std::size_t choice = 0; choice < choices; ++choice) {
    std::size_t rest = choice;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      chosen[i] = cases[i].values[rest % cases[i].values.size()];
      rest /= cases[i].values.size();
    }
    if (each(chosen)) return true;
  }
  return false;
}

// The count with its low bits replaced.
Symbol with_low_bits(const Symbol& count, unsigned width, std::uint32_t low) {
  const std::string bits = std::to_string(std::bit_width(width - 1));
  Symbol result{count.type, {}, {}};
  for (const std::string& lane : count.lanes) {
    result.lanes.push_back("(concat ((_ extract 31 " + bits + ") " + lane + ") (_ bv" +
                           std::to_string(low) + " " + bits + "))");
  }
  return result;
}

// A row for one type, ready to be asked about.
struct Statement {
  const Rule& rule;
  DataType t;
  unsigned word_bits;
  std::vector<std::uint8_t> variables;
  bool one_lane = false;
  std::vector<Cases> cases;

  DataType type(std::uint8_t variable) const { return type_of(role_of_variable(variable), t); }
};

Statement statement_of(const Rule& rule, DataType t, unsigned word_bits) {
  Statement statement{rule, t, word_bits, variables_of(rule.pattern), false, {}};
  const bool meet =
      lanes_meet(rule.pattern) || lanes_meet(rule.result) || lanes_meet(rule.condition);
  statement.one_lane = is_vector(t) && !meet;
  // The same value in every lane is enough only where lanes do not meet. Narrow words need no
  // cases.
  const bool has_cases = word_bits == 32 && (!is_vector(t) || !meet);
  if (has_cases) statement.cases = cases_of(rule, statement.variables, t);
  return statement;
}

// Whether the numbers of a row are the same where words have so few bits.
bool is_narrow(const Rule& rule, unsigned word_bits) {
  const auto fits = [&](const PatternNode& node) {
    return node.kind != PatternNode::Kind::Number || node.special == PatternNode::Number::Ones ||
           (node.special == PatternNode::Number::Plain && node.number >> (word_bits - 1) == 0);
  };
  return std::ranges::all_of(
      std::array{&rule.pattern, &rule.result, &rule.condition},
      [&](const Pattern* pattern) { return std::ranges::all_of(pattern->nodes, fits); });
}

// Whether the condition is only about what is known in each case. Then there is no need to ask.
bool is_decided(const Statement& statement) {
  return std::ranges::all_of(variables_of(statement.rule.condition), [&](std::uint8_t name) {
    return std::ranges::any_of(
        statement.cases, [&](const Cases& of) { return of.variable == name && !of.rest_is_open; });
  });
}

// Asks for values for which the row is wrong; `variables` are those of the question.
std::string question_of(const Statement& statement, std::vector<FormulaVariable>& variables) {
  const Rule& rule = statement.rule;
  const DataType t = statement.t;
  const std::size_t lanes = statement.one_lane ? 1 : 4;
  Formula formula(statement.word_bits);
  PatternSymbols open;
  for (std::uint8_t name : statement.variables) {
    const DataType type = statement.one_lane ? DataType::U32 : statement.type(name);
    variables.push_back({std::string(1, kVariableNames[name]), type});
    open[name] = formula.variable(type, variables.back().name);
    open[name].type = statement.type(name);
  }
  const bool decided = is_decided(statement);
  std::string wrong = "false";
  PatternSymbols symbols = open;
  any_of_all(statement.cases, [&](const std::vector<Bits>& chosen) {
    PatternValues values;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      values[statement.cases[i].variable] = chosen[i];
    }
    if (decided && !holds(rule.condition, t, values)) return false;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const Cases& of = statement.cases[i];
      const Symbol& symbol = open[of.variable];
      symbols[of.variable] = of.rest_is_open
                                 ? with_low_bits(symbol, lane_bits(t), chosen[i].lanes[0])
                                 : formula.constant(symbol.type, chosen[i]);
    }
    const auto made = [&](const Pattern& pattern) {
      return symbol_of(formula, pattern, t, lanes, symbols);
    };
    const std::string given = decided ? "true" : truth_of(formula, made(rule.condition));
    const Symbol before = made(rule.pattern);
    const Symbol after = made(rule.result);
    const std::string differ = formula.negated(formula.equal(before, after));
    wrong = formula.either(wrong, formula.both(given, differ));
    return false;
  });
  return formula.question(wrong);
}

// Completes what the solver found: the case in which the row is wrong, by eval() this time.
bool complete(const Statement& statement, Proof& proof) {
  const DataType t = statement.t;
  PatternValues found;
  for (std::size_t i = 0; i < proof.values.size(); ++i) {
    TypedBits& value = proof.values[i];
    value.type = statement.type(statement.variables[i]);
    if (statement.one_lane) value.bits = in_every_lane(value.type, value.bits.lanes[0]);
    found[statement.variables[i]] = value.bits;
  }
  return any_of_all(statement.cases, [&](const std::vector<Bits>& chosen) {
    PatternValues values = found;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const Cases& of = statement.cases[i];
      Bits& bits = values[of.variable];
      const std::uint32_t high = bits.lanes[0] & ~(lane_bits(t) - 1);
      bits = of.rest_is_open ? in_every_lane(statement.type(of.variable), high | chosen[i].lanes[0])
                             : chosen[i];
    }
    if (!holds(statement.rule.condition, t, values)) return false;
    const DataType type = type_of(statement.rule.pattern.root().role, t);
    proof.sides = {{type, evaluate(statement.rule.pattern, t, values)},
                   {type, evaluate(statement.rule.result, t, values)}};
    for (std::size_t i = 0; i < proof.values.size(); ++i) {
      proof.values[i].bits = values[statement.variables[i]];
    }
    return proof.sides[0] != proof.sides[1];
  });
}

}  // namespace

std::vector<std::uint8_t> variables_of(const Pattern& pattern) {
  std::vector<std::uint8_t> all;
  for (const PatternNode& node : pattern.nodes) {
    if (node.kind == PatternNode::Kind::Variable) all.push_back(node.variable);
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Result<Proof> prove_rule(const RuleRow& row, DataType t, const ProveOptions& options) {
  Proof unknown;
  const std::optional<Rule> rule = read_rule(row);
  if (!rule) unknown.reason = "the row cannot be read";
  if (rule && options.word_bits != 32 && !is_narrow(*rule, options.word_bits)) {
    unknown.reason = "a number is not the same in " + plural(options.word_bits, "bit");
  }
  if (!unknown.reason.empty()) return unknown;
  const Statement statement = statement_of(*rule, t, options.word_bits);
  std::vector<FormulaVariable> variables;
  const std::string question = question_of(statement, variables);
  Result<Proof> proof = prove_none(question, variables, options);
  const bool is_refuted = proof.ok() && proof->verdict == Proof::Verdict::Refuted;
  if (is_refuted && options.word_bits == 32 && !complete(statement, *proof)) {
    proof->verdict = Proof::Verdict::Unknown;
    proof->reason = "the solver and eval() disagree";
  }
  return proof;
}

// --- Lowering -----------------------------------------------------------------------------------

namespace {

// The low half of a u64 or u128 and the high one.
std::vector<Symbol> halves_of(Formula& formula, const Symbol& value) {
  const DataType half = half_of(value.type);
  const unsigned width = formula.width(half);
  const std::string high = "((_ extract " + std::to_string(2 * width - 1) + " " +
                           std::to_string(width) + ") " + value.lanes[0] + ")";
  return {formula.cast(half, value), Symbol{half, {high}, {}}};
}

}  // namespace

Result<Proof> prove_row(const LowerRow& row, const ProveOptions& options) {
  Formula formula(options.word_bits);
  const bool is_cast = row.op == Operation::Cast;
  const bool unary = is_cast || info(row.op).arity == 1;
  std::vector<FormulaVariable> variables{{"a", row.type}};
  if (!unary) variables.push_back({"b", second_operand(row.op, row.type)});
  // An operand is two parameters where its type is not theirs.
  std::vector<Symbol> operands;
  std::vector<Symbol> arguments;
  for (const FormulaVariable& each : variables) {
    operands.push_back(formula.variable(each.type, each.name));
    const Symbol& operand = operands.back();
    if (row.low->signature.inputs[arguments.size()] == operand.type) {
      arguments.push_back(operand);
    } else {
      for (Symbol& half : halves_of(formula, operand)) arguments.push_back(std::move(half));
    }
  }
  const Symbol meant = is_cast ? formula.cast(row.target, operands[0])
                               : formula.apply(row.op, operands[0], operands.back());
  const std::vector<Symbol> wanted =
      row.high != nullptr ? halves_of(formula, meant) : std::vector{meant};
  std::string same = "true";
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Result<Symbol> given = formula.apply(i == 0 ? *row.low : *row.high, arguments);
    if (!given.ok()) return given.diagnostics();
    same = formula.both(same, formula.equal(*given, wanted[i]));
  }
  return prove_none(formula.question(formula.negated(same)), variables, options);
}

}  // namespace vyre
