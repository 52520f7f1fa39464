// Writes what a gang does: its statements, under the mask of the lanes that run them. values.cc has
// expressions and locals, memory.cc, private_memory.cc and atomics.cc accesses, collectives.cc what
// gangs have to do with each other, statements.cc control flow.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "vyre/backends/cpu/frame.h"
#include "vyre/backends/cpu/known_rows.h"
#include "vyre/backends/cpu/long_ops.h"
#include "vyre/backends/cpu/unchecked.h"

namespace vyre {

class GangWriter {
 public:
  using Value = Ir::Value;
  using Kind = Shape::Kind;

  // A loop that is being written.
  struct Loop {
    StmtId id;
    Ir::Block exit = nullptr;
    Slot live;   // of the mask of those that have not left
    Value mask;  // at the beginning of a round
    std::uint32_t function = 0;
  };
  // A piece of a large program that is called and still to be written, with what is known there.
  struct WaitingPiece {
    std::uint32_t piece;
    Value function;
    std::vector<Loop> loops;
    Slot alive;
  };

  GangWriter(Frame& frame, Ops& ops, Moves& moves, LongOps& long_ops);

  // --- Where the gang is
  void begin_row(Value number);
  void begin_gang(Value number_in_row);
  // What follows is for the whole workgroup.
  void end_gangs() { gang_ = nullptr; }
  Value row() const { return row_; }

  // --- What it does
  // The statements in lanes that may be taken for granted to be in bounds, all of which are on; or
  // with checks, for `present` lanes of the row.
  void write_fast(StmtId begin, StmtId end, const FastRow& fast);
  void write_checked(StmtId begin, StmtId end, Value present);
  // Stores that may wait are written together by write_waiting(). Those after a `return` may not.
  void let_stores_wait(bool wait) { stores_wait_ = wait; }
  void write_waiting() {
    stores_wait_ = false;
    put_rows(std::exchange(waiting_, {}));
  }
  // Which gangs have lanes that returned is kept between barriers, as bits.
  void reset_alive();
  Value kept_alive(Value gang);
  // What was known of the workgroup is not true of the next code for it.
  void forget_rows() { known_.clear(); }
  void forget_locals();

  // One update of one element; gives what it held. `is_own`: no other thread sees it.
  Value update(AtomicOp op, DataType element, bool is_own, Value pointer, Value expected,
               Value value);

  // --- What all invocations do together
  void begin_statement(StmtId id);
  Value test(ExprId condition) { return ops_.truth(scalar(condition)); }
  Value test(Operation op, ExprId a, ExprId b) {
    const Lanes first = scalar(a);
    return ops_.truth(ops_.apply(op, first, scalar(b)));
  }
  // Of the first lane, as a number of 32 bits; and of all lanes.
  Value word(ExprId id) { return ops_.whole(scalar(id)).parts[0]; }
  Value words(ExprId id) { return ops_.splat(ops_.whole(value(id))).parts[0]; }
  // Writes a loop: more(now) gives whether there is a round with this counter, round() writes it.
  template <class More, class Round>
  void write_loop(Loop& open, const For& loop, Value from, More more, Round round);
  std::vector<Loop>& loops() { return loops_; }

  // Values at the beginning of a row, before the first statement; and in a round of a loop (none:
  // in a row), counted from its first one.
  void begin_entry(StmtId begin);
  void begin_round_of(StmtId loop, std::uint32_t round);
  void end_entry();

  // A collective: before its gangs, which have each their part of it, and after them.
  void begin_collective(StmtId id);
  void end_collective(StmtId id);

  // --- Large programs
  void share_locals();
  std::optional<std::uint32_t> piece_at(StmtId id, bool is_collective) const;
  void call_piece(std::uint32_t number);
  std::optional<WaitingPiece> next_piece();
  void enter_piece(const WaitingPiece& waiting);
  void write_piece(const Piece& piece);

