#include "vyre/backends/cpu/emitter.h"

#include <algorithm>

#include "vyre/backends/cpu/gangs.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

using Value = Ir::Value;
using Kind = Shape::Kind;

// Gangs have their own code if so many vectors hold all that lives across barriers, and if there
// are no more than so many statements then.
constexpr std::uint64_t kMaxCrossing = 32;
constexpr std::uint64_t kMaxUnrolled = 1500;
// How many operations deep an index may be.
constexpr unsigned kMaxDepth = 200;
// How many statements around an assignment are looked at.
constexpr unsigned kMaxScopes = 100;

}  // namespace

void CpuEmitter::study() {
  const std::size_t count = body_.stmts.size();
  owners_.resize(count);
  leaving_.resize(count);
  on_top_.resize(count);
  segments_.resize(count);
  outcomes_.resize(body_.exprs.size());
  bound_.resize(body_.locals.size());
  earlies_.resize(body_.exprs.size());
  firsts_.resize(body_.exprs.size());
  values_.resize(body_.exprs.size());
  places_.resize(body_.locals.size());
  BlockStack<OpenBlock> stack(body_);
  std::vector<std::uint32_t> barriers;
  for (std::uint32_t i = 0; i < count; ++i) {
    stack.enter(i);
    if (stack.frames().size() > 1) owners_[i] = StmtId{stack.back().owner};
    stack.open(i);
    if (std::holds_alternative<Barrier>(body_.stmts[i])) barriers.push_back(i);
  }
  has_barriers_ = !barriers.empty();
  // A statement runs for the whole workgroup if there is a barrier in it, or if it leaves something
  // that has one.
  const auto mark = [&](StmtId id) {
    for (; id.exists() && !on_top_[id.index]; id = owner(id)) on_top_[id.index] = true;
  };
  for (std::uint32_t barrier : barriers) mark(StmtId{barrier});
  for (std::uint32_t i = 0; i < count && has_barriers_; ++i) {
    if (std::holds_alternative<Break>(body_.stmts[i])) {
      StmtId loop = owner(StmtId{i});
      while (!std::holds_alternative<For>(body_[loop])) loop = owner(loop);
      if (on_top_[loop.index]) mark(StmtId{i});
    } else if (std::holds_alternative<Return>(body_.stmts[i])) {
      bool before = barriers.back() > i;
      for (StmtId at = owner(StmtId{i}); at.exists(); at = owner(at)) {
        before = before || (std::holds_alternative<For>(body_[at]) && on_top_[at.index]);
      }
      if (before) mark(StmtId{i});
      for (StmtId at = owner(StmtId{i}); at.exists() && !before; at = owner(at)) {
        returns_far_ = returns_far_ || on_top_[at.index];
      }
    }
  }
  study_segments(StmtId{0u}, StmtId{count});
  study_leaving();

  for (std::uint32_t i = 0; i < count; ++i) {
    const Stmt& stmt = body_.stmts[i];
    if (const LocalId local = declared(stmt); local.exists()) {
      Place& place = places_[local.index];
      place.local = local;
      place.declared = StmtId{i};
      if (const Let* let = std::get_if<Let>(&stmt)) place.bound = let->value;
    }
    if (const Assign* assign = std::get_if<Assign>(&stmt)) {
      places_[assign->local.index].bound = {};
      places_[assign->local.index].crosses =
          places_[assign->local.index].crosses ||
          segments_[places_[assign->local.index].declared.index] != segments_[i];
    }
    for (LocalId local : mentioned(body_, stmt)) {
      Place& place = places_[local.index];
      place.reads.push_back(i);
      if (segments_[place.declared.index] != segments_[i]) place.crosses = true;
    }
  }
  for (const Place& place : places_) bound_[place.local.index] = place.bound;
  // Gangs with loops of their own have no use for code of their own.
  std::uint64_t weight = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool loops = std::holds_alternative<For>(body_.stmts[i]) && !is_on_top(StmtId{i});
    weight += loops ? kMaxUnrolled : 1;
  }
  std::uint64_t crossing = 0;
  for (Place& place : places_) {
    if (!place.crosses) continue;
    // What can be told early is computed again behind them.
    place.crosses = !place.bound.exists() || early(place.bound) != Early::Fixed;
    if (place.crosses) crossing += part_count(types_[place.local]);
  }
  can_unroll_ = has_barriers_ && !is_large_ && in_rows_ && program_.workgroup_size[2] == 1 &&
                row_invocations_ % width_ == 0 && !returns_far_ &&
                gangs_ * crossing <= kMaxCrossing && gangs_ * weight <= kMaxUnrolled;
}

