#include "vyre/passes/indices.h"

#include <algorithm>

namespace vyre {
namespace {

constexpr int kMaxTerms = 16;

bool is_sum(const Expr& expr) { return expr.op == Operation::Add || expr.op == Operation::Sub; }

}  // namespace

std::vector<ExprId> bound_values(const Body& body) {
  std::vector<ExprId> bound(body.locals.size());
  for (const Stmt& stmt : body.stmts) {
    if (const Let* let = std::get_if<Let>(&stmt)) bound[let->local.index] = let->value;
    if (const Assign* assign = std::get_if<Assign>(&stmt)) bound[assign->local.index] = {};
  }
  return bound;
}

SplitIndex split_index(const Body& body, std::span<const ExprId> bound, ExprId id) {
  SplitIndex result;
  std::vector<std::pair<ExprId, bool>> work{{id, false}};  // and whether it is subtracted
  for (int steps = 0; !work.empty(); ++steps) {
    const auto [at, minus] = work.back();
    work.pop_back();
    const Expr& expr = body[at];
    const ExprId value = expr.op == Operation::Local ? bound[expr.imm] : ExprId{};
    if (expr.op == Operation::Literal) {
      result.offset += minus ? std::uint32_t{0} - expr.imm : expr.imm;
    } else if (is_sum(expr) && steps < kMaxTerms) {
      work.emplace_back(expr.args[0], minus);
      work.emplace_back(expr.args[1], minus != (expr.op == Operation::Sub));
    } else if (value.exists() && is_sum(body[value]) && steps < kMaxTerms) {
      work.emplace_back(value, minus);
    } else {
      result.terms.emplace_back(at, minus);
    }
  }
  std::ranges::sort(result.terms);
  return result;
}

}  // namespace vyre
