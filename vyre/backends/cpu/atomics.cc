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
    case AtomicOp::CompareExchange: break;  // which has an instruction of its own
  }
  return {Rmw::Exchange, {}, Operation::Add};  // they do not commute: no thread has a copy
}

}  // namespace

Value GangWriter::update(AtomicOp op, DataType element, bool is_own, Value pointer, Value expected,
                         Value value) {
  const Update how = update_of(op, has_sign(element));
  const llvm::Api& api = ir_.api();
  if (is_own) {
    const Value old = ir_.load(ir_.i32, pointer, 4);
    const auto lanes = [&](Value of) { return Lanes{element, false, {of}}; };
    ir_.store(ops_.apply(how.operation, lanes(old), lanes(value)).parts[0], pointer, 4);
    return old;
  }
  if (op == AtomicOp::CompareExchange) {
    const Value both = api.BuildAtomicCmpXchg(ir_.builder(), pointer, expected, value,
                                              llvm::kSequential, llvm::kSequential, 0);
    return api.BuildExtractValue(ir_.builder(), both, 0, "");
  }
  return api.BuildAtomicRMW(ir_.builder(), static_cast<int>(how.instruction), pointer, value,
                            llvm::kSequential, 0);
}

// All lanes update one element at once.
void GangWriter::update_together(const Atomic& atomic, const BufferSlot& buffer, bool is_own) {
  const DataType element = facts_.element(atomic.buffer);
  Value given = words(atomic.value);
  if (mask_ != nullptr) {
    given = ir_.select(mask_, given, ir_.splat_number(ir_.i32, neutral(atomic.op, element)));
  }
  const Value pointer =
      element_pointer(buffer, element, word(atomic.index), is_inside({}), frame_.sink);
  const std::string_view reduction = update_of(atomic.op, has_sign(element)).reduction;
  update(atomic.op, element, is_own, pointer, nullptr, ir_.call(reduction, {given}));
}

// Whether a value takes few operations on loads of rows, all of which are in bounds.
bool GangWriter::is_cheap(StmtId stmt, ExprId id, unsigned depth) const {
  if (facts_.is_scalar(id)) return true;
  const Expr& expr = body_[id];
  if (depth == 0 || facts_.types[id] != DataType::U32) return false;
  if (expr.op == Operation::Local) {
    const StmtId declared = facts_.locals[expr.imm].declared;
    const ExprId bound = facts_.bound[expr.imm];
    return bound.exists() && facts_.segments[declared.index] == facts_.segments[stmt.index] &&
           is_cheap(declared, bound, depth - 1);
  }
  if (expr.op == Operation::Load) {
    return !is_written(facts_.access(BufferId{expr.imm})) && fast_->starts.contains(expr.args[0]) &&
           facts_.shapes[expr.args[0]].stride == 1 && fast_->in_bounds.contains({stmt, id});
  }
  if (expr.op != Operation::Shr && expr.op != Operation::BitAnd && expr.op != Operation::Add) {
    return false;
  }
  return std::ranges::all_of(operands(body_, expr),
                             [&](ExprId arg) { return is_cheap(stmt, arg, depth - 1); });
}

// Such a value in one lane.
Lanes GangWriter::of_lane(ExprId id, unsigned lane) {
  if (facts_.is_scalar(id)) return scalar(id);
  const Expr& expr = body_[id];
  if (expr.op == Operation::Local) return of_lane(facts_.bound[expr.imm], lane);
  if (expr.op == Operation::Load) {
    const Value row = row_address(BufferId{expr.imm}, expr.args[0], false);
    return {DataType::U32, false, {ir_.load(ir_.i32, ir_.at(ir_.i32, row, ir_.wide(lane)), 4)}};
  }
  const Lanes first = of_lane(expr.args[0], lane);
  return ops_.apply(expr.op, first, of_lane(expr.args[1], lane));
}

