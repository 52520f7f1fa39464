// Each step edits a copy of the best case so far without caring for validity; attempt() brings it
// into canonical form, throws it away if it is invalid or no smaller, and asks the predicate.
#include "vyre/conform/reducer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <span>
#include <utility>

#include "vyre/ir/intern.h"
#include "vyre/ir/walk.h"
#include "vyre/validate/validate.h"

namespace vyre {
namespace {

std::uint32_t parameters(const Item& item) {
  const Op* op = std::get_if<Op>(&item);
  return op == nullptr ? 0 : static_cast<std::uint32_t>(op->signature.inputs.size());
}

// --- Size ----------------------------------------------------------------------------------------

// What counts most comes first.
struct Size {
  std::uint64_t statements = 0;
  std::uint64_t expressions = 0;   // as written out, weighed
  std::uint64_t declarations = 0;  // buffers, ops, and what is said about ops
  std::uint64_t invocations = 0;
  std::uint64_t contents = 0;  // bytes, declared elements
  std::uint64_t bits = 0;      // set in contents and literals, and the length of those

  friend auto operator<=>(const Size&, const Size&) = default;
};

std::uint64_t weight(const Bits& bits) {
  std::uint64_t sum = 0;
  for (std::uint32_t lane : bits.lanes) {
    sum += static_cast<std::uint64_t>(std::popcount(lane));
    sum += static_cast<std::uint64_t>(std::bit_width(lane));
  }
  return sum;
}

void add_size(const Body& body, Size& size) {
  size.statements += body.stmts.size();
  for (const Stmt& stmt : body.stmts) {
    const Atomic* atomic = std::get_if<Atomic>(&stmt);
    size.expressions += atomic != nullptr && atomic->result.exists() ? 1 : 0;
    for (ExprId root : roots(stmt)) {
      for_each_use(body, root, [&](ExprId id) {
        const Expr& expr = body[id];
        const bool literal = expr.op == Operation::Literal;
        size.expressions += literal ? 1 : 2;  // a constant is the simplest of all
        if (literal) size.bits += weight(literal_bits(body, expr));
      });
    }
  }
}

Size size_of(const Case& c) {
  Size size;
  for (const Item& item : c.module.items) {
    add_size(vyre::body_of(item), size);
    const Op* op = std::get_if<Op>(&item);
    if (op == nullptr) continue;
    size.declarations += 1 + op->laws.size() + (op->description.empty() ? 0 : 1);
  }
  const Program& program = c.program();
  size.declarations += program.buffers.size();
  for (const BufferDecl& buffer : program.buffers) size.contents += buffer.count;
  size.invocations = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    size.invocations *= c.grid[axis] * std::uint64_t{program.workgroup_size[axis]};
  }
  for (const std::vector<std::byte>& bytes : c.contents) {
    size.contents += bytes.size();
    for (std::byte byte : bytes) {
      size.bits += static_cast<std::uint64_t>(std::popcount(std::to_integer<unsigned>(byte)));
    }
  }
  return size;
}

// --- Edits ---------------------------------------------------------------------------------------

// Removes the statements that are marked. Where a compound statement is, its blocks become part of
// the block around it; where one is not, blocks that are gone are empty.
void remove_statements(Body& body, const std::vector<bool>& gone) {
  std::vector<StmtId> moved(body.stmts.size() + 1);
  std::vector<Stmt> kept;
  for (std::size_t i = 0; i < body.stmts.size(); ++i) {
    moved[i] = StmtId{kept.size()};
    if (!gone[i]) kept.push_back(body.stmts[i]);
  }
  moved.back() = StmtId{kept.size()};
  for (Stmt& stmt : kept) {
    std::visit(
        [&](auto& s) {
          if constexpr (requires { s.else_begin; }) s.else_begin = moved[s.else_begin.index];
          if constexpr (requires { s.end; }) s.end = moved[s.end.index];
        },
        stmt);
  }
  body.stmts = std::move(kept);
}

// Appends an expression. It may be there already: canonical() makes them one.
ExprId append(Body& body, const Expr& expr) {
  body.exprs.push_back(expr);
  return ExprId{body.exprs.size() - 1};
}

ExprId append_literal(Body& body, DataType type, const Bits& bits) {
  Expr literal{Operation::Literal, static_cast<std::uint8_t>(type)};
  literal.imm = bits.lanes[0];
  if (is_wide(type)) {
    literal.imm = static_cast<std::uint32_t>(body.constants.size());
    body.constants.push_back(bits);
  }
  return append(body, literal);
}

// A vector is made of lanes that are all the same.
ExprId append_constant(Body& body, DataType type, std::uint32_t value) {
  if (!is_vector(type)) return append_literal(body, type, {{value}});
  const ExprId lane = append_literal(body, DataType::U32, {{value}});
  if (type == DataType::Vec2U32) return append(body, {Operation::Vec2, 0, 0, 0, {lane, lane}});
  const ExprId list{body.operands.size()};
  body.operands.insert(body.operands.end(), 4, lane);
  return append(body, {Operation::Vec4, 0, 0, 0, {list, ExprId{4u}}});
}

struct Replacement {
  ExprId from;
  ExprId to;
};

// Replaces expressions wherever the statements for which `inside` holds mention them. All at once:
// each time makes copies of what mentions one of them, and those that are left behind count too.
void replace(Body& body, std::span<const Replacement> all, auto inside) {
  const std::size_t count = body.exprs.size();
  std::vector<ExprId> copies(count);
  for (const Replacement& each : all) copies[each.to.index] = each.to;
  for (const Replacement& each : all) copies[each.from.index] = each.to;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (copies[i].exists()) continue;
    copies[i] = ExprId{i};
    Expr expr = body.exprs[i];
    const std::vector<ExprId> args(operands(body, expr).begin(), operands(body, expr).end());
    const auto changed = [&](ExprId arg) { return copies[arg.index] != arg; };
    if (std::ranges::none_of(args, changed)) continue;
    if (has_operand_list(expr.op)) {
      expr.args[0] = ExprId{body.operands.size()};
      for (ExprId arg : args) body.operands.push_back(copies[arg.index]);
    } else {
      for (std::size_t k = 0; k < args.size(); ++k) expr.args[k] = copies[args[k].index];
    }
    copies[i] = append(body, expr);
  }
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    if (!inside(i)) continue;
    for_each_root(body.stmts[i], [&](ExprId& root) {
      if (root.exists()) root = copies[root.index];
    });
  }
}

