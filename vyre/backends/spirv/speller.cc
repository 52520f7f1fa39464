#include "vyre/backends/spirv/speller.h"

#include <algorithm>
#include <iterator>
#include <ranges>

#include "vyre/backends/shader.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

using Op = SpirvOp;

constexpr std::size_t kLongName = 60;  // more would not be read
constexpr std::size_t kLongPath = 4096;

constexpr std::uint32_t kGlCompute = 5;   // execution model
constexpr std::uint32_t kLocalSize = 17;  // execution mode
constexpr std::uint32_t kNone = 0;        // controls
constexpr std::uint32_t kDevice = 1;      // scopes
constexpr std::uint32_t kWorkgroup = 2;
constexpr std::uint32_t kRelaxed = 0;  // memory semantics
constexpr std::uint32_t kAcquireRelease = 0x8;
constexpr std::uint32_t kUniformMemory = 0x40;  // storage buffers, too
constexpr std::uint32_t kWorkgroupMemory = 0x100;

// What one instruction does to unsigned numbers, signed ones and truth values.
constexpr Op kMissing = Op::Name;
struct Instruction {
  Operation operation;
  Op of_unsigned;
  Op of_signed;
  Op of_truth = kMissing;
};
constexpr Instruction kInstructions[] = {
    {Operation::BitNot, Op::Not, Op::Not},
    {Operation::LogicalNot, kMissing, kMissing, Op::LogicalNot},
    {Operation::Popcount, Op::BitCount, Op::BitCount},
    {Operation::ReverseBits, Op::BitReverse, Op::BitReverse},
    {Operation::Eq, Op::IEqual, Op::IEqual, Op::LogicalEqual},
    {Operation::Ne, Op::INotEqual, Op::INotEqual},
    {Operation::Lt, Op::ULessThan, Op::SLessThan},
    {Operation::Gt, Op::UGreaterThan, Op::SGreaterThan},
    {Operation::Le, Op::ULessThanEqual, Op::SLessThanEqual},
    {Operation::Ge, Op::UGreaterThanEqual, Op::SGreaterThanEqual},
    {Operation::BitOr, Op::BitwiseOr, Op::BitwiseOr, Op::LogicalOr},
    {Operation::BitXor, Op::BitwiseXor, Op::BitwiseXor, Op::LogicalNotEqual},
    {Operation::BitAnd, Op::BitwiseAnd, Op::BitwiseAnd, Op::LogicalAnd},
    {Operation::Shl, Op::ShiftLeftLogical, Op::ShiftLeftLogical},
    {Operation::Shr, Op::ShiftRightLogical, Op::ShiftRightArithmetic},
    {Operation::Add, Op::IAdd, Op::IAdd},
    {Operation::Sub, Op::ISub, Op::ISub},
    {Operation::Mul, Op::IMul, Op::IMul},
    {Operation::Div, Op::UDiv, Op::SDiv},
    {Operation::Mod, Op::UMod, kMissing},
};

Op instruction(Operation op, DataType type) {
  const Instruction* row = std::ranges::find(kInstructions, op, &Instruction::operation);
  assert(row != std::end(kInstructions));
  const Op found = type == DataType::Bool ? row->of_truth
                   : has_sign(type)       ? row->of_signed
                                          : row->of_unsigned;
  assert(found != kMissing);
  return found;
}

Op instruction(AtomicOp op, bool is_signed) {
  switch (op) {
    case AtomicOp::Add: return Op::AtomicIAdd;
    case AtomicOp::And: return Op::AtomicAnd;
    case AtomicOp::Or: return Op::AtomicOr;
    case AtomicOp::Xor: return Op::AtomicXor;
    case AtomicOp::Min: return is_signed ? Op::AtomicSMin : Op::AtomicUMin;
    case AtomicOp::Max: return is_signed ? Op::AtomicSMax : Op::AtomicUMax;
    case AtomicOp::Exchange: return Op::AtomicExchange;
    case AtomicOp::CompareExchange: return Op::AtomicCompareExchange;
    case AtomicOp::Load: return Op::AtomicLoad;
    case AtomicOp::Store: return Op::AtomicStore;
  }
  return kMissing;
}

