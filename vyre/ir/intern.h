// Hash-consing: makes expressions in a body such that equal ones get the same id. Parser, builder
// and passes build through it; it lives only as long as they do.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "vyre/ir/program.h"

namespace vyre {

class Interner {
 public:
  // The body may have expressions already, no two of them equal. `expected` is about how many there
  // will be; `distinct`: what is made is never equal to one that there is.
  explicit Interner(Body& body, std::size_t expected = 0, bool distinct = false);

  ExprId literal(DataType type, const Bits& bits);
  ExprId local(LocalId local) { return make(Operation::Local, 0, local.index, {}); }
  ExprId load(BufferId buffer, ExprId index) {
    return make(Operation::Load, 0, buffer.index, {&index, 1});
  }
  ExprId length(BufferId buffer) { return make(Operation::Length, 0, buffer.index, {}); }
  ExprId call(std::string_view id, std::span<const ExprId> args) {
    return make(Operation::Call, 0, callee(id), args);
  }
  std::uint32_t callee(std::string_view id);  // its index in `callees`
  ExprId array(std::span<const ExprId> elements) { return make(Operation::Array, 0, 0, elements); }
  ExprId zero(DataType type);  // also of vectors and arrays
  ExprId element(ExprId array, ExprId index) {
    return make(Operation::Element, 0, 0, std::array{array, index});
  }
  ExprId table(const ConstTable& table);

  // Any expression; `args` go to the operand list where the operation wants that.
  ExprId make(Operation op, std::uint8_t detail, std::uint32_t imm, std::span<const ExprId> args);
  // One without an operand list.
  ExprId add(const Expr& expr);

 private:
  void grow_table();
  std::uint32_t constant(const Bits& bits);

  Body& body_;
  const std::size_t expected_;
  const bool distinct_;
  const std::uint64_t seed_;
  // Open addressing: half of a hash above the index of an entry + 1, or 0.
  std::vector<std::uint64_t> slots_;
  std::vector<std::uint64_t> constant_slots_;
  std::vector<std::uint64_t> callee_slots_;
  std::vector<std::uint64_t> table_slots_;
};

// The body in canonical numbering, without what no statement reaches. `distinct`: an Interner has
// made it, so that no two expressions are equal.
Body canonical(const Body& body, std::uint32_t parameters = 0, bool distinct = false);

}  // namespace vyre