ExprId find_local(const Body& body, LocalId local) {
  for (std::uint32_t i = 0; i < body.exprs.size(); ++i) {
    if (body.exprs[i].op == Operation::Local && body.exprs[i].imm == local.index) return ExprId{i};
  }
  return {};
}

// Whether every local is declared. Where one is not, validate() relies on somebody having said so.
bool is_resolved(const Body& body) {
  const auto declared_assign = [](const Stmt& stmt) {
    const Assign* assign = std::get_if<Assign>(&stmt);
    return assign == nullptr || assign->local.exists();
  };
  const auto declared_use = [&](const Expr& expr) {
    return expr.op != Operation::Local || expr.imm < body.locals.size();
  };
  return std::ranges::all_of(body.stmts, declared_assign) &&
         std::ranges::all_of(body.exprs, declared_use);
}

// --- The search ----------------------------------------------------------------------------------

class Reducer {
 public:
  Reducer(Case failing, const std::function<bool(const Case&)>& still_fails,
          const ReduceLimits& limits)
      : best_(std::move(failing)),
        best_size_(size_of(best_)),
        still_fails_(still_fails),
        tries_(limits.tries) {}

  Case run();

 private:
  bool attempt(Case candidate);
  bool attempt_body(std::size_t item, Body body);

  // Each goes once through everything it can do, and says whether the case became smaller.
  bool drop_statements(std::size_t item);
  bool take_apart(std::size_t item);
  bool inline_lets(std::size_t item);
  bool simplify_expressions(std::size_t item);
  bool simplify_statement(std::size_t item, std::uint32_t stmt);
  bool drop_results(std::size_t item);
  bool drop_ops();
  bool drop_buffers();
  bool shrink_shape();
  bool shrink_contents();

  bool drop_range(std::size_t item, std::uint32_t begin, std::uint32_t end);
  bool try_replacing(std::size_t item, std::uint32_t stmt, ExprId id);
  const Body& body(std::size_t item) const { return vyre::body_of(best_.module.items[item]); }

  Case best_;
  Size best_size_;
  const std::function<bool(const Case&)>& still_fails_;
  std::uint32_t tries_;
};

bool Reducer::attempt(Case candidate) {
  if (tries_ == 0) return false;
  for (Item& item : candidate.module.items) {
    Body& body = body_of(item);
    body = canonical(body, parameters(item));
    if (!is_resolved(body)) return false;
  }
  const Size size = size_of(candidate);
  if (size >= best_size_ || !validate(candidate.module).empty()) return false;
  --tries_;
  if (!still_fails_(candidate)) return false;
  best_ = std::move(candidate);
  best_size_ = size;
  return true;
}

