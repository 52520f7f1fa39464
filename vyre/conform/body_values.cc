// Types, operations and casts come from their tables.
#include <algorithm>
#include <utility>

#include "vyre/conform/body_generator.h"

namespace vyre {
namespace {

// By the type of the result: what needs nothing but operands.
MakersByType make_operations() {
  using enum DataType;
  MakersByType makers;
  const auto add = [&](DataType result, Operation op, std::size_t detail,
                       std::vector<DataType> operands) {
    makers[static_cast<std::size_t>(result)].push_back(
        {op, static_cast<std::uint8_t>(detail), 0, std::move(operands)});
  };
  const std::vector<DataType> types = value_types();
  for (const OperationInfo& row : all_operations()) {
    if (is_form(row.op)) continue;
    for (DataType first : types) {
      if (!contains(row.types, first)) continue;
      std::vector<DataType> operands{first};
      if (row.arity == 2) operands.push_back(second_operand(row.op, first));
      add(result_of(row.op, first), row.op, 0, std::move(operands));
    }
  }
  for (DataType type : types) {
    for (DataType source : types) {
      if (!cast_exists(source, type)) continue;
      add(type, Operation::Cast, static_cast<std::size_t>(type), {source});
    }
    for (DataType truth : {U32, Bool}) add(type, Operation::Select, 0, {truth, type, type});
  }
  add(Vec2U32, Operation::Vec2, 0, {U32, U32});
  add(Vec4U32, Operation::Vec4, 0, {U32, U32, U32, U32});
  for (DataType vector : {Vec2U32, Vec4U32}) {
    for (std::uint32_t lane = 0; lane < lane_count(vector); ++lane) {
      add(U32, Operation::Lane, lane, {vector});
    }
  }
  return makers;
}

const MakersByType& operations() {
  static const MakersByType makers = make_operations();
  return makers;
}

}  // namespace

std::vector<DataType> value_types() {
  std::vector<DataType> types;
  for (const TypeInfo& row : all_types()) {
    if (is_value_type(row.type)) types.push_back(row.type);
  }
  return types;
}

Bits random_value(Random& random, DataType type) {
  const std::uint32_t width = info(type).width;
  const std::uint32_t choice = random.below(6);
  const std::uint32_t bit = random.below(width);
  Bits bits;
  for (std::uint32_t lane = 0; lane * 32 < width; ++lane) {
    std::uint32_t& word = bits.lanes[lane];
    word = random.word();
    if (choice == 0) word = lane == 0 ? word % 8 : 0;
    if (choice == 1) word = ~std::uint32_t{0};
    if (choice == 2) word = lane == bit / 32 ? std::uint32_t{1} << bit % 32 : 0;
    if (choice == 3) word = lane == (width - 1) / 32 ? std::uint32_t{1} << (width - 1) % 32 : 0;
    if (width < 32) word &= (std::uint32_t{1} << width) - 1;
  }
  return bits;
}

void BodyGenerator::add_source(DataType type, Maker maker, bool uniform) {
  const auto tag = static_cast<std::size_t>(type);
  if (uniform) sources_[1][tag].push_back(maker);
  sources_[0][tag].push_back(maker);
}

void BodyGenerator::add_sources() {
  for (std::uint8_t axis = 0; axis < 3; ++axis) {
    add_source(DataType::U32, {Operation::InvocationId, axis}, false);
    add_source(DataType::U32, {Operation::LocalId, axis}, false);
    add_source(DataType::U32, {Operation::WorkgroupId, axis}, true);
    add_source(DataType::U32, {Operation::NumWorkgroups, axis}, true);
  }
  for (std::uint32_t i = 0; i < buffers_->size(); ++i) {
    add_source(DataType::U32, {Operation::Length, 0, i}, true);
    add_source(loaded_type(buffer(i).element), {Operation::Load, 0, i}, !is_writable(i));
  }
}

ExprId BodyGenerator::expr(DataType type, std::uint32_t depth, bool uniform) {
  if (is_array(type)) return array(type, depth, uniform);
  const std::uint32_t choice = random_.below(8);
  if (depth == 0 || choice < 2 || spent()) return leaf(type, uniform);
  if (random_.one_in(options_.dense ? 3 : 8)) return element(type, depth - 1, uniform);
  const auto tag = static_cast<std::size_t>(type);
  const std::vector<Maker>& sources = sources_[uniform ? 1 : 0][tag];
  if (choice < 4 && !sources.empty()) {
    const Maker& maker = random_.pick(sources);
    // What may not be read now is left alone, mostly.
    const bool idle = maker.op == Operation::Load && !allows(maker.imm, Use::Read);
    if (idle && !random_.one_in(8)) return leaf(type, uniform);
    return apply(maker, depth - 1, uniform);
  }
  if (choice == 4) {
    const auto call = affordable_call([&](DataType output) { return output == type; });
    if (call) return apply({Operation::Call, 0, *call}, depth - 1, uniform);
  }
  const Maker* maker = &random_.pick(operations()[tag]);
  // Tests are many, and leave little of their operands.
  const bool test = signature(maker->op) == Signature::Test;
  if (test && random_.one_in(2)) maker = &random_.pick(operations()[tag]);
  return apply(*maker, depth - 1, uniform);
}

ExprId BodyGenerator::apply(const Maker& maker, std::uint32_t depth, bool uniform) {
  if (maker.op == Operation::Load) {
    return load(maker.imm, index(maker.imm, Use::Read, depth, uniform));
  }
  const bool is_call = maker.op == Operation::Call;
  std::span<const DataType> operands = maker.operands;
  if (is_call) {
    const Callable& callee = callables_[maker.imm];
    spend(callee.size, callee.work);
    array_bytes_ += callee.array_bytes;
    operands = callee.signature.inputs;
  }
  std::vector<ExprId> args;
  for (DataType type : operands) {
    // The same operand twice is what algebra is interested in.
    const bool again = !args.empty() && type == operands[0] && random_.one_in(10);
    args.push_back(again ? args[0] : expr(type, depth, uniform));
  }
  if (is_call) return interner_.call(callables_[maker.imm].id, args);
  return make(maker.op, args, maker.detail, maker.imm);
}

// A local mostly, if need be of another type: constants hide what a backend does wrong.
ExprId BodyGenerator::leaf(DataType type, bool uniform) {
  std::vector<Visible> same, others;
  for (const Visible& candidate : visible_) {
    if (uniform && !candidate.uniform) continue;
    if (candidate.type == type) {
      same.push_back(candidate);
    } else if (cast_exists(candidate.type, type)) {
      others.push_back(candidate);
    }
  }
  spend(1, 1);
  const bool constant = random_.one_in(4);
  if (!same.empty() && !constant) return interner_.local(random_.pick(same).local);
  if (!others.empty() && !constant) {
    return cast(interner_.local(random_.pick(others).local), type);
  }
  if (!is_vector(type)) return literal(type);
  return vector(type, [&] { return literal(DataType::U32); });
}

ExprId BodyGenerator::literal(DataType type) {
  return interner_.literal(type, random_value(random_, type));
}

// As a value of another type to which every bit contributes.
ExprId BodyGenerator::condensed(ExprId value, DataType from, DataType to) {
  const std::uint32_t wanted = std::max(32u, min_bytes(to) * 8);
  std::uint32_t width = min_bytes(from) * 8;
  if (from == to) return value;
  if (width > wanted && is_vector(from)) {
    from = width == 64 ? DataType::U64 : DataType::U128;
    value = cast(value, from);
  }
  for (; width > wanted; width /= 2) {
    const ExprId upper = binary(Operation::Shr, value, number(width / 2));
    value = binary(Operation::BitXor, value, upper);
  }
  if (to == DataType::Bool) {
    if (from != DataType::U32) value = cast(value, DataType::U32);
    return cast(binary(Operation::BitAnd, value, number(1)), to);
  }
  if (!cast_exists(from, to)) value = cast(value, DataType::U128);
  return cast(value, to);
}

// A test that goes either way, or any value.
ExprId BodyGenerator::condition(bool uniform) {
  constexpr std::array kTests = {Operation::Eq, Operation::Ne, Operation::Lt,
                                 Operation::Gt, Operation::Le, Operation::Ge};
  const std::uint32_t choice = random_.below(8);
  if (choice == 0) return expr(DataType::Bool, uniform);
  if (choice == 1) return expr(DataType::U32, uniform);
  const Operation test = random_.pick(kTests);
  if (choice < 5 && !uniform && !is_op()) {
    const std::uint32_t axis = random_.below(3);
    const Operation which = random_.one_in(2) ? Operation::LocalId : Operation::InvocationId;
    const std::uint32_t bound = random_.below(shape_.size[axis] + 1);
    return binary(test, id(which, axis), number(bound));
  }
  const std::uint32_t mask = random_.one_in(2) ? 1 : 7;
  const ExprId any = expr(DataType::U32, options_.depth / 2, uniform);
  const std::uint32_t bound = random_.below(mask + 1);
  return binary(test, binary(Operation::BitAnd, any, number(mask)), number(bound));
}

ExprId BodyGenerator::leader_condition() {
  const ExprId place = linear(ids(Operation::LocalId), shape_.size);
  return binary(Operation::Eq, place, number(leader_));
}

}  // namespace vyre
