// Expressions are made from the type that is wanted down to the leaves; statements from the outer
// block inwards. Operands of C++ operators are evaluated in an order that compilers choose, so each
// random choice is a statement of its own.
#include "tests/support/generator.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vyre/ir/intern.h"
#include "vyre/library/registry.h"

namespace vyre {

std::uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

namespace {

constexpr std::uint32_t kMaxBlockDepth = 5;
constexpr std::uint32_t kMaxLoops = 3;

struct Callable {
  std::string id;
  OpSignature signature;
};

// One way to make a value.
struct Maker {
  Operation op = Operation::Literal;
  std::uint8_t detail = 0;
  std::uint32_t imm = 0;           // a buffer, or the number of a callable
  std::vector<DataType> operands;  // a load makes its index itself
};

// The ways to make a value of one type.
struct Makers {
  std::vector<Maker> sources;  // memory and ids
  std::vector<Maker> operations;
  std::vector<Maker> calls;
};

bool is_value(DataType type) { return type != DataType::Bytes; }

// Whether the updates of several invocations may come in any order.
bool is_commutative(AtomicOp op) {
  switch (op) {
    case AtomicOp::Add:
    case AtomicOp::And:
    case AtomicOp::Or:
    case AtomicOp::Xor:
    case AtomicOp::Min:
    case AtomicOp::Max: return true;
    case AtomicOp::Exchange:
    case AtomicOp::CompareExchange: return false;
  }
  return false;
}

std::vector<DataType> value_types() {
  std::vector<DataType> types;
  for (const TypeInfo& row : all_types()) {
    if (is_value(row.type)) types.push_back(row.type);
  }
  return types;
}

// Makes the body of one program or op.
class BodyGenerator {
 public:
  BodyGenerator(Random& random, const GeneratorOptions& options,
                const std::vector<Callable>& callables)
      : random_(random), options_(options), callables_(callables) {}

  void program(Program& program);
  void op(Op& op);

 private:
  // Where a statement stands.
  struct Flow {
    bool uniform = true;        // all invocations of a workgroup come here together
    bool uniform_loop = false;  // and go around the innermost loop together
    std::uint32_t loops = 0;
    std::uint32_t depth = 0;
  };
  struct Visible {
    LocalId local;
    DataType type;
    bool assignable;
    bool uniform;
  };

  // --- Expressions ---
  void add_makers();
  void add_maker(DataType result, std::vector<Maker> Makers::* list, Maker maker,
                 bool uniform = true);
  ExprId expr(DataType type, std::uint32_t depth, bool uniform);
  ExprId expr(DataType type, bool uniform = false) { return expr(type, options_.depth, uniform); }
  ExprId apply(const Maker& maker, std::uint32_t depth, bool uniform);
  ExprId leaf(DataType type, bool uniform);
  ExprId literal(DataType type);
  ExprId number(std::uint32_t value) { return interner_.literal(DataType::U32, {{value}}); }
  ExprId id(Operation op) { return interner_.make(op, 0, 0, {}); }
  ExprId index(std::uint32_t buffer, std::uint32_t depth, bool uniform);
  ExprId condition(bool uniform);

  // --- Memory ---
  bool is_shared(const BufferDecl& buffer) const {
    return buffer.access == BufferAccess::ReadWrite || buffer.access == BufferAccess::Workgroup;
  }
  // In a program without races: whether an invocation keeps to its own element of the buffer.
  bool own_element(std::uint32_t buffer) const {
    const BufferAccess access = (*buffers_)[buffer].access;
    return options_.race_free &&
           (access == BufferAccess::ReadWrite || (access == BufferAccess::Workgroup && !reading_));
  }
  std::optional<std::uint32_t> pick_buffer(auto fits);

  // --- Statements ---
  bool is_op() const { return output_ != DataType::Unknown; }
  void block(Flow flow);
  void statement(Flow flow);
  void let(Flow flow);
  void assign(Flow flow);
  void store();
  void atomic();
  void barrier(Flow flow);
  void branch(Flow flow);
  void loop(Flow flow);
  void leave(Flow flow);
  void finish_op();
  LocalId declare(DataType type, bool assignable, bool uniform);
  StmtId here() const { return StmtId{body_.stmts.size()}; }

