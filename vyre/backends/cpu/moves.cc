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

Lanes Moves::widened(DataType element, Lanes lanes) {
  if (!is_narrow(element)) return lanes;
  const unsigned bits = part_bits(lanes.type);
  return lanes_of(lanes.type, [&](std::size_t i) {
    const Value part = lanes.parts[i];
    return has_sign(element) ? ir_.sext(part, bits) : ir_.zext(part, bits);
  });
}

std::vector<Value> Moves::cut(DataType element, const Lanes& lanes) {
  std::vector<Value> parts = parts_of(lanes);
  if (!is_narrow(element)) return parts;
  for (Value& part : parts) part = ir_.trunc(part, memory_bits(element));
  return parts;
}

Lanes Moves::load_as_it_is(DataType element, Value pointer) {
  const Ir::Type part = memory_type(element);
  return lanes_of(loaded_type(element), [&](std::size_t i) {
    return ir_.load(part, ir_.at(part, pointer, i), memory_align(element));
  });
}

Lanes Moves::load_element(DataType element, Value pointer) {
  return widened(element, load_as_it_is(element, pointer));
}

void Moves::store_element(DataType element, Value pointer, const Lanes& value) {
  const std::vector<Value> parts = cut(element, value);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ir_.store(parts[i], ir_.at(memory_type(element), pointer, i), memory_align(element));
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
  const Ir::Type whole = ir_.vector(memory_type(element));
  const unsigned align = memory_align(element);
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
  return widened(element, lanes);
}

void Moves::store_row(DataType element, Value pointer, Value mask, const Lanes& value) {
  const std::vector<Value> rows = interleave(cut(element, value));
  const Ir::Type whole = ir_.vector(memory_type(element));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Value to = ir_.at(whole, pointer, i);
    ir_.call("llvm.masked.store", {whole, ir_.pointer()},
             {rows[i], to, ir_.word(memory_align(element)), row_mask(mask, rows.size(), i)});
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
  const std::size_t parts = part_count(loaded_type(element));
  const std::uint64_t middle = is_short ? 0 : std::uint64_t{1} << 31;
  const Value base =
      ir_.at(ir_.i8, address, middle * stride(element) + part * memory_align(element));
  if (middle != 0) index = index ^ middle;
  Value offset = ir_.sext(index, 64);
  if (parts > 1) offset = offset * parts;
  return ir_.at(memory_type(element), base, offset);
}

Lanes Moves::gather(DataType element, Value address, Value index, Value mask, bool is_short) {
  const DataType type = loaded_type(element);
  const Ir::Type part = ir_.vector(memory_type(element));
  const Value on = mask_for(mask);
  const Lanes lanes = lanes_of(type, [&](std::size_t i) {
    const Value from = pointers(address, element, index, i, is_short);
    return ir_.call("llvm.masked.gather", {part, ir_.vector(ir_.pointer())},
                    {from, ir_.word(memory_align(element)), on, ir_.zero(part)});
  });
  return widened(element, lanes);
}

// The word that begins with an element has it at its low end.
Lanes Moves::gather_narrow(DataType element, Value address, Value index, Value mask) {
  const Ir::Type word = ir_.vector(ir_.i32);
  const Value from = ir_.at(ir_.i8, address, ir_.sext(index * stride(element), 64));
  const Value words = ir_.call("llvm.masked.gather", {word, ir_.vector(ir_.pointer())},
                               {from, ir_.word(1), mask_for(mask), ir_.zero(word)});
  return widened(element, {loaded_type(element), {ir_.trunc(words, memory_bits(element))}});
}

// As many lanes as a vector of the CPU has.
Value Moves::permuted_part(const std::vector<Value>& words, Value index) {
  const bool is_wide = target_.bits == 512;
  std::vector<Value> found;
  for (std::size_t i = 0; i < words.size(); i += is_wide ? 2 : 1) {
    if (!is_wide) {
      found.push_back(ir_.call("llvm.x86.avx2.permd", {}, {words[i], index}));
    } else if (i + 1 == words.size()) {
      found.push_back(ir_.call("llvm.x86.avx512.permvar.si.512", {}, {words[i], index}));
    } else {
      found.push_back(
          ir_.call("llvm.x86.avx512.vpermi2var.d.512", {}, {words[i], index, words[i + 1]}));
    }
  }
  const std::uint64_t each = target_.bits / 32 * (is_wide && words.size() > 1 ? 2 : 1);
  Value all = found[0];
  for (std::size_t i = 1; i < found.size(); ++i) {
    all = ir_.select(index >= i * each, found[i], all);
  }
  return all;
}

Value Moves::permuted(const std::vector<Value>& words, Value index) {
  const unsigned lanes = target_.bits / 32;
  std::vector<Value> parts;
  for (unsigned first = 0; first < width_; first += lanes) {
    std::vector<unsigned> from;
    for (unsigned i = 0; i < lanes; ++i) from.push_back(first + i);
    parts.push_back(permuted_part(words, ir_.shuffle(index, index, from)));
  }
  for (unsigned count = lanes; parts.size() > 1; count *= 2) {
    std::vector<unsigned> from;
    for (unsigned i = 0; i < 2 * count; ++i) from.push_back(i);
    std::vector<Value> pairs;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      pairs.push_back(ir_.shuffle(parts[i], parts[i + 1], from));
    }
    parts = std::move(pairs);
  }
  return parts[0];
}

Lanes Moves::permuted_bytes(DataType element, const std::vector<Value>& bytes, Value index) {
  constexpr unsigned kBytes = 64;
  const auto lanes_of = [&](Value lanes, unsigned count) {
    if (width_ == kBytes) return lanes;
    std::vector<unsigned> from;
    for (unsigned i = 0; i < count; ++i) from.push_back(i % width_);
    return ir_.shuffle(lanes, lanes, from);
  };
  const Value at = lanes_of(ir_.trunc(index, 8), kBytes);
  const auto pair = [&](std::size_t first) {
    return ir_.call("llvm.x86.avx512.vpermi2var.qi.512", {}, {bytes[first], at, bytes[first + 1]});
  };
  Value found =
      bytes.size() == 1 ? ir_.call("llvm.x86.avx512.permvar.qi.512", {}, {bytes[0], at}) : pair(0);
  if (bytes.size() > 2) found = ir_.select(at >= 2 * kBytes, pair(2), found);
  return widened(element, {loaded_type(element), {lanes_of(found, width_)}});
}

void Moves::scatter(DataType element, Value address, Value index, Value mask, const Lanes& value,
                    bool is_short) {
  const std::vector<Value> parts = cut(element, value);
  const Ir::Type part = ir_.vector(memory_type(element));
  const Value on = mask_for(mask);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Value to = pointers(address, element, index, i, is_short);
    ir_.call("llvm.masked.scatter", {part, ir_.vector(ir_.pointer())},
             {parts[i], to, ir_.word(memory_align(element)), on});
  }
}

}  // namespace vyre
