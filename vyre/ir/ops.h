// Operations, atomics, collectives, statements and laws as enums with the facts of their rows in
// ops.def and laws.def. The value of an enumerator is its tag in the wire format.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "vyre/ir/types.h"

namespace vyre {

namespace tables {  // see types.h

enum class Operation : std::uint8_t {
#define FORM(name, tag, ...) name = tag,
#define OPERATION(name, tag) name = tag,
#include "vyre/ir/ops.def"
};

enum class Signature : std::uint8_t { Form, Same, Shift, Test };
enum class Cost : std::uint8_t { None, One, Many };

struct OperationInfo {
  Operation op;
  Signature signature;
  Cost cost;
  int arity;  // -1: as many as the operand list says
  TypeSet types;
  int precedence;         // of an infix or prefix operator, loosest first; 0 otherwise
  std::string_view name;  // "BitXor"
  std::string_view text;  // "^"; the name for a form
  std::string_view laws;
  std::string_view meaning;
};
constexpr const OperationInfo& info(Operation op);

enum class AtomicOp : std::uint8_t {
#define ATOMIC(name, text, tag, ...) name = tag,
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
const AtomicInfo& info(AtomicOp op);

enum class CollectiveOp : std::uint8_t {
#define COLLECTIVE(name, text, tag, ...) name = tag,
#include "vyre/ir/ops.def"
};

// Which invocations a result comes from, and which of them get the same one.
enum class CollectiveShape : std::uint8_t { All, Before, One, Own };

struct CollectiveInfo {
  CollectiveOp op;
  std::string_view text;
  Operation operation;
  CollectiveShape shape;
  std::string_view meaning;

  // Whether it takes the number of an invocation.
  constexpr bool chooses() const {
    return shape == CollectiveShape::One || shape == CollectiveShape::Own;
  }
  // Whether the result is the same in the whole workgroup.
  constexpr bool is_uniform() const {
    return shape == CollectiveShape::All || shape == CollectiveShape::One;
  }
};
const CollectiveInfo& info(CollectiveOp op);

enum class LawKind : std::uint8_t {
#define LAW(name, text, tag, ...) name = tag,
#include "vyre/ir/laws.def"
};

struct LawInfo {
  LawKind kind;
  std::string_view text;
  std::string_view arguments;
  std::string_view meaning;
};
const LawInfo& info(LawKind kind);

}  // namespace tables
using tables::AtomicInfo;
using tables::AtomicOp;
using tables::AtomicOrder;
using tables::CollectiveInfo;
using tables::CollectiveOp;
using tables::CollectiveShape;
using tables::Cost;
using tables::LawInfo;
using tables::LawKind;
using tables::Operation;
using tables::OperationInfo;
using tables::Signature;

// --- Operations ---------------------------------------------------------------------------------

inline constexpr int kComparisonPrecedence = 3;  // these do not chain
inline constexpr int kPrefixPrecedence = 10;

inline constexpr auto kOperationRows = [] {
  using namespace type_sets;
  constexpr auto prefix = [](std::string_view text) {
    return text.size() == 1 ? kPrefixPrecedence : 0;
  };
  return std::to_array<OperationInfo>({
#define FORM(name, tag, arity, cost, meaning) \
  {Operation::name, Signature::Form, Cost::cost, arity, 0, 0, #name, #name, "", meaning},
#define UNARY(name, text, tag, types, signature, cost, laws, meaning)                            \
  {Operation::name, Signature::signature, Cost::cost, 1, types, prefix(text), #name, text, laws, \
   meaning},
#define BINARY(name, text, precedence, tag, types, signature, cost, laws, meaning)             \
  {Operation::name, Signature::signature, Cost::cost, 2, types, precedence, #name, text, laws, \
   meaning},
#include "vyre/ir/ops.def"
  });
}();

// By tag, for constant-time look-up; those without a text are free.
inline constexpr std::size_t kOperationTags = 96;
inline constexpr auto kOperationsByTag = [] {
  std::array<OperationInfo, kOperationTags> all{};
  for (const OperationInfo& row : kOperationRows) all[static_cast<std::size_t>(row.op)] = row;
  return all;
}();
constexpr const OperationInfo& tables::info(Operation op) {
  return kOperationsByTag[static_cast<std::size_t>(op)];
}

constexpr std::span<const OperationInfo> all_operations() { return kOperationRows; }
std::optional<Operation> operation_of_tag(std::uint32_t tag);

constexpr int arity(Operation op) { return info(op).arity; }
constexpr Signature signature(Operation op) { return info(op).signature; }
constexpr TypeSet operand_types(Operation op) { return info(op).types; }
constexpr Cost cost(Operation op) { return info(op).cost; }
// Whether it is only in programs as they are written: none is left when calls are expanded.
constexpr bool is_written(Operation op) {
  constexpr Operation kWritten[] = {
#define WRITTEN(name, tag) Operation::name,
#include "vyre/ir/ops.def"
  };
  return std::ranges::find(kWritten, op) != std::end(kWritten);
}
constexpr bool is_form(Operation op) { return signature(op) == Signature::Form; }

// Of the rows with the spelling of `op`, the one that takes a first operand of this type; `op`
// where none does.
Operation resolve(Operation op, DataType first);

// "invocation_id", "workgroup_id", "local_id" or "num_workgroups"; of any other operation "".
std::string_view id_name(Operation op);

// A function by the name it is called with, such as "popcount".
const OperationInfo* find_function(std::string_view name);

// The type of an operation's second operand, and of its result, for a first operand of a type in
// its set.
inline DataType second_operand(Operation op, DataType first) {
  return signature(op) == Signature::Shift && !is_vector(first) ? DataType::U32 : first;
}
inline DataType result_of(Operation op, DataType first) {
  return signature(op) == Signature::Test && !is_vector(first) ? DataType::U32 : first;
}

// Whether it gives 0 or 1; `Test` only says that the result is a u32.
constexpr bool gives_truth(Operation op) {
  return signature(op) == Signature::Test && op != Operation::Popcount && op != Operation::Clz &&
         op != Operation::Ctz;
}

// --- Atomics, collectives and laws --------------------------------------------------------------

std::span<const AtomicInfo> all_atomics();
const AtomicInfo* find_atomic(std::string_view text);
std::optional<AtomicOp> atomic_of_tag(std::uint32_t tag);

std::span<const CollectiveInfo> all_collectives();
const CollectiveInfo* find_collective(std::string_view text);
std::optional<CollectiveOp> collective_of_tag(std::uint32_t tag);

std::span<const LawInfo> all_laws();
const LawInfo* find_law(std::string_view text);
std::optional<LawKind> law_of_tag(std::uint32_t tag);

}  // namespace vyre
