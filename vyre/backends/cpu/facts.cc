#include "vyre/backends/cpu/facts.h"

#include <algorithm>

#include "vyre/backends/cpu/ops.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/ir/run.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

// Gangs have their own code if so many vectors hold all that lives across barriers, and if there
// are no more than so many statements then.
constexpr std::uint64_t kMaxCrossing = 32;
constexpr std::uint64_t kMaxUnrolled = 1500;
// How many operations deep a value may be that is told early: it is computed without the locals
// that hold parts of it.
constexpr unsigned kMaxDepth = 200;
// How many statements around an assignment are looked at.
constexpr unsigned kMaxScopes = 100;

}  // namespace

CpuFacts::CpuFacts(const Lowered& lowered)
    : program(lowered.program),
      body(program.body),
      bounds(lowered.bounds),
      target(target_of(lowered)),
      width(target.width),
      shapes(lowered.shapes),
      types(lowered.types),
      is_limited(lowered.launch.is_free),
      is_large(vyre::is_large(lowered, target)),
      records(is_large ? Records{} : find_records(lowered)),
      bound(lowered.places.bound),
      updated(only_updated(program)),
      given(count_declared(program.buffers)),
      owners(body.stmts.size()),
      collective(body.stmts.size()),
      segments(body.stmts.size()),
      leaving(body.stmts.size()),
      locals(body.locals.size()),
      kept(program.buffers.size()) {
  find_layout();
  find_collective();
  std::uint32_t segment = 0;
  number_segments(StmtId{0u}, StmtId{body.stmts.size()}, segment);
  find_leaving();
  if (is_large) pieces = find_pieces(lowered, target, collective);
  find_locals();
  for (Extent extent : {Extent::Row, Extent::Workgroup}) {
    early_[static_cast<std::size_t>(extent)] = find_early(extent);
  }
  find_crossing();
  find_kept();
}

void CpuFacts::find_layout() {
  const auto& size = program.workgroup_size;
  const std::uint64_t invocations = invocations_of(program);
  layout.in_rows = size[0] % width == 0 || (size[1] == 1 && size[2] == 1);
  layout.rows = layout.in_rows ? std::uint64_t{size[1]} * size[2] : 1;
  layout.row_invocations = invocations / layout.rows;
  layout.row_gangs = (layout.row_invocations + width - 1) / width;
  layout.gangs = layout.rows * layout.row_gangs;
}

StmtId CpuFacts::loop_around(StmtId id) const {
  StmtId loop = owner(id);
  while (loop.exists() && !std::holds_alternative<For>(body[loop])) loop = owner(loop);
  return loop;
}

// A statement runs for the whole workgroup if there is a barrier in it, or if it leaves something
// that has one.
void CpuFacts::find_collective() {
  const auto count = static_cast<std::uint32_t>(body.stmts.size());
  BlockStack<OpenBlock> stack(body);
  std::vector<std::uint32_t> barriers;
  for (std::uint32_t i = 0; i < count; ++i) {
    stack.enter(i);
    if (stack.frames().size() > 1) owners[i] = StmtId{stack.back().owner};
    stack.open(i);
    if (waits(body.stmts[i])) barriers.push_back(i);
  }
  has_barriers = !barriers.empty();
  const auto mark = [&](StmtId id) {
    for (; id.exists() && !collective[id.index]; id = owner(id)) collective[id.index] = true;
  };
  for (std::uint32_t barrier : barriers) mark(StmtId{barrier});
  for (std::uint32_t i = 0; i < count && has_barriers; ++i) {
    if (std::holds_alternative<Break>(body.stmts[i])) {
      if (collective[loop_around(StmtId{i}).index]) mark(StmtId{i});
    } else if (std::holds_alternative<Return>(body.stmts[i])) {
      bool before = barriers.back() > i;
      bool inside = false;  // of what runs for the whole workgroup
      for (StmtId at = owner(StmtId{i}); at.exists(); at = owner(at)) {
        before = before || (std::holds_alternative<For>(body[at]) && collective[at.index]);
        inside = inside || collective[at.index];
      }
      if (before) mark(StmtId{i});
      returns_far = returns_far || (inside && !before);
    }
  }
}

