// Each step edits a copy of the best case so far without caring for validity; attempt() brings it
// into canonical form, throws it away if it is invalid or no smaller, and asks the predicate.
#include "vyre/conform/reducer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <set>
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
  for (const ConstTable& table : body.tables) size.contents += table.count();
  for (const Stmt& stmt : body.stmts) {
    const Atomic* atomic = std::get_if<Atomic>(&stmt);
    size.expressions += atomic != nullptr && atomic->result.exists() ? 1 : 0;
    size.expressions += std::holds_alternative<Collective>(stmt) ? 1 : 0;
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

// Removes the statements for which is_gone(index) holds. Where a compound statement is, its blocks
// become part of the block around it; where one is not, blocks that are gone are empty.
void remove_statements(Body& body, auto is_gone) {
  std::vector<StmtId> moved(body.stmts.size() + 1);
  std::vector<Stmt> kept;
  for (std::size_t i = 0; i < body.stmts.size(); ++i) {
    moved[i] = StmtId{kept.size()};
    if (!is_gone(i)) kept.push_back(body.stmts[i]);
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

// A vector is made of lanes that are all the same; an array is all zero.
ExprId constant(Body& body, DataType type, std::uint32_t value) {
  Interner make(body);
  if (is_array(type)) return make.zero(type);
  if (!is_vector(type)) return make.literal(type, {{value}});
  const std::vector<ExprId> lanes(lane_count(type), make.literal(DataType::U32, {{value}}));
  return make.make(type == DataType::Vec2U32 ? Operation::Vec2 : Operation::Vec4, 0, 0, lanes);
}

struct Replacement {
  ExprId from;
  ExprId to;
};

// Replaces expressions wherever the statements for which `inside` holds mention them.
void replace(
    Body& body, std::span<const Replacement> all,
    const std::function<bool(std::uint32_t)>& inside = [](std::uint32_t) { return true; }) {
  const std::size_t count = body.exprs.size();
  std::vector<ExprId> copies(count);
  for (const Replacement& each : all) copies[each.to.index] = each.to;
  for (const Replacement& each : all) copies[each.from.index] = each.to;
  Interner make(body);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (copies[i].exists()) continue;
    const Expr expr = body.exprs[i];
    std::vector<ExprId> args;
    for (const ExprId arg : operands(body, expr)) args.push_back(copies[arg.index]);
    const bool same = std::ranges::equal(args, operands(body, expr));
    copies[i] = same ? ExprId{i} : make.make(expr.op, expr.detail, expr.imm, args);
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
    const SetElement* set = std::get_if<SetElement>(&stmt);
    return (assign == nullptr || assign->local.exists()) && (set == nullptr || set->local.exists());
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
  bool is_better(Case& candidate);
  // Whether the case stays what it is after `edit`; then it is the best one.
  bool attempt(auto edit) {
    Case candidate = best_;
    edit(candidate);
    if (tries_ == 0 || !is_better(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }
  // Goes once through what can be tried, as many things as there are at the time.
  static bool each(auto count, auto smaller_at) {
    bool smaller = false;
    for (std::uint32_t i = 0; i < count();) {
      const bool done = smaller_at(i);
      smaller |= done;
      if (!done) ++i;
    }
    return smaller;
  }

  // Each goes once through everything it can do, and says whether the case became smaller. The
  // first ones are about one body.
  bool drop_statements();
  bool take_apart();
  bool inline_lets();
  bool simplify_expressions();
  bool drop_results();
  bool drop_ops();
  bool drop_buffers();
  bool shrink_shape();
  bool shrink_contents();

  const Body& body() const { return body_of(best_.module.items[item_]); }
  Types types() const { return types_of(best_.module, best_.module.items[item_]); }
  bool attempt_body(auto edit) {
    return attempt([&](Case& c) { edit(body_of(c.module.items[item_])); });
  }
  bool each_statement(auto smaller_at) {
    return each([&] { return body().stmts.size(); }, smaller_at);
  }
  bool drop_range(std::size_t begin, std::size_t end);
  bool try_replacing(std::uint32_t stmt, ExprId id);
  // What is written under `root`, users before operands, each once.
  std::set<ExprId, std::greater<>> parts_of(ExprId root) const {
    std::set<ExprId, std::greater<>> ids;
    for_each_below(body(), std::array{root}, [&](ExprId id) { ids.insert(id); });
    return ids;
  }

  Case best_;
  Size best_size_;
  const std::function<bool(const Case&)>& still_fails_;
  std::uint32_t tries_;
  std::size_t item_ = 0;  // whose body is being reduced
};

bool Reducer::is_better(Case& candidate) {
  for (Item& item : candidate.module.items) {
    Body& body = body_of(item);
    body = canonical(body, parameters(item));
    if (!is_resolved(body)) return false;
  }
  const Size size = size_of(candidate);
  if (size >= best_size_ || !validate(candidate.module).empty()) return false;
  --tries_;
  if (!still_fails_(candidate)) return false;
  best_size_ = size;
  return true;
}

// Drops what lies within [begin, end) of the preorder with all its blocks. A local that is declared
// there is zero where it is mentioned elsewhere, and no longer assigned.
bool Reducer::drop_range(std::size_t begin, std::size_t end) {
  const Types types = this->types();
  return attempt_body([&](Body& edited) {
    std::vector<bool> gone(edited.stmts.size());
    std::vector<bool> undeclared(edited.locals.size());
    for (std::size_t i = begin; i < end; ++i) {
      if (next(edited, StmtId{i}).index > end) continue;
      gone[i] = true;
      const LocalId local = declared(edited.stmts[i]);
      if (local.exists()) undeclared[local.index] = true;
    }
    for (std::size_t i = 0; i < edited.stmts.size(); ++i) {
      const LocalId* local = local_of(edited.stmts[i]);
      if (local != nullptr && local->exists() && undeclared[local->index]) gone[i] = true;
    }
    std::vector<Replacement> zeros;
    for (std::size_t i = 0, count = edited.exprs.size(); i < count; ++i) {
      const Expr expr = edited.exprs[i];
      if (expr.op != Operation::Local || !undeclared[expr.imm]) continue;
      zeros.push_back({ExprId{i}, constant(edited, types.exprs[i], 0)});
    }
    replace(edited, zeros);
    remove_statements(edited, [&](std::size_t i) { return gone[i]; });
  });
}

// Halves, quarters, and so on to single statements.
bool Reducer::drop_statements() {
  bool smaller = false;
  for (std::size_t length = body().stmts.size(); length > 0; length /= 2) {
    for (std::size_t begin = 0; begin < body().stmts.size();) {
      const bool dropped = drop_range(begin, std::min(begin + length, body().stmts.size()));
      smaller |= dropped;
      if (!dropped) begin += length;
    }
    length = std::min(length, body().stmts.size() + 1);
  }
  // Compound statements are longer than the ranges above say.
  smaller |=
      each_statement([&](std::uint32_t i) { return drop_range(i, next(body(), StmtId{i}).index); });
  return smaller;
}

// Replaces an `if` by one of its blocks or both, a loop by one round of it, a block by its
// statements, a collective by its operand, and a local by one that is declared where it is first
// assigned.
bool Reducer::take_apart() {
  return each_statement([&](std::uint32_t i) {
    // Without the statement itself, and those of one of its blocks.
    const auto without = [&](std::uint32_t begin, std::uint32_t end) {
      return attempt_body([&](Body& edited) {
        remove_statements(edited, [&](std::size_t k) { return k == i || (begin <= k && k < end); });
      });
    };
    bool smaller = false;
    const Stmt stmt = body().stmts[i];
    visit(
        stmt,
        [&](const If& branch) {
          smaller = without(branch.else_begin.index, branch.end.index) ||
                    without(i + 1, branch.else_begin.index) || without(i, i);
        },
        [&](const For& loop) {
          const Let first{loop.variable, loop.from};
          smaller = without(i, i) || attempt_body([&](Body& edited) { edited.stmts[i] = first; });
        },
        [&](const Block&) { smaller = without(i, i); },
        [&](const Let& let) {
          // Its first assignment declares the local instead.
          smaller = attempt_body([&](Body& edited) {
            const auto assigns = [&](const Stmt& other) {
              const Assign* assign = std::get_if<Assign>(&other);
              return assign != nullptr && assign->local == let.local;
            };
            const auto first = std::ranges::find_if(edited.stmts, assigns);
            if (first == edited.stmts.end()) return;
            *first = Let{let.local, std::get<Assign>(*first).value};
            remove_statements(edited, [&](std::size_t k) { return k == i; });
          });
        },
        [&](const Collective& together) {
          const Let own{together.result, together.value};
          smaller = attempt_body([&](Body& edited) { edited.stmts[i] = own; });
        },
        Nothing<Assign, Store, Atomic, Break, Return, Barrier, SetElement, Continue>());
    return smaller;
  });
}

// Puts the value of a local that is mentioned once where it is mentioned.
bool Reducer::inline_lets() {
  return each_statement([&](std::uint32_t i) {
    const Let* let = std::get_if<Let>(&body().stmts[i]);
    if (let == nullptr) return false;
    const ExprId use = find_local(body(), let->local);
    std::size_t mentions = 0;
    for (const Stmt& stmt : body().stmts) {
      const LocalId* local = local_of(stmt);
      if (local != nullptr && *local == let->local && !declared(stmt).exists()) return false;
      for (ExprId root : roots(stmt)) {
        for_each_use(body(), root, [&](ExprId id) { mentions += id == use ? 1 : 0; });
      }
    }
    if (mentions != 1) return false;
    const Replacement value[] = {{use, let->value}};
    return attempt_body([&](Body& edited) {
      replace(edited, value);
      remove_statements(edited, [&](std::size_t k) { return k == i; });
    });
  });
}

// Tries constants, parts of it, and for a literal smaller numbers.
bool Reducer::try_replacing(std::uint32_t stmt, ExprId id) {
  const Types types = this->types();
  const Expr expr = body()[id];
  const DataType type = types[id];
  const auto attempt_with = [&](auto make) {
    return attempt_body([&](Body& edited) {
      const Replacement part[] = {{id, make(edited)}};
      replace(edited, part, [&](std::uint32_t i) { return i == stmt; });
    });
  };
  const auto attempt_number = [&](std::uint32_t value) {
    return attempt_with([&](Body& edited) { return constant(edited, type, value); });
  };
  if (attempt_number(0) || attempt_number(1)) return true;
  if (expr.op == Operation::Literal) {
    const std::uint32_t low = literal_bits(body(), expr).lanes[0];
    return std::ranges::any_of(std::array{low / 2, low & (low - 1), low}, attempt_number);
  }
  return std::ranges::any_of(parts_of(id), [&](ExprId part) {
    return part != id && types[part] == type && attempt_with([&](Body&) { return part; });
  });
}

bool Reducer::simplify_expressions() {
  return each_statement([&](std::uint32_t i) {
    return std::ranges::any_of(roots(body().stmts[i]), [&](ExprId root) {
      return std::ranges::any_of(parts_of(root), [&](ExprId id) { return try_replacing(i, id); });
    });
  });
}

bool Reducer::drop_results() {
  return each_statement([&](std::uint32_t i) {
    const Atomic* atomic = std::get_if<Atomic>(&body().stmts[i]);
    return atomic != nullptr && !find_local(body(), atomic->result).exists() &&
           attempt_body([&](Body& edited) { std::get<Atomic>(edited.stmts[i]).result = {}; });
  });
}

// Ops that nothing calls, and what is said about the others.
bool Reducer::drop_ops() {
  const auto ops = [&] { return best_.module.items.size() - 1; };
  bool smaller = each(ops, [&](std::uint32_t i) {
    return attempt([&](Case& c) { c.module.items.erase(c.module.items.begin() + i); });
  });
  for (std::size_t i = 0; i < ops(); ++i) {
    const auto laws = [&] { return std::get<Op>(best_.module.items[i]).laws.size(); };
    smaller |= each(laws, [&](std::uint32_t law) {
      return attempt([&](Case& c) {
        std::vector<Law>& all = std::get<Op>(c.module.items[i]).laws;
        all.erase(all.begin() + law);
      });
    });
    smaller |= attempt([&](Case& c) { std::get<Op>(c.module.items[i]).description.clear(); });
  }
  return smaller;
}

bool Reducer::drop_buffers() {
  const auto buffers = [&] { return best_.program().buffers.size(); };
  return each(buffers, [&](std::uint32_t i) {
    return attempt([&](Case& c) {
      bool used = false;
      const auto renumber = [&](std::uint32_t& number) {
        used |= number == i;
        if (number > i) --number;
      };
      for (Expr& expr : c.program().body.exprs) {
        if (expr.op == Operation::Load || expr.op == Operation::Length) renumber(expr.imm);
      }
      for (Stmt& stmt : c.program().body.stmts) {
        std::visit(
            [&](auto& s) {
              if constexpr (requires { s.buffer; }) renumber(s.buffer.index);
            },
            stmt);
      }
      if (used) return;
      c.program().buffers.erase(c.program().buffers.begin() + i);
      c.contents.erase(c.contents.begin() + i);
    });
  });
}

// One at a time: a single place, half as many, one less.
bool Reducer::shrink_shape() {
  bool smaller = false;
  const auto shrink = [&](auto extent_of) {
    const auto once = [&] {
      const std::uint32_t extent = extent_of(best_);
      const std::array values{1u, extent / 2, extent - 1};
      return std::ranges::any_of(values, [&](std::uint32_t value) {
        return value > 0 && value < extent && attempt([&](Case& c) { extent_of(c) = value; });
      });
    };
    while (once()) smaller = true;
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
      return attempt([&](Case& c) { c.program().buffers[i].count = count; });
    };
    smaller |= attempt_count(workgroup ? 1 : 0);
    while (attempt_count(best_.program().buffers[i].count / 2)) smaller = true;

    const auto size = [&] { return best_.contents[i].size(); };
    const auto attempt_size = [&](std::size_t bytes) {
      return bytes >= best_.program().buffers[i].count * each &&
             attempt([&](Case& c) { c.contents[i].resize(bytes); });
    };
    smaller |= !workgroup && attempt_size(0);
    while (size() > 0 && attempt_size(size() / each / 2 * each)) smaller = true;
    while (size() >= each && attempt_size(size() - each)) smaller = true;

    // Zeros instead: everywhere, in halves, and so on to single elements.
    for (std::size_t length = size(); length >= each; length /= 2) {
      for (std::size_t begin = 0; begin < size(); begin += length) {
        smaller |= attempt([&](Case& c) {
          const auto first = c.contents[i].begin() + static_cast<std::ptrdiff_t>(begin);
          std::fill_n(first, std::min(length, size() - begin), std::byte{0});
        });
      }
    }
  }
  return smaller;
}

Case Reducer::run() {
  for (bool smaller = true; smaller && tries_ > 0;) {
    smaller = false;
    for (item_ = best_.module.items.size(); item_-- > 0;) {
      smaller |= drop_statements();
      smaller |= take_apart();
      smaller |= inline_lets();
      smaller |= simplify_expressions();
      smaller |= drop_results();
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