ShaderPart part(SpirvId id) { return ShaderPart::name(id); }

}  // namespace

// --- What a shader is made of -------------------------------------------------------------------

void SpirvSpeller::begin(const Program& program, const std::vector<ShaderMemory>& memories,
                         std::uint32_t parameters) {
  const Id nothing = module_.type(Op::TypeVoid);
  main_ = module_.fresh();
  block_ = module_.fresh();
  is_open_ = true;
  const auto& [x, y, z] = program.workgroup_size;
  module_.put(Section::Modes, Op::ExecutionMode, main_, kLocalSize, x, y, z);
  module_.put(Section::Variables, Op::Function, nothing, main_, kNone,
              module_.type(Op::TypeFunction, nothing));
  module_.put(Section::Variables, Op::Label, block_);
  name(main_, program.name);
  if (!file_.empty()) {
    file_id_ = module_.fresh();
    const std::string path = shorten(file_, kLongPath);
    module_.put(Section::Strings, Op::String, file_id_, std::string_view(path));
  }
  if (parameters > 0) {
    const Id row = words_type(4);
    const Id rows = module_.type(Op::TypeArray, row, id(number((parameters + 3) / 4)));
    module_.decorate(rows, SpirvDecoration::ArrayStride, 16u);
    parameters_ = module_.global(SpirvStorage::Uniform, block_of(rows));
    bind(parameters_, kShaderParameters);
    name(parameters_, "parameters");
  }
  for (const ShaderMemory& memory : memories) {
    memories_.push_back(declared(memory));
    name(memories_.back().variable, memory.name);
    shares_storage_ = shares_storage_ || memory.is_shared_live;
  }
}

SpirvSpeller::Id SpirvSpeller::block_of(Id array) {
  const Id block = module_.type(Op::TypeStruct, array);
  module_.decorate(block, SpirvDecoration::Block);
  module_.put(Section::Decorations, Op::MemberDecorate, block, 0u, SpirvDecoration::Offset, 0u);
  return block;
}

void SpirvSpeller::bind(Id variable, std::uint32_t binding) {
  module_.decorate(variable, SpirvDecoration::DescriptorSet, 0u);
  module_.decorate(variable, SpirvDecoration::Binding, binding);
}

SpirvSpeller::Id SpirvSpeller::array_of(std::uint32_t words) {
  const Id element = id(DataType::U32);
  return module_.type(Op::TypeArray, element, id(number(words)));
}

SpirvSpeller::Id SpirvSpeller::own_variable(Id type) {
  const Id pointer = module_.type(Op::TypePointer, SpirvStorage::Function, type);
  return module_.make(Section::Variables, Op::Variable, pointer, SpirvStorage::Function);
}

SpirvSpeller::Memory SpirvSpeller::declared(const ShaderMemory& memory) {
  Memory made{.scope = kDevice, .is_signed = memory.is_signed, .is_atomic = memory.is_atomic};
  switch (memory.space) {
    case ShaderMemory::Space::Private:
      made.storage = SpirvStorage::Function;
      made.variable = own_variable(array_of(memory.words));
      return made;
    case ShaderMemory::Space::Workgroup:
      made.storage = SpirvStorage::Workgroup;
      made.variable = module_.global(made.storage, array_of(memory.words));
      made.scope = kWorkgroup;
      return made;
    case ShaderMemory::Space::Storage: break;
  }
  if (storage_ == 0) {
    const Id words = module_.type(Op::TypeRuntimeArray, id(DataType::U32));
    module_.decorate(words, SpirvDecoration::ArrayStride, 4u);
    storage_ = block_of(words);
  }
  made.variable = module_.global(made.storage, storage_);
  bind(made.variable, memory.binding);
  // What a dispatch writes overlaps with nothing else that is bound.
  module_.decorate(made.variable, SpirvDecoration::Restrict);
  if (!memory.is_written) module_.decorate(made.variable, SpirvDecoration::NonWritable);
  if (memory.is_shared_live) module_.decorate(made.variable, SpirvDecoration::Coherent);
  return made;
}

