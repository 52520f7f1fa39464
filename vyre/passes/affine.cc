#include "vyre/passes/affine.h"

#include <algorithm>

#include "vyre/ir/typing.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

using Kind = Shape::Kind;
constexpr std::uint32_t kMaxAlign = std::uint32_t{1} << 31;
constexpr std::uint32_t kMinusOne = 0xffffffff;
constexpr int kMaxTerms = 16;

bool is_sum(const Expr& expr) { return expr.op == Operation::Add || expr.op == Operation::Sub; }

bool is_word(DataType type) { return contains(type_sets::Word, type); }

// The greatest power of two that divides a number.
std::uint32_t divisor(std::uint32_t value) { return value == 0 ? kMaxAlign : value & (0 - value); }

std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{a} * b, kMaxAlign));
}

std::uint32_t stride_of(const Shape& shape) { return static_cast<std::uint32_t>(shape.stride); }

// What divides every value of the shape, not just the base.
std::uint32_t value_align(const Shape& shape) {
  return shape.kind == Kind::Linear ? std::min(shape.align, divisor(stride_of(shape)))
                                    : shape.align;
}

bool differs_by_row(const Shape& shape) { return shape.kind == Kind::Row || shape.row_base; }

Shape uniform(std::uint32_t align = 1) { return {Kind::Uniform, false, 0, align}; }
Shape irregular(std::uint32_t align = 1) { return {Kind::Irregular, false, 0, align}; }

Shape affine(std::uint32_t stride, bool by_row, std::uint32_t align) {
  if (stride == 0) return {by_row ? Kind::Row : Kind::Uniform, false, 0, align};
  return {Kind::Linear, by_row, static_cast<std::int32_t>(stride), align};
}

// a + factor * b, for a factor of 1 or -1.
Shape sum(const Shape& a, const Shape& b, std::uint32_t factor) {
  if (a.kind == Kind::Irregular || b.kind == Kind::Irregular) {
    return irregular(std::min(value_align(a), value_align(b)));
  }
  return affine(stride_of(a) + factor * stride_of(b), differs_by_row(a) || differs_by_row(b),
                std::min(a.align, b.align));
}

Shape scaled(const Shape& a, std::uint32_t factor) {
  const std::uint32_t align = product(a.align, divisor(factor));
  if (a.kind == Kind::Irregular) return irregular(align);
  return affine(stride_of(a) * factor, differs_by_row(a), align);
}

// Both are taken by whole rows, so two that are parallel stay so.
Shape selected(const Shape& condition, const Shape& a, const Shape& b) {
  const bool by_rows = condition.kind == Kind::Uniform || condition.kind == Kind::Row;
  const bool regular = a.kind != Kind::Irregular && b.kind != Kind::Irregular;
  if (!by_rows || !regular || a.stride != b.stride) {
    return irregular(std::min(value_align(a), value_align(b)));
  }
  return affine(stride_of(a), differs_by_row(condition) || differs_by_row(a) || differs_by_row(b),
                std::min(a.align, b.align));
}

class Analysis {
 public:
  explicit Analysis(const Program& program)
      : program_(program),
        body_(program.body),
        types_(types_of(program.body, program.buffers, {}, {})),
        bound_(bound_values(program.body)) {
    shapes_.uniformity = uniformity_of(body_, program.buffers);
  }

  Shapes run() {
    for (std::size_t i = 0; i < body_.exprs.size(); ++i) {
      shapes_.exprs.push_back(shape_of(body_.exprs[i], types_.exprs[i]));
    }
    return std::move(shapes_);
  }

 private:
  const Expr* literal(ExprId id) const {
    return body_[id].op == Operation::Literal ? &body_[id] : nullptr;
  }

  Shape of_local(LocalId local) const {
    const ExprId value = bound_[local.index];
    if (value.exists()) return shapes_[value];
    return shapes_.uniformity[local] ? uniform() : irregular();
  }

  Shape of_id(const Expr& expr) const {
    const std::uint32_t size = program_.workgroup_size[expr.detail];
    const bool along_x = expr.detail == 0;
    const bool local = expr.op == Operation::LocalId;
    if (size == 1) return uniform(local ? kMaxAlign : 1);
    if (!along_x) return affine(0, true, 1);
    return affine(1, false, local ? kMaxAlign : divisor(size));
  }

  // A function of its operands about which nothing else is known.
  Shape joined(const Expr& expr, std::uint32_t align = 1) const {
    bool by_row = false;
    for (ExprId operand : operands(body_, expr)) {
      const Kind kind = shapes_[operand].kind;
      if (kind == Kind::Linear || kind == Kind::Irregular) return irregular(align);
      by_row = by_row || kind == Kind::Row;
    }
    return affine(0, by_row, align);
  }

