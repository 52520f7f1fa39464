// The values that the expressions of a program have at each statement, for those who follow the
// statements in order. Values are nodes of a graph of its own, in which a local is replaced by what
// it holds, so that equal values are equal nodes. What a load from memory that others write gives
// is a new value in every statement.
#pragma once

#include <utility>
#include <vector>

#include "vyre/passes/draft.h"

namespace vyre {

struct ValueGraph {
  ValueGraph(const Program& of, unsigned simplifications)
      : program(of),
        body(of.body),
        assigned(assigned_locals(body)),
        make(of, nodes, simplifications),
        locals(body.locals.size()),
        memo_(body.exprs.size()),
        varies_(varying(of, assigned)),
        marked_(body.locals.size()) {}
  ValueGraph(const ValueGraph&) = delete;
  ValueGraph& operator=(const ValueGraph&) = delete;

  const Program& program;
  const Body& body;
  std::vector<bool> assigned;  // per local: it is given a value after it is declared
  Body nodes;
  Simplifier make;
  struct Held {
    ExprId value;   // none: fresh() gives it
    ExprId latest;  // what else those who follow the statements keep with it
  };
  std::vector<Held> locals;  // per local: what it holds here

  // The node of an expression of the current statement. fresh(expr, operands) makes the node of a
  // load from memory that others write, and of a local without a value.
  template <class Fresh>
  ExprId value(ExprId root, Fresh fresh) {
    if (memo_[root.index].exists()) return memo_[root.index];
    const auto is_known = [&](ExprId id) { return memo_[id.index].exists(); };
    operands_first(body, root, visits_, is_known, [&](ExprId id, std::span<const ExprId> ids) {
      const Expr& expr = body[id];
      args_.clear();
      for (ExprId operand : ids) args_.push_back(memo_[operand.index]);
      ExprId made;
      if (expr.op == Operation::Literal) {
        made = make.constant(type_of_detail(expr), literal_bits(body, expr));
      } else if (expr.op == Operation::Local && locals[expr.imm].value.exists()) {
        made = locals[expr.imm].value;
      } else if (expr.op == Operation::Local || is_volatile(program, expr)) {
        made = fresh(expr, std::span<const ExprId>(args_));
      } else {
        made = make.make(expr.op, expr.detail, expr.imm, args_);
      }
      if (varies_[id.index]) touched_.push_back(id);
      memo_[id.index] = made;
    });
    return memo_[root.index];
  }
  // What may be another value in the next statement is forgotten.
  void end_statement() {
    for (ExprId expr : touched_) memo_[expr.index] = {};
    touched_.clear();
  }

  // Calls visit(id, local, is_first) for each assignment between two statements; whether it is the
  // first one to its local.
  template <class Do>
  void for_each_assignment(StmtId first, StmtId end, Do visit) {
    ++marks_;
    for (StmtId id = first; id < end; ++id.index) {
      const Assign* assign = std::get_if<Assign>(&body[id]);
      if (assign == nullptr) continue;
      std::uint32_t& mark = marked_[assign->local.index];
      visit(id, assign->local, std::exchange(mark, marks_) != marks_);
    }
  }

  // Both blocks of an `if` begin with what was held before it. Of the locals that are assigned
  // between `first` and `end`, those that hold something.
  void open_branch(StmtId first, StmtId end) {
    Branch& open = branches_.emplace_back();
    for_each_assignment(first, end, [&](StmtId, LocalId local, bool is_first) {
      if (!is_first || !locals[local.index].value.exists()) return;
      open.locals.push_back(local);
      open.before.push_back(locals[local.index]);
    });
  }
  void end_first() {
    Branch& branch = branches_.back();
    for (std::size_t i = 0; i < branch.locals.size(); ++i) {
      Held& held = locals[branch.locals[i].index];
      branch.then.push_back(std::exchange(held, branch.before[i]));
    }
  }
  // Calls join(local, then) with what a local held at the end of the first block.
  template <class Join>
  void end_branch(Join join) {
    const Branch branch = std::move(branches_.back());
    branches_.pop_back();
    for (std::size_t i = 0; i < branch.locals.size(); ++i) join(branch.locals[i], branch.then[i]);
  }

 private:
  struct Branch {
    std::vector<LocalId> locals;
    std::vector<Held> before;
    std::vector<Held> then;
  };

  std::vector<Branch> branches_;  // the open ones
  std::vector<ExprId> memo_;      // per expression of the program
  std::vector<bool> varies_;      // per expression: may be another value in the next statement
  std::vector<ExprId> touched_;
  std::vector<Visit> visits_;  // room for walks
  std::vector<ExprId> args_;
  std::vector<std::uint32_t> marked_;  // per local: by which search it was last seen
  std::uint32_t marks_ = 0;
};

}  // namespace vyre