  Random& random_;
  const GeneratorOptions& options_;
  const std::vector<Callable>& callables_;
  const std::vector<DataType> types_ = value_types();
  const std::vector<BufferDecl>* buffers_ = nullptr;
  DataType output_ = DataType::Unknown;  // of an op

  Body body_;
  Interner interner_{body_};
  std::array<std::array<Makers, 16>, 2> makers_;  // by whether the value is uniform, and type
  std::vector<Visible> visible_;
  std::vector<std::optional<AtomicOp>> updates_;  // race_free: by buffer, what updates it
  std::uint32_t budget_ = 0;                      // statements still to make
  bool barriers_ = false;  // the program may have barriers, so nothing leaves it in divergent flow
  bool reading_ = false;   // race_free: workgroup memory is read by all now, and written by none
};

// --- Expressions ---------------------------------------------------------------------------------

void BodyGenerator::add_maker(DataType result, std::vector<Maker> Makers::* list, Maker maker,
                              bool uniform) {
  const auto tag = static_cast<std::size_t>(result);
  if (uniform) (makers_[1][tag].*list).push_back(maker);
  (makers_[0][tag].*list).push_back(std::move(maker));
}

void BodyGenerator::add_makers() {
  for (const OperationInfo& row : all_operations()) {
    if (is_form(row.op)) continue;
    for (DataType first : types_) {
      if (!contains(row.types, first)) continue;
      std::vector<DataType> operands{first};
      if (row.arity == 2) operands.push_back(second_operand(row.op, first));
      add_maker(result_of(row.op, first), &Makers::operations, {row.op, 0, 0, operands});
    }
  }
  for (DataType type : types_) {
    for (DataType source : types_) {
      if (!cast_exists(source, type)) continue;
      add_maker(type, &Makers::operations,
                {Operation::Cast, static_cast<std::uint8_t>(type), 0, {source}});
    }
    for (DataType truth : {DataType::U32, DataType::Bool}) {
      add_maker(type, &Makers::operations, {Operation::Select, 0, 0, {truth, type, type}});
    }
    if (!is_vector(type)) continue;
    const Operation make = type == DataType::Vec2U32 ? Operation::Vec2 : Operation::Vec4;
    const std::uint8_t lanes = info(type).lanes;
    add_maker(type, &Makers::operations, {make, 0, 0, std::vector<DataType>(lanes, DataType::U32)});
    for (std::uint8_t lane = 0; lane < lanes; ++lane) {
      add_maker(DataType::U32, &Makers::operations, {Operation::Lane, lane, 0, {type}});
    }
  }
  for (std::uint32_t i = 0; i < callables_.size(); ++i) {
    const OpSignature& signature = callables_[i].signature;
    add_maker(signature.output, &Makers::calls, {Operation::Call, 0, i, signature.inputs});
  }
  if (is_op()) return;
  for (std::uint8_t axis = 0; axis < 3; ++axis) {
    add_maker(DataType::U32, &Makers::sources, {Operation::InvocationId, axis, 0, {}}, false);
    add_maker(DataType::U32, &Makers::sources, {Operation::LocalId, axis, 0, {}}, false);
    add_maker(DataType::U32, &Makers::sources, {Operation::WorkgroupId, axis, 0, {}});
  }
  for (std::uint32_t i = 0; i < buffers_->size(); ++i) {
    const BufferDecl& buffer = (*buffers_)[i];
    add_maker(DataType::U32, &Makers::sources, {Operation::Length, 0, i, {}});
    if (updates_[i]) continue;
    add_maker(loaded_type(buffer.element), &Makers::sources, {Operation::Load, 0, i, {}},
              !is_shared(buffer));
  }
}

ExprId BodyGenerator::expr(DataType type, std::uint32_t depth, bool uniform) {
  const std::uint32_t choice = random_.below(8);
  if (depth == 0 || choice < 2) return leaf(type, uniform);
  const Makers& makers = makers_[uniform ? 1 : 0][static_cast<std::size_t>(type)];
  if (choice < 4 && !makers.sources.empty()) {
    return apply(random_.pick(makers.sources), depth - 1, uniform);
  }
  if (choice < 5 && !makers.calls.empty()) {
    return apply(random_.pick(makers.calls), depth - 1, uniform);
  }
  return apply(random_.pick(makers.operations), depth - 1, uniform);
}

ExprId BodyGenerator::apply(const Maker& maker, std::uint32_t depth, bool uniform) {
  if (maker.op == Operation::Load) {
    return interner_.load(BufferId{maker.imm}, index(maker.imm, depth, uniform));
  }
  std::vector<ExprId> args;
  for (DataType type : maker.operands) {
    // The same operand twice is what algebra is interested in.
    const bool again = !args.empty() && type == maker.operands[0] && random_.one_in(10);
    args.push_back(again ? args[0] : expr(type, depth, uniform));
  }
  if (maker.op == Operation::Call) return interner_.call(callables_[maker.imm].id, args);
  return interner_.make(maker.op, maker.detail, maker.imm, args);
}

ExprId BodyGenerator::leaf(DataType type, bool uniform) {
  std::vector<LocalId> locals;
  for (const Visible& candidate : visible_) {
    if (candidate.type == type && (candidate.uniform || !uniform)) {
      locals.push_back(candidate.local);
    }
  }
  if (!locals.empty() && !random_.one_in(3)) return interner_.local(random_.pick(locals));
  if (!is_vector(type)) return literal(type);
  std::vector<ExprId> lanes;
  for (std::uint8_t i = 0; i < info(type).lanes; ++i) lanes.push_back(literal(DataType::U32));
  return interner_.make(type == DataType::Vec2U32 ? Operation::Vec2 : Operation::Vec4, 0, 0, lanes);
}

// The ends of a type's range, single bits and small numbers as often as any others.
ExprId BodyGenerator::literal(DataType type) {
  const std::uint32_t width = info(type).width;
  const std::uint32_t choice = random_.below(6);
  const std::uint32_t bit = random_.below(width);
  Bits bits;
  for (std::uint32_t lane = 0; lane < bits.lanes.size(); ++lane) {
    std::uint32_t& word = bits.lanes[lane];
    word = static_cast<std::uint32_t>(random_.next());
    if (choice == 0) word = lane == 0 ? word % 8 : 0;
    if (choice == 1) word = ~std::uint32_t{0};
    if (choice == 2) word = lane == bit / 32 ? std::uint32_t{1} << bit % 32 : 0;
    if (choice == 3) word = lane == (width - 1) / 32 ? std::uint32_t{1} << (width - 1) % 32 : 0;
    if (lane * 32 >= width) word = 0;
    if (width < 32) word &= (std::uint32_t{1} << width) - 1;
  }
  return interner_.literal(type, bits);
}

// Near the invocation, inside the buffer, near its start, or anywhere.
ExprId BodyGenerator::index(std::uint32_t buffer, std::uint32_t depth, bool uniform) {
  const bool workgroup = (*buffers_)[buffer].access == BufferAccess::Workgroup;
  const Operation own = workgroup ? Operation::LocalId : Operation::InvocationId;
  if (own_element(buffer)) return id(own);
  const std::uint32_t choice = random_.below(4);
  if (choice == 0) return id(uniform ? Operation::WorkgroupId : own);
  if (choice == 1) return number(random_.below(8));
  const ExprId any = expr(DataType::U32, depth, uniform);
  if (choice == 2) return any;
  const ExprId args[] = {any, interner_.length(BufferId{buffer})};
  return interner_.make(Operation::Mod, 0, 0, args);
}

ExprId BodyGenerator::condition(bool uniform) {
  const DataType type = random_.one_in(4) ? DataType::Bool : DataType::U32;
  return expr(type, uniform);
}

// --- Statements ----------------------------------------------------------------------------------

// Some names are those of functions, which locals may have.
LocalId BodyGenerator::declare(DataType type, bool assignable, bool uniform) {
  constexpr std::array<std::string_view, 8> kStems = {"a",        "b",   "sum", "min",
                                                      "popcount", "iff", "__t", "X9"};
  std::string name(random_.pick(kStems));
  const auto taken = [&] {
    const auto same = [&](const Visible& other) { return body_[other.local].name == name; };
    return std::ranges::any_of(visible_, same);
  };
  while (taken()) name += static_cast<char>('0' + random_.below(10));
  const LocalId local{body_.locals.size()};
  body_.locals.push_back({name});
  visible_.push_back({local, type, assignable, uniform});
  return local;
}

std::optional<std::uint32_t> BodyGenerator::pick_buffer(auto fits) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < buffers_->size(); ++i) {
    if (fits(i, (*buffers_)[i])) found.push_back(i);
  }
  if (found.empty()) return std::nullopt;
  return random_.pick(found);
}

