#include "vyre/backends/cpu/emitter.h"

#include <algorithm>

#include "vyre/ir/walk.h"

namespace vyre {
namespace {

using llvm::Compare;
using Value = Ir::Value;
using Kind = Shape::Kind;

// How many rounds of a loop pass before it looks whether it shall stop.
constexpr std::uint32_t kRounds = 4096;

bool is_bitwise(Operation op) {
  return op == Operation::BitAnd || op == Operation::BitOr || op == Operation::BitXor ||
         op == Operation::BitNot;
}

}  // namespace

Lanes CpuEmitter::scalar(ExprId id) {
  if (fast_ && outcomes_[id.index] >= 0) return ops_.bit(outcome(id));
  Known& known = firsts_[id.index];
  if (known.time != time_) {
    Lanes lanes = computed(id, true);
    // What is the same in all lanes may be made of what is not.
    const bool vector = ops_.is_vector(lanes);
    for (std::size_t i = 0; vector && i < part_count(lanes.type); ++i) {
      lanes.parts[i] = ir_.lane(lanes.parts[i], 0u);
    }
    firsts_[id.index] = {time_, lanes};
  }
  return known.lanes;
}

Lanes CpuEmitter::value(ExprId id) {
  if (fast_ && outcomes_[id.index] >= 0) return ops_.bit(outcome(id));
  if (is_scalar(id)) return scalar(id);
  Known& known = values_[id.index];
  if (known.time == time_) return known.lanes;
  Lanes lanes;
  if (kind(id) == Kind::Linear) {
    lanes = ops_.whole(scalar(id));
    const auto step = static_cast<std::uint32_t>(shapes_[id].stride);
    if (!ops_.is_vector(lanes)) {
      lanes.parts[0] = ir_.add(ir_.splat(lanes.parts[0]), ir_.ramp(ir_.i32, 0, step));
    }
  } else {
    lanes = computed(id, false);
  }
  values_[id.index] = {time_, lanes};
  return lanes;
}

// In the first lane, or in all of them.
Lanes CpuEmitter::computed(ExprId id, bool in_first) {
  const Expr& expr = body_[id];
  const auto operand = [&](ExprId arg) { return in_first ? scalar(arg) : value(arg); };
  switch (expr.op) {
    case Operation::Literal: return ops_.constant(type_of_detail(expr), literal_bits(body_, expr));
    case Operation::Local: {
      const Place& place = places_[expr.imm];
      if (at_entry_ && place.bound.exists()) return scalar(place.bound);
      return read_local(LocalId{expr.imm});
    }
    case Operation::Load: return load(id, expr);
    case Operation::Length:
      return {DataType::U32, false, {ir_.trunc(buffer_at(expr.imm).length, 32)}};
    case Operation::InvocationId:
    case Operation::WorkgroupId:
    case Operation::LocalId: return id_of(expr);
    case Operation::Select:
      return ops_.select(operand(expr.args[0]), operand(expr.args[1]), operand(expr.args[2]));
    case Operation::Cast: return ops_.cast(type_of_detail(expr), operand(expr.args[0]));
    case Operation::Vec2:
    case Operation::Vec4: {
      Lanes result{types_[id], false, {}};
      std::size_t count = 0;
      bool vector = false;
      for (ExprId arg : operands(body_, expr)) {
        result.parts[count] = ops_.whole(operand(arg)).parts[0];
        vector = ir_.is_vector(result.parts[count++]) || vector;
      }
      for (std::size_t i = 0; vector && i < count; ++i) {
        if (!ir_.is_vector(result.parts[i])) result.parts[i] = ir_.splat(result.parts[i]);
      }
      return result;
    }
    case Operation::Lane: return {DataType::U32, false, {operand(expr.args[0]).parts[expr.detail]}};
    case Operation::Call: break;  // expanded before
#define UNARY(name, text, tag, types, signature, laws, meaning) case Operation::name:
#define BINARY(name, text, precedence, tag, types, signature, laws, meaning) case Operation::name:
#include "vyre/ir/ops.def"
      {
        if (!in_first) {
          if (const std::optional<Lanes> lanes = of_three(id)) return *lanes;
        }
        const std::span<const ExprId> args = operands(body_, expr);
        return apply(expr.op, operand(args[0]), operand(args[args.size() - 1]));
      }
  }
  return ops_.zero(types_[id]);
}

// Adds what a value is made of by bitwise operations, and counts these. Gives whether it is not too
// much.
bool CpuEmitter::find_bits(ExprId id, std::vector<ExprId>& leaves, std::size_t& count) const {
  constexpr std::size_t kMaxCount = 8;
  const Expr& expr = body_[id];
  if (!is_bitwise(expr.op) || is_scalar(id)) {
    if (std::ranges::find(leaves, id) == leaves.end()) leaves.push_back(id);
    return leaves.size() <= 3;
  }
  return ++count <= kMaxCount && std::ranges::all_of(operands(body_, expr), [&](ExprId arg) {
    return find_bits(arg, leaves, count);
  });
}

// Three or more bitwise operations on three values, which AVX-512 does at once, as long as LLVM
// does not see it for all of them.
std::optional<Lanes> CpuEmitter::of_three(ExprId id) {
  std::vector<ExprId> leaves;
  std::size_t count = 0;
  if (!has_masks(target_) || width_ * 32 != target_.bits || !is_bitwise(body_[id].op) ||
      (types_[id] != DataType::U32 && types_[id] != DataType::I32) ||
      !find_bits(id, leaves, count) || count < 3 || leaves.size() != 3) {
    return std::nullopt;
  }
  std::array<Value, 3> parts{};
  for (std::size_t i = 0; i < 3; ++i) {
    const Lanes lanes = value(leaves[i]);
    if (lanes.is_bit) return std::nullopt;
    parts[i] = ops_.splat(lanes).parts[0];
  }
  // What comes out for all bits of the three.
  const auto table = [&](const auto& self, ExprId of) -> std::uint32_t {
    constexpr std::uint32_t kBits[] = {0xf0, 0xcc, 0xaa};
    const auto leaf = std::ranges::find(leaves, of);
    if (leaf != leaves.end()) return kBits[leaf - leaves.begin()];
    const Expr& expr = body_[of];
    const std::uint32_t a = self(self, expr.args[0]);
    if (expr.op == Operation::BitNot) return ~a & 0xff;
    const std::uint32_t b = self(self, expr.args[1]);
    if (expr.op == Operation::BitAnd) return a & b;
    return expr.op == Operation::BitOr ? a | b : a ^ b;
  };
  const Value made = ir_.call("llvm.x86.avx512.pternlog.d.512", std::span<Ir::Type>(),
                              {parts[0], parts[1], parts[2], ir_.word(table(table, id))});
  return Lanes{types_[id], false, {made}};
}

Lanes CpuEmitter::id_of(const Expr& expr) {
  const std::uint32_t axis = expr.detail;
  const auto word = [](Value of) { return Lanes{DataType::U32, false, {of}}; };
  if (expr.op == Operation::WorkgroupId) return word(group_[axis]);
  const Value local = program_.workgroup_size[axis] == 1 ? ir_.word(0) : first_[axis];
  if (expr.op == Operation::LocalId) return word(local);
  const bool is_row = is_limited_ && axis == 0;
  Value base = ir_.mul(group_[axis],
                       is_row ? ir_.trunc(row_size_, 32) : ir_.word(program_.workgroup_size[axis]));
  if (ir_.is_vector(local)) base = ir_.splat(base);
  return word(ir_.add(base, local));
}

Lanes CpuEmitter::read_local(LocalId local) {
  Place& place = places_[local.index];
  const bool elsewhere = segments_[place.declared.index] != segments_[at_.index];
  if (place.bound.exists() && !place.crosses && elsewhere) return scalar(place.bound);
  const bool is_here = place.value.exists() && place.function == function_;
  if (is_here && !place.crosses) return place.value;
  if (!place.slots[0].exists()) return place.value;  // the variable of a loop around everything
  const DataType type = types_[local];
  Lanes lanes{type, false, {}};
  for (std::size_t i = 0; i < part_count(type); ++i) {
    const Ir::Type element = place.is_vector ? ir_.vector(part_type(type)) : part_type(type);
    Value from = address(place.slots[i]);
    if (place.crosses) from = ir_.at(element, from, gang_ != nullptr ? gang_ : ir_.wide(0));
    lanes.parts[i] = ir_.load(element, from);
  }
  return lanes;
}

// The memory of a local.
void CpuEmitter::make_slots(Place& place) {
  const DataType type = types_[place.local];
  place.is_vector =
      place.bound.exists() ? !is_regular(place.bound) : !shapes_.uniformity[place.local];
  for (std::size_t i = 0; i < part_count(type); ++i) {
    Ir::Type part = place.is_vector ? ir_.vector(part_type(type)) : part_type(type);
    std::uint64_t bytes = std::uint64_t{place.is_vector ? width_ : 1} * (part_bits(type) / 8);
    bool is_shared = place.is_shared;
    if (place.crosses) {
      part = ir_.api().ArrayType2(part, gangs_);
      bytes *= gangs_;
      is_shared = is_large_ || taken_ + bytes > kMaxStackBytes;
      if (!is_shared) taken_ += bytes;
    }
    place.slots[i] = make_slot(part, bytes, body_[place.local].name.c_str(), is_shared);
  }
}

// A local gets its first value, or another one.
void CpuEmitter::give(Place& place, const Lanes& given) {
  if (place.bound.exists() && !place.crosses) {
    place.value = given;
    place.function = function_;
    if (!place.is_shared) return;
  }
  const DataType type = types_[place.local];
  Lanes lanes = ops_.whole(given);
  if (!place.slots[0].exists()) make_slots(place);
  if (place.is_vector) lanes = ops_.splat(lanes);
  for (std::size_t i = 0; i < part_count(type); ++i) {
    const Ir::Type part = place.is_vector ? ir_.vector(part_type(type)) : part_type(type);
    Value to = address(place.slots[i]);
    if (place.crosses) to = ir_.at(part, to, gang_ != nullptr ? gang_ : ir_.wide(0));
    ir_.store(lanes.parts[i], to);
  }
}

// Whether a value is one more than another. Under a mask, LLVM would add the mask as a number,
// which takes an instruction more than an addition that it masks: so it shall not know that it is
// one.
bool CpuEmitter::counts(ExprId id) const {
  const Expr& expr = body_[id];
  return has_masks(target_) && expr.op == Operation::Add && types_[id] == DataType::U32 &&
         body_[expr.args[1]].op == Operation::Literal && body_[expr.args[1]].imm == 1;
}

Lanes CpuEmitter::counted(ExprId id) {
  const Lanes before = ops_.splat(ops_.whole(value(body_[id].args[0])));
  return {DataType::U32, false, {ir_.add(before.parts[0], ir_.splat(ir_.hidden(ir_.i32, 1)))}};
}

void CpuEmitter::assign(StmtId id, LocalId local, ExprId to) {
  Place& place = places_[local.index];
  const bool blends =
      mask_ != nullptr && place.slots[0].exists() && place.is_vector && must_blend(place, id);
  Lanes given = ops_.whole(blends && counts(to) ? counted(to) : value(to));
  if (blends) given = ops_.select(ops_.bit(mask_), given, read_local(local));
  give(place, given);
}

void CpuEmitter::branch(StmtId id, const If& branch) {
  const StmtId inside{id.index + 1};
  const Value before = mask_;
  const Lanes condition = value(branch.condition);
  const Value test = ops_.truth(condition);
  if (ir_.is_vector(test) && is_break(id)) return break_some(test);
  const bool has_else = branch.else_begin < branch.end;
  const Ir::Block behind = ir_.block("end");
  if (!ir_.is_vector(test)) {
    if (const std::optional<std::uint64_t> known = ir_.constant(test)) {
      *known != 0 ? statements(inside, branch.else_begin, behind)
                  : statements(branch.else_begin, branch.end, behind);
    } else {
      const Ir::Block yes = ir_.block("then");
      const Ir::Block no = has_else ? ir_.block("else") : nullptr;
      ++conditions_;
      rows_known_.clear();
      ir_.branch(test, yes, has_else ? no : behind);
      ir_.go_on(yes);
      statements(inside, branch.else_begin, behind);
      rows_known_.clear();
      if (has_else) {
        mask_ = before;
        ir_.go_on(no);
        statements(branch.else_begin, branch.end, behind);
        rows_known_.clear();
      }
      --conditions_;
    }
  } else {
    const Ir::Block middle = has_else ? ir_.block("otherwise") : behind;
    // One side for those that take it, if there are any.
    const auto side = [&](Value on, const char* name, StmtId from, StmtId to, Ir::Block over) {
      mask_ = on;
      const std::optional<std::uint64_t> lanes = constant_lanes(on);
      if (lanes == std::uint64_t{0}) return ir_.jump(over);
      const auto known = rows_known_;
      const Ir::Block block = ir_.block(name);
      conditions_ += lanes ? 0 : 1;
      lanes ? ir_.jump(block) : ir_.branch(any(on), block, over);
      ir_.go_on(block);
      statements(from, to, over);
      conditions_ -= lanes ? 0 : 1;
      if (!lanes && rows_known_ != known) rows_known_.clear();
    };
    side(with(before, test), "then", inside, branch.else_begin, middle);
    if (has_else) {
      ir_.go_on(middle);
      side(with(before, ir_.invert(test)), "else", branch.else_begin, branch.end, behind);
    }
  }
  ir_.go_on(behind);
  mask_ = before;
  ++time_;
  drop_those_that_left(id);
}

// Whether a statement is `if ... { break }`.
bool CpuEmitter::is_break(StmtId id) const {
  const If* branch = std::get_if<If>(&body_[id]);
  return branch != nullptr && branch->end.index == id.index + 2 &&
         std::holds_alternative<Break>(body_[StmtId{id.index + 1}]);
}

// Whether lanes leave a loop only so, between its statements.
bool CpuEmitter::only_breaks(StmtId loop) const {
  for (std::uint32_t i = loop.index + 1; i < next(body_, loop).index; ++i) {
    const Stmt& stmt = body_.stmts[i];
    if (std::holds_alternative<Return>(stmt)) return false;
    if (!std::holds_alternative<Break>(stmt)) continue;
    StmtId left = owner(StmtId{i});
    while (!std::holds_alternative<For>(body_[left])) left = owner(left);
    const StmtId branch = owner(StmtId{i});
    if (left == loop && (owner(branch) != loop || !is_break(branch))) return false;
  }
  return true;
}

// Some leave the loop, without a jump; where none is left, all go on behind it.
void CpuEmitter::break_some(Value test) {
  Loop& loop = loops_.back();
  const bool all_here = mask_ == loop.mask;
  const Value left = with(mask_, test);
  mask_ = with(mask_, ir_.invert(test));
  all_here ? put_mask(loop.live, mask_) : turn_off(loop.live, left);
  if (all_here) loop.mask = mask_;
  const Ir::Block on = ir_.block("on");
  ir_.branch(any(mask_), on, all_here ? loop.exit : block_end_);
  ir_.go_on(on);
  ++time_;
}

// Every so many rounds a loop looks whether to go on at all. Gives the memory of how many are left;
// null for a short loop without others in it.
Value CpuEmitter::count_rounds(StmtId id, const For& loop) {
  const Expr& from = body_[loop.from];
  const Expr& to = body_[loop.to];
  const bool literal = from.op == Operation::Literal && to.op == Operation::Literal;
  const auto stmts = std::span(body_.stmts).subspan(id.index + 1, loop.end.index - id.index - 1);
  const bool nests = std::ranges::any_of(
      stmts, [](const Stmt& stmt) { return std::holds_alternative<For>(stmt); });
  if (literal && !nests && to.imm - from.imm <= kRounds) return nullptr;
  const Value rounds = ir_.local(ir_.i32, "rounds");
  ir_.store(ir_.word(kRounds), rounds);
  return rounds;
}

void CpuEmitter::begin_round(Value rounds) {
  if (rounds == nullptr) return;
  const Ir::Block look = ir_.block("look");
  const Ir::Block stop = ir_.block("stop");
  const Ir::Block again = ir_.block("again");
  const Ir::Block on = ir_.block("on");
  const Value left = ir_.load(ir_.i32, rounds);
  ir_.store(ir_.sub(left, ir_.word(1)), rounds);
  ir_.branch(ir_.equal_zero(left), look, on);
  ir_.go_on(look);
  const Value asked = ir_.load(ir_.i8, stop_);
  ir_.api().SetVolatile(asked, 1);
  ir_.branch(ir_.not_zero(asked), stop, again);
  ir_.go_on(stop);
  ir_.leave();
  ir_.go_on(again);
  ir_.store(ir_.word(kRounds), rounds);
  ir_.jump(on);
  ir_.go_on(on);
}

void CpuEmitter::repeat(StmtId id, const For& loop) {
  const Value before = mask_;
  Lanes from = ops_.whole(value(loop.from));
  Lanes to = ops_.whole(value(loop.to));
  ops_.unify(from, to);
  const bool varies = ops_.is_vector(from);
  Loop open{id, ir_.block("loop.end"), {}, nullptr, function_};
  const Leaving& leaving = leaving_[id.index];
  if (varies || parts(id, true) || (mask_ != first_mask_ && leaving.returns) || is_large_) {
    open.live = make_mask("live");
  }
  Place& place = places_[loop.variable.index];
  const Value counter = ir_.local(ir_.type(from.parts[0]), body_[loop.variable].name.c_str());
  ir_.store(from.parts[0], counter);
  const Value rounds = count_rounds(id, loop);
  const Ir::Block head = ir_.block("loop");
  const Ir::Block inside = ir_.block("round");
  ir_.jump(head);
  ir_.go_on(head);
  const Value now = ir_.load(ir_.type(from.parts[0]), counter);
  begin_round(rounds);
  Value more = ir_.compare(Compare::Ult, now, to.parts[0]);
  if (open.live.exists()) {
    Value live = get_mask(open.live);
    if (varies) {
      live = ir_.both(live, more);
      put_mask(open.live, live);
      more = any(live);
    } else if (is_large_ || !only_breaks(id)) {
      more = ir_.both(more, any(live));
    }
    mask_ = live;
  }
  ir_.branch(more, inside, open.exit);
  ir_.go_on(inside);
  open.mask = mask_;
  begin_loop(place, now);
  const Ir::Block latch = ir_.block("next");
  loops_.push_back(open);
  rows_known_.clear();
  ++conditions_;
  statements(StmtId{id.index + 1}, loop.end, latch);
  --conditions_;
  rows_known_.clear();
  loops_.pop_back();
  ir_.go_on(latch);
  ir_.store(ir_.add(now, varies ? ir_.splat_number(ir_.i32, 1) : ir_.word(1)), counter);
  ir_.jump(head);
  ir_.go_on(open.exit);
  mask_ = before;
  ++time_;
  drop_those_that_left(id);
}

// Behind a statement in which some may have left a loop around it, or returned: they are off from
// here on. Where none is on, the block ends. Where all leave together they are gone already.
void CpuEmitter::drop_those_that_left(StmtId id) {
  const bool in_loop = !loops_.empty() && loops_.back().id < id;
  const Leaving& leaving = leaving_[id.index];
  const bool together = !is_large_ && (!leaving.returns || mask_ == first_mask_) &&
                        (!in_loop || !leaving.breaks || mask_ == loops_.back().mask);
  if ((together && !parts(id, false)) || !leaves(id)) return;
  drop_those_that_left();
}

void CpuEmitter::drop_those_that_left() {
  const bool in_masked_loop = !loops_.empty() && loops_.back().live.exists();
  Slot& left = in_masked_loop ? loops_.back().live : alive_;
  if (!left.exists()) return;
  mask_ = with(mask_, get_mask(left));
  const Ir::Block on = ir_.block("on");
  ir_.branch(any(mask_), on, block_end_);
  ir_.go_on(on);
}

// `break`: at once if all that are in the round leave.
void CpuEmitter::leave_loop() {
  Loop& loop = loops_.back();
  if (mask_ == loop.mask) return ir_.jump(loop.exit);
  turn_off(loop.live, full_mask());
}

void CpuEmitter::leave_gang() {
  if (returns_far_) {
    const Value kept = ir_.at(ir_.i64, address(all_alive_), gang_);
    const Value left = to_bits(full_mask());
    ir_.store(ir_.both(ir_.load(ir_.i64, kept), ir_.invert(left)), kept);
  }
  if (mask_ == first_mask_) return ir_.jump(gang_end_);
  for (Loop& loop : loops_) {
    if (loop.live.exists()) turn_off(loop.live, full_mask());
  }
  turn_off(alive_, full_mask());
}

// And goes on to `behind`.
void CpuEmitter::statements(StmtId begin, StmtId end, Ir::Block behind) {
  const Ir::Block around = std::exchange(block_end_, behind);
  for (StmtId id = begin; id < end && !ir_.is_closed();) {
    if (const std::optional<std::uint32_t> piece = piece_at(id, false)) {
      call_gang_piece(*piece);
      id = pieces_.all[*piece].end;
    } else {
      statement(id);
      id = next(body_, id);
    }
  }
  ir_.jump(behind);
  // Some came to `behind` from before the end.
  const bool may_leave =
      !rows_known_.empty() && std::any_of(body_.stmts.begin() + begin.index,
                                          body_.stmts.begin() + end.index, [](const Stmt& stmt) {
                                            return std::holds_alternative<Return>(stmt) ||
                                                   std::holds_alternative<Break>(stmt);
                                          });
  if (may_leave) rows_known_.clear();
  block_end_ = around;
}

// A round of a loop begins.
void CpuEmitter::begin_loop(Place& place, Value now) {
  place.value = {DataType::U32, false, {now}};
  place.function = function_;
  if (!place.is_shared) return;
  const bool widens = place.is_vector && !ir_.is_vector(now);
  ir_.store(widens ? ir_.splat(now) : now, address(place.slots[0]));
}

void CpuEmitter::statement(StmtId id) {
  begin_statement(id);
  const Stmt& stmt = body_[id];
  if (const Let* let = std::get_if<Let>(&stmt)) {
    Place& place = places_[let->local.index];
    // A regular value is kept as that of its first lane.
    give(place,
         place.bound.exists() && is_regular(let->value) ? scalar(let->value) : value(let->value));
  } else if (const Assign* given = std::get_if<Assign>(&stmt)) {
    assign(id, given->local, given->value);
  } else if (const Store* stored = std::get_if<Store>(&stmt)) {
    store(*stored);
  } else if (const Atomic* update = std::get_if<Atomic>(&stmt)) {
    atomic(*update);
  } else if (const If* choice = std::get_if<If>(&stmt)) {
    branch(id, *choice);
  } else if (const For* loop = std::get_if<For>(&stmt)) {
    repeat(id, *loop);
  } else if (const Block* block = std::get_if<Block>(&stmt)) {
    const Ir::Block behind = ir_.block("end");
    const Value before = mask_;
    statements(StmtId{id.index + 1}, block->end, behind);
    ir_.go_on(behind);
    mask_ = before;
    drop_those_that_left(id);
  } else if (std::holds_alternative<Break>(stmt)) {
    leave_loop();
  } else if (std::holds_alternative<Return>(stmt)) {
    leave_gang();
  }
}

}  // namespace vyre
