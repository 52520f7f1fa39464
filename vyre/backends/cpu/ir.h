// Writing LLVM IR: numbers and vectors of them. Every function takes scalars and vectors alike;
// what does not depend on the invocation is written as a scalar.
#pragma once

#include <array>
#include <concepts>
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
  using Block = llvm::Block;

  // A number or an address in the code that is written, or a vector of them; or none. Operators
  // write instructions, of unsigned numbers. `==` writes nothing: it is whether two are the same
  // value.
  class Value {
   public:
    Value() = default;
    Value(std::nullptr_t) {}
    explicit operator bool() const { return raw_ != nullptr; }
    friend bool operator==(Value, Value) = default;

   private:
    friend Ir;
    Value(Ir* ir, llvm::Value raw) : ir_(raw == nullptr ? nullptr : ir), raw_(raw) {}

    Ir* ir_ = nullptr;
    llvm::Value raw_ = nullptr;
  };
  // The second operand of an instruction: a value, or a number, in each lane that the first has.
  class Operand {
   public:
    Operand(Value value) : value_(value) {}
    Operand(std::integral auto number) : number_(static_cast<std::uint64_t>(number)) {}

   private:
    friend Ir;
    Value value_;
    std::uint64_t number_ = 0;
  };
  using Build = llvm::Value (*)(llvm::Builder, llvm::Value, llvm::Value, const char*);

  // For vectors of `width` lanes.
  Ir(const llvm::Api& api, unsigned width, const char* name);
  ~Ir();
  Ir(const Ir&) = delete;
  Ir& operator=(const Ir&) = delete;

  llvm::Module module() const { return module_; }
  unsigned width() const { return width_; }

  // --- Types
  Type integer(unsigned bits) { return api_.IntTypeInContext(context_, bits); }
  Type vector(Type element) { return vector(element, width_); }
  Type vector(Type element, unsigned lanes) { return api_.VectorType(element, lanes); }
  Type array(Type element, std::uint64_t count) { return api_.ArrayType2(element, count); }
  Type pointer() { return api_.PointerTypeInContext(context_, 0); }
  Type type(Value value) { return api_.TypeOf(value.raw_); }
  Type boolean, i8, i32, i64;

  // --- Constants
  Value number(Type type, std::uint64_t value) { return {this, api_.ConstInt(type, value, 0)}; }
  Value word(std::uint64_t value) { return number(i32, value); }
  Value wide(std::uint64_t value) { return number(i64, value); }
  // first, first + step, ...
  Value ramp(Type element, std::uint64_t first, std::uint64_t step) {
    return ramp(element, width_, first, step);
  }
  // Of a scalar, if it is one.
  std::optional<std::uint64_t> constant(Value value) {
    if (!value || api_.IsAConstantInt(value.raw_) == nullptr) return std::nullopt;
    return api_.ConstIntGetZExtValue(value.raw_);
  }
  bool is_constant(Value value) { return api_.IsConstant(value.raw_) != 0; }
  bool is_constant_splat(Value vector);
  // Of a constant vector; none where it is an expression.
  Value constant_lane(Value vector, unsigned lane) {
    return {this, api_.GetAggregateElement(vector.raw_, lane)};
  }
  Value zero(Type type) { return {this, api_.ConstNull(type)}; }
  Value ones(Type type) { return {this, api_.ConstAllOnes(type)}; }
  // The second operand beside the first.
  Value like(Value first, Operand given);
  static Value zero_like(Value value) { return value.ir_->zero(value.ir_->type(value)); }
  static Value ones_like(Value value) { return value.ir_->ones(value.ir_->type(value)); }
  Value poison(Type type) { return {this, api_.GetPoison(type)}; }
  // Of these words.
  Value vector_of(std::span<const std::uint32_t> words);
  // In memory that cannot be written. Bytes begin at a multiple of `align`.
  Value constant_memory(Value value, const char* name);
  Value constant_memory(std::span<const std::byte> bytes, unsigned align, const char* name);

  // --- Vectors
  bool is_vector(Value value) { return is_vector_type(type(value)); }
  // What is a vector already stays as it is.
  Value splat(Value value);
  Value lane(Value vector, Value index) {
    return {this, api_.BuildExtractElement(builder_, vector.raw_, index.raw_, "")};
  }
  Value lane(Value vector, unsigned index) { return lane(vector, word(index)); }
  Value with_lane(Value vector, Value index, Value element) {
    return {this, api_.BuildInsertElement(builder_, vector.raw_, element.raw_, index.raw_, "")};
  }
  Value shuffle(Value a, Value b, std::span<const unsigned> lanes);

  // --- Operations
  static Value apply(Build llvm::Api::* build, Value a, Operand b) {
    return {a.ir_, (a.ir_->api_.*build)(a.ir_->builder_, a.raw_, a.ir_->like(a, b).raw_, "")};
  }
  static Value compare(llvm::Compare test, Value a, Operand b) {
    Ir& ir = *a.ir_;
    return {&ir,
            ir.api_.BuildICmp(ir.builder_, static_cast<int>(test), a.raw_, ir.like(a, b).raw_, "")};
  }
  friend Value operator+(Value a, Operand b) { return apply(&llvm::Api::BuildAdd, a, b); }
  friend Value operator-(Value a, Operand b) { return apply(&llvm::Api::BuildSub, a, b); }
  friend Value operator*(Value a, Operand b) { return apply(&llvm::Api::BuildMul, a, b); }
  friend Value operator/(Value a, Operand b) { return apply(&llvm::Api::BuildUDiv, a, b); }
  friend Value operator%(Value a, Operand b) { return apply(&llvm::Api::BuildURem, a, b); }
  friend Value operator&(Value a, Operand b) { return apply(&llvm::Api::BuildAnd, a, b); }
  friend Value operator|(Value a, Operand b) { return apply(&llvm::Api::BuildOr, a, b); }
  friend Value operator^(Value a, Operand b) { return apply(&llvm::Api::BuildXor, a, b); }
  friend Value operator<<(Value a, Operand b) { return apply(&llvm::Api::BuildShl, a, b); }
  friend Value operator>>(Value a, Operand b) { return apply(&llvm::Api::BuildLShr, a, b); }
  friend Value operator~(Value a) { return a ^ ones_like(a); }
  friend Value operator<(Value a, Operand b) { return compare(llvm::Compare::Ult, a, b); }
  friend Value operator<=(Value a, Operand b) { return compare(llvm::Compare::Ule, a, b); }
  friend Value operator>(Value a, Operand b) { return compare(llvm::Compare::Ugt, a, b); }
  friend Value operator>=(Value a, Operand b) { return compare(llvm::Compare::Uge, a, b); }
  Value ashr(Value a, Operand n) { return apply(&llvm::Api::BuildAShr, a, n); }
  Value equal(Value a, Operand b) { return compare(llvm::Compare::Eq, a, b); }
  Value not_zero(Value a) { return compare(llvm::Compare::Ne, a, 0); }
  Value select(Value condition, Value yes, Operand no) {
    const llvm::Value other = like(yes, no).raw_;
    return {this, api_.BuildSelect(builder_, condition.raw_, yes.raw_, other, "")};
  }
  Value zext(Value a, unsigned bits) { return cast(&llvm::Api::BuildZExt, a, sized(a, bits)); }
  Value sext(Value a, unsigned bits) { return cast(&llvm::Api::BuildSExt, a, sized(a, bits)); }
  Value trunc(Value a, unsigned bits) { return cast(&llvm::Api::BuildTrunc, a, sized(a, bits)); }
  Value bits(Value a, Type to) { return cast(&llvm::Api::BuildBitCast, a, to); }
  Value freeze(Value a) { return {this, api_.BuildFreeze(builder_, a.raw_, "")}; }
  // The quotient of vectors, as doubles; of which the fraction is dropped.
  Value divide_as_doubles(Value a, Value b);
  // The same number, of which LLVM does not know how it was made.
  Value opaque(Value number);
  // A constant that LLVM does not know, made once.
  Value hidden(Type type, std::uint64_t value);
  // An intrinsic that is named after the type of its first operand, or after `types`.
  Value call(std::string_view intrinsic, std::initializer_list<Value> args) {
    return call(intrinsic, {type(*args.begin())}, args);
  }
  Value call(std::string_view intrinsic, std::initializer_list<Type> types,
             std::initializer_list<Value> args);
  Value umin(Value a, Operand b) { return call("llvm.umin", {a, like(a, b)}); }
  Value umax(Value a, Operand b) { return call("llvm.umax", {a, like(a, b)}); }
  // At least 0.
  Value difference(Value a, Operand b) { return call("llvm.usub.sat", {a, like(a, b)}); }

  // --- Memory
  Value at(Type element, Value base, Operand index);
  Value load(Type type, Value from, unsigned align = 0);
  Value store(Value value, Value to, unsigned align = 0);
  // Of a load or store.
  void set_volatile(Value access) { api_.SetVolatile(access.raw_, 1); }
  void set_relaxed(Value access) { api_.SetOrdering(access.raw_, llvm::kRelaxed); }
  void mark_nontemporal(Value store);
  // They give what memory held.
  Value update(llvm::Rmw how, Value pointer, Value value);
  Value compare_exchange(Value pointer, Value expected, Value value);
  Value address(Value pointer) { return cast(&llvm::Api::BuildPtrToInt, pointer, i64); }
  // What write() makes is in the first block of the function, whatever is being written.
  template <class Write>
  Value in_entry(Write write) {
    const Block back = here();
    go_on(entry_);
    const Value made = write();
    go_on(back);
    return made;
  }
  Value local(Type type, const char* name) {
    return in_entry([&] { return Value{this, api_.BuildAlloca(builder_, type, name)}; });
  }
  // Such memory, which holds a value from here on.
  Value variable(const char* name, Value first) {
    const Value made = local(type(first), name);
    store(first, made);
    return made;
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
    api_.BuildCondBr(builder_, condition.raw_, yes, no);
  }
  void leave() {
    if (!is_closed()) api_.BuildRetVoid(builder_);
  }
  // Goes on in a block that only runs where a condition holds; `otherwise` runs where not.
  void go_on_if(Value condition, const char* name, Block otherwise) {
    const Block yes = block(name);
    branch(condition, yes, otherwise);
    go_on(yes);
  }
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
  // Writes a loop over `first` and what each round(now) gives next, as long as more(now) holds. The
  // names are of its head, its rounds and the rest.
  template <class More, class Round>
  void loop(std::array<const char*, 3> names, Value first, More more, Round round) {
    const Block before = here();
    const std::array<Block, 3> blocks{block(names[0]), block(names[1]), block(names[2])};
    jump(blocks[0]);
    go_on(blocks[0]);
    const Value now{this, api_.BuildPhi(builder_, type(first), "")};
    add_incoming(now, first, before);
    branch(more(now), blocks[1], blocks[2]);
    go_on(blocks[1]);
    const Value next = round(now);
    add_incoming(now, next, here());
    jump(blocks[0]);
    go_on(blocks[2]);
  }
  // Calls body(counter) for each i64 from `from` up to `to`; it may make blocks of its own.
  template <class Body>
  void loop(const char* name, Value from, Value to, Body body) {
    const auto more = [&](Value counter) { return counter < to; };
    loop({name, "body", "behind"}, from, more, [&](Value counter) {
      body(counter);
      return counter + 1;
    });
  }

  // --- Functions
  static constexpr unsigned kFunction = 0xffffffff;  // where the attributes of a function are
  // Without a result.
  Value declare(const char* name, std::span<Type> parameters, bool is_exported);
  void call_function(Value function, std::span<const Value> args);
  Value parameter(unsigned index) { return {this, api_.GetParam(function_, index)}; }
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
  void attribute(Value function, unsigned index, std::string_view name);
  void attribute(Value function, std::string_view key, std::string_view value);
  // What each compiled function takes of the stack, where it has the attribute "warn-stack-size".
  const std::map<std::string, std::uint64_t>& frames() const { return frames_; }
  // What LLVM could not compile; empty: nothing.
  const std::string& problem() const { return problem_; }

 private:
  using Cast = llvm::Value (*)(llvm::Builder, llvm::Value, Type, const char*);

  bool is_vector_type(Type type) { return api_.GetTypeKind(type) == llvm::kVectorType; }
  // The type with the lanes of `like` and elements of `bits` bits.
  Type sized(Value like, unsigned bits);
  Value ramp(Type element, unsigned lanes, std::uint64_t first, std::uint64_t step);
  Value constant_vector(std::vector<llvm::Value> lanes) {
    return {this, api_.ConstVector(lanes.data(), static_cast<unsigned>(lanes.size()))};
  }
  Value cast(Cast llvm::Api::* build, Value a, Type to) {
    return {this, (api_.*build)(builder_, a.raw_, to, "")};
  }
  Value call(Type function_type, llvm::Value function, std::span<const Value> args);
  void add_incoming(Value phi, Value value, Block from) {
    api_.AddIncoming(phi.raw_, &value.raw_, &from, 1);
  }
  void begin(Value function);
  void note(llvm::Diagnostic diagnostic);

  const llvm::Api& api_;
  unsigned width_;
  llvm::Context context_;
  llvm::Module module_;
  llvm::Builder builder_;
  llvm::Value function_ = nullptr;
  Block entry_ = nullptr;  // only locals, and what is hidden
  std::map<std::pair<Type, std::uint64_t>, Value> hidden_;
  std::map<std::string, std::uint64_t> frames_;
  std::string problem_;
};

}  // namespace vyre
