// How many invocations of a program run side by side on a CPU, and in which workgroups.
#include <algorithm>
#include <map>

#include "vyre/ir/typing.h"
#include "vyre/ir/walk.h"
#include "vyre/passes/affine.h"
#include "vyre/passes/bounds.h"
#include "vyre/passes/launch.h"
#include "vyre/passes/regroup.h"

namespace vyre {
namespace {

// From how many expressions on a program has enough to do for two vectors, and too much for LLVM.
constexpr std::size_t kMuch = 60;
constexpr std::size_t kTooMuch = 600;
// Rows that run together where they load mostly the same, and the statements of such a program.
constexpr std::uint32_t kSharedRows = 4;
constexpr std::size_t kMaxShared = 60;
// The numbers that invocations side by side may keep without vectors, and what they may do for each
// that they look up.
constexpr std::int64_t kMaxInStreams = 40;
constexpr std::size_t kMaxPerLookup = 6;
// What the arrays of a gang of several vectors may take of the cache.
constexpr std::uint64_t kMaxPrivate = std::uint64_t{16} << 10;

// Whether all that a program does in loops is looking up in tables, without conditions and checks.
bool looks_up(const Program& program, const Shapes& shapes) {
  const Body& body = program.body;
  const auto varies = [&](ExprId id) { return shapes[id].kind == Shape::Kind::Irregular; };
  std::uint32_t end = 0;  // of the loops that are open
  std::vector<ExprId> values;
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    const Stmt& stmt = body.stmts[i];
    if (const For* loop = std::get_if<For>(&stmt)) end = std::max(end, loop->end.index);
    if (i >= end) continue;
    if (!std::holds_alternative<For>(stmt) && !std::holds_alternative<Let>(stmt) &&
        !std::holds_alternative<Assign>(stmt)) {
      return false;
    }
    for (ExprId root : roots(stmt)) values.push_back(root);
  }
  std::size_t lookups = 0;
  std::size_t operations = 0;
  for_each_below(body, values, [&](ExprId id) {
    if (!varies(id)) return;
    ++operations;
    if (body[id].op == Operation::Load && varies(body[id].args[0])) ++lookups;
  });
  if (lookups == 0 || operations > lookups * kMaxPerLookup) return false;
  return std::ranges::none_of(bounds_of(program).accesses, [&](const CheckedAccess& access) {
    return varies(access.index) && access.verdict == CheckedAccess::Verdict::Checked &&
           !ends_early(program, access);
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

// The bytes of the longest elements of a program that only goes through rows of them, without
// loops, and perhaps looks up bytes in registers; 0: it does something else.
std::uint32_t streamed_bytes(const Program& program, const Shapes& shapes, bool byte_tables) {
  std::uint32_t bytes = 0;
  for (const BufferDecl& buffer : program.buffers) bytes = std::max(bytes, stride(buffer.element));
  const auto is_row = [&](ExprId index) {
    const Shape& shape = shapes[index];
    return shape.kind == Shape::Kind::Linear ? shape.stride == 1
                                             : shape.kind != Shape::Kind::Irregular;
  };
  const bool loads_rows = std::ranges::all_of(program.body.exprs, [&](const Expr& expr) {
    if (expr.op != Operation::Load || is_row(expr.args[0])) return true;
    const BufferDecl& buffer = program.buffers[expr.imm];
    return byte_tables && buffer.access == BufferAccess::Constant && stride(buffer.element) == 1 &&
           buffer.count <= kByteTable;
  });
  const bool stores_rows = std::ranges::all_of(program.body.stmts, [&](const Stmt& stmt) {
    const Store* store = std::get_if<Store>(&stmt);
    return !std::holds_alternative<Atomic>(stmt) && !std::holds_alternative<For>(stmt) &&
           (store == nullptr || is_row(store->index));
  });
  return loads_rows && stores_rows ? bytes : 0;
}

// What invocations keep in arrays, each.
std::uint64_t private_bytes(const Program& program) {
  std::uint64_t bytes = 0;
  for (const BufferDecl& buffer : program.buffers) {
    if (buffer.access != BufferAccess::Private) continue;
    bytes += std::uint64_t{buffer.count} * stride(buffer.element);
  }
  return bytes;
}

// What an invocation asks of the registers of its gang.
struct Demand {
  std::int64_t numbers = 1;  // of 32 bits that it keeps at once
  bool has_loops = false;
  bool is_chain = false;  // one without others in it, in which a value leads to the next one
};

// Whether a loop has neither loops nor barriers in it.
bool is_innermost(const Body& body, StmtId loop) {
  const StmtId end = next(body, loop);
  for (StmtId id{loop.index + 1}; id < end; ++id.index) {
    if (std::holds_alternative<For>(body[id]) || waits(body[id])) {
      return false;
    }
  }
  return true;
}

Demand demand_of(const Program& program, const Shapes& shapes) {
  const Body& body = program.body;
  const Types types = types_of(body, program.buffers, {}, {});
  const auto registers = [&](LocalId local) -> std::int64_t {
    if (shapes.uniformity[local]) return 0;
    return words(types[local]);
  };
  const auto end_of = [&](std::uint32_t loop) { return std::get<For>(body.stmts[loop]).end.index; };
  // Where a value is in use: from its declaration to where it is read last, or to the end of a loop
  // that begins between them.
  struct Life {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  std::map<LocalId, Life> lives;
  std::vector<std::uint32_t> loops;
  Demand demand;
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    const Stmt& stmt = body.stmts[i];
    while (!loops.empty() && end_of(loops.back()) <= i) loops.pop_back();
    const auto use = [&](LocalId local) {
      Life& life = lives[local];
      life.end = std::max(life.end, i);
      for (std::uint32_t loop : loops) {
        if (life.begin < loop) life.end = std::max(life.end, end_of(loop));
      }
    };
    for (LocalId local : read_locals(body, stmt)) use(local);
    if (const LocalId local = declared(stmt); local.exists()) lives[local].begin = i;
    if (const Assign* given = std::get_if<Assign>(&stmt)) {
      use(given->local);
      const bool hands_on = !loops.empty() && registers(given->local) != 0;
      demand.is_chain = demand.is_chain || (hands_on && is_innermost(body, StmtId{loops.back()}));
    }
    if (!std::holds_alternative<For>(stmt)) continue;
    loops.push_back(i);
    demand.has_loops = true;
  }
  std::vector<std::int64_t> change(body.stmts.size() + 2);
  for (const auto& [local, life] : lives) {
    if (life.end == 0) continue;
    change[life.begin] += registers(local);
    change[life.end + 1] -= registers(local);
  }
  std::int64_t now = 1;
  for (std::int64_t by : change) demand.numbers = std::max(demand.numbers, now += by);
  return demand;
}

void find_lanes(LaunchShape& launch, const Program& program, const LaneLimits& limits) {
  launch.lanes = limits.width;
  const Shapes shapes = shapes_of(program);
  const Demand demand = demand_of(program, shapes);
  const std::size_t size = program.body.exprs.size();
  const bool is_free = has_free_workgroups(program);
  const bool has_much = !demand.has_loops && size > kMuch && is_free;
  // As many bytes as a vector holds.
  const std::uint32_t bytes =
      size <= kMuch && is_free ? streamed_bytes(program, shapes, limits.byte_tables) : 0;
  if (bytes != 0 && bytes < 4) {
    launch.lanes = std::min(kMaxLanes, limits.width * 4 / bytes);
    return;
  }
  if ((!demand.is_chain && !has_much) || size > kTooMuch) return;
  if (!limits.fast_gathers && demand.is_chain && demand.numbers * 4 <= kMaxInStreams &&
      looks_up(program, shapes)) {
    launch.lanes = demand.numbers * 8 <= kMaxInStreams ? 8 : 4;
    launch.in_vectors = false;
    return;
  }
  const unsigned most = std::min(demand.is_chain ? 4u : 2u, kMaxLanes / limits.width);
  const std::uint32_t row = program.workgroup_size[0];
  const std::uint64_t arrays = private_bytes(program) * limits.width;
  for (unsigned times = 2; times <= most && demand.numbers * times <= limits.registers / 2;
       times *= 2) {
    if (!is_free && row % (limits.width * times) != 0) break;
    if (arrays * times > kMaxPrivate) break;
    launch.lanes = limits.width * times;
  }
}

// Whether workgroups of another size fit the lanes better.
bool can_regroup(const Program& program, std::uint32_t lanes) {
  const auto& size = program.workgroup_size;
  if (!has_free_workgroups(program)) return false;
  const bool shows = std::ranges::any_of(program.body.exprs, [&](const Expr& expr) {
    return (expr.op == Operation::WorkgroupId || expr.op == Operation::LocalId) &&
           size[expr.detail] != 1;
  });
  return !shows || size[0] % lanes != 0;
}

}  // namespace

Shaped shape_for_cpu(const Program& program, const LaneLimits& limits) {
  constexpr std::uint32_t kInvocations = 1024;
  LaunchShape launch = plain_launch(program);
  find_lanes(launch, program, limits);
  launch.is_free = can_regroup(program, launch.lanes);
  if (!launch.is_free) return {program, launch};
  return {regrouped(program, {kInvocations, shares_rows(program) ? kSharedRows : 1, 1}), launch};
}

}  // namespace vyre