std::vector<std::uint32_t> SpirvSpeller::words() {
  assert(open_.empty());
  if (is_open_) end(is_reached_ ? Op::Return : Op::Unreachable);
  module_.put(Section::Code, Op::FunctionEnd);
  std::vector<std::uint32_t> inputs;
  for (const auto& [what, builtin] : builtins_) inputs.push_back(builtin.variable);
  module_.put(Section::EntryPoint, Op::EntryPoint, kGlCompute, main_, std::string_view("main"),
              std::span<const std::uint32_t>(inputs));
  return module_.words();
}

// --- Types and values ---------------------------------------------------------------------------

SpirvSpeller::Id SpirvSpeller::id(DataType type) {
  if (type == DataType::Bool) return module_.type(Op::TypeBool);
  if (type != DataType::U64) return module_.type(Op::TypeInt, 32u, 0u);
  module_.require(SpirvCapability::Int64);
  return module_.type(Op::TypeInt, 64u, 0u);
}

SpirvSpeller::Id SpirvSpeller::id(const Value& value) {
  const std::uint64_t number = value.part.value;
  if (!value.part.is_literal()) return static_cast<Id>(number);
  const Id type = id(value.type);
  if (value.type == DataType::Bool) {
    return module_.constant(number != 0 ? Op::ConstantTrue : Op::ConstantFalse, type);
  }
  if (value.type != DataType::U64) return module_.constant(Op::Constant, type, number);
  return module_.constant(Op::Constant, type, number, number >> 32);
}

SpirvSpeller::Id SpirvSpeller::words_type(std::uint32_t count) {
  return module_.type(Op::TypeVector, id(DataType::U32), count);
}

void SpirvSpeller::name(Id id, std::string_view name) {
  if (!file_.empty() && !name.empty()) module_.name(id, shorten(name, kLongName));
}

ShaderPart SpirvSpeller::parameter(std::uint32_t word) {
  Id& known = known_parameters_[word];
  if (known == 0) {
    const Id type = id(DataType::U32);
    const Id to = module_.type(Op::TypePointer, SpirvStorage::Uniform, type);
    const std::array<Id, 3> path{id(number(0)), id(number(word / 4)), id(number(word % 4))};
    const Id from = module_.make(Section::Prologue, Op::AccessChain, to, parameters_,
                                 std::span<const Id>(path));
    known = module_.make(Section::Prologue, Op::Load, type, from);
  }
  return part(known);
}

ShaderPart SpirvSpeller::builtin(SpirvBuiltIn what, std::uint32_t axis) {
  BuiltIn& builtin = builtins_[what];
  if (builtin.variable == 0) {
    const Id three = words_type(3);
    builtin.variable = module_.global(SpirvStorage::Input, three);
    module_.decorate(builtin.variable, SpirvDecoration::BuiltIn, what);
    builtin.value = module_.make(Section::Prologue, Op::Load, three, builtin.variable);
  }
  Id& known = builtin.axes[axis];
  if (known == 0) {
    known = module_.make(Section::Prologue, Op::CompositeExtract, id(DataType::U32), builtin.value,
                         axis);
  }
  return part(known);
}

ShaderPart SpirvSpeller::local_id(std::uint32_t axis) {
  return builtin(SpirvBuiltIn::LocalInvocationId, axis);
}
ShaderPart SpirvSpeller::workgroup_id(std::uint32_t axis) {
  return builtin(SpirvBuiltIn::WorkgroupId, axis);
}

ShaderPart SpirvSpeller::unary(Operation op, DataType type, Part a) {
  const bool counts = op == Operation::Clz || op == Operation::Ctz;
  const bool is_about_bits = counts || op == Operation::Popcount || op == Operation::ReverseBits;
  const Value value{type, a};
  if (is_about_bits && type == DataType::U64) return part(of_halves(op, id(value)));
  if (counts) return part(count(op, id(value)));
  return part(make(instruction(op, type), type, value));
}

