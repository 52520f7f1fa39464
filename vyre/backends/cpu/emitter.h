// Writes the function of emit.h, in files of their own for each part of the work: study.cc finds
// out what is known before anything is written, unchecked.cc which lanes of a row need no checks,
// statements.cc and memory.cc write what a gang does, emit.cc what is around gangs. pieces.cc cuts
// a large program into functions, and large.cc writes what these have of their own.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "vyre/backends/cpu/emit.h"
#include "vyre/backends/cpu/ops.h"
#include "vyre/backends/cpu/pieces.h"
#include "vyre/backends/cpu/records.h"
#include "vyre/ir/typing.h"
#include "vyre/passes/affine.h"

namespace vyre {

class CpuEmitter {
 public:
  using Value = Ir::Value;
  using Kind = Shape::Kind;

  CpuEmitter(const llvm::Api& api, const CpuReady& ready)
      : program_(ready.program),
        body_(program_.body),
        bounds_(ready.bounds),
        target_(ready.target),
        shapes_(shapes_of(program_)),
        types_(types_of(body_, program_.buffers, {}, {})),
        records_(ready.is_large ? Records{} : find_records(program_, shapes_)),
        ir_(api, target_.width, program_.name.c_str()),
        ops_(ir_, target_),
        width_(target_.width),
        is_limited_(ready.is_limited),
        is_large_(ready.is_large) {
    const auto& size = program_.workgroup_size;
    invocations_ = std::uint64_t{size[0]} * size[1] * size[2];
    in_rows_ = size[0] % width_ == 0 || (size[1] == 1 && size[2] == 1);
    rows_ = in_rows_ ? std::uint64_t{size[1]} * size[2] : 1;
    row_invocations_ = invocations_ / rows_;
    gangs_ = rows_ * ((row_invocations_ + width_ - 1) / width_);
    study();
  }

  void write();
  Ir& ir() { return ir_; }
  std::uint64_t scratch_bytes() const { return scratch_bytes_; }
  std::uint64_t stack_bytes() const;

 private:
  // What locals that live across barriers, and workgroup memory, may take on the stack.
  static constexpr std::uint64_t kMaxStackBytes = std::uint64_t{128} << 10;
  // Bytes that go through the caches together.
  static constexpr std::uint32_t kLine = 64;

  // --- What is known before anything is written

  // Memory of the function that is being written; or of the thread, where several functions use it.
  struct Slot {
    Value address = nullptr;
    std::uint32_t function = 0;  // that the address is of
    bool is_shared = false;
    std::uint64_t offset = 0;  // in the memory of the thread

    bool exists() const { return is_shared || address != nullptr; }
  };

  struct Buffer {
    Value address = nullptr;
    Value length = nullptr;    // i64
    Value copy = nullptr;      // of this thread alone; null: there is none
    Value has_copy = nullptr;  // whether it is in use
    Value checked = nullptr;   // what a local one is in code that checks
    bool is_local = false;     // of the function
    std::uint64_t offset = 0;  // in the memory of the thread, of workgroup memory
    std::uint32_t function = 0;
  };

  // Where a local lives.
  struct Place {
    LocalId local;
    ExprId bound;            // the value that it always has; none: it is assigned
    bool crosses = false;    // barriers
    bool is_shared = false;  // by several functions
    StmtId declared;
    std::vector<std::uint32_t> reads;  // the statements that mention it
    // While writing: its value, in the function that computed it, or the memory of each part.
    Lanes value;
    std::uint32_t function = 0;
    std::array<Slot, 4> slots{};
    bool is_vector = false;
  };
  struct Loop {
    StmtId id;
    Ir::Block exit = nullptr;
    Slot live;             // of the mask of those that have not left
    Value mask = nullptr;  // at the beginning of a round
    std::uint32_t function = 0;
  };

