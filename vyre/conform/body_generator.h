// Makes random bodies of programs and ops. Expressions are made from the type that is wanted down
// to the leaves (body_values.cc, those with arrays in body_arrays.cc), statements from the outer
// block inwards (body_statements.cc).
//
// A program is free of races because every buffer that invocations write is in one mode at a time,
// and a mode changes only at a barrier that the whole workgroup passes (body_memory.cc):
//
//   Still    read by all, written by none
//   Own      an invocation uses only its own elements, whose places follow from its ids
//   Update   one commutative atomic operation, whose result is not used, or atomic stores of one
//            value
//   Single   one invocation of the workgroup does what it likes, the others nothing
//   Closed   only used by a pattern of several statements
//
// Barriers order only the invocations of one workgroup. So in storage that changes its mode while
// several workgroups run, each of them uses only its own elements. An access that is out of
// bounds for certain touches nothing, and is fine in every mode. Where control flow joins again, or
// goes around a loop, the modes are what they were before; a barrier brings them back where they
// are not.
//
// Compilers choose the order in which they evaluate arguments, so each random choice is a statement
// of its own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vyre/base/random.h"
#include "vyre/conform/generator.h"
#include "vyre/ir/intern.h"
#include "vyre/ir/program.h"
#include "vyre/ir/run.h"
#include "vyre/ir/uniformity.h"

namespace vyre {

inline std::uint32_t volume(const Ids& extents) { return extents[0] * extents[1] * extents[2]; }

// How a program is run.
struct CaseShape {
  Ids size{1, 1, 1};  // of a workgroup
  Ids grid{1, 1, 1};

  std::uint32_t group() const { return volume(size); }
  std::uint32_t groups() const { return volume(grid); }
  std::uint32_t invocations() const { return group() * groups(); }
};

// An op that bodies call, and what a call costs: expressions written out, and evaluated at most.
struct Callable {
  std::string id;
  OpSignature signature;
  std::uint64_t size = 1;
  std::uint64_t work = 1;
  std::uint64_t array_bytes = 0;
};

// The buffer in which each invocation has elements for its results, all the time.
std::size_t result_buffer(std::span<const BufferDecl> buffers);

// A value of a scalar type: the ends of its range, single bits and small numbers as often as any
// others.
Bits random_value(Random& random, DataType type);

// What a value can have as its type, besides arrays.
std::vector<DataType> value_types();

// The type of an array of at most `most` elements; mostly it has few.
DataType random_array(Random& random, std::uint32_t most);

// Of an array the type of its elements.
constexpr DataType scalar_of(DataType type) { return is_array(type) ? element_type(type) : type; }

inline std::uint64_t array_bytes(DataType type) {
  return std::uint64_t{element_count(type)} * min_bytes(element_type(type));
}

inline bool takes_atomics(const BufferDecl& buffer) {
  return buffer.access == BufferAccess::ReadWrite && contains(type_sets::Word, buffer.element);
}

// One way to make a value.
struct Maker {
  Operation op = Operation::Literal;
  std::uint8_t detail = 0;
  std::uint32_t imm = 0;                // a buffer, or the number of a callable
  std::vector<DataType> operands = {};  // a load makes its index itself, a call knows its signature
};

using MakersByType = std::array<std::vector<Maker>, 16>;

// Makes the body of one program or op.
class BodyGenerator {
 public:
  BodyGenerator(Random& random, const GeneratorOptions& options,
                const std::vector<Callable>& callables, const std::vector<ConstTable>& tables)
      : random_(random), options_(options), callables_(callables), tables_(tables) {}

  // Fill in the body of a program with buffers, or of an op with a signature.
  void program(Program& program, const CaseShape& shape);
  Callable op(Op& op);

 private:
  // The place of a statement.
  struct Flow {
    bool uniform = true;        // all invocations of a workgroup come here together
    bool uniform_loop = false;  // and go around the innermost loop together
    bool conditional = false;
    std::uint32_t loops = 0;
    std::uint32_t depth = 0;
  };
  struct Visible {
    LocalId local;
    DataType type;  // Unknown where nobody may know the value
    bool assignable;
    bool uniform;
  };

