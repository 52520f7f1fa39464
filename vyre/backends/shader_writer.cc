#include "vyre/backends/shader_writer.h"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <utility>

#include "vyre/backends/shader_ops.h"
#include "vyre/ir/run.h"
#include "vyre/ir/uniformity.h"
#include "vyre/ir/walk.h"
#include "vyre/text/print.h"

namespace vyre {
namespace {

using Part = ShaderPart;
using Words = std::array<ShaderPart, 4>;
using Space = ShaderMemory::Space;

constexpr std::size_t kLongText = 120;  // of a comment
constexpr std::string_view kAxes = "xyzw";

// Words that may be accessed together, also where none of them is wanted.
constexpr std::uint32_t kStretch = 16;

// Words of a call's parameters.
constexpr std::uint32_t kFirstGroup = 0;
constexpr std::uint32_t kGroups = 3;
constexpr std::uint32_t kLimits = 6;

Part literal(std::uint64_t value) { return Part::literal(value); }

// Where the elements of a buffer are.
struct ElementPlace {
  std::uint32_t memory = 0;  // its number
  std::uint32_t first = 0;   // word
  bool is_packed = false;    // several narrow elements in a word
  bool is_used = false;
  Part length;
};

class ShaderWriter {
 public:
  ShaderWriter(const Lowered& lowered, ShaderSpeller& speller)
      : lowered_(lowered),
        program_(lowered.program),
        body_(lowered.program.body),
        places_(lowered.places),
        types_(lowered.types),
        speller_(speller),
        ops_(speller),
        elements_(program_.buffers.size()),
        locals_(body_.locals.size()),
        memo_(body_.exprs.size()),
        packed_(places_.packs.size()) {}

  ShaderCall write();

 private:
  // --- What is there before the first statement
  void find_memory();
  std::uint32_t add_memory(const BufferDecl& buffer);
  void find_atomic();
  void find_plain();
  void put_ids();

  // --- Statements
  void statement();
  void close(const OpenBlock& closed, const OpenBlock& now);
  void bind(LocalId local, const ShaderValue& given);
  ShaderValue fitting(const ShaderValue& given, bool is_test);
  void assign(LocalId local, const ShaderValue& given);
  void store(const Store& stmt);
  void put_words(BufferId buffer, const Part& first, std::span<const Part> words);
  void update(const Atomic& stmt);
  bool must_be_same(StmtId end, ExprId id) const;
  Part bound(StmtId end, ExprId id);
  ShaderValue same(const ShaderValue& value);

  // --- Expressions
  void add_access(std::vector<ExprId>& needs, const AccessPlace& at, bool is_load) const;
  std::vector<ExprId> needs_of(ExprId id) const;
  std::vector<ExprId> needs_of_statement() const;
  void compute(const std::vector<ExprId>& roots);
  const ShaderValue& value(ExprId id) const { return memo_[id.index].value; }
  ShaderValue made(ExprId id);
  ShaderValue local(LocalId id);

  // --- Memory
  const BufferDecl& decl(BufferId buffer) const { return program_.buffers[buffer.index]; }
  bool is_limits(BufferId buffer) const { return buffer == lowered_.launch.uniform; }
  Part runs(BufferId buffer, const AccessPlace& at);
  Part element(ExprId base, std::int64_t offset);
  Part word_at(BufferId buffer, const Part& element);
  Part bit_at(BufferId buffer, const Part& element);
  Part guarded(const Part& condition, const Part& at);
  Part load_word(BufferId buffer, const Part& first, std::uint32_t word, const Part& condition);
  ShaderValue load(ExprId id);
  ShaderValue from_pack(BufferId buffer, const AccessPlace& at);

  const Lowered& lowered_;
  const Program& program_;
  const Body& body_;
  const Places& places_;
  const Types& types_;
  ShaderSpeller& speller_;
  ShaderOps ops_;

  ShaderCall call_;
  std::vector<ElementPlace> elements_;  // by buffer
  std::vector<ShaderMemory> memories_;
  bool waits_ = false;       // somewhere
  std::vector<bool> plain_;  // by expression: the same in a workgroup, as all languages see
  std::array<Part, 3> group_, local_, invocation_;