  void study();
  void study_segments(StmtId begin, StmtId end);
  bool is_on_top(StmtId id) const { return on_top_[id.index]; }
  bool splits(StmtId id) const;
  // How invocations leave a statement early.
  struct Leaving {
    bool returns = false;
    bool breaks = false;  // out of a loop around it
    // Some of those that run it leave it so while others stay.
    bool returns_apart = false;
    bool breaks_apart = false;
    bool leaves_apart = false;  // a loop, by its own `break` or by `return`
  };
  void study_leaving();
  bool parts(StmtId id, bool own) const {
    const Leaving& leaving = leaving_[id.index];
    if (own && std::holds_alternative<For>(body_[id])) return leaving.leaves_apart;
    return leaving.returns_apart || leaving.breaks_apart;
  }
  bool leaves(StmtId id) const { return leaving_[id.index].returns || leaving_[id.index].breaks; }
  bool must_blend(const Place& place, StmtId at) const;
  // The statement that a statement is directly inside; none at the top.
  StmtId owner(StmtId id) const { return owners_[id.index]; }

  Kind kind(ExprId id) const {
    const Kind known = shapes_[id].kind;
    return in_rows_ || known == Kind::Uniform ? known : Kind::Irregular;
  }
  bool is_scalar(ExprId id) const { return kind(id) == Kind::Uniform || kind(id) == Kind::Row; }
  bool is_regular(ExprId id) const { return kind(id) != Kind::Irregular; }

  // --- Parts of the function

  void clear_memory();
  void write_group();
  void write_groups(Value begin, Value end);
  void set_attributes(Value function);
  void make_zeros();

  // --- Functions of a large program, each of which gets the memory of the thread

  // Where things are that all of them use.
  static constexpr std::uint64_t kArguments = 0;
  static constexpr std::uint64_t kGroup = 8;  // the ids
  static constexpr std::uint64_t kRow = 24;
  static constexpr std::uint64_t kGangInRow = 32;
  static constexpr std::uint64_t kGang = 40;
  static constexpr std::uint64_t kLeaving = 48;  // how all invocations leave a function early
  static constexpr std::uint64_t kVectors = 64;  // of 32 bits a lane: the local ids, a mask
  std::uint64_t vector_at(std::size_t number) const { return kVectors + number * width_ * 4; }
  static constexpr std::size_t kMask = 3;
  enum Leave : std::uint32_t { kStay, kBreak, kReturn };
  // A piece that is still to be written, with what is known where it is called.
  struct WaitingPiece {
    std::uint32_t piece;
    std::vector<Loop> loops;
    Slot alive;
  };
  // An operation with the types of its operands.
  using OperationKey = std::tuple<Operation, DataType, DataType>;
  void write_large();
  void share_places();
  Value declare_function(const std::string& name);
  void call_function(Value function);
  void begin_function(Value function, std::uint32_t number);
  void load_arguments();
  void write_piece(const WaitingPiece& waiting);
  void write_operation(const OperationKey& key, Value function);
  Lanes apply(Operation op, const Lanes& a, const Lanes& b);
  bool is_called(DataType element, bool is_store, bool is_row) const;
  void call_access(DataType element, bool is_store, Value address, Value index, Value mask);
  Lanes call_gather(DataType element, Value address, Value index, Value mask);
  void call_scatter(DataType element, Value address, Value index, Value mask, const Lanes& value);
  void write_access(DataType element, bool is_store, Value function);
  Value operand(std::size_t number, std::size_t part = 0);
  void put_operand(std::size_t number, const Lanes& lanes);
  Lanes get_operand(std::size_t number, DataType type);
  Value frame(std::uint64_t offset) { return ir_.at(ir_.i8, scratch_, ir_.wide(offset)); }
  std::optional<std::uint32_t> piece_at(StmtId id, bool is_on_top) const;
  void call_piece(std::uint32_t piece);
  void call_gang_piece(std::uint32_t piece);
  void call_region_piece(std::uint32_t piece);
  void leave_region(Leave how);
  void save_gang();
  Value argument(std::size_t i) { return ir_.at(ir_.i64, arguments_, ir_.wide(i)); }
  std::uint64_t reserve(std::uint64_t bytes);
  Slot make_slot(Ir::Type type, std::uint64_t bytes, const char* name, bool is_shared);
  Slot make_mask(const char* name);
  Value get_mask(Slot& slot);
  void put_mask(Slot& slot, Value mask);
  Value mask_of(Value words);
  void turn_off(Slot& slot, Value lanes);
  Value address(Slot& slot);
  Buffer& buffer_at(std::size_t index);
  void write_region(StmtId begin, StmtId end);
  void write_gangs(StmtId begin, StmtId end);
  void write_gang(StmtId begin, StmtId end, bool fast, Value mask);
  void begin_row(Value number);
  void write_row(StmtId begin, StmtId end);
  void write_rows(StmtId begin, StmtId end);
  Value rounded_up(Value lanes) {
    return ir_.udiv(ir_.add(lanes, ir_.wide(width_ - 1)), ir_.wide(width_));
  }
  Value is_all_unchecked();
  void begin_gang(Value number);
  Value present_lanes(Value present);
  // Of the lanes or gangs of a row.
  struct Span {
    Value from;
    Value to;
  };
  Span unchecked(StmtId begin, StmtId end, Span lanes);
  template <class Enter, class Fast, class Slow>
  void write_gang_loops(Value count, Span fast, Enter enter, Fast write_fast, Slow write_slow);

