#include "vyre/ir/intern.h"

#include <algorithm>

#include "vyre/base/hash.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

// Finds an entry in an open-addressing table, or makes it the next one: `entries` is how many there
// are; `equals(i)` compares entry i with the one sought. A slot is the index + 1 below half of the
// hash, so that most others are passed over without a look at them. At most three quarters are
// taken.
template <class Equals>
std::uint32_t find_or_add(std::vector<std::uint64_t>& slots, std::size_t entries,
                          std::uint64_t hash, Equals equals) {
  const std::uint64_t tag = hash >> 32 << 32;
  if (slots.size() * 3 <= entries * 4) {
    std::vector<std::uint64_t> before(std::max<std::size_t>(16, slots.size() * 2));
    before.swap(slots);
    const std::size_t mask = slots.size() - 1;
    for (std::uint64_t slot : before) {
      if (slot == 0) continue;
      std::size_t at = slot >> 32 & mask;
      while (slots[at] != 0) at = (at + 1) & mask;
      slots[at] = slot;
    }
  }
  const std::size_t mask = slots.size() - 1;
  for (std::size_t at = tag >> 32 & mask;; at = (at + 1) & mask) {
    const std::uint64_t slot = slots[at];
    if (slot == 0) {
      slots[at] = tag | (entries + 1);
      return static_cast<std::uint32_t>(entries);
    }
    const auto index = static_cast<std::uint32_t>(slot) - 1;
    if (slot >> 32 == tag >> 32 && equals(index)) return index;
  }
}

std::uint64_t hash_expr(const Body& body, const Expr& expr) {
  std::uint64_t hash =
      mix(hash_seed() + (static_cast<std::uint64_t>(expr.op) << 8 | expr.detail), expr.imm);
  for (ExprId arg : operands(body, expr)) hash = mix(hash, arg.index);
  return hash;
}

std::uint64_t hash_bits(const Bits& bits) {
  std::uint64_t hash = hash_seed();
  for (std::uint32_t lane : bits.lanes) hash = mix(hash, lane);
  return hash;
}

}  // namespace

Interner::Interner(Body& body, std::size_t expected) : body_(body) {
  if (expected == 0) return;
  std::size_t slots = 16;
  while (slots * 3 <= expected * 4) slots *= 2;
  slots_.assign(slots, 0);
  body.exprs.reserve(expected);
}

ExprId Interner::make(Operation op, std::uint8_t detail, std::uint32_t imm,
                      std::span<const ExprId> args) {
  // An operand list is appended first and taken back when the expression exists already.
  Expr expr{op, detail, 0, imm, {ExprId{0u}, ExprId{0u}, ExprId{0u}}};
  const std::size_t list = body_.operands.size();
  if (has_operand_list(op)) {
    body_.operands.insert(body_.operands.end(), args.begin(), args.end());
    expr.args[0] = ExprId{list};
    expr.args[1] = ExprId{args.size()};
  } else {
    std::copy(args.begin(), args.end(), expr.args.begin());
  }
  const std::size_t count = body_.exprs.size();
  const std::uint32_t index =
      find_or_add(slots_, count, hash_expr(body_, expr), [&](std::uint32_t i) {
        const Expr& other = body_.exprs[i];
        return other.op == op && other.detail == detail && other.imm == imm &&
               std::ranges::equal(operands(body_, other), args);
      });
  if (index == count) {
    body_.exprs.push_back(expr);
  } else {
    body_.operands.resize(list);
  }
  return ExprId{index};
}

ExprId Interner::literal(DataType type, const Bits& bits) {
  const std::uint32_t imm = is_wide(type) ? constant(bits) : bits.lanes[0];
  return make(Operation::Literal, static_cast<std::uint8_t>(type), imm, {});
}

std::uint32_t Interner::constant(const Bits& bits) {
  std::vector<Bits>& table = body_.constants;
  const std::uint32_t index = find_or_add(constant_slots_, table.size(), hash_bits(bits),
                                          [&](std::uint32_t i) { return table[i] == bits; });
  if (index == table.size()) table.push_back(bits);
  return index;
}

