#include "vyre/backends/cpu/long_ops.h"

#include "vyre/ir/ops.h"

namespace vyre {

using Value = Ir::Value;

void LongOps::reserve_memory() {
  operands_ = frame_.reserve(std::uint64_t{12} * frame_.facts.width * 8);
}

template <class Key>
void LongOps::call(std::map<Key, Value>& functions, const Key& key, const char* name) {
  Value& function = functions[key];
  if (function == nullptr) function = frame_.declare(name + std::to_string(functions.size()));
  frame_.call(function);
}

Lanes LongOps::apply(Operation op, const Lanes& a, const Lanes& b) {
  const CpuFacts& facts = frame_.facts;
  const bool vectors = ops_.is_vector(a) || ops_.is_vector(b);
  const bool by_constant = b.exists() && ir_.is_constant(b.parts[0]);
  if (!facts.is_large || !vectors || !is_long(op, a.type, by_constant, facts.target)) {
    return ops_.apply(op, a, b);
  }
  put_operand(0, ops_.splat(ops_.whole(a)));
  put_operand(1, ops_.splat(ops_.whole(b)));
  call(operations_, {op, a.type, b.type}, "operation");
  return get_operand(2, result_of(op, a.type));
}

bool LongOps::is_called(DataType element, bool is_store, bool is_row) const {
  const CpuFacts& facts = frame_.facts;
  return facts.is_large && is_long_access(element, is_store, is_row, facts.target);
}

void LongOps::call_access(DataType element, bool is_store, Value address, Value index, Value mask) {
  const Value on = mask == nullptr ? ir_.ones(ir_.vector(ir_.i32)) : ir_.sext(mask, 32);
  put_operand(1, {DataType::Vec2U32, false, {index, on}});
  ir_.store(address, operand(2));
  call(accesses_, {element, is_store}, "access");
}

Lanes LongOps::gather(DataType element, Value address, Value index, Value mask) {
  call_access(element, false, address, index, mask);
  return get_operand(0, loaded_type(element));
}

void LongOps::scatter(DataType element, Value address, Value index, Value mask,
                      const Lanes& value) {
  put_operand(0, value);
  call_access(element, true, address, index, mask);
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
  Lanes lanes{type, false, {}};
  for (std::size_t i = 0; i < part_count(type); ++i) {
    lanes.parts[i] = ir_.load(ir_.vector(moves_.part_type(type)), operand(number, i), 8);
  }
  return lanes;
}

void LongOps::write_functions() {
  const auto define = [&](Value function, auto body) {
    ir_.define(function, [&] { frame_.scratch = ir_.parameter(0); }, body);
  };
  for (const auto& [key, function] : operations_) {
    define(function, [&] { write_operation(key); });
  }
  for (const auto& [key, function] : accesses_) {
    define(function, [&] { write_access(key); });
  }
}

void LongOps::write_operation(const Operands& key) {
  const auto& [op, a, b] = key;
  const Lanes first = get_operand(0, a);
  put_operand(2, ops_.whole(ops_.apply(op, first, get_operand(1, b))));
}

void LongOps::write_access(const Access& key) {
  const auto& [element, is_store] = key;
  const Lanes where = get_operand(1, DataType::Vec2U32);
  const Value mask = moves_.of_words(where.parts[1]);
  const Value address = ir_.load(ir_.pointer(), operand(2));
  if (is_store) {
    const Lanes value = get_operand(0, loaded_type(element));
    moves_.scatter(element, address, where.parts[0], mask, value, false);
  } else {
    put_operand(0, moves_.gather(element, address, where.parts[0], mask, false));
  }
}

std::vector<std::string> LongOps::names() const {
  std::vector<std::string> all;
  for (std::size_t i = 1; i <= operations_.size(); ++i) {
    all.push_back("operation" + std::to_string(i));
  }
  for (std::size_t i = 1; i <= accesses_.size(); ++i) all.push_back("access" + std::to_string(i));
  return all;
}

}  // namespace vyre
