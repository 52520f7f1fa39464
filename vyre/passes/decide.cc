// Replaces what the ranges decide: comparisons whose outcome is known, values that can be only one
// number, masks and minima that change nothing. A branch whose condition is known becomes one of
// its blocks, and a loop without rounds goes.
#include "vyre/passes/draft.h"
#include "vyre/passes/pass.h"
#include "vyre/passes/ranges.h"

namespace vyre {
namespace {

class Deciding {
 public:
  Deciding(Draft& draft, const DispatchFacts* facts)
      : draft_(draft),
        body_(draft.from().body),
        ranges_(draft.from(), facts),
        memo_(body_.exprs.size()) {}

  bool any = false;  // something was decided

  Keep statement(StmtId id, const Stmt& source) {
    ranges_.go_to(id);
    if (const For* loop = std::get_if<For>(&source); loop != nullptr && never_runs(*loop)) {
      any = true;
      return Keep::Nothing;
    }
    const Stmt stmt = with_roots(source, [&](ExprId root) {
      return copy_expr(draft_, root, memo_,
                       [&](ExprId at, const Expr& expr, std::span<const ExprId> args) {
                         touched_.push_back(at);
                         const ExprId simple = simpler(at, expr, args);
                         any = any || simple.exists();
                         return simple;
                       });
    });
    // Elsewhere something else may be known.
    for (ExprId at : touched_) memo_[at.index] = {};
    touched_.clear();
    return put_or_fold(draft_, stmt);
  }

 private:
  bool never_runs(const For& loop) {
    return ranges_.less(ranges_.value(loop.to), -1, ranges_.value(loop.from)).has_value();
  }

  // An expression of the draft that is simpler than what is written, if there is one; `to` are the
  // operands as they are there.
  ExprId simpler(ExprId at, const Expr& expr, std::span<const ExprId> to) {
    if (expr.op == Operation::Literal) return {};
    const ExprId value = ranges_.value(at);
    const DataType type = ranges_.type(value);
    const unsigned width = range_width(type);
    if (width == 0) return {};
    const auto is = [&](auto... ops) { return ((expr.op == ops) || ...); };
    const auto constant = [&](std::uint64_t bits) {
      return draft_.make().constant(
          type, {{static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)}});
    };
    const Range range = ranges_.range(value);
    if (is_constant(range)) return constant(range.lo);
    const std::span<const ExprId> args = operands(body_, expr);
    if (args.size() != 2) return {};
    const ExprId a = ranges_.value(args[0]);
    const ExprId b = ranges_.value(args[1]);
    if (range_width(ranges_.type(a)) == 0) return {};
    if (gives_truth(expr.op)) {
      if (const auto holds = outcome(expr.op, a, b)) return constant(*holds ? 1 : 0);
    }
    const bool is_signed = has_sign(ranges_.type(a));
    const bool plain = ranges_.type(a) == DataType::U32;
    const Range ra = ranges_.range(a);
    const Range rb = ranges_.range(b);
    if (is(Operation::Ne)) {
      // A test need not be compared with zero.
      if (plain && ra.hi <= 1 && rb.hi == 0) return to[0];
    } else if (is(Operation::Min, Operation::Max) && !is_signed) {
      const bool least = expr.op == Operation::Min;
      if (ra.hi <= rb.lo || at_most(a, b)) return to[least ? 0 : 1];
      if (rb.hi <= ra.lo || at_most(b, a)) return to[least ? 1 : 0];
    } else if (is(Operation::Mod) && !is_signed) {
      if (ra.hi < rb.lo || less(a, b)) return to[0];
      if (is_constant(rb) && rb.lo != 0 && ra.lo / rb.lo == ra.hi / rb.lo) {
        const ExprId multiple = constant(ra.lo / rb.lo * rb.lo);
        return draft_.make().make(Operation::Sub, {to[0], multiple});
      }
    } else if (is(Operation::BitAnd) && is_constant(rb)) {
      const std::uint64_t all = width == 64 ? ~std::uint64_t{0} : 0xffffffff;
      if ((~rb.lo & all & ~ra.zeros) == 0) return to[0];
    } else if (is(Operation::SubSat) && !is_signed) {
      if (rb.hi <= ra.lo || at_most(b, a)) {
        return draft_.make().make(Operation::Sub, {to[0], to[1]});
      }
    } else if (is(Operation::AddSat) && plain) {
      if (ra.hi + rb.hi <= 0xffffffff) return draft_.make().make(Operation::Add, {to[0], to[1]});
    }
    return {};
  }

  // What is less than what, also where neither is known.
  bool less(ExprId a, ExprId b, std::int64_t offset = 0) {
    return ranges_.type(a) == DataType::U32 && ranges_.less(a, offset, b);
  }
  bool at_most(ExprId a, ExprId b) { return less(a, b, -1); }

  // Whether a comparison holds, where that is certain.
  std::optional<bool> outcome(Operation op, ExprId a, ExprId b) {
    if (op == Operation::Gt || op == Operation::Le) return outcome(swapped(op), b, a);
    if (op == Operation::Lt || op == Operation::Ge) {
      if (less(a, b)) return op == Operation::Lt;
      if (at_most(b, a)) return op == Operation::Ge;
    }
    if ((op == Operation::Eq || op == Operation::Ne) && (less(a, b) || less(b, a))) {
      return op == Operation::Ne;
    }
    return {};
  }

  Draft& draft_;
  const Body& body_;
  Ranges ranges_;
  std::vector<ExprId> memo_;  // of this statement
  std::vector<ExprId> touched_;
};

// Constants and rules alone.
struct Simplifying {
  Draft& draft;
  std::vector<ExprId> memo;

  Keep statement(StmtId, const Stmt& source) {
    return put_or_fold(
        draft, with_roots(source, [&](ExprId root) { return copy_expr(draft, root, memo); }));
  }
};

Program simplified(const Program& program, unsigned what) {
  Draft draft(program, what, Draft::Expressions::None);
  Simplifying pass{draft, std::vector<ExprId>(program.body.exprs.size())};
  rewrite(draft, pass);
  return std::move(draft).finish();
}

std::optional<Program> decided(const Program& program, const DispatchFacts* facts) {
  Draft draft(program, kFold);
  Deciding pass(draft, facts);
  rewrite(draft, pass);
  if (!pass.any) return std::nullopt;
  return std::move(draft).finish();
}

}  // namespace

std::optional<Program> decide(const Program& program) { return decided(program, nullptr); }
Program decide_for(const Program& program, const DispatchFacts& facts) {
  return decided(program, &facts).value_or(program);
}
std::optional<Program> fold(const Program& program) { return simplified(program, kFold); }
std::optional<Program> algebra(const Program& program) {
  return simplified(program, kFold | kAlgebra);
}

}  // namespace vyre
