#include <algorithm>

#include "vyre/backends/cpu/gang_writer.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

using Value = Ir::Value;
using Kind = Shape::Kind;

bool is_bitwise(Operation op) {
  return op == Operation::BitAnd || op == Operation::BitOr || op == Operation::BitXor ||
         op == Operation::BitNot;
}

}  // namespace

// --- Expressions

Lanes GangWriter::scalar(ExprId id) {
  if (const std::optional<Lanes> lanes = outcome(id)) return *lanes;
  Known& known = firsts_[id.index];
  if (known.time != time_) {
    Lanes lanes = computed(id, true);
    // What is the same in all lanes may be made of what is not.
    for (Value& part : lanes.parts) {
      if (part && ir_.is_vector(part)) part = ir_.lane(part, 0u);
    }
    known = {time_, lanes};
  }
  return known.lanes;
}

Lanes GangWriter::value(ExprId id) {
  if (const std::optional<Lanes> lanes = outcome(id)) return *lanes;
  if (facts_.is_scalar(id)) return scalar(id);
  Known& known = values_[id.index];
  if (known.time == time_) return known.lanes;
  Lanes lanes;
  if (facts_.kind(id) == Kind::Linear) {
    lanes = ops_.whole(scalar(id));
    const auto step = static_cast<std::uint32_t>(facts_.shapes[id].stride);
    if (!ops_.is_vector(lanes)) {
      lanes.parts[0] = ir_.splat(lanes.parts[0]) + ir_.ramp(ir_.i32, 0, step);
    }
  } else {
    lanes = computed(id, false);
  }
  known = {time_, lanes};
  return lanes;
}

// What a test is in code without checks.
std::optional<Lanes> GangWriter::outcome(ExprId id) {
  const bool* holds = found_in(fast_->outcomes, id);
  if (holds == nullptr) return std::nullopt;
  return ops_.bit(ir_.number(ir_.boolean, *holds ? 1 : 0));
}

// In the first lane, or in all of them.
Lanes GangWriter::computed(ExprId id, bool in_first) {
  const Expr& expr = body_[id];
  const auto operand = [&](ExprId arg) { return in_first ? scalar(arg) : value(arg); };
  switch (expr.op) {
    case Operation::Literal: return ops_.constant(type_of_detail(expr), literal_bits(body_, expr));
    case Operation::Local: {
      const ExprId bound = facts_.bound[expr.imm];
      return at_entry_ && bound.exists() ? scalar(bound) : read_local(LocalId{expr.imm});
    }
    case Operation::Load: return load(id, expr);
    case Operation::Length: {
      const BufferSlot& buffer = frame_.buffer(BufferId{expr.imm});
      return {DataType::U32, {ir_.trunc(buffer.length, 32)}};
    }
    case Operation::InvocationId:
    case Operation::WorkgroupId:
    case Operation::LocalId: return id_of(expr);
    case Operation::Select: {
      const Lanes condition = operand(expr.args[0]);
      const Lanes yes = operand(expr.args[1]);
      return ops_.select(condition, yes, operand(expr.args[2]));
    }
    case Operation::Cast: return ops_.cast(type_of_detail(expr), operand(expr.args[0]));
    case Operation::Vec2:
    case Operation::Vec4: {
      bool vector = false;
      const std::span<const ExprId> args = operands(body_, expr);
      const Lanes made = lanes_of(facts_.types[id], [&](std::size_t i) {
        const Value part = ops_.whole(operand(args[i])).parts[0];
        vector = vector || ir_.is_vector(part);
        return part;
      });
      return vector ? ops_.splat(made) : made;
    }
    case Operation::Lane: return {DataType::U32, {operand(expr.args[0]).parts[expr.detail]}};
    case Operation::NumWorkgroups: return {DataType::U32, {frame_.grid[expr.detail]}};
#define WRITTEN(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      break;  // expanded before
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      {
        if (!in_first) {
          if (const std::optional<Lanes> lanes = of_three(id)) return *lanes;
        }
        const std::span<const ExprId> args = operands(body_, expr);
        const Lanes first = operand(args[0]);
        return long_ops_.apply(expr.op, first, operand(args[args.size() - 1]));
      }
  }
  return ops_.zero(facts_.types[id]);
}

Lanes GangWriter::id_of(const Expr& expr) {
  const std::uint32_t axis = expr.detail;
  const std::uint32_t size = facts_.program.workgroup_size[axis];
  const auto word = [](Value of) { return Lanes{DataType::U32, {of}}; };
  if (expr.op == Operation::WorkgroupId) return word(frame_.group[axis]);
  const Value local = size == 1 ? ir_.word(0) : first_[axis];
  if (expr.op == Operation::LocalId) return word(local);
  const bool is_row = facts_.is_limited && axis == 0;
  Value base = frame_.group[axis] * (is_row ? ir_.trunc(frame_.row_size, 32) : ir_.word(size));
  if (ir_.is_vector(local)) base = ir_.splat(base);
  return word(base + local);
}

// Adds what a value is made of by bitwise operations, and counts these. Gives whether it is not too
// much.
bool GangWriter::find_bits(ExprId id, std::vector<ExprId>& leaves, std::size_t& count) const {
  constexpr std::size_t kMaxCount = 8;
  const Expr& expr = body_[id];
  if (!is_bitwise(expr.op) || facts_.is_scalar(id)) {
    if (std::ranges::find(leaves, id) == leaves.end()) leaves.push_back(id);
    return leaves.size() <= 3;
  }
  return ++count <= kMaxCount && std::ranges::all_of(operands(body_, expr), [&](ExprId arg) {
    return find_bits(arg, leaves, count);
  });
}

