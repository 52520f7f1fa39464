// Writing LLVM IR: numbers and vectors of them. Every function takes scalars and vectors alike;
// what does not depend on the invocation is written as a scalar.
#pragma once

#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vyre/backends/cpu/llvm.h"

namespace vyre {

class Ir {
 public:
  using Type = llvm::Type;
  using Value = llvm::Value;
  using Block = llvm::Block;

  // For vectors of `width` lanes.
  Ir(const llvm::Api& api, unsigned width, const char* name);
  ~Ir();
  Ir(const Ir&) = delete;
  Ir& operator=(const Ir&) = delete;

  const llvm::Api& api() const { return api_; }
  llvm::Module module() const { return module_; }
  unsigned width() const { return width_; }

  // --- Types
  Type integer(unsigned bits) { return api_.IntTypeInContext(context_, bits); }
  Type vector(Type element) { return api_.VectorType(element, width_); }
  Type vector(Type element, unsigned lanes) { return api_.VectorType(element, lanes); }
  Type pointer() { return api_.PointerTypeInContext(context_, 0); }
  Type type(Value value) { return api_.TypeOf(value); }
  Type boolean, i8, i32, i64, f64, nothing;

  // --- Constants
  Value number(Type type, std::uint64_t value) { return api_.ConstInt(type, value, 0); }
  Value word(std::uint64_t value) { return number(i32, value); }
  Value wide(std::uint64_t value) { return number(i64, value); }
  // In every lane.
  Value splat_number(Type element, std::uint64_t value);
  // As many lanes as `like` has, which may be none.
  Value like(Value like, unsigned bits, std::uint64_t value);
  // first, first + step, ...
  Value ramp(Type element, std::uint64_t first, std::uint64_t step);
  // Of a scalar, if it is one.
  std::optional<std::uint64_t> constant(Value value) {
    if (value == nullptr || api_.IsAConstantInt(value) == nullptr) return std::nullopt;
    return api_.ConstIntGetZExtValue(value);
  }
  bool is_constant(Value value) { return api_.IsConstant(value) != 0; }
  bool is_constant_splat(Value vector);
  Value zero(Type type) { return api_.ConstNull(type); }
  Value ones(Type type) { return api_.ConstAllOnes(type); }

  // --- Vectors
  bool is_vector(Value value) { return is_vector_type(api_.TypeOf(value)); }
  bool is_vector_type(Type type) { return api_.GetTypeKind(type) == llvm::kVectorType; }
  Value splat(Value scalar);
  Value lane(Value vector, Value index) {
    return api_.BuildExtractElement(builder_, vector, index, "");
  }
  Value lane(Value vector, unsigned index) { return lane(vector, word(index)); }
  Value with_lane(Value vector, Value index, Value element) {
    return api_.BuildInsertElement(builder_, vector, element, index, "");
  }
  Value shuffle(Value a, Value b, std::span<const unsigned> lanes);
  // The type with the lanes of `like` and elements of so many bits.
  Type sized(Value like, unsigned bits);

  // --- Operations
  Value add(Value a, Value b) { return api_.BuildAdd(builder_, a, b, ""); }
  Value sub(Value a, Value b) { return api_.BuildSub(builder_, a, b, ""); }
  Value mul(Value a, Value b) { return api_.BuildMul(builder_, a, b, ""); }
  Value udiv(Value a, Value b) { return api_.BuildUDiv(builder_, a, b, ""); }
  Value urem(Value a, Value b) { return api_.BuildURem(builder_, a, b, ""); }
  Value both(Value a, Value b) { return api_.BuildAnd(builder_, a, b, ""); }
  Value either(Value a, Value b) { return api_.BuildOr(builder_, a, b, ""); }
  Value exclusive(Value a, Value b) { return api_.BuildXor(builder_, a, b, ""); }
  Value invert(Value a) { return exclusive(a, ones(type(a))); }
  Value shl(Value a, Value n) { return api_.BuildShl(builder_, a, n, ""); }
  Value lshr(Value a, Value n) { return api_.BuildLShr(builder_, a, n, ""); }
  Value ashr(Value a, Value n) { return api_.BuildAShr(builder_, a, n, ""); }
  Value compare(llvm::Compare test, Value a, Value b) {
    return api_.BuildICmp(builder_, static_cast<int>(test), a, b, "");
  }
  Value equal_zero(Value a) { return compare(llvm::Compare::Eq, a, zero(type(a))); }
  Value not_zero(Value a) { return compare(llvm::Compare::Ne, a, zero(type(a))); }
  Value select(Value condition, Value yes, Value no) {
    return api_.BuildSelect(builder_, condition, yes, no, "");
  }
  Value zext(Value a, unsigned bits) { return api_.BuildZExt(builder_, a, sized(a, bits), ""); }
  Value sext(Value a, unsigned bits) { return api_.BuildSExt(builder_, a, sized(a, bits), ""); }
  Value trunc(Value a, unsigned bits) { return api_.BuildTrunc(builder_, a, sized(a, bits), ""); }
  Value bits(Value a, Type to) { return api_.BuildBitCast(builder_, a, to, ""); }
  Value freeze(Value a) { return api_.BuildFreeze(builder_, a, ""); }
  // The same number, of which LLVM does not know how it was made.
  Value opaque(Value number);
  // A constant that LLVM does not know, made once.
  Value hidden(Type type, std::uint64_t value);
  // An intrinsic that is named after the type of its first operand, or after `types`.
  Value call(std::string_view intrinsic, std::initializer_list<Value> args);
  Value call(std::string_view intrinsic, std::span<Type> types, std::initializer_list<Value> args);

