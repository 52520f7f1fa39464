#include "vyre/passes/simplify.h"

#include <algorithm>
#include <bit>

#include "vyre/ir/eval.h"
#include "vyre/ir/typing.h"
#include "vyre/passes/divide.h"

namespace vyre {
namespace {

// Rules make expressions that other rules match. They lead to simpler ones, so this is never
// reached unless a row is wrong. It bounds the recursion of make() through rewritten() and
// cheaper().
constexpr unsigned kMaxDepth = 48;

constexpr ExprId kNone{};

}  // namespace

Simplifier::Simplifier(const Program& program, Body& out, unsigned what)
    : program_(program), out_(out), interner_(out, expected_exprs(program.body)), what_(what) {}

DataType Simplifier::type_of(const Expr& expr) const {
  if (expr.op == Operation::Local) return local_types_[expr.imm];
  if (expr.op == Operation::Load) return loaded_type(program_.buffers[expr.imm].element);
  const std::span<const ExprId> args = operands(out_, expr);
  return result_type(expr, [&](std::size_t i) { return type(args[i]); });
}

ExprId Simplifier::add(Operation op, std::uint8_t detail, std::uint32_t imm,
                       std::span<const ExprId> args) {
  return known(interner_.make(op, detail, imm, args));
}

void Simplifier::begin(Types types) {
  local_types_ = std::move(types.locals);
  for (std::size_t i = 0; i < out_.exprs.size(); ++i) know(out_.exprs[i], types.exprs[i]);
}

void Simplifier::know(const Expr& expr, DataType type) {
  if (known_.empty()) known_.reserve(out_.exprs.capacity());
  const bool is_vector = expr.op == Operation::Vec2 || expr.op == Operation::Vec4;
  const bool constant = is_vector && has_constant_lanes(expr);
  known_.push_back({type, constant ? kConstant : static_cast<Look>(expr.op)});
}

bool Simplifier::has_constant_lanes(const Expr& expr) const {
  return std::ranges::all_of(operands(out_, expr),
                             [&](ExprId arg) { return out_[arg].op == Operation::Literal; });
}

ExprId Simplifier::constant(DataType type, const Bits& bits) {
  if (!is_vector(type)) return known(interner_.literal(type, bits));
  std::array<ExprId, 4> lanes;
  const std::size_t count = lane_count(type);
  for (std::size_t i = 0; i < count; ++i) lanes[i] = number(bits.lanes[i]);
  return add(count == 4 ? Operation::Vec4 : Operation::Vec2, 0, 0, std::span(lanes).first(count));
}

std::optional<Bits> Simplifier::bits(ExprId id) const {
  if (!is_constant(id)) return {};
  const Expr& expr = out_[id];
  if (expr.op == Operation::Literal) return literal_bits(out_, expr);
  Bits all;
  std::size_t lane = 0;
  for (ExprId arg : operands(out_, expr)) all.lanes[lane++] = out_[arg].imm;
  return all;
}

ExprId Simplifier::make(Operation op, std::uint8_t detail, std::uint32_t imm,
                        std::span<const ExprId> args) {
  if ((what_ & kFold) != 0) {
    if (const ExprId simple = folded(op, detail, imm, args); simple.exists()) return simple;
  }
  if ((what_ & ~kFold) == 0 || arity(op) <= 0 || depth_ > kMaxDepth) {
    return add(op, detail, imm, args);
  }
  std::array<ExprId, 2> swapped;
  if ((what_ & (kAlgebra | kOrder)) != 0 && args.size() == 2 && is_commutative(op) &&
      !is_constant(args[1])) {
    const bool later = (what_ & kOrder) != 0 && args[1] < args[0];
    if (is_constant(args[0]) || later) {
      swapped = {args[1], args[0]};
      args = swapped;
    }
  }
  if ((what_ & kAlgebra) != 0) {
    ++depth_;
    const ExprId simple = rewritten(op, detail, args);
    --depth_;
    if (simple.exists()) return simple;
  }
  if ((what_ & kStrength) != 0 && args.size() == 2) {
    ++depth_;
    const ExprId simple = cheaper(op, args);
    --depth_;
    if (simple.exists()) return simple;
  }
  return add(op, detail, imm, args);
}

// --- Constants ----------------------------------------------------------------------------------

ExprId Simplifier::folded(Operation op, std::uint8_t detail, std::uint32_t imm,
                          std::span<const ExprId> args) {
  switch (op) {
    case Operation::Literal:
    case Operation::Local:
    case Operation::WorkgroupId:
    case Operation::Vec2:
    case Operation::Vec4:
    case Operation::NumWorkgroups:
#define WRITTEN(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      return kNone;
    case Operation::Length:
      if (is_bound(program_.buffers[imm].access)) return kNone;
      return number(program_.buffers[imm].count);
    case Operation::InvocationId:
      if (program_.workgroup_size[detail] != 1) return kNone;
      return add(Operation::WorkgroupId, detail, 0, {});
    case Operation::LocalId: return program_.workgroup_size[detail] == 1 ? number(0) : kNone;
    case Operation::Load: {
      // What the host does not give has a length that is known.
      const BufferDecl& buffer = program_.buffers[imm];
      const std::optional<Bits> index = bits(args[0]);
      if (is_bound(buffer.access) || !index) return kNone;
      if (index->lanes[0] >= buffer.count) return constant(loaded_type(buffer.element), {});
      if (buffer.access != BufferAccess::Constant) return kNone;
      return constant(loaded_type(buffer.element),
                      load_element(buffer.element, buffer.contents.bytes(), index->lanes[0]));
    }
    case Operation::Select: {
      const std::optional<Bits> condition = bits(args[0]);
      return condition ? args[*condition == Bits{} ? 2 : 1] : kNone;
    }
    case Operation::Cast: {
      const auto target = static_cast<DataType>(detail);
      if (type(args[0]) == target) return args[0];
      const std::optional<Bits> value = bits(args[0]);
      return value ? constant(target, eval_cast(type(args[0]), target, *value)) : kNone;
    }
    case Operation::Lane: {
      const Expr& vector = out_[args[0]];
      if (vector.op != Operation::Vec2 && vector.op != Operation::Vec4) return kNone;
      return operands(out_, vector)[detail];
    }
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
    break;
  }
  const ExprId last = args[args.size() - 1];
  if (!is_constant(args[0]) || !is_constant(last)) return kNone;
  const DataType operand = type(args[0]);
  return constant(result_of(op, operand), eval(op, operand, *bits(args[0]), *bits(last)));
}

// --- Rules --------------------------------------------------------------------------------------

// Whether an expression has the type that its place in a pattern wants. `t` becomes known with the
// first value.
bool Simplifier::fits(Role role, ExprId expr, DataType& t) const {
  if (role.kind == Role::Kind::Fixed) return type(expr) == role.fixed;
  if (role.kind != Role::Kind::Value) return true;
  if (t == DataType::Unknown) t = type(expr);
  return type(expr) == t;
}

// Recurses over a pattern, which has at most kPatternNodes nodes.
bool Simplifier::matches(const Pattern& pattern, std::uint8_t at, ExprId expr, DataType& t,
                         Bindings& bound) const {
  const PatternNode& node = pattern.nodes[at];
  switch (node.kind) {
    case PatternNode::Kind::Variable: {
      if (is_constant_variable(node.variable) && !is_constant(expr)) return false;
      if (!fits(node.role, expr, t)) return false;
      ExprId& variable = bound[node.variable];
      if (variable.exists()) return variable == expr;
      variable = expr;
      return true;
    }
    case PatternNode::Kind::Number: {
      return is_constant(expr) && fits(node.role, expr, t) &&
             *bits(expr) == number_bits(node, type(expr), t);
    }
    case PatternNode::Kind::Apply: {
      const Expr& made = out_[expr];
      if (made.op != node.op) return false;
      if (node.op == Operation::Cast && type_of_detail(made) != node.role.fixed) return false;
      const auto count = static_cast<std::size_t>(arity(node.op));
      for (std::size_t i = 0; i < count; ++i) {
        if (!matches(pattern, node.args[i], made.args[i], t, bound)) return false;
      }
      return true;
    }
  }
  return false;
}

ExprId Simplifier::build(const Pattern& pattern, DataType t, const Bindings& bound) {
  std::array<ExprId, kPatternNodes> made;
  for (std::size_t i = 0; i < pattern.nodes.size(); ++i) {
    const PatternNode& node = pattern.nodes[i];
    const DataType type = vyre::type_of(node.role, t);
    if (node.kind == PatternNode::Kind::Variable) {
      made[i] = bound[node.variable];
    } else if (node.kind == PatternNode::Kind::Number) {
      made[i] = constant(type, number_bits(node, type, t));
    } else {
      const auto count = static_cast<std::size_t>(arity(node.op));
      std::array<ExprId, 3> args{};
      for (std::size_t k = 0; k < count; ++k) args[k] = made[node.args[k]];
      const std::uint8_t detail =
          node.op == Operation::Cast ? static_cast<std::uint8_t>(type) : std::uint8_t{0};
      made[i] = make(node.op, detail, 0, std::span(args).first(count));
    }
  }
  return made[pattern.nodes.size() - 1];
}

ExprId Simplifier::rewritten(Operation op, std::uint8_t detail, std::span<const ExprId> args) {
  const Look second = args.size() > 1 ? look(args[1]) : kAnything;
  const Look third = args.size() > 2 ? look(args[2]) : kAnything;
  for (const Rule* each : rules_for(op, look(args[0]), second)) {
    const Rule& rule = *each;
    if (rule.looks[2] != kAnything && rule.looks[2] != third) continue;
    if (rule.twice && args[0] != args[1]) continue;
    if (rule.strength && (what_ & kStrength) == 0) continue;
    const PatternNode& root = rule.pattern.root();
    if (op == Operation::Cast && static_cast<DataType>(detail) != root.role.fixed) continue;
    DataType t = DataType::Unknown;
    Bindings bound;
    bool matched = true;
    for (std::size_t i = 0; i < args.size() && matched; ++i) {
      matched = matches(rule.pattern, root.args[i], args[i], t, bound);
    }
    if (!matched || !contains(rule.types, t)) continue;
    if (!rule.condition.empty()) {
      PatternValues values;
      for (std::size_t i = 0; i < bound.size(); ++i) {
        if (bound[i].exists()) values[i] = bits(bound[i]).value_or(Bits{});
      }
      if (!holds(rule.condition, t, values)) continue;
    }
    return build(rule.result, t, bound);
  }
  return kNone;
}

// --- Cheaper operations -------------------------------------------------------------------------

// Division by a constant that is no power of two: those are rules.
ExprId Simplifier::cheaper(Operation op, std::span<const ExprId> args) {
  if (op != Operation::Div && op != Operation::Mod) return kNone;
  const std::optional<Bits> divisor = bits(args[1]);
  if (!divisor) return kNone;
  const DataType operand = type(args[0]);
  const ExprId result = quotient(args[0], operand, *divisor);
  if (!result.exists() || op == Operation::Div) return result;
  return make(Operation::Sub, {args[0], make(Operation::Mul, {result, args[1]})});
}

ExprId Simplifier::quotient(ExprId value, DataType type, const Bits& divisor) {
  const std::uint32_t low = divisor.lanes[0];
  const auto count = [&](unsigned n) {
    return is_vector(type) ? constant(type, {{n, n, n, n}}) : number(n);
  };
  const auto shifted = [&](ExprId of, unsigned by) {
    return by == 0 ? of : make(Operation::Shr, {of, count(by)});
  };
  if (has_sign(type)) {
    const auto n = static_cast<std::int32_t>(low);
    const std::uint32_t size = n < 0 ? 0 - low : low;
    if (size < 3 || std::has_single_bit(size)) return kNone;
    const SignedReciprocal by = signed_reciprocal(32, n);
    const auto wide = static_cast<std::uint64_t>(by.multiplier);
    const ExprId multiplier =
        constant(DataType::U64,
                 {{static_cast<std::uint32_t>(wide), static_cast<std::uint32_t>(wide >> 32)}});
    const ExprId product = make(Operation::Mul, {cast(DataType::U64, value), multiplier});
    ExprId high = cast(DataType::I32, make(Operation::Shr, {product, number(32)}));
    if (by.add != 0) high = make(by.add > 0 ? Operation::Add : Operation::Sub, {high, value});
    const ExprId rounded = shifted(high, by.after);
    const ExprId sign = make(Operation::Shr, {cast(DataType::U32, rounded), number(31)});
    return make(Operation::Add, {rounded, cast(DataType::I32, sign)});
  }
  if (type == DataType::U128 || !contains(info(Operation::MulHigh).types, type)) return kNone;
  const bool wide = type == DataType::U64;
  const std::uint64_t d = wide ? low | std::uint64_t{divisor.lanes[1]} << 32 : low;
  for (std::size_t i = 1; i < lane_count(type); ++i) {
    if (divisor.lanes[i] != low) return kNone;
  }
  if (d < 3 || std::has_single_bit(d)) return kNone;
  const Reciprocal by = reciprocal(wide ? 64 : 32, d);
  const auto m = static_cast<std::uint32_t>(by.multiplier);
  Bits bits{{m, m, m, m}};
  if (!is_vector(type)) {
    bits = {{m, wide ? static_cast<std::uint32_t>(by.multiplier >> 32) : 0}};
  } else if (type == DataType::Vec2U32) {
    bits = {{m, m}};
  }
  const ExprId high = make(Operation::MulHigh, {shifted(value, by.before), constant(type, bits)});
  if (!by.add) return shifted(high, by.after);
  const ExprId half = shifted(make(Operation::Sub, {value, high}), 1);
  return shifted(make(Operation::Add, {half, high}), by.after - 1);
}

}  // namespace vyre
