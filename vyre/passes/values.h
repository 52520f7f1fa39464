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
  std::vector<ExprId> locals;  // per local: its value here; none: fresh() gives it

  // The node of an expression of the current statement. fresh(expr, operands) makes the node of a
  // load from memory that others write, and of a local without a value.
  template <class Fresh>
  ExprId value(ExprId root, Fresh fresh) {
    const auto is_known = [&](ExprId id) { return memo_[id.index].exists(); };
    operands_first(body, root, visits_, is_known, [&](ExprId id, std::span<const ExprId> ids) {
      const Expr& expr = body[id];
      args_.clear();
      for (ExprId operand : ids) args_.push_back(memo_[operand.index]);
      ExprId made;
      if (expr.op == Operation::Literal) {
        made = make.constant(type_of_detail(expr), literal_bits(body, expr));
      } else if (expr.op == Operation::Local && locals[expr.imm].exists()) {
        made = locals[expr.imm];
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

 private:
  std::vector<ExprId> memo_;  // per expression of the program
  std::vector<bool> varies_;  // per expression: may be another value in the next statement
  std::vector<ExprId> touched_;
  std::vector<Visit> visits_;  // room for walks
  std::vector<ExprId> args_;
  std::vector<std::uint32_t> marked_;  // per local: by which search it was last seen
  std::uint32_t marks_ = 0;
};

}  // namespace vyre
