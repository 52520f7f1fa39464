// A shader as a SPIR-V module with one entry point, `main`.
//
// Memory holds words and nothing else. Numbers have no sign: instructions say whether they take
// them for signed. A part names the id of a value, or that of a variable.
#pragma once

#include <array>
#include <cassert>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "vyre/backends/shader_speller.h"
#include "vyre/backends/spirv/module.h"

namespace vyre {

class SpirvSpeller final : public ShaderSpeller {
 public:
  // With names, and with lines of this file; without a file there are neither.
  explicit SpirvSpeller(std::string_view file = {}) : file_(file) {}

  void begin(const Program& program, const std::vector<ShaderMemory>& memories,
             std::uint32_t parameters) override;
  Part parameter(std::uint32_t word) override;
  Part local_id(std::uint32_t axis) override;
  Part workgroup_id(std::uint32_t axis) override;
  Part unary(Operation op, DataType type, Part a) override;
  Part binary(Operation op, DataType type, Part a, Part b) override;
  Part select(DataType type, Part condition, Part yes, Part no) override;
  Part convert(DataType to, DataType from, Part value) override;
  Part keep(DataType type, std::string_view name, Part value) override;
  Part same_for_all(DataType type, Part value) override;
  Part declare(DataType type, std::string_view name, Part first) override;
  Part read(DataType type, Part variable) override;
  void assign(DataType type, Part variable, Part value) override;
  Part load(std::uint32_t memory, Part at) override;
  void store(std::uint32_t memory, Part at, Part word) override;
  void replace(std::uint32_t memory, Part at, Part mask, Part bits) override;
  Part update(std::uint32_t memory, AtomicOp op, Part at, Part expected, Part value) override;
  void at(std::string_view text, std::uint32_t line) override;
  void begin_if(Part condition) override;
  void begin_else() override;
  void end_if() override;
  Part begin_for(std::string_view name, Part from, Part to) override;
  void end_for() override;
  void leave_loop() override;
  void finish() override;
  void barrier() override;

  // The module, when all of it is written, and whether it has no more ids than readers have to
  // take.
  bool fits() const { return module_.fits(); }
  std::vector<std::uint32_t> words();

 private:
  using Op = SpirvOp;
  using Id = SpirvId;
  using Section = SpirvModule::Section;

  struct Memory {
    SpirvStorage storage = SpirvStorage::StorageBuffer;
    Id variable = 0;
    std::uint32_t scope = 0;  // of its atomics
    bool is_signed = false;
    bool is_atomic = false;  // some of its words are changed in parts, or by atomics
  };
  struct BuiltIn {
    Id variable = 0;
    Id value = 0;
    std::array<Id, 3> axes{};  // those that are known
  };
  // An `if` or a loop that is open.
  struct Construct {
    Id merge = 0;  // the block after it
    // Of an `if`: the block of its `else`, where the branch names it, and whether a block of it
    // gets to the one after it.
    Id otherwise = 0;
    std::size_t names_otherwise = 0;
    bool was_reached = true;
    bool has_else = false;
    bool joins = false;
    // Of a loop: where rounds begin and end, and the number of this one and of the next one.
    Id header = 0;
    Id onward = 0;
    Id number = 0;
    Id next = 0;
  };

  // A part that is not an id yet. Instructions make ids of their operands from left to right, so
  // that a module is the same whichever compiler made this code.
  struct Value {
    DataType type;
    Part part;
  };
  static Value number(std::uint32_t value) { return {DataType::U32, Part::literal(value)}; }
  static Value word(const Part& part) { return {DataType::U32, part}; }

  // --- Types and values
  Id id(DataType type);
  Id id(const Value& value);
  static Id id(Id id) { return id; }
  Id words_type(std::uint32_t count);
  Id block_of(Id array);
  void name(Id id, std::string_view name);

  // --- Memory
  Memory declared(const ShaderMemory& memory);
  Id array_of(std::uint32_t words);
  void bind(Id variable, std::uint32_t binding);
  Id own_variable(Id type);
  Id address(const Memory& memory, const Part& at);
  Part builtin(SpirvBuiltIn what, std::uint32_t axis);

  // --- Code. Operands are ids, values and, as they are, other words.
  template <class... Operands>
  void put(Op op, const Operands&... operands) {
    assert(is_open_);
    const std::array<std::uint32_t, sizeof...(operands)> all{id(operands)...};
    module_.put(Section::Code, op, std::span<const std::uint32_t>(all));
  }
  template <class Type, class... Operands>
  Id make(Op op, Type type, const Operands&... operands) {
    const Id of = id(type);
    const Id result = module_.fresh();
    put(op, of, result, operands...);
    return result;
  }
  template <class... Operands>
  Id extended(SpirvExtended op, DataType type, const Operands&... operands) {
    return make(Op::ExtInst, type, module_.extended(), static_cast<std::uint32_t>(op), operands...);
  }
  Id count(Operation op, Id word);
  Id of_halves(Operation op, Id wide);

  // --- Blocks
  void start(Id block);
  template <class... Operands>
  void end(Op op, const Operands&... operands) {
    put(op, operands...);
    is_open_ = false;
  }
  void join(Construct& branch);

  const std::string file_;
  SpirvModule module_;
  Id main_ = 0;
  Id file_id_ = 0;
  Id storage_ = 0;     // the type of memory that is bound
  Id parameters_ = 0;  // the variable
  std::map<std::uint32_t, Id> known_parameters_;
  std::map<SpirvBuiltIn, BuiltIn> builtins_;
  std::vector<Memory> memories_;
  bool shares_storage_ = false;  // some of it is waited for
  std::vector<Construct> open_;
  Id block_ = 0;            // that is being written
  bool is_open_ = false;    // it has not ended yet
  bool is_reached_ = true;  // invocations can get there
};

}  // namespace vyre