  StmtId at_;
  std::vector<std::pair<StmtId, StmtId>> loops_;  // that are open, from where to where
  std::vector<ShaderValue> locals_;
  struct Known {
    std::uint32_t seen = 0;  // the statement, counted from 1, that wants it
    std::uint32_t uses = 0;  // in it
    bool is_made = false;
    ShaderValue value;
  };
  std::vector<Known> memo_;  // by expression
  struct Packed {
    std::vector<Part> words;          // that were loaded together
    std::vector<ShaderValue> values;  // to be stored together
  };
  std::vector<Packed> packed_;
};

ShaderCall ShaderWriter::write() {
  waits_ = std::ranges::any_of(body_.stmts, &waits);
  call_.launch = lowered_.launch;
  call_.block = program_.workgroup_size;
  call_.scratch = lowered_.scratch;
  find_memory();
  find_plain();
  put_ids();
  BlockStack<OpenBlock> stack(body_);
  const auto closes = [&](const OpenBlock& closed, const OpenBlock& now) { close(closed, now); };
  for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
    stack.enter(i, closes);
    at_ = StmtId{i};
    statement();
    stack.open(i);
  }
  stack.enter(static_cast<std::uint32_t>(body_.stmts.size()), closes);
  return std::move(call_);
}

// --- What is there before the first statement ----------------------------------------------------

void ShaderWriter::find_memory() {
  for (const Expr& expr : body_.exprs) {
    if (expr.op == Operation::Load || expr.op == Operation::Length) {
      elements_[expr.imm].is_used = true;
    }
  }
  const auto use = [&](const auto& stmt) {
    if constexpr (requires { stmt.buffer; }) elements_[stmt.buffer.index].is_used = true;
  };
  for (const Stmt& stmt : body_.stmts) std::visit(use, stmt);

  const std::uint32_t lengths = kLimits + static_cast<std::uint32_t>(call_.launch.limits.size());
  std::uint32_t tables = 0;  // the memory that has all of them
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    const BufferDecl& buffer = program_.buffers[i];
    ElementPlace& place = elements_[i];
    if (!place.is_used || is_limits(BufferId{i})) continue;
    place.length = literal(buffer.count);
    if (buffer.access == BufferAccess::Constant) {
      if (call_.tables.empty()) tables = add_memory(buffer);
      place.memory = tables;
      place.first = static_cast<std::uint32_t>(call_.tables.size());
      place.is_packed = is_narrow(buffer.element);
      const std::vector<std::byte>& bytes = buffer.contents.bytes();
      call_.tables.resize(place.first + (bytes.size() + 3) / 4);
      std::memcpy(&call_.tables[place.first], bytes.data(), bytes.size());
      continue;
    }
    place.memory = add_memory(buffer);
    if (!is_bound(buffer.access)) continue;
    place.is_packed = is_narrow(buffer.element);
    place.length = Part::name(lengths + call_.buffers.size());  // the word, for now
    call_.buffers.push_back({BufferId{i}, buffer.access == BufferAccess::ReadWrite});
  }
  find_atomic();
  const auto count = lengths + static_cast<std::uint32_t>(call_.buffers.size());
  speller_.begin(program_, memories_, count);
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    Part& length = elements_[i].length;
    if (!length.exists() || length.is_literal()) continue;
    length = speller_.keep(DataType::U32, "len_" + program_.buffers[i].name,
                           speller_.parameter(static_cast<std::uint32_t>(length.value)));
  }
}

