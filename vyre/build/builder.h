// Making programs in C++. What is written here is what the text format writes, in the same words:
//
//   using namespace vyre::types;
//   Builder b("xor", {64});
//   auto lhs = b.read<u32>("lhs"), rhs = b.read<u32>("rhs");
//   auto out = b.read_write<u32>("out");
//   auto i = b.invocation_id(0);
//   b.if_(i < out.length(), [&] { out[i] = lhs[i] ^ rhs[i]; });
//   Result<Linked> program = b.finish();
//
// A Value is an expression, not a number: each statement that mentions it evaluates it anew. let()
// fixes a value, in a Variable, which can get another one:
//
//   auto sum = b.let("sum", 0);
//   b.for_("k", 0, data.length(), [&](Value k) { sum += data[k]; });
//
// Misuse that compiles is never fatal; finish() reports it together with what validate() finds.
// Values belong to their builder and must not outlive it.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/ir/intern.h"
#include "vyre/ir/program.h"
#include "vyre/library/registry.h"

namespace vyre {

class BodyBuilder;

class Value {
 public:
  Value() = default;
  // A C++ number takes the type of what it meets, and u32 where nothing says otherwise. Operations
  // on constants alone are computed at once, as vyre computes them.
  Value(std::integral auto number) : kind_(Kind::Number), negative_(number < 0) {
    const auto wide = static_cast<std::uint64_t>(number);
    const std::uint64_t magnitude = negative_ ? 0 - wide : wide;
    bits_.lanes = {static_cast<std::uint32_t>(magnitude),
                   static_cast<std::uint32_t>(magnitude >> 32)};
  }
  Value(bool truth) : kind_(Kind::Constant), type_(DataType::Bool) { bits_.lanes[0] = truth; }
  Value(const void*) = delete;  // C++ takes a pointer for a bool

  DataType type() const { return type_; }
  Value lane(std::uint32_t index) const;
  Value x() const { return lane(0); }
  Value y() const { return lane(1); }
  Value z() const { return lane(2); }
  Value w() const { return lane(3); }

  // Of an array.
  Value operator[](Value index) const;
  Value length() const;

 private:
  friend class BodyBuilder;
  friend class Builder;
  friend Value apply(Operation op, Value a);
  friend Value apply(Operation op, Value a, Value b);
  friend Value cast(DataType target, Value value);
  friend Value select(Value condition, Value a, Value b);
  friend Value make_vector(DataType type, std::initializer_list<Value> lanes);

  enum class Kind : std::uint8_t {
    Nothing,
    Expression,  // id_ of owner_
    Constant,    // bits_ of type_
    Number,      // of C++: magnitude in bits_ and sign; type_ where one was asked for
    Array,       // elements_ of owner_; type_ Unknown where all of them are numbers
    Wrong,       // a constant that cannot be, for the reason in wrong_
  };
  static Value wrong(Diagnostic problem) {
    Value value;
    value.kind_ = Kind::Wrong;
    value.wrong_ = std::make_shared<const Diagnostic>(std::move(problem));
    return value;
  }
  static Value combine(Operation op, std::uint8_t detail, std::initializer_list<Value> args);
  bool is_constant() const { return kind_ == Kind::Constant || kind_ == Kind::Number; }
  // A number as a constant of a type, or what is wrong with that; numbers in an array likewise.
  Value as(DataType type) const;

