#include "vyre/backends/wgsl/speller.h"

#include <algorithm>
#include <sstream>

#include "vyre/base/text.h"

namespace vyre {
namespace {

using Part = ShaderPart;
using Space = ShaderMemory::Space;

constexpr std::size_t kLongName = 60;
constexpr std::size_t kLongText = 80;

// What no name may be: keywords, words that are reserved, and what is called here.
constexpr std::string_view kWords =
    "NULL Self abstract active alias alignas alignof array as asm asm_fragment async atomic "
    "attribute auto await become binding_array bitcast bool break case cast catch class co_await "
    "co_return co_yield coherent column_major common compile compile_fragment concept const "
    "const_assert const_cast consteval constexpr constinit continue continuing crate debugger "
    "decltype default delete demote demote_to_helper diagnostic discard do dynamic_cast else enable "
    "enum explicit export extends extern external f16 f32 fallthrough false filter final finally fn "
    "for friend from fxgroup get goto groupshared highp i32 if impl implements import inline "
    "instanceof interface layout let loop lowp macro macro_rules main match mat2x2 max mediump meta "
    "min mod module move mut mutable namespace new nil noexcept noinline nointerpolation "
    "non_coherent noncoherent noperspective null nullptr of operator override package packoffset "
    "parameters partition pass patch pixelfragment precise precision premerge priv protected ptr pub "
    "public readonly ref regardless register reinterpret_cast require requires resource restrict "
    "return select self set shared sizeof smooth snorm static static_assert static_cast std struct "
    "subroutine super switch target template this thread_local throw trait true try type typedef "
    "typeid typename typeof u32 union unless unorm unsafe unsized use using var varying vec2 vec3 "
    "vec4 virtual void volatile wgsl where while with writeonly yield atomicAdd atomicAnd atomicOr "
    "atomicXor atomicMin atomicMax atomicExchange atomicCompareExchangeWeak atomicLoad atomicStore "
    "storage uniform workgroup function private read write read_write countOneBits "
    "countLeadingZeros countTrailingZeros reverseBits workgroupBarrier storageBarrier "
    "workgroupUniformLoad local_id workgroup_id local_index";

std::string_view name_of(DataType type) {
  if (type == DataType::Bool) return "bool";
  return type == DataType::I32 ? "i32" : "u32";
}

// Of a type with an infix operator; empty: it has none.
std::string_view infix(Operation op, DataType type) {
  const bool is_test = type == DataType::Bool;
  switch (op) {
    case Operation::Eq: return "==";
    case Operation::Ne: return "!=";
    case Operation::Lt: return "<";
    case Operation::Gt: return ">";
    case Operation::Le: return "<=";
    case Operation::Ge: return ">=";
    case Operation::BitOr: return "|";
    case Operation::BitXor: return is_test ? "!=" : "^";
    case Operation::BitAnd: return "&";
    case Operation::Shl: return "<<";
    case Operation::Shr: return ">>";
    case Operation::Add: return "+";
    case Operation::Sub: return "-";
    case Operation::Mul: return "*";
    case Operation::Div: return "/";
    case Operation::Mod: return "%";
#define FORM(name, tag, ...) case Operation::name:
#define UNARY(name, text, tag, ...) case Operation::name:
#include "vyre/ir/ops.def"
    case Operation::Or:
    case Operation::And:
    case Operation::Min:
    case Operation::Max:
    case Operation::AbsDiff:
    case Operation::MulHigh:
    case Operation::AddSat:
    case Operation::SubSat:
    case Operation::RotateLeft:
    case Operation::RotateRight: break;
  }
  return {};
}

std::string_view atomic_name(AtomicOp op) {
  switch (op) {
    case AtomicOp::Add: return "atomicAdd";
    case AtomicOp::And: return "atomicAnd";
    case AtomicOp::Or: return "atomicOr";
    case AtomicOp::Xor: return "atomicXor";
    case AtomicOp::Min: return "atomicMin";
    case AtomicOp::Max: return "atomicMax";
    case AtomicOp::Exchange: return "atomicExchange";
    case AtomicOp::CompareExchange: return "atomicCompareExchangeWeak";
    case AtomicOp::Load: return "atomicLoad";
    case AtomicOp::Store: return "atomicStore";
  }
  return {};
}

bool is_shift(Operation op) { return op == Operation::Shl || op == Operation::Shr; }

}  // namespace

// --- Text ---------------------------------------------------------------------------------------

std::string WgslSpeller::text() const {
  std::string parameters =
      "@builtin(local_invocation_id) local_id: vec3<u32>,\n"
      "        @builtin(workgroup_id) workgroup_id: vec3<u32>";
  if (has_index_) parameters += ",\n        @builtin(local_invocation_index) local_index: u32";
  return head_ + "\n" + entry_ + "fn main(" + parameters + ") {\n" + body_ + "}\n";
}

ShaderPart WgslSpeller::add(Expression expression) {
  expressions_.push_back(std::move(expression));
  return Part::name(expressions_.size() - 1);
}

// A long expression gets a name, so that no text nests deeply.
ShaderPart WgslSpeller::made(DataType type, std::string text, bool is_atom) {
  const bool is_long = text.size() > kLongText;
  const Part part = add({std::move(text), is_atom, false});
  return is_long ? keep(type, {}, part) : part;
}

std::string WgslSpeller::text(DataType type, Part part) const {
  if (!part.is_literal()) return of(part).text;
  if (type == DataType::Bool) return part.value != 0 ? "true" : "false";
  const auto value = static_cast<std::uint32_t>(part.value);
  if (type == DataType::I32) {
    const std::string number = std::to_string(static_cast<std::int32_t>(value));
    return number[0] == '-' ? "i32(" + number + ")" : number + "i";
  }
  return (value < 65536 ? std::to_string(value) : "0x" + hex(std::uint64_t{value})) + "u";
}

std::string WgslSpeller::operand(DataType type, Part part) const {
  std::string result = text(type, part);
  return part.is_literal() || of(part).is_atom ? result : "(" + result + ")";
}

std::string WgslSpeller::unique(std::string_view name) {
  std::string text(name.substr(0, kLongName));
  if (text.starts_with('_')) text = "v" + text;
  std::uint32_t& wanted = taken_[text];
  if (++wanted == 1) return text;
  for (;; ++wanted) {
    std::string other = text + "_" + std::to_string(wanted);
    if (taken_.try_emplace(other, 1).second) return other;
  }
}

void WgslSpeller::line(const std::string& text) {
  body_.append(2 * depth_, ' ');
  body_ += text + "\n";
}

ShaderPart WgslSpeller::let(std::string_view name, const std::string& value) {
  const std::string own = unique(name.empty() ? "t" : name);
  line("let " + own + " = " + value + ";");
  return add({own, true, true});
}

// --- What a shader is made of -------------------------------------------------------------------

void WgslSpeller::begin(const Program& program, const std::vector<ShaderMemory>& memories,
                        std::uint32_t parameters) {
  std::istringstream words_taken{std::string(kWords)};
  for (std::string word; words_taken >> word;) ++taken_[word];
  memories_ = memories;
  const std::string words = std::to_string((parameters + 3) / 4);
  head_ = "// program " + program.name +
          "\n@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, " + words + ">;\n";
  for (const ShaderMemory& memory : memories) {
    names_.push_back(unique(memory.name));
    if (memory.space == Space::Private) {
      line(declaration(memory, names_.back()));
    } else {
      head_ += declaration(memory, names_.back()) + "\n";
    }
  }
  const auto& [x, y, z] = program.workgroup_size;
  entry_ = "@compute @workgroup_size(" + std::to_string(x) + ", " + std::to_string(y) + ", " +
           std::to_string(z) + ")\n";
}

std::string WgslSpeller::declaration(const ShaderMemory& memory, const std::string& name) const {
  std::string element(memory.is_signed ? "i32" : "u32");
  if (memory.is_atomic) element = "atomic<" + element + ">";
  const std::string sized =
      name + ": array<" + element + ", " + std::to_string(memory.words) + ">;";
  switch (memory.space) {
    case Space::Storage:
      return "@group(0) @binding(" + std::to_string(memory.binding) + ") var<storage, " +
             (memory.is_written ? "read_write> " : "read> ") + name + ": array<" + element + ">;";
    case Space::Workgroup: return "var<workgroup> " + sized;
    case Space::Private: return "var " + sized;
  }
  return {};
}

ShaderPart WgslSpeller::parameter(std::uint32_t word) {
  return add({"parameters[" + std::to_string(word / 4) + "]." + "xyzw"[word % 4], true, false});
}

ShaderPart WgslSpeller::local_id(std::uint32_t axis) {
  return add({std::string("local_id.") + "xyz"[axis], true, true});
}

ShaderPart WgslSpeller::workgroup_id(std::uint32_t axis) {
  return add({std::string("workgroup_id.") + "xyz"[axis], true, true});
}

// --- Values -------------------------------------------------------------------------------------

ShaderPart WgslSpeller::unary(Operation op, DataType type, Part a) {
  if (a.is_literal()) a = let({}, text(type, a));
  const auto call = [&](const char* name) {
    return made(DataType::U32, std::string(name) + "(" + text(type, a) + ")", true);
  };
  if (op == Operation::Popcount) return call("countOneBits");
  if (op == Operation::Clz) return call("countLeadingZeros");
  if (op == Operation::Ctz) return call("countTrailingZeros");
  if (op == Operation::ReverseBits) return call("reverseBits");
  return made(type, (op == Operation::LogicalNot ? "!" : "~") + operand(type, a), false);
}

// An expression of literals alone would be computed by other rules, in which nothing may overflow.
ShaderPart WgslSpeller::binary(Operation op, DataType type, Part a, Part b) {
  if (a.is_literal() && b.is_literal()) a = let({}, text(type, a));
  const DataType second = is_shift(op) ? DataType::U32 : type;
  const bool is_comparison = gives_truth(op);
  const std::string_view sign = infix(op, type);
  if (sign.empty()) {
    const std::string name = op == Operation::Min ? "min(" : "max(";
    return made(type, name + text(type, a) + ", " + text(type, b) + ")", true);
  }
  std::string made_text = operand(type, a) + " ";
  made_text.append(sign) += " " + operand(second, b);
  return made(is_comparison ? DataType::Bool : type, std::move(made_text), false);
}

ShaderPart WgslSpeller::select(DataType type, Part condition, Part yes, Part no) {
  return made(type,
              // Without parentheses `a < b, c > d` is a list between brackets.
              "select(" + operand(type, no) + ", " + operand(type, yes) + ", " +
                  operand(DataType::Bool, condition) + ")",
              true);
}

ShaderPart WgslSpeller::convert(DataType to, DataType from, Part value) {
  return made(to, std::string(name_of(to)) + "(" + text(from, value) + ")", true);
}

ShaderPart WgslSpeller::keep(DataType type, std::string_view name, Part value) {
  if (!value.is_literal() && of(value).is_stable && of(value).is_atom) return value;
  return let(name, text(type, value));
}

// One of them says it, and all are told.
ShaderPart WgslSpeller::same_for_all(DataType type, Part value) {
  std::string& shared = shared_[type];
  if (shared.empty()) {
    shared = unique("same_for_all");
    head_ += "var<workgroup> " + shared + ": " + std::string(name_of(type)) + ";\n";
  }
  has_index_ = true;
  line("if (local_index == 0u) { " + shared + " = " + text(type, value) + "; }");
  return let({}, "workgroupUniformLoad(&" + shared + ")");
}

// --- Variables ----------------------------------------------------------------------------------

ShaderPart WgslSpeller::declare(DataType type, std::string_view name, Part first) {
  const std::string own = unique(name);
  line("var " + own + ": " + std::string(name_of(type)) + " = " + text(type, first) + ";");
  return add({own, true, false});
}

ShaderPart WgslSpeller::read(DataType, Part variable) { return variable; }

void WgslSpeller::assign(DataType type, Part variable, Part value) {
  line(of(variable).text + " = " + text(type, value) + ";");
}

// --- Memory -------------------------------------------------------------------------------------

std::string WgslSpeller::element(std::uint32_t memory, Part at) const {
  return names_[memory] + "[" + text(DataType::U32, at) + "]";
}

ShaderPart WgslSpeller::load(std::uint32_t memory, Part at) {
  const ShaderMemory& from = memories_[memory];
  std::string value = element(memory, at);
  if (from.is_atomic) value = "atomicLoad(&" + value + ")";
  if (from.is_signed) value = "u32(" + value + ")";
  return let({}, value);
}

void WgslSpeller::store(std::uint32_t memory, Part at, Part word) {
  const ShaderMemory& to = memories_[memory];
  std::string value = text(DataType::U32, word);
  if (to.is_signed) value = "i32(" + value + ")";
  line(to.is_atomic ? "atomicStore(&" + element(memory, at) + ", " + value + ");"
                    : element(memory, at) + " = " + value + ";");
}

void WgslSpeller::replace(std::uint32_t memory, Part at, Part mask, Part bits) {
  const std::string place = "&" + element(memory, keep(DataType::U32, {}, at));
  const Part own = keep(DataType::U32, {}, mask);
  const Part wanted = keep(DataType::U32, {}, bits);
  line("loop {");
  ++depth_;
  const Part old = let("old", "atomicLoad(" + place + ")");
  line("if (atomicCompareExchangeWeak(" + place + ", " + of(old).text + ", (" + of(old).text +
       " & ~" + operand(DataType::U32, own) + ") | " + operand(DataType::U32, wanted) +
       ").exchanged) { break; }");
  close("");
}

ShaderPart WgslSpeller::update(std::uint32_t memory, AtomicOp op, Part at, Part expected,
                               Part value) {
  const ShaderMemory& to = memories_[memory];
  const auto given = [&](Part part) {
    const std::string word = text(DataType::U32, part);
    return to.is_signed ? "i32(" + word + ")" : word;
  };
  const std::string place = "&" + element(memory, at);
  if (op == AtomicOp::Store) {
    line("atomicStore(" + place + ", " + given(value) + ");");
    return {};
  }
  Part old;
  if (op == AtomicOp::CompareExchange) {
    old = compare_exchange(memory, at, given(expected), given(value));
  } else {
    std::string call = std::string(atomic_name(op)) + "(" + place;
    if (value.exists()) call += ", " + given(value);
    old = let("old", call + ")");
  }
  return to.is_signed ? let({}, "u32(" + of(old).text + ")") : old;
}

// The one that there is may fail without a reason.
ShaderPart WgslSpeller::compare_exchange(std::uint32_t memory, Part at, const std::string& expected,
                                         const std::string& value) {
  const std::string type(memories_[memory].is_signed ? "i32" : "u32");
  const std::string found = unique("found");
  line("var " + found + ": " + type + ";");
  line("loop {");
  ++depth_;
  const std::string tried = unique("tried");
  line("let " + tried + " = atomicCompareExchangeWeak(&" + element(memory, at) + ", " + expected +
       ", " + value + ");");
  line(found + " = " + tried + ".old_value;");
  line("if (" + tried + ".exchanged || " + found + " != " + expected + ") { break; }");
  close("");
  return let("old", found);
}

// --- Statements ---------------------------------------------------------------------------------

void WgslSpeller::close(std::string_view then) {
  --depth_;
  line("}" + std::string(then));
}

void WgslSpeller::begin_if(Part condition) {
  line("if (" + text(DataType::Bool, condition) + ") {");
  ++depth_;
}

void WgslSpeller::begin_else() {
  close(" else {");
  ++depth_;
}

void WgslSpeller::end_if() { close(""); }

ShaderPart WgslSpeller::begin_for(std::string_view name, Part from, Part to) {
  const std::string own = unique(name);
  line("for (var " + own + " = " + text(DataType::U32, from) + "; " + own + " < " +
       operand(DataType::U32, to) + "; " + own + "++) {");
  ++depth_;
  return add({own, true, true});
}

void WgslSpeller::end_for() { close(""); }

void WgslSpeller::leave_loop() { line("break;"); }

void WgslSpeller::finish() { line("return;"); }

void WgslSpeller::barrier() {
  line("workgroupBarrier();");
  if (std::ranges::any_of(memories_, &ShaderMemory::is_shared_live)) line("storageBarrier();");
}

}  // namespace vyre