// All lanes, one after the other, in memory of the thread. Each lane's index by itself, or through
// memory, is faster than from lane to lane.
void GangWriter::update_own(const Atomic& atomic, const BufferSlot& buffer, Value index,
                            Value given) {
  const DataType element = facts_.element(atomic.buffer);
  const bool by_itself = is_fast() && is_cheap(at_, atomic.index, 4);
  const Value indices = by_itself ? nullptr : ir_.local(ir_.vector(ir_.i32), "indices");
  if (!by_itself) ir_.api().SetVolatile(ir_.store(index, indices), 1);
  for (unsigned lane = 0; lane < width_; ++lane) {
    Value at;
    if (by_itself) {
      at = ops_.whole(of_lane(atomic.index, lane)).parts[0];
    } else {
      at = ir_.load(ir_.i32, ir_.at(ir_.i32, indices, ir_.wide(lane)), 4);
      ir_.api().SetVolatile(at, 1);
    }
    const Value pointer = frame_.element_address(buffer, element, at);
    update(atomic.op, element, true, pointer, nullptr, ir_.lane(given, lane));
  }
}

// One lane after the other, those that are on and in bounds; gives what they found.
Value GangWriter::update_each(const Atomic& atomic, const BufferSlot& buffer, bool is_own) {
  const DataType element = facts_.element(atomic.buffer);
  const Value index = words(atomic.index);
  const Value given = words(atomic.value);
  const Value expected = atomic.expected.exists() ? words(atomic.expected) : given;
  const bool inside = is_inside({});
  if (is_own && mask_ == nullptr && inside) {
    update_own(atomic, buffer, index, given);
    return nullptr;
  }
  const Ir::Type whole = ir_.vector(ir_.i32);
  Value mask = full_mask();
  if (!inside) mask = ir_.both(mask, frame_.in_bounds(index, buffer));
  const Value results = atomic.result.exists() ? ir_.local(whole, "old") : nullptr;
  if (results != nullptr) ir_.store(ir_.zero(whole), results);
  const Value bits = moves_.to_bits(mask);
  const Ir::Block before = ir_.here();
  const Ir::Block head = ir_.block("lanes");
  const Ir::Block lane_begin = ir_.block("lane");
  const Ir::Block after = ir_.block("lanes.end");
  ir_.jump(head);
  ir_.go_on(head);
  const Value left = ir_.phi(ir_.i64, {{bits, before}});
  ir_.branch(ir_.not_zero(left), lane_begin, after);
  ir_.go_on(lane_begin);
  const Value lane = ir_.call("llvm.cttz", {left, ir_.ones(ir_.boolean)});
  const Value pointer = frame_.element_address(buffer, element, ir_.lane(index, lane));
  const Value if_this = ir_.lane(expected, lane);
  const Value value = ir_.lane(given, lane);
  const Value old = update(atomic.op, element, is_own, pointer, if_this, value);
  if (results != nullptr) {
    ir_.store(ir_.with_lane(ir_.load(whole, results), lane, old), results);
  }
  Value rest = ir_.both(left, ir_.sub(left, ir_.wide(1)));
  Ir::Block end = ir_.here();
  ir_.jump(head);
  ir_.api().AddIncoming(left, &rest, &end, 1);
  ir_.go_on(after);
  return results == nullptr ? nullptr : ir_.load(whole, results);
}

void GangWriter::atomic(const Atomic& atomic) {
  const BufferSlot& buffer = frame_.buffer(atomic.buffer);
  const auto update_in = [&](const BufferSlot& memory, bool is_own) {
    if (commutes(atomic.op) && !atomic.result.exists() && facts_.is_scalar(atomic.index)) {
      return update_together(atomic, memory, is_own);
    }
    const Value found = update_each(atomic, memory, is_own);
    if (found != nullptr) give(atomic.result, {facts_.types[atomic.result], false, {found}});
  };
  if (buffer.copy == nullptr) return update_in(buffer, false);
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
