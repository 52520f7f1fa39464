// The values of programs as numbers that a speller has instructions for: a vector is its lanes, and
// an operation is made of instructions that are defined for the operands they get.
#pragma once

#include <array>
#include <cstdint>

#include "vyre/backends/shader_speller.h"
#include "vyre/passes/places.h"

namespace vyre {

struct ShaderValue {
  DataType type = DataType::U32;
  bool is_test = false;  // a truth value: every bool, and a u32 that a comparison gave
  std::array<ShaderPart, 4> parts{};

  static ShaderValue word(const ShaderPart& part) { return {DataType::U32, false, {part}}; }
};

// The type of the parts of a value that is no test; 64-bit numbers have one, if the target has
// such.
inline DataType shader_part_type(DataType type) { return is_vector(type) ? DataType::U32 : type; }

class ShaderOps {
 public:
  explicit ShaderOps(ShaderSpeller& speller) : speller_(speller) {}

  // With the meaning of eval(); a unary operation ignores `b`. `divisor` says what `b` never is.
  ShaderValue apply(Operation op, const ShaderValue& a, const ShaderValue& b,
                    const Places::Divisor& divisor);
  // Between words and u64; the others are lowered.
  ShaderValue cast(DataType target, const ShaderValue& value);
  ShaderValue select(const ShaderValue& condition, const ShaderValue& yes, const ShaderValue& no);
  ShaderValue constant(DataType type, const Bits& bits);

  // Not as a truth value, where it is one; and as one.
  ShaderValue whole(const ShaderValue& value);
  ShaderPart truth(const ShaderValue& value);
  // Computed here, so that it may be used several times.
  ShaderPart kept(DataType type, const ShaderPart& part);
  ShaderValue kept(const ShaderValue& value);

  // A value from the words that memory has for it, and back.
  ShaderValue of_words(DataType type, const std::array<ShaderPart, 4>& words);
  std::array<ShaderPart, 4> words_of(const ShaderValue& value);
  // A narrow element that begins at this bit of a word.
  ShaderValue narrow(DataType element, const ShaderPart& word, const ShaderPart& bit);

  // Of words.
  ShaderPart word(Operation op, const ShaderPart& a, const ShaderPart& b);

 private:
  using Part = ShaderPart;
  ShaderValue of_tests(Operation op, const ShaderValue& a, const ShaderValue& b);
  Part number(Operation op, DataType type, Part a, Part b, const Places::Divisor& divisor);
  Part quotient(Operation op, DataType type, Part a, Part b, const Places::Divisor& divisor);
  Part of_unsigned(Operation op, DataType type, const Part& a);
  Part converted(DataType to, DataType from, const Part& part);
  Part joined(const Part& low, const Part& high);

  ShaderSpeller& speller_;
};

}  // namespace vyre
