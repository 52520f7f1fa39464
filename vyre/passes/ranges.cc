#include "vyre/passes/ranges.h"

#include <algorithm>

#include "vyre/passes/draft.h"

namespace vyre {
namespace {

// How far a proof goes: steps in a row, and steps in all. Also how many of the facts it looks at,
// the latest ones.
constexpr unsigned kMaxDepth = 10;
constexpr unsigned kMaxSteps = 200;
constexpr std::size_t kMaxFacts = 48;
// In a body that nests deeply, only that many blocks are followed exactly.
constexpr std::size_t kExactBlocks = 8;
// How deep a range is computed anew where more is known than where its value was made.
constexpr unsigned kRangeDepth = 12;

constexpr std::uint64_t kMost = 0xffffffff;

bool is_comparison(Operation op) {
  return op == Operation::Eq || op == Operation::Ne || op == Operation::Lt || op == Operation::Gt ||
         op == Operation::Le || op == Operation::Ge;
}

// A bit for what a range does not follow from that of its operands; not of a constant, of which
// nothing more can be known. What is often compared shares its bit with little else.
std::uint64_t leaf_bit(const Expr& expr) {
  const auto bit = [](std::uint32_t first, std::uint32_t count, std::uint32_t of) {
    return std::uint64_t{1} << (first + of % count);
  };
  switch (expr.op) {
    case Operation::InvocationId: return bit(0, 3, expr.detail);
    case Operation::WorkgroupId: return bit(3, 3, expr.detail);
    case Operation::LocalId: return bit(6, 3, expr.detail);
    case Operation::Length: return bit(9, 7, expr.imm);
    case Operation::Local: return bit(16, 40, expr.imm);
    case Operation::Load: return bit(56, 8, expr.imm);
    case Operation::Literal:
    case Operation::Select:
    case Operation::Cast:
    case Operation::Vec2:
    case Operation::Vec4:
    case Operation::Lane:
    case Operation::NumWorkgroups:
#define WRITTEN(name, tag) case Operation::name:
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      break;
  }
  return 0;
}

bool is_truth(const Range& range) { return range.width == 32 && range.hi <= 1; }

}  // namespace

Ranges::Ranges(const Program& program, const DispatchFacts* facts)
    : program_(program),
      body_(program.body),
      facts_(facts),
      graph_(program, kFold | kOrder),
      stack_(program.body) {}

// --- Following the statements -------------------------------------------------------------------

void Ranges::go_to(StmtId stmt) {
  while (at_ <= stmt.index) {
    if (begun_) leave_statement(StmtId{at_ - 1});
    begun_ = true;
    stack_.enter(at_, [&](const Frame& closed, Frame& now) { end_block(closed, now); });
    ++at_;
  }
}

// What a loop assigns may be anything, inside and after it.
void Ranges::forget_assigned(StmtId first, StmtId end) {
  graph_.for_each_assignment(first, end, [&](StmtId, LocalId local, bool is_first) {
    if (is_first) forget(local);
  });
}

void Ranges::forget(LocalId id) {
  ExprId& local = locals_[id.index].value;
  if (!local.exists()) return;
  const DataType local_type = make_.type(local);
  local = unknown(local_type, any(local_type));
}

// Whether a block that opens here is coarse. An exact one looks at all that is assigned inside when
// it begins and when it ends, which takes too long where there are thousands in each other.
bool Ranges::is_coarse() {
  if (stack_.back().is_coarse) return true;
  if (stack_.frames().size() <= kExactBlocks) return false;
  if (!nests_deeply_) nests_deeply_ = nests_deeply(body_);
  return *nests_deeply_;
}

// The effect of the statement that was last gone to, and the block that it opens.
void Ranges::leave_statement(StmtId id) {
  const StmtId inside{id.index + 1};
  const auto opened = [&](bool coarse) {
    graph_.end_statement();
    Frame& frame = *stack_.open(id.index);
    frame.is_coarse = coarse;
    begin_block(frame);
  };
  visit(
      body_[id], [&](const Let& let) { locals_[let.local.index].value = value(let.value); },
      [&](const Assign& assign) {
        locals_[assign.local.index].value = value(assign.value);
        if (stack_.back().is_coarse) assigned_.push_back(assign.local);
      },
      [&](const Collective& collective) {
        const DataType type = make_.type(value(collective.value));
        locals_[collective.result.index].value = unknown(type, any(type));
      },
      [&](const Atomic& atomic) {
        const DataType element = program_.buffers[atomic.buffer.index].element;
        if (!atomic.result.exists()) return;
        locals_[atomic.result.index].value = unknown(element, any(element));
      },
      [&](const If& branch) {
        const ExprId condition = conditions_.emplace_back(value(branch.condition));
        const bool coarse = is_coarse();
        opened(coarse);
        graph_.open_branch(inside, coarse ? inside : branch.end);
        assume(condition, true, id);
      },
      [&](const For& loop) {
        const ExprId from = value(loop.from);
        const ExprId to = value(loop.to);
        opened(stack_.back().is_coarse);
        forget_assigned(inside, loop.end);
        const Range last = range(to);
        const std::uint64_t most = last.hi == 0 ? 0 : last.hi - 1;
        const ExprId variable =
            unknown(DataType::U32, between(32, std::min(range(from).lo, most), most));
        locals_[loop.variable.index].value = variable;
        known_.push_back({variable, to, true, id});
        known_.push_back({from, variable, false, id});
        ++context_;
      },
      [&](const Block&) { opened(stack_.back().is_coarse); },
      [&](const Break&) { stack_.back().ended = true; },
      [&](const Return&) { stack_.back().ended = true; },
      Nothing<Store, Barrier, SetElement, Continue>{});
  graph_.end_statement();
}

void Ranges::begin_block(Frame& frame) {
  frame.assigned = assigned_.size();
  frame.facts = known_.size();
  frame.refined = undo_.size();
}

void Ranges::end_block(const Frame& closed, Frame& now) {
  const StmtId owner{closed.owner};
  undo(closed.facts, closed.refined);
  for (; assigned_.size() > closed.assigned; assigned_.pop_back()) forget(assigned_.back());
  if (const For* loop = std::get_if<For>(&body_[owner])) {
    forget_assigned(StmtId{owner.index + 1}, loop->end);
    return;
  }
  if (!std::holds_alternative<If>(body_[owner])) {
    now.ended = closed.ended;
    return;
  }
  if (!closed.is_else) graph_.end_first();
  if (is_else_of(now, closed)) {
    now.is_coarse = closed.is_coarse;
    now.then_ended = closed.ended;
    begin_block(now);
    assume(conditions_.back(), false, owner);
    return;
  }
  const bool then_ended = closed.is_else ? closed.then_ended : closed.ended;
  const bool else_ended = closed.is_else && closed.ended;
  now.ended = then_ended && else_ended;
  graph_.end_branch([&](LocalId id, const ValueGraph::Held& then) {
    ExprId& local = locals_[id.index].value;
    if (then_ended || local == then.value) return;
    local =
        else_ended ? then.value : unknown(make_.type(local), join(range(local), range(then.value)));
  });
  // Who comes here has not taken the way that ended.
  if (then_ended != else_ended) assume(conditions_.back(), else_ended, owner);
  conditions_.pop_back();
}

void Ranges::undo(std::size_t facts, std::size_t refined) {
  known_.resize(facts);
  while (undo_.size() > refined) {
    here(undo_.back().value).refined = undo_.back().before;
    refined_leaves_ = undo_.back().leaves_before;
    undo_.pop_back();
  }
  ++context_;
}

// --- Values -------------------------------------------------------------------------------------

// A value of which only a range is known.
ExprId Ranges::unknown(DataType type, const Range& range) {
  const LocalId local{make_.local_types().size()};
  make_.local_types().push_back(type);
  unknowns_.push_back(range);
  return make_.local(local);
}

ExprId Ranges::value(ExprId root) {
  return graph_.value(root, [&](const Expr& expr, std::span<const ExprId>) {
    const DataType element = program_.buffers[expr.imm].element;
    return unknown(loaded_type(element), range_of_element(element));
  });
}

// The range of a value from those of its operands.
template <class Operand>
Range Ranges::computed(ExprId id, Operand operand) {
  const Expr expr = nodes_[id];  // a copy: values may be made meanwhile
  const DataType type = make_.type(id);
  const unsigned width = range_width(type);
  if (width == 0) return any(type);
  const std::span<const ExprId> args = operands(nodes_, expr);
  switch (expr.op) {
    case Operation::Literal: {
      const Bits bits = literal_bits(nodes_, expr);
      return constant(width, bits.lanes[0] | std::uint64_t{bits.lanes[1]} << 32);
    }
    case Operation::Local: return unknowns_[expr.imm];
    case Operation::Load: {
      const BufferDecl& buffer = program_.buffers[expr.imm];
      if (is_narrow(buffer.element)) return range_of_element(buffer.element);
      const bool is_known = facts_ != nullptr && is_bound(buffer.access);
      if (!is_known || nodes_[args[0]].op != Operation::Literal) return any(type);
      const std::vector<std::uint32_t>& words = facts_->uniforms[expr.imm];
      const std::uint32_t index = nodes_[args[0]].imm;
      const bool is_word = width == 32 && !is_narrow(program_.buffers[expr.imm].element);
      if (!is_word || index >= words.size()) return any(type);
      words_.emplace(BufferId{expr.imm}, index);
      return constant(32, type == DataType::Bool ? words[index] != 0 : words[index]);
    }
    case Operation::Length: {
      if (facts_ != nullptr && is_bound(program_.buffers[expr.imm].access)) {
        return constant(32, facts_->lengths[expr.imm]);
      }
      return between(32, program_.buffers[expr.imm].count, kMost);
    }
    case Operation::NumWorkgroups: return between(32, 1, kMost);
    case Operation::LocalId: return between(32, 0, program_.workgroup_size[expr.detail] - 1);
    case Operation::InvocationId:
    case Operation::WorkgroupId: {
      // Ids fit in 32 bits: a grid with more is not dispatched.
      const std::uint64_t size = program_.workgroup_size[expr.detail];
      std::uint64_t groups = (kMost + 1) / size;
      if (facts_ != nullptr) {
        groups = std::clamp(facts_->grid[expr.detail], std::uint64_t{1}, groups);
      }
      const std::uint64_t count = expr.op == Operation::WorkgroupId ? groups : groups * size;
      return between(32, 0, count - 1);
    }
    case Operation::Select: {
      const Range condition = operand(args[0]);
      if (condition.lo > 0) return operand(args[1]);
      if (condition.hi == 0) return operand(args[2]);
      return join(operand(args[1]), operand(args[2]));
    }
    case Operation::Cast: return cast_range(make_.type(args[0]), type, operand(args[0]));
    case Operation::Vec2:
    case Operation::Vec4:
    case Operation::Lane:
#define WRITTEN(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      return any(type);
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      break;
  }
  const DataType first = make_.type(args[0]);
  if (range_width(first) == 0) return is_comparison(expr.op) ? between(width, 0, 1) : any(type);
  if (const auto divisor = remainder_below(expr)) {
    return apply(Operation::Mod, false, operand(args[0]), constant(width, *divisor));
  }
  return apply(expr.op, has_sign(first), operand(args[0]), operand(args[args.size() - 1]));
}

// x - x / c * c is x % c, also when the division has become a multiplication: then c.
std::optional<std::uint64_t> Ranges::remainder_below(const Expr& difference) {
  if (difference.op != Operation::Sub) return {};
  const ExprId x = difference.args[0];
  const Expr product = nodes_[difference.args[1]];
  const DataType type = make_.type(x);
  if (product.op != Operation::Mul || (type != DataType::U32 && type != DataType::U64)) return {};
  const std::optional<Bits> divisor = make_.bits(product.args[1]);
  if (!divisor || make_.quotient(x, type, *divisor) != product.args[0]) return {};
  return divisor->lanes[0] | std::uint64_t{divisor->lanes[1]} << 32;
}

void Ranges::find_bases() {
  if (bases_.empty()) {
    bases_.reserve(nodes_.exprs.capacity());
    leaves_.reserve(nodes_.exprs.capacity());
  }
  for (std::size_t i = bases_.size(); i < nodes_.exprs.size(); ++i) {
    bases_.push_back(computed(ExprId{i}, [&](ExprId operand) { return bases_[operand.index]; }));
    const Expr& expr = nodes_.exprs[i];
    std::uint64_t leaves = leaf_bit(expr);
    if (expr.op != Operation::Load) {
      for (ExprId arg : operands(nodes_, expr)) leaves |= leaves_[arg.index];
    }
    leaves_.push_back(leaves);
  }
}

// What is known of it here.
Range Ranges::range(ExprId id) {
  const Range known = base(id);  // a copy: bases may be found meanwhile
  if ((leaves_[id.index] & refined_leaves_) == 0) return known;
  if (is_constant(known) || known.width == 0) return known;
  // Depth first, to a depth that is limited.
  const auto visit = [&](const auto& self, ExprId at, unsigned depth) -> Range {
    Range result = bases_[at.index];
    if (is_constant(result) || result.width == 0) return result;
    if ((leaves_[at.index] & refined_leaves_) == 0) return result;
    if (here(at).context == context_) return here(at).range;
    if (depth > 0 && !operands(nodes_, nodes_[at]).empty()) {
      const Range anew = computed(at, [&](ExprId arg) { return self(self, arg, depth - 1); });
      result = meet(result, anew).value_or(result);
    }
    Here& known_here = here(at);
    if (known_here.refined) result = meet(result, *known_here.refined).value_or(result);
    known_here.context = context_;
    known_here.range = result;
    return result;
  };
  return visit(visit, id, kRangeDepth);
}

Ranges::Here& Ranges::here(ExprId id) {
  if (here_.size() <= id.index) here_.resize(nodes_.exprs.size());
  if (here_[id.index] == 0) {
    here_[id.index] = static_cast<std::uint32_t>(heres_.size());
    heres_.emplace_back();
  }
  return heres_[here_[id.index]];
}

// --- Conditions ---------------------------------------------------------------------------------

void Ranges::narrow(ExprId id, const Range& to) {
  base(id);
  undo_.push_back({id, here(id).refined, refined_leaves_});
  here(id).refined = to;
  refined_leaves_ |= leaves_[id.index];
  ++context_;
}

void Ranges::assume(ExprId root, bool root_holds, StmtId guard) {
  struct Part {
    ExprId id;
    bool holds;
  };
  std::vector<Part> parts{{root, root_holds}};
  for (unsigned count = 0; !parts.empty() && count < 64; ++count) {
    const auto [id, holds] = parts.back();
    parts.pop_back();
    const Expr expr = nodes_[id];
    const auto is_test = [&](ExprId arg) { return is_truth(base(arg)); };
    const bool both = expr.op == Operation::And || (expr.op == Operation::BitAnd &&
                                                    is_test(expr.args[0]) && is_test(expr.args[1]));
    const bool either =
        expr.op == Operation::Or || (expr.op == Operation::BitOr && is_truth(base(id)));
    if ((both && holds) || (either && !holds)) {
      parts.push_back({expr.args[0], holds});
      parts.push_back({expr.args[1], holds});
    } else if (expr.op == Operation::LogicalNot) {
      parts.push_back({expr.args[0], !holds});
    } else if (is_comparison(expr.op) && range_width(make_.type(expr.args[0])) != 0) {
      compare(holds ? expr.op : negated(expr.op), expr.args[0], expr.args[1], guard);
      // A test that is compared with zero.
      const std::optional<Bits> right = make_.bits(expr.args[1]);
      if (right && *right == Bits{} && (expr.op == Operation::Eq || expr.op == Operation::Ne)) {
        parts.push_back({expr.args[0], holds == (expr.op == Operation::Ne)});
      }
    } else if (const Range known = range(id); known.width != 0) {
      const Range zero = constant(known.width, 0);
      const Operation test = holds ? Operation::Ne : Operation::Eq;
      if (const auto narrowed = refine(test, false, known, zero)) narrow(id, *narrowed);
      if (expr.op == Operation::Cast && make_.type(id) == DataType::Bool) {
        parts.push_back({expr.args[0], holds});
      }
    }
  }
}

void Ranges::compare(Operation comparison, ExprId a, ExprId b, StmtId guard) {
  const bool is_signed = has_sign(make_.type(a));
  const Range ra = range(a);
  const Range rb = range(b);
  if (const auto narrowed = refine(comparison, is_signed, ra, rb)) narrow(a, *narrowed);
  if (const auto narrowed = refine(swapped(comparison), is_signed, rb, ra)) narrow(b, *narrowed);
  if (make_.type(a) != DataType::U32) return;
  const bool equal = comparison == Operation::Eq;
  const bool strict = comparison == Operation::Lt || comparison == Operation::Gt;
  if (equal || comparison == Operation::Lt || comparison == Operation::Le) {
    known_.push_back({a, b, strict, guard});
  }
  if (equal || comparison == Operation::Gt || comparison == Operation::Ge) {
    known_.push_back({b, a, strict, guard});
  }
}

// --- Proofs -------------------------------------------------------------------------------------

std::optional<Ranges::Reason> Ranges::less(ExprId a, std::int64_t offset, ExprId b,
                                           const DispatchFacts* orders) {
  orders_ = orders;
  steps_ = 0;
  Reason reason;
  if (!prove(a, offset, b, kMaxDepth, reason)) return {};
  return reason;
}

// a + offset < b. Each step replaces a by something that is not less, with another offset.
bool Ranges::prove(ExprId a, std::int64_t offset, ExprId b, unsigned depth, Reason& reason) {
  constexpr std::int64_t kFar = std::int64_t{1} << 34;
  if (depth == 0 || ++steps_ > kMaxSteps || offset > kFar || offset < -kFar) return false;
  if (a == b) return offset < 0;
  if (most(a) + offset < least(b)) return true;
  const Expr expr = nodes_[a];
  const auto go = [&](ExprId to, std::int64_t by) { return prove(to, by, b, depth - 1, reason); };
  const auto is = [&](auto... ops) { return ((expr.op == ops) || ...); };
  const ExprId x = expr.args[0];
  const ExprId y = expr.args[1];
  if (is(Operation::Length) && orders_ != nullptr && nodes_[b].op == Operation::Length &&
      offset < 0) {
    const BufferId shorter{expr.imm};
    const BufferId longer{nodes_[b].imm};
    if (orders_->lengths[shorter.index] <= orders_->lengths[longer.index]) {
      reason.orders.emplace_back(shorter, longer);
      return true;
    }
  }
  if (is(Operation::Add)) {
    // A sum that wraps around is less than one that does not.
    if (go(x, offset + most(y)) || go(y, offset + most(x))) return true;
  } else if (is(Operation::Sub)) {
    // Not below zero: by the ranges, or because y <= x follows from what is known.
    const bool fits = least(x) >= most(y) || prove(y, -1, x, depth - 1, reason);
    if (fits && go(x, offset - least(y))) return true;
  } else if (is(Operation::Min, Operation::BitAnd)) {
    if (go(x, offset) || go(y, offset)) return true;
  } else if (is(Operation::Max)) {
    if (go(x, offset) && go(y, offset)) return true;
  } else if (is(Operation::Select)) {
    // Each side is only wanted where the condition says so.
    const auto goes_if = [&](bool holds, ExprId side) {
      const std::size_t facts = known_.size();
      const std::size_t refined = undo_.size();
      assume(x, holds, {});
      const bool goes = go(side, offset);
      undo(facts, refined);
      return goes;
    };
    if (goes_if(true, y) && goes_if(false, expr.args[2])) return true;
  } else if (is(Operation::Shr, Operation::Div, Operation::Mod, Operation::SubSat)) {
    if (go(x, offset)) return true;
    if (is(Operation::Mod) && least(y) >= 1 && go(y, offset - 1)) return true;
  }
  return prove_by_facts(a, offset, b, depth, reason);
}

// By what is known to be larger, the latest first.
bool Ranges::prove_by_facts(ExprId a, std::int64_t offset, ExprId b, unsigned depth,
                            Reason& reason) {
  const std::size_t end = known_.size() - std::min(known_.size(), kMaxFacts);
  for (std::size_t i = known_.size(); i-- > end;) {
    const Fact fact = known_[i];
    std::int64_t by = offset - (fact.strict ? 1 : 0);
    if (fact.a != a) {
      // a + c < …, where that does not wrap around.
      const Expr& left = nodes_[fact.a];
      if (left.op != Operation::Add || (left.args[0] != a && left.args[1] != a)) continue;
      const ExprId c = left.args[left.args[0] == a ? 1 : 0];
      if (most(a) + most(c) > static_cast<std::int64_t>(kMost)) continue;
      by -= least(c);
    }
    Reason trial = reason;
    bool found = prove(fact.b, by, b, depth - 1, trial);
    if (!found && fact.strict && nodes_[fact.b].op == Operation::SubSat) {
      // Something is less than it, so it has not been cut off at zero.
      const Expr right = nodes_[fact.b];
      found = prove(right.args[0], by - least(right.args[1]), b, depth - 1, trial);
    }
    if (!found) continue;
    reason = trial;
    if (!reason.guard.exists()) reason.guard = fact.guard;
    return true;
  }
  return false;
}

}  // namespace vyre