  void statements(StmtId begin, StmtId end, Ir::Block behind);
  void drop_those_that_left(StmtId id);
  void drop_those_that_left();
  void begin_loop(Place& place, Value now);
  void statement(StmtId id);
  bool counts(ExprId id) const;
  Lanes counted(ExprId id);
  void assign(StmtId id, LocalId local, ExprId value);
  void branch(StmtId id, const If& branch);
  void repeat(StmtId id, const For& loop);
  Value count_rounds(StmtId id, const For& loop);
  void begin_round(Value rounds);
  void leave_loop();
  bool is_break(StmtId id) const;
  bool only_breaks(StmtId loop) const;
  void break_some(Value test);
  void leave_gang();
  void store(const Store& store);
  std::uint32_t neutral(const Atomic& atomic) const;
  Value update(const Atomic& atomic, bool is_own, Value pointer, Value expected, Value value);
  bool is_cheap(StmtId stmt, ExprId id, unsigned depth) const;
  Lanes of_lane(ExprId id, unsigned lane);
  void update_together(const Atomic& atomic, bool is_own);
  Value update_each(const Atomic& atomic, bool is_own);
  void atomic(const Atomic& atomic);
  std::map<BufferId, Atomic> find_copied() const;

  // --- Values

  // Of the first lane, which says all of a regular one; and of all lanes, a scalar where they are
  // the same.
  Value outcome(ExprId id) {
    return ir_.number(ir_.boolean, static_cast<std::uint64_t>(outcomes_[id.index]));
  }
  Lanes scalar(ExprId id);
  Lanes value(ExprId id);
  Lanes computed(ExprId id, bool in_first);
  Lanes read_local(LocalId local);
  void make_slots(Place& place);
  void give(Place& place, const Lanes& value);
  bool find_bits(ExprId id, std::vector<ExprId>& leaves, std::size_t& count) const;
  std::optional<Lanes> of_three(ExprId id);
  Lanes id_of(const Expr& expr);
  Lanes load(ExprId id, const Expr& expr);
  Lanes settled(const Expr& load, Lanes loaded);
  enum class Early : std::uint8_t { Unknown, No, Fixed, Counted };
  Early early(ExprId id, unsigned depth = 0);
  Early find_early(ExprId id, unsigned depth);
  std::set<StmtId> counting(ExprId id);
  bool depends_on_place(ExprId id) const;
  void begin_statement(StmtId id) {
    at_ = id;
    ++time_;
  }

  // --- Memory