std::uint32_t ShaderWriter::add_memory(const BufferDecl& buffer) {
  ShaderMemory memory;
  memory.name = buffer.name;
  const std::uint32_t words_each = is_narrow(buffer.element) ? 1 : stride(buffer.element) / 4;
  switch (buffer.access) {
    case BufferAccess::ReadOnly:
    case BufferAccess::Uniform:
    case BufferAccess::ReadWrite:
      memory.binding = kShaderBuffers + static_cast<std::uint32_t>(call_.buffers.size());
      memory.is_written = buffer.access == BufferAccess::ReadWrite;
      memory.is_shared_live = memory.is_written && waits_;
      break;
    case BufferAccess::Constant:
      memory.name = "tables";
      memory.binding = kShaderTables;
      break;
    case BufferAccess::Workgroup: memory.space = Space::Workgroup; break;
    case BufferAccess::Private: memory.space = Space::Private; break;
  }
  if (memory.space != Space::Storage) {
    memory.words = (buffer.count * words_each + kStretch - 1) / kStretch * kStretch;
    memory.is_written = true;
  }
  if (memory.space == Space::Workgroup) call_.workgroup_bytes += std::uint64_t{4} * memory.words;
  memories_.push_back(std::move(memory));
  return static_cast<std::uint32_t>(memories_.size() - 1);
}

// Memory with atomic updates, and storage where a store changes a part of a word.
void ShaderWriter::find_atomic() {
  for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
    if (const Atomic* atomic = std::get_if<Atomic>(&body_.stmts[i])) {
      ShaderMemory& memory = memories_[elements_[atomic->buffer.index].memory];
      memory.is_atomic = true;
      memory.is_signed = has_sign(decl(atomic->buffer).element);
    } else if (const Store* to = std::get_if<Store>(&body_.stmts[i])) {
      if (!elements_[to->buffer.index].is_packed) continue;
      const AccessPlace& at = places_.at(lowered_.bounds, StmtId{i});
      const std::uint32_t count =
          at.pack == AccessPlace::kNoPack ? 1 : places_.packs[at.pack].width;
      if (count * stride(decl(to->buffer).element) < 4) {
        memories_[elements_[to->buffer.index].memory].is_atomic = true;
      }
    }
  }
}

// What every language sees to be the same in a workgroup. Values that went through locals that
// change, or memory that is written, are not seen so.
void ShaderWriter::find_plain() {
  std::vector<bool> told(locals_.size());  // by local: what all were told
  for (const Stmt& stmt : body_.stmts) {
    if (const auto* load = std::get_if<Collective>(&stmt)) told[load->result.index] = true;
  }
  plain_.resize(body_.exprs.size());
  for (std::uint32_t i = 0; i < plain_.size(); ++i) {
    const Expr& expr = body_.exprs[i];
    bool plain = std::ranges::all_of(operands(body_, expr),
                                     [&](ExprId operand) { return plain_[operand.index]; });
    if (expr.op == Operation::InvocationId || expr.op == Operation::LocalId) plain = false;
    if (expr.op == Operation::Load) plain = plain && !is_written(program_.buffers[expr.imm].access);
    if (expr.op == Operation::Local) {
      const ExprId bound = places_.bound[expr.imm];
      const bool is_fixed = !lowered_.locals[expr.imm].is_assigned;
      plain = (told[expr.imm] && is_fixed) ||
              (bound.exists() && bound.index < i && plain_[bound.index]);
    }
    plain_[i] = plain;
  }
}

void ShaderWriter::put_ids() {
  std::array<bool, 3> invocations{}, groups{}, locals{};
  for (const Expr& expr : body_.exprs) {
    if (expr.op == Operation::InvocationId) invocations[expr.detail] = true;
    if (expr.op == Operation::WorkgroupId) groups[expr.detail] = true;
    if (expr.op == Operation::LocalId) locals[expr.detail] = true;
  }
  const auto named = [&](std::string_view what, std::uint32_t axis, const Part& part) {
    if (part.is_literal()) return part;
    return speller_.keep(DataType::U32, std::string(what) + "_" + kAxes[axis], part);
  };
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    const std::uint32_t size = program_.workgroup_size[axis];
    local_[axis] = literal(0);
    if (size > 1 && (invocations[axis] || locals[axis])) {
      local_[axis] = named("local", axis, speller_.local_id(axis));
    }
    if (!invocations[axis] && !groups[axis]) continue;
    const Part first = speller_.parameter(kFirstGroup + axis);
    group_[axis] =
        named("workgroup", axis, ops_.word(Operation::Add, speller_.workgroup_id(axis), first));
    if (!invocations[axis]) continue;
    const Part begin = ops_.word(Operation::Mul, group_[axis], literal(size));
    invocation_[axis] = named("invocation", axis, ops_.word(Operation::Add, begin, local_[axis]));
  }
}

