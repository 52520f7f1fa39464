#include "vyre/backends/ptx/emit.h"

#include <algorithm>
#include <bit>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "vyre/backends/ptx/bytes.h"
#include "vyre/backends/ptx/collective.h"
#include "vyre/backends/ptx/frame.h"
#include "vyre/ir/walk.h"
#include "vyre/text/print.h"

namespace vyre {
namespace {

using Operand = PtxOperand;
using Kind = PtxOperand::Kind;

constexpr std::size_t kLongText = 120;  // of a comment
constexpr std::string_view kLaneNames[] = {"_x", "_y", "_z", "_w"};
constexpr std::string_view kHalfNames[] = {"_lo", "_hi"};

Operand literal(std::uint64_t value) { return PtxCode::literal(value); }

// What one instruction moves: registers, and how it calls what is in each of them.
struct Moved {
  std::uint32_t elements = 1;
  Kind kind = Kind::Word;
  std::uint32_t registers = 1;
  std::string_view type;
};

// So many elements. Narrow ones fill words together.
Moved moved(DataType element, std::uint32_t width) {
  if (!is_narrow(element)) {
    const Kind kind = ptx_kind(element);
    const std::uint32_t parts = width * ptx_parts(loaded_type(element));
    return {width, kind, parts, kind == Kind::Wide ? "u64" : "u32"};
  }
  const std::uint32_t bytes = width * stride(element);
  if (bytes >= 4) return {width, Kind::Word, bytes / 4, "u32"};
  const bool is_signed = width == 1 && has_sign(element);
  if (bytes == 1) return {width, Kind::Word, 1, is_signed ? "s8" : "u8"};
  return {width, Kind::Word, 1, is_signed ? "s16" : "u16"};
}

std::uint32_t log2_stride(const BufferDecl& buffer) {
  return static_cast<std::uint32_t>(std::countr_zero(stride(buffer.element)));
}

class PtxWriter {
 public:
  PtxWriter(const Lowered& lowered, std::string_view entry)
      : lowered_(lowered),
        program_(lowered.program),
        body_(lowered.program.body),
        places_(lowered.places),
        types_(lowered.types),
        moves_(find_moves(body_, types_)),
        ops_(code_),
        frame_(code_, lowered, entry),
        collectives_(code_, ops_, program_, frame_.shared, frame_.scratch_at),
        locals_(body_.locals.size()),
        memo_at_(body_.exprs.size()),
        packed_(places_.packs.size()) {}

  PtxKernel emit();

 private:
  struct Frame : OpenBlock {
    std::size_t kept = 0;  // how much is known outside
    bool ended = false;    // a `return` or `break` was its last statement
  };
  // Whether this statement is an `if` that only ends invocations.
  bool is_exit() const {
    const If* branch = std::get_if<If>(&body_[at_]);
    return branch != nullptr && branch->end.index == at_.index + 2 &&
           branch->else_begin == branch->end &&
           std::holds_alternative<Return>(body_.stmts[at_.index + 1]);
  }
  bool is_limits(BufferId buffer) const { return buffer == lowered_.launch.uniform; }

  // --- Statements
  void statement();
  void close(const Frame& closed, Frame& now);
  void put_comment();
  PtxValue fitting(const PtxValue& given, bool is_test);
  Operand frozen(const Operand& part, Kind kind);
  void bind(LocalId local, const PtxValue& given);
  void assign(LocalId local, const PtxValue& given);
  void store(const Store& stmt);
  void update(const Atomic& stmt);
  void combine();
  void begin_loop(const For& loop);

  // --- Expressions
  const PtxValue& value(ExprId root);
  void push_needs(ExprId id);
  PtxValue made(ExprId id);
  bool knows(ExprId id) const { return memo_at_[id.index] > before_; }
  const PtxValue& memo(ExprId id) const { return memo_[memo_at_[id.index] - before_ - 1]; }
  PtxValue product(ExprId id, const PtxValue& a, const PtxValue& b);

