// What follows from the numbers that values can be: indices that are never in bounds (L001),
// comparisons that go one way (L002), loops without rounds (L003), shifts by more than there is
// (L004), numbers that a narrow element cuts (L010), and loops that nothing leaves (L011).
#include <bit>
#include <optional>

#include "vyre/base/text.h"
#include "vyre/passes/ranges.h"
#include "vyre/text/lexer.h"
#include "vyre/text/print.h"
#include "vyre/warnings/checks.h"
#include "vyre/warnings/plain.h"

namespace vyre {
namespace {

bool is_comparison(Operation op) {
  return op == Operation::Eq || op == Operation::Ne || op == Operation::Lt || op == Operation::Gt ||
         op == Operation::Le || op == Operation::Ge;
}

std::string number_text(std::uint64_t value, DataType type) {
  if (!has_sign(type)) return std::to_string(value);
  return std::to_string(static_cast<std::int32_t>(static_cast<std::uint32_t>(value)));
}

// "3", "0 to 63", "a multiple of 4 up to 60", "any u32".
std::string values_text(const Range& range, DataType type) {
  if (is_constant(range)) return number_text(range.lo, type);
  if (range == any(type)) return "any " + argument_text(type);
  if (has_sign(type) && range.hi >> 31 != range.lo >> 31) return "some " + argument_text(type);
  const int low = std::countr_one(range.zeros);
  const bool is_multiple = low > 0 && low < 32;
  return (is_multiple ? "a multiple of " + std::to_string(std::uint64_t{1} << low) + " from "
                      : "") +
         number_text(range.lo, type) + " to " + number_text(range.hi, type);
}

// By expression: whether it is made of numbers alone.
std::vector<bool> made_of_numbers(const Body& body) {
  std::vector<bool> found;
  for (const Expr& expr : body.exprs) {
    bool all = expr.op == Operation::Literal || arity(expr.op) > 0;
    if (expr.op == Operation::Load || expr.op == Operation::Element) all = false;
    for (ExprId arg : operands(body, expr)) all = all && found[arg.index];
    found.push_back(all);
  }
  return found;
}

class Looker {
 public:
  explicit Looker(const Written& item)
      : item_(item),
        context_(item.context),
        body_(context_.body),
        plain_(plain(context_)),
        ranges_(plain_.program),
        numbers_(made_of_numbers(body_)),
        seen_(body_.exprs.size()),
        dead_(body_.stmts.size()) {}

  void run() {
    for (std::uint32_t i = 0; i < body_.stmts.size() && !context_.full(); ++i) {
      if (dead_[i]) continue;
      ranges_.go_to(plain_.at(i));
      stmt_ = i;
      for_each_use_in(body_, i, [&](ExprId id, std::uint32_t use) {
        if (std::exchange(seen_[id.index], i + 1) != i + 1) look(id, use);
      });
      look(body_.stmts[i]);
    }
  }

 private:
  struct Outcome {
    bool holds = false;
    std::string reason;
    StmtId guard = {};  // of the plain program
  };

  ExprId value(ExprId id) { return ranges_.value(plain_[id]); }
  Range range(ExprId id) { return ranges_.range(value(id)); }

  // An expression, which is use number `use` of the statement.
  void look(ExprId id, std::uint32_t use) {
    const Expr& expr = body_[id];
    if (expr.op == Operation::Load) {
      check_index(BufferId{expr.imm}, expr.args[0], use - 1);
    } else if (expr.op == Operation::Element) {
      const std::string array = print_expr(body_, context_.buffers, expr.args[0], 40);
      const std::uint32_t count = element_count(context_.types[expr.args[0]]);
      check_index(array, "has " + plural(count, "element"), count, expr.args[1], use - 1);
    } else if (expr.op == Operation::Shl || expr.op == Operation::Shr) {
      check_shift(expr, use - 1);
    } else if (is_comparison(expr.op)) {
      check_comparison(id, use);
    }
  }

  // What it does with its expressions.
  void look(const Stmt& stmt) {
    const std::uint32_t first = roots(stmt).count == 0 ? 0 : context_.root(stmt_, 0).use;
    visit(
        stmt,
        [&](const Store& store) {
          check_index(store.buffer, store.index, first);
          check_stored(store);
        },
        [&](const Atomic& atomic) { check_index(atomic.buffer, atomic.index, first); },
        [&](const SetElement& set) {
          const std::uint32_t count = element_count(context_.types[set.local]);
          check_index(shorten(body_[set.local].name, 40), "has " + plural(count, "element"), count,
                      set.index, first);
        },
        [&](const If& branch) { pass_over(branch); },
        [&](const For& loop) {
          check_loop(loop, first);
          if (is_endless(loop)) context_.report<message::endless_loop>({Place::Head, stmt_});
        },
        Nothing<Let, Assign, Collective, Block, Break, Return, Barrier, Continue>());
  }

