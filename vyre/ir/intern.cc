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

Interner::Interner(Body& body, std::size_t expected, bool distinct)
    : body_(body), expected_(expected), distinct_(distinct), seed_(hash_seed()) {}

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
  Expr expr{op, detail, 0, imm};
  if (!has_operand_list(op)) {
    std::ranges::copy(args, expr.args.begin());
    return add(expr);
  }
  const std::size_t count = body_.exprs.size();
  if (!distinct_) {
    if (is_full(slots_, count)) grow_table();
    const auto is_same = [&](std::uint32_t i) {
      const Expr& other = body_.exprs[i];
      return other.op == op && other.detail == detail && other.imm == imm &&
             std::ranges::equal(operands(body_, other), args);
    };
    const std::uint32_t index =
        find_or_add(slots_, count, spot_of_list(expr, args, seed_), is_same);
    if (index != count) return ExprId{index};
  }
  expr.args = {ExprId{body_.operands.size()}, ExprId{args.size()}, ExprId{0u}};
  body_.operands.insert(body_.operands.end(), args.begin(), args.end());
  body_.exprs.push_back(expr);
  return ExprId{count};
}

ExprId Interner::add(const Expr& expr) {
  const std::size_t count = body_.exprs.size();
  if (!distinct_) {
    if (is_full(slots_, count)) grow_table();
    const auto is_same = [&](std::uint32_t i) { return body_.exprs[i] == expr; };
    const std::uint32_t index = find_or_add(slots_, count, spot_of_plain(expr, seed_), is_same);
    if (index != count) return ExprId{index};
  }
  body_.exprs.push_back(expr);
  return ExprId{count};
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

ExprId Interner::zero(DataType type) {
  if (is_array(type)) return make(Operation::Zeros, 0, static_cast<std::uint32_t>(type), {});
  if (!is_vector(type)) return literal(type, {});
  const ExprId lane = literal(DataType::U32, {});
  const std::array<ExprId, 4> lanes{lane, lane, lane, lane};
  const std::size_t count = lane_count(type);
  return make(count == 4 ? Operation::Vec4 : Operation::Vec2, 0, 0, std::span(lanes).first(count));
}

// Most tables that are not the same have another name.
ExprId Interner::table(const ConstTable& table) {
  std::vector<ConstTable>& all = body_.tables;
  const std::uint32_t index = find_or_add(
      table_slots_, all.size(), spot_of_text(table.name),
      [&](std::size_t i) { return spot_of_text(all[i].name); },
      [&](std::uint32_t i) { return all[i] == table; });
  if (index == all.size()) all.push_back(table);
  return make(Operation::Table, 0, index, {});
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

Body canonical(const Body& body, std::uint32_t parameters, bool distinct) {
  Body result;
  Interner interner(result, body.exprs.size(), distinct);
  if (distinct) result.exprs.reserve(body.exprs.size());
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
  std::vector<std::uint32_t> callees(body.callees.size(), ExprId::kNone);
  std::vector<ExprId> copies(body.exprs.size());
  std::vector<ExprId> args;
  const auto add = [&](Expr expr, std::span<const ExprId> ids) {
    if (expr.op == Operation::Literal && is_wide(type_of_detail(expr))) {
      return interner.literal(type_of_detail(expr), body.constants[expr.imm]);
    }
    if (expr.op == Operation::Table) return interner.table(body.tables[expr.imm]);
    if (expr.op == Operation::Local) {
      expr.imm = (expr.imm < locals.size() ? locals[expr.imm] : LocalId{}).index;
    }
    if (expr.op == Operation::Call) {
      std::uint32_t& callee = callees[expr.imm];  // a long id is read once, not for each call
      if (callee == ExprId::kNone) callee = interner.callee(body.callees[expr.imm]);
      expr.imm = callee;
    }
    if (!has_operand_list(expr.op)) {
      for (std::size_t i = 0; i < ids.size(); ++i) expr.args[i] = copies[ids[i].index];
      return interner.add(expr);
    }
    args.clear();
    for (ExprId operand : ids) args.push_back(copies[operand.index]);
    return interner.make(expr.op, expr.detail, expr.imm, args);
  };
  std::vector<Visit> stack;
  const auto is_copied = [&](ExprId id) { return copies[id.index].exists(); };
  const auto copy = [&](ExprId& root) {
    if (!root.exists()) return;
    operands_first(body, root, stack, is_copied, [&](ExprId id, std::span<const ExprId> ids) {
      copies[id.index] = add(body[id], ids);
    });
    root = copies[root.index];
  };
  result.stmts = body.stmts;
  for (Stmt& stmt : result.stmts) {
    for_each_root(stmt, copy);
    if (LocalId* local = local_of(stmt); local != nullptr && local->exists()) {
      *local = locals[local->index];
    }
  }
  return result;
}

}  // namespace vyre