// Of zeros above or below the bits of a word. Where there are no bits, their place is -1.
SpirvSpeller::Id SpirvSpeller::count(Operation op, Id word) {
  if (op == Operation::Clz) {
    const Id place = extended(SpirvExtended::FindUMsb, DataType::U32, word);
    return make(Op::ISub, DataType::U32, number(31), place);
  }
  const Id place = extended(SpirvExtended::FindILsb, DataType::U32, word);
  return extended(SpirvExtended::UMin, DataType::U32, place, number(32));
}

// Vulkan has these instructions for words alone.
SpirvSpeller::Id SpirvSpeller::of_halves(Operation op, Id wide) {
  const Id both = make(Op::Bitcast, words_type(2), wide);
  const Id low = make(Op::CompositeExtract, DataType::U32, both, 0u);
  const Id high = make(Op::CompositeExtract, DataType::U32, both, 1u);
  if (op == Operation::ReverseBits) {
    const Id above = make(Op::BitReverse, DataType::U32, low);
    const Id below = make(Op::BitReverse, DataType::U32, high);
    const Id reversed = make(Op::CompositeConstruct, words_type(2), below, above);
    return make(Op::Bitcast, DataType::U64, reversed);
  }
  if (op == Operation::Popcount) {
    const Id of_low = make(Op::BitCount, DataType::U32, low);
    const Id of_high = make(Op::BitCount, DataType::U32, high);
    return make(Op::IAdd, DataType::U32, of_low, of_high);
  }
  const auto [first, second] = op == Operation::Clz ? std::pair(high, low) : std::pair(low, high);
  const Id is_zero = make(Op::IEqual, DataType::Bool, first, number(0));
  const Id of_first = count(op, first);
  const Id beyond = make(Op::IAdd, DataType::U32, count(op, second), number(32));
  return make(Op::Select, DataType::U32, is_zero, beyond, of_first);
}

ShaderPart SpirvSpeller::binary(Operation op, DataType type, Part a, Part b) {
  const bool shifts = op == Operation::Shl || op == Operation::Shr;
  const Value x{type, a};
  const Value y{shifts ? DataType::U32 : type, b};
  if (op == Operation::Min || op == Operation::Max) {
    const bool least = op == Operation::Min;
    // SPIRV-Tools, which drivers optimise with, fold SMin and SMax by the sign of the type.
    if (has_sign(type)) {
      const Operation test = least ? Operation::Lt : Operation::Gt;
      return select(type, binary(test, type, a, b), a, b);
    }
    return part(extended(least ? SpirvExtended::UMin : SpirvExtended::UMax, type, x, y));
  }
  if (op == Operation::MulHigh) {
    const Id number = id(type);
    const Id product = make(Op::UMulExtended, module_.type(Op::TypeStruct, number, number), x, y);
    return part(make(Op::CompositeExtract, type, product, 1u));
  }
  return part(make(instruction(op, type), gives_truth(op) ? DataType::Bool : type, x, y));
}

ShaderPart SpirvSpeller::select(DataType type, Part condition, Part yes, Part no) {
  return part(
      make(Op::Select, type, Value{DataType::Bool, condition}, Value{type, yes}, Value{type, no}));
}

ShaderPart SpirvSpeller::convert(DataType to, DataType from, Part value) {
  const bool widens = to == DataType::U64;
  if (value.is_literal()) {
    return Part::literal(widens ? value.value : value.value & 0xffffffff);
  }
  if (from == DataType::Bool) return select(to, value, Part::literal(1), Part::literal(0));
  if (widens == (from == DataType::U64)) return value;
  return part(make(Op::UConvert, to, Value{from, value}));
}

// Every value is computed where it is made.
ShaderPart SpirvSpeller::keep(DataType, std::string_view name, Part value) {
  if (!value.is_literal()) this->name(static_cast<Id>(value.value), name);
  return value;
}

