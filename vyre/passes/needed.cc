// Needed are stores, atomics, barriers and returns, and from there everything that they depend on.
#include "vyre/passes/draft.h"

namespace vyre {
namespace {

class Liveness {
 public:
  explicit Liveness(const Body& body)
      : body_(body),
        needed_(body.stmts.size()),
        parent_(body.stmts.size()),
        previous_(body.stmts.size()),
        last_break_(body.stmts.size()),
        last_definition_(body.locals.size()),
        read_(body.locals.size()),
        mentioned_(body.exprs.size()) {}

  std::vector<bool> run() {
    BlockStack<OpenBlock> stack(body_);
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      stack.enter(i);
      const Stmt& stmt = body_.stmts[i];
      if (stack.frames().size() > 1) parent_[i] = StmtId{stack.back().owner};
      const LocalId local = given(stmt);
      if (local.exists()) chain(last_definition_[local.index], StmtId{i});
      if (std::holds_alternative<Break>(stmt)) {
        for (std::size_t k = stack.frames().size(); k-- > 0;) {
          if (!stack.frames()[k].is_loop) continue;
          chain(last_break_[stack.frames()[k].owner], StmtId{i});
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
      need_all(last_break_[id.index]);
      for (ExprId root : roots(body_[id])) read(root);
    }
    return std::move(needed_);
  }

 private:
  // The local that a statement declares or assigns.
  static LocalId given(const Stmt& stmt) {
    const Assign* assign = std::get_if<Assign>(&stmt);
    return assign != nullptr ? assign->local : declared(stmt);
  }
  void chain(StmtId& last, StmtId id) { previous_[id.index] = std::exchange(last, id); }
  void need_all(StmtId last) {
    for (StmtId id = last; id.exists(); id = previous_[id.index]) need(id);
  }
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
      need_all(last_definition_[expr.imm]);
    }
  }

  const Body& body_;
  std::vector<bool> needed_;
  std::vector<StmtId> parent_;
  std::vector<StmtId> previous_;         // the one before that leaves the same loop or gives the
                                         // same local a value
  std::vector<StmtId> last_break_;       // by loop
  std::vector<StmtId> last_definition_;  // by local
  std::vector<bool> read_;               // by local
  std::vector<bool> mentioned_;          // by expression
  std::vector<StmtId> work_;
  std::vector<ExprId> exprs_;
};

}  // namespace

std::vector<bool> needed_statements(const Body& body) { return Liveness(body).run(); }

}  // namespace vyre
