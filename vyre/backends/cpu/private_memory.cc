// Private memory: a vector for each part of each element, so that an index that is the same in all
// lanes is one vector, and any other finds the lane's own column.
#include <algorithm>

#include "vyre/backends/cpu/gang_writer.h"

namespace vyre {
namespace {

using Value = Ir::Value;

// What a part of an element is by itself.
DataType part_of(DataType element) {
  return part_bits(element) == 64 ? DataType::U64 : DataType::U32;
}

}  // namespace

// Of this gang. What the whole workgroup looks at is the same in all of them.
BufferSlot GangWriter::own_memory(BufferId id) {
  BufferSlot memory = frame_.buffer(id);
  if (!facts_.kept[id.index]) return memory;
  const DataType element = facts_.element(id);
  const std::uint64_t vectors =
      std::uint64_t{facts_.program.buffers[id.index].count} * part_count(element);
  const Value gang = gang_ ? gang_ : ir_.wide(0);
  memory.address = ir_.at(ir_.vector(moves_.part_type(element)), memory.address, gang * vectors);
  return memory;
}

// Where the lanes find a part of their elements.
Value GangWriter::own_lanes(Value index, std::size_t part, std::size_t parts) {
  return (index * parts + part) * width_ + ir_.ramp(ir_.i32, 0, 1);
}

Lanes GangWriter::load_own(ExprId id, BufferId buffer, ExprId index) {
  const BufferSlot memory = own_memory(buffer);
  const DataType element = facts_.element(buffer);
  const std::size_t parts = part_count(element);
  const bool inside = is_inside(id);
  Lanes loaded;
  if (is_one_index(index)) {
    Value at = word(index);
    const Value is_there = inside ? nullptr : frame_.in_bounds(at, memory);
    if (is_there) at = ir_.select(is_there, at, 0);
    const Ir::Type vector = ir_.vector(moves_.part_type(element));
    const Value first = ir_.zext(at, 64) * parts;
    loaded = lanes_of(element, [&](std::size_t i) {
      const Value part = ir_.load(vector, ir_.at(vector, memory.address, first + i));
      return is_there ? ir_.select(is_there, part, 0) : part;
    });
  } else {
    const Value at = words(index);
    Value mask = mask_;
    if (!inside) mask = moves_.with(mask, frame_.in_bounds(at, memory));
    loaded = lanes_of(element, [&](std::size_t i) {
      const Value from = own_lanes(at, i, parts);
      return gather(part_of(element), memory, from, mask, true).parts[0];
    });
  }
  return moves_.from_memory(element, loaded);
}

// Lanes that are off keep what they have; those that the gang does not have, and those that have
// left it, have nothing to keep.
void GangWriter::store_own(const Store& store, const Lanes& given) {
  const BufferSlot memory = own_memory(store.buffer);
  const DataType element = facts_.element(store.buffer);
  const std::size_t parts = part_count(element);
  const bool inside = is_inside({});
  if (!facts_.is_scalar(store.index)) {
    const Value at = words(store.index);
    Value mask = mask_;
    if (!inside) mask = moves_.with(mask, frame_.in_bounds(at, memory));
    for (std::size_t i = 0; i < parts; ++i) {
      const DataType part = part_of(element);
      scatter(part, memory.address, own_lanes(at, i, parts), mask, {part, {given.parts[i]}}, true);
    }
    return;
  }
  Value at = word(store.index);
  Value mask = mask_ == first_mask_ ? nullptr : mask_;
  if (!inside) {
    const Value is_there = frame_.in_bounds(at, memory);
    at = ir_.select(is_there, at, 0);
    mask = moves_.with(mask, ir_.splat(is_there));
  }
  const Ir::Type vector = ir_.vector(moves_.part_type(element));
  const Value first = ir_.zext(at, 64) * parts;
  for (std::size_t i = 0; i < parts; ++i) {
    const Value to = ir_.at(vector, memory.address, first + i);
    Value part = given.parts[i];
    if (mask) part = ir_.select(mask, part, ir_.load(vector, to));
    ir_.store(part, to);
  }
}

}  // namespace vyre
