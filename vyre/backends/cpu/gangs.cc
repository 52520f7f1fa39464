#include "vyre/backends/cpu/gangs.h"

#include <algorithm>
#include <map>

#include "vyre/backends/cpu/ops.h"
#include "vyre/ir/typing.h"
#include "vyre/ir/walk.h"
#include "vyre/passes/affine.h"
#include "vyre/passes/bounds.h"
#include "vyre/passes/draft.h"

namespace vyre {
namespace {

// A program of so many expressions has enough to do for gangs of two vectors.
constexpr std::size_t kMuch = 60;
// And one of so many has too much for LLVM.
constexpr std::size_t kTooMuch = 600;
// So many rows of a program of so many statements run together where they load mostly the same.
constexpr std::uint32_t kSharedRows = 4;
constexpr std::size_t kMaxShared = 60;
// The numbers that invocations side by side may keep without vectors, and what they may do for each
// that they look up.
constexpr std::int64_t kMaxInStreams = 40;
constexpr std::size_t kMaxPerLookup = 6;

// Whether nothing binds the invocations of a workgroup together.
bool can_regroup(const Program& program) {
  return std::ranges::none_of(
             program.buffers,
             [](const BufferDecl& buffer) { return buffer.access == BufferAccess::Workgroup; }) &&
         std::ranges::none_of(program.body.stmts, [](const Stmt& stmt) {
           return std::holds_alternative<Barrier>(stmt);
         });
}

// Whether all that a program does in loops is looking up in tables, without conditions and checks.
bool looks_up(const Program& program, const Shapes& shapes) {
  const Body& body = program.body;
  std::uint32_t end = 0;  // of the loops that are open
  std::size_t lookups = 0;
  std::size_t operations = 0;
  std::set<ExprId> seen;
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    const Stmt& stmt = body.stmts[i];
    if (const For* loop = std::get_if<For>(&stmt)) end = std::max(end, loop->end.index);
    if (i >= end) continue;
    if (!std::holds_alternative<For>(stmt) && !std::holds_alternative<Let>(stmt) &&
        !std::holds_alternative<Assign>(stmt)) {
      return false;
    }
    std::vector<ExprId> work;
    for (ExprId root : roots(stmt)) work.push_back(root);
    while (!work.empty()) {
      const ExprId id = work.back();
      work.pop_back();
      if (!seen.insert(id).second) continue;
      const Expr& expr = body[id];
      for (ExprId arg : operands(body, expr)) work.push_back(arg);
      if (shapes[id].kind != Shape::Kind::Irregular) continue;
      ++operations;
      if (expr.op == Operation::Load && shapes[expr.args[0]].kind == Shape::Kind::Irregular) {
        ++lookups;
      }
    }
  }
  if (lookups == 0 || operations > lookups * kMaxPerLookup) return false;
  return std::ranges::none_of(bounds_of(program).accesses, [&](const CheckedAccess& access) {
    return shapes[access.index].kind == Shape::Kind::Irregular &&
           access.verdict == CheckedAccess::Verdict::Checked && !ends_early(program, access);
  });
}

// Whether invocations that are neighbours along y load mostly the same: no loops, and several rows
// of one buffer.
bool shares_rows(const Program& program) {
  const Body& body = program.body;
  const Shapes shapes = shapes_of(program);
  std::map<std::uint32_t, std::size_t> rows;
  bool has_y = false;
  for (const Expr& expr : body.exprs) {
    has_y = has_y || (expr.op == Operation::InvocationId && expr.detail == 1);
    if (expr.op != Operation::Load) continue;
    const Shape& index = shapes[expr.args[0]];
    if (index.kind == Shape::Kind::Linear && index.stride == 1 && index.row_base) ++rows[expr.imm];
  }
  const bool is_simple = std::ranges::none_of(body.stmts, [](const Stmt& stmt) {
    return std::holds_alternative<For>(stmt) || std::holds_alternative<Atomic>(stmt) ||
           std::holds_alternative<Return>(stmt);
  });
  return has_y && is_simple && body.stmts.size() <= kMaxShared &&
         std::ranges::any_of(rows, [](const auto& each) { return each.second >= 3; });
}

}  // namespace

bool ends_early(const Program& program, const CheckedAccess& access) {
  constexpr std::uint64_t kMaxTable = 1 << 20;
  const std::uint32_t fixed = program.buffers[access.buffer.index].count;
  return access.verdict == CheckedAccess::Verdict::Checked && access.most < kMaxTable &&
         (fixed == 0 || access.most < fixed);
}

// The locals that a statement reads.
std::set<LocalId> mentioned(const Body& body, const Stmt& stmt) {
  std::set<LocalId> locals;
  std::set<ExprId> seen;
  std::vector<ExprId> work;
  for (ExprId root : roots(stmt)) work.push_back(root);
  while (!work.empty()) {
    const ExprId id = work.back();
    work.pop_back();
    if (!seen.insert(id).second) continue;
    const Expr& expr = body[id];
    for (ExprId arg : operands(body, expr)) work.push_back(arg);
    if (expr.op == Operation::Local) locals.insert(LocalId{expr.imm});
  }
  return locals;
}

