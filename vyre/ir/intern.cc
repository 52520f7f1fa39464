#include "vyre/ir/intern.h"

#include <algorithm>

#include "vyre/base/hash.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

// Where an entry belongs in a table: `near` says which row is looked at first. What is made at
// about the same time should have it close together, so that a large table is not fetched again and
// again for each entry; `hash` says the rest.
struct Spot {
  std::uint64_t hash = 0;
  std::uint32_t near = 0;
};

constexpr std::size_t kRow = 8;  // slots: a cache line

// Calls visit(slot) for one slot after the other until it returns true. The row is left when it is
// full; from there on the hash alone says where to look.
template <class Visit>
void probe(std::vector<std::uint64_t>& slots, Spot spot, Visit visit) {
  const std::size_t mask = slots.size() / kRow - 1;
  const auto found_in = [&](std::size_t row) {
    std::uint64_t* const begin = slots.data() + (row & mask) * kRow;
    for (std::size_t k = 0; k < kRow; ++k) {
      if (visit(begin[(spot.hash + k) % kRow])) return true;
    }
    return false;
  };
  if (found_in(spot.near / 4)) return;
  for (std::uint64_t row = spot.hash >> 8; !found_in(row);) row += spot.hash >> 40 | 1;
}

// A slot is the index of an entry + 1 below half of its hash, so that most others are passed over
// without a look at them.
std::uint64_t filled(std::uint64_t hash, std::size_t index) {
  return hash >> 32 << 32 | (index + 1);
}

// At most three quarters of the slots are taken.
bool is_full(const std::vector<std::uint64_t>& slots, std::size_t entries) {
  return slots.size() * 3 <= entries * 4;
}

// Makes room for more entries than there are; `spot_of(i)` says where entry i is.
template <class SpotOf>
void grow(std::vector<std::uint64_t>& slots, std::size_t entries, std::size_t expected,
          SpotOf spot_of) {
  std::size_t size = 2 * kRow;
  while (size * 3 <= std::max(entries, expected) * 4) size *= 2;
  slots.assign(size, 0);
  for (std::size_t i = 0; i < entries; ++i) {
    const Spot of = spot_of(i);
    probe(slots, of, [&](std::uint64_t& slot) {
      if (slot != 0) return false;
      slot = filled(of.hash, i);
      return true;
    });
  }
}

// Finds an entry in a table that is not full, or makes it the next one: `entries` is how many there
// are; `equals(i)` compares entry i with the one sought.
template <class Equals>
std::uint32_t find_or_add(std::vector<std::uint64_t>& slots, std::size_t entries, Spot spot,
                          Equals equals) {
  auto index = static_cast<std::uint32_t>(entries);
  probe(slots, spot, [&](std::uint64_t& slot) {
    if (slot == 0) {
      slot = filled(spot.hash, entries);
      return true;
    }
    const auto other = static_cast<std::uint32_t>(slot) - 1;
    if (slot >> 32 != spot.hash >> 32 || !equals(other)) return false;
    index = other;
    return true;
  });
  return index;
}

// The same in a table that may be full.
template <class SpotOf, class Equals>
std::uint32_t find_or_add(std::vector<std::uint64_t>& slots, std::size_t entries, Spot spot,
                          SpotOf spot_of, Equals equals) {
  if (is_full(slots, entries)) grow(slots, entries, 0, spot_of);
  return find_or_add(slots, entries, spot, equals);
}

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

Body renumbered(Body&& body, std::uint32_t parameters) {
  Body result;
  result.exprs.reserve(body.exprs.size());
  result.locals.reserve(body.locals.size());
  std::vector<LocalId> locals(body.locals.size());
  const auto declare = [&](LocalId local) {
    locals[local.index] = LocalId{result.locals.size()};
    result.locals.push_back(std::move(body.locals[local.index]));
  };
  for (std::uint32_t i = 0; i < parameters; ++i) declare(LocalId{i});
  for (const Stmt& stmt : body.stmts) {
    if (const LocalId local = declared(stmt); local.exists()) declare(local);
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
