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

// What is used of the numbers of the format.
enum class SpirvOp : std::uint16_t {
  Name = 5,
  String = 7,
  Line = 8,
  ExtInstImport = 11,
  ExtInst = 12,
  MemoryModel = 14,
  EntryPoint = 15,
  ExecutionMode = 16,
  Capability = 17,
  TypeVoid = 19,
  TypeBool = 20,
  TypeInt = 21,
  TypeVector = 23,
  TypeArray = 28,
  TypeRuntimeArray = 29,
  TypeStruct = 30,
  TypePointer = 32,
  TypeFunction = 33,
  ConstantTrue = 41,
  ConstantFalse = 42,
  Constant = 43,
  Function = 54,
  FunctionEnd = 56,
  Variable = 59,
  Load = 61,
  Store = 62,
  AccessChain = 65,
  Decorate = 71,
  MemberDecorate = 72,
  CompositeConstruct = 80,
  CompositeExtract = 81,
  UConvert = 113,
  Bitcast = 124,
  SNegate = 126,
  IAdd = 128,
  ISub = 130,
  IMul = 132,
  UDiv = 134,
  SDiv = 135,
  UMod = 137,
  UMulExtended = 151,
  LogicalEqual = 164,
  LogicalNotEqual = 165,
  LogicalOr = 166,
  LogicalAnd = 167,
  LogicalNot = 168,
  Select = 169,
  IEqual = 170,
  INotEqual = 171,
  UGreaterThan = 172,
  SGreaterThan = 173,
  UGreaterThanEqual = 174,
  SGreaterThanEqual = 175,
  ULessThan = 176,
  SLessThan = 177,
  ULessThanEqual = 178,
  SLessThanEqual = 179,
  ShiftRightLogical = 194,
  ShiftRightArithmetic = 195,
  ShiftLeftLogical = 196,
  BitwiseOr = 197,
  BitwiseXor = 198,
  BitwiseAnd = 199,
  Not = 200,
  BitReverse = 204,
  BitCount = 205,
  ControlBarrier = 224,
  AtomicLoad = 227,
  AtomicStore = 228,
  AtomicExchange = 229,
  AtomicCompareExchange = 230,
  AtomicIAdd = 234,
  AtomicSMin = 236,
  AtomicUMin = 237,
  AtomicSMax = 238,
  AtomicUMax = 239,
  AtomicAnd = 240,
  AtomicOr = 241,
  AtomicXor = 242,
  Phi = 245,
  LoopMerge = 246,
  SelectionMerge = 247,
  Label = 248,
  Branch = 249,
  BranchConditional = 250,
  Return = 253,
  Unreachable = 255,
};
enum class SpirvCapability : std::uint32_t { Shader = 1, Int64 = 11 };
enum class SpirvDecoration : std::uint32_t {
  Block = 2,
  ArrayStride = 6,
  BuiltIn = 11,
  Restrict = 19,
  Coherent = 23,
  NonWritable = 24,
  Binding = 33,
  DescriptorSet = 34,
  Offset = 35,
};
enum class SpirvStorage : std::uint32_t {
  Input = 1,
  Uniform = 2,
  Workgroup = 4,
  Function = 7,
  StorageBuffer = 12,
};
enum class SpirvBuiltIn : std::uint32_t { WorkgroupId = 26, LocalInvocationId = 27 };
// Instructions of GLSL.std.450.
enum class SpirvExtended : std::uint32_t {
  UMin = 38,
  SMin = 39,
  UMax = 41,
  SMax = 42,
  FindILsb = 73,
  FindUMsb = 75,
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

  std::vector<std::uint32_t> words() const;

 private:
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
