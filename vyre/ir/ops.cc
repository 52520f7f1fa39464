#include "vyre/ir/ops.h"

#include <algorithm>

namespace vyre {
namespace {

constexpr AtomicInfo kAtomics[] = {
#define ATOMIC(name, text, tag, operands, order, meaning) \
  {AtomicOp::name, text, operands, AtomicOrder::order, meaning},
#include "vyre/ir/ops.def"
};

constexpr CollectiveInfo kCollectives[] = {
#define COLLECTIVE(name, text, tag, operation, shape, meaning) \
  {CollectiveOp::name, text, Operation::operation, CollectiveShape::shape, meaning},
#include "vyre/ir/ops.def"
};

constexpr LawInfo kLaws[] = {
#define LAW(name, text, tag, arguments, meaning) {LawKind::name, text, arguments, meaning},
#include "vyre/ir/laws.def"
};

// These are found by their tags.
template <class Rows>
constexpr bool in_order(const Rows& rows, auto tag_of) {
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    if (static_cast<std::size_t>(tag_of(rows[i])) != i + 1) return false;
  }
  return true;
}
static_assert(in_order(kAtomics, [](const AtomicInfo& row) { return row.op; }));
static_assert(in_order(kCollectives, [](const CollectiveInfo& row) { return row.op; }));
static_assert(in_order(kLaws, [](const LawInfo& row) { return row.kind; }));

// No type is in two rows of a spelling.
static_assert([] {
  for (const OperationInfo& a : kOperationRows) {
    for (const OperationInfo& b : kOperationRows) {
      const bool same = a.text == b.text && a.arity == b.arity && a.op != b.op;
      if (same && (a.types & b.types) != 0) return false;
    }
  }
  return true;
}());

template <class Row, std::size_t N>
const Row* find_text(const Row (&rows)[N], std::string_view text) {
  const Row* row = std::find_if(rows, rows + N, [&](const Row& r) { return r.text == text; });
  return row == rows + N ? nullptr : row;
}

}  // namespace

std::optional<Operation> operation_of_tag(std::uint32_t tag) {
  if (tag >= kOperationTags || kOperationsByTag[tag].text.empty()) return std::nullopt;
  return static_cast<Operation>(tag);
}

Operation resolve(Operation op, DataType first) {
  const OperationInfo& spelt = info(op);
  if (contains(spelt.types, first)) return op;
  for (const OperationInfo& row : kOperationRows) {
    if (row.text == spelt.text && row.arity == spelt.arity && contains(row.types, first)) {
      return row.op;
    }
  }
  return op;
}

std::string_view id_name(Operation op) {
  if (op == Operation::InvocationId) return "invocation_id";
  if (op == Operation::WorkgroupId) return "workgroup_id";
  if (op == Operation::NumWorkgroups) return "num_workgroups";
  return op == Operation::LocalId ? "local_id" : "";
}

const OperationInfo* find_function(std::string_view name) {
  for (const OperationInfo& row : kOperationRows) {
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

std::span<const CollectiveInfo> all_collectives() { return kCollectives; }
const CollectiveInfo& tables::info(CollectiveOp op) {
  return kCollectives[static_cast<std::size_t>(op) - 1];
}
const CollectiveInfo* find_collective(std::string_view text) {
  return find_text(kCollectives, text);
}
std::optional<CollectiveOp> collective_of_tag(std::uint32_t tag) {
  if (tag < 1 || tag > std::size(kCollectives)) return std::nullopt;
  return static_cast<CollectiveOp>(tag);
}

std::span<const LawInfo> all_laws() { return kLaws; }
const LawInfo& tables::info(LawKind kind) { return kLaws[static_cast<std::size_t>(kind) - 1]; }
const LawInfo* find_law(std::string_view text) { return find_text(kLaws, text); }
std::optional<LawKind> law_of_tag(std::uint32_t tag) {
  if (tag < 1 || tag > std::size(kLaws)) return std::nullopt;
  return static_cast<LawKind>(tag);
}

}  // namespace vyre