  // Free: races and all.
  enum class Mode : std::uint8_t { Free, Still, Own, Update, Single, Closed };
  // Which invocation of the group owns an element: itself, the one across, or one further on.
  enum class Owner : std::uint8_t { Itself, Across, Further };
  // What may be done with a buffer at this point of the program.
  struct Phase {
    Mode mode = Mode::Still;
    Owner owner = Owner::Itself;
    AtomicOp update = AtomicOp::Add;
    std::uint32_t stored = 0;  // by all atomic stores
    friend bool operator==(const Phase&, const Phase&) = default;
  };
  // What stays the same about a buffer in the whole program.
  struct Region {
    bool switches = false;  // from mode to mode
    bool whole = true;      // a workgroup may access all elements, not just its own
    // How many elements an invocation owns, one after the other or far apart.
    std::uint32_t slots = 1;
    bool strided = false;
    bool by_group = false;  // the elements of a workgroup are neighbours
  };
  enum class Use : std::uint8_t { Read, Write, Update };
  using Coordinates = std::array<ExprId, 3>;

  // --- Expressions ---
  ExprId expr(DataType type, std::uint32_t depth, bool uniform);
  ExprId expr(DataType type, bool uniform = false) { return expr(type, options_.depth, uniform); }
  ExprId apply(const Maker& maker, std::uint32_t depth, bool uniform);
  ExprId leaf(DataType type, bool uniform);
  ExprId literal(DataType type);
  ExprId condensed(ExprId value, DataType from, DataType to);
  ExprId vector(DataType type, auto lane) {
    std::vector<ExprId> lanes;
    for (std::uint32_t i = 0; i < lane_count(type); ++i) lanes.push_back(lane());
    return make(type == DataType::Vec2U32 ? Operation::Vec2 : Operation::Vec4, lanes);
  }
  ExprId make(Operation op, std::span<const ExprId> args, std::uint8_t detail = 0,
              std::uint32_t imm = 0) {
    spend(1, 1);
    return interner_.make(op, detail, imm, args);
  }
  ExprId binary(Operation op, ExprId a, ExprId b) { return make(op, std::array{a, b}); }
  ExprId cast(ExprId value, DataType to) {
    return make(Operation::Cast, {&value, 1}, static_cast<std::uint8_t>(to));
  }
  ExprId number(std::uint32_t value) { return interner_.literal(DataType::U32, {{value}}); }
  ExprId id(Operation op, std::size_t axis) {
    return make(op, {}, static_cast<std::uint8_t>(axis));
  }
  ExprId load(std::uint32_t buffer, ExprId at) {
    return make(Operation::Load, {&at, 1}, 0, buffer);
  }
  ExprId length(std::uint32_t buffer) { return make(Operation::Length, {}, 0, buffer); }
  ExprId condition(bool uniform);
  ExprId leader_condition();
  void add_sources();
  void add_source(DataType type, Maker maker, bool uniform);
  std::optional<std::uint32_t> affordable_call(auto fits) {
    std::vector<std::uint32_t> calls;
    for (std::uint32_t i = 0; i < callables_.size(); ++i) {
      if (fits(callables_[i].signature.output) && is_affordable(callables_[i])) calls.push_back(i);
    }
    if (calls.empty()) return std::nullopt;
    return random_.pick(calls);
  }

  // --- Arrays ---
  bool has_room(DataType array) const {
    return array_bytes_ + array_bytes(array) <= max_array_bytes_;
  }
  ExprId array(DataType type, std::uint32_t depth, bool uniform);
  ExprId list(DataType type, std::uint32_t depth, bool uniform);
  ExprId element(DataType type, std::uint32_t depth, bool uniform);
  ExprId element_index(std::uint32_t count, std::uint32_t depth, bool uniform);
  ExprId sampled(const Visible& array);
  ExprId value_of(const Visible& local);
  void let_array(Flow flow);
  void set_element(Flow flow);
  void set_element(const Visible& array, ExprId at, ExprId value);
  void sum_up(std::size_t first);

  // --- Work ---
  void spend(std::uint64_t size, std::uint64_t work) {
    size_ += size;
    work_ += work * rounds_;
  }
  bool is_affordable(const Callable& callee) const {
    return size_ + callee.size < max_size_ && work_ + callee.work * rounds_ < max_work_ &&
           array_bytes_ + callee.array_bytes <= max_array_bytes_;
  }
  bool spent() const { return size_ >= max_size_ || work_ >= max_work_; }

