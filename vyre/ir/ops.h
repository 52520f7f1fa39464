// Operations, atomics, statements and laws as enums with the facts of their rows in ops.def and
// laws.def. The value of an enumerator is its tag in the wire format.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "vyre/ir/types.h"

namespace vyre {

enum class Operation : std::uint8_t {
#define FORM(name, tag, arity, meaning) name = tag,
#define UNARY(name, text, tag, types, signature, laws, meaning) name = tag,
#define BINARY(name, text, precedence, tag, types, signature, laws, meaning) name = tag,
#include "vyre/ir/ops.def"
};

enum class Signature : std::uint8_t { Form, Same, Shift, Test };

struct OperationInfo {
  Operation op;
  std::string_view name;  // "BitXor"
  std::string_view text;  // "^"; the name for a form
  int arity;              // -1: as many as the operand list says
  int precedence;         // of an infix or prefix operator, loosest first; 0 otherwise
  TypeSet types;
  Signature signature;
  std::string_view laws;
  std::string_view meaning;
};

inline constexpr int kComparisonPrecedence = 3;  // these do not chain
inline constexpr int kPrefixPrecedence = 10;

// How many operands an operation has, and its signature, for the loops that run over every
// expression.
inline constexpr auto kArity = [] {
  std::array<std::int8_t, 256> arity{};
#define FORM(name, tag, count, meaning) arity[tag] = count;
#define UNARY(name, text, tag, types, signature, laws, meaning) arity[tag] = 1;
#define BINARY(name, text, precedence, tag, types, signature, laws, meaning) arity[tag] = 2;
#include "vyre/ir/ops.def"
  return arity;
}();
inline constexpr auto kSignature = [] {
  std::array<Signature, 256> all{};
#define UNARY(name, text, tag, types, signature, laws, meaning) all[tag] = Signature::signature;
#define BINARY(name, text, precedence, tag, types, signature, laws, meaning) \
  all[tag] = Signature::signature;
#include "vyre/ir/ops.def"
  return all;
}();

std::span<const OperationInfo> all_operations();
const OperationInfo& info(Operation op);
std::optional<Operation> operation_of_tag(std::uint32_t tag);

inline bool is_form(Operation op) { return info(op).signature == Signature::Form; }

// A function by the name it is called with, such as "popcount".
const OperationInfo* find_function(std::string_view name);

// The type of an operation's second operand, and of its result, for a first operand of a type in
// its set.
inline DataType second_operand(Operation op, DataType first) {
  const bool shifts = kSignature[static_cast<std::size_t>(op)] == Signature::Shift;
  return shifts && !is_vector(first) ? DataType::U32 : first;
}
inline DataType result_of(Operation op, DataType first) {
  const bool tests = kSignature[static_cast<std::size_t>(op)] == Signature::Test;
  return tests && !is_vector(first) ? DataType::U32 : first;
}

enum class AtomicOp : std::uint8_t {
#define ATOMIC(name, text, tag, operands, order, meaning) name = tag,
#include "vyre/ir/ops.def"
};

enum class AtomicOrder : std::uint8_t { Any, Own };  // Any: updates of this kind commute

struct AtomicInfo {
  AtomicOp op;
  std::string_view text;
  int operands;
  AtomicOrder order;
  std::string_view meaning;
};

std::span<const AtomicInfo> all_atomics();
const AtomicInfo& info(AtomicOp op);
const AtomicInfo* find_atomic(std::string_view text);
std::optional<AtomicOp> atomic_of_tag(std::uint32_t tag);

enum class LawKind : std::uint8_t {
#define LAW(name, text, tag, arguments, meaning) name = tag,
#include "vyre/ir/laws.def"
};

struct LawInfo {
  LawKind kind;
  std::string_view text;
  std::string_view arguments;
  std::string_view meaning;
};

std::span<const LawInfo> all_laws();
const LawInfo& info(LawKind kind);
const LawInfo* find_law(std::string_view text);
std::optional<LawKind> law_of_tag(std::uint32_t tag);

}  // namespace vyre
