// A SPIR-V module being written: instructions by section, in the order that the format asks for.
// Equal types and constants are one, and a capability is there once something needs it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace vyre {

// See spirv.def.
enum class SpirvOp : std::uint16_t {
#define OP(name, number) name = number,
#include "vyre/backends/spirv/spirv.def"
};
enum class SpirvCapability : std::uint32_t {
#define CAPABILITY(name, number) name = number,
#include "vyre/backends/spirv/spirv.def"
};
enum class SpirvDecoration : std::uint32_t {
#define DECORATION(name, number) name = number,
#include "vyre/backends/spirv/spirv.def"
};
enum class SpirvStorage : std::uint32_t {
#define STORAGE(name, number) name = number,
#include "vyre/backends/spirv/spirv.def"
};
enum class SpirvBuiltIn : std::uint32_t {
#define BUILT_IN(name, number) name = number,
#include "vyre/backends/spirv/spirv.def"
};
enum class SpirvExtended : std::uint32_t {
#define EXTENDED(name, number) name = number,
#include "vyre/backends/spirv/spirv.def"
};

using SpirvId = std::uint32_t;

class SpirvModule {
 public:
  enum class Section : std::uint8_t {
    Capabilities,
    Imports,
    Model,
    EntryPoint,
    Modes,
    Strings,
    Names,
    Decorations,
    Globals,    // types, constants and variables
    Variables,  // the function's beginning, up to its own variables
    Prologue,   // what is computed once
    Code,
  };

  SpirvModule();

  SpirvId fresh() { return bound_++; }

  // Operands are words, enumerators, texts and spans of words: not more than an instruction may
  // have.
  template <class... Operands>
  void put(Section section, SpirvOp op, const Operands&... operands) {
    std::vector<std::uint32_t>& words = at(section);
    const std::size_t begin = words.size();
    words.push_back(0);
    (append(words, operands), ...);
    words[begin] = head(op, words.size() - begin);
  }
  // The same of an instruction with a result, which it gives.
  template <class... Operands>
  SpirvId make(Section section, SpirvOp op, SpirvId type, const Operands&... operands) {
    const SpirvId result = fresh();
    put(section, op, type, result, operands...);
    return result;
  }

  template <class... Operands>
  SpirvId type(SpirvOp op, const Operands&... operands) {
    return unique(op, 0, {static_cast<std::uint32_t>(operands)...});
  }
  template <class... Operands>
  SpirvId constant(SpirvOp op, SpirvId type, const Operands&... operands) {
    return unique(op, type, {static_cast<std::uint32_t>(operands)...});
  }
  SpirvId global(SpirvStorage storage, SpirvId type);  // a variable
  SpirvId extended();                                  // the import of GLSL.std.450

  void require(SpirvCapability capability);
  template <class... Operands>
  void decorate(SpirvId id, SpirvDecoration decoration, const Operands&... operands) {
    put(Section::Decorations, SpirvOp::Decorate, id, decoration, operands...);
  }
  void name(SpirvId id, std::string_view name);

  // Where the code is, and what a word of it becomes after all.
  std::size_t code_size() { return at(Section::Code).size(); }
  void replace(std::size_t word, std::uint32_t by) { at(Section::Code)[word] = by; }

  // Whether readers have to take as many ids.
  bool fits() const { return bound_ <= kMaxBound; }
  std::vector<std::uint32_t> words() const;

 private:
  static constexpr SpirvId kMaxBound = 0x3fffff;
  static constexpr std::size_t kSections = static_cast<std::size_t>(Section::Code) + 1;

  static std::uint32_t head(SpirvOp op, std::size_t words) {
    return static_cast<std::uint32_t>(words) << 16 | static_cast<std::uint32_t>(op);
  }
  std::vector<std::uint32_t>& at(Section section) {
    return sections_[static_cast<std::size_t>(section)];
  }
  template <class Number>
  static void append(std::vector<std::uint32_t>& words, Number number) {
    words.push_back(static_cast<std::uint32_t>(number));
  }
  static void append(std::vector<std::uint32_t>& words, std::string_view text);
  static void append(std::vector<std::uint32_t>& words, std::span<const std::uint32_t> more) {
    words.insert(words.end(), more.begin(), more.end());
  }
  SpirvId unique(SpirvOp op, SpirvId type, std::vector<std::uint32_t> operands);

  std::array<std::vector<std::uint32_t>, kSections> sections_;
  SpirvId bound_ = 1;
  SpirvId extended_ = 0;
  std::map<std::vector<std::uint32_t>, SpirvId> unique_;  // by its words
  std::set<SpirvCapability> capabilities_;
  std::set<SpirvId> named_;
};

}  // namespace vyre
