#include <algorithm>

#include "vyre/backends/cpu/gang_writer.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

using llvm::Compare;
using Value = Ir::Value;

// How many rounds of a loop pass before it looks whether it shall stop.
constexpr std::uint32_t kRounds = 4096;

}  // namespace

GangWriter::GangWriter(Frame& frame, Ops& ops, Moves& moves, LongOps& long_ops)
    : frame_(frame),
      ops_(ops),
      moves_(moves),
      long_ops_(long_ops),
      known_(frame.ir, moves),
      firsts_(body_.exprs.size()),
      values_(body_.exprs.size()),
      homes_(body_.locals.size()),
      functions_(facts_.pieces.all.size()) {}

// --- Gangs

void GangWriter::begin_row(Value number) {
  row_ = number;
  const Value word = ir_.trunc(number, 32);
  const auto& size = facts_.program.workgroup_size;
  first_[1] = word % size[1];
  first_[2] = word / size[1];
}

void GangWriter::begin_gang(Value number_in_row) {
  gang_in_row_ = number_in_row;
  gang_ = row_ * facts_.layout.row_gangs + number_in_row;
  first_[0] = ir_.trunc(number_in_row, 32) * width_;
  if (facts_.layout.in_rows) return;
  const auto& size = facts_.program.workgroup_size;
  const Value numbers = ir_.splat(first_[0]) + ir_.ramp(ir_.i32, 0, 1);
  first_[0] = numbers % size[0];
  first_[1] = numbers / size[0] % size[1];
  first_[2] = numbers / (size[0] * size[1]);
}

void GangWriter::write_fast(StmtId begin, StmtId end, const FastRow& fast) {
  gang_end_ = ir_.block("gang.end");
  fast_ = &fast;
  write(begin, end, nullptr);
  fast_ = &kNothingKnown;
}

void GangWriter::write_checked(StmtId begin, StmtId end, Value present) {
  gang_end_ = ir_.block("gang.end");
  write(begin, end, present_lanes(present));
}

void GangWriter::write(StmtId begin, StmtId end, Value mask) {
  mask_ = first_mask_ = mask;
  record_parts_.clear();
  fetched_.clear();
  alive_ = {};
  for (StmtId id = begin; id < end && !alive_.exists(); id = next(body_, id)) {
    if (facts_.leaving[id.index].returns) alive_ = make_mask("alive");
  }
  // Locals of another version of the same statements are not those of this one.
  for (StmtId id = begin; id < end; ++id.index) {
    const LocalId local = declared(body_[id]);
    if (!local.exists() || facts_.locals[local.index].crosses || facts_.is_large) continue;
    homes_[local.index] = {};
  }
  statements(begin, end, gang_end_);
  ir_.go_on(gang_end_);
}

// Of the gang, those that are there and have not returned; null where all are.
Value GangWriter::present_lanes(Value present) {
  Value mask;
  if (facts_.is_limited || facts_.layout.row_invocations % width_ != 0) {
    const Value left = present - gang_in_row_ * width_;
    const Value few = ir_.trunc(ir_.umin(left, width_), 32);
    mask = ir_.ramp(ir_.i32, 0, 1) < ir_.splat(few);
  }
  if (facts_.returns_far) {
    mask = moves_.with(mask, moves_.from_bits(kept_alive(gang_)));
    ir_.go_on_if(moves_.any(mask), "some", gang_end_);
  }
  return mask;
}

void GangWriter::reset_alive() {
  if (!facts_.returns_far) return;
  const std::uint64_t gangs = facts_.layout.gangs;
  if (!all_alive_.exists()) {
    all_alive_ = frame_.make_slot(ir_.array(ir_.i64, gangs), 8 * gangs, "alive", facts_.is_large);
  }
  ir_.loop("begin", ir_.wide(0), ir_.wide(gangs), [&](Value gang) {
    ir_.store(ir_.ones(ir_.i64), ir_.at(ir_.i64, frame_.address(all_alive_), gang));
  });
}

Value GangWriter::kept_alive(Value gang) {
  return ir_.load(ir_.i64, ir_.at(ir_.i64, frame_.address(all_alive_), gang));
}

// --- Masks

// Memory for a mask, which is the present one at first.
Slot GangWriter::make_mask(const char* name) {
  const Slot slot =
      frame_.make_slot(ir_.vector(ir_.boolean), std::uint64_t{width_} * 4, name, facts_.is_large);
  put_mask(slot, full_mask());
  return slot;
}

// In the memory of the thread, a mask is words where the CPU has no registers for masks: LLVM would
// pack and unpack it bit by bit.
Value GangWriter::get_mask(const Slot& slot) {
  if (!slot.is_shared || has_masks(facts_.target)) {
    return ir_.load(ir_.vector(ir_.boolean), frame_.address(slot));
  }
  return moves_.of_words(ir_.load(ir_.vector(ir_.i32), frame_.address(slot), 4));
}