bool Reducer::attempt_body(std::size_t item, Body body) {
  Case candidate = best_;
  body_of(candidate.module.items[item]) = std::move(body);
  return attempt(std::move(candidate));
}

// Drops what lies within [begin, end) of the preorder with all its blocks. A local that is declared
// there is zero where it is mentioned elsewhere, and no longer assigned.
bool Reducer::drop_range(std::size_t item, std::uint32_t begin, std::uint32_t end) {
  Body edited = body(item);
  const Types types = types_of(best_.module, best_.module.items[item]);
  std::vector<bool> gone(edited.stmts.size());
  std::vector<LocalId> locals;
  for (std::uint32_t i = begin; i < end; ++i) {
    if (next(edited, StmtId{i}).index > end) continue;
    gone[i] = true;
    if (const LocalId local = declared(edited.stmts[i]); local.exists()) locals.push_back(local);
  }
  std::vector<Replacement> zeros;
  for (LocalId local : locals) {
    for (std::size_t i = 0; i < edited.stmts.size(); ++i) {
      const Assign* assign = std::get_if<Assign>(&edited.stmts[i]);
      if (assign != nullptr && assign->local == local) gone[i] = true;
    }
    const ExprId use = find_local(edited, local);
    if (!use.exists()) continue;
    zeros.push_back({use, append_constant(edited, types[local], 0)});
  }
  replace(edited, zeros, [](std::uint32_t) { return true; });
  if (std::ranges::count(gone, true) == 0) return false;
  remove_statements(edited, gone);
  return attempt_body(item, std::move(edited));
}

// Halves, quarters, and so on to single statements.
bool Reducer::drop_statements(std::size_t item) {
  bool smaller = false;
  for (std::size_t length = body(item).stmts.size(); length > 0; length /= 2) {
    for (std::size_t begin = 0; begin < body(item).stmts.size();) {
      const std::size_t end = std::min(begin + length, body(item).stmts.size());
      const bool dropped =
          drop_range(item, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end));
      smaller |= dropped;
      if (!dropped) begin += length;
    }
    length = std::min(length, body(item).stmts.size() + 1);
  }
  // Compound statements are longer than the ranges above say.
  for (std::uint32_t i = 0; i < body(item).stmts.size();) {
    const bool dropped = drop_range(item, i, next(body(item), StmtId{i}).index);
    smaller |= dropped;
    if (!dropped) ++i;
  }
  return smaller;
}

// Replaces an `if` by one of its blocks or both, a loop by one round of it, and a block by its
// statements.
bool Reducer::take_apart(std::size_t item) {
  bool smaller = false;
  for (std::uint32_t i = 0; i < body(item).stmts.size(); ++i) {
    const auto without = [&](std::uint32_t begin, std::uint32_t end) {
      Body edited = body(item);
      std::vector<bool> gone(edited.stmts.size());
      gone[i] = true;
      std::fill(gone.begin() + begin, gone.begin() + end, true);
      remove_statements(edited, gone);
      return attempt_body(item, std::move(edited));
    };
    const Stmt stmt = body(item).stmts[i];
    bool done = false;
    if (const If* branch = std::get_if<If>(&stmt)) {
      done = without(branch->else_begin.index, branch->end.index) ||
             without(i + 1, branch->else_begin.index) || without(i, i);
    } else if (const For* loop = std::get_if<For>(&stmt)) {
      Body edited = body(item);
      edited.stmts[i] = Let{loop->variable, loop->from};
      done = without(i, i) || attempt_body(item, std::move(edited));
    } else if (std::holds_alternative<Block>(stmt)) {
      done = without(i, i);
    }
    smaller |= done;
    if (done) --i;
  }
  return smaller;
}