 private:
  // --- Values (values.cc)
  // Of the first lane, which says all of a regular value; and of all lanes, a scalar where they are
  // the same.
  Lanes scalar(ExprId id);
  Lanes value(ExprId id);
  std::optional<Lanes> outcome(ExprId id);
  Lanes computed(ExprId id, bool in_first);
  Lanes id_of(const Expr& expr);
  bool find_bits(ExprId id, std::vector<ExprId>& leaves, std::size_t& count) const;
  std::optional<Lanes> of_three(ExprId id);
  bool counts(ExprId id) const;
  Lanes counted(ExprId id);
  // Memory that a local has, or its value in the function that computed it.
  struct Home {
    Lanes value;
    std::uint32_t function = 0;
    std::array<Slot, 4> slots{};
  };
  Ir::Type slot_type(LocalId local);
  Value slot_address(LocalId local, std::size_t part);
  void make_slots(LocalId local);
  Lanes read_local(LocalId local);
  void give(LocalId local, const Lanes& value);
  void give_all(LocalId local, Value value);

  // --- Masks and statements (statements.cc)
  Value full_mask() { return mask_ ? mask_ : ir_.ones(ir_.vector(ir_.boolean)); }
  Slot make_mask(const char* name);
  Value get_mask(const Slot& slot);
  void put_mask(const Slot& slot, Value mask);
  void turn_off(const Slot& slot, Value lanes);
  Value present_lanes(Value present);
  void write(StmtId begin, StmtId end, Value mask);
  void statements(StmtId begin, StmtId end, Ir::Block after);
  void statement(StmtId id);
  void assign(StmtId id, LocalId local, ExprId value);
  void branch(StmtId id, const If& branch);
  void branch_together(StmtId id, const If& branch, Value test, Ir::Block after);
  void branch_apart(StmtId id, const If& branch, Value test, Ir::Block after);
  void repeat(StmtId id, const For& loop);
  Value count_rounds(StmtId id, const For& loop);
  void begin_round(Value rounds);
  void set_variable(const For& loop, Value now);
  void drop_those_that_left(StmtId id);
  void drop_those_that_left();
  bool is_break(StmtId id) const;
  void break_some(Value test);
  void leave_loop();
  void leave_gang();
  void call_gang_piece(std::uint32_t number);
  void save_gang();

  // --- Memory (memory.cc)
  // Whether the first lane's index is that of all: it always is for the whole workgroup, which has
  // no mask, even where the index comes from memory that each lane has for itself.
  bool is_one_index(ExprId index) const { return !gang_ || facts_.is_scalar(index); }
  bool is_fast() const { return fast_ != &kNothingKnown; }
  bool is_assumed(ExprId access) const { return fast_->in_bounds.contains({at_, access}); }
  bool is_inside(ExprId access) const {
    return facts_.bounds.is_proved(at_, access) || is_assumed(access);
  }
  Value element_pointer(const BufferSlot& buffer, DataType element, Value index, bool inside,
                        Value elsewhere);
  Value row_address(BufferId buffer, ExprId index, bool may_wrap);
  const Records::Place* in_record(ExprId load) const;
  Value record_address(BufferId buffer, ExprId index, const Records::Place& place);
  void prefetch(BufferId buffer, ExprId index);
  Lanes load(ExprId id, const Expr& expr);
  Lanes load_one(ExprId id, BufferId buffer, ExprId index);
  Lanes load_all(ExprId id, BufferId buffer, ExprId index);
  Lanes load_member(BufferId buffer, ExprId index, const Records::Place& place);
  Lanes load_slid(DataType type, const FastRow::Slid& slid);
  Lanes look_up(BufferId buffer, ExprId load, ExprId index, Value mask);
  std::optional<Lanes> permuted(BufferId buffer, Value index);
  std::optional<Lanes> permuted_bytes(const BufferDecl& table, Value index);
  bool goes_one_by_one(DataType element) const;
  Lanes gather(DataType element, const BufferSlot& buffer, Value index, Value mask, bool is_short);
  Lanes gather_one_by_one(DataType element, const BufferSlot& buffer, Value index, Value mask);
  void scatter(DataType element, Value address, Value index, Value mask, const Lanes& given,
               bool is_short);
  void store(const Store& store);
  void store_one(const Store& store, Lanes given);
  void store_member(const Store& store, const Records::Place& place, Value given);
  void store_row(const Store& store, Value mask, const Lanes& given);
  // Vectors side by side.
  struct Waiting {
    std::vector<Value> rows;
    Value pointer;
    BufferId buffer;
    Value pass;  // whether past the caches; null: never
  };
  void store_vectors(const std::vector<Value>& rows, Value pointer, BufferId buffer);
  void put_rows(const std::vector<Waiting>& stores);

