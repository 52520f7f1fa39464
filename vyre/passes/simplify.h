// Makes expressions in their simplest form: what is constant is computed, rules are applied,
// divisions by constants become multiplications. Every pass builds its result through this, so that
// what one pass uncovers the next one finds done.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "vyre/ir/intern.h"
#include "vyre/ir/program.h"
#include "vyre/ir/typing.h"
#include "vyre/passes/rules.h"

namespace vyre {

enum Simplification : unsigned {
  kNothing = 0,
  kFold = 1,      // compute what is constant
  kAlgebra = 2,   // apply the rules of rules.def
  kStrength = 4,  // replace multiplications and divisions by cheaper operations
  kOrder = 8,     // put the operands of commutative operations in one order
};

// How many expressions a pass may need for what has those of a body: a few more than there are.
inline std::size_t expected_exprs(const Body& body) { return body.exprs.size() * 5 / 4; }

class Simplifier {
 public:
  // `out` gets the expressions; `program` is for buffers and the shape of workgroups, and both
  // outlive this.
  Simplifier(const Program& program, Body& out, unsigned what);

  // An expression with these operands, which are expressions of `out`; `args` itself is not in it.
  ExprId make(Operation op, std::uint8_t detail, std::uint32_t imm, std::span<const ExprId> args);
  ExprId make(Operation op, std::initializer_list<ExprId> args) {
    return make(op, 0, 0, std::span(args.begin(), args.size()));
  }
  ExprId cast(DataType target, ExprId value) {
    return make(Operation::Cast, static_cast<std::uint8_t>(target), 0, {&value, 1});
  }
  ExprId constant(DataType type, const Bits& bits);
  ExprId number(std::uint32_t value) { return constant(DataType::U32, {{value}}); }
  ExprId local(LocalId id) { return add(Operation::Local, 0, id.index, {}); }

  // value / divisor by a multiplication, as `strength` writes it; none where it does not.
  ExprId quotient(ExprId value, DataType type, const Bits& divisor);

  // The bits of a constant: a literal, or a vector of literals.
  std::optional<Bits> bits(ExprId id) const;
  DataType type(ExprId id) const { return known_[id.index].type; }
  // Before anything is made: the types of the locals, and of the expressions that `out` has.
  void begin(Types types);
  // The type of each local of `out`; set before it is mentioned.
  std::vector<DataType>& local_types() { return local_types_; }

  const Body& body() const { return out_; }

 private:
  ExprId add(Operation op, std::uint8_t detail, std::uint32_t imm, std::span<const ExprId> args);
  ExprId known(ExprId id) {
    if (id.index == known_.size()) know(out_[id], type_of(out_[id]));
    return id;
  }
  void know(const Expr& expr, DataType type);
  DataType type_of(const Expr& expr) const;
  bool has_constant_lanes(const Expr& expr) const;
  Look look(ExprId id) const { return known_[id.index].look; }
  bool is_constant(ExprId id) const { return look(id) == kConstant; }
  ExprId folded(Operation op, std::uint8_t detail, std::uint32_t imm, std::span<const ExprId> args);
  ExprId rewritten(Operation op, std::uint8_t detail, std::span<const ExprId> args);
  ExprId cheaper(Operation op, std::span<const ExprId> args);
  using Bindings = std::array<ExprId, kPatternVariables>;
  bool fits(Role role, ExprId expr, DataType& t) const;
  bool matches(const Pattern& pattern, std::uint8_t node, ExprId expr, DataType& t,
               Bindings& bound) const;
  ExprId build(const Pattern& pattern, DataType t, const Bindings& bound);

  const Program& program_;
  Body& out_;
  Interner interner_;
  const unsigned what_;
  struct Known {
    DataType type;
    Look look;
  };
  std::vector<Known> known_;  // per expression of `out`
  std::vector<DataType> local_types_;
  unsigned depth_ = 0;  // of rules that build what other rules match
};

}  // namespace vyre
