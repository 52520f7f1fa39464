// Drops what nobody can notice: locals whose value nothing needs, branches and loops without an
// effect, scopes. Needed are stores, atomics, barriers and returns, and from there everything that
// they depend on.
#include "vyre/passes/draft.h"
#include "vyre/passes/passes.h"

namespace vyre {
namespace {

class Liveness {
 public:
  explicit Liveness(const Body& body)
      : body_(body),
        needed_(body.stmts.size()),
        parent_(body.stmts.size()),
        breaks_(body.stmts.size()),
        definitions_(body.locals.size()),
        read_(body.locals.size()),
        mentioned_(body.exprs.size()) {}

  std::vector<bool> run() {
    BlockStack<OpenBlock> stack(body_);
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      stack.enter(i);
      const Stmt& stmt = body_.stmts[i];
      if (stack.frames().size() > 1) parent_[i] = StmtId{stack.back().owner};
      Stmt copy = stmt;
      const LocalId* local = local_of(copy);
      if (local != nullptr && local->exists()) definitions_[local->index].push_back(StmtId{i});
      if (std::holds_alternative<Break>(stmt)) {
        for (std::size_t k = stack.frames().size(); k-- > 0;) {
          if (!stack.frames()[k].is_loop) continue;
          breaks_[stack.frames()[k].owner].push_back(StmtId{i});
          break;
        }
      }
      stack.open(i);
      if (std::holds_alternative<Store>(stmt) || std::holds_alternative<Atomic>(stmt) ||
          std::holds_alternative<Barrier>(stmt) || std::holds_alternative<Return>(stmt)) {
        need(StmtId{i});
      }
    }
    while (!work_.empty()) {
      const StmtId id = work_.back();
      work_.pop_back();
      if (parent_[id.index].exists()) need(parent_[id.index]);
      for (StmtId leave : breaks_[id.index]) need(leave);
      for (ExprId root : roots(body_[id])) read(root);
    }
    return std::move(needed_);
  }

 private:
  void need(StmtId id) {
    if (needed_[id.index]) return;
    needed_[id.index] = true;
    work_.push_back(id);
  }
  void read(ExprId root) {
    std::vector<ExprId>& stack = exprs_;
    stack.push_back(root);
    while (!stack.empty()) {
      const ExprId id = stack.back();
      stack.pop_back();
      if (mentioned_[id.index]) continue;
      mentioned_[id.index] = true;
      const Expr& expr = body_[id];
      for (ExprId operand : operands(body_, expr)) stack.push_back(operand);
      if (expr.op != Operation::Local || read_[expr.imm]) continue;
      read_[expr.imm] = true;
      for (StmtId definition : definitions_[expr.imm]) need(definition);
    }
  }

  const Body& body_;
  std::vector<bool> needed_;
  std::vector<StmtId> parent_;
  std::vector<std::vector<StmtId>> breaks_;       // by loop
  std::vector<std::vector<StmtId>> definitions_;  // by local
  std::vector<bool> read_;                        // by local
  std::vector<bool> mentioned_;                   // by expression
  std::vector<StmtId> work_;
  std::vector<ExprId> exprs_;

 public:
  bool is_read(LocalId local) const { return read_[local.index]; }
};

struct Sweep {
  Draft& draft;
  Liveness liveness;
  std::vector<bool> needed;
  std::vector<ExprId> memo;

  explicit Sweep(Draft& to)
      : draft(to),
        liveness(to.from().body),
        needed(liveness.run()),
        memo(to.from().body.exprs.size()) {}

  Keep statement(StmtId id, const Stmt& source) {
    if (!needed[id.index]) return Keep::Nothing;
    if (std::holds_alternative<Block>(source)) return Keep::First;
    Stmt stmt = source;
    for_each_root(stmt, [&](ExprId& root) {
      if (!root.exists()) return;
      root = copy_expr(draft, root, memo,
                       [](ExprId, const Expr&, std::span<const ExprId>) { return ExprId{}; });
    });
    if (Atomic* atomic = std::get_if<Atomic>(&stmt)) {
      if (atomic->result.exists() && !liveness.is_read(atomic->result)) atomic->result = {};
    }
    draft.put(stmt);
    return Keep::All;
  }
  void else_begins(StmtId) {}
  void closes(StmtId) {}
};

}  // namespace

std::vector<bool> needed_statements(const Body& body) { return Liveness(body).run(); }

std::optional<Program> dead_code(const Program& program) {
  Liveness liveness(program.body);
  const std::vector<bool> needed = liveness.run();
  bool any = false;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    const Stmt& stmt = program.body.stmts[i];
    const Atomic* atomic = std::get_if<Atomic>(&stmt);
    const bool unread =
        atomic != nullptr && atomic->result.exists() && !liveness.is_read(atomic->result);
    any = any || !needed[i] || unread || std::holds_alternative<Block>(stmt);
  }
  if (!any) return std::nullopt;
  Draft draft(program, kNothing);
  Sweep pass(draft);
  rewrite(draft, pass);
  return std::move(draft).finish();
}

}  // namespace vyre
