// Makes locals of parts of expressions that are too large for an emitter.
#include <algorithm>

#include "vyre/ir/typing.h"
#include "vyre/passes/draft.h"
#include "vyre/passes/pass.h"

namespace vyre {
namespace {

struct Shorten {
  Draft& draft;
  const std::uint32_t longest;
  const std::vector<std::uint32_t> written;  // by expression: how many it has, as written out
  const Types types;
  std::vector<ExprId> memo;
  std::vector<std::uint32_t> sizes;  // of expressions, in this statement, with parts as locals
  std::vector<ExprId> visited{};

  Keep statement(StmtId, const Stmt& source) {
    const Body& body = draft.from().body;
    const bool is_long =
        std::ranges::any_of(roots(source), [&](ExprId id) { return written[id.index] >= longest; });
    const Stmt stmt = with_roots(source, [&](ExprId whole) {
      return copy_expr(
          draft, whole, memo, [&](ExprId id, const Expr& expr, std::span<const ExprId> args) {
            visited.push_back(id);
            std::uint32_t size = 1;
            for (ExprId arg : operands(body, expr)) size += sizes[arg.index];
            sizes[id.index] = size;
            // A load that several parts mention must not be done in each of them.
            const bool is_loaded_once = is_long && is_volatile(draft.from(), expr);
            if ((size < longest || id == whole) && !is_loaded_once) return ExprId{};
            const ExprId made = draft.make().make(expr.op, expr.detail, expr.imm, args);
            const LocalId local = draft.declare("part", types[id]);
            draft.add(Let{local, made});
            sizes[id.index] = 1;
            return draft.make().local(local);
          });
    });
    for (ExprId id : visited) memo[id.index] = {};
    visited.clear();
    draft.put(stmt);
    return Keep::All;
  }
};

}  // namespace

std::optional<Program> shorten(const Program& program, std::uint32_t longest) {
  std::vector<std::uint32_t> written = written_out(program.body).sizes;
  const auto is_long = [&](std::uint32_t size) { return size >= longest; };
  if (std::ranges::none_of(written, is_long)) return std::nullopt;
  Draft draft(program, kNothing);
  const std::size_t count = program.body.exprs.size();
  Shorten pass{draft,
               longest,
               std::move(written),
               types_of(program.body, program.buffers, {}, {}),
               std::vector<ExprId>(count),
               std::vector<std::uint32_t>(count)};
  rewrite(draft, pass);
  return std::move(draft).finish();
}

}  // namespace vyre
