#include "vyre/passes/rules.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <numeric>

#include "vyre/base/text.h"
#include "vyre/ir/eval.h"

namespace vyre {
namespace {

using namespace type_sets;

constexpr RuleRow kRows[] = {
#define RULE(types, pattern, result, condition) {false, types, pattern, result, condition},
#define STRENGTH(types, pattern, result, condition) {true, types, pattern, result, condition},
#include "vyre/passes/rules.def"
};

// The operator that a text begins with: the longest, `<<` and not `<`.
const OperationInfo* find_infix(std::string_view text) {
  const OperationInfo* longest = nullptr;
  for (const OperationInfo& row : all_operations()) {
    if (row.arity != 2 || row.precedence == 0 || !text.starts_with(row.text)) continue;
    if (longest == nullptr || row.text.size() > longest->text.size()) longest = &row;
  }
  return longest;
}

// Precedence climbing over the operators of ops.def.
class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : rest_(text) {}

  std::optional<Pattern> parse(Role wanted) {
    const std::uint8_t root = infix(1);
    skip();
    if (failed_ || !rest_.empty()) return {};
    settle(root, wanted);
    for (const PatternNode& node : pattern_.nodes) {
      if (node.role.kind == Role::Kind::Open) return {};
    }
    return std::move(pattern_);
  }

 private:
  void skip() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  bool take(std::string_view text) {
    skip();
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  std::uint8_t fail() {
    failed_ = true;
    return add({});
  }
  std::uint8_t add(const PatternNode& node) {
    pattern_.nodes.push_back(node);
    if (pattern_.nodes.size() > kPatternNodes) failed_ = true;
    return static_cast<std::uint8_t>(pattern_.nodes.size() - 1);
  }
  Role role(std::uint8_t node) const { return pattern_.nodes[node].role; }

  // Gives a number, and what is made of numbers alone, the role that its place wants.
  void settle(std::uint8_t node, Role wanted) {
    PatternNode& at = pattern_.nodes[node];
    if (at.role.kind != Role::Kind::Open) return;
    at.role = wanted;
    if (at.kind != PatternNode::Kind::Apply) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(info(at.op).arity); ++i) {
      settle(at.args[i], wanted);
    }
  }

  std::uint8_t apply(Operation op, std::uint8_t a, std::uint8_t b) {
    const OperationInfo& row = info(op);
    Role operand = role(a);
    if (row.arity == 2 && row.signature == Signature::Shift) {
      settle(b, {Role::Kind::Count, {}});
    } else if (row.arity == 2) {
      if (operand.kind == Role::Kind::Open) operand = role(b);
      settle(a, operand);
      settle(b, operand);
    }
    PatternNode node;
    node.kind = PatternNode::Kind::Apply;
    node.op = op;
    node.args = {a, b, 0};
    node.role = operand;
    if (row.signature == Signature::Test) {
      const bool fixed = operand.kind == Role::Kind::Fixed;
      node.role = fixed ? Role{Role::Kind::Fixed, DataType::U32} : Role{Role::Kind::Test, {}};
    }
    return add(node);
  }

  // infix(), prefix() and settle() recurse over a row of rules.def, which has few nodes.
  std::uint8_t infix(int least) {
    std::uint8_t left = prefix();
    while (!failed_) {
      skip();
      if (rest_.empty() || rest_[0] == ')' || rest_[0] == ',') return left;
      const OperationInfo* found = find_infix(rest_);
      if (found == nullptr || found->precedence < least) return left;
      rest_.remove_prefix(found->text.size());
      left = apply(found->op, left, infix(found->precedence + 1));
    }
    return left;
  }

  std::uint8_t prefix() {
    skip();
    if (take("(")) {
      const std::uint8_t inside = infix(1);
      return take(")") ? inside : fail();
    }
    std::size_t size = 0;
    while (size < rest_.size() && is_name_char(rest_[size])) ++size;
    const std::string_view word = rest_.substr(0, size);
    if (word.empty()) {
      for (const OperationInfo& row : all_operations()) {
        if (row.arity == 1 && row.precedence == kPrefixPrecedence && take(row.text)) {
          return apply(row.op, prefix(), 0);
        }
      }
      return fail();
    }
    rest_.remove_prefix(size);
    if (is_digit(word[0])) return number(word);
    return name(word);
  }