  // --- Memory
  PtxAddress address(BufferId buffer, ExprId base, std::int64_t offset);
  Operand in_bounds(BufferId buffer, ExprId index);
  Operand runs(BufferId buffer, const AccessPlace& at);
  PtxValue load(ExprId id);
  PtxValue value_of(DataType element, const Moved& moved, std::span<const Operand> all,
                    std::uint32_t lane);
  std::string access(BufferId buffer, bool loads, const Moved& moved) const;
  std::vector<Operand> put_load(BufferId buffer, const Moved& moved, const Operand& condition,
                                const PtxAddress& from);
  void put_store(BufferId buffer, const Moved& moved, const Operand& condition,
                 const PtxAddress& to, std::span<const Operand> parts);

  // What is known in the blocks that are open: registers by what they hold.
  enum class Known : std::uint8_t { Scaled, Address, Shared, Check, Low, High };
  const Operand* known(Known what, std::uint32_t number, ExprId expr) const;
  template <class Make>
  Operand once(Known what, std::uint32_t number, ExprId expr, Make make);
  void remember(Known what, std::uint32_t number, ExprId expr, const Operand& value);
  static std::uint64_t key(Known what, std::uint32_t number, ExprId expr) {
    return (std::uint64_t{number} * 8 + static_cast<std::uint64_t>(what)) << 32 | expr.index;
  }

  const Lowered& lowered_;
  const Program& program_;
  const Body& body_;
  const Places& places_;
  const Types& types_;
  const std::vector<BytesMove> moves_;
  PtxCode code_;
  PtxOps ops_;

  PtxFrame frame_;
  PtxCollectives collectives_;
  std::vector<PtxValue> locals_;

  StmtId at_;
  StmtId block_end_;                          // of the block that it is in
  std::vector<PtxValue> memo_;                // what this statement has computed so far
  std::vector<std::uint32_t> memo_at_;        // by expression: its number among all computed, or 0
  std::uint32_t before_ = 0;                  // computed by earlier statements
  std::vector<std::vector<Operand>> packed_;  // by pack: what was loaded, or is to be stored
  std::unordered_map<std::uint64_t, Operand> known_;
  std::vector<std::uint64_t> kept_;  // what is known, in the order in which it came
  struct OpenLoop {
    std::uint32_t number;
    Operand limit;
  };
  std::vector<OpenLoop> loops_;
  std::vector<ExprId> work_;  // expressions that are being computed
  std::uint32_t line_ = 0;
};

PtxKernel PtxWriter::emit() {
  BlockStack<Frame> stack(body_);
  for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
    stack.enter(i, [&](const Frame& closed, Frame& now) { close(closed, now); });
    at_ = StmtId{i};
    block_end_ = StmtId{stack.back().end};
    before_ += static_cast<std::uint32_t>(memo_.size());
    memo_.clear();
    statement();
    i = at_.index;
    const Stmt& stmt = body_.stmts[i];
    if (is_exit()) {
      ++i;  // the `return` is done
      continue;
    }
    if (std::holds_alternative<Break>(stmt) || std::holds_alternative<Return>(stmt)) {
      stack.back().ended = true;
    }
    if (Frame* opened = stack.open(i)) opened->kept = kept_.size();
  }
  stack.enter(static_cast<std::uint32_t>(body_.stmts.size()),
              [&](const Frame& closed, Frame& now) { close(closed, now); });
  code_.put("ret");

