// Operations and accesses that take so much code that a large program has each of them once, as a
// function. Operands and results are in the memory of the thread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "vyre/backends/cpu/frame.h"
#include "vyre/backends/cpu/moves.h"

namespace vyre {

class LongOps {
 public:
  using Value = Ir::Value;
  struct Function {
    Value function;
    std::function<void()> write;  // what it does
  };

  LongOps(Frame& frame, Ops& ops, Moves& moves) : frame_(frame), ops_(ops), moves_(moves) {}

  // Once, of a large program.
  void reserve_memory() { operands_ = frame_.reserve(std::uint64_t{12} * frame_.facts.width * 8); }
  // As Ops::apply, by a call where that is better.
  Lanes apply(Operation op, const Lanes& a, const Lanes& b);
  // Whether an access of all lanes is a call.
  bool is_called(DataType element, bool is_store, bool is_row, Value mask) const;
  Lanes gather(DataType element, Value address, Value index, Value mask);
  void scatter(DataType element, Value address, Value index, Value mask, const Lanes& value);
  void write_functions();
  // Those that are called so far, by name.
  const std::map<std::string, Function>& functions() const { return functions_; }

 private:
  template <class Write>
  void call(const std::string& name, Write write);
  template <class Move>
  void call_access(const std::string& name, Value address, Value index, Value mask, Move move);
  Value operand(std::size_t number, std::size_t part = 0);
  void put_operand(std::size_t number, const Lanes& lanes);
  Lanes get_operand(std::size_t number, DataType type);

  Frame& frame_;
  Ops& ops_;
  Moves& moves_;
  Ir& ir_ = frame_.ir;
  std::uint64_t operands_ = 0;  // where they are
  std::map<std::string, Function> functions_;
};

}  // namespace vyre
