// A program in the making: what every pass writes its result to. It keeps the rules that a pass
// would otherwise have to remember: nothing stands behind a `return` or `break`, and the numbering
// is canonical. Only names may be declared twice; name_apart() comes at the end.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vyre/ir/program.h"
#include "vyre/ir/typing.h"
#include "vyre/ir/uniformity.h"
#include "vyre/ir/walk.h"
#include "vyre/passes/simplify.h"

namespace vyre {

class Draft {
 public:
  // Begins with the buffers and locals of a program without calls, and no statements. Its
  // expressions are there too, under the same ids and as they are, or all have to be made anew,
  // simplified on the way.
  enum class Expressions : std::uint8_t { None, Same };
  Draft(const Program& from, unsigned simplifications, Expressions begin = Expressions::Same);
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  // The types of the program, if somebody has them; before anything is made.
  void begin(Types types);

  const Program& from() const { return from_; }
  Simplifier& make() {
    if (!typed_) begin(types_of(from_.body, from_.buffers, {}, {}));
    return make_;
  }
  const Body& body() const { return out_; }

  LocalId declare(std::string_view name, DataType type);
  DataType type(LocalId local) { return make().local_types()[local.index]; }

  // A statement without blocks.
  void add(const Stmt& stmt);
  // An `if`, a loop or a scope, whose ends are filled in by close(); else_begins() at most once.
  void open(const Stmt& stmt);
  void else_begins();
  void close();
  // Opens it or adds it, whichever it takes.
  void put(const Stmt& stmt);
  // Whether what is added now can never run, and is dropped.
  bool is_dead() const { return blocks_.back().ended; }
  // Whether expressions of the program have the same ids here.
  bool has_same() const { return begin_ == Expressions::Same; }
  StmtId here() const { return StmtId{out_.stmts.size()}; }

  Program finish() &&;

  // Room for those who walk expressions, so that not each walk has to find its own.
  std::vector<Visit> visits;
  std::vector<ExprId> operands;

 private:
  struct Open {
    StmtId owner;
    bool kept = true;          // the statement itself was added
    bool ended = false;        // a `return` or `break` stands at the end
    bool first_ended = false;  // of an `if` whose second block is open: of its first
    bool is_else = false;
  };

  const Program& from_;
  const Expressions begin_;
  Body out_;
  Simplifier make_;
  bool typed_ = false;  // the locals of the program: only when something is made
  std::vector<Open> blocks_{Open{}};
};

// Gives a new name to each local that is declared where another of its name is visible.
void name_apart(Program& program);

// What becomes of a statement with blocks.
enum class Keep : std::uint8_t {
  All,  // the pass has opened it in the draft; its blocks follow
  Nothing,
  First,  // only what is in its first block, or its second
  Second,
  Swapped,  // the pass has opened an `if` that has only the second block
};

// Walks the statements in order and lets `pass` write them. `pass` has
//   Keep statement(StmtId id, const Stmt& stmt)   adds it to the draft, opens it, or drops it
template <class Pass>
void rewrite(Draft& draft, Pass& pass) {
  const Body& body = draft.from().body;
  enum class Part : std::uint8_t { Then, Last, Alone };
  struct Frame {
    StmtId owner;
    StmtId end;
    StmtId resume;
    Part part = Part::Alone;
  };
  const StmtId end{body.stmts.size()};
  std::vector<Frame> stack{{{}, end, end, Part::Alone}};
  for (StmtId id{0u};;) {
    if (id == stack.back().end) {
      const Frame frame = stack.back();
      stack.pop_back();
      if (stack.empty()) return;
      id = frame.resume;
      if (frame.part == Part::Then) {
        const If& branch = std::get<If>(body[frame.owner]);
        draft.else_begins();
        stack.push_back({frame.owner, branch.end, branch.end, Part::Last});
        id = branch.else_begin;
      } else if (frame.part == Part::Last) {
        draft.close();
      }
      continue;
    }
    const Stmt& stmt = body[id];
    const StmtId behind = next(body, id);
    const StmtId inside{id.index + 1};
    const Keep keep = draft.is_dead() ? Keep::Nothing : pass.statement(id, stmt);
    const If* branch = std::get_if<If>(&stmt);
    if (behind == inside && branch == nullptr && !std::holds_alternative<For>(stmt) &&
        !std::holds_alternative<Block>(stmt)) {
      id = inside;
      continue;
    }
    const StmtId middle = branch != nullptr ? branch->else_begin : behind;
    switch (keep) {
      case Keep::All:
        stack.push_back({id, middle, branch != nullptr ? middle : behind,
                         branch != nullptr ? Part::Then : Part::Last});
        id = inside;
        break;
      case Keep::Nothing: id = behind; break;
      case Keep::First:
        stack.push_back({id, middle, behind, Part::Alone});
        id = inside;
        break;
      case Keep::Second:
      case Keep::Swapped:
        stack.push_back({id, behind, behind, keep == Keep::Second ? Part::Alone : Part::Last});
        id = middle;
        break;
    }
  }
}

// Adds a statement or opens it, but a branch whose condition is known becomes one of its blocks,
// and a loop without rounds goes.
Keep put_or_fold(Draft& draft, const Stmt& stmt);

// A statement with other expressions: change(root) for each that it mentions.
template <class Change>
Stmt with_roots(Stmt stmt, Change change) {
  for_each_root(stmt, [&](ExprId& root) {
    if (root.exists()) root = change(root);
  });
  return stmt;
}

// The locals that are given a value after they are declared.
std::vector<bool> assigned_locals(const Body& body);

// Calls visit(std::uint32_t&) with the number of the buffer, for each expression and statement that
// has one.
template <class Visit>
void for_each_buffer(Body& body, Visit visit) {
  for (Expr& expr : body.exprs) {
    if (expr.op == Operation::Load || expr.op == Operation::Length) visit(expr.imm);
  }
  for (Stmt& stmt : body.stmts) {
    std::visit(
        [&](auto& s) {
          if constexpr (requires { s.buffer; }) visit(s.buffer.index);
        },
        stmt);
  }
}

// By expression: whether `has` holds for it, or for something in it.
template <class Has>
std::vector<bool> spread(const Body& body, Has has) {
  std::vector<bool> found(body.exprs.size());
  for (std::size_t i = 0; i < body.exprs.size(); ++i) {
    const Expr& expr = body.exprs[i];
    const auto is_found = [&](ExprId arg) { return found[arg.index]; };
    if (has(expr) || std::ranges::any_of(operands(body, expr), is_found)) found[i] = true;
  }
  return found;
}

// Visits the expressions that statements mention, each once in a statement.
class Mentions {
 public:
  explicit Mentions(const Body& body) : body_(body), seen_(body.exprs.size()) {}