  return frame_.kernel();
}

// --- Statements ---------------------------------------------------------------------------------

void PtxWriter::put_comment() {
  const auto& lines = lowered_.lines;
  const std::uint32_t line = at_.index < lines.size() ? lines[at_.index] : 0;
  if (line != 0 && line != line_) {
    line_ = line;
    code_.raw("\t.loc 1 " + std::to_string(line) + " 0\n");
  }
  // The assembler takes nothing but ASCII; what is cut off is another character.
  std::string text = print_head(body_, program_.buffers, body_[at_], kLongText);
  for (std::size_t at = 0; (at = text.find("\u2026", at)) != text.npos;) text.replace(at, 3, "...");
  code_.raw("\t// " + text + "\n");
}

void PtxWriter::statement() {
  put_comment();
  visit(
      body_[at_],  //
      [&](const Let& let) { bind(let.local, value(let.value)); },
      [&](const Assign& to) { assign(to.local, value(to.value)); },
      [&](const Store& to) { store(to); }, [&](const Atomic& atomic) { update(atomic); },
      [&](const If& branch) {
        const Operand condition = ops_.truth(value(branch.condition));
        if (is_exit()) return code_.put("@", condition, " ret");
        const bool has_else = branch.else_begin < branch.end;
        code_.put("@!", condition, has_else ? " bra else" : " bra end", at_.index);
      },
      [&](const For& loop) { begin_loop(loop); },
      [&](const Break&) { code_.put("bra done", loops_.back().number); },
      [&](const Return&) { code_.put("ret"); },  //
      [&](const Barrier&) { code_.put("bar.sync 0"); }, [&](const Collective&) { combine(); },
      Nothing<Block, SetElement, Continue>{});
}

void PtxWriter::close(const Frame& closed, Frame& now) {
  for (; kept_.size() > closed.kept; kept_.pop_back()) {
    known_.erase(kept_.back());
  }
  const Stmt& owner = body_.stmts[closed.owner];
  if (const For* loop = std::get_if<For>(&owner)) {
    if (!closed.ended) {
      const Operand variable = locals_[loop->variable.index].parts[0];
      code_.put("add.u32 ", variable, ", ", variable, ", 1");
      const Operand more = code_.predicate("setp.lt", "u32", {variable, loops_.back().limit});
      code_.put("@", more, " bra loop", closed.owner);
    }
    loops_.pop_back();
    code_.put_label("done", closed.owner);
  } else if (const If* branch = std::get_if<If>(&owner)) {
    const bool goes_on = !closed.is_else && branch->else_begin < branch->end;
    if (goes_on) {
      if (!closed.ended) code_.put("bra end", closed.owner);
      code_.put_label("else", closed.owner);
      now.kept = kept_.size();
    } else {
      code_.put_label("end", closed.owner);
    }
  }
}

void PtxWriter::begin_loop(const For& loop) {
  const Operand from = ops_.whole(value(loop.from)).parts[0];
  const Operand end = ops_.whole(value(loop.to)).parts[0];
  const Operand variable = code_.named(Kind::Word, body_[loop.variable].name, false);
  const Operand to = frozen(end, Kind::Word);
  code_.move(variable, from);
  if (!from.is_literal() || !to.is_literal() || from.value >= to.value) {
    code_.put("@", code_.predicate("setp.ge", "u32", {variable, to}), " bra done", at_.index);
  }
  code_.put_label("loop", at_.index);
  loops_.push_back({at_.index, to});
  locals_[loop.variable.index] = PtxValue::word(variable);
}

// A value as a local takes it that is a test, or is none.
PtxValue PtxWriter::fitting(const PtxValue& given, bool is_test) {
  if (!is_test) return ops_.whole(given);
  return given.is_test ? given : PtxValue{given.type, true, {literal(given.parts[0].value)}};
}

// What it is now, whatever becomes of the local that it may be.
Operand PtxWriter::frozen(const Operand& part, Kind kind) {
  if (!code_.is_mutable(part)) return part;
  const Operand now = code_.fresh(kind);
  code_.move(now, part);
  return now;
}

// A new local. What never changes goes by the names that it has.
void PtxWriter::bind(LocalId local, const PtxValue& given) {
  PtxValue& held = locals_[local.index];
  const bool is_assigned = lowered_.locals[local.index].is_assigned;
  const DataType type = types_[local];
  bool is_test = given.is_test;
  if (is_assigned) {
    is_test =
        type == DataType::Bool || (type == DataType::U32 && lowered_.locals[local.index].is_test);
  }
  const PtxValue from = fitting(given, is_test);
  held = {type, is_test, {}};
  const std::uint32_t count = ptx_parts(type);
  const Kind kind = is_test ? Kind::Predicate : ptx_kind(type);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Operand& part = from.parts[i];
    if (!is_assigned &&
        (part.is_literal() || (part.kind == Kind::Named && !code_.is_mutable(part)))) {
      held.parts[i] = part;
      continue;
    }
    std::string name = body_[local].name;
    if (count > 1) name += is_vector(type) ? kLaneNames[i] : kHalfNames[i];
    held.parts[i] = code_.named(kind, name, is_assigned);
    // Several parts may be the same register.
    count > 1 ? code_.move(held.parts[i], part) : code_.move_last(held.parts[i], part);
  }
}