// Several bitwise operations on three values, which AVX-512 does at once. LLVM does not see it for
// all of them, and takes long to look.
std::optional<Lanes> GangWriter::of_three(ExprId id) {
  const CpuTarget& target = facts_.target;
  const DataType type = facts_.types[id];
  std::vector<ExprId> leaves;
  std::size_t count = 0;
  if (!has_masks(target) || width_ * 32 != target.bits || !is_bitwise(body_[id].op) ||
      !contains(type_sets::Word, type) || !find_bits(id, leaves, count) || count < 2 ||
      leaves.size() != 3) {
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
  const Value made = ir_.call("llvm.x86.avx512.pternlog.d.512", {},
                              {parts[0], parts[1], parts[2], ir_.word(table(table, id))});
  return Lanes{type, {made}};
}

// Whether a value is one more than another. Under a mask, LLVM would add the mask as a number,
// which takes an instruction more than an addition that it masks: so it shall not know that it is
// one.
bool GangWriter::counts(ExprId id) const {
  const Expr& expr = body_[id];
  return has_masks(facts_.target) && expr.op == Operation::Add &&
         facts_.types[id] == DataType::U32 && body_[expr.args[1]].op == Operation::Literal &&
         body_[expr.args[1]].imm == 1;
}

Lanes GangWriter::counted(ExprId id) {
  const Value before = words(body_[id].args[0]);
  return {DataType::U32, {before + ir_.splat(ir_.hidden(ir_.i32, 1))}};
}

// --- At the beginning of a row

void GangWriter::begin_entry(StmtId begin) {
  at_entry_ = true;
  first_[0] = ir_.word(0);
  begin_statement(begin);
}

void GangWriter::begin_round_of(StmtId loop, std::uint32_t round) {
  ++time_;
  if (!loop.exists()) {
    first_[1] = ir_.word(round);
    return;
  }
  const For& counted = std::get<For>(body_[loop]);
  homes_[counted.variable.index].value = {DataType::U32, {word(counted.from) + round}};
  ++time_;
}

void GangWriter::end_entry() {
  at_entry_ = false;
  ++time_;
}

// --- Locals

Lanes GangWriter::read_local(LocalId local) {
  const LocalFacts& known = facts_.locals[local.index];
  const ExprId bound = facts_.bound[local.index];
  Home& home = homes_[local.index];
  const bool elsewhere = facts_.segments[known.declared.index] != facts_.segments[at_.index];
  if (bound.exists() && !known.crosses && elsewhere) return scalar(bound);
  const bool is_here = home.value.exists() && home.function == frame_.piece;
  if (is_here && !known.crosses) return home.value;
  if (!home.slots[0].exists()) return home.value;  // the variable of a loop around everything
  return lanes_of(facts_.types[local], [&](std::size_t i) {
    return ir_.load(slot_type(local), slot_address(local, i));
  });
}

// Of a part of a local, of one gang.
Ir::Type GangWriter::slot_type(LocalId local) {
  const Ir::Type part = moves_.part_type(facts_.types[local]);
  return facts_.locals[local.index].is_vector ? ir_.vector(part) : part;
}

Value GangWriter::slot_address(LocalId local, std::size_t part) {
  const Value all = frame_.address(homes_[local.index].slots[part]);
  if (!facts_.locals[local.index].crosses) return all;
  return ir_.at(slot_type(local), all, gang_ ? gang_ : ir_.wide(0));
}

void GangWriter::make_slots(LocalId local) {
  const LocalFacts& known = facts_.locals[local.index];
  const DataType type = facts_.types[local];
  for (std::size_t i = 0; i < part_count(type); ++i) {
    Ir::Type part = slot_type(local);
    std::uint64_t bytes = std::uint64_t{known.is_vector ? width_ : 1} * (part_bits(type) / 8);
    bool is_shared = known.is_shared;
    if (known.crosses) {
      part = ir_.array(part, facts_.layout.gangs);
      bytes *= facts_.layout.gangs;
      is_shared = facts_.is_large || !frame_.take_stack(bytes);
    }
    homes_[local.index].slots[i] =
        frame_.make_slot(part, bytes, body_[local].name.c_str(), is_shared);
  }
}

// A local gets its first value, or another one.
void GangWriter::give(LocalId local, const Lanes& given) {
  const LocalFacts& known = facts_.locals[local.index];
  Home& home = homes_[local.index];
  if (facts_.bound[local.index].exists() && !known.crosses) {
    home.value = given;
    home.function = frame_.piece;
    if (!known.is_shared) return;
  }
  Lanes lanes = ops_.whole(given);
  if (!home.slots[0].exists()) make_slots(local);
  if (known.is_vector) lanes = ops_.splat(lanes);
  for (std::size_t i = 0; i < part_count(facts_.types[local]); ++i) {
    // What is the same in all lanes may come from memory that each has for itself.
    const bool is_first = !known.is_vector && ir_.is_vector(lanes.parts[i]);
    ir_.store(is_first ? ir_.lane(lanes.parts[i], 0u) : lanes.parts[i], slot_address(local, i));
  }
}

// A local of which the workgroup has one gets its only value.
void GangWriter::give_all(LocalId local, Value given) {
  Home& home = homes_[local.index];
  home.value = {facts_.types[local], {given}};
  home.function = frame_.piece;
  if (facts_.locals[local.index].is_shared) ir_.store(given, frame_.address(home.slots[0]));
}

void GangWriter::share_locals() {
  for (std::size_t i = 0; i < homes_.size(); ++i) {
    if (facts_.locals[i].is_shared) make_slots(LocalId{i});
  }
}

void GangWriter::forget_locals() {
  for (Home& home : homes_) home = {};
}

}  // namespace vyre
