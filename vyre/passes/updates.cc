#include "vyre/passes/updates.h"

#include <set>

namespace vyre {

std::uint32_t neutral(AtomicOp op, DataType element) {
  const bool is_signed = has_sign(element);
  switch (op) {
    case AtomicOp::Add:
    case AtomicOp::Or:
    case AtomicOp::Xor: return 0;
    case AtomicOp::And: return 0xffffffff;
    case AtomicOp::Min: return is_signed ? 0x7fffffff : 0xffffffff;
    case AtomicOp::Max: return is_signed ? 0x80000000 : 0;
    case AtomicOp::Exchange:
    case AtomicOp::CompareExchange: break;  // do not commute
  }
  return 0;
}

std::map<BufferId, AtomicOp> only_updated(const Program& program) {
  std::map<BufferId, AtomicOp> updated;
  std::set<BufferId> others;
  for (const Expr& expr : program.body.exprs) {
    if (expr.op == Operation::Load) others.insert(BufferId{expr.imm});
  }
  for (const Stmt& stmt : program.body.stmts) {
    if (const Store* store = std::get_if<Store>(&stmt)) others.insert(store->buffer);
    const Atomic* atomic = std::get_if<Atomic>(&stmt);
    if (atomic == nullptr) continue;
    const AtomicOp first = updated.emplace(atomic->buffer, atomic->op).first->second;
    if (!commutes(atomic->op) || atomic->result.exists() || first != atomic->op) {
      others.insert(atomic->buffer);
    }
  }
  for (BufferId other : others) updated.erase(other);
  return updated;
}

}  // namespace vyre