  bool is_inside(ExprId access) const {
    return bounds_.is_proved(at_, access) || (fast_ && assumed_.contains({at_, access}));
  }
  Value full_mask() { return mask_ != nullptr ? mask_ : ir_.ones(ir_.vector(ir_.boolean)); }
  Value with(Value mask, Value more) { return mask == nullptr ? more : ir_.both(mask, more); }
  Value any(Value mask) { return ir_.not_zero(ir_.bits(mask, ir_.integer(width_))); }
  void lives(const Buffer& buffer, const char* intrinsic);
  // Lengths are below 2^32.
  Value in_bounds(Value index, const Buffer& buffer) {
    const Value length = ir_.trunc(buffer.length, 32);
    return ir_.compare(llvm::Compare::Ult, index,
                       ir_.is_vector(index) ? ir_.splat(length) : length);
  }
  Value from_bits(Value bits) {
    if (width_ < 64) bits = ir_.trunc(bits, width_);
    return ir_.bits(bits, ir_.vector(ir_.boolean));
  }
  Value to_bits(Value mask) {
    const Value bits = ir_.bits(mask, ir_.integer(width_));
    return width_ < 64 ? ir_.zext(bits, 64) : bits;
  }
  Value address_of(const Buffer& buffer, DataType element, Value index, bool may_wrap);
  Value part_mask(Value mask, std::size_t parts, std::size_t row);
  Value unknown(Value mask);
  Lanes from_memory(DataType element, Lanes loaded);
  Value row_address(const Buffer& buffer, DataType element, ExprId index, bool may_wrap);
  void prefetch(const Buffer& buffer, DataType element, ExprId index);
  Lanes gather(DataType element, Value address, Value index, Value mask);
  Lanes gather_one_by_one(DataType element, const Buffer& buffer, ExprId index, bool inside,
                          Value mask);
  // Rows of a buffer that overlap: the vectors of the last gang, this one and the next.
  struct Slide {
    BufferId buffer;
    Value start = nullptr;  // of the row
    Value last = nullptr;   // the memory of each
    Value now = nullptr;
    Value next = nullptr;  // itself
  };
  bool may_slide(BufferId buffer) const;
  Value slide_row(const Slide& slide, Value gang);
  void begin_slides(Value gang);
  void load_slides(Value gang);
  void go_on_with_slides();
  std::optional<std::uint64_t> constant_lanes(Value mask);
  Value known_row(BufferId buffer, Value start, Value mask);
  void know_row(BufferId buffer, Value start, Value mask, Value row);
  void forget(BufferId buffer) { rows_known_.erase(buffer); }
  Value origin(BufferId buffer, Value index);
  std::vector<Value> deinterleave(const std::vector<Value>& rows);
  std::vector<Value> interleave(const std::vector<Value>& parts);
  const Records::Place* in_record(StmtId stmt, ExprId load) const;
  Lanes load_row(DataType element, Value pointer, Value mask);
  void store_row(DataType element, Value pointer, Value mask, const Lanes& value);
  void store_rows(const std::vector<Value>& rows, Value pointer);
  struct Waiting {
    std::vector<Value> rows;
    Value pointer = nullptr;
    Value pass = nullptr;  // whether past the caches; null: never
  };
  void put_rows(const std::vector<Waiting>& stores);
  bool may_stream(StmtId id, const Store& store);
  Value pointers(Value address, DataType element, Value index, std::size_t part);
  void scatter(DataType element, Value address, Value index, Value mask, const Lanes& value);
  Ir::Type part_type(DataType type) { return part_bits(type) == 64 ? ir_.i64 : ir_.i32; }

  const Program& program_;
  const Body& body_;
  const Bounds& bounds_;
  const CpuTarget& target_;
  const Shapes shapes_;
  const Types types_;
  const Records records_;
  Ir ir_;
  Ops ops_;
  const unsigned width_;
  const bool is_limited_;          // there may be fewer invocations than places
  const bool is_large_;            // and written in pieces
  std::uint64_t invocations_ = 1;  // of a workgroup
  std::uint64_t gangs_ = 1;
  bool in_rows_ = true;  // a gang has invocations of one row only
  std::uint64_t rows_ = 1;
  std::uint64_t row_invocations_ = 1;
  bool can_unroll_ = false;   // into code for each gang
  bool is_unrolled_ = false;  // what is being written
  bool is_whole_ = false;     // the workgroup is looked at as a whole
  bool has_barriers_ = false;
  bool returns_far_ = false;  // some return in one segment, and there are others behind it
  std::vector<StmtId> owners_;
  std::vector<Leaving> leaving_;         // of statements
  std::vector<bool> on_top_;             // of statements: run for the whole workgroup at once
  std::vector<std::uint32_t> segments_;  // of statements: between which barriers
  std::uint32_t segment_ = 0;
  std::vector<Place> places_;
  std::uint64_t scratch_bytes_ = 0;
  std::uint64_t taken_ = 0;  // of kMaxStackBytes