// --- Statements ---------------------------------------------------------------------------------

void ShaderWriter::statement() {
  const auto& lines = lowered_.lines;
  speller_.at(print_head(body_, program_.buffers, body_[at_], kLongText),
              at_.index < lines.size() ? lines[at_.index] : 0);
  compute(needs_of_statement());
  visit(
      body_[at_],  //
      [&](const Let& let) { bind(let.local, value(let.value)); },
      [&](const Assign& to) { assign(to.local, value(to.value)); },
      [&](const Store& to) { store(to); }, [&](const Atomic& atomic) { update(atomic); },
      [&](const If& branch) {
        ShaderValue condition = value(branch.condition);
        if (must_be_same(branch.end, branch.condition)) condition = same(condition);
        speller_.begin_if(ops_.truth(condition));
      },
      [&](const For& loop) {
        const Part from = bound(loop.end, loop.from);
        const Part to = bound(loop.end, loop.to);
        const Part variable = speller_.begin_for(body_[loop.variable].name, from, to);
        locals_[loop.variable.index] = ShaderValue::word(variable);
        loops_.emplace_back(at_, loop.end);
      },
      [&](const Break&) { speller_.leave_loop(); }, [&](const Return&) { speller_.finish(); },
      [&](const Barrier&) { speller_.barrier(); },
      [&](const Collective& load) { bind(load.result, same(value(load.value))); },
      Nothing<Block, SetElement, Continue>{});
}

void ShaderWriter::close(const OpenBlock& closed, const OpenBlock& now) {
  const Stmt& owner = body_.stmts[closed.owner];
  if (std::holds_alternative<For>(owner)) {
    loops_.pop_back();
    return speller_.end_for();
  }
  if (std::holds_alternative<If>(owner)) {
    is_else_of(now, closed) ? speller_.begin_else() : speller_.end_if();
  }
}

// Whether a target has to be told that a condition is the same in the workgroup, since invocations
// wait for each other, or leave what has them wait, under it.
bool ShaderWriter::must_be_same(StmtId end, ExprId id) const {
  const Uniformity& uniform = lowered_.shapes.uniformity;
  if (!waits_ || plain_[id.index] || !uniform[at_] || !uniform[id]) return false;
  const auto any = [&](StmtId from, StmtId to, const auto& is) {
    return std::any_of(body_.stmts.begin() + from.index, body_.stmts.begin() + to.index, is);
  };
  const auto is_break = [](const Stmt& stmt) { return std::holds_alternative<Break>(stmt); };
  const auto is_return = [](const Stmt& stmt) { return std::holds_alternative<Return>(stmt); };
  if (any(at_, end, &waits)) return true;
  const bool loop_waits = !loops_.empty() && any(loops_.back().first, loops_.back().second, &waits);
  if (loop_waits && any(at_, end, is_break)) return true;
  if (!any(at_, end, is_return)) return false;
  const StmtId outermost = loops_.empty() ? at_ : loops_.front().first;
  return any(outermost, StmtId{body_.stmts.size()}, &waits);
}

// A bound of a loop.
ShaderPart ShaderWriter::bound(StmtId end, ExprId id) {
  const ShaderValue number = ops_.whole(value(id));
  return must_be_same(end, id) ? same(number).parts[0] : ops_.kept(number).parts[0];
}

ShaderValue ShaderWriter::same(const ShaderValue& value) {
  ShaderValue result = value;
  const DataType type = value.is_test ? DataType::Bool : shader_part_type(value.type);
  for (Part& part : result.parts) {
    if (part.exists() && !part.is_literal()) part = speller_.same_for_all(type, part);
  }
  return result;
}

// A value as a local takes it that is a test, or is none.
ShaderValue ShaderWriter::fitting(const ShaderValue& given, bool is_test) {
  if (!is_test) return ops_.whole(given);
  return {given.type, true, {ops_.truth(given)}};
}

