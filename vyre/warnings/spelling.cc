// What shows in the source alone, or means something else in other languages: numbers that are
// negative and have no sign (L006), `|` and `^` beside an order comparison (L007), and numbers that
// begin with zeros (L013).
#include <algorithm>
#include <charconv>

#include "vyre/ir/eval.h"
#include "vyre/text/print.h"
#include "vyre/warnings/checks.h"

namespace vyre {
namespace {

bool is_order(Operation op) {
  return op == Operation::Lt || op == Operation::Gt || op == Operation::Le || op == Operation::Ge;
}

class Speller {
 public:
  explicit Speller(const Written& item)
      : item_(item), context_(item.context), body_(context_.body) {}

  void run() {
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      std::optional<std::uint32_t> negative;  // the use before, which the next one may make right
      const auto settle = [&](std::optional<std::uint32_t> next) {
        if (negative) warn_of_negative(i, *negative, value_);
        negative = next;
      };
      for_each_use_in(body_, i, [&](ExprId id, std::uint32_t use) {
        const Expr& expr = body_[id];
        const bool is_meant = expr.op == Operation::Cast && lane_bits(type_of_detail(expr)) == 32;
        if (is_meant && negative) negative.reset();
        settle(is_negative(id, i, use) ? std::optional(use) : std::nullopt);
        if (negative) value_ = id;
        if (is_order(expr.op)) check_order(expr, i, use);
        if (expr.op == Operation::Literal) check_zeros(i, use);
      });
      settle(std::nullopt);
    }
  }

 private:
  // A minus sign before a number, which has a type without sign and no suffix that says so.
  bool is_negative(ExprId id, std::uint32_t stmt, std::uint32_t use) const {
    const DataType type = context_.types[id];
    if (!contains(type_sets::Unsigned & type_sets::Scalar, type)) return false;
    const Expr& expr = body_[id];
    const bool negates =
        expr.op == Operation::Negate && body_[expr.args[0]].op == Operation::Literal;
    if (!negates && expr.op != Operation::Literal) return false;
    const std::string_view text = item_.text(item_.use(stmt, use));
    return text.starts_with('-') && text.find('u') == text.npos && value(id) != Bits{};
  }

  Bits value(ExprId id) const {
    const Expr& expr = body_[id];
    if (expr.op == Operation::Literal) return literal_bits(body_, expr);
    return eval(Operation::Negate, context_.types[id], literal_bits(body_, body_[expr.args[0]]),
                {});
  }

  void warn_of_negative(std::uint32_t stmt, std::uint32_t use, ExprId id) {
    const std::string_view text = item_.text(item_.use(stmt, use));
    const DataType type = context_.types[id];
    context_.report<message::negative_unsigned>(
        {Place::Use, stmt, use}, text, print_literal({type, value(id)}), vyre::text(type),
        "`" + std::string(text) + "i32` for a number with a sign");
  }

  // In C, 017 is 15.
  void check_zeros(std::uint32_t stmt, std::uint32_t use) {
    const std::string_view text = item_.text(item_.use(stmt, use));
    std::uint64_t octal = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), octal, 8);
    if (!text.starts_with('0') || end != text.end() || error != std::errc() || octal < 8) return;
    context_.report<message::leading_zero>({Place::Use, stmt, use}, text,
                                           text.substr(text.find_first_not_of('0')), octal);
  }

  // The operands of a comparison, where they are written without parentheses: then they begin or
  // end where it does.
  void check_order(const Expr& order, std::uint32_t stmt, std::uint32_t use) {
    const Span whole = item_.use(stmt, use);
    const std::uint32_t right = use - 1;
    const std::uint32_t left = right - context_.sizes[order.args[1].index];
    const auto check = [&](ExprId operand, std::uint32_t number, bool is_bare) {
      const Operation op = body_[operand].op;
      if (!is_bare || (op != Operation::BitOr && op != Operation::BitXor)) return;
      const Span span = item_.use(stmt, number);
      if (item_.text(span).find(info(op).text) == std::string_view::npos) return;  // a name for it
      context_.report<message::bitwise_beside_order>({Place::Use, stmt, number}, info(op).text,
                                                     info(order.op).text);
    };
    check(order.args[0], left, item_.use(stmt, left).begin == whole.begin);
    check(order.args[1], right, item_.use(stmt, right).end == whole.end);
  }

  const Written& item_;
  Context& context_;
  const Body& body_;
  ExprId value_;  // of the use before, where it is a negative number
};

}  // namespace

void check_spelling(const Written& item) {
  if (item.positions != nullptr) Speller(item).run();
}

}  // namespace vyre
