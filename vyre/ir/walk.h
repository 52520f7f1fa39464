// Walking a body: operands of expressions, expressions of statements, the shape of the statement
// tree, and a visit of every use of an expression in the order in which it is written.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "vyre/ir/program.h"

namespace vyre {

inline bool has_operand_list(Operation op) {
  return op == Operation::Vec4 || op == Operation::Call || op == Operation::Array;
}

inline std::span<const ExprId> operands(const Body& body, const Expr& expr) {
  if (has_operand_list(expr.op)) {
    return {body.operands.data() + expr.args[0].index, expr.args[1].index};
  }
  return {expr.args.data(), static_cast<std::size_t>(arity(expr.op))};
}

// An expression whose operands are being visited, and the next one of them.
struct Visit {
  ExprId id;
  std::uint32_t next;
};

// Calls visit(id, operands) for what is below `root` and for itself, operands first and left to
// right, except where is_known(id): that and what is below it is done. `stack` is room for the
// walk, and operands_of(id) a span.
template <class OperandsOf, class IsKnown, class Do>
void operands_first(ExprId root, std::vector<Visit>& stack, OperandsOf operands_of,
                    IsKnown is_known, Do visit) {
  if (is_known(root)) return;
  stack.push_back({root, 0});
  while (!stack.empty()) {
    const ExprId id = stack.back().id;
    const std::span<const ExprId> ids = operands_of(id);
    std::uint32_t next = stack.back().next;
    while (next < ids.size() && is_known(ids[next])) ++next;
    if (next < ids.size()) {
      stack.back().next = next + 1;
      stack.push_back({ids[next], 0});
      continue;
    }
    visit(id, ids);
    stack.pop_back();
  }
}
template <class IsKnown, class Do>
void operands_first(const Body& body, ExprId root, std::vector<Visit>& stack, IsKnown is_known,
                    Do visit) {
  operands_first(root, stack, [&](ExprId id) { return operands(body, body[id]); }, is_known, visit);
}

// The expressions that a statement mentions, in the order in which they are evaluated.
struct Roots {
  std::array<ExprId, 3> ids;
  std::size_t count = 0;

  void add(ExprId id) {
    if (id.exists()) ids[count++] = id;
  }
  const ExprId* begin() const { return ids.data(); }
  const ExprId* end() const { return ids.data() + count; }
};

// Calls visit(ExprId&) for each of them.
template <class Statement, class Visit>
void for_each_root(Statement& stmt, Visit visit) {
  std::visit(
      [&](auto& s) {
        if constexpr (requires { s.index; }) visit(s.index);
        if constexpr (requires { s.expected; }) visit(s.expected);
        if constexpr (requires { s.condition; }) visit(s.condition);
        if constexpr (requires { s.from; }) {
          visit(s.from);
          visit(s.to);
        }
        if constexpr (requires { s.value; }) visit(s.value);
        if constexpr (requires { s.invocation; }) visit(s.invocation);
      },
      stmt);
}
inline Roots roots(const Stmt& stmt) {
  Roots result;
  for_each_root(stmt, [&](ExprId id) { result.add(id); });
  return result;
}

// The local that a statement declares or assigns, and the one that it declares.
template <class Statement>
auto* local_of(Statement& stmt) {
  using Found = std::conditional_t<std::is_const_v<Statement>, const LocalId, LocalId>;
  return std::visit(
      [](auto& s) -> Found* {
        if constexpr (requires { s.local; }) return &s.local;
        if constexpr (requires { s.variable; }) return &s.variable;
        if constexpr (requires { s.result; }) return &s.result;
        return nullptr;
      },
      stmt);
}
inline LocalId declared(const Stmt& stmt) {
  const LocalId* local = local_of(stmt);
  const bool assigns =
      std::holds_alternative<Assign>(stmt) || std::holds_alternative<SetElement>(stmt);
  return local == nullptr || assigns ? LocalId{} : *local;
}

// The local between an atomic or a collective and the one that the text assigns its result to.
inline constexpr std::string_view kResultName = "__result";

// Whether all invocations of a workgroup wait for each other.
inline bool waits(const Stmt& stmt) {
  return std::holds_alternative<Barrier>(stmt) || std::holds_alternative<Collective>(stmt);
}

// The first statement after the subtree of `id`.
inline StmtId next(const Body& body, StmtId id) {
  return std::visit(
      [&](const auto& s) {
        if constexpr (requires { s.end; }) return s.end;
        return StmtId{id.index + 1};
      },
      body[id]);
}

// An `else` block that is a lone `if` is written `else if`; it adds no level of nesting.
bool is_else_if(const Body& body, const If& parent);

// The blocks that are open while the statements are walked in order. Frame is an OpenBlock with
// whatever the walker keeps per block. Before statement i (and once with the number of statements)
// call enter(); after it call open().
struct OpenBlock {
  std::uint32_t owner = 0;
  std::uint32_t end = 0;
  bool is_else = false;
  bool is_chained = false;  // the `else` of an `else if`: no level of its own
  bool is_loop = false;
};

// Whether the block that is open now is the `else` after the one that was closed.
inline bool is_else_of(const OpenBlock& now, const OpenBlock& closed) {
  return now.is_else && now.owner == closed.owner && !closed.is_else;
}

template <class Frame>
class BlockStack {
 public:
  explicit BlockStack(const Body& body) : body_(body) {
    frames_.emplace_back();
    frames_.back().end = static_cast<std::uint32_t>(body.stmts.size());
  }