// Puts the value of a local that is mentioned once where it is mentioned.
bool Reducer::inline_lets(std::size_t item) {
  bool smaller = false;
  for (std::uint32_t i = 0; i < body(item).stmts.size(); ++i) {
    const Body& current = body(item);
    const Let* let = std::get_if<Let>(&current.stmts[i]);
    if (let == nullptr) continue;
    const ExprId use = find_local(current, let->local);
    std::size_t mentions = 0;
    for (const Stmt& stmt : current.stmts) {
      const Assign* assign = std::get_if<Assign>(&stmt);
      mentions += assign != nullptr && assign->local == let->local ? 2 : 0;
      for (ExprId root : roots(stmt)) {
        for_each_use(current, root, [&](ExprId id) { mentions += id == use ? 1 : 0; });
      }
    }
    if (mentions != 1) continue;
    Body edited = current;
    const Replacement value[] = {{use, let->value}};
    replace(edited, value, [](std::uint32_t) { return true; });
    std::vector<bool> gone(edited.stmts.size());
    gone[i] = true;
    remove_statements(edited, gone);
    if (!attempt_body(item, std::move(edited))) continue;
    smaller = true;
    --i;
  }
  return smaller;
}

// Tries constants, parts of it, and for a literal smaller numbers.
bool Reducer::try_replacing(std::size_t item, std::uint32_t stmt, ExprId id) {
  const Types types = types_of(best_.module, best_.module.items[item]);
  const Expr expr = body(item)[id];
  const DataType type = types[id];
  const auto attempt_with = [&](auto make) {
    Body edited = body(item);
    const ExprId to = make(edited);
    const Replacement part[] = {{id, to}};
    replace(edited, part, [&](std::uint32_t i) { return i == stmt; });
    return attempt_body(item, std::move(edited));
  };
  for (std::uint32_t value : {0u, 1u}) {
    const auto constant = [&](Body& edited) { return append_constant(edited, type, value); };
    if (attempt_with(constant)) return true;
  }
  if (expr.op == Operation::Literal) {
    const Bits bits = literal_bits(body(item), expr);
    const std::uint32_t low = bits.lanes[0];
    for (std::uint32_t value : {low / 2, low & (low - 1), low}) {
      const auto smaller = [&](Body& edited) { return append_literal(edited, type, {{value}}); };
      if (attempt_with(smaller)) return true;
    }
    return false;
  }
  std::vector<ExprId> parts;  // of the same type, the largest first
  for_each_use(body(item), id, [&](ExprId part) {
    if (part != id && types[part] == type) parts.push_back(part);
  });
  std::ranges::sort(parts, std::greater());
  parts.erase(std::ranges::unique(parts).begin(), parts.end());
  const auto replaced_by = [&](ExprId part) { return attempt_with([&](Body&) { return part; }); };
  return std::ranges::any_of(parts, replaced_by);
}

bool Reducer::simplify_statement(std::size_t item, std::uint32_t stmt) {
  std::vector<ExprId> ids;  // users before operands
  const Body& current = body(item);
  for (ExprId root : roots(current.stmts[stmt])) {
    for_each_use(current, root, [&](ExprId id) { ids.push_back(id); });
  }
  std::ranges::sort(ids, std::greater());
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  const auto replaced = [&](ExprId id) { return try_replacing(item, stmt, id); };
  return std::ranges::any_of(ids, replaced);
}

bool Reducer::simplify_expressions(std::size_t item) {
  bool smaller = false;
  for (std::uint32_t i = 0; i < body(item).stmts.size(); ++i) {
    while (simplify_statement(item, i)) smaller = true;
  }
  return smaller;
}

bool Reducer::drop_results(std::size_t item) {
  bool smaller = false;
  for (std::uint32_t i = 0; i < body(item).stmts.size(); ++i) {
    Body edited = body(item);
    Atomic* atomic = std::get_if<Atomic>(&edited.stmts[i]);
    if (atomic == nullptr || find_local(edited, atomic->result).exists()) continue;
    atomic->result = {};
    smaller |= attempt_body(item, std::move(edited));
  }
  return smaller;
}

bool Reducer::drop_ops() {
  bool smaller = false;
  for (std::size_t i = 0; i + 1 < best_.module.items.size();) {
    Case candidate = best_;
    candidate.module.items.erase(candidate.module.items.begin() + static_cast<std::ptrdiff_t>(i));
    const bool dropped = attempt(std::move(candidate));
    smaller |= dropped;
    if (!dropped) ++i;
  }
  for (std::size_t i = 0; i + 1 < best_.module.items.size(); ++i) {
    for (std::size_t law = std::get<Op>(best_.module.items[i]).laws.size(); law-- > 0;) {
      Case candidate = best_;
      std::vector<Law>& laws = std::get<Op>(candidate.module.items[i]).laws;
      laws.erase(laws.begin() + static_cast<std::ptrdiff_t>(law));
      smaller |= attempt(std::move(candidate));
    }
    Case candidate = best_;
    std::get<Op>(candidate.module.items[i]).description.clear();
    smaller |= attempt(std::move(candidate));
  }
  return smaller;
}