void GangWriter::put_mask(const Slot& slot, Value mask) {
  const bool is_words = slot.is_shared && !has_masks(facts_.target);
  ir_.store(is_words ? ir_.sext(mask, 32) : mask, frame_.address(slot), is_words ? 4 : 0);
}

void GangWriter::turn_off(const Slot& slot, Value lanes) {
  const Value before = get_mask(slot);
  put_mask(slot, before & ~lanes);
}

// --- Statements

// And goes on to `after`.
void GangWriter::statements(StmtId begin, StmtId end, Ir::Block after) {
  const Ir::Block around = std::exchange(block_end_, after);
  for (StmtId id = begin; id < end && !ir_.is_closed();) {
    if (const std::optional<std::uint32_t> piece = piece_at(id, false)) {
      call_gang_piece(*piece);
      id = facts_.pieces.all[*piece].end;
    } else {
      statement(id);
      id = next(body_, id);
    }
  }
  ir_.jump(after);
  // Some came to `after` from before the end.
  if (!known_.is_empty() && facts_.has<Return, Break>(begin, end)) known_.clear();
  block_end_ = around;
}

void GangWriter::begin_statement(StmtId id) {
  at_ = id;
  ++time_;
}

void GangWriter::statement(StmtId id) {
  begin_statement(id);
  visit(
      body_[id],
      [&](const Let& let) {
        // A regular value is kept as that of its first lane.
        const bool is_first =
            facts_.bound[let.local.index].exists() && facts_.is_regular(let.value);
        give(let.local, is_first ? scalar(let.value) : value(let.value));
      },
      [&](const Assign& given) { assign(id, given.local, given.value); },
      [&](const Store& given) { store(given); }, [&](const Atomic& update) { atomic(update); },
      [&](const If& choice) { branch(id, choice); }, [&](const For& loop) { repeat(id, loop); },
      [&](const Block& block) {
        const Ir::Block after = ir_.block("end");
        const Value before = mask_;
        statements(StmtId{id.index + 1}, block.end, after);
        ir_.go_on(after);
        mask_ = before;
        drop_those_that_left(id);
      },
      [&](const Break&) { leave_loop(); }, [&](const Return&) { leave_gang(); },
      [&](const Collective& all) { contribute(all); }, Nothing<Barrier, SetElement, Continue>());
}

void GangWriter::assign(StmtId id, LocalId local, ExprId to) {
  const bool blends = mask_ && homes_[local.index].slots[0].exists() &&
                      facts_.locals[local.index].is_vector && facts_.must_blend(local, id);
  Lanes given = ops_.whole(blends && counts(to) ? counted(to) : value(to));
  if (blends) given = ops_.select(ops_.bit(mask_), given, read_local(local));
  give(local, given);
}

void GangWriter::branch(StmtId id, const If& branch) {
  const Value before = mask_;
  const Value test = ops_.truth(value(branch.condition));
  if (ir_.is_vector(test) && is_break(id)) return break_some(test);
  const Ir::Block after = ir_.block("end");
  ir_.is_vector(test) ? branch_apart(id, branch, test, after)
                      : branch_together(id, branch, test, after);
  ir_.go_on(after);
  mask_ = before;
  ++time_;
  drop_those_that_left(id);
}

void GangWriter::branch_together(StmtId id, const If& branch, Value test, Ir::Block after) {
  const StmtId inside{id.index + 1};
  if (const std::optional<std::uint64_t> known = ir_.constant(test)) {
    return *known != 0 ? statements(inside, branch.else_begin, after)
                       : statements(branch.else_begin, branch.end, after);
  }
  const Value before = mask_;
  const bool has_else = branch.else_begin < branch.end;
  const Ir::Block yes = ir_.block("then");
  const Ir::Block no = has_else ? ir_.block("else") : after;
  ++conditions_;
  known_.clear();
  ir_.branch(test, yes, no);
  ir_.go_on(yes);
  statements(inside, branch.else_begin, after);
  known_.clear();
  if (has_else) {
    mask_ = before;
    ir_.go_on(no);
    statements(branch.else_begin, branch.end, after);
    known_.clear();
  }
  --conditions_;
}

