#include "vyre/backends/cpu/moves.h"

#include <algorithm>

namespace vyre {

using Value = Ir::Value;

std::optional<std::uint64_t> Moves::constant_lanes(Value mask) {
  std::uint64_t bits = 0;
  if (!mask || !ir_.is_constant(mask)) return std::nullopt;
  for (unsigned lane = 0; lane < width_; ++lane) {
    const std::optional<std::uint64_t> bit = ir_.constant(ir_.constant_lane(mask, lane));
    if (!bit) return std::nullopt;
    bits |= *bit << lane;
  }
  return bits;
}

// Of whose lanes LLVM knows nothing. Where masks are vectors, LLVM 19 may take a half of a masked
// load that it knows to be off for one that is on (docs/backends/cpu.md).
Value Moves::mask_for(Value mask) {
  if (!mask) return ir_.ones(ir_.vector(ir_.boolean));
  if (!is_avx2(target_)) return mask;
  const Value words = ir_.sext(mask, 32);
  return of_words(words ^ ir_.splat(ir_.hidden(ir_.i32, 0)));
}

// The mask of one of the vectors that hold elements of several parts side by side.
Value Moves::row_mask(Value mask, std::size_t parts, std::size_t row) {
  if (parts == 1) return mask_for(mask);
  std::vector<unsigned> lanes;
  for (std::size_t i = 0; i < width_; ++i) {
    lanes.push_back(static_cast<unsigned>((row * width_ + i) / parts));
  }
  return mask_for(ir_.shuffle(mask, mask, lanes));
}

// --- One element

Lanes Moves::load_element(DataType element, Value pointer) {
  const DataType type = loaded_type(element);
  const Ir::Type part = part_type(type);
  return lanes_of(type, [&](std::size_t i) {
    return ir_.load(part, ir_.at(part, pointer, i), part_bits(type) / 8);
  });
}

void Moves::store_element(DataType element, Value pointer, const Lanes& value) {
  const DataType type = loaded_type(element);
  for (std::size_t i = 0; i < part_count(type); ++i) {
    ir_.store(value.parts[i], ir_.at(part_type(type), pointer, i), part_bits(type) / 8);
  }
}

Lanes Moves::from_memory(DataType element, Lanes loaded) {
  loaded.type = loaded_type(element);
  if (element != DataType::Bool) return loaded;
  return {DataType::Bool, {ir_.not_zero(loaded.parts[0])}, true};
}

// --- Rows

Lanes Moves::load_row(DataType element, Value pointer, Value mask) {
  const DataType type = loaded_type(element);
  const std::size_t parts = part_count(type);
  const Ir::Type whole = ir_.vector(part_type(type));
  const unsigned align = part_bits(type) / 8;
  std::vector<Value> rows;
  for (std::size_t i = 0; i < parts; ++i) {
    const Value from = ir_.at(whole, pointer, i);
    rows.push_back(
        !mask ? ir_.load(whole, from, align)
              : ir_.call("llvm.masked.load", {whole, ir_.pointer()},
                         {from, ir_.word(align), row_mask(mask, parts, i), ir_.zero(whole)}));
  }
  Lanes lanes{type};
  std::ranges::copy(deinterleave(rows), lanes.parts.begin());
  return lanes;
}

void Moves::store_row(DataType element, Value pointer, Value mask, const Lanes& value) {
  const DataType type = loaded_type(element);
  const std::vector<Value> rows = interleave(parts_of(value));
  const Ir::Type whole = ir_.vector(part_type(type));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Value to = ir_.at(whole, pointer, i);
    ir_.call("llvm.masked.store", {whole, ir_.pointer()},
             {rows[i], to, ir_.word(part_bits(type) / 8), row_mask(mask, rows.size(), i)});
  }
}

std::vector<Value> Moves::deinterleave(const std::vector<Value>& rows) {
  if (rows.size() == 1) return rows;
  std::array<std::vector<Value>, 2> halves;
  for (unsigned odd = 0; odd < 2; ++odd) {
    std::vector<unsigned> from;
    for (unsigned i = 0; i < width_; ++i) from.push_back(2 * i + odd);
    for (std::size_t i = 0; i < rows.size(); i += 2) {
      halves[odd].push_back(ir_.shuffle(rows[i], rows[i + 1], from));
    }
    halves[odd] = deinterleave(halves[odd]);
  }
  std::vector<Value> parts;
  for (std::size_t i = 0; i < rows.size(); ++i) parts.push_back(halves[i % 2][i / 2]);
  return parts;
}

std::vector<Value> Moves::interleave(const std::vector<Value>& parts) {
  if (parts.size() == 1) return parts;
  std::array<std::vector<Value>, 2> halves;
  for (std::size_t i = 0; i < parts.size(); ++i) halves[i % 2].push_back(parts[i]);
  for (std::vector<Value>& half : halves) half = interleave(half);
  std::vector<Value> rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<unsigned> from;
    for (unsigned lane = 0; lane < width_; ++lane) {
      from.push_back((static_cast<unsigned>(i % 2) * width_ + lane) / 2 + lane % 2 * width_);
    }
    rows.push_back(ir_.shuffle(halves[0][i / 2], halves[1][i / 2], from));
  }
  return rows;
}

Value Moves::window(Value low, Value high, std::int64_t first) {
  std::vector<unsigned> from;
  for (unsigned i = 0; i < width_; ++i) from.push_back(static_cast<unsigned>(first) + i);
  return ir_.shuffle(low, high, from);
}

// --- Any elements

// The addresses of a part of any elements. From the middle of all that an index can reach, it is a
// signed number, which the CPU's own gathers take. Short buffers end before the middle.
Value Moves::pointers(Value address, DataType element, Value index, std::size_t part,
                      bool is_short) {
  const DataType type = loaded_type(element);
  const std::size_t parts = part_count(type);
  const std::uint64_t middle = is_short ? 0 : std::uint64_t{1} << 31;
  const Value base = ir_.at(ir_.i8, address, middle * stride(element) + part * part_bits(type) / 8);
  if (middle != 0) index = index ^ middle;
  Value offset = ir_.sext(index, 64);
  if (parts > 1) offset = offset * parts;
  return ir_.at(part_type(type), base, offset);
}

Lanes Moves::gather(DataType element, Value address, Value index, Value mask, bool is_short) {
  const DataType type = loaded_type(element);
  const Ir::Type part = ir_.vector(part_type(type));
  const Value on = mask_for(mask);
  return lanes_of(type, [&](std::size_t i) {
    const Value from = pointers(address, element, index, i, is_short);
    return ir_.call("llvm.masked.gather", {part, ir_.vector(ir_.pointer())},
                    {from, ir_.word(part_bits(type) / 8), on, ir_.zero(part)});
  });
}

void Moves::scatter(DataType element, Value address, Value index, Value mask, const Lanes& value,
                    bool is_short) {
  const DataType type = loaded_type(element);
  const Ir::Type part = ir_.vector(part_type(type));
  const Value on = mask_for(mask);
  for (std::size_t i = 0; i < part_count(type); ++i) {
    const Value to = pointers(address, element, index, i, is_short);
    ir_.call("llvm.masked.scatter", {part, ir_.vector(ir_.pointer())},
             {value.parts[i], to, ir_.word(part_bits(type) / 8), on});
  }
}

}  // namespace vyre
