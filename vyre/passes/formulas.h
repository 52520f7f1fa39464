// What shape passes write: ids, indices and conditions of accesses.
#pragma once

#include <string_view>

#include "vyre/ir/run.h"
#include "vyre/passes/draft.h"

namespace vyre {

struct Formulas {
  Draft& draft;
  Simplifier& make = draft.make();

  ExprId number(std::uint32_t value) { return make.number(value); }
  ExprId id(Operation op, std::size_t axis = 0) {
    return make.make(op, static_cast<std::uint8_t>(axis), 0, {});
  }
  ExprId sum(ExprId a, ExprId b) { return make.make(Operation::Add, {a, b}); }
  ExprId sum(ExprId a, std::uint32_t b) { return sum(a, number(b)); }
  ExprId times(ExprId a, std::uint32_t by) { return make.make(Operation::Mul, {a, number(by)}); }
  // Both conditions; without a first one the second.
  ExprId both(ExprId a, ExprId b) { return a.exists() ? make.make(Operation::And, {a, b}) : b; }
  ExprId less(ExprId a, ExprId b) { return make.make(Operation::Lt, {a, b}); }
  ExprId load(BufferId buffer, ExprId index) {
    return make.make(Operation::Load, 0, buffer.index, {&index, 1});
  }
  // The index of an access that only happens under a condition, if there is one: no buffer has an
  // element of that number. bounds_of() knows such indices.
  ExprId when(ExprId condition, ExprId index) {
    if (!condition.exists()) return index;
    return make.make(Operation::Select, {condition, index, number(0xffffffff)});
  }
  // How many invocations a workgroup has, and the number of this one in it.
  std::uint32_t threads() const { return static_cast<std::uint32_t>(invocations_of(draft.from())); }
  ExprId thread() {
    const auto& size = draft.from().workgroup_size;
    const ExprId row = sum(id(Operation::LocalId), times(id(Operation::LocalId, 1), size[0]));
    return sum(row, times(id(Operation::LocalId, 2), size[0] * size[1]));
  }
  // A local for the value.
  ExprId bind(std::string_view name, ExprId value) {
    const LocalId local = draft.declare(name, make.type(value));
    draft.add(Let{local, value});
    return make.local(local);
  }
  // Opens a loop of this number of rounds, and gives the number of the current one.
  ExprId open_loop(std::string_view name, std::uint32_t rounds) {
    const LocalId round = draft.declare(name, DataType::U32);
    draft.open(For{round, number(0), number(rounds), {}});
    return make.local(round);
  }
  // Ends the invocations for which the condition holds.
  void end_if(ExprId condition) {
    draft.open(If{condition, {}, {}});
    draft.add(Return{});
    draft.close();
  }
};

// Writes the statements as they are, from one of them on.
struct CopyStatements {
  Draft& draft;
  std::uint32_t first = 0;

  Keep statement(StmtId id, const Stmt& stmt) {
    if (id.index < first) return Keep::Nothing;
    draft.put(stmt);
    return Keep::All;
  }
};

}  // namespace vyre