  Kind kind_ = Kind::Nothing;
  DataType type_ = DataType::Unknown;
  bool negative_ = false;
  ExprId id_;
  BodyBuilder* owner_ = nullptr;
  Bits bits_;
  std::shared_ptr<const std::vector<Value>> elements_;
  std::shared_ptr<const Diagnostic> wrong_;
};

// Any operation, and each by its name or operator.
Value apply(Operation op, Value a);
Value apply(Operation op, Value a, Value b);
Value cast(DataType target, Value value);
Value select(Value condition, Value a, Value b);
Value make_vector(DataType type, std::initializer_list<Value> lanes);

#define UNARY_FN(name, function, ...) \
  inline Value function(Value a) { return apply(Operation::name, a); }
#define BINARY_FN(name, function, ...) \
  inline Value function(Value a, Value b) { return apply(Operation::name, a, b); }
#include "vyre/ir/ops.def"

inline Value operator-(Value a) { return apply(Operation::Negate, a); }
inline Value operator~(Value a) { return apply(Operation::BitNot, a); }
inline Value operator!(Value a) { return apply(Operation::LogicalNot, a); }
inline Value operator+(Value a, Value b) { return apply(Operation::Add, a, b); }
inline Value operator-(Value a, Value b) { return apply(Operation::Sub, a, b); }
inline Value operator*(Value a, Value b) { return apply(Operation::Mul, a, b); }
inline Value operator/(Value a, Value b) { return apply(Operation::Div, a, b); }
inline Value operator%(Value a, Value b) { return apply(Operation::Mod, a, b); }
inline Value operator&(Value a, Value b) { return apply(Operation::BitAnd, a, b); }
inline Value operator|(Value a, Value b) { return apply(Operation::BitOr, a, b); }
inline Value operator^(Value a, Value b) { return apply(Operation::BitXor, a, b); }
inline Value operator<<(Value a, Value b) { return apply(Operation::Shl, a, b); }
inline Value operator>>(Value a, Value b) { return apply(Operation::Shr, a, b); }
inline Value operator==(Value a, Value b) { return apply(Operation::Eq, a, b); }
inline Value operator!=(Value a, Value b) { return apply(Operation::Ne, a, b); }
inline Value operator<(Value a, Value b) { return apply(Operation::Lt, a, b); }
inline Value operator>(Value a, Value b) { return apply(Operation::Gt, a, b); }
inline Value operator<=(Value a, Value b) { return apply(Operation::Le, a, b); }
inline Value operator>=(Value a, Value b) { return apply(Operation::Ge, a, b); }
inline Value operator&&(Value a, Value b) { return apply(Operation::And, a, b); }
inline Value operator||(Value a, Value b) { return apply(Operation::Or, a, b); }

// The types, as tags (`b.read<u64>("x")`) and as casts or typed constants (`u64(x)`, `u64(1)`).
// They have a namespace of their own because many programs have a `u32` already.
namespace types {

template <DataType kType>
struct Typed : Value {
  static constexpr DataType kDataType = kType;
  explicit Typed(Value value) : Value(cast(kType, value)) {}
  // A vector of its lanes.
  template <std::convertible_to<Value>... Lanes>
    requires(is_vector(kType) && sizeof...(Lanes) == lane_count(kType))
  Typed(const Lanes&... lanes) : Value(make_vector(kType, {Value(lanes)...})) {}
};
using u32 = Typed<DataType::U32>;
using i32 = Typed<DataType::I32>;
using u64 = Typed<DataType::U64>;
using u128 = Typed<DataType::U128>;
using boolean = Typed<DataType::Bool>;
using vec2u32 = Typed<DataType::Vec2U32>;
using vec4u32 = Typed<DataType::Vec4U32>;
// Only of elements: u8 and u16 are loaded as u32, i8 and i16 as i32.
template <DataType kType>
struct Tag {
  static constexpr DataType kDataType = kType;
};
using u8 = Tag<DataType::U8>;
using u16 = Tag<DataType::U16>;
using i8 = Tag<DataType::I8>;
using i16 = Tag<DataType::I16>;
using bytes = Tag<DataType::Bytes>;

}  // namespace types

// += and the like, for what can be read and assigned to.
template <class Place>
class Updatable {
 public:
  Place& operator+=(Value value) { return update(Operation::Add, value); }
  Place& operator-=(Value value) { return update(Operation::Sub, value); }
  Place& operator*=(Value value) { return update(Operation::Mul, value); }
  Place& operator/=(Value value) { return update(Operation::Div, value); }
  Place& operator%=(Value value) { return update(Operation::Mod, value); }
  Place& operator&=(Value value) { return update(Operation::BitAnd, value); }
  Place& operator|=(Value value) { return update(Operation::BitOr, value); }
  Place& operator^=(Value value) { return update(Operation::BitXor, value); }
  Place& operator<<=(Value value) { return update(Operation::Shl, value); }
  Place& operator>>=(Value value) { return update(Operation::Shr, value); }

 private:
  friend Place;
  Updatable() = default;
  Place& update(Operation op, Value value) {
    Place& place = static_cast<Place&>(*this);
    return place = apply(op, place, value);
  }
};

// buffer[i]: a load where a value is wanted, a store where it is assigned. `+=` is both, and not an
// atomic.
class Element : public Updatable<Element> {
 public:
  operator Value() const;
  Element& operator=(Value value);
  Element& operator=(const Element& other) { return *this = Value(other); }

 private:
  friend class Buffer;
  friend class Builder;
  Element(BodyBuilder* owner, BufferId buffer, Value index)
      : owner_(owner), buffer_(buffer), index_(index) {}
  Element(const Element&) = default;

