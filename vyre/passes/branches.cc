// Turns a branch that only gives locals cheap values into selections: both sides are computed, and
// no invocation has to wait for another. A branch with nothing in its first block gets the second
// one instead.
#include <algorithm>

#include "vyre/passes/draft.h"
#include "vyre/passes/pass.h"

namespace vyre {
namespace {

// What both blocks may have together: assignments, and operations in their values.
constexpr std::size_t kMaxAssigns = 4;
constexpr std::uint32_t kMaxOperations = 8;

class Conversion {
 public:
  explicit Conversion(Draft& draft)
      : draft_(draft), body_(draft.from().body), assigned_(assigned_locals(body_)) {}

  // Expressions have the ids that they had.
  Keep statement(StmtId id, Stmt stmt) {
    if (const If* branch = std::get_if<If>(&stmt); branch != nullptr && converts(id, *branch)) {
      select(id, *branch);
      return Keep::Nothing;
    }
    if (If* branch = std::get_if<If>(&stmt)) {
      const bool first = has_first(id, *branch);
      Simplifier& make = draft_.make();
      if (!first) branch->condition = compared(Operation::Eq, branch->condition);
      // A condition need not be compared with zero.
      const Expr test = make.body()[branch->condition];
      if (test.op == Operation::Ne && test.args[1] == zero(test.args[0])) {
        const DataType type = make.type(test.args[0]);
        if (type == DataType::U32 || type == DataType::Bool) branch->condition = test.args[0];
      }
      draft_.open(stmt);
      return first ? Keep::All : Keep::Swapped;
    }
    draft_.put(stmt);
    return Keep::All;
  }

  // Whether it would change anything.
  bool finds_any() {
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      const If* branch = std::get_if<If>(&body_.stmts[i]);
      if (branch == nullptr) continue;
      if (!has_first(StmtId{i}, *branch) || converts(StmtId{i}, *branch)) return true;
      if (body_[branch->condition].op == Operation::Ne) return true;
    }
    return false;
  }

 private:
  static bool has_first(StmtId id, const If& branch) {
    return branch.else_begin.index > id.index + 1;
  }

  struct Facts {
    std::uint32_t operations = 0;
    bool costly = false;  // loads or divides
  };

  // Most programs have no branch of which they are wanted.
  const Facts& facts(ExprId id) {
    for (std::size_t i = facts_.size(); i < body_.exprs.size(); ++i) {
      const Expr& expr = body_.exprs[i];
      Facts f;
      const std::span<const ExprId> args = operands(body_, expr);
      f.operations = args.empty() ? 0 : 1;
      f.costly = cost(expr.op) == Cost::Many;
      for (ExprId arg : args) {
        f.operations = std::min(kMaxExprs, f.operations + facts_[arg.index].operations);
        f.costly = f.costly || facts_[arg.index].costly;
      }
      facts_.push_back(f);
    }
    return facts_[id.index];
  }

  ExprId zero(ExprId like) { return draft_.make().constant(draft_.make().type(like), {}); }
  ExprId compared(Operation test, ExprId value) {
    return draft_.make().make(test, {value, zero(value)});
  }

  bool mentions(ExprId root, LocalId local) const {
    bool found = false;
    for_each_use(body_, root, [&](ExprId id) {
      found = found || (body_[id].op == Operation::Local && body_[id].imm == local.index);
    });
    return found;
  }

  bool converts(StmtId id, const If& branch) {
    for (StmtId at{id.index + 1}; at < branch.end; ++at.index) {
      const Stmt& stmt = body_[at];
      if (!std::holds_alternative<Let>(stmt) && !std::holds_alternative<Assign>(stmt)) return false;
    }
    std::vector<const Assign*> assigns;
    std::uint32_t operations = 0;
    std::size_t in_then = 0;
    for (StmtId at{id.index + 1}; at < branch.end; ++at.index) {
      const Let* let = std::get_if<Let>(&body_[at]);
      const Assign* assign = std::get_if<Assign>(&body_[at]);
      const Facts& of = facts(let != nullptr ? let->value : assign->value);
      operations += of.operations;
      if (of.costly || operations > kMaxOperations) return false;
      if (let == nullptr) {
        if (assigns.size() == kMaxAssigns) return false;
        assigns.push_back(assign);
        if (at < branch.else_begin) ++in_then;
        continue;
      }
      // It goes in front of the selections, which what its block has given before does not.
      if (assigned_[let->local.index]) return false;
      for (std::size_t k = at < branch.else_begin ? 0 : in_then; k < assigns.size(); ++k) {
        if (mentions(let->value, assigns[k]->local)) return false;
      }
    }
    if (assigns.empty()) return false;
    // They are given one after the other: no value may depend on another that is given.
    for (std::size_t i = 0; i < assigns.size(); ++i) {
      for (std::size_t k = 0; k < assigns.size(); ++k) {
        const bool same = assigns[k]->local == assigns[i]->local;
        if (same && k < i && (k < in_then) == (i < in_then)) return false;
        if (!same && mentions(assigns[i]->value, assigns[k]->local)) return false;
      }
    }
    return true;
  }

  void select(StmtId id, const If& branch) {
    struct Choice {
      LocalId local;
      ExprId yes;
      ExprId no;
    };
    std::vector<Choice> choices;
    Simplifier& make = draft_.make();
    std::size_t given = 0;
    ExprId condition = branch.condition;
    bool bind = facts(condition).costly;
    for (StmtId at{id.index + 1}; at < branch.end; ++at.index) {
      if (const Let* let = std::get_if<Let>(&body_[at])) {
        draft_.add(*let);
        continue;
      }
      const Assign& assign = std::get<Assign>(body_[at]);
      auto choice = std::ranges::find(choices, assign.local, &Choice::local);
      if (choice == choices.end()) {
        const ExprId kept = make.local(assign.local);
        choice = choices.insert(choice, {assign.local, kept, kept});
      }
      (at < branch.else_begin ? choice->yes : choice->no) = assign.value;
      bind = bind || mentions(branch.condition, assign.local);
      ++given;
    }
    // The condition is evaluated once, before anything is assigned.
    if (bind && given > 1) {
      const LocalId name = draft_.declare("condition", make.type(condition));
      draft_.add(Let{name, condition});
      condition = make.local(name);
    }
    for (const Choice& choice : choices) {
      draft_.add(
          Assign{choice.local, make.make(Operation::Select, {condition, choice.yes, choice.no})});
    }
  }

  Draft& draft_;
  const Body& body_;
  std::vector<Facts> facts_;
  std::vector<bool> assigned_;  // per local
};

}  // namespace

std::optional<Program> branches(const Program& program) {
  const bool any = std::ranges::any_of(
      program.body.stmts, [](const Stmt& stmt) { return std::holds_alternative<If>(stmt); });
  if (!any) return std::nullopt;
  Draft draft(program, kFold | kAlgebra);
  Conversion pass(draft);
  if (!pass.finds_any()) return std::nullopt;
  rewrite(draft, pass);
  return std::move(draft).finish();
}

}  // namespace vyre