void PtxWriter::assign(LocalId local, const PtxValue& given) {
  const PtxValue& to = locals_[local.index];
  PtxValue from = fitting(given, to.is_test);
  const std::uint32_t count = ptx_parts(to.type);
  if (count == 1) return code_.move_last(to.parts[0], from.parts[0]);
  // Parts may change places.
  for (std::uint32_t i = 0; i < count; ++i) {
    if (from.parts[i] != to.parts[i]) from.parts[i] = frozen(from.parts[i], ptx_kind(to.type));
  }
  for (std::uint32_t i = 0; i < count; ++i) code_.move(to.parts[i], from.parts[i]);
}

void PtxWriter::store(const Store& stmt) {
  const BufferDecl& buffer = program_.buffers[stmt.buffer.index];
  const AccessPlace& at = places_.at(lowered_.bounds, at_);
  if (at.checked) value(at.index);
  const PtxValue what = ops_.whole(value(stmt.value));
  const std::uint32_t count = ptx_parts(loaded_type(buffer.element));
  std::vector<Operand> parts(what.parts.begin(), what.parts.begin() + count);
  ExprId base = at.base;
  std::int64_t offset = at.offset;
  if (at.pack != AccessPlace::kNoPack) {
    const AccessPack& pack = places_.packs[at.pack];
    const bool is_last = pack.at == at_;
    std::vector<Operand>& all = packed_[at.pack];
    all.resize(std::size_t{pack.width} * count);
    for (std::uint32_t i = 0; i < count; ++i) {
      // The local may have another value when the last one comes.
      all[at.lane * count + i] = is_last ? parts[i] : frozen(parts[i], ptx_kind(buffer.element));
    }
    if (!is_last) return;
    parts = std::move(all);
    base = pack.base;
    offset = pack.offset;
  }
  const Operand condition = runs(stmt.buffer, at);
  const Moved all = moved(buffer.element, static_cast<std::uint32_t>(parts.size()) / count);
  put_store(stmt.buffer, all, condition, address(stmt.buffer, base, offset), parts);
}

void PtxWriter::update(const Atomic& stmt) {
  const BufferDecl& buffer = program_.buffers[stmt.buffer.index];
  const AccessPlace& at = places_.at(lowered_.bounds, at_);
  if (at.checked) value(at.index);
  Operand expected;
  if (stmt.expected.exists()) expected = ops_.whole(value(stmt.expected)).parts[0];
  Operand operand;
  if (stmt.value.exists()) operand = ops_.whole(value(stmt.value)).parts[0];
  const Operand condition = runs(stmt.buffer, at);
  const PtxAddress to = address(stmt.buffer, at.base, at.offset);
  const std::string_view space = is_workgroup(buffer) ? "shared." : "global.";
  const std::string_view name = ptx_atomic(stmt.op, buffer.element);
  if (stmt.op == AtomicOp::Store) {
    const Operand from = code_.in_register(operand, Kind::Word);
    return code_.put_if(condition, "st.relaxed.gpu.", space, name, to, ", ", from);
  }
  if (!stmt.result.exists() && info(stmt.op).order == AtomicOrder::Any) {
    code_.put_if(condition, "red.", space, name, to, ", ", operand);
    return;
  }
  const Operand old = condition.exists() ? code_.unknown_zero(Kind::Word) : code_.fresh(Kind::Word);
  if (stmt.op == AtomicOp::Load) {
    code_.put_if(condition, "ld.relaxed.gpu.", space, name, old, ", ", to);
  } else {
    const std::string_view comma = expected.exists() ? ", " : "";
    code_.put_if(condition, "atom.", space, name, old, ", ", to, ", ", expected, comma, operand);
  }
  if (stmt.result.exists()) bind(stmt.result, {types_[stmt.result], false, {old}});
}