  Shape shape_of(const Expr& expr, DataType type) const {
    switch (expr.op) {
      case Operation::Literal: return uniform(is_word(type) ? divisor(expr.imm) : 1);
      case Operation::Local: return of_local(LocalId{expr.imm});
      case Operation::Load:
        return is_written(program_.buffers[expr.imm].access) ? irregular() : joined(expr);
      case Operation::Length: {
        // Other buffers may be longer than they are declared.
        const BufferDecl& buffer = program_.buffers[expr.imm];
        return uniform(is_bound(buffer.access) ? 1 : divisor(buffer.count));
      }
      case Operation::NumWorkgroups:
      case Operation::WorkgroupId: return uniform();
      case Operation::InvocationId:
      case Operation::LocalId: return of_id(expr);
      case Operation::Select:
        return selected(shapes_[expr.args[0]], shapes_[expr.args[1]], shapes_[expr.args[2]]);
      case Operation::Cast:
        // Between words a cast keeps the bits.
        return is_word(type) && is_word(types_[expr.args[0]]) ? shapes_[expr.args[0]]
                                                              : joined(expr);
      case Operation::Vec2:
      case Operation::Vec4:
      case Operation::Lane:
#define WRITTEN(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
        return joined(expr);
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
        return is_word(type) && is_word(types_[expr.args[0]]) ? of_word(expr) : joined(expr);
    }
    return irregular();
  }

  // Operations on u32 and i32.
  Shape of_word(const Expr& expr) const {
    const std::span<const ExprId> args = operands(body_, expr);
    const Shape& a = shapes_[args[0]];
    const Shape& b = shapes_[args.back()];
    const Expr* right = literal(args.back());
    const std::uint32_t common = std::min(value_align(a), value_align(b));
    switch (expr.op) {
      case Operation::Add: return sum(a, b, 1);
      case Operation::Sub: return sum(a, b, kMinusOne);
      case Operation::Negate: return scaled(a, kMinusOne);
      case Operation::BitNot: return sum(uniform(1), a, kMinusOne);  // -1 - a
      case Operation::Mul:
        if (right != nullptr) return scaled(a, right->imm);
        if (const Expr* left = literal(args[0])) return scaled(b, left->imm);
        return joined(expr, product(value_align(a), value_align(b)));
      case Operation::Shl:
        if (right != nullptr) return scaled(a, std::uint32_t{1} << (right->imm & 31));
        return joined(expr, value_align(a));
      case Operation::Shr:
        if (right == nullptr) return joined(expr);
        return joined(expr, std::max(value_align(a) >> (right->imm & 31), std::uint32_t{1}));
      case Operation::BitAnd: return joined(expr, std::max(value_align(a), value_align(b)));
      case Operation::BitOr:
      case Operation::BitXor:
      case Operation::Mod:  // a minus a multiple of b
      case Operation::Min:
      case Operation::Max:
      case Operation::AbsDiff: return joined(expr, common);
      case Operation::LogicalNot:
      case Operation::Popcount:
      case Operation::Clz:
      case Operation::Ctz:
      case Operation::ReverseBits:
      case Operation::Or:
      case Operation::And:
      case Operation::Eq:
      case Operation::Ne:
      case Operation::Lt:
      case Operation::Gt:
      case Operation::Le:
      case Operation::Ge:
      case Operation::Div:
      case Operation::MulHigh:
      case Operation::AddSat:
      case Operation::SubSat:
      case Operation::RotateLeft:
      case Operation::RotateRight: return joined(expr);
#define FORM(name, ...) case Operation::name:
#include "vyre/ir/ops.def"
        break;  // not an operation on values alone
    }
    return irregular();
  }

  const Program& program_;
  const Body& body_;
  const Types types_;
  const std::vector<ExprId> bound_;
  Shapes shapes_;
};

}  // namespace

Shapes shapes_of(const Program& program) { return Analysis(program).run(); }

std::string text(const Shape& shape) {
  std::string out;
  switch (shape.kind) {
    case Kind::Uniform: out = "uniform"; break;
    case Kind::Row: out = "row"; break;
    case Kind::Linear:
      out = shape.stride == 1 ? "unit stride" : "stride " + std::to_string(shape.stride);
      break;
    case Kind::Irregular: out = "irregular"; break;
  }
  if (shape.align == kMaxAlign) return out + ", aligned to 2^31";
  if (shape.align > 1) out += ", aligned to " + std::to_string(shape.align);
  return out;
}

std::vector<ExprId> bound_values(const Body& body) {
  std::vector<ExprId> bound(body.locals.size());
  for (const Stmt& stmt : body.stmts) {
    if (const Let* let = std::get_if<Let>(&stmt)) bound[let->local.index] = let->value;
    if (const Assign* assign = std::get_if<Assign>(&stmt)) bound[assign->local.index] = {};
  }
  return bound;
}

SplitIndex split_index(const Body& body, std::span<const ExprId> bound, ExprId id) {
  SplitIndex result;
  std::vector<std::pair<ExprId, bool>> work{{id, false}};  // and whether it is subtracted
  for (int steps = 0; !work.empty(); ++steps) {
    const auto [at, minus] = work.back();
    work.pop_back();
    const Expr& expr = body[at];
    const ExprId value = expr.op == Operation::Local ? bound[expr.imm] : ExprId{};
    if (expr.op == Operation::Literal) {
      result.offset += minus ? std::uint32_t{0} - expr.imm : expr.imm;
    } else if (is_sum(expr) && steps < kMaxTerms) {
      work.emplace_back(expr.args[0], minus);
      work.emplace_back(expr.args[1], minus != (expr.op == Operation::Sub));
    } else if (value.exists() && is_sum(body[value]) && steps < kMaxTerms) {
      work.emplace_back(value, minus);
    } else {
      result.terms.emplace_back(at, minus);
    }
  }
  std::ranges::sort(result.terms);
  return result;
}

}  // namespace vyre
