// Instructions in WGSL. Expressions nest as they do in the program; what is loaded, long or wanted
// several times has a name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/backends/shader_speller.h"

namespace vyre {

class WgslSpeller : public ShaderSpeller {
 public:
  std::string text() const;  // of the whole shader
  // Words of workgroup memory that it takes besides the program's.
  std::uint64_t own_words() const { return shared_.size(); }

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
  void at(std::string_view, std::uint32_t) override {}  // the text is much like the program's
  void begin_if(Part condition) override;
  void begin_else() override;
  void end_if() override;
  Part begin_for(std::string_view name, Part from, Part to) override;
  void end_for() override;
  void leave_loop() override;
  void finish() override;
  void barrier() override;

 private:
  struct Expression {
    std::string text;
    bool is_atom = true;     // needs no parentheses
    bool is_stable = false;  // the same wherever it is visible
  };
  Part add(Expression expression);
  Part made(DataType type, std::string text, bool is_atom);  // by operations
  const Expression& of(Part part) const { return expressions_[part.value]; }
  std::string text(DataType type, Part part) const;
  std::string operand(DataType type, Part part) const;
  std::string unique(std::string_view name);
  void line(const std::string& text);
  void close(std::string_view then);
  Part let(std::string_view name, const std::string& value);
  std::string declaration(const ShaderMemory& memory, const std::string& name) const;
  std::string element(std::uint32_t memory, Part at) const;
  Part compare_exchange(std::uint32_t memory, Part at, const std::string& expected,
                        const std::string& value);

  std::vector<Expression> expressions_;
  std::map<std::string, std::uint32_t, std::less<>> taken_;  // names, and how often each was wanted
  std::vector<ShaderMemory> memories_;
  std::vector<std::string> names_;  // of memories
  std::string head_;                // declarations
  std::string entry_;               // attributes of the entry point
  std::string body_;
  std::size_t depth_ = 1;
  bool has_index_ = false;  // of an invocation in its workgroup
  std::map<DataType, std::string> shared_;
};

}  // namespace vyre