void ShaderWriter::bind(LocalId local, const ShaderValue& given) {
  const Lowered::Local& facts = lowered_.locals[local.index];
  const DataType type = types_[local];
  bool is_test = given.is_test;
  if (facts.is_assigned) {
    is_test = type == DataType::Bool || (type == DataType::U32 && facts.is_test);
  }
  const ShaderValue from = fitting(given, is_test);
  ShaderValue& held = locals_[local.index];
  held = {type, is_test, {}};
  const DataType each = is_test ? DataType::Bool : shader_part_type(type);
  const std::uint32_t count = lane_count(type);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name = body_[local].name;
    if (count > 1) name += std::string("_") + kAxes[i];
    const Part& part = from.parts[i];
    if (facts.is_assigned) {
      held.parts[i] = speller_.declare(each, name, part);
    } else {
      held.parts[i] = part.is_literal() ? part : speller_.keep(each, name, part);
    }
  }
}

void ShaderWriter::assign(LocalId local, const ShaderValue& given) {
  const ShaderValue& to = locals_[local.index];
  ShaderValue from = fitting(given, to.is_test);
  const std::uint32_t count = lane_count(to.type);
  if (count > 1) from = ops_.kept(from);  // parts may change places
  const DataType each = to.is_test ? DataType::Bool : shader_part_type(to.type);
  for (std::uint32_t i = 0; i < count; ++i) speller_.assign(each, to.parts[i], from.parts[i]);
}

void ShaderWriter::store(const Store& stmt) {
  const AccessPlace& at = places_.at(lowered_.bounds, at_);
  ShaderValue what = ops_.whole(value(stmt.value));
  const bool is_packed = at.pack != AccessPlace::kNoPack;
  if (is_packed) {
    const AccessPack& pack = places_.packs[at.pack];
    std::vector<ShaderValue>& all = packed_[at.pack].values;
    all.resize(pack.width);
    all[at.lane] = ops_.kept(what);  // a local may have another value when the last one comes
    if (pack.at != at_) return;
  }
  const std::vector<ShaderValue> values =
      is_packed ? packed_[at.pack].values : std::vector<ShaderValue>{what};
  const ExprId base = is_packed ? places_.packs[at.pack].base : at.base;
  const std::int64_t offset = is_packed ? places_.packs[at.pack].offset : at.offset;
  const Part condition = runs(stmt.buffer, at);
  const Part first = element(base, offset);
  std::vector<Part> words;
  const DataType type = decl(stmt.buffer).element;
  const std::uint32_t width = 8 * stride(type);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Words each = ops_.words_of(values[i]);
    if (!is_narrow(type)) {
      words.insert(words.end(), each.begin(), each.begin() + stride(type) / 4);
      continue;
    }
    Part low = ops_.word(Operation::BitAnd, each[0], literal((1u << width) - 1));
    const std::size_t bit = elements_[stmt.buffer.index].is_packed ? i * width % 32 : 0;
    low = ops_.word(Operation::Shl, low, literal(bit));
    bit == 0 ? words.push_back(low)
             : static_cast<void>(words.back() = ops_.word(Operation::BitOr, words.back(), low));
  }
  if (condition.exists()) speller_.begin_if(condition);
  if (elements_[stmt.buffer.index].is_packed && values.size() * width < 32) {
    const Part mask = literal((std::uint64_t{1} << (values.size() * width)) - 1);
    const Part bit = bit_at(stmt.buffer, first);
    // Also under the condition: SwiftShader loads what lanes that do not run it would.
    speller_.replace(
        elements_[stmt.buffer.index].memory, guarded(condition, word_at(stmt.buffer, first)),
        ops_.word(Operation::Shl, mask, bit), ops_.word(Operation::Shl, words[0], bit));
  } else {
    put_words(stmt.buffer, first, words);
  }
  if (condition.exists()) speller_.end_if();
}

void ShaderWriter::put_words(BufferId buffer, const Part& first, std::span<const Part> words) {
  Part begin = word_at(buffer, first);
  if (words.size() > 1) begin = ops_.kept(DataType::U32, begin);
  for (std::size_t i = 0; i < words.size(); ++i) {
    speller_.store(elements_[buffer.index].memory, ops_.word(Operation::Add, begin, literal(i)),
                   words[i]);
  }
}