  // --- Memory
  Value at(Type element, Value base, Value index) {
    return api_.BuildGEP2(builder_, element, base, &index, 1, "");
  }
  Value load(Type type, Value from, unsigned align = 0);
  Value store(Value value, Value to, unsigned align = 0);
  void mark_nontemporal(Value store);
  Value address(Value pointer) { return api_.BuildPtrToInt(builder_, pointer, i64, ""); }
  // What write() makes is in the first block of the function, whatever is being written.
  template <class Write>
  Value in_entry(Write write) {
    const Block back = here();
    go_on(entry_);
    const Value made = write();
    go_on(back);
    return made;
  }
  Value local(Type type, const char* name = "") {
    return in_entry([&] { return api_.BuildAlloca(builder_, type, name); });
  }

  // --- Control flow
  Block block(const char* name) {
    return api_.AppendBasicBlockInContext(context_, function_, name);
  }
  Block here() { return api_.GetInsertBlock(builder_); }
  void go_on(Block block) { api_.PositionBuilderAtEnd(builder_, block); }
  bool is_closed() { return api_.GetBasicBlockTerminator(here()) != nullptr; }
  void jump(Block to) {
    if (!is_closed()) api_.BuildBr(builder_, to);
  }
  void branch(Value condition, Block yes, Block no) {
    api_.BuildCondBr(builder_, condition, yes, no);
  }
  void leave() {
    if (!is_closed()) api_.BuildRetVoid(builder_);
  }
  Value phi(Type type, std::initializer_list<std::pair<Value, Block>> from);
  // Writes body() for where a condition holds, and goes on after it.
  template <class Body>
  void only_if(Value condition, const char* name, const char* after, Body body) {
    const Block yes = block(name);
    const Block no = block(after);
    branch(condition, yes, no);
    go_on(yes);
    body();
    jump(no);
    go_on(no);
  }
  // Writes yes() or no(), and goes on after both. The names are of these and of the rest.
  template <class Yes, class No>
  void if_else(Value condition, std::array<const char*, 3> names, Yes yes, No no) {
    const std::array<Block, 3> blocks{block(names[0]), block(names[1]), block(names[2])};
    branch(condition, blocks[0], blocks[1]);
    go_on(blocks[0]);
    yes();
    jump(blocks[2]);
    go_on(blocks[1]);
    no();
    jump(blocks[2]);
    go_on(blocks[2]);
  }
  // Calls body(counter) for each i64 from `from` up to `to`; it may make blocks of its own.
  template <class Body>
  void loop(const char* name, Value from, Value to, Body body) {
    const Block before = here();
    const Block head = block(name);
    const Block inside = block("body");
    const Block after = block("behind");
    jump(head);
    go_on(head);
    const Value counter = phi(i64, {{from, before}});
    branch(compare(llvm::Compare::Ult, counter, to), inside, after);
    go_on(inside);
    body(counter);
    Value next = add(counter, wide(1));
    Block end = here();
    jump(head);
    api_.AddIncoming(counter, &next, &end, 1);
    go_on(after);
  }

  // --- Functions
  static constexpr unsigned kFunction = 0xffffffff;  // where the attributes of a function are
  // Without a result.
  Value declare(const char* name, std::span<Type> parameters, bool is_exported);
  void call_function(Value function, std::span<const Value> args);
  Value parameter(unsigned index) { return api_.GetParam(function_, index); }
  // Writes a function: enter() in its first block, where locals are, then body().
  template <class Enter, class Body>
  void define(Value function, Enter enter, Body body) {
    begin(function);
    enter();
    const Block start = block("start");
    go_on(start);
    body();
    leave();
    go_on(entry_);
    jump(start);
  }
  void attribute(Value function, unsigned index, const char* name);
  void attribute(Value function, const char* key, const std::string& value);
  llvm::Builder builder() { return builder_; }
  // What each compiled function takes of the stack, where it has the attribute "warn-stack-size".
  const std::map<std::string, std::uint64_t>& frames() const { return frames_; }
  // What LLVM could not compile; empty: nothing.
  const std::string& problem() const { return problem_; }

 private:
  void begin(Value function);
  void note(llvm::Diagnostic diagnostic);

  const llvm::Api& api_;
  unsigned width_;
  llvm::Context context_;
  llvm::Module module_;
  llvm::Builder builder_;
  Value function_ = nullptr;
  Block entry_ = nullptr;  // only locals, and what is hidden
  std::map<std::pair<Type, std::uint64_t>, Value> hidden_;
  std::map<std::string, std::uint64_t> frames_;
  std::string problem_;
};

}  // namespace vyre
