// Replaces what the ranges decide: comparisons whose outcome is known, values that can be only one
// number, masks and minima that change nothing.
#include "vyre/passes/draft.h"
#include "vyre/passes/passes.h"
#include "vyre/passes/ranges.h"

namespace vyre {
namespace {

// What an expression is, where that is simpler than what is written.
struct Outcome {
  enum class Kind : std::uint8_t {
    Same,
    Constant,  // `bits`
    First,     // its first or second operand
    Second,
    Sum,         // of its operands, without saturation
    Difference,  // of its operands
    Less,        // its first operand less the constant `bits`
  };
  Kind kind = Kind::Same;
  std::uint64_t bits = 0;
};

class Decision {
 public:
  Decision(const Program& program, const DispatchFacts* facts)
      : body_(program.body), ranges_(program, facts) {}

  void go_to(StmtId id) { ranges_.go_to(id); }
  DataType type(ExprId at) { return ranges_.type(ranges_.value(at)); }

  bool never_runs(const For& loop) {
    return ranges_.less(ranges_.value(loop.to), -1, ranges_.value(loop.from)).has_value();
  }

  Outcome decide(ExprId at) {
    using Kind = Outcome::Kind;
    const Expr& expr = body_[at];
    const std::span<const ExprId> args = operands(body_, expr);
    if (expr.op == Operation::Literal) return {};
    const ExprId value = ranges_.value(at);
    const unsigned width = range_width(ranges_.type(value));
    if (width == 0) return {};
    const auto is = [&](auto... ops) { return ((expr.op == ops) || ...); };
    const Range range = ranges_.range(value);
    if (is_constant(range)) return {Kind::Constant, range.lo};
    if (args.size() != 2) return {};
    const ExprId a = ranges_.value(args[0]);
    const ExprId b = ranges_.value(args[1]);
    const DataType operand = ranges_.type(a);
    if (range_width(operand) == 0) return {};
    const bool is_signed = has_sign(operand);
    const bool plain = operand == DataType::U32;
    const Range ra = ranges_.range(a);
    const Range rb = ranges_.range(b);
    const auto truth = [&](bool holds) { return Outcome{Kind::Constant, holds ? 1u : 0u}; };
    // What is less than what, also where neither is known.
    const auto less = [&](ExprId x, ExprId y) { return plain && ranges_.less(x, 0, y); };
    const auto at_most = [&](ExprId x, ExprId y) { return plain && ranges_.less(x, -1, y); };
    if (is(Operation::Lt, Operation::Ge)) {
      if (less(a, b)) return truth(expr.op == Operation::Lt);
      if (at_most(b, a)) return truth(expr.op != Operation::Lt);
    } else if (is(Operation::Gt, Operation::Le)) {
      if (less(b, a)) return truth(expr.op == Operation::Gt);
      if (at_most(a, b)) return truth(expr.op != Operation::Gt);
    } else if (is(Operation::Eq, Operation::Ne)) {
      if (less(a, b) || less(b, a)) return truth(expr.op == Operation::Ne);
      // A test need not be compared with zero.
      if (plain && is(Operation::Ne) && ra.hi <= 1 && rb.hi == 0) return {Kind::First};
    } else if (is(Operation::Min, Operation::Max) && !is_signed) {
      const bool least = expr.op == Operation::Min;
      if (ra.hi <= rb.lo || at_most(a, b)) return {least ? Kind::First : Kind::Second};
      if (rb.hi <= ra.lo || at_most(b, a)) return {least ? Kind::Second : Kind::First};
    } else if (is(Operation::Mod) && !is_signed) {
      if (ra.hi < rb.lo || less(a, b)) return {Kind::First};
      if (is_constant(rb) && rb.lo != 0 && ra.lo / rb.lo == ra.hi / rb.lo) {
        return {Kind::Less, ra.lo / rb.lo * rb.lo};
      }
    } else if (is(Operation::BitAnd) && is_constant(rb)) {
      const std::uint64_t all = width == 64 ? ~std::uint64_t{0} : 0xffffffff;
      if ((~rb.lo & all & ~ra.zeros) == 0) return {Kind::First};
    } else if (is(Operation::SubSat) && !is_signed) {
      if (rb.hi <= ra.lo || at_most(b, a)) return {Kind::Difference};
    } else if (is(Operation::AddSat) && plain) {
      if (ra.hi + rb.hi <= 0xffffffff) return {Kind::Sum};
    }
    return {};
  }