  BodyBuilder* owner_;
  BufferId buffer_;
  Value index_;
};

// The same of a variable that is an array.
class ArrayElement : public Updatable<ArrayElement> {
 public:
  operator Value() const { return array_[index_]; }
  ArrayElement& operator=(Value value);
  ArrayElement& operator=(const ArrayElement& other) { return *this = Value(other); }

 private:
  friend class Variable;
  ArrayElement(Value array, Value index) : array_(array), index_(index) {}
  ArrayElement(const ArrayElement&) = default;

  Value array_;
  Value index_;
};

// What an atomic or a collective has just given. let() names it instead of copying it.
class Fresh : public Value {
 private:
  friend class Builder;
  explicit Fresh(Value local) : Value(std::move(local)) {}
};

// A local. `=` is a statement that gives it another value, and its elements, too, can be assigned
// to. There are no copies, so that `auto y = x;` does not make two names for one local: write
// `Value y = x;` for x, whatever it is when y is used, or `auto y = b.let(x);` for what it is now.
class Variable : public Value, public Updatable<Variable> {
 public:
  Variable(const Variable&) = delete;
  Variable(Variable&&) = default;
  Variable& operator=(Value value);
  Variable& operator=(Fresh&& fresh);
  Variable& operator=(const Variable& other) { return *this = Value(other); }
  Variable& operator=(Variable&&) = delete;  // no std::swap, which would take the names apart

  using Value::operator[];
  ArrayElement operator[](Value index) { return {*this, index}; }

 private:
  friend class BodyBuilder;
  explicit Variable(Value local) : Value(std::move(local)) {}
};

class Buffer {
 public:
  Element operator[](Value index) const { return {owner_, id_, index}; }
  Value length() const;
  // Gives it a binding: b.read<u32>("x").binding(3).
  Buffer binding(std::uint32_t number) const;

 private:
  friend class Builder;
  Buffer(BodyBuilder* owner, BufferId id) : owner_(owner), id_(id) {}

  BodyBuilder* owner_;
  BufferId id_;
};

// What programs and ops have in common. Blocks are lambdas, or pairs of begin_…() and end() where
// the code that makes a program does not nest as the program does.
class BodyBuilder {
 public:
  BodyBuilder(const BodyBuilder&) = delete;
  BodyBuilder& operator=(const BodyBuilder&) = delete;

  Value literal(DataType type, const Bits& bits);
  // By its id an op of the library, or one that use() or the other call() has seen.
  Value call(std::string_view id, std::initializer_list<Value> arguments);
  Value call(const Op& op, std::initializer_list<Value> arguments);
  // Ops to call by their ids, and those that they call. They come along with the program.
  void use(const Op& op);
  void use(const Registry& registry);

  // Without a name it gets one that nothing else has.
  Variable let(std::string name, Value value);
  Variable let(std::string name, Fresh&& fresh);  // let("sum", b.workgroup_add(x)): one statement
  Variable let(Value value) { return let(kUnnamed, value); }
  // Zero.
  template <class Type>
  Variable let(std::string name) {
    return let(std::move(name), Type(0));
  }
  template <class Type>
  Variable array(std::string name, std::uint32_t count) {
    return add_array(std::move(name), Type::kDataType, count);
  }
  Variable add_array(std::string name, DataType element, std::uint32_t count);

  // An array of these elements: b.array({x, y, 1}).
  template <std::ranges::input_range Values = std::initializer_list<Value>>
  Value array(const Values& elements) {
    return make_array(std::vector<Value>(std::begin(elements), std::end(elements)));
  }
  // An array of constants, which all invocations share: b.table<u8>("digits", {48, 49, 50}).
  template <class Type, std::ranges::input_range Numbers = std::initializer_list<Value>>
  Value table(std::string name, const Numbers& numbers) {
    return add_table(std::move(name), Type::kDataType,
                     std::vector<Value>(std::begin(numbers), std::end(numbers)));
  }
  Value add_table(std::string name, DataType element, const std::vector<Value>& elements);

  void break_() { body_.stmts.push_back(Break{}); }
  void continue_() { body_.stmts.push_back(Continue{}); }

  void begin_if(Value condition);
  void begin_else();
  Value begin_for(std::string name, Value from, Value to, std::int64_t step = 1);
  Value begin_for_reversed(std::string name, Value from, Value to);
  void begin_while(Value condition);
  void begin_block();
  void end();

