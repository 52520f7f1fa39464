// Passes that look at one expression at a time: constants, rules, cheaper operations. A branch
// whose condition is known becomes one of its blocks, and a loop without rounds goes.
#include <algorithm>

#include "vyre/passes/draft.h"
#include "vyre/passes/passes.h"

namespace vyre {
namespace {

struct Mapped {
  Draft& draft;
  std::vector<ExprId> memo;

  explicit Mapped(Draft& to) : draft(to), memo(to.from().body.exprs.size()) {
    // Operands precede their users.
    for (std::uint32_t i = 0; i < memo.size(); ++i) {
      copy_expr(draft, ExprId{i}, memo,
                [](ExprId, const Expr&, std::span<const ExprId>) { return ExprId{}; });
    }
  }

  Keep statement(StmtId, const Stmt& source) {
    Stmt stmt = source;
    for_each_root(stmt, [&](ExprId& root) {
      if (root.exists()) root = memo[root.index];
    });
    return keep(draft, stmt);
  }
  void else_begins(StmtId) {}
  void closes(StmtId) {}

  static Keep keep(Draft& draft, const Stmt& stmt) {
    if (const If* branch = std::get_if<If>(&stmt)) {
      if (const std::optional<Bits> condition = draft.make().bits(branch->condition)) {
        return *condition == Bits{} ? Keep::Second : Keep::First;
      }
    } else if (const For* loop = std::get_if<For>(&stmt)) {
      const std::optional<Bits> from = draft.make().bits(loop->from);
      const std::optional<Bits> to = draft.make().bits(loop->to);
      if (from && to && from->lanes[0] >= to->lanes[0]) return Keep::Nothing;
    }
    draft.put(stmt);
    return Keep::All;
  }
};

Program simplified(const Program& program, unsigned what) {
  Draft draft(program, what, Draft::Expressions::None);
  Mapped pass(draft);
  rewrite(draft, pass);
  return std::move(draft).finish();
}

}  // namespace

std::optional<Program> fold(const Program& program) { return simplified(program, kFold); }
std::optional<Program> algebra(const Program& program) {
  return simplified(program, kFold | kAlgebra);
}

}  // namespace vyre