// Numbers the stretches of statements that a gang runs at one go.
void CpuEmitter::study_segments(StmtId begin, StmtId end) {
  for (StmtId id = begin; id < end; id = next(body_, id)) {
    if (is_on_top(id)) {
      segments_[id.index] = ++segment_;
      if (const If* branch = std::get_if<If>(&body_[id])) {
        study_segments(StmtId{id.index + 1}, branch->else_begin);
        ++segment_;
        study_segments(branch->else_begin, branch->end);
      } else {
        study_segments(StmtId{id.index + 1}, next(body_, id));
      }
      ++segment_;
    } else {
      for (std::uint32_t i = id.index; i < next(body_, id).index; ++i) segments_[i] = segment_;
    }
  }
}

// Whether a statement with blocks may run for some of the invocations that arrive at it.
bool CpuEmitter::splits(StmtId id) const {
  if (const If* branch = std::get_if<If>(&body_[id])) return !is_scalar(branch->condition);
  const For* loop = std::get_if<For>(&body_[id]);
  return loop != nullptr && (!is_scalar(loop->from) || !is_scalar(loop->to));
}

// What is inside of a statement comes after it.
void CpuEmitter::study_leaving() {
  for (std::size_t i = body_.stmts.size(); i-- > 0;) {
    const StmtId id{i};
    Leaving& own = leaving_[i];
    own.returns = own.returns || std::holds_alternative<Return>(body_[id]);
    own.breaks = own.breaks || std::holds_alternative<Break>(body_[id]);
    const bool apart = splits(id);
    own.returns_apart = own.returns_apart || (own.returns && apart);
    own.breaks_apart = own.breaks_apart || (own.breaks && apart);
    if (std::holds_alternative<For>(body_[id])) {
      // A `break` ends with its loop. In a loop that some have left, what follows is for a part.
      own.leaves_apart = own.returns_apart || own.breaks_apart;
      own.returns_apart = own.returns && own.leaves_apart;
      own.breaks = own.breaks_apart = false;
    }
    if (!owner(id).exists()) continue;
    Leaving& outer = leaving_[owner(id).index];
    outer.returns = outer.returns || own.returns;
    outer.breaks = outer.breaks || own.breaks;
    outer.returns_apart = outer.returns_apart || own.returns_apart;
    outer.breaks_apart = outer.breaks_apart || own.breaks_apart;
  }
}

// The locals that several functions use.
void CpuEmitter::share_places() {
  const auto use = [&](LocalId local, std::uint32_t stmt) {
    Place& place = places_[local.index];
    if (pieces_.of[place.declared.index] != pieces_.of[stmt]) place.is_shared = true;
  };
  for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
    for (LocalId local : mentioned(body_, body_.stmts[i])) use(local, i);
    if (const Assign* given = std::get_if<Assign>(&body_.stmts[i])) use(given->local, i);
  }
  // What is computed again elsewhere may depend on the counters of loops around it.
  for (Place& place : places_) {
    place.is_shared = place.is_shared || place.crosses || is_on_top(place.declared);
    if (place.is_shared) make_slots(place);
  }
}

// Whether a lane that is off at an assignment may want the value that the local had. Lanes that
// have left a loop or the program never come back; those that skip a branch do.
bool CpuEmitter::must_blend(const Place& place, StmtId at) const {
  const auto is_read = [&](std::uint32_t from, std::uint32_t to) {
    const auto found = std::ranges::lower_bound(place.reads, from);
    return found != place.reads.end() && *found < to;
  };
  const auto all = static_cast<std::uint32_t>(body_.stmts.size());
  bool masked = false;  // inside of what was gone through so far
  unsigned count = 0;
  for (StmtId scope = owner(at); scope.exists() && scope > place.declared; scope = owner(scope)) {
    if (++count > kMaxScopes) return true;
    const For* loop = std::get_if<For>(&body_[scope]);
    if (loop != nullptr && masked && is_read(scope.index, loop->end.index)) return true;
    const bool masks = splits(scope) || (loop != nullptr && parts(scope, true));
    masked = masked || masks;
    // Those that skip one side of a branch may take the other.
    const If* branch = std::get_if<If>(&body_[scope]);
    const bool has_else = branch != nullptr && at < branch->else_begin;
    const StmtId behind = has_else ? branch->else_begin : next(body_, scope);
    if (masks && is_read(behind.index, all)) return true;
  }
  return false;
}

