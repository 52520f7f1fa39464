// Lanes between registers and memory, whole rows of elements or any of them; and the masks that say
// which lanes are on. A null mask stands for all lanes.
#pragma once

#include <optional>
#include <vector>

#include "vyre/backends/cpu/ops.h"

namespace vyre {

inline std::vector<Ir::Value> parts_of(const Lanes& value) {
  return {value.parts.begin(), value.parts.begin() + part_count(value.type)};
}

class Moves {
 public:
  using Value = Ir::Value;

  Moves(Ir& ir, const CpuTarget& target) : ir_(ir), target_(target), width_(target.width) {}

  // --- Masks
  Value with(Value mask, Value more) { return mask ? mask & more : more; }
  Value any(Value mask) { return ir_.not_zero(ir_.bits(mask, ir_.integer(width_))); }
  // Of words, which are all ones or zero.
  Value of_words(Value words) { return ir_.compare(llvm::Compare::Slt, words, 0); }
  // Of 64 bits, and as such.
  Value from_bits(Value bits) {
    if (width_ < 64) bits = ir_.trunc(bits, width_);
    return ir_.bits(bits, ir_.vector(ir_.boolean));
  }
  Value to_bits(Value mask) {
    const Value bits = ir_.bits(mask, ir_.integer(width_));
    return width_ < 64 ? ir_.zext(bits, 64) : bits;
  }
  // Which lanes are on, where that is known.
  std::optional<std::uint64_t> constant_lanes(Value mask);

  // --- One element
  Ir::Type part_type(DataType type) { return part_bits(type) == 64 ? ir_.i64 : ir_.i32; }
  // What a part takes in memory, which is less than in a register where elements are narrow.
  static unsigned memory_bits(DataType element) {
    return is_narrow(element) ? lane_bits(element) : part_bits(loaded_type(element));
  }
  static unsigned memory_align(DataType element) { return memory_bits(element) / 8; }
  Ir::Type memory_type(DataType element) { return ir_.integer(memory_bits(element)); }
  // Parts as they are in memory, in registers; and back.
  Lanes widened(DataType element, Lanes lanes);
  std::vector<Value> cut(DataType element, const Lanes& lanes);
  Lanes load_element(DataType element, Value pointer);
  // One after the other, for each lane from where pointer_of(lane) says.
  template <class PointerOf>
  Lanes load_each(DataType element, PointerOf pointer_of) {
    const DataType type = loaded_type(element);
    const Value none = ir_.poison(ir_.vector(memory_type(element)));
    Lanes lanes = lanes_of(type, [&](std::size_t) { return none; });
    for (unsigned lane = 0; lane < width_; ++lane) {
      const Lanes loaded = load_as_it_is(element, pointer_of(lane));
      lanes = lanes_of(type, [&](std::size_t i) {
        return ir_.with_lane(lanes.parts[i], ir_.word(lane), loaded.parts[i]);
      });
    }
    return widened(element, lanes);
  }
  void store_element(DataType element, Value pointer, const Lanes& value);
  // What a load gives from what memory holds: a bool is 0 or 1.
  Lanes from_memory(DataType element, Lanes loaded);

  // --- A row of elements, from `pointer` on
  Lanes load_row(DataType element, Value pointer, Value mask);
  // Under a mask, which is not null.
  void store_row(DataType element, Value pointer, Value mask, const Lanes& value);
  // Of elements side by side, n for each lane, the vectors of the first, the second, ...; and back.
  std::vector<Value> deinterleave(const std::vector<Value>& rows);
  std::vector<Value> interleave(const std::vector<Value>& parts);
  // `width` lanes of two vectors side by side, from lane `first` on.
  Value window(Value low, Value high, std::int64_t first);

  // --- Any elements. `is_short`: the buffer has at most 2^31 elements.
  Lanes gather(DataType element, Value address, Value index, Value mask, bool is_short);
  // Of narrow elements, after the last of which three bytes may be loaded, too.
  Lanes gather_narrow(DataType element, Value address, Value index, Value mask);
  // Of the words that vectors of the CPU hold together; of other indices any of them.
  Value permuted(const std::vector<Value>& words, Value index);
  // The same of bytes, in one, two or four vectors of 64: numbers of 32 bits.
  Lanes permuted_bytes(DataType element, const std::vector<Value>& bytes, Value index);
  void scatter(DataType element, Value address, Value index, Value mask, const Lanes& value,
               bool is_short);

 private:
  Lanes load_as_it_is(DataType element, Value pointer);
  Value mask_for(Value mask);
  Value row_mask(Value mask, std::size_t parts, std::size_t row);
  Value permuted_part(const std::vector<Value>& words, Value index);
  Value pointers(Value address, DataType element, Value index, std::size_t part, bool is_short);

  Ir& ir_;
  const CpuTarget& target_;
  const unsigned width_;
};

}  // namespace vyre