// This statement and those that wait with it.
void PtxWriter::combine() {
  const StmtId first = at_;
  const std::size_t count = count_together(program_, types_, first, block_end_);
  std::vector<PtxCollective> all;
  for (std::size_t i = 0; i < count; ++i) {
    at_ = StmtId{first.index + i};
    if (i > 0) put_comment();
    const auto& stmt = std::get<Collective>(body_[at_]);
    PtxCollective& one = all.emplace_back(stmt.op, ops_.whole(value(stmt.value)));
    if (stmt.invocation.exists()) one.chosen = ops_.whole(value(stmt.invocation)).parts[0];
  }
  const std::vector<PtxValue> results = collectives_.put(std::move(all));
  for (std::size_t i = 0; i < count; ++i) {
    bind(std::get<Collective>(body_.stmts[first.index + i]).result, results[i]);
  }
}

// --- Expressions --------------------------------------------------------------------------------

// Adds what has to be computed before an expression to the work, the first one last.
void PtxWriter::push_needs(ExprId id) {
  const auto need = [&](ExprId other) {
    if (other.exists() && !knows(other)) work_.push_back(other);
  };
  const Expr& expr = body_[id];
  if (expr.op == Operation::Load) {
    if (is_limits(BufferId{expr.imm})) return;
    const AccessPlace& at = places_.at(lowered_.bounds, at_, id);
    need(at.base);
    if (at.checked) need(at.index);
    need(at.condition);
  } else if (const BytesMove& move = moves_[id.index]; move.first.exists()) {
    need(move.second);
    need(move.first);
  } else {
    for (ExprId arg : std::views::reverse(operands(body_, expr))) need(arg);
  }
}

// The value in this statement, computed once in it; it stays where it is until the next one is.
const PtxValue& PtxWriter::value(ExprId root) {
  const std::size_t outer = work_.size();  // an address is computed while an access is
  work_.push_back(root);
  while (work_.size() > outer) {
    const ExprId id = work_.back();
    const std::size_t size = work_.size();
    if (!knows(id)) push_needs(id);
    if (work_.size() > size) continue;
    work_.pop_back();
    if (knows(id)) continue;
    memo_.push_back(made(id));
    memo_at_[id.index] = before_ + static_cast<std::uint32_t>(memo_.size());
  }
  return memo(root);
}

PtxValue PtxWriter::made(ExprId id) {
  const Expr& expr = body_[id];
  const auto arg = [&](std::size_t i) -> const PtxValue& { return memo(operands(body_, expr)[i]); };
  if (const BytesMove& move = moves_[id.index]; move.first.exists()) {
    const auto word = [&](ExprId from) {
      return from.exists() ? ops_.whole(memo(from)).parts[0] : literal(0);
    };
    const Operand first = word(move.first);
    const Operand second = word(move.second);
    return PtxValue::word(code_.word("prmt", "b32", {first, second, literal(move.selector)}));
  }
  switch (expr.op) {
    case Operation::Literal: return ops_.constant(type_of_detail(expr), literal_bits(body_, expr));
    case Operation::Local: return locals_[expr.imm];
    case Operation::Load: return load(id);
    case Operation::Length: return PtxValue::word(frame_.memory[expr.imm].length);
    case Operation::InvocationId: return PtxValue::word(frame_.invocation[expr.detail]);
    case Operation::WorkgroupId: return PtxValue::word(frame_.workgroup[expr.detail]);
    case Operation::LocalId: return PtxValue::word(frame_.local[expr.detail]);
    case Operation::Select: return ops_.select(arg(0), arg(1), arg(2));
    case Operation::Cast: return ops_.cast(type_of_detail(expr), arg(0));
    case Operation::Vec2:
    case Operation::Vec4: {
      PtxValue vector{types_[id], false, {}};
      for (std::size_t i = 0; i < ptx_parts(vector.type); ++i) {
        vector.parts[i] = ops_.whole(arg(i)).parts[0];
      }
      return vector;
    }
    case Operation::Lane: return PtxValue::word(arg(0).parts[expr.detail]);
    case Operation::NumWorkgroups: return PtxValue::word(frame_.grid[expr.detail]);
#define WRITTEN(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      break;  // expanded long ago
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      if (lowered_.products[id.index]) return product(id, arg(0), arg(1));
      return ops_.apply(expr.op, arg(0), arity(expr.op) == 1 ? PtxValue{} : arg(1),
                        places_.divisors[id.index]);
  }
  return {};
}