void BodyGenerator::block(Flow flow) {
  const std::size_t scope = visible_.size();
  for (std::uint32_t count = random_.below(5); count > 0 && budget_ > 0; --count) statement(flow);
  if (random_.one_in(4)) leave(flow);
  visible_.resize(scope);
}

void BodyGenerator::statement(Flow flow) {
  enum class Kind : std::uint8_t { Let, Assign, Store, Atomic, Barrier, If, For, Block };
  using enum Kind;
  constexpr std::array kKinds = {Let,    Let,    Let,     Assign, Assign, Store, Store, Store,
                                 Atomic, Atomic, Barrier, If,     If,     For,   Block};
  --budget_;
  const Kind kind = random_.pick(kKinds);
  Flow inner = flow;
  ++inner.depth;
  const bool fits = (kind < Store || kind > Barrier || !is_op()) &&
                    (kind < If || flow.depth < kMaxBlockDepth) &&
                    (kind != For || flow.loops < kMaxLoops);
  switch (fits ? kind : Let) {
    case Let: let(flow); break;
    case Assign: assign(flow); break;
    case Store: store(); break;
    case Atomic: atomic(); break;
    case Barrier: barrier(flow); break;
    case If: branch(flow); break;
    case For: loop(flow); break;
    case Block: {
      const StmtId at = here();
      body_.stmts.push_back(vyre::Block{});
      block(inner);
      std::get<vyre::Block>(body_.stmts[at.index]).end = here();
      break;
    }
  }
}