void GangWriter::branch_apart(StmtId id, const If& branch, Value test, Ir::Block after) {
  const Value before = mask_;
  const bool has_else = branch.else_begin < branch.end;
  const Ir::Block middle = has_else ? ir_.block("otherwise") : after;
  // One side for those that take it, if there are any.
  const auto side = [&](Value on, const char* name, StmtId from, StmtId to, Ir::Block over) {
    mask_ = on;
    const std::optional<std::uint64_t> lanes = moves_.constant_lanes(on);
    if (lanes == std::uint64_t{0}) return ir_.jump(over);
    const KnownRows::State known = known_.state();
    const Ir::Block block = ir_.block(name);
    conditions_ += lanes ? 0 : 1;
    lanes ? ir_.jump(block) : ir_.branch(moves_.any(on), block, over);
    ir_.go_on(block);
    statements(from, to, over);
    conditions_ -= lanes ? 0 : 1;
    if (!lanes && known_.state() != known) known_.clear();
  };
  side(moves_.with(before, test), "then", StmtId{id.index + 1}, branch.else_begin, middle);
  if (!has_else) return;
  ir_.go_on(middle);
  side(moves_.with(before, ~test), "else", branch.else_begin, branch.end, after);
}

// --- Loops

// Loops look now and then whether to go on at all. Gives the memory of how many rounds are left
// until then; null for a short loop without others in it.
Value GangWriter::count_rounds(StmtId id, const For& loop) {
  const Expr& from = body_[loop.from];
  const Expr& to = body_[loop.to];
  const bool is_literal = from.op == Operation::Literal && to.op == Operation::Literal;
  const bool nests = facts_.has<For>(StmtId{id.index + 1}, loop.end);
  if (is_literal && !nests && to.imm - from.imm <= kRounds) return nullptr;
  return ir_.variable("rounds", ir_.word(kRounds));
}

void GangWriter::begin_round(Value rounds) {
  if (!rounds) return;
  const Value left = ir_.load(ir_.i32, rounds);
  ir_.store(left - 1, rounds);
  ir_.only_if(ir_.equal(left, 0), "look", "on", [&] {
    frame_.leave_if_stopped();
    ir_.store(ir_.word(kRounds), rounds);
  });
}

void GangWriter::set_variable(const For& loop, Value now) {
  const LocalFacts& known = facts_.locals[loop.variable.index];
  Home& home = homes_[loop.variable.index];
  home.value = {DataType::U32, {now}};
  home.function = frame_.piece;
  if (!known.is_shared) return;
  ir_.store(known.is_vector ? ir_.splat(now) : now, frame_.address(home.slots[0]));
}

void GangWriter::repeat(StmtId id, const For& loop) {
  const Value before = mask_;
  Lanes from = ops_.whole(value(loop.from));
  Lanes to = ops_.whole(value(loop.to));
  ops_.unify(from, to);
  const bool varies = ops_.is_vector(from);
  Loop open{id, ir_.block("loop.end"), {}, nullptr, frame_.piece};
  const bool returns_some = mask_ != first_mask_ && facts_.leaving[id.index].returns;
  if (varies || facts_.some_leave_loop(id) || returns_some || facts_.is_large) {
    open.live = make_mask("live");
  }
  const auto more = [&](Value now) {
    Value goes_on = now < to.parts[0];
    if (open.live.exists()) {
      mask_ = get_mask(open.live);
      if (varies) {
        mask_ = mask_ & goes_on;
        put_mask(open.live, mask_);
        goes_on = moves_.any(mask_);
      } else {
        goes_on = goes_on & moves_.any(mask_);
      }
    }
    open.mask = mask_;
    return goes_on;
  };
  write_loop(open, loop, from.parts[0], more, [&] {
    const Ir::Block latch = ir_.block("next");
    known_.clear();
    ++conditions_;
    statements(StmtId{id.index + 1}, loop.end, latch);
    --conditions_;
    known_.clear();
    ir_.go_on(latch);
  });
  mask_ = before;
  ++time_;
  drop_those_that_left(id);
}

// --- Leaving

// After a statement in which some may have left a loop around it, or returned: they are off from
// here on. Where none is on, the block ends. Where all leave together they are gone already.
void GangWriter::drop_those_that_left(StmtId id) {
  const bool in_loop = !loops_.empty() && loops_.back().id < id;
  const Leaving& leaving = facts_.leaving[id.index];
  const bool together = !facts_.is_large && (!leaving.returns || mask_ == first_mask_) &&
                        (!in_loop || !leaving.breaks || mask_ == loops_.back().mask);
  if ((together && !facts_.some_leave(id)) || !facts_.leaves(id)) return;
  drop_those_that_left();
}

void GangWriter::drop_those_that_left() {
  const bool in_masked_loop = !loops_.empty() && loops_.back().live.exists();
  const Slot& left = in_masked_loop ? loops_.back().live : alive_;
  if (!left.exists()) return;
  mask_ = moves_.with(mask_, get_mask(left));
  ir_.go_on_if(moves_.any(mask_), "on", block_end_);
}

// Whether a statement is `if ... { break }`.
bool GangWriter::is_break(StmtId id) const {
  const If* branch = std::get_if<If>(&body_[id]);
  return branch != nullptr && branch->end.index == id.index + 2 &&
         std::holds_alternative<Break>(body_[StmtId{id.index + 1}]);
}