std::uint32_t Interner::callee(std::string_view id) {
  std::vector<std::string>& table = body_.callees;
  const std::uint32_t index = find_or_add(callee_slots_, table.size(), hash_text(id),
                                          [&](std::uint32_t i) { return table[i] == id; });
  if (index == table.size()) table.emplace_back(id);
  return index;
}

ExprId Interner::call(std::string_view id, std::span<const ExprId> args) {
  return make(Operation::Call, 0, callee(id), args);
}

Body canonical(const Body& body, std::uint32_t parameters) {
  Body result;
  Interner interner(result, body.exprs.size());
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
  struct Frame {
    ExprId id;
    std::uint32_t next_operand;
  };
  std::vector<Frame> stack;
  std::vector<ExprId> args;
  const auto copy = [&](ExprId& root) {
    if (!root.exists()) return;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      const Frame frame = stack.back();
      const Expr& expr = body[frame.id];
      const std::span<const ExprId> operand_ids = operands(body, expr);
      if (copies[frame.id.index].exists()) {
        stack.pop_back();
      } else if (frame.next_operand < operand_ids.size()) {
        ++stack.back().next_operand;
        stack.push_back({operand_ids[frame.next_operand], 0});
      } else {
        args.clear();
        for (ExprId operand : operand_ids) args.push_back(copies[operand.index]);
        ExprId& made = copies[frame.id.index];
        if (expr.op == Operation::Literal) {
          made = interner.literal(type_of_detail(expr), literal_bits(body, expr));
        } else if (expr.op == Operation::Call) {
          made = interner.call(body.callees[expr.imm], args);
        } else if (expr.op == Operation::Local) {
          const bool exists = expr.imm < locals.size();
          made = interner.local(exists ? locals[expr.imm] : LocalId{});
        } else {
          made = interner.make(expr.op, expr.detail, expr.imm, args);
        }
        stack.pop_back();
      }
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
  return result;
}

Body renumbered(Body&& body) {
  Body result;
  result.exprs.reserve(body.exprs.size());
  std::vector<LocalId> locals(body.locals.size());
  for (const Stmt& stmt : body.stmts) {
    const LocalId local = declared(stmt);
    if (!local.exists()) continue;
    locals[local.index] = LocalId{result.locals.size()};
    result.locals.push_back(std::move(body.locals[local.index]));
  }
  std::vector<ExprId> copies(body.exprs.size());
  std::vector<std::uint32_t> constants(body.constants.size(), ExprId::kNone);
  std::vector<std::pair<ExprId, std::uint32_t>> stack;  // with the next operand
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
      Expr expr = body[id];
      if (has_operand_list(expr.op)) {
        expr.args[0] = ExprId{result.operands.size()};
        for (ExprId operand : ids) result.operands.push_back(copies[operand.index]);
      } else {
        for (std::size_t i = 0; i < ids.size(); ++i) expr.args[i] = copies[ids[i].index];
      }
      if (expr.op == Operation::Local) {
        expr.imm = locals[expr.imm].index;
      } else if (expr.op == Operation::Literal && is_wide(type_of_detail(expr))) {
        std::uint32_t& constant = constants[expr.imm];
        if (constant == ExprId::kNone) {
          constant = static_cast<std::uint32_t>(result.constants.size());
          result.constants.push_back(body.constants[expr.imm]);
        }
        expr.imm = constant;
      }
      copies[id.index] = ExprId{result.exprs.size()};
      result.exprs.push_back(expr);
      stack.pop_back();
    }
    root = copies[root.index];
  };
  result.stmts = std::move(body.stmts);
  for (Stmt& stmt : result.stmts) {
    for_each_root(stmt, copy);
    if (LocalId* local = local_of(stmt); local != nullptr && local->exists()) {
      *local = locals[local->index];
    }
  }
  return result;
}

}  // namespace vyre