void BodyGenerator::let(Flow flow) {
  const DataType type = random_.pick(types_);
  const bool uniform = flow.uniform && random_.one_in(2);
  const ExprId value = expr(type, uniform);
  body_.stmts.push_back(Let{declare(type, true, uniform), value});
}

void BodyGenerator::assign(Flow flow) {
  std::vector<Visible> targets;
  for (const Visible& candidate : visible_) {
    if (candidate.assignable && (flow.uniform || !candidate.uniform)) targets.push_back(candidate);
  }
  if (targets.empty()) return let(flow);
  const Visible target = random_.pick(targets);
  body_.stmts.push_back(Assign{target.local, expr(target.type, target.uniform)});
}

void BodyGenerator::store() {
  const auto buffer = pick_buffer([&](std::uint32_t i, const BufferDecl& candidate) {
    const bool read_by_all = candidate.access == BufferAccess::Workgroup && reading_;
    return is_shared(candidate) && !updates_[i] && !read_by_all;
  });
  if (!buffer) return;
  const ExprId at = index(*buffer, options_.depth / 2, false);
  const ExprId value = expr(loaded_type((*buffers_)[*buffer].element));
  body_.stmts.push_back(Store{BufferId{*buffer}, at, value});
}

void BodyGenerator::atomic() {
  const auto buffer = pick_buffer([&](std::uint32_t i, const BufferDecl& candidate) {
    return candidate.access == BufferAccess::ReadWrite &&
           contains(type_set(DataType::U32, DataType::I32), candidate.element) &&
           (!options_.race_free || updates_[i]);
  });
  if (!buffer) return;
  const DataType type = (*buffers_)[*buffer].element;
  Atomic atomic;
  atomic.op = random_.pick(all_atomics()).op;
  if (options_.race_free) atomic.op = *updates_[*buffer];
  atomic.buffer = BufferId{*buffer};
  if (options_.race_free) {
    atomic.index = expr(DataType::U32);
  } else {
    atomic.index = index(*buffer, options_.depth / 2, false);
  }
  if (info(atomic.op).operands == 2) atomic.expected = expr(type);
  atomic.value = expr(type);
  if (!options_.race_free && random_.one_in(2)) atomic.result = declare(type, true, false);
  body_.stmts.push_back(atomic);
}