// Numbers the stretches of statements that a gang runs at one go. Its part of a collective is the
// end of one, except in large programs.
void CpuFacts::number_segments(StmtId begin, StmtId end, std::uint32_t& segment) {
  for (StmtId id = begin; id < end; id = next(body, id)) {
    if (is_collective(id)) {
      const bool joins = std::holds_alternative<Collective>(body[id]) && !is_large;
      segments[id.index] = joins ? segment : ++segment;
      if (const If* branch = std::get_if<If>(&body[id])) {
        number_segments(StmtId{id.index + 1}, branch->else_begin, segment);
        ++segment;
        number_segments(branch->else_begin, branch->end, segment);
      } else {
        number_segments(StmtId{id.index + 1}, next(body, id), segment);
      }
      ++segment;
    } else {
      for (std::uint32_t i = id.index; i < next(body, id).index; ++i) segments[i] = segment;
    }
  }
}

bool CpuFacts::splits(StmtId id) const {
  bool apart = false;
  visit(
      body[id], [&](const If& branch) { apart = !is_scalar(branch.condition); },
      [&](const For& loop) { apart = !is_scalar(loop.from) || !is_scalar(loop.to); },
      Nothing<Let, Assign, Store, Atomic, Block, Break, Return, Barrier, Collective, SetElement,
              Continue>());
  return apart;
}

// What is inside a statement comes after it.
void CpuFacts::find_leaving() {
  for (std::size_t i = body.stmts.size(); i-- > 0;) {
    const StmtId id{i};
    Leaving& own = leaving[i];
    const bool apart = splits(id);
    own.some_return = own.some_return || (own.returns && apart);
    own.some_break = own.some_break || (own.breaks && apart);
    visit(
        body[id], [&](const Return&) { own.returns = true; },
        [&](const Break&) { own.breaks = true; },
        [&](const For&) {
          // A `break` ends with its loop. In a loop that some have left, what follows is for a
          // part.
          own.some_leave_loop = own.some_return || own.some_break;
          own.some_return = own.returns && own.some_leave_loop;
          own.breaks = own.some_break = false;
        },
        Nothing<Let, Assign, Store, Atomic, If, Block, Barrier, Collective, SetElement,
                Continue>());
    if (!owner(id).exists()) continue;
    Leaving& outer = leaving[owner(id).index];
    outer.returns = outer.returns || own.returns;
    outer.breaks = outer.breaks || own.breaks;
    outer.some_return = outer.some_return || own.some_return;
    outer.some_break = outer.some_break || own.some_break;
  }
}

void CpuFacts::find_locals() {
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    const Stmt& stmt = body.stmts[i];
    const auto use = [&](LocalId id) -> LocalFacts& {
      LocalFacts& local = locals[id.index];
      const std::uint32_t home = local.declared.index;
      local.crosses = local.crosses || segments[home] != segments[i];
      local.is_shared = local.is_shared || (is_large && pieces.of[home] != pieces.of[i]);
      return local;
    };
    if (const LocalId local = declared(stmt); local.exists()) {
      locals[local.index].declared = StmtId{i};
    }
    if (const Assign* assign = std::get_if<Assign>(&stmt)) use(assign->local);
    for (LocalId local : read_locals(body, stmt)) use(local).reads.push_back(i);
  }
  const std::vector<bool> assigned = assigned_locals(body);
  for (const Stmt& stmt : body.stmts) {
    const Collective* all = std::get_if<Collective>(&stmt);
    if (all == nullptr || assigned[all->result.index]) continue;
    locals[all->result.index].is_one = info(all->op).is_uniform();
  }
  for (std::size_t i = 0; i < locals.size(); ++i) {
    locals[i].is_vector =
        bound[i].exists() ? !is_regular(bound[i]) : !shapes.uniformity[LocalId{i}];
  }
}

