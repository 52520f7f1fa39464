// The operations of programs in LLVM IR, each for one invocation or for the lanes of a gang.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "vyre/backends/cpu/emit.h"
#include "vyre/backends/cpu/ir.h"
#include "vyre/ir/program.h"

namespace vyre {

// A value of a program: one LLVM value for each 32 or 64 bits. They are scalars when the value is
// the same in the whole gang, and vectors otherwise.
struct Lanes {
  DataType type = DataType::U32;
  std::array<Ir::Value, 4> parts{};
  bool is_bit = false;  // a test, still as i1

  bool exists() const { return bool(parts[0]); }
};

// How many parts a type has, and the bits of each. A type of other bits needs parts of its own.
inline std::size_t part_count(DataType type) {
  return type == DataType::U128 ? 2 : lane_count(type);
}
inline unsigned part_bits(DataType type) { return lane_bits(type) == 32 ? 32 : 64; }
static_assert(std::ranges::all_of(kTypeRows, [](const TypeInfo& row) {
  const std::uint32_t bits = lane_bits(row.type);
  return !is_value_type(row.type) || bits == 32 || bits == 64 || row.type == DataType::U128;
}));

// A value of what part(i) gives for each of its parts.
template <class Part>
Lanes lanes_of(DataType type, Part part) {
  Lanes lanes{type};
  for (std::size_t i = 0; i < part_count(type); ++i) lanes.parts[i] = part(i);
  return lanes;
}

class Ops {
 public:
  Ops(Ir& ir, const CpuTarget& target)
      : ir_(ir), has_masks_(has_masks(target)), is_avx2_(is_avx2(target)) {}

  // With the meaning of eval(); a unary operation ignores `b`.
  Lanes apply(Operation op, Lanes a, Lanes b);
  Lanes cast(DataType target, Lanes value);
  Lanes select(Lanes condition, Lanes yes, Lanes no);

  Lanes constant(DataType type, const Bits& bits);
  Lanes zero(DataType type) { return constant(type, {}); }
  // As numbers of 32 or 64 bits, not as i1; and as i1.
  Lanes whole(Lanes value);
  Ir::Value truth(const Lanes& value);
  Lanes bit(Ir::Value value, DataType type = DataType::U32) { return {type, {value}, true}; }

  bool is_vector(const Lanes& value) { return ir_.is_vector(value.parts[0]); }
  Lanes splat(Lanes value);
  // Both as vectors, if one is.
  void unify(Lanes& a, Lanes& b);

 private:
  using Value = Ir::Value;
  struct Pair {
    Value low;
    Value high;
  };
  Value number(Operation op, unsigned bits, bool is_signed, Value a, Value b);
  Value test(Operation op, bool is_signed, Value a, Value b);
  Value quotient(unsigned bits, bool is_signed, Value a, Value b);
  Value high_product(unsigned bits, Value a, Value b);
  Value high_words(Value a, Value b);
  Lanes of_pair(Operation op, const Lanes& a, const Lanes& b);
  Pair divided(Operation op, Pair a, Pair b);
  Value shifted_pair(bool left, Pair a, Value count);
  Value count_for(Value count, unsigned bits, bool is_of_pair = false);

  Ir& ir_;
  const bool has_masks_;
  const bool is_avx2_;
};

}  // namespace vyre
