#include "vyre/passes/regroup.h"

#include <algorithm>

#include "vyre/ir/walk.h"
#include "vyre/passes/draft.h"
#include "vyre/passes/pass.h"

namespace vyre {

bool has_free_workgroups(const Program& program) {
  return std::ranges::none_of(
             program.buffers,
             [](const BufferDecl& buffer) { return buffer.access == BufferAccess::Workgroup; }) &&
         std::ranges::none_of(program.body.stmts, [](const Stmt& stmt) {
           return std::holds_alternative<Barrier>(stmt);
         });
}

Program regrouped(const Program& program, std::array<std::uint32_t, 3> size) {
  struct Ids {
    Draft& draft;
    const std::array<std::uint32_t, 3>& before;
    std::vector<ExprId> memo;

    Keep statement(StmtId, const Stmt& source) {
      Stmt stmt = source;
      for_each_root(stmt, [&](ExprId& root) {
        if (!root.exists()) return;
        root = copy_expr(draft, root, memo, [&](ExprId, const Expr& expr, std::span<const ExprId>) {
          const bool local = expr.op == Operation::LocalId;
          if (!local && expr.op != Operation::WorkgroupId) return ExprId{};
          if (before[expr.detail] == draft.from().workgroup_size[expr.detail]) return ExprId{};
          Simplifier& make = draft.make();
          const ExprId whole = make.make(Operation::InvocationId, expr.detail, 0, {});
          return make.make(local ? Operation::Mod : Operation::Div,
                           {whole, make.number(before[expr.detail])});
        });
      });
      draft.put(stmt);
      return Keep::All;
    }
    void else_begins(StmtId) {}
    void closes(StmtId) {}
  };
  Program from = program;
  from.workgroup_size = size;
  Draft draft(from, kFold | kAlgebra | kStrength);
  Ids pass{draft, program.workgroup_size, std::vector<ExprId>(program.body.exprs.size())};
  rewrite(draft, pass);
  Program result = std::move(draft).finish();
  if (result.body == program.body) return result;
  // Ids have become divisions by constants, in which there may be a little to find.
  const Pass* const passes[] = {find_pass("decide"), find_pass("strength")};
  return optimise(std::move(result), passes);
}

}  // namespace vyre
