#include "vyre/ir/intern.h"

#include <algorithm>

#include "vyre/base/hash.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

// Finds the slot of an entry in an open-addressing table of index + 1, growing it so that at most
// three quarters are taken. `hash_of(i)` hashes entry i; `equals(i)` compares it with the one
// sought.
template <class HashOf, class Equals>
std::uint32_t& find_slot(std::vector<std::uint32_t>& slots, std::size_t entries, std::uint64_t hash,
                         HashOf hash_of, Equals equals) {
  if (slots.size() * 3 <= entries * 4) {
    slots.assign(std::max<std::size_t>(16, slots.size() * 2), 0);
    const std::size_t mask = slots.size() - 1;
    for (std::uint32_t i = 0; i < entries; ++i) {
      std::size_t at = hash_of(i) & mask;
      while (slots[at] != 0) at = (at + 1) & mask;
      slots[at] = i + 1;
    }
  }
  const std::size_t mask = slots.size() - 1;
  std::size_t at = hash & mask;
  while (slots[at] != 0 && !equals(slots[at] - 1)) at = (at + 1) & mask;
  return slots[at];
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
  std::uint32_t& slot = find_slot(
      slots_, body_.exprs.size(), hash_expr(body_, expr),
      [&](std::uint32_t i) { return hash_expr(body_, body_.exprs[i]); },
      [&](std::uint32_t i) {
        const Expr& other = body_.exprs[i];
        return other.op == op && other.detail == detail && other.imm == imm &&
               std::ranges::equal(operands(body_, other), args);
      });
  if (slot == 0) {
    body_.exprs.push_back(expr);
    slot = static_cast<std::uint32_t>(body_.exprs.size());
  } else {
    body_.operands.resize(list);
  }
  return ExprId{slot - 1};
}

ExprId Interner::literal(DataType type, const Bits& bits) {
  const std::uint32_t imm = is_wide(type) ? constant(bits) : bits.lanes[0];
  return make(Operation::Literal, static_cast<std::uint8_t>(type), imm, {});
}

std::uint32_t Interner::constant(const Bits& bits) {
  std::vector<Bits>& table = body_.constants;
  std::uint32_t& slot = find_slot(
      constant_slots_, table.size(), hash_bits(bits),
      [&](std::uint32_t i) { return hash_bits(table[i]); },
      [&](std::uint32_t i) { return table[i] == bits; });
  if (slot == 0) {
    table.push_back(bits);
    slot = static_cast<std::uint32_t>(table.size());
  }
  return slot - 1;
}

std::uint32_t Interner::callee(std::string_view id) {
  std::vector<std::string>& table = body_.callees;
  std::uint32_t& slot = find_slot(
      callee_slots_, table.size(), hash_text(id),
      [&](std::uint32_t i) { return hash_text(table[i]); },
      [&](std::uint32_t i) { return table[i] == id; });
  if (slot == 0) {
    table.emplace_back(id);
    slot = static_cast<std::uint32_t>(table.size());
  }
  return slot - 1;
}

ExprId Interner::call(std::string_view id, std::span<const ExprId> args) {
  return make(Operation::Call, 0, callee(id), args);
}

Body canonical(const Body& body, std::uint32_t parameters) {
  Body result;
  Interner interner(result);
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

}  // namespace vyre