CpuTarget fitted(const CpuTarget& target, const Program& program) {
  const Body& body = program.body;
  const Shapes shapes = shapes_of(program);
  const Types types = types_of(body, program.buffers, {}, {});
  const auto registers = [&](LocalId local) {
    return shapes.uniformity[local] ? 0 : part_count(types[local]) * part_bits(types[local]) / 32;
  };
  // Where a value is in use: from its declaration to where it is read last; behind all of a loop
  // that begins between them.
  std::map<LocalId, std::uint32_t> begin;
  std::map<LocalId, std::uint32_t> end;
  std::vector<std::uint32_t> loops;
  bool is_chain = false;  // a loop without others, in which a value leads to the next one
  bool has_loops = false;
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    const Stmt& stmt = body.stmts[i];
    while (!loops.empty() && std::get<For>(body.stmts[loops.back()]).end.index <= i)
      loops.pop_back();
    const auto use = [&](LocalId local) {
      std::uint32_t last = i;
      for (std::uint32_t loop : loops) {
        if (begin[local] < loop) last = std::max(last, std::get<For>(body.stmts[loop]).end.index);
      }
      end[local] = std::max(end[local], last);
    };
    for (LocalId local : mentioned(body, stmt)) use(local);
    if (const LocalId local = declared(stmt); local.exists()) begin[local] = i;
    if (const Assign* given = std::get_if<Assign>(&stmt)) {
      use(given->local);
      const bool is_innermost =
          !loops.empty() &&
          std::none_of(body.stmts.begin() + loops.back() + 1,
                       body.stmts.begin() + std::get<For>(body.stmts[loops.back()]).end.index,
                       [](const Stmt& inside) {
                         return std::holds_alternative<For>(inside) ||
                                std::holds_alternative<Barrier>(inside);
                       });
      is_chain = is_chain || (is_innermost && registers(given->local) != 0);
    }
    if (std::holds_alternative<For>(stmt)) {
      loops.push_back(i);
      has_loops = true;
    }
  }
  std::vector<std::int64_t> change(body.stmts.size() + 2);
  for (const auto& [local, last] : end) {
    change[begin[local]] += static_cast<std::int64_t>(registers(local));
    change[last + 1] -= static_cast<std::int64_t>(registers(local));
  }
  std::int64_t now = 1;
  std::int64_t most = 1;
  for (std::int64_t by : change) most = std::max(most, now += by);
  const bool has_much = !has_loops && body.exprs.size() > kMuch && can_regroup(program);
  CpuTarget result = target;
  if ((!is_chain && !has_much) || body.exprs.size() > kTooMuch) return result;
  if ((!target.gathers || target.slow_gathers) && is_chain && most * 4 <= kMaxInStreams &&
      looks_up(program, shapes)) {
    result.width = most * 8 <= kMaxInStreams ? 8 : 4;
    result.is_scalar = true;
    return result;
  }
  const unsigned limit = is_chain ? 4 : 2;
  const std::uint32_t row = program.workgroup_size[0];
  for (unsigned times = 2; times <= limit && most * times <= target.registers / 2; times *= 2) {
    if (!can_regroup(program) && row % (target.width * times) != 0) break;
    result.width = target.width * times;
  }
  // Without masks for bytes LLVM keeps one for each vector, and does not take wide ones apart.
  if (has_masks(target) && result.width > target.width) {
    result.features += result.features.empty() ? "-avx512bw" : ",-avx512bw";
  }
  return result;
}

std::optional<Program> regrouped(const Program& program, unsigned width) {
  constexpr std::uint32_t kInvocations = 1024;
  const auto& size = program.workgroup_size;
  if (!can_regroup(program)) return std::nullopt;
  const bool shows = std::ranges::any_of(program.body.exprs, [&](const Expr& expr) {
    return (expr.op == Operation::WorkgroupId || expr.op == Operation::LocalId) &&
           size[expr.detail] != 1;
  });
  if (shows && size[0] % width == 0) return std::nullopt;

  struct Ids {
    Draft& draft;
    std::vector<ExprId> memo;

    Keep statement(StmtId, const Stmt& source) {
      Stmt stmt = source;
      for_each_root(stmt, [&](ExprId& root) {
        if (!root.exists()) return;
        root = copy_expr(draft, root, memo, [&](ExprId, const Expr& expr, std::span<const ExprId>) {
          const bool local = expr.op == Operation::LocalId;
          if (!local && expr.op != Operation::WorkgroupId) return ExprId{};
          Simplifier& make = draft.make();
          const ExprId whole = make.make(Operation::InvocationId, expr.detail, 0, {});
          return make.make(local ? Operation::Mod : Operation::Div,
                           {whole, make.number(draft.from().workgroup_size[expr.detail])});
        });
      });
      draft.put(stmt);
      return Keep::All;
    }
    void else_begins(StmtId) {}
    void closes(StmtId) {}
  };
  Draft draft(program, kNothing);
  Ids pass{draft, std::vector<ExprId>(program.body.exprs.size())};
  rewrite(draft, pass);
  Program result = std::move(draft).finish();
  result.workgroup_size = {kInvocations, shares_rows(program) ? kSharedRows : 1, 1};
  return result;
}

}  // namespace vyre
