#include "vyre/ir/ops.h"

#include <algorithm>
#include <array>

namespace vyre {
namespace {

using namespace type_sets;

constexpr int prefix_precedence(std::string_view text) {
  return text.size() == 1 ? kPrefixPrecedence : 0;
}

constexpr OperationInfo kOperations[] = {
#define FORM(name, tag, arity, cost, meaning) \
  {Operation::name, #name, #name, arity, 0, 0, Signature::Form, "", meaning},
#define UNARY(name, text, tag, types, signature, cost, laws, meaning)      \
  {Operation::name,      #name, text,   1, prefix_precedence(text), types, \
   Signature::signature, laws,  meaning},
#define BINARY(name, text, precedence, tag, types, signature, cost, laws, meaning) \
  {Operation::name, #name, text, 2, precedence, types, Signature::signature, laws, meaning},
#include "vyre/ir/ops.def"
};

constexpr AtomicInfo kAtomics[] = {
#define ATOMIC(name, text, tag, operands, order, meaning) \
  {AtomicOp::name, text, operands, AtomicOrder::order, meaning},
#include "vyre/ir/ops.def"
};

constexpr LawInfo kLaws[] = {
#define LAW(name, text, tag, arguments, meaning) {LawKind::name, text, arguments, meaning},
#include "vyre/ir/laws.def"
};

// Atomics and laws are found by their tags.
template <class Rows>
constexpr bool in_order(const Rows& rows, auto tag_of) {
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    if (static_cast<std::size_t>(tag_of(rows[i])) != i + 1) return false;
  }
  return true;
}
static_assert(in_order(kAtomics, [](const AtomicInfo& row) { return row.op; }));
static_assert(in_order(kLaws, [](const LawInfo& row) { return row.kind; }));

// No type is in two rows of a spelling.
static_assert([] {
  for (const OperationInfo& a : kOperations) {
    for (const OperationInfo& b : kOperations) {
      const bool same = a.text == b.text && a.arity == b.arity && a.op != b.op;
      if (same && (a.types & b.types) != 0) return false;
    }
  }
  return true;
}());

// Position of each tag in a table, for constant-time look-up.
template <class Rows>
constexpr std::array<std::uint8_t, 256> index_by_tag(const Rows& rows, auto tag_of) {
  std::array<std::uint8_t, 256> index{};
  index.fill(255);
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    index[static_cast<std::size_t>(tag_of(rows[i]))] = static_cast<std::uint8_t>(i);
  }
  return index;
}
constexpr auto kOperationIndex =
    index_by_tag(kOperations, [](const OperationInfo& row) { return row.op; });

template <class Row, std::size_t N>
const Row* find_text(const Row (&rows)[N], std::string_view text) {
  const Row* row = std::find_if(rows, rows + N, [&](const Row& r) { return r.text == text; });
  return row == rows + N ? nullptr : row;
}

}  // namespace

std::span<const OperationInfo> all_operations() { return kOperations; }

const OperationInfo& tables::info(Operation op) {
  return kOperations[kOperationIndex[static_cast<std::size_t>(op)]];
}

std::optional<Operation> operation_of_tag(std::uint32_t tag) {
  if (tag > 255 || kOperationIndex[tag] == 255) return std::nullopt;
  return static_cast<Operation>(tag);
}

Operation resolve(Operation op, DataType first) {
  const OperationInfo& spelt = info(op);
  if (contains(spelt.types, first)) return op;
  for (const OperationInfo& row : kOperations) {
    if (row.text == spelt.text && row.arity == spelt.arity && contains(row.types, first)) {
      return row.op;
    }
  }
  return op;
}

std::string_view id_name(Operation op) {
  if (op == Operation::InvocationId) return "invocation_id";
  if (op == Operation::WorkgroupId) return "workgroup_id";
  return op == Operation::LocalId ? "local_id" : "";
}

const OperationInfo* find_function(std::string_view name) {
  for (const OperationInfo& row : kOperations) {
    if (row.signature != Signature::Form && row.precedence == 0 && row.text == name) return &row;
  }
  return nullptr;
}

std::span<const AtomicInfo> all_atomics() { return kAtomics; }
const AtomicInfo& tables::info(AtomicOp op) { return kAtomics[static_cast<std::size_t>(op) - 1]; }
const AtomicInfo* find_atomic(std::string_view text) { return find_text(kAtomics, text); }
std::optional<AtomicOp> atomic_of_tag(std::uint32_t tag) {
  if (tag < 1 || tag > std::size(kAtomics)) return std::nullopt;
  return static_cast<AtomicOp>(tag);
}

std::span<const LawInfo> all_laws() { return kLaws; }
const LawInfo& tables::info(LawKind kind) { return kLaws[static_cast<std::size_t>(kind) - 1]; }
const LawInfo* find_law(std::string_view text) { return find_text(kLaws, text); }
std::optional<LawKind> law_of_tag(std::uint32_t tag) {
  if (tag < 1 || tag > std::size(kLaws)) return std::nullopt;
  return static_cast<LawKind>(tag);
}

}  // namespace vyre
