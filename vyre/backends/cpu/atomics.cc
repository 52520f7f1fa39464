#include <algorithm>

#include "vyre/backends/cpu/gang_writer.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

using Value = Ir::Value;

// An operation as an instruction of LLVM, as the sum of all lanes, and without atomicity.
struct Update {
  llvm::Rmw instruction;
  std::string_view reduction;
  Operation operation;
};
Update update_of(AtomicOp op, bool is_signed) {
  using llvm::Rmw;
  switch (op) {
    case AtomicOp::Add: return {Rmw::Add, "llvm.vector.reduce.add", Operation::Add};
    case AtomicOp::And: return {Rmw::And, "llvm.vector.reduce.and", Operation::BitAnd};
    case AtomicOp::Or: return {Rmw::Or, "llvm.vector.reduce.or", Operation::BitOr};
    case AtomicOp::Xor: return {Rmw::Xor, "llvm.vector.reduce.xor", Operation::BitXor};
    case AtomicOp::Min:
      return is_signed ? Update{Rmw::Min, "llvm.vector.reduce.smin", Operation::Min}
                       : Update{Rmw::UMin, "llvm.vector.reduce.umin", Operation::Min};
    case AtomicOp::Max:
      return is_signed ? Update{Rmw::Max, "llvm.vector.reduce.smax", Operation::Max}
                       : Update{Rmw::UMax, "llvm.vector.reduce.umax", Operation::Max};
    case AtomicOp::Exchange:
    case AtomicOp::Load:
    case AtomicOp::Store:
    case AtomicOp::CompareExchange: break;  // which has an instruction of its own
  }
  return {Rmw::Exchange, {}, Operation::Add};  // they do not commute: no thread has a copy
}

}  // namespace

Value GangWriter::update(AtomicOp op, DataType element, bool is_own, Value pointer, Value expected,
                         Value value) {
  if (op == AtomicOp::CompareExchange) return ir_.compare_exchange(pointer, expected, value);
  if (op == AtomicOp::Load) {
    const Value found = ir_.load(ir_.i32, pointer, 4);
    ir_.set_relaxed(found);
    return found;
  }
  if (op == AtomicOp::Store) {
    ir_.set_relaxed(ir_.store(value, pointer, 4));
    return nullptr;
  }
  const Update how = update_of(op, has_sign(element));
  if (!is_own) return ir_.update(how.instruction, pointer, value);
  const Value old = ir_.load(ir_.i32, pointer, 4);
  ir_.store(ops_.apply(how.operation, {element, {old}}, {element, {value}}).parts[0], pointer, 4);
  return old;
}

// All lanes update one element at once.
void GangWriter::update_together(const Atomic& atomic, const BufferSlot& buffer, bool is_own) {
  const DataType element = facts_.element(atomic.buffer);
  Value given = words(atomic.value);
  if (mask_) {
    given = ir_.select(mask_, given, neutral(atomic.op, element));
  }
  const Value pointer =
      element_pointer(buffer, element, word(atomic.index), is_inside({}), frame_.sink);
  const std::string_view reduction = update_of(atomic.op, has_sign(element)).reduction;
  update(atomic.op, element, is_own, pointer, nullptr, ir_.call(reduction, {given}));
}

// A value in one lane, if that takes few operations on loads of rows that are in bounds.
std::optional<Lanes> GangWriter::of_lane(StmtId stmt, ExprId id, unsigned lane, unsigned depth) {
  if (facts_.is_scalar(id)) return scalar(id);
  const Expr& expr = body_[id];
  if (depth == 0 || facts_.types[id] != DataType::U32) return std::nullopt;
  if (expr.op == Operation::Local) {
    const StmtId declared = facts_.locals[expr.imm].declared;
    const ExprId bound = facts_.bound[expr.imm];
    const bool is_here = facts_.segments[declared.index] == facts_.segments[stmt.index];
    if (!bound.exists() || !is_here) return std::nullopt;
    return of_lane(declared, bound, lane, depth - 1);
  }
  if (expr.op == Operation::Load) {
    const BufferId buffer{expr.imm};
    const ExprId index = expr.args[0];
    const bool is_row = fast_->starts.contains(index) && facts_.shapes[index].stride == 1 &&
                        facts_.has_constant_words(buffer) && fast_->in_bounds.contains({stmt, id});
    if (!is_row) return std::nullopt;
    const Value row = row_address(buffer, index, false);
    return Lanes{DataType::U32, {ir_.load(ir_.i32, ir_.at(ir_.i32, row, lane), 4)}};
  }
  if (expr.op != Operation::Shr && expr.op != Operation::BitAnd && expr.op != Operation::Add) {
    return std::nullopt;
  }
  const std::optional<Lanes> first = of_lane(stmt, expr.args[0], lane, depth - 1);
  if (!first) return std::nullopt;
  const std::optional<Lanes> second = of_lane(stmt, expr.args[1], lane, depth - 1);
  if (!second) return std::nullopt;
  return ops_.apply(expr.op, *first, *second);
}