  void if_(Value condition, const std::function<void()>& then) {
    begin_if(condition);
    then();
    end();
  }
  void if_(Value condition, const std::function<void()>& then,
           const std::function<void()>& otherwise) {
    begin_if(condition);
    then();
    begin_else();
    otherwise();
    end();
  }
  void for_(std::string name, Value from, Value to, const std::function<void(Value)>& body) {
    body(begin_for(std::move(name), from, to));
    end();
  }
  void for_(std::string name, Value from, Value to, std::int64_t step,
            const std::function<void(Value)>& body) {
    body(begin_for(std::move(name), from, to, step));
    end();
  }
  void for_reversed(std::string name, Value from, Value to,
                    const std::function<void(Value)>& body) {
    body(begin_for_reversed(std::move(name), from, to));
    end();
  }
  // The condition is evaluated at the start of each round, as every value where it is mentioned.
  void while_(Value condition, const std::function<void()>& body) {
    begin_while(condition);
    body();
    end();
  }
  void block(const std::function<void()>& body) {
    begin_block();
    body();
    end();
  }

 protected:
  BodyBuilder(std::string kind, std::string name)
      : item_path_(std::move(kind) + name), name_(std::move(name)) {}
  ~BodyBuilder() = default;

  friend class Value;
  friend class Element;
  friend class ArrayElement;
  friend class Variable;
  friend class Buffer;

  // An expression of this builder for a value of any origin; constants become literals of `wanted`.
  ExprId expr(Value value, DataType wanted = DataType::U32);
  ExprId constant(DataType type, const Bits& bits);
  Value make(ExprId id, DataType type);
  Value local_value(LocalId local, DataType type) { return make(interner_.local(local), type); }
  Variable variable(LocalId local, DataType type) { return Variable(local_value(local, type)); }
  LocalId declare(std::string name) {
    body_.locals.push_back({std::move(name)});
    return LocalId{body_.locals.size() - 1};
  }
  // Who asked for a block: the user, or a loop of theirs that is more than one `for`. That is a
  // round, in a block around it where it has further locals.
  enum class Made : std::uint8_t { User, Round, Around };
  void open(Stmt stmt, Made made = Made::User) {
    open_.push_back({static_cast<std::uint32_t>(body_.stmts.size()), false, made});
    body_.stmts.push_back(stmt);
  }
  Value begin_round(Value from, Value to);
  std::string hidden(std::string_view name) const;
  DataType array_of(DataType element, std::uint32_t count);
  Value make_array(std::vector<Value> elements);
  LocalId local_of(const Value& variable) const;
  LocalId unnamed(const Fresh& fresh) const;
  static void assign(const Value& variable, Value value);
  static void assign_result(const Value& variable, const Fresh& fresh);
  static void set_element(const Value& array, Value index, Value value);
  void store(BufferId buffer, Value index, Value value);
  DataType value_type(BufferId buffer) const { return loaded_type(buffers_[buffer.index].element); }

  template <class Message, class... Arguments>
  void misuse(const Arguments&... arguments) {
    add_misuse(diagnose<Message>(arguments...));
  }
  void add_misuse(Diagnostic diagnostic);
  // The finished body: blocks closed, unused results dropped, canonical numbering.
  Body finished_body(std::uint32_t parameters, std::vector<Diagnostic>& diagnostics) const;

  struct Open {
    std::uint32_t owner;
    bool in_else;
    Made made;
  };
  static void close_block(Body& body, Open open);
  void name_locals(Body& body) const;

  // Stands for a name until finish(), when all others are known.
  static constexpr const char* kUnnamed = "\1";

  std::string item_path_;  // "program NAME", in diagnostics
  std::string name_;
  Registry registry_;                // the library, and what use() added
  std::vector<BufferDecl> buffers_;  // none in an op
  std::vector<bool> bound_;          // which of them have an explicit binding
  Body body_;
  Interner interner_{body_};
  std::vector<Open> open_;
  struct Misuse {
    Diagnostic diagnostic;
    std::uint32_t stmt;  // the one that was about to come
  };
  std::vector<Misuse> misuses_;
};

class Builder : public BodyBuilder {
 public:
  explicit Builder(std::string name, std::initializer_list<std::uint32_t> workgroup_size);

  template <class Type>
  Buffer read(std::string name, std::uint32_t count = 0) {
    return add_buffer(std::move(name), BufferAccess::ReadOnly, Type::kDataType, count);
  }
  template <class Type>
  Buffer read_write(std::string name, std::uint32_t count = 0) {
    return add_buffer(std::move(name), BufferAccess::ReadWrite, Type::kDataType, count);
  }
  template <class Type>
  Buffer uniform(std::string name, std::uint32_t count = 0) {
    return add_buffer(std::move(name), BufferAccess::Uniform, Type::kDataType, count);
  }
  template <class Type>
  Buffer workgroup(std::string name, std::uint32_t count) {
    return add_buffer(std::move(name), BufferAccess::Workgroup, Type::kDataType, count);
  }
  // Buffers without an explicit binding get the free numbers in the order of declaration.
  Buffer add_buffer(std::string name, BufferAccess access, DataType element, std::uint32_t count);

