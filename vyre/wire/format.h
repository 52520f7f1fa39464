// What encoder and decoder agree on: docs/wire-format.md in constants. All numbers are
// little-endian words of 32 bits, on every host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "vyre/ir/program.h"

namespace vyre {

// No UTF-8 text starts with the first byte, and the last three do not survive a conversion of line
// ends in either direction.
inline constexpr std::string_view kWireMagic = "\xb6VYRE\r\n\n";

inline constexpr std::size_t kWireHeaderBytes = 32;
inline constexpr std::uint32_t kWireNone = 0xffffffff;

inline std::uint32_t load_word(const char* at) {
  const auto byte = [&](int i) { return std::uint32_t{static_cast<unsigned char>(at[i])}; };
  return byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
}

inline void store_word(char* at, std::uint32_t word) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<char>(word >> 8 * i & 0xff);
}

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; }

// The XXH64 of what follows the header.
std::uint64_t wire_checksum(std::string_view items);

enum class ItemTag : std::uint32_t { Program = 1, Op = 2 };

enum class StatementTag : std::uint8_t {
#define STATEMENT(name, tag, meaning) name = tag,
#include "vyre/ir/ops.def"
};

// By the index of the alternative in a Stmt.
inline constexpr StatementTag kStatementTags[] = {
#define STATEMENT(name, tag, meaning) StatementTag::name,
#include "vyre/ir/ops.def"
};

// How the record of an expression goes on after its tag.
struct ExprShape {
  enum Detail : std::uint8_t { kNoDetail, kType, kAxis, kLane };
  enum Imm : std::uint8_t { kNoImm, kLiteral, kLocal, kBuffer, kCallee };

  bool known = false;
  Detail detail = kNoDetail;
  Imm imm = kNoImm;
  bool counted = false;  // the number of operands is written before them
  std::uint8_t operands = 0;
};

constexpr ExprShape expr_shape(Operation op) {
  using enum Operation;
  ExprShape shape;
  shape.known = true;
  shape.counted = op == Call;
  shape.operands = static_cast<std::uint8_t>(op == Vec4 ? 4 : op == Call ? 0 : arity(op));
  if (op == Literal || op == Cast) shape.detail = ExprShape::kType;
  if (op == InvocationId || op == WorkgroupId || op == LocalId) shape.detail = ExprShape::kAxis;
  if (op == Lane) shape.detail = ExprShape::kLane;
  if (op == Literal) shape.imm = ExprShape::kLiteral;
  if (op == Local) shape.imm = ExprShape::kLocal;
  if (op == Load || op == Length) shape.imm = ExprShape::kBuffer;
  if (op == Call) shape.imm = ExprShape::kCallee;
  return shape;
}

// By tag.
inline constexpr std::array<ExprShape, 256> kExprShapes = [] {
  std::array<ExprShape, 256> shapes;
#define FORM(name, tag, ...) shapes[tag] = expr_shape(Operation::name);
#define OPERATION(name, tag) shapes[tag] = expr_shape(Operation::name);
#include "vyre/ir/ops.def"
  return shapes;
}();

}  // namespace vyre