ShaderPart SpirvSpeller::same_for_all(DataType, Part value) { return value; }

ShaderPart SpirvSpeller::declare(DataType type, std::string_view name, Part first) {
  const Id variable = own_variable(id(type));
  this->name(variable, name);
  assign(type, part(variable), first);
  return part(variable);
}

ShaderPart SpirvSpeller::read(DataType type, Part variable) {
  return part(make(Op::Load, type, Value{type, variable}));
}

void SpirvSpeller::assign(DataType type, Part variable, Part value) {
  put(Op::Store, Value{type, variable}, Value{type, value});
}

// --- Memory -------------------------------------------------------------------------------------

SpirvSpeller::Id SpirvSpeller::address(const Memory& memory, const Part& at) {
  const Id to = module_.type(Op::TypePointer, memory.storage, id(DataType::U32));
  if (memory.storage != SpirvStorage::StorageBuffer) {
    return make(Op::AccessChain, to, memory.variable, word(at));
  }
  return make(Op::AccessChain, to, memory.variable, number(0), word(at));
}

ShaderPart SpirvSpeller::load(std::uint32_t memory, Part at) {
  const Memory& from = memories_[memory];
  const Id place = address(from, at);
  if (!from.is_atomic) return part(make(Op::Load, DataType::U32, place));
  const Value scope = number(from.scope);
  return part(make(Op::AtomicLoad, DataType::U32, place, scope, number(kRelaxed)));
}

void SpirvSpeller::store(std::uint32_t memory, Part at, Part word) {
  const Memory& to = memories_[memory];
  const Id place = address(to, at);
  if (!to.is_atomic) return put(Op::Store, place, this->word(word));
  const Value scope = number(to.scope);
  put(Op::AtomicStore, place, scope, number(kRelaxed), this->word(word));
}

// Exchanges the word, again while others have changed it since it was read.
void SpirvSpeller::replace(std::uint32_t memory, Part at, Part mask, Part bits) {
  const Id to = address(memories_[memory], at);
  const Value scope = number(memories_[memory].scope);
  const Value order = number(kRelaxed);
  const Id others = make(Op::Not, DataType::U32, word(mask));
  const Id first = make(Op::AtomicLoad, DataType::U32, to, scope, order);
  const Id before = block_;
  const Id header = module_.fresh();
  const Id again = module_.fresh();
  const Id merge = module_.fresh();
  const Id seen = module_.fresh();
  end(Op::Branch, header);

  start(header);
  const Id expected = make(Op::Phi, DataType::U32, first, before, seen, again);
  const Id rest = make(Op::BitwiseAnd, DataType::U32, expected, others);
  const Id wanted = make(Op::BitwiseOr, DataType::U32, rest, word(bits));
  put(Op::AtomicCompareExchange, id(DataType::U32), seen, to, scope, order, order, wanted,
      expected);
  const Id is_done = make(Op::IEqual, DataType::Bool, seen, expected);
  put(Op::LoopMerge, merge, again, kNone);
  end(Op::BranchConditional, is_done, merge, again);
  start(again);
  end(Op::Branch, header);
  start(merge);
}

ShaderPart SpirvSpeller::update(std::uint32_t memory, AtomicOp op, Part at, Part expected,
                                Part value) {
  const Memory& of = memories_[memory];
  const Id to = address(of, at);
  const Value scope = number(of.scope);
  const Value order = number(kRelaxed);
  const Op atomic = instruction(op, of.is_signed);
  switch (op) {
    case AtomicOp::Load: return part(make(atomic, DataType::U32, to, scope, order));
    case AtomicOp::Store: put(atomic, to, scope, order, word(value)); return {};
    case AtomicOp::CompareExchange:
      return part(
          make(atomic, DataType::U32, to, scope, order, order, word(value), word(expected)));
    case AtomicOp::Add:
    case AtomicOp::And:
    case AtomicOp::Or:
    case AtomicOp::Xor:
    case AtomicOp::Min:
    case AtomicOp::Max:
    case AtomicOp::Exchange: break;
  }
  return part(make(atomic, DataType::U32, to, scope, order, word(value)));
}