std::vector<Early> CpuFacts::find_early(Extent extent) const {
  std::vector<Early> known;
  std::vector<unsigned> depths;
  for (std::size_t i = 0; i < body.exprs.size(); ++i) {
    const Expr& expr = body.exprs[i];
    unsigned depth = 0;
    const auto use = [&](ExprId id) { depth = std::max(depth, depths[id.index] + 1); };
    for (ExprId arg : operands(body, expr)) use(arg);
    if (expr.op == Operation::Local && bound[expr.imm].exists()) use(bound[expr.imm]);
    depths.push_back(depth);
    const bool is_deep = depth > kMaxDepth;
    known.push_back(is_deep ? Early::No : early_of(ExprId{i}, extent, known));
  }
  return known;
}

Early CpuFacts::early_of(ExprId id, Extent extent, const std::vector<Early>& known) const {
  if (!is_regular(id)) return Early::No;
  const Expr& expr = body[id];
  if (expr.op == Operation::Local) {
    if (bound[expr.imm].exists()) return known[bound[expr.imm].index];
    const StmtId declared = locals[expr.imm].declared;
    const For* loop = std::get_if<For>(&body[declared]);
    if (loop == nullptr) return Early::No;
    if (is_collective(declared) && extent == Extent::Row) return Early::Fixed;
    const auto is_fixed = [&](ExprId limit) {
      return is_scalar(limit) && known[limit.index] == Early::Fixed;
    };
    return is_fixed(loop->from) && is_fixed(loop->to) ? Early::Counted : Early::No;
  }
  if (expr.op == Operation::Load && is_written(access(BufferId{expr.imm}))) return Early::No;
  const bool is_id = expr.op == Operation::InvocationId || expr.op == Operation::LocalId;
  if (extent == Extent::Workgroup && is_id && expr.detail == 1 && layout.rows > 1) {
    return Early::Counted;
  }
  std::size_t counted = 0;
  for (ExprId arg : operands(body, expr)) {
    if (known[arg.index] == Early::No) return Early::No;
    if (known[arg.index] == Early::Counted) ++counted;
  }
  if (counted == 0) return Early::Fixed;
  const bool is_scaled = expr.op == Operation::Mul ||
                         (expr.op == Operation::Shl && known[expr.args[0].index] == Early::Counted);
  const bool is_linear =
      expr.op == Operation::Add || expr.op == Operation::Sub || (counted == 1 && is_scaled);
  return is_linear && types[id] == DataType::U32 ? Early::Counted : Early::No;
}

// What lives across barriers, and whether gangs may have code of their own.
void CpuFacts::find_crossing() {
  std::uint64_t crossing = 0;
  for (std::size_t i = 0; i < locals.size(); ++i) {
    LocalFacts& local = locals[i];
    // What can be told early is computed again after them.
    local.crosses = local.crosses && (!bound[i].exists() || early(bound[i]) != Early::Fixed);
    local.crosses = local.crosses && !local.is_one;
    if (local.crosses) crossing += part_count(types[LocalId{i}]);
    // The variable of a loop that all run together is one value.
    local.crosses = local.crosses && !(std::holds_alternative<For>(body[local.declared]) &&
                                       is_collective(local.declared));
    // What is computed again elsewhere may depend on the counters of loops around it.
    local.is_shared =
        is_large && (local.is_shared || local.crosses || is_collective(local.declared));
  }
  // Gangs with loops of their own have no use for code of their own.
  std::uint64_t weight = 0;
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    const bool loops = std::holds_alternative<For>(body.stmts[i]) && !is_collective(StmtId{i});
    weight += loops ? kMaxUnrolled : 1;
  }
  can_unroll = has_barriers && !is_large && layout.in_rows && program.workgroup_size[2] == 1 &&
               layout.row_invocations % width == 0 && !returns_far &&
               layout.gangs * crossing <= kMaxCrossing && layout.gangs * weight <= kMaxUnrolled;
}

