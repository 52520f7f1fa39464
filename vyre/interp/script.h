// A program made ready for interpretation: statements become steps with jumps, and each step lists
// the expressions that it evaluates, operands first, each once. Nothing is moved, dropped or
// folded, so that the steps are the program as it is written.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vyre/ir/program.h"

namespace vyre {

// One expression to evaluate. Literals are not among them: their values never change.
struct Node {
  Operation op = Operation::Literal;
  std::uint8_t detail = 0;
  DataType type = DataType::Unknown;  // of the first operand
  std::uint32_t id = 0;               // the ExprId: where its value goes
  std::uint32_t imm = 0;              // as in Expr; of a call, the index in Linked::ops
  std::array<ExprId, 3> args;
};

// Where the elements of an array are while a body runs.
struct ArrayPlace {
  enum class Home : std::uint8_t { Locals, Values, Tables };
  Home home = Home::Locals;
  std::uint32_t first = 0;
  std::uint32_t count = 0;  // 0: it is no array
};

struct Step {
  enum class Kind : std::uint8_t {
    Set,         // `let` and assignment
    SetElement,  // of an array
    Store,
    Atomic,
    Branch,  // to `target` when the condition is zero
    Enter,   // a loop: sets its variable and limit; to `target`, after it, when it has no rounds
    Again,   // the next round of a loop, which begins at `target`, or on
    Jump,
    Barrier,
    Collective,
    Return,
  };
  Kind kind = Kind::Return;
  AtomicOp atomic = AtomicOp::Add;
  CollectiveOp collective = CollectiveOp::Add;
  DataType type = DataType::Unknown;  // of a collective's value
  std::uint32_t stmt = 0;             // the statement that it is or belongs to
  std::uint32_t first = 0;            // its expressions, in BodyScript::nodes
  std::uint32_t last = 0;
  std::uint32_t target = 0;
  LocalId local = {};  // that it sets; of a loop its variable, whose limit is in `limit`
  std::uint32_t limit = 0;
  BufferId buffer = {};  // that it accesses
  ExprId index = {};
  ExprId expected = {};
  ExprId value = {};  // stored, assigned, returned; condition; end of a loop
  ExprId from = {};   // the begin of a loop; of a collective the invocation it chooses
};

// One body. Of an array the elements are among the locals or values, after all others. `locals`
// counts them, and the limits of loops, which come after the declared locals.
struct BodyScript {
  std::vector<Step> steps;
  std::vector<Node> nodes;
  std::vector<ExprId> operands;
  std::vector<Bits> values;  // per expression; those of literals are filled in
  std::uint32_t locals = 0;
  std::vector<ArrayPlace> local_arrays;  // per local
  std::vector<ArrayPlace> value_arrays;  // per expression; of a local or table, those of that
  std::vector<Bits> tables;
};

// A body that runs: what its locals hold, and its expressions where they have been evaluated.
struct BodyFrame {
  const BodyScript* script = nullptr;
  Bits* locals = nullptr;
  Bits* values = nullptr;

  // Their elements; nothing where they are no arrays.
  std::span<const Bits> array_of(LocalId id) const {
    return elements(script->local_arrays[id.index]);
  }
  std::span<const Bits> array_of(ExprId id) const {
    return elements(script->value_arrays[id.index]);
  }

 private:
  std::span<const Bits> elements(const ArrayPlace& array) const {
    const Bits* all = array.home == ArrayPlace::Home::Locals   ? locals
                      : array.home == ArrayPlace::Home::Values ? values
                                                               : script->tables.data();
    return {all + array.first, array.count};
  }
};

struct Script {
  Linked linked;
  BodyScript body;
  std::vector<BodyScript> ops;  // as in Linked::ops
  bool has_barrier = false;
  const Program& program() const { return linked.program(); }
  // The bytes that the locals of one invocation take.
  std::uint64_t state_bytes() const { return std::uint64_t{body.locals} * sizeof(Bits); }
};

Script make_script(const Linked& linked);

}  // namespace vyre
