// What the gangs of a workgroup compute together. Each adds its part at the end of the statements
// before a collective; what all of them get is known when the last one has.
#include <algorithm>

#include "vyre/backends/cpu/gang_writer.h"
#include "vyre/ir/eval.h"

namespace vyre {
namespace {

using Value = Ir::Value;

std::string_view reduction_of(Operation op, bool is_signed) {
  if (op == Operation::Add) return "llvm.vector.reduce.add";
  if (op == Operation::BitAnd) return "llvm.vector.reduce.and";
  if (op == Operation::BitOr) return "llvm.vector.reduce.or";
  if (op == Operation::BitXor) return "llvm.vector.reduce.xor";
  if (op == Operation::Min) {
    return is_signed ? "llvm.vector.reduce.smin" : "llvm.vector.reduce.umin";
  }
  return is_signed ? "llvm.vector.reduce.smax" : "llvm.vector.reduce.umax";
}

}  // namespace

void GangWriter::begin_collective(StmtId id) {
  begin_statement(id);
  const auto& all = std::get<Collective>(body_[id]);
  const DataType type = facts_.types[all.result];
  const unsigned bytes = part_bits(type) / 8;
  const Ir::Type part = moves_.part_type(type);
  const Lanes identity = ops_.constant(type, collective_identity(all.op, type));
  switch (info(all.op).shape) {
    case CollectiveShape::All:
    case CollectiveShape::Before:
      combined_ = frame_.make_slot(ir_.vector(part), std::uint64_t{width_} * bytes, "combined",
                                   facts_.is_large);
      ir_.store(ops_.splat(identity).parts[0], frame_.address(combined_));
      break;
    case CollectiveShape::One:
      combined_ = frame_.make_slot(part, bytes, "one", facts_.is_large);
      ir_.store(ir_.zero(part), frame_.address(combined_));
      break;
    case CollectiveShape::Own: {
      const std::uint64_t gangs = facts_.layout.gangs;
      const auto make = [&](Ir::Type lane, std::uint64_t each, const char* name) {
        const std::uint64_t bytes_all = gangs * width_ * each;
        const bool is_shared = facts_.is_large || !frame_.take_stack(bytes_all);
        return frame_.make_slot(ir_.array(ir_.vector(lane), gangs), bytes_all, name, is_shared);
      };
      if (!exchanged_.exists()) exchanged_ = make(ir_.i64, 8, "exchanged");
      if (!wanted_.exists()) wanted_ = make(ir_.i32, 4, "wanted");
      break;
    }
  }
}

// Of the lanes of a gang in memory that all of them share.
Value GangWriter::shared_lanes(const Slot& slot, Ir::Type type, Value gang) {
  return ir_.at(type, frame_.address(slot), gang);
}

// The part of a gang, all of whose lanes take part.
void GangWriter::contribute(const Collective& all) {
  const DataType type = facts_.types[all.result];
  switch (info(all.op).shape) {
    case CollectiveShape::All:
    case CollectiveShape::Before: {
      Lanes given = ops_.splat(ops_.whole(value(all.value)));
      if (mask_) {
        const Lanes identity = ops_.constant(type, collective_identity(all.op, type));
        given = ops_.select(ops_.bit(mask_), given, ops_.splat(identity));
      }
      info(all.op).shape == CollectiveShape::All ? add_to_sum(all, given) : scan(all, given);
      break;
    }
    case CollectiveShape::One: {
      const Value chosen = ir_.zext(word(all.invocation), 64);
      const std::uint64_t count = facts_.layout.rows * facts_.layout.row_invocations;
      const Value is_here = ir_.equal(chosen / width_, gang_) & (chosen < count);
      ++time_;
      ir_.only_if(is_here, "chosen", "others", [&] {
        const Value given = ops_.splat(ops_.whole(value(all.value))).parts[0];
        const Value lane = ir_.trunc(chosen & (width_ - 1), 32);
        ir_.store(ir_.lane(given, lane), frame_.address(combined_));
      });
      ++time_;
      break;
    }
    case CollectiveShape::Own: {
      const Value given = ops_.splat(ops_.whole(value(all.value))).parts[0];
      const Value wanted = words(all.invocation);
      ir_.store(given, shared_lanes(exchanged_, ir_.type(given), gang_));
      ir_.store(wanted, shared_lanes(wanted_, ir_.type(wanted), gang_));
      break;
    }
  }
}

void GangWriter::add_to_sum(const Collective& all, const Lanes& given) {
  const Value memory = frame_.address(combined_);
  const Lanes before{given.type, {ir_.load(ir_.type(given.parts[0]), memory)}};
  ir_.store(ops_.apply(info(all.op).operation, before, given).parts[0], memory);
}

// Gangs come in their order. Every lane has what the gangs before have combined, and each adds its
// own.
void GangWriter::scan(const Collective& all, const Lanes& given) {
  const Operation op = info(all.op).operation;
  const DataType type = given.type;
  const Value none = ops_.splat(ops_.constant(type, collective_identity(all.op, type))).parts[0];
  const auto combine = [&](Value a, Value b) {
    return ops_.apply(op, {type, {a}}, {type, {b}}).parts[0];
  };
  Value sums = given.parts[0];  // of the lanes up to each
  for (unsigned by = 1; by < width_; by *= 2) {
    sums = combine(moves_.window(none, sums, width_ - by), sums);
  }
  const Value memory = frame_.address(combined_);
  const Value before = ir_.load(ir_.type(sums), memory);
  const std::vector<unsigned> last(width_, width_ - 1);
  ir_.store(combine(before, ir_.shuffle(sums, sums, last)), memory);
  give(all.result, {type, {combine(before, moves_.window(none, sums, width_ - 1))}});
}

// Calls give() for each gang.
template <class Give>
void GangWriter::for_each_gang(Give give) {
  const auto call = [&](Value gang) {
    gang_ = gang;
    ++time_;
    give();
  };
  const std::uint64_t gangs = facts_.layout.gangs;
  if (facts_.can_unroll) {
    for (std::uint64_t i = 0; i < gangs; ++i) call(ir_.wide(i));
  } else {
    ir_.loop("gangs", ir_.wide(0), ir_.wide(gangs), call);
  }
  gang_ = nullptr;
}

void GangWriter::end_collective(StmtId id) {
  begin_statement(id);
  const auto& all = std::get<Collective>(body_[id]);
  const CollectiveShape shape = info(all.op).shape;
  if (shape == CollectiveShape::Before) return;
  if (shape == CollectiveShape::Own) return hand_out(all);
  const DataType type = facts_.types[all.result];
  const Ir::Type part = moves_.part_type(type);
  const bool is_sum = shape == CollectiveShape::All;
  Value result = ir_.load(is_sum ? ir_.vector(part) : part, frame_.address(combined_));
  if (is_sum) result = ir_.call(reduction_of(info(all.op).operation, has_sign(type)), {result});
  if (facts_.locals[all.result.index].is_one) return give_all(all.result, result);
  for_each_gang([&] { give(all.result, {type, {result}}); });
}

// To each lane the value of the one that it wants.
void GangWriter::hand_out(const Collective& all) {
  const DataType type = facts_.types[all.result];
  const DataType word = part_bits(type) == 64 ? DataType::U64 : DataType::U32;
  BufferSlot memory;
  memory.address = frame_.address(exchanged_);
  memory.length = ir_.wide(facts_.layout.rows * facts_.layout.row_invocations);
  const auto find = [&](Value wanted) {
    const Value mask = frame_.in_bounds(wanted, memory);
    if (!facts_.is_unit_row(all.invocation)) return gather(word, memory, wanted, mask, true);
    // The first lane of a row may be below zero.
    const Value first = ir_.sext(ir_.lane(wanted, 0u), 64);
    const Value from = ir_.at(moves_.part_type(type), memory.address, first);
    return moves_.load_row(word, from, mask);
  };
  for_each_gang([&] {
    const Ir::Type lanes = ir_.vector(ir_.i32);
    const Value wanted = ir_.load(lanes, shared_lanes(wanted_, lanes, gang_));
    give(all.result, {type, {find(wanted).parts[0]}});
  });
}

}  // namespace vyre