  std::uint8_t number(std::string_view word) {
    PatternNode node;
    const bool is_hex = word.starts_with("0x");
    if (is_hex) word.remove_prefix(2);
    std::from_chars(word.data(), word.data() + word.size(), node.number, is_hex ? 16 : 10);
    return add(node);
  }

  std::uint8_t name(std::string_view word) {
    PatternNode node;
    if (word.size() == 1 && kVariableNames.find(word[0]) != kVariableNames.npos) {
      node.kind = PatternNode::Kind::Variable;
      node.variable = static_cast<std::uint8_t>(kVariableNames.find(word[0]));
      node.role = role_of_variable(node.variable);
      return add(node);
    }
    using Number = PatternNode::Number;
    for (const auto& [text, special] : {std::pair("ones", Number::Ones),
                                        {"width", Number::Width},
                                        {"lowest", Number::Lowest},
                                        {"highest", Number::Highest}}) {
      if (word != text) continue;
      node.special = special;
      return add(node);
    }
    std::array<std::uint8_t, 3> args{};
    std::size_t count = 0;
    if (!take("(")) return fail();
    do {
      if (count == args.size()) return fail();
      args[count++] = infix(1);
    } while (!failed_ && take(","));
    if (failed_ || !take(")")) return fail();
    node.kind = PatternNode::Kind::Apply;
    node.args = args;
    if (word == "select" && count == 3) {
      node.op = Operation::Select;
      node.role = role(args[1]).kind == Role::Kind::Open ? role(args[2]) : role(args[1]);
      settle(args[0], {Role::Kind::Fixed, DataType::U32});
      settle(args[1], node.role);
      settle(args[2], node.role);
      return add(node);
    }
    if (const std::optional<DataType> type = find_type(word); type && count == 1) {
      node.op = Operation::Cast;
      node.role = {Role::Kind::Fixed, *type};
      return add(node);
    }
    const OperationInfo* function = find_function(word);
    if (function == nullptr || static_cast<std::size_t>(function->arity) != count) return fail();
    return apply(function->op, args[0], args[1]);
  }

  std::string_view rest_;
  Pattern pattern_;
  bool failed_ = false;
};

// The pattern with the operands of its commutative operations in every order.
std::vector<Pattern> orders_of(const Pattern& pattern) {
  std::vector<Pattern> all{pattern};
  for (std::size_t i = 0; i < pattern.nodes.size(); ++i) {
    const PatternNode& node = pattern.nodes[i];
    if (node.kind != PatternNode::Kind::Apply || !is_commutative(node.op)) continue;
    if (pattern.nodes[node.args[0]] == pattern.nodes[node.args[1]]) continue;
    const std::size_t count = all.size();
    for (std::size_t k = 0; k < count; ++k) {
      Pattern other = all[k];
      std::swap(other.nodes[i].args[0], other.nodes[i].args[1]);
      all.push_back(std::move(other));
    }
  }
  return all;
}

Look look_of(const PatternNode& node) {
  switch (node.kind) {
    case PatternNode::Kind::Variable:
      return is_constant_variable(node.variable) ? kConstant : kAnything;
    case PatternNode::Kind::Number: return kConstant;
    case PatternNode::Kind::Apply: return static_cast<Look>(node.op);
  }
  return kAnything;
}

struct Table {
  std::vector<Rule> rules;
  // The rules of an operation. Looks that none of them asks for are one class.
  struct Of {
    std::array<std::uint8_t, 256> first{};  // per look of the first operand: its class
    std::array<std::uint8_t, 256> second{};
    std::size_t firsts = 1;  // how many classes there are
    std::size_t seconds = 1;
    // Per class of the first, and of the second: a list, which begins here and ends with the next.
    std::vector<std::uint32_t> begins;
    std::vector<const Rule*> lists;
  };
  std::array<Of, 256> operations;