  // visit(id) says whether to go on to the operands.
  template <class Visit>
  void visit(StmtId stmt, Visit visit) {
    for (ExprId root : roots(body_[stmt])) stack_.push_back(root);
    while (!stack_.empty()) {
      const ExprId at = stack_.back();
      stack_.pop_back();
      if (std::exchange(seen_[at.index], stmt.index + 1) == stmt.index + 1 || !visit(at)) continue;
      for (ExprId arg : operands(body_, body_[at])) stack_.push_back(arg);
    }
  }

 private:
  const Body& body_;
  std::vector<std::uint32_t> seen_;  // 1 + the statement that has last looked at it
  std::vector<ExprId> stack_;
};

// When a branch or a loop ends, passes look at all that is assigned inside. Whether that takes very
// long: in a long chain of `else if`, which nests without being deep. It stays as it is written.
bool nests_deeply(const Body& body);

// Copies expressions of the program into the draft. `memo` has what is known already; `leaf` may
// replace a local or a load: it gets the expression and its copied operands and returns an
// expression of the draft, or none.
template <class Leaf>
ExprId copy_expr(Draft& draft, ExprId root, std::vector<ExprId>& memo, Leaf leaf) {
  const Body& body = draft.from().body;
  const auto is_known = [&](ExprId id) { return memo[id.index].exists(); };
  operands_first(body, root, draft.visits, is_known, [&](ExprId id, std::span<const ExprId> ids) {
    const Expr& expr = body[id];
    std::vector<ExprId>& args = draft.operands;
    args.clear();
    for (ExprId operand : ids) args.push_back(memo[operand.index]);
    ExprId made = leaf(id, expr, std::span<const ExprId>(args));
    if (!made.exists() && draft.has_same() && std::ranges::equal(ids, args)) made = id;
    if (!made.exists()) {
      made = expr.op == Operation::Literal
                 ? draft.make().constant(type_of_detail(expr), literal_bits(body, expr))
                 : draft.make().make(expr.op, expr.detail, expr.imm, args);
    }
    memo[id.index] = made;
  });
  return memo[root.index];
}
inline ExprId copy_expr(Draft& draft, ExprId root, std::vector<ExprId>& memo) {
  return copy_expr(draft, root, memo,
                   [](ExprId, const Expr&, std::span<const ExprId>) { return ExprId{}; });
}

// A load from memory that others may write to meanwhile: it is evaluated where it stands, once.
inline bool is_volatile(const Program& program, const Expr& expr) {
  return expr.op == Operation::Load && is_written(program.buffers[expr.imm].access);
}

// By expression: whether it may be another value in the next statement.
std::vector<bool> varying(const Program& program, const std::vector<bool>& assigned);

}  // namespace vyre
