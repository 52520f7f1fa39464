// Rewrite rules as data: the rows of rules.def, read into patterns that can be matched against
// expressions, built, evaluated and proved.
//
// A pattern is written like an expression of the text format. Its variables say by their names what
// they stand for; T is the type of the values, one of those that the row names:
//   x y z   any expression of type T            c d   a constant of type T
//   n m     any shift count                     k l   a constant shift count
//   p q     any condition (u32)
// A number is a constant of the type that its place wants, in every lane of a vector; `ones` has
// all bits set; `width` is the number of bits of T; `lowest` and `highest` are the ends of T with
// its sign.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "vyre/ir/program.h"

namespace vyre {

struct RuleRow {
  bool strength;  // only where multiplications and divisions are replaced
  TypeSet types;
  std::string_view pattern;
  std::string_view result;
  std::string_view condition;  // on constants; empty: always
};

std::span<const RuleRow> all_rules();

// Which type a part of a pattern has.
struct Role {
  enum class Kind : std::uint8_t { Open, Value, Count, Test, Fixed };
  Kind kind = Kind::Open;
  DataType fixed = DataType::Unknown;
};
DataType type_of(Role role, DataType t);

struct PatternNode {
  enum class Kind : std::uint8_t { Variable, Number, Apply };
  enum class Number : std::uint8_t { Plain, Ones, Width, Lowest, Highest };
  Kind kind = Kind::Number;
  Operation op = Operation::Literal;  // of Apply; also Select and Cast, whose target is the role
  std::uint8_t variable = 0;
  Number special = Number::Plain;
  std::uint32_t number = 0;
  Role role;
  std::array<std::uint8_t, 3> args{};

  friend bool operator==(const PatternNode& a, const PatternNode& b) {
    return a.kind == b.kind && a.op == b.op && a.variable == b.variable && a.special == b.special &&
           a.number == b.number && a.args == b.args;
  }
};

inline constexpr std::size_t kPatternVariables = 11;
inline constexpr std::string_view kVariableNames = "xyzcdnmklpq";
inline bool is_constant_variable(std::uint8_t variable) {
  const char name = kVariableNames[variable];
  return name == 'c' || name == 'd' || name == 'k' || name == 'l';
}
Role role_of_variable(std::uint8_t variable);

inline constexpr std::size_t kPatternNodes = 24;  // at most

struct Pattern {
  std::vector<PatternNode> nodes;  // operands first; the last one is the root

  const PatternNode& root() const { return nodes.back(); }
  bool empty() const { return nodes.empty(); }
};

// Reads a pattern; nothing when it is not one. A number alone gets the role `wanted`.
std::optional<Pattern> parse_pattern(std::string_view text, Role wanted = {});

// A number of a pattern as a constant of a type.
Bits number_bits(const PatternNode& node, DataType type, DataType t);

// The value of a pattern whose variables have these values.
using PatternValues = std::array<Bits, kPatternVariables>;
Bits evaluate(const Pattern& pattern, DataType t, const PatternValues& values);
// Whether a condition holds: in every lane.
bool holds(const Pattern& condition, DataType t, const PatternValues& values);

// What is at the place of an operand, as far as a look at it tells: an operation, a constant or
// anything.
using Look = std::uint8_t;
inline constexpr Look kAnything = 0;
inline constexpr Look kConstant = static_cast<Look>(Operation::Literal);

// A row ready to be matched; operands of commutative operations are there in each order.
struct Rule {
  bool strength = false;
  TypeSet types = 0;
  Pattern pattern;
  Pattern result;
  Pattern condition;
  std::array<Look, 3> looks{};  // of the operands
  bool twice = false;           // the first two operands are the same variable
  std::uint32_t row = 0;
};
std::optional<Rule> read_rule(const RuleRow& row);

// Those whose pattern has this operation at its root, and whose first two operands may look so.
std::span<const Rule* const> rules_for(Operation op, Look first, Look second);

// Whether operands may change places.
inline constexpr auto kCommutative = [] {
  std::array<bool, 256> commutes{};
#define BINARY(name, text, precedence, tag, types, signature, cost, laws, meaning) \
  commutes[tag] = std::string_view(laws).find("commutative") != std::string_view::npos;
#include "vyre/ir/ops.def"
  // Their document gives them no laws.
  commutes[static_cast<std::size_t>(Operation::And)] = true;
  commutes[static_cast<std::size_t>(Operation::Or)] = true;
  return commutes;
}();
inline bool is_commutative(Operation op) { return kCommutative[static_cast<std::size_t>(op)]; }

}  // namespace vyre
