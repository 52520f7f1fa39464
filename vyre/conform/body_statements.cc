#include <algorithm>
#include <string_view>
#include <utility>

#include "vyre/conform/body_generator.h"

namespace vyre {
namespace {

constexpr std::uint32_t kMaxBlockDepth = 5;
constexpr std::uint32_t kMaxLoops = 3;

// Expressions, with those of the ops that are called.
constexpr std::uint64_t kMaxOpSize = 250;
constexpr std::uint64_t kMaxOpWork = 250;
constexpr std::uint64_t kMaxProgramSize = 5'000;
constexpr std::uint64_t kMaxOpArrays = 2 << 10;  // bytes
constexpr std::uint64_t kMaxProgramArrays = 32 << 10;

}  // namespace

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

void BodyGenerator::block(Flow flow) {
  const std::size_t outer = visible_.size();
  const std::vector<Phase> before = phases_;
  const std::uint32_t statements = random_.one_in(8) ? 0 : 1 + random_.below(4);
  for (std::uint32_t i = 0; i < statements && budget_ > 0; ++i) statement(flow);
  hand_on(outer, flow);
  const bool left = random_.one_in(4) && leave(flow);
  if (!left && phases_ != before) add(Barrier{});
  phases_ = before;
  visible_.resize(outer);
}

void BodyGenerator::statement(Flow flow) {
  enum class Kind {
    Let,
    Assign,
    Array,
    SetElement,
    Store,
    Atomic,
    Collective,
    Barriers,
    Exchange,
    Reduce,
    If,
    For,
    Block
  };
  using enum Kind;
  constexpr std::array kInOps = {Let, Let, Assign, Assign, Array, SetElement, If, If, For, Block};
  constexpr std::array kAlone = {Let,    Let,        Assign,     Assign, Store, Store, Store, Array,
                                 Atomic, SetElement, SetElement, If,     If,    For,   Block};
  constexpr std::array kTogether = {Let,        Let,        Assign,     Store,    Store,
                                    Store,      Array,      SetElement, Atomic,   Atomic,
                                    Collective, Collective, Barriers,   Exchange, Exchange,
                                    Reduce,     If,         If,         For,      Block};
  --budget_;
  if (!is_op() && flow.depth < kMaxBlockDepth && !spent() && random_.one_in(60)) {
    return random_.one_in(2) ? divisions(flow) : chain(flow);
  }
  const bool together = barriers_ && flow.uniform;
  Kind kind = is_op() ? random_.pick(kInOps) : random_.pick(kAlone);
  if (together) kind = random_.pick(kTogether);
  if (options_.dense && random_.one_in(3)) {
    constexpr std::array kDense = {Array, SetElement, SetElement, Collective, Collective, For};
    kind = random_.pick(kDense);
    if (kind == Collective && !together) kind = SetElement;
  }
  // The deeper a statement is, the fewer invocations reach it.
  const bool deep = flow.depth == kMaxBlockDepth || random_.below(6) < flow.depth || spent();
  if ((deep && kind >= If) || (kind == For && flow.loops == kMaxLoops)) kind = Let;
  switch (kind) {
    case Let: let(flow); break;
    case Assign: assign(flow); break;
    case Array: let_array(flow); break;
    case SetElement: set_element(flow); break;
    case Collective: collective(); break;
    case Store: store(); break;
    case Atomic: atomic(); break;
    case Barriers: barriers(); break;
    case Exchange: exchange(); break;
    case Reduce: reduce(); break;
    case If: branch(flow); break;
    case For: loop(flow); break;
    case Block: scope(flow); break;
  }
}

void BodyGenerator::scope(Flow flow) {
  ++flow.depth;
  const StmtId at = here();
  add(Block{});
  block(flow);
  body_.stmts[at.index] = Block{here()};
}

void BodyGenerator::let(Flow flow) {
  const DataType type = random_.pick(types_);
  const bool uniform = flow.uniform && random_.one_in(2);
  const ExprId value = expr(type, uniform);
  add(Let{declare(type, true, uniform), value});
}

void BodyGenerator::assign(Flow flow) {
  std::vector<Visible> targets;
  for (const Visible& candidate : visible_) {
    if (candidate.assignable && (flow.uniform || !candidate.uniform)) targets.push_back(candidate);
  }
  if (targets.empty()) return let(flow);
  const Visible target = random_.pick(targets);
  ExprId value = expr(target.type, target.uniform);
  if (!is_array(target.type) && !random_.one_in(3)) {
    value = binary(Operation::BitXor, interner_.local(target.local), value);
  }
  add(Assign{target.local, value});
}

void BodyGenerator::store() {
  const bool any = random_.one_in(12);
  const auto target = pick_buffer(
      [&](std::uint32_t i) { return is_writable(i) && (any || allows(i, Use::Write)); });
  if (!target) return;
  const ExprId at = index(*target, Use::Write, options_.depth / 2, false);
  ExprId value = expr(loaded_type(buffer(*target).element));
  if (allows(*target, Use::Read) && random_.one_in(2)) {
    value = binary(Operation::BitXor, load(*target, at), value);
  }
  add(Store{BufferId{*target}, at, value});
}

void BodyGenerator::atomic() {
  const bool any = random_.one_in(12);
  const auto is_still = [&](std::uint32_t i) { return phases_[i].mode == Mode::Still; };
  const auto target = pick_buffer([&](std::uint32_t i) {
    return takes_atomics(buffer(i)) && (any || is_still(i) || allows(i, Use::Update));
  });
  if (!target) return store();
  const bool loads = is_still(*target);
  const bool stray = random_.one_in(10) || !(loads || allows(*target, Use::Update));
  const Phase phase = phases_[*target];
  const bool shared = !stray && phase.mode == Mode::Update;
  const DataType type = buffer(*target).element;
  const std::uint32_t depth = options_.depth / 2;
  Atomic atomic;
  atomic.op = random_.pick(all_atomics()).op;
  if (shared) atomic.op = phase.update;
  if (loads || (shared && random_.one_in(6))) atomic.op = AtomicOp::Load;
  atomic.buffer = BufferId{*target};
  atomic.index = stray ? outside(*target, depth, false) : allowed(*target, depth);
  if (info(atomic.op).operands == 2) atomic.expected = expr(type);
  const bool one_value = shared && atomic.op == AtomicOp::Store;
  if (one_value) atomic.value = interner_.literal(type, {{phase.stored}});
  if (!one_value && info(atomic.op).operands > 0) atomic.value = expr(type);
  const bool is_load = atomic.op == AtomicOp::Load;
  const bool may_differ = shared && phase.update != AtomicOp::Load;
  const bool wanted = is_load || (!shared && !random_.one_in(3));
  if (wanted && atomic.op != AtomicOp::Store) {
    atomic.result = declare(may_differ ? DataType::Unknown : type, !may_differ, false);
  }
  add(atomic);
}

// All invocations of the workgroup are here.
void BodyGenerator::collective() {
  const CollectiveInfo& row = random_.pick(all_collectives());
  std::vector<DataType> types = types_;
  std::erase_if(types, [](DataType type) { return !contains(type_sets::Combined, type); });
  const DataType type = random_.pick(types);
  Collective collective;
  collective.op = row.op;
  collective.value = expr(type);
  if (row.chooses()) {
    const std::uint32_t choice = random_.below(4);
    const ExprId any = expr(DataType::U32, options_.depth / 2, row.is_uniform());
    collective.invocation = choice < 2    ? binary(Operation::Mod, any, number(shape_.group()))
                            : choice == 2 ? number(random_.below(shape_.group() + 2))
                                          : any;
  }
  collective.result = declare(type, true, row.is_uniform());
  add(collective);
  change_phases();
}

// The same, or a statement that orders memory like it.
void BodyGenerator::barrier() {
  if (random_.one_in(options_.dense ? 2 : 5)) return collective();
  add(Barrier{});
  change_phases();
}

// Each buffer that can may go into another mode.
void BodyGenerator::change_phases() {
  for (std::uint32_t i = 0; i < phases_.size(); ++i) {
    if (regions_[i].switches && random_.one_in(2)) phases_[i] = random_phase(i);
  }
}

void BodyGenerator::barriers() {
  barrier();
  if (random_.one_in(4)) barrier();
}

// Everybody writes something, and then reads what another one wrote.
void BodyGenerator::exchange() {
  const auto target = pick_buffer([&](std::uint32_t i) { return regions_[i].switches; });
  if (!target) return barrier();
  Phase& phase = phases_[*target];
  const DataType type = loaded_type(buffer(*target).element);
  const std::uint32_t depth = options_.depth / 2;
  if (phase.mode != Mode::Own && phase.mode != Mode::Free) {
    barrier();
    phase.mode = Mode::Own;
  }
  const ExprId at = allowed(*target, depth);
  const ExprId value = expr(type);
  add(Store{BufferId{*target}, at, value});
  barrier();
  phase.mode = options_.race_free ? Mode::Still : Mode::Free;
  const ExprId read = load(*target, of_group(*target, depth));
  add(Let{declare(type, true, false), read});
}

// Folds the first elements of workgroup memory into one: in each round, half as many invocations as
// before fold the upper half of what is left into the lower half.
void BodyGenerator::reduce() {
  const auto target = pick_buffer([&](std::uint32_t i) {
    return regions_[i].switches && buffer(i).access == BufferAccess::Workgroup;
  });
  if (!target) return barrier();
  Phase& phase = phases_[*target];
  const DataType type = loaded_type(buffer(*target).element);
  std::vector<Operation> folds;
  for (const OperationInfo& row : all_operations()) {
    const bool fits = row.arity == 2 && !is_form(row.op) && contains(row.types, type) &&
                      second_operand(row.op, type) == type && result_of(row.op, type) == type;
    if (fits) folds.push_back(row.op);
  }
  const Operation fold = random_.pick(folds);
  std::uint32_t rounds = 0;
  while (rounds < 5 && std::uint32_t{1} << rounds < shape_.group()) ++rounds;
  const bool owned =
      phase.mode == Mode::Own && phase.owner == Owner::Itself && regions_[*target].slots == 1;
  if (!owned && phase.mode != Mode::Free) barrier();
  phase.mode = Mode::Closed;

  const ExprId lane = linear(ids(Operation::LocalId), shape_.size);
  const ExprId first = expr(type, options_.depth / 2, false);
  add(Store{BufferId{*target}, lane, first});
  add(Barrier{});
  const auto halve = [&](LocalId round) {
    const ExprId half = binary(Operation::Shr, number(1u << rounds >> 1), interner_.local(round));
    const ExprId folded =
        binary(fold, load(*target, lane), load(*target, binary(Operation::Add, lane, half)));
    add_if(binary(Operation::Lt, lane, half), [&] { add(Store{BufferId{*target}, lane, folded}); });
    add(Barrier{});
  };
  add_for(number(0), number(rounds), std::max(1u, rounds), true, halve);
  phase.mode = options_.race_free ? Mode::Still : Mode::Free;
  add(Let{declare(type, true, false), load(*target, number(0))});
}

void BodyGenerator::branch(Flow flow) {
  ++flow.depth;
  flow.conditional = true;
  const auto waits_for_leader = [](const Phase& phase) { return phase.mode == Mode::Single; };
  const bool lead = !is_op() && !by_leader_ && std::ranges::any_of(phases_, waits_for_leader) &&
                    random_.one_in(2);
  flow.uniform = flow.uniform && random_.one_in(2) && !lead;
  const ExprId test = lead ? leader_condition() : condition(flow.uniform);
  const auto then = [&] {
    by_leader_ |= lead;
    block(flow);
    by_leader_ &= !lead;
  };
  const auto otherwise = [&] {
    const std::uint32_t choice = random_.below(4);
    if (choice == 0 && flow.depth < kMaxBlockDepth && budget_ > 0) {
      --budget_;
      branch(flow);
    } else if (choice < 3) {
      block(flow);
    }
  };
  add_if(test, then, otherwise);
}

// A few rounds, or none; the largest numbers are bounds like any others.
void BodyGenerator::loop(Flow flow) {
  ++flow.depth;
  ++flow.loops;
  flow.conditional = true;
  flow.uniform = flow.uniform && random_.one_in(2);
  flow.uniform_loop = flow.uniform;
  const std::uint32_t choice = random_.below(6);
  const std::uint32_t start = choice == 0 ? 0xfffffff8 : 0;
  const std::uint32_t offset = random_.below(4);
  const std::uint32_t last = offset + (random_.one_in(8) ? 0 : 1 + random_.below(4));
  ExprId from = number(start + offset);
  ExprId to = number(start + last);
  std::uint32_t rounds = std::max(1u, last - offset);
  const auto any = [&] { return expr(DataType::U32, options_.depth / 2, flow.uniform); };
  if (choice == 1 || choice == 2) to = binary(Operation::Min, any(), to);
  if (choice == 3) {
    from = binary(Operation::BitAnd, any(), number(3));
    to = binary(Operation::BitAnd, any(), number(7));
    rounds = 7;
  }
  const std::vector<Phase> outer_phases = std::exchange(loop_phases_, phases_);
  add_for(from, to, rounds, flow.uniform, [&](LocalId) { block(flow); });
  loop_phases_ = outer_phases;
}

// Ends a block that is not the outermost one, if that is allowed here.
bool BodyGenerator::leave(Flow flow) {
  const bool together = flow.uniform || !barriers_;
  if (flow.loops > 0 && (together || !flow.uniform_loop) && !random_.one_in(3)) {
    // After the loop the modes are those before it.
    if (phases_ != loop_phases_) add(Barrier{});
    if (random_.one_in(2)) {
      add(Continue{});
    } else {
      add(Break{});
    }
    return true;
  }
  if (is_op()) {
    const ExprId value = expr(output_);
    if (is_array(output_)) {
      add(Return{value});
      return true;
    }
    const std::size_t last = visible_.size() - std::min<std::size_t>(2, visible_.size());
    add(Return{binary(Operation::BitXor, value, folded(last, output_))});
    return true;
  }
  // All that follows an unconditional one would be for nothing.
  if (!together || random_.one_in(2) || (!flow.conditional && !random_.one_in(8))) return false;
  keep(visible_.size() - std::min<std::size_t>(3, visible_.size()));
  add(Return{});
  return true;
}

// --- What has been hard on compilers -------------------------------------------------------------

// Locals that live to the end of the program, across all its barriers and loops.
void BodyGenerator::crowd() {
  constexpr std::array kWide = {DataType::U64, DataType::U64, DataType::U128, DataType::Vec4U32,
                                DataType::U32};
  // Each is folded into the result, which takes about as much.
  constexpr std::uint64_t kWork = 24;
  const std::uint64_t most = (max_work_ - std::min(work_, max_work_)) / kWork;
  const std::uint64_t locals = std::min<std::uint64_t>(20 + random_.below(41), most);
  for (std::uint64_t i = 0; i < locals; ++i) {
    const DataType type = random_.pick(kWide);
    const bool uniform = random_.one_in(6);
    const ExprId value = expr(type, 1, uniform);
    add(Let{declare(type, true, uniform), value});
  }
  if (barriers_) barrier();
}

// What division makes a case of: 0, 1, powers of two, the largest numbers; or any.
ExprId BodyGenerator::divisor(DataType type) {
  if (random_.one_in(2)) return leaf(type, false);
  const bool few = random_.one_in(2);
  if (!is_vector(type)) {
    if (few) return interner_.literal(type, {{random_.below(3)}});
    return literal(type);
  }
  return vector(type, [&] { return few ? number(random_.below(3)) : literal(DataType::U32); });
}

// A wide number is divided a few times, under a test or in a loop.
void BodyGenerator::divisions(Flow flow) {
  constexpr std::array kWide = {DataType::U64, DataType::U64, DataType::Vec4U32, DataType::Vec2U32,
                                DataType::U128};
  constexpr std::array kOps = {Operation::Div, Operation::Mod, Operation::MulHigh};
  const DataType type = random_.pick(kWide);
  const ExprId first = expr(type, 1, false);
  const LocalId value = declare(type, true, false);
  add(Let{value, first});
  const bool in_loop = random_.one_in(2);
  const std::uint32_t rounds = 1 + random_.below(3);
  const ExprId test = in_loop ? ExprId{} : condition(false);
  const auto divide = [&] {
    for (std::uint32_t i = 1 + random_.below(3); i > 0; --i) {
      Operation op = random_.pick(kOps);
      if (!contains(info(op).types, type)) op = Operation::Div;
      const ExprId by = divisor(type);
      const ExprId quotient = binary(op, interner_.local(value), by);
      add(Assign{value, binary(Operation::BitXor, quotient, leaf(type, false))});
    }
  };
  if (in_loop) {
    add_for(number(0), number(rounds), rounds, flow.uniform, [&](LocalId) { divide(); });
  } else {
    add_if(test, divide);
  }
}

// Ten to forty tests of a number, the first of which that holds decides.
void BodyGenerator::chain(Flow flow) {
  flow.uniform = flow.uniform && random_.one_in(2);
  flow.conditional = true;
  const ExprId any = expr(DataType::U32, 1, flow.uniform);
  const std::uint32_t links = 10 + random_.below(31);
  const ExprId few = binary(Operation::BitAnd, any, number(63));
  const LocalId key = declare(DataType::U32, false, flow.uniform);
  add(Let{key, few});
  const std::size_t outer = visible_.size();
  const auto link = [&](std::uint32_t i, const auto& next) -> void {
    if (i == links) return;
    const Operation test = random_.one_in(4) ? Operation::Lt : Operation::Eq;
    const auto decide = [&] {
      assign(flow);
      visible_.resize(outer);
    };
    add_if(binary(test, interner_.local(key), number(i)), decide, [&] { next(i + 1, next); });
  };
  link(0, link);
}

// --- Whole bodies --------------------------------------------------------------------------------

// Loads from read-only memory, and calls: something to compute with.
void BodyGenerator::prepare() {
  for (std::uint32_t i = 0; i < buffers_->size(); ++i) {
    if (is_writable(i) || random_.one_in(4)) continue;
    const DataType type = loaded_type(buffer(i).element);
    const bool uniform = random_.one_in(3);
    const ExprId value = load(i, anywhere(i, 1, uniform));
    add(Let{declare(type, true, uniform), value});
  }
  for (std::uint32_t i = 0; i < callables_.size(); ++i) {
    const DataType type = callables_[i].signature.output;
    if (!is_affordable(callables_[i]) || random_.one_in(6)) continue;
    const ExprId value = apply({Operation::Call, 0, i}, 2, false);
    add(Let{declare(type, true, false), value});
  }
}

// A value to which each of the locals from `first` on contributes.
ExprId BodyGenerator::folded(std::size_t first, DataType type) {
  ExprId sum;
  for (std::size_t i = first; i < visible_.size(); ++i) {
    if (visible_[i].type == DataType::Unknown) continue;
    const ExprId value = condensed(value_of(visible_[i]), scalar_of(visible_[i].type), type);
    sum = sum.exists() ? binary(Operation::BitXor, sum, value) : value;
  }
  return sum.exists() ? sum : leaf(type, true);
}

// Leaves a trace of the locals from `first` on in the result, so that what they were can be seen.
void BodyGenerator::keep(std::size_t first) {
  const auto target = static_cast<std::uint32_t>(result_buffer(*buffers_));
  const ExprId at = allowed(target, 1);
  const ExprId before = load(target, at);
  const DataType element = buffer(target).element;
  ExprId value = folded(first, loaded_type(element));
  // Of a narrow element all bits of the value go into the low ones.
  for (std::uint32_t width = 16; is_narrow(element) && width >= min_bytes(element) * 8;
       width /= 2) {
    const LocalId wide = declare(loaded_type(element), false, false);
    add(Let{wide, value});
    const ExprId all = interner_.local(wide);
    value = binary(Operation::BitXor, all, binary(Operation::Shr, all, number(width)));
  }
  add(Store{BufferId{target}, at, binary(Operation::BitXor, before, value)});
}

// Leaves a trace of the locals of a block, from `first` on, in those around it.
void BodyGenerator::hand_on(std::size_t first, Flow flow) {
  for (std::size_t i = first; i < visible_.size(); ++i) {
    const Visible from = visible_[i];
    if (from.type == DataType::Unknown) continue;
    std::vector<Visible> targets;
    for (std::size_t k = 0; k < first; ++k) {
      const bool uniform = flow.uniform && from.uniform;
      const bool fits = visible_[k].assignable && (uniform || !visible_[k].uniform);
      if (fits) targets.push_back(visible_[k]);
    }
    if (targets.empty() || random_.one_in(4)) continue;
    const Visible to = random_.pick(targets);
    const DataType type = scalar_of(to.type);
    const ExprId value = condensed(value_of(from), scalar_of(from.type), type);
    if (is_array(to.type)) {
      set_element(to, number(random_.below(element_count(to.type))), value);
      continue;
    }
    const ExprId sum = binary(Operation::BitXor, interner_.local(to.local), value);
    add(Assign{to.local, sum});
  }
}

void BodyGenerator::finish_op() {
  if (is_array(output_)) {
    const ExprId trace = folded(0, element_type(output_));
    const ExprId value = expr(output_);
    const LocalId result = declare(output_, true, false);
    add(Let{result, value});
    set_element(visible_.back(), number(random_.below(element_count(output_))), trace);
    return add(Return{interner_.local(result)});
  }
  const ExprId trace = folded(0, output_);
  const auto give = [&] { add(Return{binary(Operation::BitXor, expr(output_), trace)}); };
  if (!random_.one_in(4)) return give();
  const ExprId test = condition(false);
  add_if(test, give, give);
}

Callable BodyGenerator::op(Op& op) {
  output_ = op.signature.output;
  max_size_ = kMaxOpSize;
  max_work_ = kMaxOpWork;
  max_array_bytes_ = kMaxOpArrays;
  for (DataType type : op.signature.inputs) {
    declare(type, true, true);
    array_bytes_ += array_bytes(type);
    spend(0, element_count(type));
  }
  budget_ = random_.below(options_.statements / 2 + 1);
  while (budget_ > 0 && !spent()) statement({});
  finish_op();
  op.body = canonical(body_, static_cast<std::uint32_t>(op.signature.inputs.size()));
  return {op.id, op.signature, size_, work_, array_bytes_};
}

// A part with barriers, if any, and one without, in which invocations go their own ways.
void BodyGenerator::program(Program& program, const CaseShape& shape) {
  buffers_ = &program.buffers;
  shape_ = shape;
  barriers_ = !random_.one_in(3);
  max_size_ = kMaxProgramSize;
  max_work_ = options_.work / shape.invocations();
  max_array_bytes_ = kMaxProgramArrays;
  plan_memory();
  add_sources();
  prepare();
  if (random_.one_in(8)) crowd();
  budget_ = 1 + options_.statements / 4 + random_.below(options_.statements * 3 / 2 + 1);
  while (budget_ > 0 && !spent()) statement({});
  if (barriers_ && random_.one_in(2)) {
    barriers_ = false;
    Flow apart;
    apart.uniform = false;
    budget_ = 1 + random_.below(options_.statements / 2 + 1);
    while (budget_ > 0 && !spent()) statement(apart);
  }
  sum_up(0);
  keep(0);
  if (random_.one_in(20)) add(Return{});
  program.body = canonical(body_);
}

}  // namespace vyre