// All lanes, one after the other, in memory of the thread. Each lane's index by itself, or through
// memory, is faster than from lane to lane.
void GangWriter::update_own(const Atomic& atomic, const BufferSlot& buffer, Value index,
                            Value given) {
  const DataType element = facts_.element(atomic.buffer);
  Value indices;
  for (unsigned lane = 0; lane < width_; ++lane) {
    Value at;
    if (const auto own = is_fast() ? of_lane(at_, atomic.index, lane, 4) : std::nullopt) {
      at = ops_.whole(*own).parts[0];
    } else {
      if (!indices) {
        indices = ir_.local(ir_.vector(ir_.i32), "indices");
        ir_.set_volatile(ir_.store(index, indices));
      }
      at = ir_.load(ir_.i32, ir_.at(ir_.i32, indices, lane), 4);
      ir_.set_volatile(at);
    }
    const Value pointer = frame_.element_address(buffer, element, at);
    update(atomic.op, element, true, pointer, nullptr, ir_.lane(given, lane));
  }
}

// One lane after the other, those that are on and in bounds; gives what they found.
Value GangWriter::update_each(const Atomic& atomic, const BufferSlot& buffer, bool is_own) {
  const DataType element = facts_.element(atomic.buffer);
  const Value index = words(atomic.index);
  const Value given = atomic.value.exists() ? words(atomic.value) : index;
  const Value expected = atomic.expected.exists() ? words(atomic.expected) : given;
  const bool inside = is_inside({});
  if (is_own && !mask_ && inside) {
    update_own(atomic, buffer, index, given);
    return nullptr;
  }
  const Ir::Type whole = ir_.vector(ir_.i32);
  Value mask = full_mask();
  if (!inside) mask = mask & frame_.in_bounds(index, buffer);
  const Value results = atomic.result.exists() ? ir_.local(whole, "old") : nullptr;
  if (results) ir_.store(ir_.zero(whole), results);
  const Value bits = moves_.to_bits(mask);
  const auto some_left = [&](Value left) { return ir_.not_zero(left); };
  ir_.loop({"lanes", "lane", "lanes.end"}, bits, some_left, [&](Value left) {
    const Value lane = ir_.call("llvm.cttz", {left, ir_.ones(ir_.boolean)});
    const Value pointer = frame_.element_address(buffer, element, ir_.lane(index, lane));
    const Value if_this = ir_.lane(expected, lane);
    const Value value = ir_.lane(given, lane);
    const Value old = update(atomic.op, element, is_own, pointer, if_this, value);
    if (results) ir_.store(ir_.with_lane(ir_.load(whole, results), lane, old), results);
    return left & (left - 1);
  });
  return results ? ir_.load(whole, results) : nullptr;
}

// An element that all lanes look at: once.
void GangWriter::load_atomically(const Atomic& atomic, const BufferSlot& buffer) {
  const DataType element = facts_.element(atomic.buffer);
  const Value pointer =
      element_pointer(buffer, element, word(atomic.index), is_inside({}), frame_.zeros);
  const Value found = update(atomic.op, element, false, pointer, nullptr, nullptr);
  if (atomic.result.exists()) give(atomic.result, {element, {found}});
}

void GangWriter::atomic(const Atomic& atomic) {
  const BufferSlot& buffer = frame_.buffer(atomic.buffer);
  if (atomic.op == AtomicOp::Load && facts_.is_scalar(atomic.index)) {
    return load_atomically(atomic, buffer);
  }
  const auto update_in = [&](const BufferSlot& memory, bool is_own) {
    if (commutes(atomic.op) && !atomic.result.exists() && facts_.is_scalar(atomic.index)) {
      return update_together(atomic, memory, is_own);
    }
    const Value found = update_each(atomic, memory, is_own);
    if (found) give(atomic.result, {facts_.types[atomic.result], {found}});
  };
  if (!buffer.copy) return update_in(buffer, false);
  BufferSlot copy = buffer;
  copy.address = buffer.copy;
  const auto update_copy = [&] { update_in(copy, true); };
  const auto update_shared = [&] {
    ++time_;
    update_in(buffer, false);
  };
  ir_.if_else(buffer.has_copy, {"own", "shared", "updated"}, update_copy, update_shared);
  ++time_;
}

}  // namespace vyre