void BodyGenerator::barrier(Flow flow) {
  if (!barriers_ || !flow.uniform) return;
  body_.stmts.push_back(Barrier{});
  if (flow.depth == 0) reading_ = options_.race_free && !reading_;
}

void BodyGenerator::branch(Flow flow) {
  ++flow.depth;
  flow.uniform = flow.uniform && random_.one_in(2);
  const ExprId test = condition(flow.uniform);
  const StmtId at = here();
  body_.stmts.push_back(If{});
  block(flow);
  const StmtId else_begin = here();
  const std::uint32_t otherwise = random_.below(4);
  if (otherwise == 0 && flow.depth < kMaxBlockDepth && budget_ > 0) {
    --budget_;
    branch(flow);
  } else if (otherwise < 3) {
    block(flow);
  }
  body_.stmts[at.index] = If{test, else_begin, here()};
}

// A few rounds, or none; the largest numbers are bounds like any others.
void BodyGenerator::loop(Flow flow) {
  ++flow.depth;
  ++flow.loops;
  flow.uniform = flow.uniform && random_.one_in(2);
  flow.uniform_loop = flow.uniform;
  const std::uint32_t start = random_.one_in(8) ? 0xfffffff8 : 0;
  const std::uint32_t offset = random_.below(4);
  const ExprId from = number(start + offset);
  const std::uint32_t length = random_.below(6);
  ExprId to = number(start + length);
  if (start == 0 && random_.one_in(2)) {
    const ExprId args[] = {expr(DataType::U32, options_.depth / 2, flow.uniform), to};
    to = interner_.make(Operation::Min, 0, 0, args);
  }
  const StmtId at = here();
  const std::size_t scope = visible_.size();
  const LocalId variable = declare(DataType::U32, false, flow.uniform);
  body_.stmts.push_back(For{});
  block(flow);
  visible_.resize(scope);
  body_.stmts[at.index] = For{variable, from, to, here()};
}

// Ends a block that is not the outermost one.
void BodyGenerator::leave(Flow flow) {
  const bool together = flow.uniform || !barriers_;
  if (flow.loops > 0 && (together || !flow.uniform_loop) && random_.one_in(2)) {
    body_.stmts.push_back(Break{});
  } else if (is_op()) {
    body_.stmts.push_back(Return{expr(output_)});
  } else if (together && random_.one_in(2)) {
    body_.stmts.push_back(Return{});
  }
}

void BodyGenerator::finish_op() {
  if (random_.one_in(4)) {
    const ExprId test = condition(false);
    const StmtId at = here();
    body_.stmts.push_back(If{});
    body_.stmts.push_back(Return{expr(output_)});
    const StmtId else_begin = here();
    body_.stmts.push_back(Return{expr(output_)});
    body_.stmts[at.index] = If{test, else_begin, here()};
  } else {
    body_.stmts.push_back(Return{expr(output_)});
  }
}

void BodyGenerator::op(Op& op) {
  output_ = op.signature.output;
  add_makers();
  for (DataType type : op.signature.inputs) declare(type, true, true);
  budget_ = random_.below(options_.statements / 2 + 1);
  while (budget_ > 0) statement({});
  finish_op();
  op.body = canonical(body_, static_cast<std::uint32_t>(op.signature.inputs.size()));
}

void BodyGenerator::program(Program& program) {
  buffers_ = &program.buffers;
  updates_.resize(program.buffers.size());
  std::vector<AtomicOp> commutative;
  for (const AtomicInfo& row : all_atomics()) {
    if (is_commutative(row.op)) commutative.push_back(row.op);
  }
  for (std::size_t i = 0; i < program.buffers.size() && options_.race_free; ++i) {
    const BufferDecl& buffer = program.buffers[i];
    const bool takes_atomics = buffer.access == BufferAccess::ReadWrite &&
                               contains(type_set(DataType::U32, DataType::I32), buffer.element);
    if (takes_atomics && random_.one_in(2)) updates_[i] = random_.pick(commutative);
  }
  add_makers();
  barriers_ = random_.one_in(2);
  budget_ = 1 + random_.below(options_.statements * 2);
  while (budget_ > 0) statement({});
  program.body = canonical(body_);
}