  Table() {
    for (std::size_t i = 0; i < std::size(kRows); ++i) {
      const std::optional<Rule> rule = read_rule(kRows[i]);
      assert(rule);
      if (!rule) continue;
      for (Pattern& pattern : orders_of(rule->pattern)) {
        Rule& each = rules.emplace_back(*rule);
        each.row = static_cast<std::uint32_t>(i);
        each.pattern = std::move(pattern);
        const PatternNode& root = each.pattern.root();
        const auto count = static_cast<std::size_t>(arity(root.op));
        for (std::size_t k = 0; k < count; ++k) {
          each.looks[k] = look_of(each.pattern.nodes[root.args[k]]);
        }
        const PatternNode& first = each.pattern.nodes[root.args[0]];
        each.twice = count == 2 && first.kind == PatternNode::Kind::Variable &&
                     first == each.pattern.nodes[root.args[1]];
      }
    }
    find_classes();
    fill_lists();
  }

  void find_classes() {
    for (const Rule& rule : rules) {
      const auto ask = [](std::array<std::uint8_t, 256>& classes, std::size_t& count, Look look) {
        if (look == kAnything || classes[look] != 0) return;
        classes[look] = static_cast<std::uint8_t>(count++);
      };
      ask(of(rule).first, of(rule).firsts, rule.looks[0]);
      ask(of(rule).second, of(rule).seconds, rule.looks[1]);
    }
  }

  void fill_lists() {
    for (Of& each : operations) each.begins.resize(each.firsts * each.seconds + 1);
    for (const Rule& rule : rules) {
      for_each_list(rule, [&](std::size_t list) { ++of(rule).begins[list]; });
    }
    // First where each list ends; when it has been filled backwards, that is where it begins.
    for (Of& each : operations) {
      std::partial_sum(each.begins.begin(), each.begins.end(), each.begins.begin());
      each.lists.resize(each.begins.back());
    }
    for (std::size_t i = rules.size(); i-- > 0;) {
      Of& to = of(rules[i]);
      for_each_list(rules[i], [&](std::size_t list) { to.lists[--to.begins[list]] = &rules[i]; });
    }
  }

  Of& of(const Rule& rule) { return operations[static_cast<std::size_t>(rule.pattern.root().op)]; }
  // The lists that a rule belongs to, by number.
  template <class Visit>
  void for_each_list(const Rule& rule, Visit visit) {
    const Of& table = of(rule);
    // The classes that a look fits, from the first one to the one after the last.
    const auto fits = [](Look look, std::size_t own, std::size_t count) {
      return look == kAnything ? std::pair(std::size_t{0}, count) : std::pair(own, own + 1);
    };
    const auto [first, end] = fits(rule.looks[0], table.first[rule.looks[0]], table.firsts);
    const auto [second, last] = fits(rule.looks[1], table.second[rule.looks[1]], table.seconds);
    for (std::size_t i = first; i < end; ++i) {
      for (std::size_t k = second; k < last; ++k) visit(i * table.seconds + k);
    }
  }
};

}  // namespace

std::span<const RuleRow> all_rules() { return kRows; }

DataType type_of(Role role, DataType t) {
  switch (role.kind) {
    case Role::Kind::Value: return t;
    case Role::Kind::Count: return second_operand(Operation::Shl, t);
    case Role::Kind::Test: return result_of(Operation::Eq, t);
    case Role::Kind::Fixed: return role.fixed;
    case Role::Kind::Open: break;
  }
  return DataType::Unknown;
}

Role role_of_variable(std::uint8_t variable) {
  const char name = kVariableNames[variable];
  if (name == 'p' || name == 'q') return {Role::Kind::Fixed, DataType::U32};
  const bool count = std::string_view("nmkl").find(name) != std::string_view::npos;
  return {count ? Role::Kind::Count : Role::Kind::Value, {}};
}

