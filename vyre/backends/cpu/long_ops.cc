#include "vyre/backends/cpu/long_ops.h"

#include "vyre/ir/ops.h"

namespace vyre {

using Value = Ir::Value;

// --- Operations

Lanes LongOps::apply(Operation op, const Lanes& a, const Lanes& b) {
  const CpuFacts& facts = frame_.facts;
  const bool vectors = ops_.is_vector(a) || ops_.is_vector(b);
  const bool by_constant = b.exists() && ir_.is_constant(b.parts[0]);
  if (!facts.is_large || !vectors || !is_long(op, a.type, by_constant, facts.target)) {
    return ops_.apply(op, a, b);
  }
  put_operand(0, ops_.splat(ops_.whole(a)));
  put_operand(1, ops_.splat(ops_.whole(b)));
  std::string name(info(op).name);
  for (DataType type : {a.type, b.type}) name += "." + std::string(text(type));
  call(name, [this, op, left = a.type, right = b.type] {
    const Lanes first = get_operand(0, left);
    put_operand(2, ops_.whole(ops_.apply(op, first, get_operand(1, right))));
  });
  return get_operand(2, result_of(op, a.type));
}

// --- Accesses

bool LongOps::is_called(DataType element, bool is_store, bool is_row, Value mask) const {
  const CpuFacts& facts = frame_.facts;
  return facts.is_large && (mask || !is_row) &&
         is_long_access(element, is_store, is_row, facts.target);
}

// Calls what move(address, index, mask) writes.
template <class Move>
void LongOps::call_access(const std::string& name, Value address, Value index, Value mask,
                          Move move) {
  const Value on = mask ? ir_.sext(mask, 32) : ir_.ones(ir_.vector(ir_.i32));
  put_operand(1, {DataType::Vec2U32, {index, on}});
  ir_.store(address, operand(2));
  call(name, [this, move] {
    const Lanes where = get_operand(1, DataType::Vec2U32);
    const Value lanes = moves_.of_words(where.parts[1]);
    move(ir_.load(ir_.pointer(), operand(2)), where.parts[0], lanes);
  });
}

Lanes LongOps::gather(DataType element, Value address, Value index, Value mask) {
  call_access("gather." + std::string(text(element)), address, index, mask,
              [this, element](Value from, Value at, Value on) {
                put_operand(0, moves_.gather(element, from, at, on, false));
              });
  return get_operand(0, loaded_type(element));
}

void LongOps::scatter(DataType element, Value address, Value index, Value mask,
                      const Lanes& value) {
  put_operand(0, value);
  call_access("scatter." + std::string(text(element)), address, index, mask,
              [this, element](Value to, Value at, Value on) {
                moves_.scatter(element, to, at, on, get_operand(0, loaded_type(element)), false);
              });
}

// --- Functions and their operands

template <class Write>
void LongOps::call(const std::string& name, Write write) {
  const auto [found, is_new] = functions_.try_emplace(name);
  if (is_new) found->second = {frame_.declare_part(name), write};
  frame_.call_part(found->second.function);
}

void LongOps::write_functions() {
  for (const auto& [name, made] : functions_) {
    ir_.define(made.function, [&] { frame_.scratch = ir_.parameter(0); }, made.write);
  }
}

Value LongOps::operand(std::size_t number, std::size_t part) {
  return frame_.at(operands_ + (4 * number + part) * frame_.facts.width * 8);
}

void LongOps::put_operand(std::size_t number, const Lanes& lanes) {
  for (std::size_t i = 0; i < part_count(lanes.type); ++i) {
    ir_.store(lanes.parts[i], operand(number, i), 8);
  }
}

Lanes LongOps::get_operand(std::size_t number, DataType type) {
  const Ir::Type part = ir_.vector(moves_.part_type(type));
  return lanes_of(type, [&](std::size_t i) { return ir_.load(part, operand(number, i), 8); });
}

}  // namespace vyre