void ShaderWriter::update(const Atomic& stmt) {
  const AccessPlace& at = places_.at(lowered_.bounds, at_);
  const auto word_of = [&](ExprId id) {
    return id.exists() ? ops_.kept(DataType::U32, ops_.words_of(value(id))[0]) : Part{};
  };
  const Part expected = word_of(stmt.expected);
  const Part operand = word_of(stmt.value);
  const Part condition = runs(stmt.buffer, at);
  const Part word = word_at(stmt.buffer, element(at.base, at.offset));
  const Part first = ops_.kept(DataType::U32, guarded(condition, word));
  const std::uint32_t memory = elements_[stmt.buffer.index].memory;
  const auto put = [&] { return speller_.update(memory, stmt.op, first, expected, operand); };
  if (!condition.exists()) {
    const Part old = put();
    if (stmt.result.exists()) bind(stmt.result, ops_.of_words(types_[stmt.result], {old}));
    return;
  }
  Part result;
  if (stmt.result.exists()) result = speller_.declare(DataType::U32, "old", literal(0));
  speller_.begin_if(condition);
  const Part old = put();
  if (result.exists()) speller_.assign(DataType::U32, result, old);
  speller_.end_if();
  if (!result.exists()) return;
  bind(stmt.result, ops_.of_words(types_[stmt.result], {speller_.read(DataType::U32, result)}));
}

// --- Expressions --------------------------------------------------------------------------------

void ShaderWriter::add_access(std::vector<ExprId>& needs, const AccessPlace& at,
                              bool is_load) const {
  const auto need = [&](ExprId id) {
    if (id.exists()) needs.push_back(id);
  };
  if (at.pack != AccessPlace::kNoPack) {
    const AccessPack& pack = places_.packs[at.pack];
    if (is_load ? !packed_[at.pack].words.empty() : pack.at != at_) return;
    need(pack.base);
  } else {
    need(at.base);
  }
  if (at.checked) need(at.index);
  need(at.condition);
}

std::vector<ExprId> ShaderWriter::needs_of(ExprId id) const {
  const Expr& expr = body_[id];
  std::vector<ExprId> needs;
  if (expr.op == Operation::Load) {
    if (!is_limits(BufferId{expr.imm})) {
      add_access(needs, places_.at(lowered_.bounds, at_, id), true);
    }
  } else {
    for (ExprId operand : operands(body_, expr)) needs.push_back(operand);
  }
  return needs;
}

std::vector<ExprId> ShaderWriter::needs_of_statement() const {
  std::vector<ExprId> needs;
  const auto need = [&](ExprId id) {
    if (id.exists()) needs.push_back(id);
  };
  visit(
      body_[at_],  //
      [&](const Let& let) { need(let.value); }, [&](const Assign& to) { need(to.value); },
      [&](const Store& to) {
        add_access(needs, places_.at(lowered_.bounds, at_), false);
        need(to.value);
      },
      [&](const Atomic& atomic) {
        add_access(needs, places_.at(lowered_.bounds, at_), false);
        need(atomic.expected);
        need(atomic.value);
      },
      [&](const If& branch) { need(branch.condition); },
      [&](const For& loop) {
        need(loop.from);
        need(loop.to);
      },
      [&](const Collective& load) { need(load.value); },
      Nothing<Block, Break, Return, Barrier, SetElement, Continue>{});
  return needs;
}

// The values that a statement needs, operands first, each once. What is wanted several times is
// kept.
void ShaderWriter::compute(const std::vector<ExprId>& roots) {
  std::vector<ExprId> order;
  std::vector<ExprId> work(roots.rbegin(), roots.rend());
  const std::uint32_t now = at_.index + 1;
  for (ExprId id : work) {
    Known& known = memo_[id.index];
    if (known.seen != now) known = {now, 0, false, {}};
    ++known.uses;
  }
  while (!work.empty()) {
    const ExprId id = work.back();
    Known& known = memo_[id.index];
    if (known.is_made) {  // its needs are in the order already
      work.pop_back();
      continue;
    }
    const std::vector<ExprId> needs = needs_of(id);
    const std::size_t size = work.size();
    for (ExprId need : needs | std::views::reverse) {
      Known& other = memo_[need.index];
      if (other.seen != now) other = {now, 0, false, {}};
      if (!other.is_made) work.push_back(need);
    }
    if (work.size() > size) continue;
    work.pop_back();
    for (ExprId need : needs) ++memo_[need.index].uses;
    known.is_made = true;
    order.push_back(id);
  }
  for (ExprId id : order) {
    const bool is_shared = memo_[id.index].uses > 1;
    const ShaderValue value = made(id);
    memo_[id.index].value = is_shared ? ops_.kept(value) : value;
  }
}