CpuEmitter::Early CpuEmitter::early(ExprId id, unsigned depth) {
  if (earlies_[id.index] == Early::Unknown) earlies_[id.index] = find_early(id, depth);
  return earlies_[id.index];
}

CpuEmitter::Early CpuEmitter::find_early(ExprId id, unsigned depth) {
  if (!is_regular(id) || depth > kMaxDepth) return Early::No;
  const Expr& expr = body_[id];
  if (expr.op == Operation::Local) {
    const Place& place = places_[expr.imm];
    if (place.bound.exists()) return early(place.bound, depth + 1);
    const For* loop = std::get_if<For>(&body_[place.declared]);
    if (loop == nullptr) return Early::No;
    if (is_on_top(place.declared) && !is_whole_) return Early::Fixed;
    const bool fixed = is_scalar(loop->from) && early(loop->from, depth + 1) == Early::Fixed &&
                       is_scalar(loop->to) && early(loop->to, depth + 1) == Early::Fixed;
    return fixed ? Early::Counted : Early::No;
  }
  if (expr.op == Operation::Load && is_written(program_.buffers[expr.imm].access)) return Early::No;
  // Of the workgroup as a whole, the row is a counter too.
  const bool is_id = expr.op == Operation::InvocationId || expr.op == Operation::LocalId;
  if (is_whole_ && is_id && expr.detail == 1 && rows_ > 1) return Early::Counted;
  std::size_t counted = 0;
  for (ExprId arg : operands(body_, expr)) {
    const Early of = early(arg, depth + 1);
    if (of == Early::No) return of;
    if (of == Early::Counted) ++counted;
  }
  if (counted == 0) return Early::Fixed;
  const bool linear =
      expr.op == Operation::Add || expr.op == Operation::Sub ||
      (counted == 1 &&
       (expr.op == Operation::Mul ||
        (expr.op == Operation::Shl && early(expr.args[0], depth + 1) == Early::Counted)));
  return linear && types_[id] == DataType::U32 ? Early::Counted : Early::No;
}

// Whether a value that can be told early is another one in other rows and workgroups.
bool CpuEmitter::depends_on_place(ExprId id) const {
  std::set<ExprId> seen;
  std::vector<ExprId> work{id};
  while (!work.empty()) {
    const ExprId at = work.back();
    work.pop_back();
    if (!seen.insert(at).second) continue;
    const Expr& expr = body_[at];
    if (expr.op == Operation::Local && places_[expr.imm].bound.exists()) {
      work.push_back(places_[expr.imm].bound);
    }
    if (expr.op == Operation::InvocationId || expr.op == Operation::WorkgroupId ||
        expr.op == Operation::LocalId) {
      return true;
    }
    for (ExprId arg : operands(body_, expr)) work.push_back(arg);
  }
  return false;
}

// The loops whose counters a value depends on; none: the rows.
std::set<StmtId> CpuEmitter::counting(ExprId id) {
  std::set<StmtId> loops;
  std::set<ExprId> seen;
  std::vector<ExprId> work{id};
  while (!work.empty()) {
    const ExprId at = work.back();
    work.pop_back();
    if (early(at) != Early::Counted || !seen.insert(at).second) continue;
    const Expr& expr = body_[at];
    if (expr.op == Operation::Local) {
      const Place& place = places_[expr.imm];
      place.bound.exists() ? work.push_back(place.bound) : (void)loops.insert(place.declared);
    }
    if (expr.op == Operation::InvocationId || expr.op == Operation::LocalId) loops.insert(StmtId{});
    for (ExprId arg : operands(body_, expr)) work.push_back(arg);
  }
  return loops;
}

}  // namespace vyre