// Some leave the loop, without a jump; where none is left, all go on after it.
void GangWriter::break_some(Value test) {
  Loop& loop = loops_.back();
  const bool all_here = mask_ == loop.mask;
  const Value left = moves_.with(mask_, test);
  mask_ = moves_.with(mask_, ~test);
  all_here ? put_mask(loop.live, mask_) : turn_off(loop.live, left);
  if (all_here) loop.mask = mask_;
  ir_.go_on_if(moves_.any(mask_), "on", all_here ? loop.exit : block_end_);
  ++time_;
}

// `break`: at once if all that are in the round leave.
void GangWriter::leave_loop() {
  Loop& loop = loops_.back();
  if (mask_ == loop.mask) return ir_.jump(loop.exit);
  turn_off(loop.live, full_mask());
}

// `return`.
void GangWriter::leave_gang() {
  if (facts_.returns_far) {
    const Value kept = ir_.at(ir_.i64, frame_.address(all_alive_), gang_);
    const Value others = ~moves_.to_bits(full_mask());
    ir_.store(ir_.load(ir_.i64, kept) & others, kept);
  }
  if (mask_ == first_mask_) return ir_.jump(gang_end_);
  for (const Loop& loop : loops_) {
    if (loop.live.exists()) turn_off(loop.live, full_mask());
  }
  turn_off(alive_, full_mask());
}

// --- Pieces of a large program

std::optional<std::uint32_t> GangWriter::piece_at(StmtId id, bool is_collective) const {
  if (!facts_.is_large) return std::nullopt;
  return facts_.pieces.find(frame_.piece, id, is_collective);
}

// It is written when what calls it is.
void GangWriter::call_piece(std::uint32_t number) {
  if (!functions_[number]) {
    functions_[number] = frame_.declare_part("piece" + std::to_string(number));
    waiting_pieces_.push_back({number, functions_[number], loops_, alive_});
  }
  frame_.call_part(functions_[number]);
  ++time_;
  const Piece& piece = facts_.pieces.all[number];
  // A loop in it may have ended because the run shall end.
  if (facts_.has<For>(piece.begin, piece.end)) frame_.leave_if_stopped();
}

// Lanes that leave in there are off from here on.
void GangWriter::call_gang_piece(std::uint32_t number) {
  const bool begins_gangs = frame_.piece == 0 || facts_.pieces.all[frame_.piece].is_collective;
  if (begins_gangs) save_gang();
  const Value mask = ir_.sext(full_mask(), 32);
  ir_.store(mask, frame_.at(frame_.vector_at(Frame::kMask)), 4);
  call_piece(number);
  const Piece& piece = facts_.pieces.all[number];
  for (StmtId id = piece.begin; id < piece.end; id = next(body_, id)) {
    if (facts_.leaves(id)) return drop_those_that_left();
  }
}

void GangWriter::save_gang() {
  ir_.store(row_, frame_.at(Frame::kRow));
  ir_.store(gang_in_row_, frame_.at(Frame::kGangInRow));
  ir_.store(gang_, frame_.at(Frame::kGang));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    ir_.store(first_[axis], frame_.at(frame_.vector_at(axis)), 4);
  }
}

std::optional<GangWriter::WaitingPiece> GangWriter::next_piece() {
  if (waiting_pieces_.empty()) return std::nullopt;
  WaitingPiece waiting = std::move(waiting_pieces_.back());
  waiting_pieces_.pop_back();
  return waiting;
}

// At the beginning of its function.
void GangWriter::enter_piece(const WaitingPiece& waiting) {
  frame_.enter_piece(waiting.piece);
  ++time_;
  loops_ = waiting.loops;
  alive_ = waiting.alive;
  mask_ = nullptr;
  first_mask_ = nullptr;
  gang_ = nullptr;
  if (facts_.pieces.all[waiting.piece].is_collective) return;
  row_ = ir_.load(ir_.i64, frame_.at(Frame::kRow));
  gang_in_row_ = ir_.load(ir_.i64, frame_.at(Frame::kGangInRow));
  gang_ = ir_.load(ir_.i64, frame_.at(Frame::kGang));
  const Ir::Type ids = facts_.layout.in_rows ? ir_.i32 : ir_.vector(ir_.i32);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    first_[axis] = ir_.load(ids, frame_.at(frame_.vector_at(axis)), 4);
  }
  const Value mask = frame_.at(frame_.vector_at(Frame::kMask));
  mask_ = moves_.of_words(ir_.load(ir_.vector(ir_.i32), mask, 4));
}

void GangWriter::write_piece(const Piece& piece) {
  gang_end_ = ir_.block("end");
  statements(piece.begin, piece.end, gang_end_);
  ir_.go_on(gang_end_);
}

}  // namespace vyre