ShaderValue ShaderWriter::local(LocalId id) {
  ShaderValue value = locals_[id.index];
  if (!lowered_.locals[id.index].is_assigned) return value;
  const DataType each = value.is_test ? DataType::Bool : shader_part_type(value.type);
  for (Part& part : value.parts) {
    if (part.exists()) part = speller_.read(each, part);
  }
  return value;
}

ShaderValue ShaderWriter::made(ExprId id) {
  const Expr& expr = body_[id];
  const auto arg = [&](std::size_t i) { return value(operands(body_, expr)[i]); };
  switch (expr.op) {
    case Operation::Literal: return ops_.constant(type_of_detail(expr), literal_bits(body_, expr));
    case Operation::Local: return local(LocalId{expr.imm});
    case Operation::Load: return load(id);
    case Operation::Length: return ShaderValue::word(elements_[expr.imm].length);
    case Operation::InvocationId: return ShaderValue::word(invocation_[expr.detail]);
    case Operation::WorkgroupId: return ShaderValue::word(group_[expr.detail]);
    case Operation::LocalId: return ShaderValue::word(local_[expr.detail]);
    case Operation::NumWorkgroups:
      return ShaderValue::word(speller_.parameter(kGroups + expr.detail));
    case Operation::Select: return ops_.select(arg(0), arg(1), arg(2));
    case Operation::Cast: return ops_.cast(type_of_detail(expr), arg(0));
    case Operation::Vec2:
    case Operation::Vec4: {
      ShaderValue vector{types_[id], false, {}};
      for (std::size_t i = 0; i < lane_count(vector.type); ++i) {
        vector.parts[i] = ops_.whole(arg(i)).parts[0];
      }
      return vector;
    }
    case Operation::Lane: return ShaderValue::word(arg(0).parts[expr.detail]);
#define WRITTEN(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      break;  // expanded long ago
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      return ops_.apply(expr.op, arg(0), arity(expr.op) == 1 ? ShaderValue{} : arg(1),
                        places_.divisors[id.index]);
  }
  return {};
}

// --- Memory -------------------------------------------------------------------------------------

// What has to hold for an access to happen, if anything.
ShaderPart ShaderWriter::runs(BufferId buffer, const AccessPlace& at) {
  Part condition;
  if (at.condition.exists()) condition = ops_.truth(value(at.condition));
  if (at.checked) {
    const Part index = ops_.whole(value(at.index)).parts[0];
    const Part inside =
        speller_.binary(Operation::Lt, DataType::U32, index, elements_[buffer.index].length);
    condition = condition.exists()
                    ? speller_.binary(Operation::BitAnd, DataType::Bool, condition, inside)
                    : inside;
  }
  return condition.exists() ? ops_.kept(DataType::Bool, condition) : condition;
}

ShaderPart ShaderWriter::element(ExprId base, std::int64_t offset) {
  if (!base.exists()) return literal(static_cast<std::uint32_t>(offset));
  const Part number = literal(static_cast<std::uint32_t>(std::abs(offset)));
  const Part from = ops_.whole(value(base)).parts[0];
  return ops_.word(offset < 0 ? Operation::Sub : Operation::Add, from, number);
}