bool Reducer::drop_buffers() {
  bool smaller = false;
  for (std::uint32_t i = 0; i < best_.program().buffers.size();) {
    Case candidate = best_;
    Program& program = candidate.program();
    bool used = false;
    const auto renumber = [&](std::uint32_t& number) {
      used |= number == i;
      if (number > i) --number;
    };
    for (Expr& expr : program.body.exprs) {
      if (expr.op == Operation::Load || expr.op == Operation::Length) renumber(expr.imm);
    }
    for (Stmt& stmt : program.body.stmts) {
      if (Store* store = std::get_if<Store>(&stmt)) renumber(store->buffer.index);
      if (Atomic* atomic = std::get_if<Atomic>(&stmt)) renumber(atomic->buffer.index);
    }
    program.buffers.erase(program.buffers.begin() + i);
    candidate.contents.erase(candidate.contents.begin() + i);
    const bool dropped = !used && attempt(std::move(candidate));
    smaller |= dropped;
    if (!dropped) ++i;
  }
  return smaller;
}

// One at a time: a single place, half as many, one less.
bool Reducer::shrink_shape() {
  bool smaller = false;
  const auto shrink = [&](auto extent_of) {
    for (bool again = true; again;) {
      again = false;
      const std::uint32_t extent = extent_of(best_);
      for (std::uint32_t value : {1u, extent / 2, extent - 1}) {
        if (extent == 0 || value == 0 || value >= extent || again) continue;
        Case candidate = best_;
        extent_of(candidate) = value;
        again = attempt(std::move(candidate));
        smaller |= again;
      }
    }
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    shrink([&](Case& c) -> std::uint32_t& { return c.grid[axis]; });
    shrink([&](Case& c) -> std::uint32_t& { return c.program().workgroup_size[axis]; });
  }
  return smaller;
}

bool Reducer::shrink_contents() {
  bool smaller = false;
  for (std::size_t i = 0; i < best_.contents.size(); ++i) {
    const bool workgroup = best_.program().buffers[i].access == BufferAccess::Workgroup;
    const std::size_t each = stride(best_.program().buffers[i].element);
    const auto attempt_count = [&](std::uint32_t count) {
      Case candidate = best_;
      candidate.program().buffers[i].count = count;
      return attempt(std::move(candidate));
    };
    smaller |= attempt_count(workgroup ? 1 : 0);
    while (attempt_count(best_.program().buffers[i].count / 2)) smaller = true;

    const auto attempt_size = [&](std::size_t bytes) {
      Case candidate = best_;
      if (bytes < candidate.program().buffers[i].count * each) return false;
      candidate.contents[i].resize(bytes);
      return attempt(std::move(candidate));
    };
    smaller |= !workgroup && attempt_size(0);
    while (!best_.contents[i].empty() && attempt_size(best_.contents[i].size() / each / 2 * each)) {
      smaller = true;
    }
    while (best_.contents[i].size() >= each && attempt_size(best_.contents[i].size() - each)) {
      smaller = true;
    }

    // Zeros instead: everywhere, in halves, and so on to single elements.
    for (std::size_t length = best_.contents[i].size(); length >= each; length /= 2) {
      for (std::size_t begin = 0; begin < best_.contents[i].size(); begin += length) {
        Case candidate = best_;
        std::vector<std::byte>& bytes = candidate.contents[i];
        const std::size_t end = std::min(begin + length, bytes.size());
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                  bytes.begin() + static_cast<std::ptrdiff_t>(end), std::byte{0});
        smaller |= attempt(std::move(candidate));
      }
    }
  }
  return smaller;
}

Case Reducer::run() {
  for (bool smaller = true; smaller && tries_ > 0;) {
    smaller = false;
    for (std::size_t i = best_.module.items.size(); i-- > 0;) {
      if (i >= best_.module.items.size()) continue;
      smaller |= drop_statements(i);
      smaller |= take_apart(i);
      smaller |= inline_lets(i);
      smaller |= simplify_expressions(i);
      smaller |= drop_results(i);
    }
    smaller |= drop_ops();
    smaller |= drop_buffers();
    smaller |= shrink_shape();
    smaller |= shrink_contents();
  }
  return std::move(best_);
}

}  // namespace

Case reduce(Case failing, const std::function<bool(const Case&)>& still_fails,
            const ReduceLimits& limits) {
  return Reducer(std::move(failing), still_fails, limits).run();
}

}  // namespace vyre