  void check_index(BufferId id, ExprId index, std::uint32_t use) {
    const BufferDecl& buffer = context_.buffers[id.index];
    const std::string_view noun = buffer.element == DataType::Bytes ? "word" : "element";
    check_index(
        shorten(buffer.name, 40),
        (is_bound(buffer.access) ? "is declared with " : "has ") + plural(buffer.count, noun),
        buffer.count, index, use);
  }

  void check_index(const std::string& name, const std::string& length, std::uint32_t count,
                   ExprId index, std::uint32_t use) {
    if (count == 0) return;
    const Range at = range(index);
    if (at.lo < count) return;
    context_.report<message::index_outside>({Place::Use, stmt_, use}, name, length,
                                            values_text(at, DataType::U32), count);
  }

  void check_shift(const Expr& shift, std::uint32_t use) {
    const DataType type = context_.types[shift.args[0]];
    const std::uint32_t width = info(type).width;
    if (is_vector(type)) return;
    const Range count = range(shift.args[1]);
    if (count.width == 0 || count.lo < width) return;
    context_.report<message::long_shift>({Place::Use, stmt_, use}, info(shift.op).text,
                                         argument_text(type), values_text(count, DataType::U32),
                                         width);
  }

  void check_comparison(ExprId id, std::uint32_t use) {
    const Expr& expr = body_[id];
    const DataType type = context_.types[expr.args[0]];
    const std::optional<Outcome> outcome = outcome_of(expr);
    if (!outcome) return;
    const auto is_zero = [&](int side) {
      const Range side_range = range(expr.args[static_cast<std::size_t>(side)]);
      return side_range.hi == 0;
    };
    const std::string holds = outcome->holds ? "true" : "false";
    const bool right = expr.op == Operation::Lt || expr.op == Operation::Ge;
    const bool left = expr.op == Operation::Gt || expr.op == Operation::Le;
    const Place place{Place::Use, stmt_, use};
    if (!has_sign(type) && type != DataType::Bool &&
        ((right && is_zero(1)) || (left && is_zero(0)))) {
      context_.report<message::unsigned_comparison>(place, argument_text(type), holds);
      return;
    }
    std::optional<Place> cause;
    if (outcome->guard.exists()) cause = Place{Place::Head, outcome->guard.index - plain_.first};
    context_.add(diagnose<message::decided_comparison>(holds, outcome->reason), place, cause);
  }

  // Where it is certain, and not because both sides are constants.
  std::optional<Outcome> outcome_of(const Expr& expr) {
    const DataType type = context_.types[expr.args[0]];
    if (range_width(type) == 0) return {};
    const ExprId a = value(expr.args[0]);
    const ExprId b = value(expr.args[1]);
    if (is_constant(ranges_.base(a)) && is_constant(ranges_.base(b))) return {};
    const Range left = ranges_.range(a);
    const Range right = ranges_.range(b);
    const Range truth = apply(expr.op, has_sign(type), left, right);
    if (is_constant(truth)) {
      return Outcome{truth.lo != 0, "the left side is " + values_text(left, type) +
                                        ", the right side " + values_text(right, type)};
    }
    if (type != DataType::U32) return {};
    return by_order(expr.op, a, b);
  }

  // What is less than what, also where neither is known.
  std::optional<Outcome> by_order(Operation op, ExprId a, ExprId b) {
    const auto proved = [&](ExprId x, std::int64_t offset, ExprId y, bool holds,
                            std::string_view what) -> std::optional<Outcome> {
      const auto reason = ranges_.less(x, offset, y);
      if (!reason) return {};
      std::string text(what);
      if (reason->guard.exists() && reason->guard.index >= plain_.first) {
        const StmtId guard{reason->guard.index - plain_.first};
        const bool is_loop = std::holds_alternative<For>(body_[guard]);
        return Outcome{holds,
                       text + ", as the " + (is_loop ? "loop " : "condition ") +
                           context_.where(guard) + " says",
                       reason->guard};
      }
      return Outcome{holds, text};
    };
    const auto less = [&](bool holds) {
      return proved(a, 0, b, holds, "the left side is less than the right side");
    };
    const auto greater = [&](bool holds) {
      return proved(b, 0, a, holds, "the left side is greater than the right side");
    };
    std::optional<Outcome> found;
    if (op == Operation::Eq || op == Operation::Ne) {
      found = less(op == Operation::Ne);
      return found ? found : greater(op == Operation::Ne);
    }
    if (op == Operation::Lt || op == Operation::Ge) {
      found = less(op == Operation::Lt);
      return found ? found
                   : proved(b, -1, a, op == Operation::Ge,
                            "the left side is never less than the right side");
    }
    found = greater(op == Operation::Gt);
    return found ? found
                 : proved(a, -1, b, op == Operation::Le,
                          "the left side is never greater than the right side");
  }

