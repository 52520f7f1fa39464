// What SPIR-V and WGSL write differently. Both have structured control flow, typed values and
// memory that is bound; shader_writer.cc walks a lowered program for both and asks a speller for
// each instruction. A speller decides nothing: operands are such that every instruction is defined
// for them, and what the target lacks does not come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/ir/program.h"

namespace vyre {

// A number or a truth value: a literal, or what the speller has a name for. Its type is U32, I32,
// U64 or Bool, which is a truth value; whoever passes it knows which.
struct ShaderPart {
  enum class Kind : std::uint8_t { Nothing, Literal, Name };
  Kind kind = Kind::Nothing;
  std::uint64_t value = 0;

  static ShaderPart literal(std::uint64_t value) { return {Kind::Literal, value}; }
  static ShaderPart name(std::uint64_t name) { return {Kind::Name, name}; }
  bool exists() const { return kind != Kind::Nothing; }
  bool is_literal() const { return kind == Kind::Literal; }
  bool is(std::uint64_t number) const { return is_literal() && value == number; }
  friend bool operator==(const ShaderPart&, const ShaderPart&) = default;
};

// An array of words.
struct ShaderMemory {
  enum class Space : std::uint8_t { Storage, Workgroup, Private };
  Space space = Space::Storage;
  std::string name;
  std::uint32_t binding = 0;  // of storage
  std::uint32_t words = 0;    // of the others
  bool is_written = false;
  bool is_atomic = false;       // some accesses are
  bool is_signed = false;       // the atomic ones take it for i32
  bool is_shared_live = false;  // storage that others of the workgroup wait to see
};

class ShaderSpeller {
 public:
  using Part = ShaderPart;
  virtual ~ShaderSpeller() = default;

  // --- What a shader is made of, told before anything else
  // Memories go by their number in the list. `parameters` counts words.
  virtual void begin(const Program& program, const std::vector<ShaderMemory>& memories,
                     std::uint32_t parameters) = 0;

  // --- Values: of U32
  virtual Part parameter(std::uint32_t word) = 0;
  virtual Part local_id(std::uint32_t axis) = 0;
  virtual Part workgroup_id(std::uint32_t axis) = 0;
  // --- and of a type, which is that of the operands. A comparison gives a Bool. Of Bool there are
  // LogicalNot, BitAnd, BitOr, BitXor and Eq. The count of a shift is a U32 below the width; the
  // divisor is not 0, and no quotient is too large.
  virtual Part unary(Operation op, DataType type, Part a) = 0;
  virtual Part binary(Operation op, DataType type, Part a, Part b) = 0;
  virtual Part select(DataType type, Part condition, Part yes, Part no) = 0;
  // Between U32, I32 and U64, modulo the width; from Bool, 0 or 1. A U64 of an I32 has zeros above.
  virtual Part convert(DataType to, DataType from, Part value) = 0;
  // The same value, computed here, once: whoever has it may use it often, and later.
  virtual Part keep(DataType type, std::string_view name, Part value) = 0;
  // The same value, which all of the workgroup have; the target gets to know that.
  virtual Part same_for_all(DataType type, Part value) = 0;

  // --- Variables
  virtual Part declare(DataType type, std::string_view name, Part first) = 0;
  virtual Part read(DataType type, Part variable) = 0;
  virtual void assign(DataType type, Part variable, Part value) = 0;

  // --- Memory: words, at a U32 below their number. What is loaded is kept.
  virtual Part load(std::uint32_t memory, Part at) = 0;
  virtual void store(std::uint32_t memory, Part at, Part word) = 0;
  // Changes the bits of the mask; others of the word may be changed elsewhere meanwhile.
  virtual void replace(std::uint32_t memory, Part at, Part mask, Part bits) = 0;
  // The word that was there.
  virtual Part update(std::uint32_t memory, AtomicOp op, Part at, Part expected, Part value) = 0;

  // --- Statements
  virtual void at(std::string_view text, std::uint32_t line) = 0;  // of the program
  virtual void begin_if(Part condition) = 0;
  virtual void begin_else() = 0;
  virtual void end_if() = 0;
  virtual Part begin_for(std::string_view name, Part from, Part to) = 0;  // both are kept
  virtual void end_for() = 0;
  virtual void leave_loop() = 0;
  virtual void finish() = 0;  // the invocation
  virtual void barrier() = 0;
};

}  // namespace vyre
