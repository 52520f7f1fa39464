#include "vyre/backends/cpu/emit.h"

#include <algorithm>
#include <bit>
#include <map>
#include <ranges>
#include <set>

#include "vyre/backends/cpu/gangs.h"
#include "vyre/backends/cpu/ops.h"
#include "vyre/backends/cpu/records.h"
#include "vyre/ir/typing.h"
#include "vyre/ir/walk.h"
#include "vyre/passes/affine.h"
#include "vyre/passes/draft.h"

namespace vyre {
namespace {

using llvm::Compare;
using Value = Ir::Value;
using Kind = Shape::Kind;

// What the locals that live across barriers may take on the stack.
constexpr std::uint64_t kMaxStackBytes = std::uint64_t{128} << 10;
// A gang of so many statements is written once, with all checks.
constexpr std::uint32_t kMaxTwice = 400;
// A program of so many expressions is compiled as it is: LLVM's time grows faster than its size.
constexpr std::size_t kLarge = 5000;
// What does not fit a thread's stack, if all of it has to be kept there, is not compiled.
constexpr std::size_t kMaxExpressions = 20'000;
// How many rounds of a loop pass before it looks whether it shall stop.
constexpr std::uint32_t kRounds = 4096;
// How deep statements may nest: a chain of `else if` may be longer than any stack.
constexpr std::size_t kMaxNesting = 1000;
// How many conditions a gang may have to meet for the code without checks.
constexpr std::size_t kMaxConditions = 32;
// Gangs have their own code if so many vectors hold all that lives across barriers, and if there
// are no more than so many statements then.
constexpr std::uint64_t kMaxCrossing = 32;
constexpr std::uint64_t kMaxUnrolled = 1500;
// A thread has its own copy of buffers of up to so many elements.
constexpr std::uint64_t kMaxCopied = 2048;
// Bytes that go through the caches together.
constexpr std::uint32_t kLine = 64;
// How many operations deep an index may be.
constexpr unsigned kMaxDepth = 200;
// How far below zero an index of the first invocation of a row may be.
constexpr std::uint32_t kMaxBelow = 1 << 20;

bool is_comparison(Operation op) {
  return op == Operation::Eq || op == Operation::Ne || op == Operation::Lt || op == Operation::Gt ||
         op == Operation::Le || op == Operation::Ge;
}

bool commutes(const Atomic& atomic) {
  return atomic.op != AtomicOp::Exchange && atomic.op != AtomicOp::CompareExchange;
}

class Emitter {
 public:
  Emitter(const llvm::Api& api, const Program& program, const Bounds& bounds,
          const CpuTarget& target, bool is_limited)
      : program_(program),
        body_(program.body),
        bounds_(bounds),
        target_(target),
        shapes_(shapes_of(program)),
        types_(types_of(program.body, program.buffers, {}, {})),
        records_(find_records(program, shapes_)),
        ir_(api, target.width, program.name.c_str()),
        ops_(ir_),
        width_(target.width),
        is_limited_(is_limited) {
    const auto& size = program.workgroup_size;
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

 private:
  // --- What is known before anything is written

  // Where a local lives.
  struct Place {
    LocalId local;
    ExprId bound;          // the value that it always has; none: it is assigned
    bool crosses = false;  // barriers
    StmtId declared;
    std::vector<std::uint32_t> reads;  // the statements that mention it
    // While writing: its value, or the memory of each part.
    Lanes value;
    std::array<Value, 4> slots{};
    bool is_vector = false;
  };
  struct Loop {
    StmtId id;
    Ir::Block exit = nullptr;
    Value live = nullptr;  // the memory of the mask of those that have not left
    Value mask = nullptr;  // at the beginning of a round
  };

  void study();
  void study_segments(StmtId begin, StmtId end);
  bool is_on_top(StmtId id) const { return on_top_[id.index]; }
  bool splits(StmtId id) const;
  bool parts(StmtId id, bool own) const;
  bool find_parts(StmtId id, bool own) const;
  bool returns_inside(StmtId id) const;
  bool breaks_inside(StmtId id) const;
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

  void write_group();
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
  void statement(StmtId id);
  void assign(StmtId id, LocalId local, ExprId value);
  void branch(StmtId id, const If& branch);
  void repeat(StmtId id, const For& loop);
  Value count_rounds(const For& loop);
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
  void give(Place& place, const Lanes& value);
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

  struct Buffer {
    Value address = nullptr;
    Value length = nullptr;    // i64
    Value copy = nullptr;      // of this thread alone; null: there is none
    Value has_copy = nullptr;  // whether it is in use
    bool is_local = false;     // of the function
  };
  bool is_inside(ExprId access) const {
    return bounds_.is_proved(at_, access) || (fast_ && assumed_.contains({at_, access}));
  }
  Value full_mask() { return mask_ != nullptr ? mask_ : ir_.ones(ir_.vector(ir_.boolean)); }
  Value with(Value mask, Value more) { return mask == nullptr ? more : ir_.both(mask, more); }
  Value any(Value mask) { return ir_.not_zero(ir_.bits(mask, ir_.integer(width_))); }
  // Lengths are below 2^32.
  void lives(const Buffer& buffer, const char* intrinsic);
  Value in_bounds(Value index, const Buffer& buffer) {
    const Value length = ir_.trunc(buffer.length, 32);
    return ir_.compare(Compare::Ult, index, ir_.is_vector(index) ? ir_.splat(length) : length);
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
  Lanes from_memory(DataType element, Lanes loaded);
  Value row_address(const Buffer& buffer, DataType element, ExprId index, bool may_wrap);
  void prefetch(const Buffer& buffer, DataType element, ExprId index);
  Lanes gather(DataType element, const Buffer& buffer, ExprId index, bool inside, Value mask);
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
  Value pointers(const Buffer& buffer, DataType element, Value index, std::size_t part);
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
  mutable std::vector<std::optional<bool>> parting_;  // per statement, without and with its own
  std::vector<bool> on_top_;             // of statements: run for the whole workgroup at once
  std::vector<std::uint32_t> segments_;  // of statements: between which barriers
  std::uint32_t segment_ = 0;
  std::vector<Place> places_;
  std::uint64_t scratch_bytes_ = 0;
  std::uint64_t stack_bytes_ = 0;  // that locals across barriers take

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
  Value alive_ = nullptr;      // the memory of the mask of those that have not returned
  Value all_alive_ = nullptr;  // the same for each gang, as bits, where it is kept between segments
  std::vector<Loop> loops_;
  struct Start {
    Value at = nullptr;
    std::int64_t behind = 0;
  };
  std::map<ExprId, Start> starts_;  // of the row, in fast code: they do not wrap around there
  std::vector<Slide> slides_;
  std::map<std::pair<ExprId, BufferId>, std::pair<std::size_t, std::int64_t>> sliding_;
  std::map<BufferId, std::map<std::int64_t, Value>> rows_known_;  // of workgroup memory
  std::map<StmtId, Value> streamed_;  // stores that may pass the caches, and whether they do
  std::vector<Waiting> waiting_;      // stores
  bool is_gathering_ = false;         // they wait for the end of the rows
  unsigned conditions_ = 0;           // that what is being written depends on
  std::map<std::size_t, std::vector<Value>> moved_;  // the elements of records
  std::set<std::pair<StmtId, Terms>> fetched_;       // stretches, in loops
  std::set<std::pair<StmtId, ExprId>> assumed_;      // accesses that are in bounds in fast code
  std::vector<Early> earlies_;
  std::vector<ExprId> bound_;          // of locals: the values that they always have
  std::set<ExprId> halves_;            // products of which the upper half is wanted too
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

// --- What is known before anything is written
// -----------------------------------------------------

void Emitter::study() {
  const std::size_t count = body_.stmts.size();
  owners_.resize(count);
  parting_.resize(2 * count);
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
  std::set<std::pair<ExprId, ExprId>> upper;
  for (const Expr& expr : body_.exprs) {
    if (expr.op == Operation::MulHigh) upper.insert({expr.args[0], expr.args[1]});
  }
  for (std::uint32_t i = 0; i < body_.exprs.size(); ++i) {
    const Expr& expr = body_.exprs[i];
    if (expr.op != Operation::Mul || types_[ExprId{i}] != DataType::U32) continue;
    if (upper.contains({expr.args[0], expr.args[1]})) halves_.insert(ExprId{i});
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
  can_unroll_ = has_barriers_ && in_rows_ && program_.workgroup_size[2] == 1 &&
                row_invocations_ % width_ == 0 && !returns_far_ &&
                gangs_ * crossing <= kMaxCrossing && gangs_ * weight <= kMaxUnrolled;
}

// Numbers the stretches of statements that a gang runs at one go.
void Emitter::study_segments(StmtId begin, StmtId end) {
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
bool Emitter::splits(StmtId id) const {
  if (const If* branch = std::get_if<If>(&body_[id])) return !is_scalar(branch->condition);
  const For* loop = std::get_if<For>(&body_[id]);
  return loop != nullptr && (!is_scalar(loop->from) || !is_scalar(loop->to));
}

// Whether some of those that run a statement may leave what is around it, by `break` or `return`,
// while others stay; with `own`, also a loop by its own `break`.
bool Emitter::parts(StmtId id, bool own) const {
  std::optional<bool>& known = parting_[2 * id.index + (own ? 1 : 0)];
  if (!known) known = find_parts(id, own);
  return *known;
}

bool Emitter::find_parts(StmtId id, bool own) const {
  for (std::uint32_t i = id.index + 1; i < next(body_, id).index; ++i) {
    const bool is_break = std::holds_alternative<Break>(body_.stmts[i]);
    if (!is_break && !std::holds_alternative<Return>(body_.stmts[i])) continue;
    bool apart = false;
    bool leaves = true;
    for (StmtId at = owner(StmtId{i});; at = owner(at)) {
      const bool is_loop = std::holds_alternative<For>(body_[at]);
      // A `break` ends with its loop. In a loop that some have left, what follows is for a part.
      if (is_break && is_loop) leaves = at == id && own;
      apart = apart || splits(at) || (is_loop && (at != id || !own) && parts(at, true));
      if (at == id || (is_break && is_loop)) break;
    }
    if (leaves && apart) return true;
  }
  return false;
}

bool Emitter::returns_inside(StmtId id) const {
  for (std::uint32_t i = id.index; i < next(body_, id).index; ++i) {
    if (std::holds_alternative<Return>(body_.stmts[i])) return true;
  }
  return false;
}

// Whether there is a `break` of a loop around it.
bool Emitter::breaks_inside(StmtId id) const {
  for (std::uint32_t i = id.index; i < next(body_, id).index; ++i) {
    if (!std::holds_alternative<Break>(body_.stmts[i])) continue;
    StmtId loop = owner(StmtId{i});
    while (!std::holds_alternative<For>(body_[loop])) loop = owner(loop);
    if (loop < id) return true;
  }
  return false;
}

// Whether a lane that is off at an assignment may want the value that the local had. Lanes that
// have left a loop or the program never come back; those that skip a branch do.
bool Emitter::must_blend(const Place& place, StmtId at) const {
  const auto is_read = [&](std::uint32_t from, std::uint32_t to) {
    const auto found = std::ranges::lower_bound(place.reads, from);
    return found != place.reads.end() && *found < to;
  };
  const auto all = static_cast<std::uint32_t>(body_.stmts.size());
  bool masked = false;  // inside of what was gone through so far
  for (StmtId scope = owner(at); scope.exists() && scope > place.declared; scope = owner(scope)) {
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

// --- Values
// ---------------------------------------------------------------------------------------

Lanes Emitter::scalar(ExprId id) {
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

Lanes Emitter::value(ExprId id) {
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
Lanes Emitter::computed(ExprId id, bool in_first) {
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
      return {DataType::U32, false, {ir_.trunc(buffers_[expr.imm].length, 32)}};
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
        const std::span<const ExprId> args = operands(body_, expr);
        if (!in_first && halves_.contains(id)) {
          return ops_.low_product(operand(args[0]), operand(args[1]));
        }
        return ops_.apply(expr.op, operand(args[0]), operand(args[args.size() - 1]));
      }
  }
  return ops_.zero(types_[id]);
}

Lanes Emitter::id_of(const Expr& expr) {
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

Lanes Emitter::read_local(LocalId local) {
  const Place& place = places_[local.index];
  const bool elsewhere = segments_[place.declared.index] != segments_[at_.index];
  if (place.bound.exists() && !place.crosses && elsewhere) return scalar(place.bound);
  if (place.value.exists() && !place.crosses) return place.value;
  if (place.slots[0] == nullptr) return place.value;  // the variable of a loop around everything
  const DataType type = types_[local];
  Lanes lanes{type, false, {}};
  for (std::size_t i = 0; i < part_count(type); ++i) {
    const Ir::Type element = place.is_vector ? ir_.vector(part_type(type)) : part_type(type);
    Value from = place.slots[i];
    if (place.crosses) from = ir_.at(element, from, gang_ != nullptr ? gang_ : ir_.wide(0));
    lanes.parts[i] = ir_.load(element, from);
  }
  return lanes;
}

// How a value can be told for the first lane before any gang begins. A counter of a loop inside
// has more than one value; what adds to it and multiplies it is still told by its first ones.
Emitter::Early Emitter::early(ExprId id, unsigned depth) {
  if (earlies_[id.index] == Early::Unknown) earlies_[id.index] = find_early(id, depth);
  return earlies_[id.index];
}

Emitter::Early Emitter::find_early(ExprId id, unsigned depth) {
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
bool Emitter::depends_on_place(ExprId id) const {
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
std::set<StmtId> Emitter::counting(ExprId id) {
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

// --- Memory
// ---------------------------------------------------------------------------------------

// What a load gives from what memory holds: a bool is 0 or 1.
Lanes Emitter::from_memory(DataType element, Lanes loaded) {
  loaded.type = loaded_type(element);
  if (element != DataType::Bool) return loaded;
  return {DataType::Bool, true, {ir_.not_zero(loaded.parts[0])}};
}

// Of element `index`, a scalar. Where the first lane of a row may be below zero, what wraps around
// is meant to be there; no buffer is so long that both ends matter.
Value Emitter::address_of(const Buffer& buffer, DataType element, Value index, bool may_wrap) {
  Value offset = ir_.zext(index, 64);
  if (may_wrap) {
    const Value wraps = ir_.compare(Compare::Ugt, index, ir_.word(std::uint32_t{0} - width_));
    offset = ir_.select(wraps, ir_.sext(index, 64), offset);
  }
  return ir_.at(ir_.i8, buffer.address, ir_.mul(offset, ir_.wide(stride(element))));
}

// Of the element of the first lane.
Value Emitter::row_address(const Buffer& buffer, DataType element, ExprId index, bool may_wrap) {
  const auto start = starts_.find(index);
  if (!fast_ || start == starts_.end()) {
    return address_of(buffer, element, ops_.whole(scalar(index)).parts[0], may_wrap);
  }
  const auto bytes = [&](std::int64_t elements) {
    return ir_.wide(static_cast<std::uint64_t>(elements * stride(element)));
  };
  const Value row = ir_.at(ir_.i8, buffer.address, ir_.mul(start->second.at, bytes(1)));
  const Value step = bytes(std::int64_t{shapes_[index].stride} * width_);
  const Value gang = ir_.at(ir_.i8, row, ir_.mul(gang_in_row_, step));
  return ir_.at(ir_.i8, gang, bytes(start->second.behind));
}

// The mask of one of the vectors that hold elements of several parts side by side.
Value Emitter::part_mask(Value mask, std::size_t parts, std::size_t row) {
  if (parts == 1) return mask;
  std::vector<unsigned> lanes;
  for (std::size_t i = 0; i < width_; ++i) {
    lanes.push_back(static_cast<unsigned>((row * width_ + i) / parts));
  }
  return ir_.shuffle(mask, mask, lanes);
}

Lanes Emitter::load_row(DataType element, Value pointer, Value mask) {
  const DataType type = loaded_type(element);
  const std::size_t parts = part_count(type);
  const Ir::Type whole = ir_.vector(part_type(type));
  const unsigned align = part_bits(type) / 8;
  std::vector<Value> rows;
  for (std::size_t i = 0; i < parts; ++i) {
    const Value from = ir_.at(whole, pointer, ir_.wide(i));
    std::array<Ir::Type, 2> named{whole, ir_.pointer()};
    rows.push_back(mask == nullptr ? ir_.load(whole, from, align)
                                   : ir_.call("llvm.masked.load", named,
                                              {from, ir_.word(align), part_mask(mask, parts, i),
                                               ir_.zero(whole)}));
  }
  Lanes lanes{type, false, {}};
  std::ranges::copy(deinterleave(rows), lanes.parts.begin());
  return lanes;
}

void Emitter::store_row(DataType element, Value pointer, Value mask, const Lanes& value) {
  const DataType type = loaded_type(element);
  const std::size_t parts = part_count(type);
  const auto end = value.parts.begin() + static_cast<std::ptrdiff_t>(parts);
  const std::vector<Value> rows = interleave({value.parts.begin(), end});
  if (mask == nullptr) return store_rows(rows, pointer);
  const Ir::Type whole = ir_.vector(part_type(type));
  for (std::size_t i = 0; i < parts; ++i) {
    std::array<Ir::Type, 2> named{whole, ir_.pointer()};
    ir_.call("llvm.masked.store", named,
             {rows[i], ir_.at(whole, pointer, ir_.wide(i)), ir_.word(part_bits(type) / 8),
              part_mask(mask, parts, i)});
  }
}

// The addresses of a part of any elements. From the middle of all that an index can reach, it is a
// signed number, which the CPU's own gathers take. Without checks buffers are shorter than that.
Value Emitter::pointers(const Buffer& buffer, DataType element, Value index, std::size_t part) {
  const DataType type = loaded_type(element);
  const std::size_t parts = part_count(type);
  const std::uint64_t middle = fast_ ? 0 : std::uint64_t{1} << 31;
  const Value base = ir_.at(ir_.i8, buffer.address,
                            ir_.wide(middle * stride(element) + part * part_bits(type) / 8));
  if (middle != 0) index = ir_.exclusive(index, ir_.splat_number(ir_.i32, middle));
  Value offset = ir_.sext(index, 64);
  if (parts > 1) offset = ir_.mul(offset, ir_.splat_number(ir_.i64, parts));
  return ir_.at(part_type(type), base, offset);
}

bool Emitter::may_slide(BufferId buffer) const {
  const DataType element = program_.buffers[buffer.index].element;
  return !is_written(program_.buffers[buffer.index].access) && stride(element) == 4 &&
         element != DataType::Bool;
}

Value Emitter::slide_row(const Slide& slide, Value gang) {
  const Value element = ir_.add(slide.start, ir_.mul(gang, ir_.wide(width_)));
  const Value pointer = ir_.at(ir_.i32, buffers_[slide.buffer.index].address, element);
  return ir_.load(ir_.vector(ir_.i32), pointer, 4);
}

// Before the first gang without checks.
void Emitter::begin_slides(Value gang) {
  for (Slide& slide : slides_) {
    slide.last = ir_.local(ir_.vector(ir_.i32), "last");
    slide.now = ir_.local(ir_.vector(ir_.i32), "now");
    ir_.store(slide_row(slide, ir_.sub(gang, ir_.wide(1))), slide.last);
    ir_.store(slide_row(slide, gang), slide.now);
  }
}

// In front of a gang, and behind it.
void Emitter::load_slides(Value gang) {
  for (Slide& slide : slides_) slide.next = slide_row(slide, ir_.add(gang, ir_.wide(1)));
}
void Emitter::go_on_with_slides() {
  for (const Slide& slide : slides_) {
    ir_.store(ir_.load(ir_.vector(ir_.i32), slide.now), slide.last);
    ir_.store(slide.next, slide.now);
  }
}

// Which lanes are on, where that is known.
std::optional<std::uint64_t> Emitter::constant_lanes(Value mask) {
  std::uint64_t bits = 0;
  if (mask == nullptr || ir_.api().IsConstant(mask) == 0) return std::nullopt;
  for (unsigned lane = 0; lane < width_; ++lane) {
    const Value element = ir_.api().GetAggregateElement(mask, lane);
    const std::optional<std::uint64_t> bit = ir_.constant(element);
    if (!bit) return std::nullopt;
    bits |= *bit << lane;
  }
  return bits;
}

// What a row of workgroup memory holds, where that is known: the row itself, or parts of two.
Value Emitter::known_row(BufferId buffer, Value start, Value mask) {
  const auto known = rows_known_.find(buffer);
  const std::optional<std::uint64_t> word = ir_.constant(start);
  if (known == rows_known_.end() || !word) return nullptr;
  const std::int64_t first = static_cast<std::int32_t>(*word);
  const std::int64_t width = width_;
  const auto row_at = [&](std::int64_t at) {
    const auto found = known->second.find(at);
    if (found != known->second.end()) return found->second;
    // There is nothing below 0.
    return at == -width ? ir_.zero(ir_.vector(ir_.i32)) : nullptr;
  };
  Value row = row_at(first);
  const auto after = known->second.lower_bound(first);
  if (row == nullptr && after != known->second.end() && after->first < first + width) {
    const Value before = row_at(after->first - width);
    if (before == nullptr) return nullptr;
    std::vector<unsigned> from;
    for (unsigned i = 0; i < width_; ++i) {
      from.push_back(static_cast<unsigned>(first + width - after->first) + i);
    }
    row = ir_.shuffle(before, after->second, from);
  }
  if (row == nullptr || mask == nullptr) return row;
  return ir_.select(mask, row, ir_.zero(ir_.type(row)));
}

void Emitter::know_row(BufferId buffer, Value start, Value mask, Value row) {
  if (!is_unrolled_ || program_.buffers[buffer.index].access != BufferAccess::Workgroup) return;
  const std::optional<std::uint64_t> word = ir_.constant(start);
  if (!word) return forget(buffer);
  std::map<std::int64_t, Value>& rows = rows_known_[buffer];
  const auto first = static_cast<std::int32_t>(*word);
  if (mask != nullptr) {
    const auto old = rows.find(first);
    row = old == rows.end() ? nullptr : ir_.select(mask, row, old->second);
  }
  std::erase_if(rows, [&](const auto& each) {
    return each.first > first - std::int64_t{width_} && each.first < first + std::int64_t{width_};
  });
  if (row != nullptr) rows[first] = row;
}

// Of elements that stand side by side, n in each lane, the vectors of the first, the second, ...
std::vector<Value> Emitter::deinterleave(const std::vector<Value>& rows) {
  if (rows.size() == 1) return rows;
  std::array<std::vector<Value>, 2> halves;
  for (unsigned odd = 0; odd < 2; ++odd) {
    std::vector<unsigned> from;
    for (unsigned i = 0; i < width_; ++i) from.push_back(2 * i + odd);
    for (std::size_t i = 0; i < rows.size(); i += 2) {
      halves[odd].push_back(ir_.shuffle(rows[i], rows[i + 1], from));
    }
    halves[odd] = deinterleave(halves[odd]);
  }
  std::vector<Value> parts;
  for (std::size_t i = 0; i < rows.size(); ++i) parts.push_back(halves[i % 2][i / 2]);
  return parts;
}

// And back.
std::vector<Value> Emitter::interleave(const std::vector<Value>& parts) {
  if (parts.size() == 1) return parts;
  std::array<std::vector<Value>, 2> halves;
  for (std::size_t i = 0; i < parts.size(); ++i) halves[i % 2].push_back(parts[i]);
  for (std::vector<Value>& half : halves) half = interleave(half);
  std::vector<Value> rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<unsigned> from;
    for (unsigned lane = 0; lane < width_; ++lane) {
      from.push_back((static_cast<unsigned>(i % 2) * width_ + lane) / 2 + lane % 2 * width_);
    }
    rows.push_back(ir_.shuffle(halves[0][i / 2], halves[1][i / 2], from));
  }
  return rows;
}

// The record of an access, where all of it is in bounds.
const Records::Place* Emitter::in_record(StmtId stmt, ExprId load) const {
  const Records::Place* place = fast_ && in_rows_ ? records_.find(stmt, load) : nullptr;
  if (place == nullptr) return nullptr;
  // What is proved is so for lanes that are on.
  const bool inside = std::ranges::all_of(records_.all[place->record].members, [&](auto& member) {
    return assumed_.contains(member) ||
           (mask_ == nullptr && bounds_.is_proved(member.first, member.second));
  });
  return inside ? place : nullptr;
}

// What another thread may write at the same time is one value from here on, whichever it is.
Lanes Emitter::settled(const Expr& load, Lanes loaded) {
  if (program_.buffers[load.imm].access != BufferAccess::ReadWrite) return loaded;
  for (std::size_t i = 0; i < part_count(loaded.type); ++i) {
    loaded.parts[i] = ir_.freeze(loaded.parts[i]);
  }
  return loaded;
}

// Where each lane walks along a stretch of its own, the CPU does not see what comes next: the
// stretches of the next gang, a line of each at a time.
void Emitter::prefetch(const Buffer& buffer, DataType element, ExprId index) {
  const std::int64_t distance = std::int64_t{shapes_[index].stride} * stride(element);
  const std::set<StmtId> loops = counting(index);
  if (distance < 2 * kLine || loops.size() != 1 || loops_.empty()) return;
  if (*loops.begin() != loops_.back().id || owner(at_) != loops_.back().id) return;
  const For& loop = std::get<For>(body_[loops_.back().id]);
  // Loads side by side share a line.
  const Split split = split_index(body_, bound_, index);
  if (!fetched_.insert({loops_.back().id, split.terms}).second) return;
  std::uint32_t step = 1;
  for (const auto& [term, minus] : split.terms) {
    const Expr& expr = body_[term];
    if (expr.op != Operation::Mul && expr.op != Operation::Shl) continue;
    const Expr& by = body_[expr.args[1]];
    const Expr& counter = body_[expr.args[0]];
    if (counter.op != Operation::Local || counter.imm != loop.variable.index) continue;
    if (by.op == Operation::Literal) step = expr.op == Operation::Mul ? by.imm : 1u << by.imm % 32;
  }
  const std::uint32_t rounds =
      std::bit_floor(std::max(kLine / stride(element) / std::max(step, 1u), 1u));
  const Value round = places_[loop.variable.index].value.parts[0];
  const Value in_line = ir_.both(round, ir_.word(rounds - 1));
  const Ir::Block look = ir_.block("ahead");
  const Ir::Block behind = ir_.block("behind");
  ir_.branch(ir_.equal_zero(in_line), look, behind);
  ir_.go_on(look);
  const Value own = address_of(buffer, element, ops_.whole(scalar(index)).parts[0], false);
  std::array<Ir::Type, 1> named{ir_.pointer()};
  for (unsigned lane = 0; lane < width_; ++lane) {
    const std::int64_t ahead = distance * (width_ + lane);
    ir_.call("llvm.prefetch", named,
             {ir_.at(ir_.i8, own, ir_.wide(static_cast<std::uint64_t>(ahead))), ir_.word(0),
              ir_.word(2), ir_.word(1)});
  }
  ir_.jump(behind);
  ir_.go_on(behind);
  ++time_;
}

// One lane after the other. Lanes whose index is out of bounds are off.
Lanes Emitter::gather(DataType element, const Buffer& buffer, ExprId index, bool inside,
                      Value mask) {
  const DataType type = loaded_type(element);
  // Those at a distance that is known, in or out of a mask, where none wraps around.
  const bool at_steps = inside && kind(index) == Kind::Linear;
  Value first = nullptr;
  Value all = nullptr;
  Value pairs = nullptr;
  Value base = buffer.address;
  if (at_steps) {
    first = row_address(buffer, element, index, false);
    mask = nullptr;
  } else {
    all = ops_.splat(ops_.whole(value(index))).parts[0];
    if (mask != nullptr) {
      all = ir_.select(mask, all, ir_.zero(ir_.type(all)));
      base = ir_.select(ir_.equal_zero(buffer.length), zeros_, base);
    }
    pairs = ir_.bits(all, ir_.vector(ir_.i64, width_ / 2));
  }
  Lanes lanes{type, false, {}};
  for (std::size_t part = 0; part < part_count(type); ++part) {
    lanes.parts[part] = ir_.api().GetPoison(ir_.vector(part_type(type)));
  }
  Value pair = nullptr;
  for (unsigned lane = 0; lane < width_; ++lane) {
    Value pointer = first;
    if (at_steps) {
      const std::int64_t distance = std::int64_t{shapes_[index].stride} * stride(element) * lane;
      pointer = ir_.at(ir_.i8, first, ir_.wide(static_cast<std::uint64_t>(distance)));
    } else {
      Value at = nullptr;
      if (target_.is_scalar) {
        at = ir_.zext(ir_.lane(all, lane), 64);
      } else {
        // Two at a time out of the vector; LLVM would take each.
        if (lane % 2 == 0) pair = ir_.opaque(ir_.lane(pairs, lane / 2));
        const Value low = ir_.both(pair, ir_.wide(0xffffffff));
        at = ir_.opaque(lane % 2 == 0 ? low : ir_.lshr(pair, ir_.wide(32)));
      }
      pointer = ir_.at(ir_.i8, base, ir_.mul(at, ir_.wide(stride(element))));
    }
    for (std::size_t part = 0; part < part_count(type); ++part) {
      const Value loaded = ir_.load(
          part_type(type), ir_.at(part_type(type), pointer, ir_.wide(part)), part_bits(type) / 8);
      lanes.parts[part] = ir_.with_lane(lanes.parts[part], ir_.word(lane), loaded);
    }
  }
  for (std::size_t part = 0; part < part_count(type) && mask != nullptr; ++part) {
    lanes.parts[part] = ir_.select(mask, lanes.parts[part], ir_.zero(ir_.type(lanes.parts[part])));
  }
  return lanes;
}

Lanes Emitter::load(ExprId id, const Expr& expr) {
  const Buffer& buffer = buffers_[expr.imm];
  const DataType element = program_.buffers[expr.imm].element;
  const DataType type = loaded_type(element);
  const ExprId index = expr.args[0];
  const bool inside = !at_entry_ && is_inside(id);
  if (is_scalar(index) || at_entry_) {
    const Value at = ops_.whole(scalar(index)).parts[0];
    Value pointer = address_of(buffer, element, at, false);
    if (!inside) {
      pointer = ir_.select(in_bounds(at, buffer), pointer, zeros_);
    }
    Lanes lanes{type, false, {}};
    for (std::size_t i = 0; i < part_count(type); ++i) {
      lanes.parts[i] = ir_.load(part_type(type), ir_.at(part_type(type), pointer, ir_.wide(i)),
                                part_bits(type) / 8);
    }
    return from_memory(element, settled(expr, lanes));
  }
  if (const Records::Place* place = in_record(at_, id)) {
    std::vector<Value>& parts = moved_[place->record];
    if (parts.empty()) {
      const Value pointer = ir_.at(ir_.i8, row_address(buffer, element, index, false),
                                   ir_.wide(std::uint64_t{0} - place->offset * 4));
      for (std::uint32_t i = 0; i < records_.all[place->record].size; ++i) {
        const Value from = ir_.at(ir_.i8, pointer, ir_.wide(std::uint64_t{i} * width_ * 4));
        parts.push_back(ir_.load(ir_.vector(ir_.i32), from, 4));
      }
      parts = deinterleave(parts);
    }
    return {type, false, {parts[place->offset]}};
  }
  if (fast_ && kind(index) == Kind::Linear && early(index) == Early::Counted) {
    prefetch(buffer, element, index);
  }
  Value mask = mask_;
  const Value all = ops_.splat(ops_.whole(value(index))).parts[0];
  if (!inside) mask = with(mask, in_bounds(all, buffer));
  if (const auto slid = sliding_.find({index, BufferId{expr.imm}});
      fast_ && slid != sliding_.end()) {
    const Slide& slide = slides_[slid->second.first];
    const std::int64_t by = slid->second.second;
    const Value now = ir_.load(ir_.vector(ir_.i32), slide.now);
    if (by == 0) return {type, false, {now}};
    std::vector<unsigned> from;
    for (unsigned i = 0; i < width_; ++i) {
      from.push_back(static_cast<unsigned>(by > 0 ? by : width_ + by) + i);
    }
    const Value last = ir_.load(ir_.vector(ir_.i32), slide.last);
    return {
        type, false, {by > 0 ? ir_.shuffle(now, slide.next, from) : ir_.shuffle(last, now, from)}};
  }
  if (kind(index) == Kind::Linear && shapes_[index].stride == 1) {
    if (const Value row = known_row(BufferId{expr.imm}, ops_.whole(scalar(index)).parts[0], mask)) {
      return {type, false, {row}};
    }
    const Value pointer = row_address(buffer, element, index, mask != nullptr);
    return from_memory(element, settled(expr, load_row(element, pointer, mask)));
  }
  // One by one it is more code, too: only where it is hot.
  if (!target_.gathers || (target_.slow_gathers && fast_ && !loops_.empty())) {
    const bool in_row = fast_ && assumed_.contains({at_, id});
    return from_memory(element, settled(expr, gather(element, buffer, index, in_row, mask)));
  }
  if (mask == nullptr) mask = ir_.ones(ir_.vector(ir_.boolean));
  Lanes lanes{type, false, {}};
  for (std::size_t i = 0; i < part_count(type); ++i) {
    const Ir::Type part = ir_.vector(part_type(type));
    std::array<Ir::Type, 2> named{part, ir_.vector(ir_.pointer())};
    lanes.parts[i] = ir_.call(
        "llvm.masked.gather", named,
        {pointers(buffer, element, all, i), ir_.word(part_bits(type) / 8), mask, ir_.zero(part)});
  }
  return from_memory(element, settled(expr, lanes));
}

// Vectors side by side, past the caches where that was found to be right for the row. Those of
// several rows or gangs that are written together wait for the end: a load behind them from the
// same place in another page would, too.
void Emitter::store_rows(const std::vector<Value>& rows, Value pointer) {
  const auto found = streamed_.find(at_);
  const bool may_pass = fast_ && found != streamed_.end();
  const Waiting one{rows, pointer, may_pass ? found->second : nullptr};
  if (is_gathering_ && may_pass && conditions_ == 0) {
    waiting_.push_back(one);
  } else {
    put_rows({one});
  }
}

void Emitter::put_rows(const std::vector<Waiting>& stores) {
  if (stores.empty()) return;
  const auto put = [&](bool streamed) {
    for (const Waiting& each : stores) {
      Value to = each.pointer;
      for (const Value row : each.rows) {
        const Value stored = ir_.store(row, to, streamed ? target_.bits / 8 : 4);
        if (streamed) ir_.mark_nontemporal(stored);
        to = ir_.at(ir_.type(row), to, ir_.wide(1));
      }
    }
  };
  Value pass = nullptr;
  for (const Waiting& each : stores) {
    pass = pass == nullptr || each.pass == nullptr ? each.pass : ir_.both(pass, each.pass);
  }
  if (pass == nullptr) {
    put(false);
  } else {
    const Ir::Block yes = ir_.block("streamed");
    const Ir::Block no = ir_.block("stored");
    const Ir::Block behind = ir_.block("behind");
    ir_.branch(pass, yes, no);
    ir_.go_on(yes);
    put(true);
    ir_.jump(behind);
    ir_.go_on(no);
    put(false);
    ir_.jump(behind);
    ir_.go_on(behind);
  }
}

// Whether the statement alone writes its buffer, in whole rows, and nobody reads it.
bool Emitter::may_stream(StmtId id, const Store& store) {
  if (program_.buffers[store.buffer.index].access == BufferAccess::Workgroup) return false;
  if (kind(store.index) != Kind::Linear || early(store.index) != Early::Fixed) return false;
  const Records::Place* place = records_.find(id, {});
  if (shapes_[store.index].stride != 1 && place == nullptr) return false;
  const bool is_read = std::ranges::any_of(body_.exprs, [&](const Expr& expr) {
    return expr.op == Operation::Load && expr.imm == store.buffer.index;
  });
  if (is_read) return false;
  for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
    if (const Atomic* atomic = std::get_if<Atomic>(&body_.stmts[i])) {
      if (atomic->buffer == store.buffer) return false;
    }
    const Store* other = std::get_if<Store>(&body_.stmts[i]);
    if (other == nullptr || other->buffer != store.buffer || StmtId{i} == id) continue;
    const Records::Place* its = records_.find(StmtId{i}, {});
    if (its == nullptr || place == nullptr || its->record != place->record) return false;
  }
  return true;
}

void Emitter::store(const Store& store) {
  const Buffer& buffer = buffers_[store.buffer.index];
  const DataType element = program_.buffers[store.buffer.index].element;
  const DataType type = loaded_type(element);
  const bool inside = is_inside({});
  Lanes given = ops_.whole(value(store.value));
  if (is_scalar(store.index)) {
    forget(store.buffer);
    const Value at = ops_.whole(scalar(store.index)).parts[0];
    Value pointer = address_of(buffer, element, at, false);
    if (!inside) {
      pointer = ir_.select(in_bounds(at, buffer), pointer, sink_);
    }
    // Of several that write one element, any may be the last.
    if (ops_.is_vector(given)) {
      Value lane = ir_.word(0);
      if (mask_ != nullptr) {
        const Value bits = ir_.bits(mask_, ir_.integer(width_));
        lane = ir_.call("llvm.cttz", {bits, ir_.ones(ir_.boolean)});
      }
      for (std::size_t i = 0; i < part_count(type); ++i) {
        given.parts[i] = ir_.lane(given.parts[i], lane);
      }
    }
    for (std::size_t i = 0; i < part_count(type); ++i) {
      ir_.store(given.parts[i], ir_.at(part_type(type), pointer, ir_.wide(i)), part_bits(type) / 8);
    }
    return;
  }
  given = ops_.splat(given);
  if (const Records::Place* place = in_record(at_, {}); place != nullptr && mask_ == nullptr) {
    const Record& record = records_.all[place->record];
    std::vector<Value>& parts = moved_[place->record];
    parts.resize(record.size);
    parts[place->offset] = given.parts[0];
    forget(store.buffer);
    if (at_ < record.last) return;
    const Value pointer = ir_.at(ir_.i8, row_address(buffer, element, store.index, false),
                                 ir_.wide(std::uint64_t{0} - place->offset * 4));
    return store_rows(interleave(parts), pointer);
  }
  Value mask = mask_;
  const Value all = ops_.splat(ops_.whole(value(store.index))).parts[0];
  if (!inside) mask = with(mask, in_bounds(all, buffer));
  if (kind(store.index) == Kind::Linear && shapes_[store.index].stride == 1) {
    if (part_count(type) == 1 && part_bits(type) == 32 && element != DataType::Bool) {
      know_row(store.buffer, ops_.whole(scalar(store.index)).parts[0], mask, given.parts[0]);
    } else {
      forget(store.buffer);
    }
    store_row(element, row_address(buffer, element, store.index, mask != nullptr), mask, given);
    return;
  }
  forget(store.buffer);
  if (mask == nullptr) mask = ir_.ones(ir_.vector(ir_.boolean));
  for (std::size_t i = 0; i < part_count(type); ++i) {
    std::array<Ir::Type, 2> named{ir_.type(given.parts[i]), ir_.vector(ir_.pointer())};
    ir_.call(
        "llvm.masked.scatter", named,
        {given.parts[i], pointers(buffer, element, all, i), ir_.word(part_bits(type) / 8), mask});
  }
}

// What changes nothing in an update that commutes.
std::uint32_t Emitter::neutral(const Atomic& atomic) const {
  const bool is_signed = program_.buffers[atomic.buffer.index].element == DataType::I32;
  switch (atomic.op) {
    case AtomicOp::And: return 0xffffffff;
    case AtomicOp::Min: return is_signed ? 0x7fffffff : 0xffffffff;
    case AtomicOp::Max: return is_signed ? 0x80000000 : 0;
    default: return 0;
  }
}

// One update of one element; gives what it held. `is_own`: no other thread sees it.
Value Emitter::update(const Atomic& atomic, bool is_own, Value pointer, Value expected,
                      Value value) {
  const bool is_signed = program_.buffers[atomic.buffer.index].element == DataType::I32;
  const llvm::Api& api = ir_.api();
  if (is_own) {
    const Value old = ir_.load(ir_.i32, pointer, 4);
    const auto pick = [&](Compare less) {
      return ir_.select(ir_.compare(less, old, value), old, value);
    };
    Value now = value;
    switch (atomic.op) {
      case AtomicOp::Add: now = ir_.add(old, value); break;
      case AtomicOp::And: now = ir_.both(old, value); break;
      case AtomicOp::Or: now = ir_.either(old, value); break;
      case AtomicOp::Xor: now = ir_.exclusive(old, value); break;
      case AtomicOp::Min: now = pick(is_signed ? Compare::Slt : Compare::Ult); break;
      case AtomicOp::Max: now = pick(is_signed ? Compare::Sgt : Compare::Ugt); break;
      case AtomicOp::Exchange: break;
      case AtomicOp::CompareExchange:
        now = ir_.select(ir_.compare(Compare::Eq, old, expected), value, old);
        break;
    }
    ir_.store(now, pointer, 4);
    return old;
  }
  llvm::Rmw op = llvm::Rmw::Add;
  switch (atomic.op) {
    case AtomicOp::Add: op = llvm::Rmw::Add; break;
    case AtomicOp::And: op = llvm::Rmw::And; break;
    case AtomicOp::Or: op = llvm::Rmw::Or; break;
    case AtomicOp::Xor: op = llvm::Rmw::Xor; break;
    case AtomicOp::Min: op = is_signed ? llvm::Rmw::Min : llvm::Rmw::UMin; break;
    case AtomicOp::Max: op = is_signed ? llvm::Rmw::Max : llvm::Rmw::UMax; break;
    case AtomicOp::Exchange: op = llvm::Rmw::Exchange; break;
    case AtomicOp::CompareExchange: {
      const Value both = api.BuildAtomicCmpXchg(ir_.builder(), pointer, expected, value,
                                                llvm::kSequential, llvm::kSequential, 0);
      return api.BuildExtractValue(ir_.builder(), both, 0, "");
    }
  }
  return api.BuildAtomicRMW(ir_.builder(), static_cast<int>(op), pointer, value, llvm::kSequential,
                            0);
}

// All lanes update one element at once.
void Emitter::update_together(const Atomic& atomic, bool is_own) {
  const Buffer& buffer = buffers_[atomic.buffer.index];
  const DataType element = program_.buffers[atomic.buffer.index].element;
  const bool is_signed = element == DataType::I32;
  std::string_view reduction = "llvm.vector.reduce.add";
  switch (atomic.op) {
    case AtomicOp::And: reduction = "llvm.vector.reduce.and"; break;
    case AtomicOp::Or: reduction = "llvm.vector.reduce.or"; break;
    case AtomicOp::Xor: reduction = "llvm.vector.reduce.xor"; break;
    case AtomicOp::Min:
      reduction = is_signed ? "llvm.vector.reduce.smin" : "llvm.vector.reduce.umin";
      break;
    case AtomicOp::Max:
      reduction = is_signed ? "llvm.vector.reduce.smax" : "llvm.vector.reduce.umax";
      break;
    default: break;
  }
  Value given = ops_.splat(ops_.whole(value(atomic.value))).parts[0];
  if (mask_ != nullptr) {
    given = ir_.select(mask_, given, ir_.splat_number(ir_.i32, neutral(atomic)));
  }
  const Value index = ops_.whole(scalar(atomic.index)).parts[0];
  Value pointer = address_of(buffer, element, index, false);
  if (!is_inside({})) pointer = ir_.select(in_bounds(index, buffer), pointer, sink_);
  update(atomic, is_own, pointer, nullptr, ir_.call(reduction, {given}));
}

// Whether a value takes few operations on loads of rows, all of which are in bounds.
bool Emitter::is_cheap(StmtId stmt, ExprId id, unsigned depth) const {
  if (is_scalar(id)) return true;
  const Expr& expr = body_[id];
  if (depth == 0 || types_[id] != DataType::U32) return false;
  if (expr.op == Operation::Local) {
    const Place& place = places_[expr.imm];
    return place.bound.exists() && segments_[place.declared.index] == segments_[stmt.index] &&
           is_cheap(place.declared, place.bound, depth - 1);
  }
  if (expr.op == Operation::Load) {
    return !is_written(program_.buffers[expr.imm].access) && starts_.contains(expr.args[0]) &&
           shapes_[expr.args[0]].stride == 1 && assumed_.contains({stmt, id});
  }
  switch (expr.op) {
    case Operation::Shr:
    case Operation::BitAnd:
    case Operation::Add: break;
    default: return false;
  }
  return std::ranges::all_of(operands(body_, expr),
                             [&](ExprId arg) { return is_cheap(stmt, arg, depth - 1); });
}

// Such a value in one lane.
Lanes Emitter::of_lane(ExprId id, unsigned lane) {
  if (is_scalar(id)) return scalar(id);
  const Expr& expr = body_[id];
  if (expr.op == Operation::Local) return of_lane(places_[expr.imm].bound, lane);
  if (expr.op == Operation::Load) {
    const DataType element = program_.buffers[expr.imm].element;
    const Value row = row_address(buffers_[expr.imm], element, expr.args[0], false);
    return {DataType::U32, false, {ir_.load(ir_.i32, ir_.at(ir_.i32, row, ir_.wide(lane)), 4)}};
  }
  return ops_.apply(expr.op, of_lane(expr.args[0], lane), of_lane(expr.args[1], lane));
}

// One lane after the other, those that are on and in bounds; gives what they found.
Value Emitter::update_each(const Atomic& atomic, bool is_own) {
  const Buffer& buffer = buffers_[atomic.buffer.index];
  const DataType element = program_.buffers[atomic.buffer.index].element;
  const Value index = ops_.splat(ops_.whole(value(atomic.index))).parts[0];
  const Value given = ops_.splat(ops_.whole(value(atomic.value))).parts[0];
  const Value expected =
      atomic.expected.exists() ? ops_.splat(ops_.whole(value(atomic.expected))).parts[0] : given;
  const Ir::Type whole = ir_.vector(ir_.i32);
  const bool inside = is_inside({});
  if (is_own && mask_ == nullptr && inside && !atomic.result.exists()) {
    // Each lane's index by itself, or through memory, is faster than from lane to lane.
    const bool by_itself = fast_ && is_cheap(at_, atomic.index, 4);
    const Value indices = by_itself ? nullptr : ir_.local(whole, "indices");
    if (!by_itself) ir_.api().SetVolatile(ir_.store(index, indices), 1);
    for (unsigned lane = 0; lane < width_; ++lane) {
      Value at;
      if (by_itself) {
        at = ops_.whole(of_lane(atomic.index, lane)).parts[0];
      } else {
        at = ir_.load(ir_.i32, ir_.at(ir_.i32, indices, ir_.wide(lane)), 4);
        ir_.api().SetVolatile(at, 1);
      }
      update(atomic, true, address_of(buffer, element, at, false), ir_.lane(expected, lane),
             ir_.lane(given, lane));
    }
    return nullptr;
  }
  Value mask = full_mask();
  if (!inside) mask = ir_.both(mask, in_bounds(index, buffer));
  const Value results = atomic.result.exists() ? ir_.local(whole, "old") : nullptr;
  if (results != nullptr) ir_.store(ir_.zero(whole), results);
  const Value bits = to_bits(mask);
  const Ir::Block before = ir_.here();
  const Ir::Block head = ir_.block("lanes");
  const Ir::Block lane_begin = ir_.block("lane");
  const Ir::Block behind = ir_.block("lanes.end");
  ir_.jump(head);
  ir_.go_on(head);
  const Value left = ir_.phi(ir_.i64, {{bits, before}});
  ir_.branch(ir_.not_zero(left), lane_begin, behind);
  ir_.go_on(lane_begin);
  const Value lane = ir_.call("llvm.cttz", {left, ir_.ones(ir_.boolean)});
  const Value pointer = address_of(buffer, element, ir_.lane(index, lane), false);
  const Value old =
      update(atomic, is_own, pointer, ir_.lane(expected, lane), ir_.lane(given, lane));
  if (results != nullptr) {
    ir_.store(ir_.with_lane(ir_.load(whole, results), lane, old), results);
  }
  Value rest = ir_.both(left, ir_.sub(left, ir_.wide(1)));
  Ir::Block end = ir_.here();
  ir_.jump(head);
  ir_.api().AddIncoming(left, &rest, &end, 1);
  ir_.go_on(behind);
  return results == nullptr ? nullptr : ir_.load(whole, results);
}

void Emitter::atomic(const Atomic& atomic) {
  Buffer& buffer = buffers_[atomic.buffer.index];
  const auto updates = [&](bool is_own) {
    if (commutes(atomic) && !atomic.result.exists() && is_scalar(atomic.index)) {
      update_together(atomic, is_own);
      return;
    }
    const Value found = update_each(atomic, is_own);
    if (found != nullptr)
      give(places_[atomic.result.index], {types_[atomic.result], false, {found}});
  };
  if (buffer.copy == nullptr) return updates(false);
  const Ir::Block own = ir_.block("own");
  const Ir::Block shared = ir_.block("shared");
  const Ir::Block behind = ir_.block("updated");
  ir_.branch(buffer.has_copy, own, shared);
  ir_.go_on(own);
  std::swap(buffer.address, buffer.copy);
  updates(true);
  std::swap(buffer.address, buffer.copy);
  ir_.jump(behind);
  ir_.go_on(shared);
  ++time_;
  updates(false);
  ir_.jump(behind);
  ir_.go_on(behind);
  ++time_;
}

// Of a small buffer that is only updated, in ways that commute and that nobody looks at, each
// thread has a copy of its own, which joins the buffer at the end. Gives an update for each of
// them.
std::map<BufferId, Atomic> Emitter::find_copied() const {
  std::map<BufferId, Atomic> copied;
  std::set<BufferId> others;
  for (const Expr& expr : body_.exprs) {
    if (expr.op == Operation::Load) others.insert(BufferId{expr.imm});
  }
  for (const Stmt& stmt : body_.stmts) {
    if (const Store* store = std::get_if<Store>(&stmt)) others.insert(store->buffer);
    const Atomic* atomic = std::get_if<Atomic>(&stmt);
    if (atomic == nullptr) continue;
    const auto known = copied.emplace(atomic->buffer, *atomic).first;
    if (!commutes(*atomic) || atomic->result.exists() || known->second.op != atomic->op) {
      others.insert(atomic->buffer);
    }
  }
  for (BufferId other : others) copied.erase(other);
  return copied;
}

// --- Statements
// -----------------------------------------------------------------------------------

// A local gets its first value, or another one.
void Emitter::give(Place& place, const Lanes& given) {
  if (place.bound.exists() && !place.crosses) {
    place.value = given;
    return;
  }
  const DataType type = types_[place.local];
  Lanes lanes = ops_.whole(given);
  if (place.slots[0] == nullptr) {
    place.is_vector =
        place.bound.exists() ? !is_regular(place.bound) : !shapes_.uniformity[place.local];
    for (std::size_t i = 0; i < part_count(type); ++i) {
      const Ir::Type part = place.is_vector ? ir_.vector(part_type(type)) : part_type(type);
      if (!place.crosses) {
        place.slots[i] = ir_.local(part, body_[place.local].name.c_str());
        continue;
      }
      const std::uint64_t bytes = gangs_ * (place.is_vector ? width_ : 1) * (part_bits(type) / 8);
      if (stack_bytes_ + bytes <= kMaxStackBytes) {
        stack_bytes_ += bytes;
        place.slots[i] =
            ir_.local(ir_.api().ArrayType2(part, gangs_), body_[place.local].name.c_str());
      } else {
        scratch_bytes_ = (scratch_bytes_ + 63) / 64 * 64;
        place.slots[i] = ir_.at(ir_.i8, scratch_, ir_.wide(scratch_bytes_));
        scratch_bytes_ += bytes;
      }
    }
  }
  if (place.is_vector) lanes = ops_.splat(lanes);
  for (std::size_t i = 0; i < part_count(type); ++i) {
    const Ir::Type part = place.is_vector ? ir_.vector(part_type(type)) : part_type(type);
    Value to = place.slots[i];
    if (place.crosses) to = ir_.at(part, to, gang_ != nullptr ? gang_ : ir_.wide(0));
    ir_.store(lanes.parts[i], to);
  }
}

void Emitter::assign(StmtId id, LocalId local, ExprId to) {
  Place& place = places_[local.index];
  Lanes given = ops_.whole(value(to));
  if (mask_ != nullptr && place.slots[0] != nullptr && place.is_vector && must_blend(place, id)) {
    given = ops_.select(ops_.bit(mask_), given, read_local(local));
  }
  give(place, given);
}

void Emitter::branch(StmtId id, const If& branch) {
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
bool Emitter::is_break(StmtId id) const {
  const If* branch = std::get_if<If>(&body_[id]);
  return branch != nullptr && branch->end.index == id.index + 2 &&
         std::holds_alternative<Break>(body_[StmtId{id.index + 1}]);
}

// Whether lanes leave a loop only so, between its statements.
bool Emitter::only_breaks(StmtId loop) const {
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
void Emitter::break_some(Value test) {
  Loop& loop = loops_.back();
  const bool all_here = mask_ == loop.mask;
  const Ir::Type masks = ir_.vector(ir_.boolean);
  const Value others = ir_.invert(test);
  const Value left = with(mask_, test);
  mask_ = with(mask_, others);
  ir_.store(all_here ? mask_ : ir_.both(ir_.load(masks, loop.live), ir_.invert(left)), loop.live);
  if (all_here) loop.mask = mask_;
  const Ir::Block on = ir_.block("on");
  ir_.branch(any(mask_), on, all_here ? loop.exit : block_end_);
  ir_.go_on(on);
  ++time_;
}

// Every so many rounds a loop looks whether to go on at all. Gives the memory of how many are left;
// null for a short loop.
Value Emitter::count_rounds(const For& loop) {
  const Expr& from = body_[loop.from];
  const Expr& to = body_[loop.to];
  const bool literal = from.op == Operation::Literal && to.op == Operation::Literal;
  if (literal && to.imm - from.imm <= kRounds) return nullptr;
  const Value rounds = ir_.local(ir_.i32, "rounds");
  ir_.store(ir_.word(kRounds), rounds);
  return rounds;
}

void Emitter::begin_round(Value rounds) {
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

void Emitter::repeat(StmtId id, const For& loop) {
  const Ir::Type masks = ir_.vector(ir_.boolean);
  const Value before = mask_;
  Lanes from = ops_.whole(value(loop.from));
  Lanes to = ops_.whole(value(loop.to));
  ops_.unify(from, to);
  const bool varies = ops_.is_vector(from);
  Loop open{id, ir_.block("loop.end"), nullptr, nullptr};
  if (varies || parts(id, true) || (mask_ != first_mask_ && returns_inside(id))) {
    open.live = ir_.local(masks, "live");
    ir_.store(full_mask(), open.live);
  }
  Place& place = places_[loop.variable.index];
  const Value counter = ir_.local(ir_.type(from.parts[0]), body_[loop.variable].name.c_str());
  ir_.store(from.parts[0], counter);
  const Value rounds = count_rounds(loop);
  const Ir::Block head = ir_.block("loop");
  const Ir::Block inside = ir_.block("round");
  ir_.jump(head);
  ir_.go_on(head);
  const Value now = ir_.load(ir_.type(from.parts[0]), counter);
  begin_round(rounds);
  Value more = ir_.compare(Compare::Ult, now, to.parts[0]);
  if (open.live != nullptr) {
    Value live = ir_.load(masks, open.live);
    if (varies) {
      live = ir_.both(live, more);
      ir_.store(live, open.live);
      more = any(live);
    } else if (!only_breaks(id)) {
      more = ir_.both(more, any(live));
    }
    mask_ = live;
  }
  ir_.branch(more, inside, open.exit);
  ir_.go_on(inside);
  open.mask = mask_;
  place.value = {DataType::U32, false, {now}};
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
void Emitter::drop_those_that_left(StmtId id) {
  const bool in_loop = !loops_.empty() && loops_.back().id < id;
  const bool together = (!returns_inside(id) || mask_ == first_mask_) &&
                        (!in_loop || !breaks_inside(id) || mask_ == loops_.back().mask);
  if (together && !parts(id, false)) return;
  const bool in_masked_loop = in_loop && loops_.back().live != nullptr;
  const Value left = in_masked_loop ? loops_.back().live : alive_;
  if (left == nullptr) return;
  mask_ = with(mask_, ir_.load(ir_.vector(ir_.boolean), left));
  const Ir::Block on = ir_.block("on");
  ir_.branch(any(mask_), on, block_end_);
  ir_.go_on(on);
}

// `break`: at once if all that are in the round leave.
void Emitter::leave_loop() {
  const Loop& loop = loops_.back();
  if (mask_ == loop.mask) return ir_.jump(loop.exit);
  const Ir::Type masks = ir_.vector(ir_.boolean);
  ir_.store(ir_.both(ir_.load(masks, loop.live), ir_.invert(full_mask())), loop.live);
}

void Emitter::leave_gang() {
  if (returns_far_) {
    const Value kept = ir_.at(ir_.i64, all_alive_, gang_);
    const Value left = to_bits(full_mask());
    ir_.store(ir_.both(ir_.load(ir_.i64, kept), ir_.invert(left)), kept);
  }
  if (mask_ == first_mask_) return ir_.jump(gang_end_);
  const Ir::Type masks = ir_.vector(ir_.boolean);
  const Value others = ir_.invert(full_mask());
  for (const Loop& loop : loops_) {
    if (loop.live == nullptr) continue;
    ir_.store(ir_.both(ir_.load(masks, loop.live), others), loop.live);
  }
  ir_.store(ir_.both(ir_.load(masks, alive_), others), alive_);
}

// And goes on to `behind`.
void Emitter::statements(StmtId begin, StmtId end, Ir::Block behind) {
  const Ir::Block around = std::exchange(block_end_, behind);
  for (StmtId id = begin; id < end && !ir_.is_closed(); id = next(body_, id)) statement(id);
  ir_.jump(behind);
  // Some came to `behind` from before the end.
  const bool may_leave = std::any_of(
      body_.stmts.begin() + begin.index, body_.stmts.begin() + end.index, [](const Stmt& stmt) {
        return std::holds_alternative<Return>(stmt) || std::holds_alternative<Break>(stmt);
      });
  if (may_leave) rows_known_.clear();
  block_end_ = around;
}

void Emitter::statement(StmtId id) {
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

// --- Gangs and workgroups
// -------------------------------------------------------------------------

// The lanes of a row that need no checks from `begin` to `end`: their accesses to rows are in
// bounds, and tests of rows come out as they mostly do. Notes what may be assumed then. Values are
// those of the row's first lane; sums have 64 bits, so that nothing wraps around unseen.
Emitter::Span Emitter::unchecked(StmtId begin, StmtId end, Span lanes) {
  std::size_t count = 0;
  assumed_.clear();
  starts_.clear();
  std::ranges::fill(outcomes_, std::int8_t{-1});
  at_entry_ = true;
  first_[0] = ir_.word(0);
  begin_statement(begin);
  const auto number = [&](ExprId id) { return ir_.zext(ops_.whole(scalar(id)).parts[0], 64); };
  const auto at_least_zero = [&](Value of) { return ir_.call("llvm.smax", {of, ir_.wide(0)}); };
  const auto only_if = [&](Value condition) {
    lanes.to = ir_.select(condition, lanes.to, ir_.wide(0));
    ++count;
  };
  // Lanes whose value is in [from, to).
  const auto keep_from = [&](Value start, std::int64_t stride, Value from, Value to) {
    const Value first = ir_.sub(start, from);
    const Value size = ir_.sub(to, from);
    const Value step = ir_.wide(static_cast<std::uint64_t>(std::abs(stride)));
    const auto rounded_up = [&](Value of) {
      const Value positive = at_least_zero(of);
      return stride == 1 ? positive : ir_.udiv(ir_.add(positive, ir_.sub(step, ir_.wide(1))), step);
    };
    if (stride > 0) {
      lanes.from = ir_.call("llvm.umax", {lanes.from, rounded_up(ir_.sub(ir_.wide(0), first))});
      lanes.to = ir_.call("llvm.umin", {lanes.to, rounded_up(ir_.sub(size, first))});
    } else {
      const Value past = ir_.add(first, ir_.wide(1));
      lanes.from = ir_.call("llvm.umax", {lanes.from, rounded_up(ir_.sub(past, size))});
      lanes.to = ir_.call("llvm.umin", {lanes.to, rounded_up(past)});
    }
    ++count;
  };
  // What is a little below 2^32 in the first lane counts up to 0 from below.
  const auto start_of = [&](ExprId id) {
    const Value word = ops_.whole(scalar(id)).parts[0];
    const Value below = ir_.compare(Compare::Uge, word, ir_.word(std::uint32_t{0} - kMaxBelow));
    return ir_.select(below, ir_.sext(word, 64), ir_.zext(word, 64));
  };
  const auto keep = [&](ExprId id, Value from, Value to) {
    const Value start = start_of(id);
    keep_from(start, shapes_[id].stride, from, to);
    return start;
  };
  const Value all = ir_.wide(std::uint64_t{1} << 32);

  // Tests first: they decide what runs at all.
  std::vector<bool> mentioned(body_.exprs.size());
  std::vector<ExprId> work;
  for (StmtId id = begin; id < end; ++id.index) {
    for (ExprId root : roots(body_[id])) work.push_back(root);
  }
  while (!work.empty()) {
    const ExprId id = work.back();
    work.pop_back();
    if (mentioned[id.index]) continue;
    mentioned[id.index] = true;
    const Expr& expr = body_[id];
    for (ExprId arg : operands(body_, expr)) work.push_back(arg);
    if (!is_comparison(expr.op) || count >= kMaxConditions) continue;
    ExprId a = expr.args[0];
    ExprId b = expr.args[1];
    if (types_[a] != DataType::U32 || early(a) != Early::Fixed || early(b) != Early::Fixed) {
      continue;
    }
    // The one that changes along the row, or else from row to row, beside one that does not.
    const bool swapped = kind(b) > kind(a) || (kind(a) == kind(b) && depends_on_place(b));
    if (swapped) std::swap(a, b);
    const bool linear = kind(a) == Kind::Linear;
    if (linear ? !is_scalar(b) : !depends_on_place(a) || depends_on_place(b)) continue;
    // With code for each gang it is known what local ids are.
    if (is_whole_ && body_[b].op == Operation::Literal) continue;
    Operation op = expr.op;
    if (swapped && op == Operation::Lt)
      op = Operation::Gt;
    else if (swapped && op == Operation::Gt)
      op = Operation::Lt;
    else if (swapped && op == Operation::Le)
      op = Operation::Ge;
    else if (swapped && op == Operation::Ge)
      op = Operation::Le;
    // What it is for most: below ends, not at a certain place, and on the longer side of a literal.
    const bool equality = op == Operation::Eq || op == Operation::Ne;
    const bool below = op == Operation::Lt || op == Operation::Le;
    bool most = equality ? op == Operation::Ne : below;
    if (!equality && body_[b].op == Operation::Literal) {
      most = below == (std::uint64_t{body_[b].imm} * 2 >= row_invocations_);
    }
    outcomes_[id.index] = most ? 1 : 0;
    const Value bound = number(b);
    if (!linear) {
      const Lanes holds = ops_.apply(op, scalar(a), scalar(b));
      only_if(most ? ops_.truth(holds) : ir_.invert(ops_.truth(holds)));
    } else if (equality) {
      const Value behind = ir_.compare(Compare::Uge, number(a), bound);
      keep(a, ir_.select(behind, ir_.add(bound, ir_.wide(1)), ir_.wide(0)),
           ir_.select(behind, all, bound));
    } else {
      // As a limit that is above what is smaller.
      const bool or_equal = op == Operation::Le || op == Operation::Gt;
      const Value limit = or_equal ? ir_.add(bound, ir_.wide(1)) : bound;
      if (below == most) {
        starts_[a] = {keep(a, ir_.wide(0), limit), 0};
      } else {
        keep(a, limit, all);
      }
    }
  }

  // Accesses that a number tells apart.
  struct Stretch {
    Value start = nullptr;  // of the first one that is found
    std::uint32_t offset = 0;
    std::int64_t stride = 0;
    std::int64_t least = 0;  // places behind it
    std::int64_t most = 0;
    std::map<ExprId, std::int64_t> loads = {};  // and how far they are behind it
  };
  std::map<std::pair<Terms, BufferId>, Stretch> stretches;
  std::set<std::pair<ExprId, BufferId>> known;
  std::set<BufferId> gathered;
  std::map<BufferId, std::uint64_t> tables;  // and the last element that is looked up
  for (const CheckedAccess& access : bounds_.accesses) {
    if (access.stmt < begin || access.stmt >= end) continue;
    const Value length = buffers_[access.buffer.index].length;
    if (!is_scalar(access.index) && gathered.insert(access.buffer).second) {
      only_if(ir_.compare(Compare::Ule, length, ir_.wide(std::uint64_t{1} << 31)));
    }
    if (count >= kMaxConditions) continue;
    const ExprId index = access.index;
    if (early(index) == Early::No) {
      // Whatever it depends on, ranges may know where it ends.
      if (ends_early(program_, access)) {
        std::uint64_t& most = tables[access.buffer];
        most = std::max(most, access.most);
        assumed_.insert({access.stmt, access.load});
      }
      continue;
    }
    // What is proved may still be told to start in the row, which makes its addresses simple.
    const bool is_row = kind(index) == Kind::Linear && early(index) == Early::Fixed &&
                        program_.buffers[access.buffer.index].access != BufferAccess::Workgroup;
    if (access.verdict == CheckedAccess::Verdict::Proved && !is_row) continue;
    const std::set<StmtId> loops = counting(index);
    if (!is_scalar(index) && loops.empty()) {
      const Split split = split_index(body_, bound_, index);
      const auto [found, is_first] = stretches.try_emplace({split.terms, access.buffer});
      Stretch& stretch = found->second;
      if (is_first) {
        stretch = {start_of(index), split.offset, shapes_[index].stride};
        ++count;
      }
      const std::int64_t behind = static_cast<std::int32_t>(split.offset - stretch.offset);
      if (std::abs(behind) >= kMaxBelow) continue;
      assumed_.insert({access.stmt, access.load});
      stretch.least = std::min(stretch.least, behind);
      stretch.most = std::max(stretch.most, behind);
      // No buffer is so long that it could be behind by another multiple of 2^32.
      starts_[index] = {stretch.start, behind};
      if (access.load.exists() && may_slide(access.buffer)) stretch.loads[index] = behind;
      continue;
    }
    assumed_.insert({access.stmt, access.load});
    if (!known.insert({index, access.buffer}).second) continue;
    // How far the index goes in the rounds of loops: it grows by the same in each of them.
    const auto count_from = [&](StmtId loop, std::uint32_t rounds) {
      ++time_;
      if (!loop.exists()) {
        first_[1] = ir_.word(rounds);
        return;
      }
      const For& counted = std::get<For>(body_[loop]);
      const Value from = ops_.whole(scalar(counted.from)).parts[0];
      places_[counted.variable.index].value = {
          DataType::U32, false, {ir_.add(from, ir_.word(rounds))}};
      ++time_;
    };
    for (StmtId loop : loops) count_from(loop, 0);
    const Value first = ops_.whole(scalar(index)).parts[0];
    Value reach = ir_.wide(0);
    for (StmtId loop : loops) {
      Value rounds = ir_.wide(rows_);
      if (loop.exists()) {
        const For& counted = std::get<For>(body_[loop]);
        rounds = ir_.call("llvm.usub.sat", {number(counted.to), number(counted.from)});
      }
      count_from(loop, 1);
      const Value step = ir_.zext(ir_.sub(ops_.whole(scalar(index)).parts[0], first), 64);
      const Value others = ir_.call("llvm.usub.sat", {rounds, ir_.wide(1)});
      const Value whole = ir_.mul(step, others);
      reach = ir_.add(reach, ir_.call("llvm.umin", {whole, ir_.wide(std::uint64_t{1} << 40)}));
      count_from(loop, 0);
    }
    const Value left = ir_.sub(length, reach);
    if (is_scalar(index)) {
      only_if(ir_.compare(Compare::Slt, number(index), left));
    } else {
      keep(index, ir_.wide(0), left);
    }
  }
  for (const auto& [buffer, most] : tables) {
    only_if(ir_.compare(Compare::Ugt, buffers_[buffer.index].length, ir_.wide(most)));
  }
  // Rows that overlap are made of the vectors of three gangs, one of which is new in each.
  slides_.clear();
  sliding_.clear();
  const auto signed_number = [&](std::int64_t of) {
    return ir_.wide(static_cast<std::uint64_t>(of));
  };
  for (const auto& [key, stretch] : stretches) {
    std::int64_t reach = 0;
    std::int64_t middle = 0;
    if (stretch.stride == 1 && stretch.loads.size() > 1) {
      const auto [least, most] = std::ranges::minmax(std::views::values(stretch.loads));
      middle = (least + most) / 2;
      if (least < most && most - least < width_) reach = width_;
    }
    const Value length = buffers_[key.second.index].length;
    keep_from(stretch.start, stretch.stride,
              signed_number(std::max(-stretch.least, reach - middle)),
              ir_.sub(length, signed_number(std::max(stretch.most, middle + reach))));
    if (reach == 0) continue;
    for (const auto& [index, place] : stretch.loads) {
      sliding_[{index, key.second}] = {slides_.size(), place - middle};
    }
    slides_.push_back({key.second, ir_.add(stretch.start, signed_number(middle))});
  }
  // Gangs follow each other at a distance that keeps the alignment.
  streamed_.clear();
  for (StmtId id = begin; id < end; ++id.index) {
    const Store* store = std::get_if<Store>(&body_[id]);
    if (store == nullptr || !may_stream(id, *store)) continue;
    const Records::Place* place = records_.find(id, {});
    const Value own = ops_.whole(scalar(store->index)).parts[0];
    const Value first = place == nullptr ? own : ir_.sub(own, ir_.word(place->offset));
    const Buffer& buffer = buffers_[store->buffer.index];
    const DataType element = program_.buffers[store->buffer.index].element;
    const Value address = ir_.address(address_of(buffer, element, first, false));
    const Value rest = ir_.both(address, ir_.wide(target_.bits / 8 - 1));
    streamed_[id] = ir_.both(streams_, ir_.equal_zero(rest));
  }
  at_entry_ = false;
  ++time_;
  return lanes;
}

void Emitter::write_gang(StmtId begin, StmtId end, bool fast, Value mask) {
  fast_ = fast;
  mask_ = first_mask_ = mask;
  moved_.clear();
  fetched_.clear();
  const Ir::Type masks = ir_.vector(ir_.boolean);
  alive_ = nullptr;
  for (std::uint32_t i = begin.index; i < end.index; ++i) {
    if (!std::holds_alternative<Return>(body_.stmts[i])) continue;
    alive_ = ir_.local(masks, "alive");
    ir_.store(full_mask(), alive_);
    break;
  }
  // Locals of another version of the same statements are not those of this one.
  for (std::uint32_t i = begin.index; i < end.index; ++i) {
    const LocalId local = declared(body_.stmts[i]);
    if (!local.exists() || places_[local.index].crosses) continue;
    places_[local.index].value = {};
    places_[local.index].slots = {};
  }
  statements(begin, end, gang_end_);
  fast_ = false;
}

// The statements for every gang of the workgroup, row after row.
void Emitter::write_gangs(StmtId begin, StmtId end) {
  bool does_something = false;
  for (StmtId id = begin; id < end; ++id.index) {
    does_something = does_something || !std::holds_alternative<Block>(body_[id]);
  }
  if (!does_something) return;
  const auto row = [&](Value number) {
    begin_row(number);
    write_row(begin, end);
  };
  if (rows_ == 1) {
    row(ir_.wide(0));
  } else if (is_limited_) {
    write_rows(begin, end);
  } else if (is_unrolled_) {
    for (std::uint64_t i = 0; i < rows_; ++i) row(ir_.wide(i));
  } else {
    ir_.loop("rows", ir_.wide(0), ir_.wide(rows_), row);
  }
  gang_ = nullptr;
}

void Emitter::begin_row(Value number) {
  row_ = number;
  const Value word = ir_.trunc(number, 32);
  const auto& size = program_.workgroup_size;
  first_[1] = ir_.urem(word, ir_.word(size[1]));
  first_[2] = ir_.udiv(word, ir_.word(size[1]));
}

// Several rows at once: what one of them loads serves the next one too.
void Emitter::write_rows(StmtId begin, StmtId end) {
  const Value width = ir_.wide(width_);
  const Value origin = ir_.mul(ir_.zext(group_[0], 64), row_size_);
  const Value first_row = ir_.mul(ir_.zext(group_[1], 64), ir_.wide(rows_));
  const Value present = ir_.call("llvm.umin", {ir_.sub(limits_[0], origin), row_size_});
  const Value rows = ir_.call("llvm.umin", {ir_.sub(limits_[1], first_row), ir_.wide(rows_)});
  struct Row {
    std::map<ExprId, Start> starts;
    std::map<StmtId, Value> streamed;
    std::vector<Slide> slides;
    std::map<std::pair<ExprId, BufferId>, std::pair<std::size_t, std::int64_t>> sliding;
  };
  std::vector<Row> all;
  Span fast{ir_.wide(0),
            ir_.select(ir_.compare(Compare::Eq, rows, ir_.wide(rows_)), present, ir_.wide(0))};
  for (std::uint64_t i = 0; i < rows_; ++i) {
    begin_row(ir_.wide(i));
    fast = unchecked(begin, end, fast);
    all.push_back({starts_, streamed_, slides_, sliding_});
  }
  fast = {rounded_up(fast.from), ir_.udiv(fast.to, width)};
  write_gang_loops(
      rounded_up(present), fast,
      [&](Value gang) {
        for (Row& row : all) {
          slides_ = row.slides;
          begin_slides(gang);
          row.slides = slides_;
        }
      },
      [&](Value gang) {
        for (Row& row : all) {
          slides_ = row.slides;
          load_slides(gang);
          row.slides = slides_;
        }
        for (std::uint64_t i = 0; i < rows_; ++i) {
          begin_row(ir_.wide(i));
          begin_gang(gang);
          starts_ = all[i].starts;
          streamed_ = all[i].streamed;
          slides_ = all[i].slides;
          sliding_ = all[i].sliding;
          gang_end_ = ir_.block("row.end");
          is_gathering_ = true;
          write_gang(begin, end, true, nullptr);
          is_gathering_ = false;
          ir_.go_on(gang_end_);
        }
        for (const Row& row : all) {
          slides_ = row.slides;
          go_on_with_slides();
        }
        put_rows(std::exchange(waiting_, {}));
      },
      [&](Value gang) {
        ir_.loop("rows", ir_.wide(0), rows, [&](Value row) {
          begin_row(row);
          begin_gang(gang);
          gang_end_ = ir_.block("row.end");
          write_gang(begin, end, false, present_lanes(present));
          ir_.go_on(gang_end_);
        });
      });
}

// Most of a row has gangs that need no checks, one behind the other; the others are checked lane by
// lane.
void Emitter::write_row(StmtId begin, StmtId end) {
  Span lanes{ir_.wide(0), ir_.wide(row_invocations_)};
  if (is_limited_) {
    const Value origin = ir_.mul(ir_.zext(group_[0], 64), row_size_);
    lanes.to = ir_.call("llvm.umin", {ir_.sub(limits_[0], origin), row_size_});
  }
  const Value present = lanes.to;
  if (is_unrolled_) {
    // What is behind a `return` may not be reached.
    is_gathering_ =
        std::none_of(body_.stmts.begin() + begin.index, body_.stmts.begin() + end.index,
                     [](const Stmt& stmt) { return std::holds_alternative<Return>(stmt); });
    for (std::uint64_t i = 0; i < gangs_ / rows_; ++i) {
      gang_end_ = ir_.block("gang.end");
      begin_gang(ir_.wide(i));
      write_gang(begin, end, true, nullptr);
      ir_.go_on(gang_end_);
    }
    is_gathering_ = false;
    return put_rows(std::exchange(waiting_, {}));
  }
  const bool twice = !can_unroll_ && end.index - begin.index <= kMaxTwice;
  Span fast = twice ? unchecked(begin, end, lanes) : Span{lanes.from, lanes.from};
  fast = {rounded_up(fast.from), ir_.udiv(fast.to, ir_.wide(width_))};
  const auto write_fast = [&](Value gang) {
    if (!twice) return;
    begin_gang(gang);
    load_slides(gang);
    gang_end_ = ir_.block("gang.end");
    write_gang(begin, end, true, nullptr);
    ir_.go_on(gang_end_);
    go_on_with_slides();
  };
  const auto enter = [&](Value gang) { begin_slides(gang); };
  write_gang_loops(rounded_up(present), fast, enter, write_fast, [&](Value gang) {
    begin_gang(gang);
    gang_end_ = ir_.block("gang.end");
    write_gang(begin, end, false, present_lanes(present));
    ir_.go_on(gang_end_);
  });
}

// Calls write_fast(gang) once, in a loop over the gangs of `fast`, with enter(gang) before it, and
// write_slow(gang) in a loop over the others of `count`.
template <class Enter, class Fast, class Slow>
void Emitter::write_gang_loops(Value count, Span fast, Enter enter, Fast write_fast,
                               Slow write_slow) {
  const Value at = ir_.local(ir_.i64, "gang");
  ir_.store(ir_.wide(0), at);
  const Ir::Block head = ir_.block("gangs");
  const Ir::Block more = ir_.block("more");
  const Ir::Block entry = ir_.block("enter");
  const Ir::Block quick = ir_.block("fast");
  const Ir::Block slow = ir_.block("slow");
  const Ir::Block behind = ir_.block("gangs.end");
  const auto go_to_next = [&](Value end_of, Ir::Block again, Ir::Block over) {
    const Value next = ir_.add(ir_.load(ir_.i64, at), ir_.wide(1));
    ir_.store(next, at);
    ir_.branch(ir_.compare(Compare::Ult, next, end_of), again, over);
  };
  ir_.jump(head);
  ir_.go_on(head);
  const Value now = ir_.load(ir_.i64, at);
  ir_.branch(ir_.compare(Compare::Ult, now, count), more, behind);
  ir_.go_on(more);
  const Value in_fast =
      ir_.both(ir_.compare(Compare::Uge, now, fast.from), ir_.compare(Compare::Ult, now, fast.to));
  ir_.branch(in_fast, entry, slow);
  ir_.go_on(entry);
  enter(now);
  ir_.jump(quick);
  ir_.go_on(quick);
  const Value gang = ir_.load(ir_.i64, at);
  if (returns_far_) {
    const Value number = ir_.add(ir_.mul(row_, ir_.wide(gangs_ / rows_)), gang);
    const Value kept = ir_.load(ir_.i64, ir_.at(ir_.i64, all_alive_, number));
    const Ir::Block whole = ir_.block("whole");
    ir_.branch(ir_.compare(Compare::Eq, kept, ir_.ones(ir_.i64)), whole, slow);
    ir_.go_on(whole);
  }
  write_fast(gang);
  go_to_next(fast.to, quick, head);
  ir_.go_on(slow);
  write_slow(ir_.load(ir_.i64, at));
  go_to_next(ir_.wide(0), head, head);
  ir_.go_on(behind);
}

// The ids of a gang of the row.
void Emitter::begin_gang(Value number) {
  gang_in_row_ = number;
  gang_ = ir_.add(ir_.mul(row_, ir_.wide(gangs_ / rows_)), number);
  first_[0] = ir_.mul(ir_.trunc(number, 32), ir_.word(width_));
  if (in_rows_) return;
  const auto& size = program_.workgroup_size;
  const auto all = [&](std::uint32_t of) { return ir_.splat_number(ir_.i32, of); };
  const Value numbers = ir_.add(ir_.splat(first_[0]), ir_.ramp(ir_.i32, 0, 1));
  first_[0] = ir_.urem(numbers, all(size[0]));
  first_[1] = ir_.urem(ir_.udiv(numbers, all(size[0])), all(size[1]));
  first_[2] = ir_.udiv(numbers, all(size[0] * size[1]));
}

// Of the gang, those that are there and have not returned; null where all are.
Value Emitter::present_lanes(Value present) {
  Value mask = nullptr;
  if (is_limited_ || row_invocations_ % width_ != 0) {
    const Value left = ir_.sub(present, ir_.mul(gang_in_row_, ir_.wide(width_)));
    const Value few = ir_.trunc(ir_.call("llvm.umin", {left, ir_.wide(width_)}), 32);
    mask = ir_.compare(Compare::Ult, ir_.ramp(ir_.i32, 0, 1), ir_.splat(few));
  }
  if (returns_far_) {
    const Value kept = ir_.load(ir_.i64, ir_.at(ir_.i64, all_alive_, gang_));
    mask = with(mask, from_bits(kept));
    const Ir::Block some = ir_.block("some");
    ir_.branch(any(mask), some, gang_end_);
    ir_.go_on(some);
  }
  return mask;
}

// Statements that run for the whole workgroup, and between them those that gangs run.
void Emitter::write_region(StmtId begin, StmtId end) {
  StmtId first = begin;
  const auto flush = [&](StmtId to) {
    if (first < to && !ir_.is_closed()) write_gangs(first, to);
  };
  for (StmtId id = begin; id < end; id = next(body_, id)) {
    if (!is_on_top(id)) continue;
    flush(id);
    first = next(body_, id);
    if (ir_.is_closed()) return;
    begin_statement(id);
    const StmtId inside{id.index + 1};
    const bool has_blocks = next(body_, id) > inside;
    if (has_blocks) rows_known_.clear();
    if (const If* branch = std::get_if<If>(&body_[id])) {
      const Ir::Block yes = ir_.block("then");
      const Ir::Block no = ir_.block("else");
      const Ir::Block behind = ir_.block("end");
      ir_.branch(ops_.truth(scalar(branch->condition)), yes, no);
      ir_.go_on(yes);
      write_region(inside, branch->else_begin);
      ir_.jump(behind);
      ir_.go_on(no);
      rows_known_.clear();
      write_region(branch->else_begin, branch->end);
      ir_.jump(behind);
      ir_.go_on(behind);
    } else if (const For* loop = std::get_if<For>(&body_[id])) {
      const Value from = ops_.whole(scalar(loop->from)).parts[0];
      const Value to = ops_.whole(scalar(loop->to)).parts[0];
      const Value counter = ir_.local(ir_.i32, body_[loop->variable].name.c_str());
      ir_.store(from, counter);
      const Value rounds = count_rounds(*loop);
      const Ir::Block head = ir_.block("loop");
      const Ir::Block round = ir_.block("round");
      const Ir::Block exit = ir_.block("loop.end");
      ir_.jump(head);
      ir_.go_on(head);
      const Value now = ir_.load(ir_.i32, counter);
      begin_round(rounds);
      ir_.branch(ir_.compare(Compare::Ult, now, to), round, exit);
      ir_.go_on(round);
      Place& place = places_[loop->variable.index];
      place.crosses = false;
      place.value = {DataType::U32, false, {now}};
      loops_.push_back({id, exit, nullptr, nullptr});
      write_region(inside, loop->end);
      loops_.pop_back();
      if (!ir_.is_closed()) {
        ir_.store(ir_.add(now, ir_.word(1)), counter);
        ir_.jump(head);
      }
      ir_.go_on(exit);
    } else if (const Block* block = std::get_if<Block>(&body_[id])) {
      write_region(inside, block->end);
    } else if (std::holds_alternative<Break>(body_[id])) {
      ir_.jump(loops_.back().exit);
      return;
    } else if (std::holds_alternative<Return>(body_[id])) {
      ir_.jump(group_end_);
      return;
    }
    if (has_blocks) rows_known_.clear();
  }
  flush(end);
}

void Emitter::write_group() {
  group_end_ = ir_.block("group.end");
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const BufferDecl& buffer = program_.buffers[i];
    if (buffer.access != BufferAccess::Workgroup) continue;
    lives(buffers_[i], "llvm.lifetime.start");
    std::array<Ir::Type, 2> named{ir_.pointer(), ir_.i64};
    ir_.call(
        "llvm.memset", named,
        {buffers_[i].address, ir_.number(ir_.i8, 0),
         ir_.wide(std::uint64_t{buffer.count} * stride(buffer.element)), ir_.zero(ir_.boolean)});
  }
  if (returns_far_) {
    if (all_alive_ == nullptr) {
      all_alive_ = ir_.local(ir_.api().ArrayType2(ir_.i64, gangs_), "alive");
    }
    ir_.loop("begin", ir_.wide(0), ir_.wide(gangs_),
             [&](Value gang) { ir_.store(ir_.ones(ir_.i64), ir_.at(ir_.i64, all_alive_, gang)); });
  }
  if (!can_unroll_) {
    write_region(StmtId{0u}, StmtId{body_.stmts.size()});
  } else {
    // All of the workgroup without checks and with code for each gang, or all of it otherwise.
    const Ir::Block yes = ir_.block("fast");
    const Ir::Block no = ir_.block("slow");
    ir_.branch(is_all_unchecked(), yes, no);
    for (const Ir::Block version : {yes, no}) {
      ir_.go_on(version);
      is_unrolled_ = version == yes;
      rows_known_.clear();
      for (Place& place : places_) {
        place.value = {};
        place.slots = {};
      }
      write_region(StmtId{0u}, StmtId{body_.stmts.size()});
      ir_.jump(group_end_);
    }
    is_unrolled_ = false;
  }
  ir_.jump(group_end_);
  ir_.go_on(group_end_);
  for (const Buffer& buffer : buffers_) lives(buffer, "llvm.lifetime.end");
}

// From here on a buffer is in use, or not any more.
void Emitter::lives(const Buffer& buffer, const char* intrinsic) {
  if (!buffer.is_local) return;
  std::array<Ir::Type, 1> named{ir_.pointer()};
  ir_.call(intrinsic, named, {ir_.ones(ir_.i64), buffer.address});
}

// Whether no invocation of the workgroup needs a check anywhere.
Value Emitter::is_all_unchecked() {
  is_whole_ = true;
  std::ranges::fill(earlies_, Early::Unknown);
  begin_row(ir_.wide(0));
  const Span lanes =
      unchecked(StmtId{0u}, StmtId{body_.stmts.size()}, {ir_.wide(0), ir_.wide(row_invocations_)});
  const Value all = ir_.both(ir_.equal_zero(lanes.from),
                             ir_.compare(Compare::Eq, lanes.to, ir_.wide(row_invocations_)));
  // What was told of the first row is not true of others.
  starts_.clear();
  sliding_.clear();
  slides_.clear();
  if (rows_ > 1) streamed_.clear();
  is_whole_ = false;
  std::ranges::fill(earlies_, Early::Unknown);
  return all;
}

void Emitter::write() {
  const auto attributes = [&](Value function) {
    ir_.attribute(function, "target-cpu", target_.name);
    ir_.attribute(function, "target-features", target_.features);
    ir_.attribute(function, "prefer-vector-width", std::to_string(target_.bits));
    ir_.attribute(function, "min-legal-vector-width", std::to_string(target_.bits));
    ir_.attribute(function, 0xffffffff, "nounwind");
  };
  const Ir::Type pointer = ir_.pointer();
  const std::size_t count = program_.buffers.size();

  // The function itself, with each buffer as a parameter: they do not overlap.
  std::vector<Ir::Type> parameters;
  for (std::size_t i = 0; i < count; ++i) {
    parameters.push_back(pointer);
    parameters.push_back(ir_.i64);
  }
  for (int i = 0; i < 7; ++i) parameters.push_back(ir_.i64);
  parameters.insert(parameters.end(), {pointer, ir_.i64, ir_.i64, pointer});
  const Value inner = ir_.function("workgroups", parameters, false);
  attributes(inner);
  ir_.attribute(inner, 0xffffffff, "noinline");
  const auto last = static_cast<unsigned>(parameters.size());
  for (unsigned i = 0; i < count; ++i) {
    ir_.attribute(inner, 2 * i + 1, "noalias");
    buffers_.push_back({ir_.parameter(2 * i), ir_.parameter(2 * i + 1)});
  }
  ir_.attribute(inner, last, "noalias");
  scratch_ = ir_.parameter(last - 1);
  const Ir::Block start = ir_.block("start");
  ir_.go_on(start);
  for (unsigned axis = 0; axis < 3; ++axis) {
    groups_[axis] = ir_.parameter(static_cast<unsigned>(2 * count) + axis);
  }
  limits_ = {ir_.parameter(static_cast<unsigned>(2 * count) + 3),
             ir_.parameter(static_cast<unsigned>(2 * count) + 4)};
  row_size_ = ir_.parameter(static_cast<unsigned>(2 * count) + 5);
  streams_ = ir_.not_zero(ir_.parameter(static_cast<unsigned>(2 * count) + 6));
  stop_ = ir_.parameter(static_cast<unsigned>(2 * count) + 7);
  zeros_ = ir_.api().AddGlobal(ir_.module(), ir_.vector(ir_.i64, 2), "zeros");
  ir_.api().SetInitializer(zeros_, ir_.zero(ir_.vector(ir_.i64, 2)));
  ir_.api().SetGlobalConstant(zeros_, 1);
  ir_.api().SetLinkage(zeros_, llvm::kPrivate);
  sink_ = ir_.local(ir_.vector(ir_.i64, 2), "sink");
  for (std::size_t i = 0; i < count; ++i) {
    const BufferDecl& buffer = program_.buffers[i];
    if (buffer.access != BufferAccess::Workgroup) continue;
    const std::uint64_t bytes = std::uint64_t{buffer.count} * stride(buffer.element);
    buffers_[i].length = ir_.wide(buffer.count);
    if (can_unroll_ && stack_bytes_ + bytes <= kMaxStackBytes / 2) {
      // LLVM sees that nobody else looks at it.
      stack_bytes_ += bytes;
      const Ir::Type line = ir_.vector(ir_.i32, kLine / 4);
      const std::uint64_t lines = (bytes + kLine - 1) / kLine;
      buffers_[i].address = ir_.local(ir_.api().ArrayType2(line, lines), buffer.name.c_str());
      buffers_[i].is_local = true;
    } else {
      scratch_bytes_ = (scratch_bytes_ + 63) / 64 * 64;
      buffers_[i].address = ir_.at(ir_.i8, scratch_, ir_.wide(scratch_bytes_));
      scratch_bytes_ += bytes;
    }
  }
  const std::map<BufferId, Atomic> copied = find_copied();
  const auto for_each_copied = [&](auto visit) {
    for (const auto& [id, atomic] : copied) {
      const Buffer& buffer = buffers_[id.index];
      const Ir::Block yes = ir_.block("copied");
      const Ir::Block no = ir_.block("not.copied");
      ir_.branch(buffer.has_copy, yes, no);
      ir_.go_on(yes);
      ir_.loop("copy", ir_.wide(0), buffer.length, [&](Value i) { visit(buffer, atomic, i); });
      ir_.jump(no);
      ir_.go_on(no);
    }
  };
  for (const auto& [id, atomic] : copied) {
    scratch_bytes_ = (scratch_bytes_ + 63) / 64 * 64;
    Buffer& buffer = buffers_[id.index];
    buffer.copy = ir_.at(ir_.i8, scratch_, ir_.wide(scratch_bytes_));
    buffer.has_copy = ir_.compare(Compare::Ule, buffer.length, ir_.wide(kMaxCopied));
    scratch_bytes_ += kMaxCopied * 4;
  }
  for_each_copied([&](const Buffer& buffer, const Atomic& atomic, Value i) {
    ir_.store(ir_.word(neutral(atomic)), ir_.at(ir_.i32, buffer.copy, i), 4);
  });
  const Value begin = ir_.parameter(last - 3);
  const Value end = ir_.parameter(last - 2);
  // x runs fastest.
  std::array<Value, 3> at{};
  const Value rows = ir_.udiv(begin, groups_[0]);
  const std::array<Value, 3> first = {ir_.urem(begin, groups_[0]), ir_.urem(rows, groups_[1]),
                                      ir_.udiv(rows, groups_[1])};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    at[axis] = ir_.local(ir_.i64, "group");
    ir_.store(first[axis], at[axis]);
  }
  ir_.loop("groups", begin, end, [&](Value) {
    std::array<Value, 3> now{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      now[axis] = ir_.load(ir_.i64, at[axis]);
      group_[axis] = ir_.trunc(now[axis], 32);
    }
    write_group();
    Value carry = ir_.ones(ir_.boolean);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Value next = ir_.add(now[axis], ir_.zext(carry, 64));
      const Value over = ir_.compare(Compare::Eq, next, groups_[axis]);
      ir_.store(axis == 2 ? next : ir_.select(over, ir_.wide(0), next), at[axis]);
      carry = ir_.both(carry, over);
    }
  });
  for_each_copied([&](const Buffer& buffer, const Atomic& atomic, Value i) {
    const Value own = ir_.load(ir_.i32, ir_.at(ir_.i32, buffer.copy, i), 4);
    const Ir::Block changed = ir_.block("changed");
    const Ir::Block next = ir_.block("next");
    ir_.branch(ir_.compare(Compare::Ne, own, ir_.word(neutral(atomic))), changed, next);
    ir_.go_on(changed);
    update(atomic, false, ir_.at(ir_.i32, buffer.address, i), nullptr, own);
    ir_.jump(next);
    ir_.go_on(next);
  });
  if (target_.triple.starts_with("x86_64"))
    ir_.call("llvm.x86.sse.sfence", std::span<Ir::Type>(), {});
  ir_.leave();
  ir_.begin_at(start);

  // What the runtime calls.
  std::array<Ir::Type, 4> outside{pointer, ir_.i64, ir_.i64, pointer};
  const Value kernel = ir_.function("vyre_kernel", outside, true);
  attributes(kernel);
  const Value arguments = ir_.parameter(0);
  std::vector<Value> passed;
  const auto argument = [&](std::size_t i) { return ir_.at(ir_.i64, arguments, ir_.wide(i)); };
  for (std::size_t i = 0; i < count; ++i) {
    passed.push_back(ir_.load(pointer, argument(2 * i)));
    passed.push_back(ir_.load(ir_.i64, argument(2 * i + 1)));
  }
  for (std::size_t i = 0; i < 7; ++i) {
    passed.push_back(ir_.load(ir_.i64, argument(2 * count + i)));
  }
  passed.push_back(ir_.load(pointer, argument(2 * count + 7)));
  for (unsigned i = 1; i < 4; ++i) passed.push_back(ir_.parameter(i));
  ir_.api().BuildCall2(ir_.builder(),
                       ir_.api().FunctionType(ir_.nothing, parameters.data(), last, 0), inner,
                       passed.data(), last, "");
  ir_.leave();
}

// What the vector code needs of LLVM's optimiser: values instead of memory, nothing twice, nothing
// in loops that does not change there.
constexpr const char* kPasses =
    "sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,loop-simplify,lcssa,"
    "loop-mssa(licm),sroa,early-cse<memssa>,gvn,instcombine<no-verify-fixpoint>,dse,adce,simplifycfg";

// Owns what LLVM compiles with.
class Machine {
 public:
  Machine(const llvm::Api& api, const CpuTarget& target, bool is_large) : api_(api) {
    passes_ = std::string(target.is_scalar ? "sroa,scalarizer," : "") + kPasses;
    if (is_large) passes_ = "sroa";

    llvm::Target found = nullptr;
    char* message = nullptr;
    if (api.GetTargetFromTriple(target.triple.c_str(), &found, &message) != 0) {
      problem = message;
      api.DisposeMessage(message);
      return;
    }
    machine_ = api.CreateTargetMachine(found, target.triple.c_str(), target.name.c_str(),
                                       target.features.c_str(), is_large ? 0 : 1, llvm::kPic, 0);
  }
  ~Machine() {
    if (machine_ != nullptr) api_.DisposeTargetMachine(machine_);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void prepare(Ir& ir, const CpuTarget& target) {
    api_.SetTarget(ir.module(), target.triple.c_str());
    const llvm::TargetData layout = api_.CreateTargetDataLayout(machine_);
    api_.SetModuleDataLayout(ir.module(), layout);
    api_.DisposeTargetData(layout);
  }
  bool optimise(Ir& ir) {
    const llvm::PassOptions options = api_.CreatePassBuilderOptions();
    const std::string passes = "function(" + passes_ + ")";
    const llvm::Error error = api_.RunPasses(ir.module(), passes.c_str(), machine_, options);
    api_.DisposePassBuilderOptions(options);
    if (error == nullptr) return true;
    char* message = api_.GetErrorMessage(error);
    problem = message;
    api_.DisposeErrorMessage(message);
    return false;
  }
  std::string compile(Ir& ir, int file) {
    char* message = nullptr;
    llvm::MemoryBuffer buffer = nullptr;
    if (api_.TargetMachineEmitToMemoryBuffer(machine_, ir.module(), file, &message, &buffer) != 0) {
      problem = message;
      api_.DisposeMessage(message);
      return {};
    }
    std::string bytes(api_.GetBufferStart(buffer), api_.GetBufferSize(buffer));
    api_.DisposeMemoryBuffer(buffer);
    return bytes;
  }

  std::string problem;

 private:
  const llvm::Api& api_;
  std::string passes_;
  llvm::TargetMachine machine_ = nullptr;
};

Result<std::string> produce(const llvm::Api& api, const Program& program, const Bounds& bounds,
                            const CpuTarget& target, bool is_limited, std::optional<CpuText> what,
                            std::uint64_t& scratch_bytes) {
  if (program.body.exprs.size() > kMaxExpressions) {
    return diagnose<message::no_machine_code>(program.name, "it is too large");
  }
  BlockStack<OpenBlock> stack(program.body);
  for (std::uint32_t i = 0; i < program.body.stmts.size(); ++i) {
    stack.enter(i);
    if (stack.frames().size() > kMaxNesting) {
      return diagnose<message::no_machine_code>(program.name, "it nests too deeply");
    }
    stack.open(i);
  }
  Machine machine(api, target, program.body.exprs.size() > kLarge);
  const auto failed = [&] {
    return diagnose<message::no_machine_code>(program.name, machine.problem);
  };
  if (!machine.problem.empty()) return failed();
  Emitter emitter(api, program, bounds, target, is_limited);
  Ir& ir = emitter.ir();
  machine.prepare(ir, target);
  emitter.write();
  scratch_bytes = emitter.scratch_bytes();
  char* message = nullptr;
  if (api.VerifyModule(ir.module(), 2, &message) != 0) machine.problem = message;
  api.DisposeMessage(message);
  if (!machine.problem.empty()) return failed();
  const auto text = [&] {
    char* printed = api.PrintModuleToString(ir.module());
    std::string copy = printed;
    api.DisposeMessage(printed);
    return copy;
  };
  if (!machine.optimise(ir)) return failed();
  if (what == CpuText::Llvm) return text();
  std::string code = machine.compile(ir, what ? llvm::kAssembly : llvm::kObject);
  if (code.empty()) return failed();
  return code;
}

}  // namespace

Result<CpuCode> emit_cpu(const llvm::Api& api, const Program& program, const Bounds& bounds,
                         const CpuTarget& target, bool is_limited) {
  CpuCode code;
  Result<std::string> object =
      produce(api, program, bounds, target, is_limited, {}, code.scratch_bytes);
  if (!object) return object.diagnostics();
  code.object = std::move(*object);
  return code;
}

Result<std::string> print_cpu(const llvm::Api& api, const Program& program, const Bounds& bounds,
                              const CpuTarget& target, bool is_limited, CpuText what) {
  std::uint64_t scratch_bytes = 0;
  return produce(api, program, bounds, target, is_limited, what, scratch_bytes);
}

}  // namespace vyre