  // Calls close(closed, now) for each block that ends before statement i, innermost first; `now` is
  // the `else` of the same `if` where one follows, otherwise the block around.
  template <class Close>
  void enter(std::uint32_t i, Close close) {
    while (frames_.size() > 1 && frames_.back().end == i) {
      const Frame closed = frames_.back();
      frames_.pop_back();
      const If* branch = std::get_if<If>(&body_.stmts[closed.owner]);
      if (branch != nullptr && !closed.is_else && branch->else_begin < branch->end) {
        Frame& opened = push(closed.owner, branch->end);
        opened.is_else = true;
        opened.is_chained = is_else_if(body_, *branch);
      }
      close(closed, frames_.back());
    }
  }
  void enter(std::uint32_t i) {
    enter(i, [](const Frame&, Frame&) {});
  }

  // Opens the first block of a compound statement; null for any other. Captures are listed because
  // their order is up to the compiler otherwise, and tests of one link with a library of another.
  Frame* open(std::uint32_t i) {
    return std::visit(
        [this, i](const auto& s) -> Frame* {
          if constexpr (requires { s.else_begin; }) return &push(i, s.else_begin);
          if constexpr (requires { s.end; }) {
            Frame& opened = push(i, s.end);
            opened.is_loop = requires { s.variable; };
            return &opened;
          }
          return nullptr;
        },
        body_.stmts[i]);
  }

  Frame& back() { return frames_.back(); }
  std::vector<Frame>& frames() { return frames_; }

 private:
  Frame& push(std::uint32_t owner, StmtId end) {
    Frame& frame = frames_.emplace_back();
    frame.owner = owner;
    frame.end = end.index;
    return frame;
  }

  const Body& body_;
  std::vector<Frame> frames_;
};

// The first statement that nests more deeply than kMaxStmtDepth.
std::optional<StmtId> too_deep(const Body& body);

// Where a statement stands: `body[3].then[0]`.
std::string path_of(const Body& body, StmtId stmt);

inline DataType type_of_detail(const Expr& expr) { return static_cast<DataType>(expr.detail); }

// Whether the bits are a value of the type: none beyond its size, and a bool is 0 or 1.
bool is_value(const TypedBits& value);
inline Bits literal_bits(const Body& body, const Expr& literal) {
  if (is_wide(type_of_detail(literal))) return body.constants[literal.imm];
  Bits bits;
  bits.lanes[0] = literal.imm;
  return bits;
}

// One element of what lies in memory, as the value that a load of it gives.
Bits load_element(DataType element, std::span<const std::byte> bytes, std::size_t index);
// The value that a load gives after a store of `bits`: an element keeps as much as it has room for.
inline Bits kept_by(DataType element, const Bits& bits) {
  return load_element(element, std::as_bytes(std::span(bits.lanes)), 0);
}

// How large a body is as written out, where a shared expression counts at each use.
struct WrittenOut {
  std::vector<std::uint32_t> sizes;  // by expression, up to kMaxExprs + 1
  std::vector<std::uint32_t> depths;
  std::uint64_t total = 0;  // of all statements
};
WrittenOut written_out(const Body& body);

// Calls visit(id) for each use of an expression below `root`, as written out: operands first and
// left to right, a shared expression at each of its uses. Only for bodies whose written-out size
// has been checked.
template <class Visit>
void for_each_use(const Body& body, ExprId root, Visit visit) {
  struct Frame {
    ExprId id;
    std::uint32_t next_operand;
  };
  std::vector<Frame> stack{{root, 0}};
  while (!stack.empty()) {
    const ExprId id = stack.back().id;
    const std::span<const ExprId> args = operands(body, body[id]);
    if (stack.back().next_operand < args.size()) {
      const ExprId arg = args[stack.back().next_operand++];
      stack.push_back({arg, 0});
    } else {
      visit(id);
      stack.pop_back();
    }
  }
}

// Calls visit(id) once for each of `roots` and of what is below them, users before operands.
template <class Roots, class Visit>
void for_each_below(const Body& body, const Roots& roots, Visit visit) {
  std::set<ExprId> seen;
  std::vector<ExprId> work(roots.begin(), roots.end());
  while (!work.empty()) {
    const ExprId id = work.back();
    work.pop_back();
    if (!seen.insert(id).second) continue;
    for (ExprId arg : operands(body, body[id])) work.push_back(arg);
    visit(id);
  }
}

// The locals that a statement reads.
inline std::set<LocalId> read_locals(const Body& body, const Stmt& stmt) {
  std::set<LocalId> locals;
  for_each_below(body, roots(stmt), [&](ExprId id) {
    if (body[id].op == Operation::Local) locals.insert(LocalId{body[id].imm});
  });
  return locals;
}

}  // namespace vyre