PtxValue PtxWriter::product(ExprId id, const PtxValue& a, const PtxValue& b) {
  const Expr& expr = body_[id];
  const bool is_low = expr.op == Operation::Mul;
  const auto number = expr.args[0].index;
  const Known which = is_low ? Known::Low : Known::High;
  if (const Operand* found = known(which, number, expr.args[1])) return PtxValue::word(*found);
  const Operand x = ops_.whole(a).parts[0];
  const Operand y = ops_.whole(b).parts[0];
  const auto [low, high] = ops_.halves(code_.wide("mul.wide", "u32", {x, y}));
  remember(Known::Low, number, expr.args[1], low);
  remember(Known::High, number, expr.args[1], high);
  return PtxValue::word(is_low ? low : high);
}

// --- Memory -------------------------------------------------------------------------------------

const Operand* PtxWriter::known(Known what, std::uint32_t number, ExprId expr) const {
  const auto found = known_.find(key(what, number, expr));
  return found == known_.end() ? nullptr : &found->second;
}

template <class Make>
Operand PtxWriter::once(Known what, std::uint32_t number, ExprId expr, Make make) {
  if (const Operand* found = known(what, number, expr)) return *found;
  const Operand value = make();
  remember(what, number, expr, value);
  return value;
}

void PtxWriter::remember(Known what, std::uint32_t number, ExprId expr, const Operand& value) {
  if (!places_.stable[expr.index]) return;
  kept_.push_back(key(what, number, expr));
  known_[kept_.back()] = value;
}

PtxAddress PtxWriter::address(BufferId buffer, ExprId base, std::int64_t offset) {
  const BufferDecl& decl = program_.buffers[buffer.index];
  const PtxFrame::Memory& memory = frame_.memory[buffer.index];
  const bool is_shared = memory.space == PtxSpace::Shared;
  const bool is_wide = memory.space == PtxSpace::Global;
  const std::int64_t bytes = memory.at + offset * stride(decl.element);
  const Operand begin = memory.address;
  if (!base.exists()) return {begin, bytes};
  // Workgroup memory has one beginning, so that elements of several buffers share an address.
  const std::uint32_t log = log2_stride(decl);
  const Known what = is_shared ? Known::Shared : Known::Address;
  const std::uint32_t number = is_shared ? log : buffer.index;
  const auto make = [&] {
    const Operand index = ops_.whole(value(base)).parts[0];
    const Operand shift = literal(log);
    if (!is_wide) {
      return code_.word("add", "u32", {begin, code_.word("shl", "b32", {index, shift})});
    }
    const Operand scaled = once(Known::Scaled, log, base, [&] {
      return code_.wide("shl", "b64", {code_.wide("cvt.u64", "u32", {index}), shift});
    });
    return code_.wide("add", "u64", {begin, scaled});
  };
  return {once(what, number, base, make), bytes};
}

Operand PtxWriter::in_bounds(BufferId buffer, ExprId index) {
  return once(Known::Check, buffer.index, index, [&] {
    const Operand number = ops_.whole(value(index)).parts[0];
    return code_.predicate("setp.lt", "u32", {number, frame_.memory[buffer.index].length});
  });
}

// What has to hold for an access to happen, if anything.
Operand PtxWriter::runs(BufferId buffer, const AccessPlace& at) {
  Operand condition;
  if (at.condition.exists()) condition = ops_.truth(value(at.condition));
  if (!at.checked) return condition;
  const Operand inside = in_bounds(buffer, at.index);
  return condition.exists() ? code_.predicate("and", "pred", {condition, inside}) : inside;
}

// What the registers of a loaded element hold, which is one of those that were loaded together.
PtxValue PtxWriter::value_of(DataType element, const Moved& moved, std::span<const Operand> all,
                             std::uint32_t lane) {
  PtxValue value{loaded_type(element), false, {}};
  const std::uint32_t count = ptx_parts(value.type);
  if (is_narrow(element)) {
    const std::uint32_t byte = lane * stride(element);
    value.parts[0] = moved.elements == 1 ? all[0] : ops_.narrow(element, all[byte / 4], byte % 4);
    return value;
  }
  std::ranges::copy(all.subspan(std::size_t{lane} * count, count), value.parts.begin());
  if (value.type != DataType::Bool) return value;
  const Operand word = value.parts[0];
  return {DataType::Bool, true, {code_.predicate("setp.ne", "u32", {word, literal(0)})}};
}

