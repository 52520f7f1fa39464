#include "vyre/backends/ptx/emit.h"

#include <algorithm>
#include <bit>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "vyre/backends/ptx/bytes.h"
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
  PtxValue value_of(DataType element, std::span<const Operand> parts);
  std::string access(const BufferDecl& buffer, bool loads, std::size_t parts) const;
  void put_load(const BufferDecl& buffer, const Operand& condition, const PtxAddress& from,
                std::span<const Operand> to);
  void put_store(const BufferDecl& buffer, const Operand& condition, const PtxAddress& to,
                 std::vector<Operand> from);

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
  std::vector<PtxValue> locals_;

  StmtId at_;
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
    before_ += static_cast<std::uint32_t>(memo_.size());
    memo_.clear();
    statement();
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
      [&](const Barrier&) { code_.put("bar.sync 0"); },
      Nothing<Block, Collective, SetElement, Continue>{});
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
  put_store(buffer, condition, address(stmt.buffer, base, offset), std::move(parts));
}

void PtxWriter::update(const Atomic& stmt) {
  const BufferDecl& buffer = program_.buffers[stmt.buffer.index];
  const AccessPlace& at = places_.at(lowered_.bounds, at_);
  if (at.checked) value(at.index);
  Operand expected;
  if (stmt.expected.exists()) expected = ops_.whole(value(stmt.expected)).parts[0];
  const Operand operand = ops_.whole(value(stmt.value)).parts[0];
  const Operand condition = runs(stmt.buffer, at);
  const PtxAddress to = address(stmt.buffer, at.base, at.offset);
  const std::string_view space = is_workgroup(buffer) ? "shared." : "global.";
  const std::string_view name = ptx_atomic(stmt.op, buffer.element);
  if (!stmt.result.exists() && info(stmt.op).order == AtomicOrder::Any) {
    code_.put_if(condition, "red.", space, name, to, ", ", operand);
    return;
  }
  const Operand old = code_.fresh(Kind::Word);
  if (condition.exists()) code_.move(old, literal(0));
  const std::string_view comma = expected.exists() ? ", " : "";
  code_.put_if(condition, "atom.", space, name, old, ", ", to, ", ", expected, comma, operand);
  if (stmt.result.exists()) bind(stmt.result, {types_[stmt.result], false, {old}});
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
  const bool is_shared = is_workgroup(decl);
  const std::int64_t bytes = frame_.memory[buffer.index].shared_at + offset * stride(decl.element);
  const Operand begin = is_shared ? frame_.shared : frame_.memory[buffer.index].address;
  if (!base.exists()) return {begin, bytes};
  // Workgroup memory has one beginning, so that elements of several buffers share an address.
  const std::uint32_t log = log2_stride(decl);
  const Known what = is_shared ? Known::Shared : Known::Address;
  const std::uint32_t number = is_shared ? log : buffer.index;
  const auto make = [&] {
    const Operand index = ops_.whole(value(base)).parts[0];
    const Operand shift = literal(log);
    if (is_shared) {
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

// What the registers of a loaded element hold.
PtxValue PtxWriter::value_of(DataType element, std::span<const Operand> parts) {
  PtxValue value{loaded_type(element), false, {}};
  std::ranges::copy(parts, value.parts.begin());
  if (value.type != DataType::Bool) return value;
  return {DataType::Bool, true, {code_.predicate("setp.ne", "u32", {parts[0], literal(0)})}};
}

PtxValue PtxWriter::load(ExprId id) {
  const Expr& expr = body_[id];
  const BufferId from{expr.imm};
  if (is_limits(from)) return PtxValue::word(frame_.words[body_[expr.args[0]].imm]);
  const BufferDecl& buffer = program_.buffers[expr.imm];
  const std::uint32_t parts = ptx_parts(loaded_type(buffer.element));
  const Kind kind = ptx_kind(buffer.element);
  const AccessPlace& at = places_.at(lowered_.bounds, at_, id);
  if (at.pack != AccessPlace::kNoPack) {
    const AccessPack& pack = places_.packs[at.pack];
    std::vector<Operand>& all = packed_[at.pack];
    if (all.empty()) {
      const PtxAddress begin = address(from, pack.base, pack.offset);
      for (std::uint32_t i = 0; i < pack.width * parts; ++i) all.push_back(code_.fresh(kind));
      put_load(buffer, runs(from, at), begin, all);
    }
    return value_of(buffer.element, std::span(all).subspan(std::size_t{at.lane} * parts, parts));
  }
  const Operand condition = runs(from, at);
  const PtxAddress begin = address(from, at.base, at.offset);
  std::vector<Operand> to;
  if (parts == 1 && !condition.exists()) {
    to.push_back(code_.define(kind, access(buffer, true, 1), ", ", begin));
    return value_of(buffer.element, to);
  }
  for (std::uint32_t i = 0; i < parts; ++i) to.push_back(code_.fresh(kind));
  put_load(buffer, condition, begin, to);
  return value_of(buffer.element, to);
}

// How an instruction moves several registers at once. Nobody writes what is only read, so that
// loads of it may move.
std::string PtxWriter::access(const BufferDecl& buffer, bool loads, std::size_t parts) const {
  std::string text = loads ? "ld" : "st";
  text += is_workgroup(buffer) ? ".shared" : ".global";
  if (loads && !is_workgroup(buffer) && !is_written(buffer.access)) text += ".nc";
  text += parts == 1 ? "" : parts == 2 ? ".v2" : ".v4";
  return text + (ptx_kind(buffer.element) == Kind::Wide ? ".u64" : ".u32");
}

void PtxWriter::put_load(const BufferDecl& buffer, const Operand& condition, const PtxAddress& from,
                         std::span<const Operand> to) {
  // Also where nobody looks at what was not loaded: a register without a value may be anything, and
  // ptxas took it for what is loaded from there under another condition. ptxas joins tests of a
  // zero that it knows wrongly (docs/backends/cuda.md), so this one is loaded.
  for (const Operand& part : to) {
    if (!condition.exists()) break;
    code_.put(part.kind == Kind::Wide ? "ld.const.u64 " : "ld.const.u32 ", part, ", [_zero]");
  }
  code_.put_if(condition, access(buffer, true, to.size()), " ", to, ", ", from);
}

void PtxWriter::put_store(const BufferDecl& buffer, const Operand& condition, const PtxAddress& to,
                          std::vector<Operand> from) {
  for (Operand& part : from) part = code_.in_register(part, ptx_kind(buffer.element));
  code_.put_if(condition, access(buffer, false, from.size()), " ", to, ", ",
               std::span<const Operand>(from));
}

}  // namespace

Result<PtxKernel> emit_ptx(const Lowered& lowered, std::string_view entry) {
  if (const auto wrong = ptx_refuses(lowered.program)) return *wrong;
  return PtxWriter(lowered, entry).emit();
}

}  // namespace vyre