  // The block that never runs says nothing: whatever is assumed in it contradicts what is known.
  void pass_over(const If& branch) {
    const Expr& expr = body_[branch.condition];
    const Range condition = range(branch.condition);
    std::optional<bool> holds;
    if (condition.width != 0 && condition.lo > 0) holds = true;
    if (condition.width != 0 && condition.hi == 0) holds = false;
    if (!holds && is_comparison(expr.op)) {
      if (const auto outcome = outcome_of(expr)) holds = outcome->holds;
    }
    if (!holds) return;
    const auto begin = dead_.begin();
    *holds ? std::fill(begin + branch.else_begin.index, begin + branch.end.index, true)
           : std::fill(begin + stmt_ + 1, begin + branch.else_begin.index, true);
  }

  void check_loop(const For& loop, std::uint32_t use) {
    if (!ranges_.less(value(loop.to), -1, value(loop.from))) return;
    const Range from = range(loop.from);
    const Range to = range(loop.to);
    std::string reason = "its end is not above its begin";
    if (is_constant(from) && is_constant(to)) {
      reason = std::to_string(from.lo) + " is not below " + std::to_string(to.lo);
    } else if (from.lo >= to.hi) {
      reason = "its bounds are " + values_text(from, DataType::U32) + " and " +
               values_text(to, DataType::U32);
    }
    if (!is_set_by_name(loop)) {
      context_.report<message::empty_loop>({Place::Use, stmt_, use}, reason);
    }
    std::fill(dead_.begin() + stmt_ + 1, dead_.begin() + loop.end.index, true);
  }

  // Whether only a named constant says how often a loop runs: 0 is one of its values.
  bool is_set_by_name(const For& loop) {
    if (!numbers_[loop.from.index] || !numbers_[loop.to.index]) return false;
    for (std::size_t bound = 0; item_.positions != nullptr && bound < 2; ++bound) {
      Findings none;
      Lexer lexer(item_.text(item_.use(stmt_, context_.root(stmt_, bound).use)), none);
      for (Token token = lexer.next(); token.kind != Tok::End; token = lexer.next()) {
        const bool is_call = lexer.probe().next_but_comments().kind == Tok::LParen;
        if (token.kind == Tok::Name && token.word == Word::None && !is_call) return true;
      }
    }
    return false;
  }

  // A loop over all numbers, such as `while true`, without a `return` or a `break` of its own that
  // can be reached.
  bool is_endless(const For& loop) {
    if (range(loop.from).hi != 0 || range(loop.to).lo != ~0u) return false;
    std::uint32_t inner = stmt_;  // the end of the loop around a statement
    for (std::uint32_t i = stmt_ + 1; i < loop.end.index; ++i) {
      const Stmt& stmt = body_.stmts[i];
      if (const For* other = std::get_if<For>(&stmt)) inner = std::max(inner, other->end.index);
      if (std::holds_alternative<Return>(stmt)) return false;
      if (std::holds_alternative<Break>(stmt) && i >= inner) return false;
      const If* branch = std::get_if<If>(&stmt);
      if (branch == nullptr || !numbers_[branch->condition.index]) continue;
      const Range condition = range(branch->condition);
      if (condition.width != 0 && condition.hi == 0) i = branch->else_begin.index - 1;
    }
    return true;
  }

  void check_stored(const Store& store) {
    const DataType element = context_.buffers[store.buffer.index].element;
    if (!is_narrow(element) || !numbers_[store.value.index]) return;
    const Range number = range(store.value);
    if (!is_constant(number)) return;
    const Bits bits{{static_cast<std::uint32_t>(number.lo)}};
    const DataType type = loaded_type(element);
    const Bits kept = kept_by(element, bits);
    if (kept == bits) return;
    const unsigned width = lane_bits(element);
    const std::int64_t least = has_sign(element) ? -(std::int64_t{1} << (width - 1)) : 0;
    const std::int64_t most = least + (std::int64_t{1} << width) - 1;
    const Place place = context_.root(stmt_, 1);
    std::string written = number_text(number.lo, type);
    if (item_.positions != nullptr && !has_sign(type)) {
      const std::string_view text = item_.text(item_.use(stmt_, place.use));
      if (text.starts_with('-')) written = "`" + shorten(text) + "`";
    }
    context_.report<message::cut_number>(place, written, argument_text(element),
                                         number_text(kept.lanes[0], type), least, most);
  }

  const Written& item_;
  Context& context_;
  const Body& body_;
  const Plain plain_;
  Ranges ranges_;
  const std::vector<bool> numbers_;
  std::vector<std::uint32_t> seen_;  // by expression: 1 + the statement that has last looked at it
  std::vector<bool> dead_;           // by statement: it never runs
  std::uint32_t stmt_ = 0;
};

}  // namespace

void check_ranges(const Written& item) { Looker(item).run(); }

}  // namespace vyre