  // --- Private memory (private_memory.cc)
  BufferSlot own_memory(BufferId buffer);
  Value own_lanes(Value index, std::size_t part, std::size_t parts);
  Lanes load_own(ExprId id, BufferId buffer, ExprId index);
  void store_own(const Store& store, const Lanes& given);

  // --- Collectives (collectives.cc)
  void contribute(const Collective& all);
  void add_to_sum(const Collective& all, const Lanes& given);
  void scan(const Collective& all, const Lanes& given);
  void hand_out(const Collective& all);
  Value shared_lanes(const Slot& slot, Ir::Type type, Value gang);
  template <class Give>
  void for_each_gang(Give give);

  // --- Atomics (atomics.cc)
  void update_together(const Atomic& atomic, const BufferSlot& buffer, bool is_own);
  void update_own(const Atomic& atomic, const BufferSlot& buffer, Value index, Value given);
  Value update_each(const Atomic& atomic, const BufferSlot& buffer, bool is_own);
  void load_atomically(const Atomic& atomic, const BufferSlot& buffer);
  std::optional<Lanes> of_lane(StmtId stmt, ExprId id, unsigned lane, unsigned depth);
  void atomic(const Atomic& atomic);

  Frame& frame_;
  Ops& ops_;
  Moves& moves_;
  LongOps& long_ops_;
  const CpuFacts& facts_ = frame_.facts;
  const Body& body_ = facts_.body;
  Ir& ir_ = frame_.ir;
  const unsigned width_ = facts_.width;

  // Where the gang is.
  Value row_;                     // its row's number, i64
  Value gang_in_row_;             // its number there
  Value gang_;                    // its number in the workgroup; null: it is all of it
  std::array<Value, 3> first_{};  // local ids of its first lane; vectors when not in rows

  // Which of its lanes are on.
  Value mask_;  // null: all lanes
  Value first_mask_;
  Slot alive_;      // of the mask of those that have not returned
  Slot all_alive_;  // the same for each gang, as bits, where it is kept between segments
  std::vector<Loop> loops_;
  // Of the collective that is being written: what the gangs have combined or one has given, and of
  // a shuffle the values of all lanes and those that they want.
  Slot combined_;
  Slot exchanged_;
  Slot wanted_;
  Ir::Block gang_end_ = nullptr;
  Ir::Block block_end_ = nullptr;  // of the statements that are being written
  unsigned conditions_ = 0;        // that what is being written depends on

  // What is known in it.
  const FastRow* fast_ = &kNothingKnown;
  KnownRows known_;
  std::map<std::size_t, std::vector<Value>> record_parts_;  // the elements of records
  std::set<std::pair<StmtId, Terms>> fetched_;              // stretches, in loops
  bool stores_wait_ = false;
  std::vector<Waiting> waiting_;

  // Values, each of which holds at one time.
  struct Known {
    std::uint64_t time = 0;
    Lanes lanes;
  };
  StmtId at_;
  std::uint64_t time_ = 0;
  bool at_entry_ = false;  // locals are what they are bound to
  std::vector<Known> firsts_;
  std::vector<Known> values_;
  std::vector<Home> homes_;

  // Pieces of a large program.
  std::vector<Value> functions_;  // those that are called
  std::vector<WaitingPiece> waiting_pieces_;
};

template <class More, class Round>
void GangWriter::write_loop(Loop& open, const For& loop, Value from, More more, Round round) {
  const Value counter = ir_.variable(body_[loop.variable].name.c_str(), from);
  const Value rounds = count_rounds(open.id, loop);
  const Ir::Block head = ir_.block("loop");
  const Ir::Block inside = ir_.block("round");
  ir_.jump(head);
  ir_.go_on(head);
  const Value now = ir_.load(ir_.type(from), counter);
  begin_round(rounds);
  ir_.branch(more(now), inside, open.exit);
  ir_.go_on(inside);
  set_variable(loop, now);
  loops_.push_back(open);
  round();
  loops_.pop_back();
  if (!ir_.is_closed()) {
    ir_.store(now + 1, counter);
    ir_.jump(head);
  }
  ir_.go_on(open.exit);
}

}  // namespace vyre