// --- Statements ---------------------------------------------------------------------------------

void SpirvSpeller::at(std::string_view, std::uint32_t line) {
  if (file_id_ != 0 && line != 0 && is_open_) put(Op::Line, file_id_, line, 0u);
}

void SpirvSpeller::start(Id block) {
  assert(!is_open_);
  block_ = block;
  is_open_ = true;
  put(Op::Label, block);
}

void SpirvSpeller::begin_if(Part condition) {
  Construct branch{
      .merge = module_.fresh(), .otherwise = module_.fresh(), .was_reached = is_reached_};
  const Id then = module_.fresh();
  const Id chooses = id(Value{DataType::Bool, condition});
  put(Op::SelectionMerge, branch.merge, kNone);
  end(Op::BranchConditional, chooses, then, branch.otherwise);
  branch.names_otherwise = module_.code_size() - 1;
  open_.push_back(branch);
  start(then);
}

// The block that is open goes on after the `if`.
void SpirvSpeller::join(Construct& branch) {
  if (!is_open_) return;
  branch.joins = branch.joins || is_reached_;
  if (is_reached_) {
    end(Op::Branch, branch.merge);
  } else {
    end(Op::Unreachable);
  }
}

void SpirvSpeller::begin_else() {
  Construct& branch = open_.back();
  join(branch);
  branch.has_else = true;
  is_reached_ = branch.was_reached;
  start(branch.otherwise);
}

void SpirvSpeller::end_if() {
  Construct branch = open_.back();
  open_.pop_back();
  join(branch);
  if (!branch.has_else) module_.replace(branch.names_otherwise, branch.merge);
  start(branch.merge);
  is_reached_ = branch.joins || (!branch.has_else && branch.was_reached);
}

// The number of the round is a value: the first one comes from before the loop, others from the
// round before.
ShaderPart SpirvSpeller::begin_for(std::string_view name, Part from, Part to) {
  const Construct loop{.merge = module_.fresh(),
                       .was_reached = is_reached_,
                       .header = module_.fresh(),
                       .onward = module_.fresh(),
                       .number = module_.fresh(),
                       .next = module_.fresh()};
  const Id first = id(word(from));
  const Id before = block_;
  const Id round = module_.fresh();
  end(Op::Branch, loop.header);
  start(loop.header);
  put(Op::Phi, id(DataType::U32), loop.number, first, before, loop.next, loop.onward);
  const Id goes_on = make(Op::ULessThan, DataType::Bool, loop.number, word(to));
  put(Op::LoopMerge, loop.merge, loop.onward, kNone);
  end(Op::BranchConditional, goes_on, round, loop.merge);
  this->name(loop.number, name);
  open_.push_back(loop);
  start(round);
  return part(loop.number);
}

void SpirvSpeller::end_for() {
  const Construct loop = open_.back();
  open_.pop_back();
  if (is_open_) end(Op::Branch, loop.onward);
  start(loop.onward);
  put(Op::IAdd, id(DataType::U32), loop.next, loop.number, number(1));
  end(Op::Branch, loop.header);
  start(loop.merge);
  is_reached_ = loop.was_reached;
}

void SpirvSpeller::leave_loop() {
  const auto from_inside = std::views::reverse(open_);
  const auto loop =
      std::ranges::find_if(from_inside, [](const Construct& each) { return each.header != 0; });
  assert(loop != from_inside.end());
  end(Op::Branch, loop->merge);
}

void SpirvSpeller::finish() { end(Op::Return); }

void SpirvSpeller::barrier() {
  const std::uint32_t storage = shares_storage_ ? kUniformMemory : 0;
  put(Op::ControlBarrier, number(kWorkgroup), number(kWorkgroup),
      number(kAcquireRelease | kWorkgroupMemory | storage));
}

}  // namespace vyre