 private:
  const Body& body_;
  Ranges ranges_;
};

// What is decided about an expression in a statement. No expression: its loop never runs; that
// comes last.
struct Decided {
  StmtId stmt;
  ExprId expr;
  Outcome outcome;
  DataType type = DataType::Unknown;
};

// In the order of the statements.
std::vector<Decided> decisions(const Program& program, const DispatchFacts* facts) {
  const Body& body = program.body;
  Decision decision(program, facts);
  std::vector<Decided> all;
  std::vector<std::uint32_t> seen(body.exprs.size(), 0xffffffff);
  std::vector<ExprId> stack;
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    decision.go_to(StmtId{i});
    for (ExprId root : roots(body.stmts[i])) stack.push_back(root);
    while (!stack.empty()) {
      const ExprId at = stack.back();
      stack.pop_back();
      if (std::exchange(seen[at.index], i) == i) continue;
      const Outcome outcome = decision.decide(at);
      if (outcome.kind != Outcome::Kind::Same) {
        all.push_back({StmtId{i}, at, outcome, decision.type(at)});
      }
      for (ExprId arg : operands(body, body[at])) stack.push_back(arg);
    }
    const For* loop = std::get_if<For>(&body.stmts[i]);
    if (loop != nullptr && decision.never_runs(*loop)) all.push_back({StmtId{i}, {}, {}});
  }
  return all;
}

class Rewriting {
 public:
  Rewriting(Draft& draft, std::span<const Decided> decided)
      : draft_(draft),
        rest_(decided),
        memo_(draft.from().body.exprs.size()),
        here_(memo_.size()),
        decided_(memo_.size(), nullptr) {}

  Keep statement(StmtId id, const Stmt& source) {
    // Those about statements that are left out are passed over.
    while (!rest_.empty() && rest_.front().stmt < id) rest_ = rest_.subspan(1);
    std::size_t count = 0;
    while (count < rest_.size() && rest_[count].stmt == id) ++count;
    const std::span<const Decided> own = rest_.first(count);
    if (!own.empty() && !own.back().expr.exists()) return Keep::Nothing;
    for (const Decided& each : own) decided_[each.expr.index] = &each;
    Stmt stmt = source;
    for_each_root(stmt, [&](ExprId& root) {
      if (root.exists()) root = own.empty() ? plain(root) : simplified(root);
    });
    for (ExprId at : touched_) {
      here_[at.index] = {};
      decided_[at.index] = nullptr;
    }
    touched_.clear();
    if (const If* branch = std::get_if<If>(&stmt)) {
      if (const std::optional<Bits> condition = draft_.make().bits(branch->condition)) {
        return *condition == Bits{} ? Keep::Second : Keep::First;
      }
    }
    draft_.put(stmt);
    return Keep::All;
  }
  void else_begins(StmtId) {}
  void closes(StmtId) {}

 private:
  ExprId plain(ExprId root) {
    return copy_expr(draft_, root, memo_,
                     [](ExprId, const Expr&, std::span<const ExprId>) { return ExprId{}; });
  }
  // Elsewhere something else may be known.
  ExprId simplified(ExprId root) {
    return copy_expr(draft_, root, here_,
                     [&](ExprId at, const Expr&, std::span<const ExprId> args) {
                       touched_.push_back(at);
                       const Decided* decided = decided_[at.index];
                       return decided != nullptr ? simpler(*decided, args) : ExprId{};
                     });
  }

  ExprId simpler(const Decided& decided, std::span<const ExprId> args) {
    const Outcome& outcome = decided.outcome;
    Simplifier& make = draft_.make();
    const auto constant = [&] {
      return make.constant(decided.type, {{static_cast<std::uint32_t>(outcome.bits),
                                           static_cast<std::uint32_t>(outcome.bits >> 32)}});
    };
    switch (outcome.kind) {
      case Outcome::Kind::Same: return {};
      case Outcome::Kind::Constant: return constant();
      case Outcome::Kind::First: return args[0];
      case Outcome::Kind::Second: return args[1];
      case Outcome::Kind::Sum: return make.make(Operation::Add, {args[0], args[1]});
      case Outcome::Kind::Difference: return make.make(Operation::Sub, {args[0], args[1]});
      case Outcome::Kind::Less: return make.make(Operation::Sub, {args[0], constant()});
    }
    return {};
  }

  Draft& draft_;
  std::span<const Decided> rest_;        // of this statement and later ones
  std::vector<ExprId> memo_;             // per expression: what it is where nothing is decided
  std::vector<ExprId> here_;             // and in this statement
  std::vector<const Decided*> decided_;  // what is decided in this statement
  std::vector<ExprId> touched_;
};

Program rewritten(const Program& program, std::span<const Decided> decided) {
  Draft draft(program, kFold);
  Rewriting pass(draft, decided);
  rewrite(draft, pass);
  return std::move(draft).finish();
}

}  // namespace

std::optional<Program> decide(const Program& program) {
  const std::vector<Decided> decided = decisions(program, nullptr);
  if (decided.empty()) return std::nullopt;
  return rewritten(program, decided);
}
Program decide_for(const Program& program, const DispatchFacts& facts) {
  return rewritten(program, decisions(program, &facts));
}

}  // namespace vyre
