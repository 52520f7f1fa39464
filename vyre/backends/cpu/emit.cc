#include "vyre/backends/cpu/emit.h"

#include <algorithm>
#include <bit>
#include <set>

#include "vyre/backends/cpu/ops.h"
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
constexpr std::size_t kMaxConditions = 24;

bool is_comparison(Operation op) {
  return op == Operation::Eq || op == Operation::Ne || op == Operation::Lt || op == Operation::Gt ||
         op == Operation::Le || op == Operation::Ge;
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
        ir_(api, target.width, program.name.c_str()),
        ops_(ir_),
        width_(target.width),
        is_limited_(is_limited) {
    const auto& size = program.workgroup_size;
    invocations_ = std::uint64_t{size[0]} * size[1] * size[2];
    in_rows_ = size[0] % width_ == 0 || (size[1] == 1 && size[2] == 1);
    gangs_ = (invocations_ + width_ - 1) / width_;
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
  Value conditions_of(StmtId begin, StmtId end);

  void statements(StmtId begin, StmtId end, Ir::Block behind);
  void drop_those_that_left(StmtId id);
  void statement(StmtId id);
  void assign(StmtId id, LocalId local, ExprId value);
  void branch(StmtId id, const If& branch);
  void repeat(StmtId id, const For& loop);
  Value count_rounds(const For& loop);
  void begin_round(Value rounds);
  void leave_loop();
  void leave_gang();
  void store(const Store& store);
  void atomic(const Atomic& atomic);
  Lanes atomic_step(const Atomic& atomic, Value pointer, Value expected, Value value);

  // --- Values

  // Of the first lane, which says all of a regular one; and of all lanes, a scalar where they are
  // the same.
  Lanes scalar(ExprId id);
  Lanes value(ExprId id);
  Lanes computed(ExprId id, bool in_first);
  Lanes read_local(LocalId local);
  void give(Place& place, const Lanes& value);
  Lanes id_of(const Expr& expr);
  Lanes load(ExprId id, const Expr& expr);
  bool is_computable(ExprId id, unsigned depth = 0);
  void begin_statement(StmtId id) {
    at_ = id;
    ++time_;
  }

  // --- Memory

  struct Buffer {
    Value address = nullptr;
    Value length = nullptr;  // i64
  };
  bool is_inside(ExprId access) const {
    return bounds_.is_proved(at_, access) || (fast_ && assumed_.contains({at_, access}));
  }
  Value full_mask() { return mask_ != nullptr ? mask_ : ir_.ones(ir_.vector(ir_.boolean)); }
  Value with(Value mask, Value more) { return mask == nullptr ? more : ir_.both(mask, more); }
  Value any(Value mask) { return ir_.not_zero(ir_.bits(mask, ir_.integer(width_))); }
  Value address_of(const Buffer& buffer, DataType element, Value index, bool may_wrap);
  Value spread(Value mask, std::size_t parts);
  Lanes from_memory(DataType element, Lanes loaded);
  Lanes load_row(DataType element, Value pointer, Value mask);
  void store_row(DataType element, Value pointer, Value mask, const Lanes& value);
  Value pointers(const Buffer& buffer, DataType element, Value index, std::size_t part);
  Ir::Type part_type(DataType type) { return part_bits(type) == 64 ? ir_.i64 : ir_.i32; }

  const Program& program_;
  const Body& body_;
  const Bounds& bounds_;
  const CpuTarget& target_;
  const Shapes shapes_;
  const Types types_;
  Ir ir_;
  Ops ops_;
  const unsigned width_;
  const bool is_limited_;          // along x there may be fewer invocations than places
  std::uint64_t invocations_ = 1;  // of a workgroup
  std::uint64_t gangs_ = 1;
  bool in_rows_ = true;  // a gang has invocations of one row only
  bool has_barriers_ = false;
  bool returns_far_ = false;  // some return in one segment, and there are others behind it
  std::vector<StmtId> owners_;
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
  Value limit_ = nullptr;  // invocations along x, i64
  Value stop_ = nullptr;   // the address of a byte that is set to end the run
  Value scratch_ = nullptr;
  Value zeros_ = nullptr;  // 16 bytes
  Value sink_ = nullptr;   // 16 bytes that nobody reads
  Ir::Block group_end_ = nullptr;

  // Of the gang.
  Value gang_ = nullptr;          // its number, i64
  std::array<Value, 3> first_{};  // local ids of its first lane; vectors when not in rows
  Ir::Block gang_end_ = nullptr;
  Ir::Block block_end_ = nullptr;  // of the statements that are being written
  bool fast_ = false;
  Value mask_ = nullptr;  // null: all lanes
  Value first_mask_ = nullptr;
  Value alive_ = nullptr;      // the memory of the mask of those that have not returned
  Value all_alive_ = nullptr;  // the same for each gang, as bits, where it is kept between segments
  std::vector<Loop> loops_;
  std::set<std::pair<StmtId, ExprId>> assumed_;  // accesses that are in bounds in fast code
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
  on_top_.resize(count);
  segments_.resize(count);
  outcomes_.resize(body_.exprs.size());
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
    for (ExprId root : roots(stmt)) {
      // Each local once per statement.
      std::vector<ExprId> work{root};
      std::set<ExprId> seen;
      while (!work.empty()) {
        const ExprId id = work.back();
        work.pop_back();
        if (!seen.insert(id).second) continue;
        const Expr& expr = body_[id];
        for (ExprId arg : operands(body_, expr)) work.push_back(arg);
        if (expr.op != Operation::Local) continue;
        Place& place = places_[expr.imm];
        if (place.reads.empty() || place.reads.back() != i) place.reads.push_back(i);
        if (segments_[place.declared.index] != segments_[i]) place.crosses = true;
      }
    }
  }
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
  for (std::uint32_t i = id.index + 1; i < next(body_, id).index; ++i) {
    const bool is_break = std::holds_alternative<Break>(body_.stmts[i]);
    if (!is_break && !std::holds_alternative<Return>(body_.stmts[i])) continue;
    bool apart = false;
    bool leaves = true;
    for (StmtId at = owner(StmtId{i});; at = owner(at)) {
      const bool is_loop = std::holds_alternative<For>(body_[at]);
      // A `break` ends with its loop. In a loop that some have left, what follows is for a part.
      if (is_break && is_loop) leaves = at == id && own;
      apart = apart || splits(at) || (is_loop && at != id && parts(at, true));
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
    if (masks && is_read(next(body_, scope).index, all)) return true;
  }
  return false;
}

// --- Values
// ---------------------------------------------------------------------------------------

Lanes Emitter::scalar(ExprId id) {
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
  if (fast_ && outcomes_[id.index] >= 0) {
    return ops_.bit(ir_.number(ir_.boolean, static_cast<std::uint64_t>(outcomes_[id.index])));
  }
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
      if (at_entry_) return scalar(places_[expr.imm].bound);
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
  Value base = ir_.mul(group_[axis], ir_.word(program_.workgroup_size[axis]));
  if (ir_.is_vector(local)) base = ir_.splat(base);
  return word(ir_.add(base, local));
}

Lanes Emitter::read_local(LocalId local) {
  const Place& place = places_[local.index];
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

// Whether the value can be computed for the first lane where the gang begins.
bool Emitter::is_computable(ExprId id, unsigned depth) {
  if (!is_regular(id) || depth > 24) return false;
  const Expr& expr = body_[id];
  if (expr.op == Operation::Local) {
    const ExprId bound = places_[expr.imm].bound;
    return bound.exists() && is_computable(bound, depth + 1);
  }
  if (expr.op == Operation::Load && is_written(program_.buffers[expr.imm].access)) return false;
  return std::ranges::all_of(operands(body_, expr),
                             [&](ExprId arg) { return is_computable(arg, depth + 1); });
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

// A mask for elements of several parts, which stand side by side.
Value Emitter::spread(Value mask, std::size_t parts) {
  if (mask == nullptr || parts == 1) return mask;
  std::vector<unsigned> lanes;
  for (unsigned i = 0; i < width_ * parts; ++i) lanes.push_back(i / static_cast<unsigned>(parts));
  return ir_.shuffle(mask, mask, lanes);
}

Lanes Emitter::load_row(DataType element, Value pointer, Value mask) {
  const DataType type = loaded_type(element);
  const std::size_t parts = part_count(type);
  const Ir::Type whole = ir_.vector(part_type(type), width_ * static_cast<unsigned>(parts));
  const unsigned align = part_bits(type) / 8;
  Value row;
  if (mask == nullptr) {
    row = ir_.load(whole, pointer, align);
  } else {
    std::array<Ir::Type, 2> named{whole, ir_.pointer()};
    row = ir_.call("llvm.masked.load", named,
                   {pointer, ir_.word(align), spread(mask, parts), ir_.zero(whole)});
  }
  row = ir_.freeze(row);
  Lanes lanes{type, false, {}};
  for (unsigned part = 0; part < parts; ++part) {
    if (parts == 1) {
      lanes.parts[0] = row;
      break;
    }
    std::vector<unsigned> from;
    for (unsigned i = 0; i < width_; ++i) from.push_back(i * static_cast<unsigned>(parts) + part);
    lanes.parts[part] = ir_.shuffle(row, row, from);
  }
  return from_memory(element, lanes);
}

void Emitter::store_row(DataType element, Value pointer, Value mask, const Lanes& value) {
  const DataType type = loaded_type(element);
  const std::size_t parts = part_count(type);
  const unsigned align = part_bits(type) / 8;
  Value row = value.parts[0];
  if (parts > 1) {
    const auto interleave = [&](Value a, Value b, unsigned count) {
      std::vector<unsigned> from;
      for (unsigned i = 0; i < count; ++i) {
        from.push_back(i);
        from.push_back(count + i);
      }
      return ir_.shuffle(a, b, from);
    };
    if (parts == 2) {
      row = interleave(value.parts[0], value.parts[1], width_);
    } else {
      row = interleave(interleave(value.parts[0], value.parts[2], width_),
                       interleave(value.parts[1], value.parts[3], width_), 2 * width_);
    }
  }
  if (mask == nullptr) return ir_.store(row, pointer, align);
  std::array<Ir::Type, 2> named{ir_.type(row), ir_.pointer()};
  ir_.call("llvm.masked.store", named, {row, pointer, ir_.word(align), spread(mask, parts)});
}

// The addresses of a part of any elements. From the middle of all that an index can reach, it is a
// signed number, which the CPU's own gathers take.
Value Emitter::pointers(const Buffer& buffer, DataType element, Value index, std::size_t part) {
  const DataType type = loaded_type(element);
  const std::size_t parts = part_count(type);
  const Value middle =
      ir_.at(ir_.i8, buffer.address,
             ir_.wide((std::uint64_t{1} << 31) * stride(element) + part * part_bits(type) / 8));
  Value offset = ir_.sext(ir_.exclusive(index, ir_.splat_number(ir_.i32, 0x80000000)), 64);
  if (parts > 1) offset = ir_.mul(offset, ir_.splat_number(ir_.i64, parts));
  return ir_.at(part_type(type), middle, offset);
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
      const Value in = ir_.compare(Compare::Ult, ir_.zext(at, 64), buffer.length);
      pointer = ir_.select(in, pointer, zeros_);
    }
    Lanes lanes{type, false, {}};
    for (std::size_t i = 0; i < part_count(type); ++i) {
      lanes.parts[i] = ir_.freeze(ir_.load(
          part_type(type), ir_.at(part_type(type), pointer, ir_.wide(i)), part_bits(type) / 8));
    }
    return from_memory(element, lanes);
  }
  Value mask = mask_;
  const Value all = ops_.splat(ops_.whole(value(index))).parts[0];
  if (!inside) {
    const Value in = ir_.compare(Compare::Ult, ir_.zext(all, 64), ir_.splat(buffer.length));
    mask = with(mask, in);
  }
  if (kind(index) == Kind::Linear && shapes_[index].stride == 1) {
    const Value first = ops_.whole(scalar(index)).parts[0];
    return load_row(element, address_of(buffer, element, first, mask != nullptr), mask);
  }
  if (mask == nullptr) mask = ir_.ones(ir_.vector(ir_.boolean));
  Lanes lanes{type, false, {}};
  for (std::size_t i = 0; i < part_count(type); ++i) {
    const Ir::Type part = ir_.vector(part_type(type));
    std::array<Ir::Type, 2> named{part, ir_.vector(ir_.pointer())};
    lanes.parts[i] = ir_.freeze(ir_.call(
        "llvm.masked.gather", named,
        {pointers(buffer, element, all, i), ir_.word(part_bits(type) / 8), mask, ir_.zero(part)}));
  }
  return from_memory(element, lanes);
}

void Emitter::store(const Store& store) {
  const Buffer& buffer = buffers_[store.buffer.index];
  const DataType element = program_.buffers[store.buffer.index].element;
  const DataType type = loaded_type(element);
  const bool inside = is_inside({});
  Lanes given = ops_.whole(value(store.value));
  if (is_scalar(store.index)) {
    const Value at = ops_.whole(scalar(store.index)).parts[0];
    Value pointer = address_of(buffer, element, at, false);
    if (!inside) {
      const Value in = ir_.compare(Compare::Ult, ir_.zext(at, 64), buffer.length);
      pointer = ir_.select(in, pointer, sink_);
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
  Value mask = mask_;
  const Value all = ops_.splat(ops_.whole(value(store.index))).parts[0];
  if (!inside) {
    const Value in = ir_.compare(Compare::Ult, ir_.zext(all, 64), ir_.splat(buffer.length));
    mask = with(mask, in);
  }
  if (kind(store.index) == Kind::Linear && shapes_[store.index].stride == 1) {
    const Value first = ops_.whole(scalar(store.index)).parts[0];
    store_row(element, address_of(buffer, element, first, mask != nullptr), mask, given);
    return;
  }
  if (mask == nullptr) mask = ir_.ones(ir_.vector(ir_.boolean));
  for (std::size_t i = 0; i < part_count(type); ++i) {
    std::array<Ir::Type, 2> named{ir_.type(given.parts[i]), ir_.vector(ir_.pointer())};
    ir_.call(
        "llvm.masked.scatter", named,
        {given.parts[i], pointers(buffer, element, all, i), ir_.word(part_bits(type) / 8), mask});
  }
}

// One update of one element; gives what it held.
Lanes Emitter::atomic_step(const Atomic& atomic, Value pointer, Value expected, Value value) {
  const DataType type = program_.buffers[atomic.buffer.index].element;
  const bool is_signed = type == DataType::I32;
  const llvm::Api& api = ir_.api();
  const auto result = [&](Value old) { return Lanes{type, false, {old}}; };
  if (program_.buffers[atomic.buffer.index].access == BufferAccess::Workgroup) {
    // Memory of this thread alone.
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
    return result(old);
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
      return result(api.BuildExtractValue(ir_.builder(), both, 0, ""));
    }
  }
  return result(api.BuildAtomicRMW(ir_.builder(), static_cast<int>(op), pointer, value,
                                   llvm::kSequential, 0));
}

// One lane after the other, those that are on and in bounds.
void Emitter::atomic(const Atomic& atomic) {
  const Buffer& buffer = buffers_[atomic.buffer.index];
  const DataType element = program_.buffers[atomic.buffer.index].element;
  const Value index = ops_.splat(ops_.whole(value(atomic.index))).parts[0];
  const Value given = ops_.splat(ops_.whole(value(atomic.value))).parts[0];
  const Value expected =
      atomic.expected.exists() ? ops_.splat(ops_.whole(value(atomic.expected))).parts[0] : given;
  Value mask = full_mask();
  if (!is_inside({})) {
    mask = ir_.both(mask, ir_.compare(Compare::Ult, ir_.zext(index, 64), ir_.splat(buffer.length)));
  }
  const Ir::Type whole = ir_.vector(ir_.i32);
  const Value results = atomic.result.exists() ? ir_.local(whole, "old") : nullptr;
  if (results != nullptr) ir_.store(ir_.zero(whole), results);
  const Value bits = ir_.zext(ir_.bits(mask, ir_.integer(width_)), 64);
  const Ir::Block before = ir_.here();
  const Ir::Block head = ir_.block("lanes");
  const Ir::Block inside = ir_.block("lane");
  const Ir::Block behind = ir_.block("lanes.end");
  ir_.jump(head);
  ir_.go_on(head);
  const Value left = ir_.phi(ir_.i64, {{bits, before}});
  ir_.branch(ir_.not_zero(left), inside, behind);
  ir_.go_on(inside);
  const Value lane = ir_.call("llvm.cttz", {left, ir_.ones(ir_.boolean)});
  const Value pointer = address_of(buffer, element, ir_.lane(index, lane), false);
  const Lanes old = atomic_step(atomic, pointer, ir_.lane(expected, lane), ir_.lane(given, lane));
  if (results != nullptr) {
    ir_.store(ir_.with_lane(ir_.load(whole, results), lane, old.parts[0]), results);
  }
  Value rest = ir_.both(left, ir_.sub(left, ir_.wide(1)));
  Ir::Block end = ir_.here();
  ir_.jump(head);
  ir_.api().AddIncoming(left, &rest, &end, 1);
  ir_.go_on(behind);
  if (results != nullptr) {
    give(places_[atomic.result.index], {types_[atomic.result], false, {ir_.load(whole, results)}});
  }
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
  if (fast_ && outcomes_[branch.condition.index] >= 0) {
    const Ir::Block behind = ir_.block("end");
    const bool holds = outcomes_[branch.condition.index] != 0;
    holds ? statements(inside, branch.else_begin, behind)
          : statements(branch.else_begin, branch.end, behind);
    ir_.go_on(behind);
    mask_ = before;
    ++time_;
    drop_those_that_left(id);
    return;
  }
  const bool has_else = branch.else_begin < branch.end;
  const Ir::Block yes = ir_.block("then");
  const Ir::Block no = has_else ? ir_.block("else") : nullptr;
  const Ir::Block behind = ir_.block("end");
  const Value test = ops_.truth(condition);
  if (!ir_.is_vector(test)) {
    ir_.branch(test, yes, has_else ? no : behind);
    ir_.go_on(yes);
    statements(inside, branch.else_begin, behind);
    if (has_else) {
      mask_ = before;
      ir_.go_on(no);
      statements(branch.else_begin, branch.end, behind);
    }
  } else {
    const Value on = with(before, test);
    const Ir::Block middle = has_else ? ir_.block("otherwise") : behind;
    ir_.branch(any(on), yes, middle);
    ir_.go_on(yes);
    mask_ = on;
    statements(inside, branch.else_begin, middle);
    if (has_else) {
      ir_.go_on(middle);
      mask_ = with(before, ir_.invert(test));
      ir_.branch(any(mask_), no, behind);
      ir_.go_on(no);
      statements(branch.else_begin, branch.end, behind);
    }
  }
  ir_.go_on(behind);
  mask_ = before;
  ++time_;
  drop_those_that_left(id);
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
    } else {
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
  statements(StmtId{id.index + 1}, loop.end, latch);
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
    const Value left = ir_.zext(ir_.bits(full_mask(), ir_.integer(width_)), 64);
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

// What has to hold for a gang in which nothing is checked: its accesses to rows are in bounds, and
// tests of rows come out the same in all lanes. Notes what may be assumed then.
Value Emitter::conditions_of(StmtId begin, StmtId end) {
  Value all = nullptr;
  std::size_t count = 0;
  assumed_.clear();
  std::ranges::fill(outcomes_, std::int8_t{-1});
  at_entry_ = true;
  ++time_;
  const auto need = [&](Value condition) {
    all = all == nullptr ? condition : ir_.both(all, condition);
    ++count;
  };
  // The least and the largest of a row, and whether it does not wrap around.
  struct Row {
    Value least;
    Value most;
    Value whole;
  };
  const auto row_of = [&](ExprId id) -> Row {
    const Value first = ir_.zext(ops_.whole(scalar(id)).parts[0], 64);
    if (kind(id) != Kind::Linear) return {first, first, nullptr};
    const std::int64_t reach = std::int64_t{shapes_[id].stride} * (width_ - 1);
    const Value last = ir_.add(first, ir_.wide(static_cast<std::uint64_t>(reach)));
    const Value in = ir_.compare(Compare::Ult, last, ir_.wide(std::uint64_t{1} << 32));
    return reach > 0 ? Row{first, last, in} : Row{last, first, in};
  };
  std::set<std::pair<ExprId, BufferId>> known;
  for (const CheckedAccess& access : bounds_.accesses) {
    if (access.stmt < begin || access.stmt >= end || count >= kMaxConditions) continue;
    if (access.verdict == CheckedAccess::Verdict::Proved) continue;
    if (!is_computable(access.index)) continue;
    assumed_.insert({access.stmt, access.load});
    if (!known.insert({access.index, access.buffer}).second) continue;
    const Row row = row_of(access.index);
    if (row.whole != nullptr) need(row.whole);
    need(ir_.compare(Compare::Ult, row.most, buffers_[access.buffer.index].length));
  }
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
    const ExprId a = expr.args[0];
    const ExprId b = expr.args[1];
    if (types_[a] != DataType::U32 || is_scalar(id) || !is_computable(a) || !is_computable(b)) {
      continue;
    }
    if ((kind(a) == Kind::Linear) == (kind(b) == Kind::Linear)) continue;
    // What it is inside of everything: below ends, above constants, and not at a certain place.
    const bool swapped = kind(b) == Kind::Linear;
    const bool constant = body_[swapped ? a : b].op == Operation::Literal;
    const bool less = expr.op == Operation::Lt || expr.op == Operation::Le;
    const bool below = less != swapped;  // whether it asks for a row below something
    const bool equality = expr.op == Operation::Eq || expr.op == Operation::Ne;
    const bool outcome = equality ? expr.op == Operation::Ne : below || constant;
    const Row x = row_of(a);
    const Row y = row_of(b);
    if (x.whole != nullptr) need(x.whole);
    if (y.whole != nullptr) need(y.whole);
    switch (expr.op) {
      case Operation::Lt:
        need(outcome ? ir_.compare(Compare::Ult, x.most, y.least)
                     : ir_.compare(Compare::Uge, x.least, y.most));
        break;
      case Operation::Le:
        need(outcome ? ir_.compare(Compare::Ule, x.most, y.least)
                     : ir_.compare(Compare::Ugt, x.least, y.most));
        break;
      case Operation::Gt:
        need(outcome ? ir_.compare(Compare::Ugt, x.least, y.most)
                     : ir_.compare(Compare::Ule, x.most, y.least));
        break;
      case Operation::Ge:
        need(outcome ? ir_.compare(Compare::Uge, x.least, y.most)
                     : ir_.compare(Compare::Ult, x.most, y.least));
        break;
      default:
        need(ir_.either(ir_.compare(Compare::Ult, x.most, y.least),
                        ir_.compare(Compare::Ugt, x.least, y.most)));
        break;
    }
    outcomes_[id.index] = outcome ? 1 : 0;
  }
  at_entry_ = false;
  ++time_;
  return all;
}

void Emitter::write_gang(StmtId begin, StmtId end, bool fast, Value mask) {
  fast_ = fast;
  mask_ = first_mask_ = mask;
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

void Emitter::write_gangs(StmtId begin, StmtId end) {
  bool does_something = false;
  for (StmtId id = begin; id < end; ++id.index) {
    does_something = does_something || !std::holds_alternative<Block>(body_[id]);
  }
  if (!does_something) return;
  const auto& size = program_.workgroup_size;
  const Value origin = ir_.zext(ir_.mul(group_[0], ir_.word(size[0])), 64);
  const Value present = ir_.sub(limit_, origin);
  Value count = ir_.wide(gangs_);
  if (is_limited_) {
    const Value needed = ir_.udiv(ir_.add(present, ir_.wide(width_ - 1)), ir_.wide(width_));
    count = ir_.call("llvm.umin", {needed, count});
  }
  ir_.loop("gangs", ir_.wide(0), count, [&](Value gang) {
    gang_ = gang;
    const Value number = ir_.mul(ir_.trunc(gang, 32), ir_.word(width_));
    const Value inside = ir_.number(ir_.i32, invocations_);
    if (in_rows_) {
      const bool one = size[1] == 1 && size[2] == 1;
      first_[0] = one ? number : ir_.urem(number, ir_.word(size[0]));
      first_[1] = ir_.urem(ir_.udiv(number, ir_.word(size[0])), ir_.word(size[1]));
      first_[2] = ir_.udiv(number, ir_.word(size[0] * size[1]));
    } else {
      const auto all = [&](std::uint32_t of) { return ir_.splat_number(ir_.i32, of); };
      const Value numbers = ir_.add(ir_.splat(number), ir_.ramp(ir_.i32, 0, 1));
      first_[0] = ir_.urem(numbers, all(size[0]));
      first_[1] = ir_.urem(ir_.udiv(numbers, all(size[0])), all(size[1]));
      first_[2] = ir_.udiv(numbers, all(size[0] * size[1]));
    }
    gang_end_ = ir_.block("gang.end");
    Value full = nullptr;
    if (invocations_ % width_ != 0) {
      full = ir_.compare(Compare::Ule, ir_.add(number, ir_.word(width_)), inside);
    }
    if (is_limited_) {
      const Value enough =
          ir_.compare(Compare::Ule, ir_.add(ir_.zext(number, 64), ir_.wide(width_)), present);
      full = full == nullptr ? enough : ir_.both(full, enough);
    }
    Value alive = nullptr;
    if (returns_far_) {
      const Value kept = ir_.load(ir_.i64, ir_.at(ir_.i64, all_alive_, gang_));
      alive = ir_.bits(ir_.trunc(kept, width_), ir_.vector(ir_.boolean));
      const Value all = ir_.compare(Compare::Eq, kept, ir_.ones(ir_.i64));
      full = full == nullptr ? all : ir_.both(full, all);
    }
    const bool twice = end.index - begin.index <= kMaxTwice;
    Value quick = twice ? conditions_of(begin, end) : nullptr;
    if (full != nullptr) quick = quick == nullptr ? full : ir_.both(full, quick);
    if (quick == nullptr) {
      write_gang(begin, end, twice, nullptr);
    } else {
      if (twice) {
        const Ir::Block fast = ir_.block("fast");
        const Ir::Block slow = ir_.block("slow");
        ir_.branch(quick, fast, slow);
        ir_.go_on(fast);
        write_gang(begin, end, true, nullptr);
        ir_.go_on(slow);
      }
      Value mask = nullptr;
      const Value numbers = ir_.add(ir_.splat(number), ir_.ramp(ir_.i32, 0, 1));
      if (invocations_ % width_ != 0) {
        mask = ir_.compare(Compare::Ult, numbers, ir_.splat(inside));
      }
      if (is_limited_) {
        mask = with(mask, ir_.compare(Compare::Ult, ir_.zext(numbers, 64), ir_.splat(present)));
      }
      if (alive != nullptr) {
        mask = with(mask, alive);
        const Ir::Block some = ir_.block("some");
        ir_.branch(any(mask), some, gang_end_);
        ir_.go_on(some);
      }
      write_gang(begin, end, false, mask);
    }
    ir_.go_on(gang_end_);
  });
  gang_ = nullptr;
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
    if (const If* branch = std::get_if<If>(&body_[id])) {
      const Ir::Block yes = ir_.block("then");
      const Ir::Block no = ir_.block("else");
      const Ir::Block behind = ir_.block("end");
      ir_.branch(ops_.truth(scalar(branch->condition)), yes, no);
      ir_.go_on(yes);
      write_region(inside, branch->else_begin);
      ir_.jump(behind);
      ir_.go_on(no);
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
  }
  flush(end);
}

void Emitter::write_group() {
  group_end_ = ir_.block("group.end");
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const BufferDecl& buffer = program_.buffers[i];
    if (buffer.access != BufferAccess::Workgroup) continue;
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
  write_region(StmtId{0u}, StmtId{body_.stmts.size()});
  ir_.jump(group_end_);
  ir_.go_on(group_end_);
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
  for (int axis = 0; axis < 4; ++axis) parameters.push_back(ir_.i64);
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
  limit_ = ir_.parameter(static_cast<unsigned>(2 * count) + 3);
  stop_ = ir_.parameter(static_cast<unsigned>(2 * count) + 4);
  zeros_ = ir_.api().AddGlobal(ir_.module(), ir_.vector(ir_.i64, 2), "zeros");
  ir_.api().SetInitializer(zeros_, ir_.zero(ir_.vector(ir_.i64, 2)));
  ir_.api().SetGlobalConstant(zeros_, 1);
  ir_.api().SetLinkage(zeros_, llvm::kPrivate);
  sink_ = ir_.local(ir_.vector(ir_.i64, 2), "sink");
  for (std::size_t i = 0; i < count; ++i) {
    const BufferDecl& buffer = program_.buffers[i];
    if (buffer.access != BufferAccess::Workgroup) continue;
    scratch_bytes_ = (scratch_bytes_ + 63) / 64 * 64;
    buffers_[i] = {ir_.at(ir_.i8, scratch_, ir_.wide(scratch_bytes_)), ir_.wide(buffer.count)};
    scratch_bytes_ += std::uint64_t{buffer.count} * stride(buffer.element);
  }
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
  for (std::size_t axis = 0; axis < 4; ++axis) {
    passed.push_back(ir_.load(ir_.i64, argument(2 * count + axis)));
  }
  passed.push_back(ir_.load(pointer, argument(2 * count + 4)));
  for (unsigned i = 1; i < 4; ++i) passed.push_back(ir_.parameter(i));
  ir_.api().BuildCall2(ir_.builder(),
                       ir_.api().FunctionType(ir_.nothing, parameters.data(), last, 0), inner,
                       passed.data(), last, "");
  ir_.leave();
}

// What the vector code needs of LLVM's optimiser: values instead of memory, nothing twice, nothing
// in loops that does not change there.
constexpr const char* kPasses =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,loop-simplify,lcssa,"
    "loop-mssa(licm),sroa,early-cse<memssa>,gvn,instcombine<no-verify-fixpoint>,dse,adce,simplifycfg)";

// Owns what LLVM compiles with.
class Machine {
 public:
  Machine(const llvm::Api& api, const CpuTarget& target, bool is_large)
      : api_(api), is_large_(is_large) {
    llvm::Target found = nullptr;
    char* message = nullptr;
    if (api.GetTargetFromTriple(target.triple.c_str(), &found, &message) != 0) {
      problem = message;
      api.DisposeMessage(message);
      return;
    }
    machine_ = api.CreateTargetMachine(found, target.triple.c_str(), target.name.c_str(),
                                       target.features.c_str(), is_large ? 0 : 2, llvm::kPic, 0);
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
    const llvm::Error error =
        api_.RunPasses(ir.module(), is_large_ ? "function(sroa)" : kPasses, machine_, options);
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
  const bool is_large_;
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

std::optional<Program> regrouped(const Program& program, unsigned width) {
  constexpr std::uint32_t kInvocations = 1024;
  const auto& size = program.workgroup_size;
  for (const BufferDecl& buffer : program.buffers) {
    if (buffer.access == BufferAccess::Workgroup) return std::nullopt;
  }
  for (const Stmt& stmt : program.body.stmts) {
    if (std::holds_alternative<Barrier>(stmt)) return std::nullopt;
  }
  const bool shows = std::ranges::any_of(program.body.exprs, [](const Expr& expr) {
    return expr.op == Operation::WorkgroupId || expr.op == Operation::LocalId;
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
  result.workgroup_size = {kInvocations, 1, 1};
  return result;
}

}  // namespace vyre