  Value invocation_id(std::uint32_t axis) { return id(Operation::InvocationId, axis); }
  Value workgroup_id(std::uint32_t axis) { return id(Operation::WorkgroupId, axis); }
  Value local_id(std::uint32_t axis) { return id(Operation::LocalId, axis); }
  Value num_workgroups(std::uint32_t axis) { return id(Operation::NumWorkgroups, axis); }

  // The previous value. A result that is not used costs nothing.
  Fresh atomic(AtomicOp op, const Element& element, Value value = {}, Value expected = {});
  Fresh atomic_add(const Element& e, Value v) { return atomic(AtomicOp::Add, e, v); }
  Fresh atomic_and(const Element& e, Value v) { return atomic(AtomicOp::And, e, v); }
  Fresh atomic_or(const Element& e, Value v) { return atomic(AtomicOp::Or, e, v); }
  Fresh atomic_xor(const Element& e, Value v) { return atomic(AtomicOp::Xor, e, v); }
  Fresh atomic_min(const Element& e, Value v) { return atomic(AtomicOp::Min, e, v); }
  Fresh atomic_max(const Element& e, Value v) { return atomic(AtomicOp::Max, e, v); }
  Fresh atomic_exchange(const Element& e, Value v) { return atomic(AtomicOp::Exchange, e, v); }
  Fresh atomic_compare_exchange(const Element& e, Value expected, Value v) {
    return atomic(AtomicOp::CompareExchange, e, v, expected);
  }
  Fresh atomic_load(const Element& e) { return atomic(AtomicOp::Load, e); }
  void atomic_store(const Element& e, Value v) { atomic(AtomicOp::Store, e, v); }

  // Made from the values of all invocations of the workgroup.
  Fresh collective(CollectiveOp op, Value value, Value invocation = {});
  Fresh workgroup_add(Value v) { return collective(CollectiveOp::Add, v); }
  Fresh workgroup_min(Value v) { return collective(CollectiveOp::Min, v); }
  Fresh workgroup_max(Value v) { return collective(CollectiveOp::Max, v); }
  Fresh workgroup_and(Value v) { return collective(CollectiveOp::And, v); }
  Fresh workgroup_or(Value v) { return collective(CollectiveOp::Or, v); }
  Fresh workgroup_xor(Value v) { return collective(CollectiveOp::Xor, v); }
  Fresh workgroup_scan_add(Value v) { return collective(CollectiveOp::ScanAdd, v); }
  Fresh workgroup_scan_min(Value v) { return collective(CollectiveOp::ScanMin, v); }
  Fresh workgroup_scan_max(Value v) { return collective(CollectiveOp::ScanMax, v); }
  Fresh workgroup_broadcast(Value v, Value invocation) {
    return collective(CollectiveOp::Broadcast, v, invocation);
  }
  Fresh workgroup_shuffle(Value v, Value invocation) {
    return collective(CollectiveOp::Shuffle, v, invocation);
  }

  void return_() { body_.stmts.push_back(Return{}); }
  void barrier() { body_.stmts.push_back(Barrier{}); }

  // The program, valid; or everything that is wrong with it.
  Result<Linked> finish() const;

 private:
  Value id(Operation op, std::uint32_t axis);

  std::array<std::uint32_t, 3> workgroup_size_{1, 1, 1};
};

class OpBuilder : public BodyBuilder {
 public:
  OpBuilder(std::string id, DataType output);

  // All parameters before the first statement. With a count it is an array.
  template <class Type>
  Variable parameter(std::string name) {
    return add_parameter(std::move(name), Type::kDataType);
  }
  template <class Type>
  Variable parameter(std::string name, std::uint32_t count) {
    return add_parameter(std::move(name), array_of(Type::kDataType, count));
  }
  Variable add_parameter(std::string name, DataType type);
  void describe(std::string description) { op_.description = std::move(description); }
  void law(LawKind kind, std::vector<LawArgument> arguments = {}) {
    op_.laws.push_back({kind, std::move(arguments)});
  }
  void return_(Value value) { body_.stmts.push_back(Return{expr(value, op_.signature.output)}); }

  Result<Op> finish() const;

 private:
  Op op_;  // without its body
};

}  // namespace vyre
