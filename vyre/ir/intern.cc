#include "vyre/ir/intern.h"

#include <algorithm>

#include "vyre/base/hash.h"
#include "vyre/base/slots.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

inline Spot spot_of_plain(const Expr& expr, std::uint64_t seed) {
  // Operands that are not there are 0; what has a third one has no `imm`.
  const auto [a, b, c] = expr.args;
  const std::uint64_t head = static_cast<std::uint64_t>(expr.op) << 8 | expr.detail;
  std::uint64_t hash = mix(seed, head | static_cast<std::uint64_t>(expr.imm ^ c.index) << 32);
  hash = mix(hash, a.index | static_cast<std::uint64_t>(b.index) << 32);
  const std::uint32_t near = std::max({a.index, b.index, c.index});
  return {hash, near != 0 ? near : expr.imm * 4 + static_cast<std::uint32_t>(expr.op) * 0x9e3779b1};
}

Spot spot_of_list(const Expr& expr, std::span<const ExprId> args, std::uint64_t seed) {
  const std::uint64_t head = static_cast<std::uint64_t>(expr.op) << 8 | expr.detail;
  std::uint64_t hash = mix(seed ^ head, expr.imm);
  std::uint32_t near = 0;
  for (ExprId arg : args) {
    hash = mix(hash, arg.index);
    near = std::max(near, arg.index);
  }
  return {mix(hash, 0), near};
}

Spot spot_of_bits(const Bits& bits) {
  std::uint64_t hash = hash_seed();
  for (std::uint32_t lane : bits.lanes) hash = mix(hash, lane);
  return {hash, static_cast<std::uint32_t>(hash)};
}

Spot spot_of_text(std::string_view text) {
  const std::uint64_t hash = hash_text(text);
  return {hash, static_cast<std::uint32_t>(hash)};
}

}  // namespace

Interner::Interner(Body& body, std::size_t expected)
    : body_(body), expected_(expected), seed_(hash_seed()) {}

void Interner::grow_table() {
  // Not before: somebody may fill the body after this was made.
  if (slots_.empty()) body_.exprs.reserve(expected_);
  grow(slots_, body_.exprs.size(), expected_, [&](std::size_t i) {
    const Expr& expr = body_.exprs[i];
    return has_operand_list(expr.op) ? spot_of_list(expr, operands(body_, expr), seed_)
                                     : spot_of_plain(expr, seed_);
  });
}

ExprId Interner::make(Operation op, std::uint8_t detail, std::uint32_t imm,
                      std::span<const ExprId> args) {
  const std::size_t count = body_.exprs.size();
  if (is_full(slots_, count)) grow_table();
  if (has_operand_list(op)) return make_listed({op, detail, 0, imm}, args);
  const auto arg = [&](std::size_t i) { return i < args.size() ? args[i] : ExprId{0u}; };
  const Expr expr{op, detail, 0, imm, {arg(0), arg(1), arg(2)}};
  const std::uint32_t index = find_or_add(slots_, count, spot_of_plain(expr, seed_),
                                          [&](std::uint32_t i) { return body_.exprs[i] == expr; });
  if (index == count) body_.exprs.push_back(expr);
  return ExprId{index};
}

ExprId Interner::make_listed(Expr expr, std::span<const ExprId> args) {
  const std::size_t count = body_.exprs.size();
  const std::uint32_t index =
      find_or_add(slots_, count, spot_of_list(expr, args, seed_), [&](std::uint32_t i) {
        const Expr& other = body_.exprs[i];
        return other.op == expr.op && other.detail == expr.detail && other.imm == expr.imm &&
               std::ranges::equal(operands(body_, other), args);
      });
  if (index != count) return ExprId{index};
  expr.args[0] = ExprId{body_.operands.size()};
  expr.args[1] = ExprId{args.size()};
  body_.operands.insert(body_.operands.end(), args.begin(), args.end());
  body_.exprs.push_back(expr);
  return ExprId{index};
}

ExprId Interner::literal(DataType type, const Bits& bits) {
  const std::uint32_t imm = is_wide(type) ? constant(bits) : bits.lanes[0];
  return make(Operation::Literal, static_cast<std::uint8_t>(type), imm, {});
}

std::uint32_t Interner::constant(const Bits& bits) {
  std::vector<Bits>& table = body_.constants;
  const std::uint32_t index = find_or_add(
      constant_slots_, table.size(), spot_of_bits(bits),
      [&](std::size_t i) { return spot_of_bits(table[i]); },
      [&](std::uint32_t i) { return table[i] == bits; });
  if (index == table.size()) table.push_back(bits);
  return index;
}