  // Of a large program.
  Pieces pieces_;
  std::vector<Value> functions_;  // of pieces, where they are called
  std::vector<WaitingPiece> waiting_pieces_;
  std::map<OperationKey, Value> operations_;
  std::map<std::pair<DataType, bool>, Value> accesses_;  // by element; stores, too
  std::uint64_t operands_ = 0;                           // where operations find and leave them
  std::pair<std::uint64_t, std::uint64_t> workgroup_memory_;  // where it is, and its size
  Value arguments_ = nullptr;
  std::uint32_t function_ = 0;  // the piece that is being written

  // Of the function.
  std::vector<Buffer> buffers_;
  std::array<Value, 3> group_{};
  std::array<Value, 3> groups_{};
  std::array<Value, 2> limits_{};  // invocations along x and y, i64
  Value row_size_ = nullptr;       // invocations along x of a workgroup, where that is free
  Value stop_ = nullptr;           // the address of a byte that is set to end the run
  Value streams_ = nullptr;        // whether what is written does not fit the caches
  Value scratch_ = nullptr;
  Value zeros_ = nullptr;  // 16 bytes
  Value sink_ = nullptr;   // 16 bytes that nobody reads
  Ir::Block group_end_ = nullptr;

  // Of the gang.
  Value row_ = nullptr;           // its row's number, i64
  Value gang_in_row_ = nullptr;   // its number there
  Value gang_ = nullptr;          // its number in the workgroup
  std::array<Value, 3> first_{};  // local ids of its first lane; vectors when not in rows
  Ir::Block gang_end_ = nullptr;
  Ir::Block block_end_ = nullptr;  // of the statements that are being written
  bool fast_ = false;
  Value mask_ = nullptr;  // null: all lanes
  Value first_mask_ = nullptr;
  Slot alive_;      // of the mask of those that have not returned
  Slot all_alive_;  // the same for each gang, as bits, where it is kept between segments
  std::vector<Loop> loops_;
  struct Start {
    Value at = nullptr;
    std::int64_t behind = 0;
  };
  std::map<ExprId, Start> starts_;  // of the row, in fast code: they do not wrap around there
  std::vector<Slide> slides_;
  std::map<std::pair<ExprId, BufferId>, std::pair<std::size_t, std::int64_t>> sliding_;
  std::map<BufferId, std::map<std::int64_t, Value>> rows_known_;  // of workgroup memory
  std::map<Value, Value> origins_;    // of rows: where they are in a buffer that nobody writes
  std::map<StmtId, Value> streamed_;  // stores that may pass the caches, and whether they do
  std::vector<Waiting> waiting_;      // stores
  bool is_gathering_ = false;         // they wait for the end of the rows
  unsigned conditions_ = 0;           // that what is being written depends on
  std::map<std::size_t, std::vector<Value>> moved_;  // the elements of records
  std::set<std::pair<StmtId, Terms>> fetched_;       // stretches, in loops
  std::set<std::pair<StmtId, ExprId>> assumed_;      // accesses that are in bounds in fast code
  std::vector<Early> earlies_;
  std::vector<ExprId> bound_;          // of locals: the values that they always have
  std::vector<std::int8_t> outcomes_;  // per expression: what a test is there; -1: unknown

  // Of the statement.
  StmtId at_;
  std::uint64_t time_ = 0;
  bool at_entry_ = false;  // locals are what they are bound to
  struct Known {
    std::uint64_t time = 0;
    Lanes lanes;
  };
  std::vector<Known> firsts_;
  std::vector<Known> values_;
};

}  // namespace vyre