void CpuFacts::find_kept() {
  std::vector<StmtId> first(program.buffers.size());
  const auto use = [&](BufferId buffer, StmtId at) {
    if (!is_private(buffer)) return;
    StmtId& before = first[buffer.index];
    if (!before.exists()) before = at;
    if (segments[before.index] != segments[at.index]) kept[buffer.index] = true;
  };
  if (given == program.buffers.size() || !has_barriers) return;
  for (StmtId id{0u}; id.index < body.stmts.size(); ++id.index) {
    if (const Store* store = std::get_if<Store>(&body[id])) use(store->buffer, id);
    for_each_below(body, roots(body[id]), [&](ExprId at) {
      if (body[at].op == Operation::Load) use(BufferId{body[at].imm}, id);
    });
  }
}

// Lanes that have left a loop or the program never come back; those that skip a branch do.
bool CpuFacts::must_blend(LocalId id, StmtId at) const {
  const LocalFacts& local = locals[id.index];
  const auto is_read = [&](std::uint32_t from, std::uint32_t to) {
    const auto found = std::ranges::lower_bound(local.reads, from);
    return found != local.reads.end() && *found < to;
  };
  const auto all = static_cast<std::uint32_t>(body.stmts.size());
  bool masked = false;  // inside of what was gone through so far
  unsigned count = 0;
  for (StmtId scope = owner(at); scope.exists() && scope > local.declared; scope = owner(scope)) {
    if (++count > kMaxScopes) return true;
    const For* loop = std::get_if<For>(&body[scope]);
    if (loop != nullptr && masked && is_read(scope.index, loop->end.index)) return true;
    const bool masks = splits(scope) || (loop != nullptr && some_leave_loop(scope));
    masked = masked || masks;
    // Those that skip one side of a branch may take the other.
    const If* branch = std::get_if<If>(&body[scope]);
    const bool has_else = branch != nullptr && at < branch->else_begin;
    const StmtId after = has_else ? branch->else_begin : next(body, scope);
    if (masks && is_read(after.index, all)) return true;
  }
  return false;
}

// Calls visit(expr) once for each expression that a value is made of, also through locals that
// always have one value; it gives whether to go on below it.
template <class Visit>
void CpuFacts::for_each_source(ExprId id, Visit visit) const {
  std::set<ExprId> seen;
  std::vector<ExprId> work{id};
  while (!work.empty()) {
    const ExprId at = work.back();
    work.pop_back();
    if (!seen.insert(at).second || !visit(at)) continue;
    const Expr& expr = body[at];
    if (expr.op == Operation::Local && bound[expr.imm].exists()) work.push_back(bound[expr.imm]);
    for (ExprId arg : operands(body, expr)) work.push_back(arg);
  }
}

std::set<StmtId> CpuFacts::counting(ExprId id, Extent extent) const {
  std::set<StmtId> loops;
  for_each_source(id, [&](ExprId at) {
    if (early(at, extent) != Early::Counted) return false;
    const Expr& expr = body[at];
    const bool is_local = expr.op == Operation::Local;
    if (is_local && !bound[expr.imm].exists()) loops.insert(locals[expr.imm].declared);
    if (expr.op == Operation::InvocationId || expr.op == Operation::LocalId) loops.insert(StmtId{});
    return true;
  });
  return loops;
}

bool CpuFacts::depends_on_place(ExprId id) const {
  bool depends = false;
  for_each_source(id, [&](ExprId at) {
    const Operation op = body[at].op;
    depends = depends || op == Operation::InvocationId || op == Operation::WorkgroupId ||
              op == Operation::LocalId;
    return !depends;
  });
  return depends;
}

}  // namespace vyre