PtxValue PtxWriter::load(ExprId id) {
  const Expr& expr = body_[id];
  const BufferId from{expr.imm};
  if (is_limits(from)) return PtxValue::word(frame_.words[body_[expr.args[0]].imm]);
  const DataType element = program_.buffers[expr.imm].element;
  const AccessPlace& at = places_.at(lowered_.bounds, at_, id);
  if (at.pack != AccessPlace::kNoPack) {
    const AccessPack& pack = places_.packs[at.pack];
    const Moved together = moved(element, pack.width);
    std::vector<Operand>& all = packed_[at.pack];
    if (all.empty()) {
      const PtxAddress begin = address(from, pack.base, pack.offset);
      all = put_load(from, together, runs(from, at), begin);
    }
    return value_of(element, together, all, at.lane);
  }
  const Operand condition = runs(from, at);
  const PtxAddress begin = address(from, at.base, at.offset);
  const Moved alone = moved(element, 1);
  return value_of(element, alone, put_load(from, alone, condition, begin), 0);
}

// How an instruction moves several registers at once. Nobody writes what is only read, so that
// loads of it may move.
std::string PtxWriter::access(BufferId buffer, bool loads, const Moved& moved) const {
  std::string text = loads ? "ld" : "st";
  const PtxSpace space = frame_.memory[buffer.index].space;
  switch (space) {
    case PtxSpace::Global: text += ".global"; break;
    case PtxSpace::Shared: text += ".shared"; break;
    case PtxSpace::Local: text += ".local"; break;
    case PtxSpace::Const: text += ".const"; break;
  }
  const bool is_fixed = !is_written(program_.buffers[buffer.index].access);
  if (loads && space == PtxSpace::Global && is_fixed) text += ".nc";
  text += moved.registers == 1 ? "" : moved.registers == 2 ? ".v2" : ".v4";
  return text + "." + std::string(moved.type);
}

std::vector<Operand> PtxWriter::put_load(BufferId buffer, const Moved& moved,
                                         const Operand& condition, const PtxAddress& from) {
  const std::string name = access(buffer, true, moved);
  if (moved.registers == 1 && !condition.exists()) {
    return {code_.define(moved.kind, name, ", ", from)};
  }
  // Also where nobody looks at what was not loaded: a register without a value may be anything, and
  // ptxas took it for what is loaded from there under another condition. ptxas joins tests of a
  // zero that it knows wrongly (docs/backends/cuda.md), so this one is loaded.
  std::vector<Operand> to;
  for (std::uint32_t i = 0; i < moved.registers; ++i) {
    to.push_back(condition.exists() ? code_.unknown_zero(moved.kind) : code_.fresh(moved.kind));
  }
  code_.put_if(condition, name, " ", std::span<const Operand>(to), ", ", from);
  return to;
}

void PtxWriter::put_store(BufferId buffer, const Moved& moved, const Operand& condition,
                          const PtxAddress& to, std::span<const Operand> parts) {
  std::vector<Operand> from(parts.begin(), parts.end());
  const std::size_t each = from.size() / moved.registers;  // elements in a word
  for (std::size_t i = 0; i < moved.registers; ++i) {
    if (each > 1) {
      const DataType element = program_.buffers[buffer.index].element;
      from[i] = ops_.word_of(element, std::span(from).subspan(i * each, each));
    }
    from[i] = code_.in_register(from[i], moved.kind);
  }
  from.resize(moved.registers);
  code_.put_if(condition, access(buffer, false, moved), " ", to, ", ",
               std::span<const Operand>(from));
}

}  // namespace

Result<PtxKernel> emit_ptx(const Lowered& lowered, std::string_view entry) {
  if (const auto wrong = ptx_refuses(lowered.program)) return *wrong;
  return PtxWriter(lowered, entry).emit();
}

}  // namespace vyre
