// Operations and accesses that take so much code that a large program has each of them once, as a
// function. Operands and results are in the memory of the thread.
#pragma once

#include <map>
#include <tuple>

#include "vyre/backends/cpu/frame.h"
#include "vyre/backends/cpu/moves.h"

namespace vyre {

class LongOps {
 public:
  using Value = Ir::Value;

  LongOps(Frame& frame, Ops& ops, Moves& moves) : frame_(frame), ops_(ops), moves_(moves) {}

  // Once, of a large program.
  void reserve_memory();
  // As Ops::apply, by a call where that is better.
  Lanes apply(Operation op, const Lanes& a, const Lanes& b);
  // Whether an access of all lanes is a call.
  bool is_called(DataType element, bool is_store, bool is_row) const;
  Lanes gather(DataType element, Value address, Value index, Value mask);
  void scatter(DataType element, Value address, Value index, Value mask, const Lanes& value);
  // The functions that are called so far.
  void write_functions();
  std::vector<std::string> names() const;

 private:
  // An operation with the types of its operands; an element, and whether it is stored.
  using Operands = std::tuple<Operation, DataType, DataType>;
  using Access = std::pair<DataType, bool>;
  template <class Key>
  void call(std::map<Key, Value>& functions, const Key& key, const char* name);
  void call_access(DataType element, bool is_store, Value address, Value index, Value mask);
  void write_operation(const Operands& key);
  void write_access(const Access& key);
  Value operand(std::size_t number, std::size_t part = 0);
  void put_operand(std::size_t number, const Lanes& lanes);
  Lanes get_operand(std::size_t number, DataType type);

  Frame& frame_;
  Ops& ops_;
  Moves& moves_;
  Ir& ir_ = frame_.ir;
  std::uint64_t operands_ = 0;  // where they are
  std::map<Operands, Value> operations_;
  std::map<Access, Value> accesses_;
};

}  // namespace vyre