// The word that an element begins in.
ShaderPart ShaderWriter::word_at(BufferId buffer, const Part& element) {
  const ElementPlace& place = elements_[buffer.index];
  const std::uint32_t bytes = stride(decl(buffer).element);
  Part at = element;
  if (place.is_packed) {
    at = ops_.word(Operation::Shr, at, literal(bytes == 1 ? 2 : 1));
  } else if (!is_narrow(decl(buffer).element)) {
    at = ops_.word(Operation::Mul, at, literal(bytes / 4));
  }
  return ops_.word(Operation::Add, at, literal(place.first));
}

// The bit of that word, where elements share words.
ShaderPart ShaderWriter::bit_at(BufferId buffer, const Part& element) {
  if (!elements_[buffer.index].is_packed) return literal(0);
  const std::uint32_t width = 8 * stride(decl(buffer).element);
  const Part bits = ops_.word(Operation::Mul, element, literal(width));
  return ops_.word(Operation::BitAnd, bits, literal(32 - width));
}

// A word that is there in any case.
ShaderPart ShaderWriter::guarded(const Part& condition, const Part& at) {
  if (!condition.exists() || at.is(0)) return at;
  return speller_.select(DataType::U32, condition, at, literal(0));
}

ShaderPart ShaderWriter::load_word(BufferId buffer, const Part& first, std::uint32_t word,
                                   const Part& condition) {
  const Part at = ops_.word(Operation::Add, first, literal(word));
  const Part loaded = speller_.load(elements_[buffer.index].memory, at);
  if (!condition.exists()) return loaded;
  return speller_.select(DataType::U32, condition, loaded, literal(0));
}

ShaderValue ShaderWriter::load(ExprId id) {
  const Expr& expr = body_[id];
  const BufferId from{expr.imm};
  if (is_limits(from)) {
    return ShaderValue::word(speller_.parameter(kLimits + body_[expr.args[0]].imm));
  }
  const AccessPlace& at = places_.at(lowered_.bounds, at_, id);
  if (at.pack != AccessPlace::kNoPack) return from_pack(from, at);
  const DataType type = decl(from).element;
  const Part condition = runs(from, at);
  Part number = element(at.base, at.offset);
  if (elements_[from.index].is_packed) number = ops_.kept(DataType::U32, number);
  Part first = guarded(condition, word_at(from, number));
  if (is_narrow(type)) {
    return ops_.narrow(type, load_word(from, first, 0, condition), bit_at(from, number));
  }
  if (stride(type) > 4) first = ops_.kept(DataType::U32, first);
  Words words{};
  for (std::uint32_t i = 0; i < stride(type) / 4; ++i) {
    words[i] = load_word(from, first, i, condition);
  }
  return ops_.of_words(loaded_type(type), words);
}

// Of neighbours that are loaded together, when the first of them is wanted.
ShaderValue ShaderWriter::from_pack(BufferId buffer, const AccessPlace& at) {
  const AccessPack& pack = places_.packs[at.pack];
  const DataType type = decl(buffer).element;
  const bool is_packed = elements_[buffer.index].is_packed;
  const std::uint32_t bytes = is_packed ? stride(type) : std::max(4u, stride(type));
  std::vector<Part>& words = packed_[at.pack].words;
  if (words.empty()) {
    const Part condition = runs(buffer, at);
    const Part number = ops_.kept(DataType::U32, element(pack.base, pack.offset));
    const Part first = ops_.kept(DataType::U32, guarded(condition, word_at(buffer, number)));
    const std::uint32_t count = (pack.width * bytes + 3) / 4;
    for (std::uint32_t i = 0; i < count; ++i) {
      Part word = load_word(buffer, first, i, condition);
      if (pack.width * bytes < 4) word = ops_.word(Operation::Shr, word, bit_at(buffer, number));
      words.push_back(ops_.kept(DataType::U32, word));
    }
  }
  const std::uint32_t byte = at.lane * bytes;
  if (is_narrow(type)) return ops_.narrow(type, words[byte / 4], literal(byte % 4 * 8));
  Words own{};
  std::copy_n(words.begin() + byte / 4, bytes / 4, own.begin());
  return ops_.of_words(loaded_type(type), own);
}

}  // namespace

ShaderCall write_shader(const Lowered& lowered, ShaderSpeller& speller) {
  return ShaderWriter(lowered, speller).write();
}

}  // namespace vyre