std::optional<Pattern> parse_pattern(std::string_view text, Role wanted) {
  return PatternParser(text).parse(wanted);
}

std::optional<Rule> read_rule(const RuleRow& row) {
  Rule rule;
  rule.strength = row.strength;
  rule.types = row.types;
  std::optional<Pattern> pattern = parse_pattern(row.pattern);
  if (!pattern || pattern->root().kind != PatternNode::Kind::Apply) return {};
  std::optional<Pattern> result = parse_pattern(row.result, pattern->root().role);
  if (!result) return {};
  if (!row.condition.empty()) {
    std::optional<Pattern> condition = parse_pattern(row.condition);
    if (!condition) return {};
    rule.condition = std::move(*condition);
  }
  rule.pattern = std::move(*pattern);
  rule.result = std::move(*result);
  // The types of the row choose between operations that are spelt alike.
  for (const TypeInfo& type : all_types()) {
    if (!contains(rule.types, type.type)) continue;
    for (Pattern* each : {&rule.pattern, &rule.result, &rule.condition}) {
      for (PatternNode& node : each->nodes) {
        if (node.kind != PatternNode::Kind::Apply || is_form(node.op)) continue;
        node.op = resolve(node.op, type_of(each->nodes[node.args[0]].role, type.type));
      }
    }
  }
  return rule;
}

Bits number_bits(const PatternNode& node, DataType type, DataType t) {
  const bool wide = lane_bits(type) > 32;
  Bits bits;
  for (std::size_t i = 0; i < words(type); ++i) {
    std::uint32_t& lane = bits.lanes[i];
    const bool is_signed = has_sign(type);
    switch (node.special) {
      case PatternNode::Number::Plain: lane = i == 0 || !wide ? node.number : 0; break;
      case PatternNode::Number::Ones: lane = type == DataType::Bool ? 1 : 0xffffffff; break;
      case PatternNode::Number::Width:
        if (i == 0 || !wide) lane = lane_bits(t);
        break;
      case PatternNode::Number::Lowest: lane = is_signed ? 0x80000000 : 0; break;
      case PatternNode::Number::Highest: lane = is_signed ? 0x7fffffff : 0xffffffff; break;
    }
  }
  return bits;
}

Bits evaluate(const Pattern& pattern, DataType t, const PatternValues& values) {
  std::array<Bits, kPatternNodes> results;
  for (std::size_t i = 0; i < pattern.nodes.size(); ++i) {
    const PatternNode& node = pattern.nodes[i];
    const DataType type = type_of(node.role, t);
    if (node.kind == PatternNode::Kind::Variable) {
      results[i] = values[node.variable];
    } else if (node.kind == PatternNode::Kind::Number) {
      results[i] = number_bits(node, type, t);
    } else if (node.op == Operation::Select) {
      results[i] = results[node.args[results[node.args[0]] == Bits{} ? 2 : 1]];
    } else {
      const DataType operand = type_of(pattern.nodes[node.args[0]].role, t);
      const Bits& a = results[node.args[0]];
      results[i] = node.op == Operation::Cast ? eval_cast(operand, type, a)
                                              : eval(node.op, operand, a, results[node.args[1]]);
    }
  }
  return results[pattern.nodes.size() - 1];
}

bool holds(const Pattern& condition, DataType t, const PatternValues& values) {
  if (condition.empty()) return true;
  const Bits bits = evaluate(condition, t, values);
  const DataType type = type_of(condition.root().role, t);
  for (std::size_t i = 0; i < lane_count(type); ++i) {
    if (bits.lanes[i] == 0) return false;
  }
  return true;
}

std::span<const Rule* const> rules_for(Operation op, Look first, Look second) {
  static const Table& table = *new Table;  // large, and for as long as the process lives
  const Table::Of& of = table.operations[static_cast<std::size_t>(op)];
  const std::size_t list = of.first[first] * of.seconds + of.second[second];
  return std::span(of.lists).subspan(of.begins[list], of.begins[list + 1] - of.begins[list]);
}

}  // namespace vyre