// --- Modules -------------------------------------------------------------------------------------

BufferDecl make_buffer(Random& random, BufferAccess access, std::uint32_t number) {
  BufferDecl buffer;
  buffer.name = std::string(text(access)) + std::to_string(number);
  buffer.access = access;
  const bool workgroup = access == BufferAccess::Workgroup;
  do {
    buffer.element = random.pick(all_types()).type;
  } while (workgroup && !is_value(buffer.element));
  if (workgroup || random.one_in(3)) buffer.count = 1 + random.below(64);
  return buffer;
}

Program make_program(Random& random, const GeneratorOptions& options,
                     const std::vector<Callable>& callables, std::uint32_t number) {
  constexpr std::array kAccesses = {BufferAccess::ReadOnly, BufferAccess::ReadWrite,
                                    BufferAccess::Uniform, BufferAccess::Workgroup};
  Program program;
  program.name = "generated" + std::to_string(number);
  program.workgroup_size = {std::uint32_t{1} << random.below(7), 1, 1};
  if (!options.race_free && random.one_in(2)) {
    for (std::uint32_t& size : program.workgroup_size) size = 1 + random.below(4);
  }
  for (BufferAccess access : kAccesses) {
    const std::uint32_t at = static_cast<std::uint32_t>(program.buffers.size());
    program.buffers.push_back(make_buffer(random, access, at));
  }
  for (std::uint32_t more = random.below(options.buffers + 1); more > 0; --more) {
    const BufferAccess access = random.pick(kAccesses);
    const std::uint32_t at = static_cast<std::uint32_t>(program.buffers.size());
    program.buffers.push_back(make_buffer(random, access, at));
  }
  random.shuffle(program.buffers);
  std::vector<std::uint32_t> bindings(program.buffers.size() * 2);
  for (std::uint32_t i = 0; i < bindings.size(); ++i) bindings[i] = i;
  random.shuffle(bindings);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    BufferDecl& buffer = program.buffers[i];
    if (buffer.access != BufferAccess::Workgroup) buffer.binding = bindings[i];
  }
  BodyGenerator(random, options, callables).program(program);
  return program;
}

// Words of the language may be parts of an id.
Op make_op(Random& random, const GeneratorOptions& options, const std::vector<Callable>& callables,
           std::uint32_t number) {
  constexpr std::array<std::string_view, 6> kFamilies = {"gen",     "gen.if", "gen.u32",
                                                         "let.for", "x.y",    "min.len"};
  constexpr std::array<std::string_view, 5> kDescriptions = {
      "", "plain", "\"quoted\" and \\ escaped", "two\nlines\tand a tab", "größer als ∞"};
  const std::vector<DataType> types = value_types();
  Op op;
  op.id = std::string(random.pick(kFamilies)) + ".op" + std::to_string(number);
  op.description = random.pick(kDescriptions);
  for (std::uint32_t count = random.below(5); count > 0; --count) {
    op.signature.inputs.push_back(random.pick(types));
  }
  op.signature.output = random.pick(types);
  BodyGenerator(random, options, callables).op(op);
  return op;
}

}  // namespace

Module generate(std::uint64_t seed, const GeneratorOptions& options) {
  Random random(seed);
  std::vector<Callable> callables;
  for (const Op* op : Registry().all()) callables.push_back({op->id, op->signature});
  Module module;
  for (std::uint32_t i = 0; i < options.ops; ++i) {
    Op op = make_op(random, options, callables, i);
    callables.push_back({op.id, op.signature});
    module.items.emplace_back(std::move(op));
  }
  for (std::uint32_t i = 0; i < options.programs; ++i) {
    module.items.emplace_back(make_program(random, options, callables, i));
  }
  random.shuffle(module.items);
  return module;
}

}  // namespace vyre