std::uint32_t Interner::callee(std::string_view id) {
  std::vector<std::string>& table = body_.callees;
  const std::uint32_t index = find_or_add(
      callee_slots_, table.size(), spot_of_text(id),
      [&](std::size_t i) { return spot_of_text(table[i]); },
      [&](std::uint32_t i) { return table[i] == id; });
  if (index == table.size()) table.emplace_back(id);
  return index;
}

ExprId Interner::call(std::string_view id, std::span<const ExprId> args) {
  return make(Operation::Call, 0, callee(id), args);
}

namespace {

// Copies the locals and statements of a body, and its expressions in the order of their first
// visit. `add(expr, args)` adds one to the result; its local, if it is one, is that of the result.
template <class Add>
void copy_in_order(const Body& body, std::uint32_t parameters, Body& result, Add add) {
  result.locals.reserve(body.locals.size());
  std::vector<LocalId> locals(body.locals.size());
  const auto declare = [&](LocalId local) {
    locals[local.index] = LocalId{result.locals.size()};
    result.locals.push_back(body[local]);
  };
  for (std::uint32_t i = 0; i < parameters; ++i) declare(LocalId{i});
  for (const Stmt& stmt : body.stmts) {
    if (const LocalId local = declared(stmt); local.exists()) declare(local);
  }
  std::vector<ExprId> copies(body.exprs.size());
  std::vector<std::pair<ExprId, std::uint32_t>> stack;  // with the next operand
  std::vector<ExprId> args;
  const auto copy = [&](ExprId& root) {
    if (!root.exists()) return;
    if (!copies[root.index].exists()) stack.emplace_back(root, 0);
    while (!stack.empty()) {
      const ExprId id = stack.back().first;
      const std::span<const ExprId> ids = operands(body, body[id]);
      if (stack.back().second < ids.size()) {
        const ExprId operand = ids[stack.back().second++];
        if (!copies[operand.index].exists()) stack.emplace_back(operand, 0);
        continue;
      }
      args.clear();
      for (ExprId operand : ids) args.push_back(copies[operand.index]);
      Expr expr = body[id];
      if (expr.op == Operation::Local) {
        expr.imm = (expr.imm < locals.size() ? locals[expr.imm] : LocalId{}).index;
      }
      copies[id.index] = add(expr, args);
      stack.pop_back();
    }
    root = copies[root.index];
  };
  result.stmts = body.stmts;
  for (Stmt& stmt : result.stmts) {
    for_each_root(stmt, copy);
    if (LocalId* local = local_of(stmt); local != nullptr && local->exists()) {
      *local = locals[local->index];
    }
  }
}

}  // namespace

Body canonical(const Body& body, std::uint32_t parameters) {
  Body result;
  Interner interner(result, body.exprs.size());
  std::vector<std::uint32_t> callees(body.callees.size(), ExprId::kNone);
  copy_in_order(body, parameters, result, [&](const Expr& expr, std::span<const ExprId> args) {
    if (expr.op == Operation::Literal) {
      return interner.literal(type_of_detail(expr), literal_bits(body, expr));
    }
    if (expr.op != Operation::Call) return interner.make(expr.op, expr.detail, expr.imm, args);
    std::uint32_t& callee = callees[expr.imm];  // a long id is read once, not for each call
    if (callee != ExprId::kNone) return interner.make(expr.op, 0, callee, args);
    const ExprId made = interner.call(body.callees[expr.imm], args);
    callee = result[made].imm;
    return made;
  });
  return result;
}

Body renumbered(Body&& body, std::uint32_t parameters) {
  Body result;
  result.exprs.reserve(body.exprs.size());
  std::vector<std::uint32_t> constants(body.constants.size(), ExprId::kNone);
  copy_in_order(body, parameters, result, [&](Expr expr, std::span<const ExprId> args) {
    if (has_operand_list(expr.op)) {
      expr.args[0] = ExprId{result.operands.size()};
      result.operands.insert(result.operands.end(), args.begin(), args.end());
    } else {
      std::ranges::copy(args, expr.args.begin());
    }
    if (expr.op == Operation::Literal && is_wide(type_of_detail(expr))) {
      std::uint32_t& constant = constants[expr.imm];
      if (constant == ExprId::kNone) {
        constant = static_cast<std::uint32_t>(result.constants.size());
        result.constants.push_back(body.constants[expr.imm]);
      }
      expr.imm = constant;
    }
    result.exprs.push_back(expr);
    return ExprId{result.exprs.size() - 1};
  });
  return result;
}

}  // namespace vyre