  // --- Memory ---
  const BufferDecl& buffer(std::uint32_t i) const { return (*buffers_)[i]; }
  bool is_writable(std::uint32_t i) const { return is_written(buffer(i).access); }
  bool allows(std::uint32_t buffer, Use use) const;
  // Indices: one that the mode allows, or one that is out of bounds; one that the mode allows; any;
  // one out of bounds; an element of this invocation; one of any invocation of the workgroup.
  ExprId index(std::uint32_t buffer, Use use, std::uint32_t depth, bool uniform);
  ExprId allowed(std::uint32_t buffer, std::uint32_t depth);
  ExprId anywhere(std::uint32_t buffer, std::uint32_t depth, bool uniform);
  ExprId outside(std::uint32_t buffer, std::uint32_t depth, bool uniform);
  ExprId far_row(std::uint32_t buffer);
  ExprId own(std::uint32_t buffer, std::uint32_t depth);
  ExprId of_group(std::uint32_t buffer, std::uint32_t depth);
  ExprId place(std::uint32_t buffer, const Coordinates& local, bool is_own, std::uint32_t depth);
  ExprId linear(const Coordinates& at, const Ids& extents);
  Coordinates ids(Operation op) { return {id(op, 0), id(op, 1), id(op, 2)}; }
  // The place of another invocation of the workgroup: move(coordinate, size) on each axis.
  Coordinates moved(auto move) {
    Coordinates local = ids(Operation::LocalId);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (shape_.size[axis] > 1) local[axis] = move(local[axis], shape_.size[axis]);
    }
    return local;
  }
  ExprId further(ExprId at, std::uint32_t by, std::uint32_t size) {
    return binary(Operation::Mod, binary(Operation::Add, at, number(by)), number(size));
  }
  std::optional<std::uint32_t> pick_buffer(auto fits) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < buffers_->size(); ++i) {
      if (fits(i)) found.push_back(i);
    }
    if (found.empty()) return std::nullopt;
    return random_.pick(found);
  }
  void plan_memory();
  Phase random_phase(std::uint32_t buffer);

  // --- Statements ---
  bool is_op() const { return output_ != DataType::Unknown; }
  void block(Flow flow);
  void statement(Flow flow);
  void scope(Flow flow);
  void let(Flow flow);
  void assign(Flow flow);
  void store();
  void atomic();
  void collective();
  void change_phases();
  void barrier();
  void barriers();
  void exchange();
  void reduce();
  void branch(Flow flow);
  void loop(Flow flow);
  bool leave(Flow flow);
  void crowd();
  void divisions(Flow flow);
  ExprId divisor(DataType type);
  void chain(Flow flow);
  void prepare();
  void keep(std::size_t first);
  void hand_on(std::size_t first, Flow flow);
  ExprId folded(std::size_t first, DataType type);
  void finish_op();
  LocalId declare(DataType type, bool assignable, bool uniform);
  StmtId here() const { return StmtId{body_.stmts.size()}; }
  void add(const Stmt& stmt) { body_.stmts.push_back(stmt); }
  void add_if(ExprId test, auto then, auto otherwise) {
    const StmtId at = here();
    add(If{});
    then();
    const StmtId else_begin = here();
    otherwise();
    body_.stmts[at.index] = If{test, else_begin, here()};
  }
  void add_if(ExprId test, auto then) {
    add_if(test, then, [] {});
  }
  // inside(variable) makes the body of a loop that has so many rounds at most.
  void add_for(ExprId from, ExprId to, std::uint32_t rounds, bool uniform, auto inside) {
    const StmtId at = here();
    const std::size_t outer = visible_.size();
    const LocalId variable = declare(DataType::U32, false, uniform);
    add(For{});
    rounds_ *= rounds;
    inside(variable);
    rounds_ /= rounds;
    visible_.resize(outer);
    body_.stmts[at.index] = For{variable, from, to, here()};
  }

  Random& random_;
  const GeneratorOptions& options_;
  const std::vector<Callable>& callables_;
  const std::vector<ConstTable>& tables_;
  const std::vector<DataType> types_ = value_types();
  const std::vector<BufferDecl>* buffers_ = nullptr;
  CaseShape shape_;
  DataType output_ = DataType::Unknown;  // of an op

  Body body_;
  Interner interner_{body_};
  std::array<MakersByType, 2> sources_;  // memory and ids, by whether the value is uniform
  std::vector<Visible> visible_;
  std::uint32_t budget_ = 0;  // statements still to make
  std::uint64_t size_ = 0;    // expressions made so far, with those of called ops
  std::uint64_t work_ = 0;    // and how many of them an invocation evaluates at most
  std::uint64_t max_size_ = 0;
  std::uint64_t max_work_ = 0;
  std::uint64_t array_bytes_ = 0;  // of the arrays made so far, with those of called ops
  std::uint64_t max_array_bytes_ = 0;
  std::uint64_t rounds_ = 1;  // of the loops around, together
  bool barriers_ = false;     // may follow, so no invocation returns in divergent flow
  std::vector<Region> regions_;
  std::vector<Phase> phases_;
  std::vector<Phase> loop_phases_;  // before the innermost loop
  std::uint32_t leader_ = 0;        // its place in the workgroup
  bool by_leader_ = false;          // only the leader comes here
};

}  // namespace vyre
