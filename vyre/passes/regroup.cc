#include "vyre/passes/regroup.h"

#include <algorithm>
#include <set>

#include "vyre/ir/walk.h"
#include "vyre/passes/formulas.h"
#include "vyre/passes/pass.h"

namespace vyre {

bool has_free_workgroups(const Program& program) {
  return std::ranges::none_of(
             program.buffers,
             [](const BufferDecl& buffer) { return buffer.access == BufferAccess::Workgroup; }) &&
         std::ranges::none_of(program.body.stmts, [](const Stmt& stmt) { return waits(stmt); });
}

Program regrouped(const Program& program, std::array<std::uint32_t, 3> size) {
  struct Writer {
    Draft& draft;
    const std::array<std::uint32_t, 3>& before;
    std::vector<ExprId> memo;

    Keep statement(StmtId, const Stmt& source) {
      const auto id = [&](ExprId, const Expr& expr, std::span<const ExprId>) {
        const bool local = expr.op == Operation::LocalId;
        if (!local && expr.op != Operation::WorkgroupId) return ExprId{};
        const std::uint32_t size = before[expr.detail];
        if (size == draft.from().workgroup_size[expr.detail]) return ExprId{};
        Formulas f{draft};
        return f.make.make(local ? Operation::Mod : Operation::Div,
                           {f.id(Operation::InvocationId, expr.detail), f.number(size)});
      };
      draft.put(with_roots(source, [&](ExprId root) { return copy_expr(draft, root, memo, id); }));
      return Keep::All;
    }
  };
  Program from = program;
  from.workgroup_size = size;
  Draft draft(from, kFold | kAlgebra | kStrength);
  Writer pass{draft, program.workgroup_size, std::vector<ExprId>(program.body.exprs.size())};
  rewrite(draft, pass);
  Program result = std::move(draft).finish();
  if (result.body == program.body) return result;
  // Ids have become divisions by constants, in which there may be a little to find.
  const Pass* const passes[] = {find_pass("decide"), find_pass("strength")};
  return optimise(std::move(result), passes);
}

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
    case AtomicOp::CompareExchange:
    case AtomicOp::Load:
    case AtomicOp::Store: break;  // do not commute
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
