#include "vyre/passes/inline.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "vyre/base/counters.h"
#include "vyre/base/text.h"
#include "vyre/ir/intern.h"
#include "vyre/passes/draft.h"
#include "vyre/text/lexer.h"
#include "vyre/validate/validate.h"

namespace vyre {
namespace {

// Beyond these an argument is bound to a local: as many expressions more, and as many levels.
constexpr std::uint32_t kManyExprs = 1000;
constexpr std::uint32_t kManyLevels = 500;
// So many statements with early returns become nested branches; more stand in a loop of one round,
// which the returns leave.
constexpr std::size_t kManyReturns = 8;

// --- What is known about an op ------------------------------------------------------------------

struct Callee {
  const Op* op = nullptr;
  std::vector<bool> assigned;       // per parameter
  std::vector<std::uint32_t> uses;  // per parameter, in an op of one expression, as written out
  std::vector<bool> returns;        // per statement: it is or contains a `return`
  std::vector<bool> leaves;         // per statement: every way through it returns
  std::uint32_t depth = 0;          // of the expression, in an op of one
  bool in_loop = false;             // a `return` stands in a loop
  bool nests = false;               // early returns can be nested in `else` blocks

  const Body& body() const { return op->body; }
  // Whether every way through some statements of a block returns.
  bool leaves_in(StmtId first, StmtId end) const {
    for (StmtId id = first; id < end; id = next(op->body, id)) {
      if (leaves[id.index]) return true;
    }
    return false;
  }
  bool is_expression() const { return op->body.stmts.size() == 1; }
  // Its only `return` is its last statement.
  bool is_straight() const {
    return std::ranges::count(returns, true) == 1 && returns.back() &&
           std::holds_alternative<Return>(op->body.stmts.back());
  }
};

Callee study(const Op& op) {
  const Body& body = op.body;
  const std::size_t parameters = op.signature.inputs.size();
  const auto count = static_cast<std::uint32_t>(body.stmts.size());
  Callee callee;
  callee.op = &op;
  callee.assigned.resize(parameters);
  callee.returns.resize(count);
  callee.leaves.resize(count);

  // What is inside comes behind, so the last statement is the first to look at.
  for (std::uint32_t i = count; i-- > 0;) {
    const Assign* assign = std::get_if<Assign>(&body.stmts[i]);
    if (assign != nullptr && assign->local.index < parameters) {
      callee.assigned[assign->local.index] = true;
    }
    const StmtId inside{i + 1};
    const StmtId end = next(body, StmtId{i});
    callee.returns[i] = callee.leaves[i] = std::holds_alternative<Return>(body.stmts[i]);
    for (StmtId id = inside; id < end; id = next(body, id)) {
      if (callee.returns[id.index]) callee.returns[i] = true;
    }
    if (std::holds_alternative<Block>(body.stmts[i]))
      callee.leaves[i] = callee.leaves_in(inside, end);
    if (const If* branch = std::get_if<If>(&body.stmts[i])) {
      callee.leaves[i] =
          callee.leaves_in(inside, branch->else_begin) && callee.leaves_in(branch->else_begin, end);
    }
  }

  // Early returns nest where at most one way through a statement leads to what follows it.
  struct Frame : OpenBlock {
    bool follows = false;  // something does, behind this block
    bool in_loop = false;
  };
  BlockStack<Frame> stack(body);
  std::size_t returning = 0;
  callee.nests = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    stack.enter(i, [](const Frame& closed, Frame& now) {
      if (now.owner != closed.owner || !now.is_else || closed.is_else) return;
      now.follows = closed.follows;
      now.in_loop = closed.in_loop;
    });
    const bool in_loop = stack.back().in_loop;
    const bool follows = stack.back().follows || next(body, StmtId{i}).index != stack.back().end;
    const bool is_return = std::holds_alternative<Return>(body.stmts[i]);
    const If* branch = std::get_if<If>(&body.stmts[i]);
    callee.in_loop = callee.in_loop || (is_return && in_loop);
    if (callee.returns[i] && !in_loop && !is_return) {
      ++returning;
      if (branch != nullptr && follows) {
        callee.nests &= callee.leaves_in(StmtId{i + 1}, branch->else_begin) ||
                        callee.leaves_in(branch->else_begin, branch->end);
      }
      if (std::holds_alternative<Block>(body.stmts[i]) && follows) callee.nests &= callee.leaves[i];
    }
    if (Frame* opened = stack.open(i)) {
      opened->follows = follows;
      opened->in_loop = in_loop || opened->is_loop;
    }
  }
  callee.nests = callee.nests && returning <= kManyReturns;

  if (!callee.is_expression()) return callee;
  std::vector<std::uint32_t> times(body.exprs.size());
  std::vector<std::uint32_t> depths(body.exprs.size());
  times[std::get<Return>(body.stmts[0]).value.index] = 1;
  callee.uses.resize(parameters);
  for (std::size_t i = body.exprs.size(); i-- > 0;) {
    const Expr& expr = body.exprs[i];
    if (expr.op == Operation::Local) callee.uses[expr.imm] = times[i];
    for (ExprId arg : operands(body, expr)) {
      times[arg.index] = std::min(kMaxExprs, times[arg.index] + times[i]);
    }
  }
  for (std::size_t i = 0; i < body.exprs.size(); ++i) {
    for (ExprId arg : operands(body, body.exprs[i])) {
      depths[i] = std::max(depths[i], depths[arg.index]);
    }
    callee.depth = std::max(callee.depth, ++depths[i]);
  }
  return callee;
}

// --- Expansion ----------------------------------------------------------------------------------

// The names of the locals that an expansion makes start with "__call" and a number. This is the
// least number behind all that a name already has.
constexpr std::string_view kPrefix = "__call";

std::uint32_t number_behind(std::string_view name) {
  if (!name.starts_with(kPrefix)) return 0;
  std::uint32_t number = 0;
  for (char c : name.substr(kPrefix.size())) {
    if (!is_digit(c) || number > kMaxExprs) break;
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return number + 1;
}

class Inliner {
 public:
  using Find = std::function<const Op*(std::string_view)>;

  // `limited`: the result has to be one that may be written.
  Inliner(std::string_view name, std::span<const BufferDecl> buffers, Find find,
          bool limited = true)
      : name_(name), buffers_(buffers), find_(std::move(find)), limited_(limited) {}

  // `kind` is what the body is of: "program" or "op".
  Result<Body> expand(const Body& body, std::string_view kind, std::uint32_t parameters) {
    for (const Local& own : body.locals) number_ = std::max(number_, number_behind(own.name));
    for (const BufferDecl& buffer : buffers_) {
      number_ = std::max(number_, number_behind(buffer.name));
    }
    Frame frame(body);
    for (std::size_t i = 0; i < body.locals.size(); ++i) {
      frame.locals[i] = {LocalId{i}, {}};
      out_.locals.push_back(body.locals[i]);
    }
    flat(frame, StmtId{0u}, StmtId{body.stmts.size()});
    if (const std::optional<StmtId> deep = too_deep(out_); deep && !failure_) {
      site_ = sites_of_[deep->index];
      at_ = sites_[site_].at;
      fail(diagnose<message::inlined_nesting>(name_, chain()));
    }
    if (failure_) {
      failure_->path = std::string(kind) + " " + shorten(name_) + ": " + path_of(body, at_);
      failure_->statement = at_.index;
      return *failure_;
    }
    return canonical(out_, parameters, true);
  }

 private:
  // What stands for a local of a body that is expanded: a local of the result, or an expression.
  struct Stand {
    LocalId local;
    ExprId expr;
  };

  // A body that is being expanded: the caller's, or that of an op for one call.
  struct Frame {
    explicit Frame(const Body& source)
        : body(source), locals(source.locals.size()), copies(source.exprs.size()) {}

    const Body& body;
    std::vector<Stand> locals;
    struct Copy {
      ExprId expr;
      std::uint64_t statement = 0;  // for which it holds; 0: for all
    };
    std::vector<Copy> copies;

    // Of an op: where its result goes, and how its `return` leaves.
    const Callee* callee = nullptr;
    std::uint32_t number = 0;
    LocalId result;
    LocalId done;           // set where a `return` leaves a loop of the op
    std::size_t loops = 0;  // open loops of the op itself
    bool once = false;      // it stands in a loop of one round
    std::unordered_map<std::string, std::uint32_t> names;  // how often each was wanted
  };

  // --- Making expressions and statements

  ExprId make(Operation op, std::uint8_t detail, std::uint32_t imm, std::span<const ExprId> args) {
    return note(interner_.make(op, detail, imm, args));
  }
  ExprId local(LocalId id) { return note(interner_.local(id)); }
  ExprId literal(DataType type, const Bits& bits) { return note(interner_.literal(type, bits)); }

  // Keeps the tables beside the expressions up to date.
  ExprId note(ExprId id) {
    for (std::size_t i = sizes_.size(); i < out_.exprs.size(); ++i) {
      std::uint32_t size = 1;
      std::uint32_t depth = 0;
      const Expr& expr = out_.exprs[i];
      bool varies = expr.op == Operation::Load && is_written(expr.imm);
      for (ExprId arg : operands(out_, expr)) {
        size = std::min(kMaxExprs + 1, size + sizes_[arg.index]);
        depth = std::max(depth, depths_[arg.index]);
        varies = varies || varies_[arg.index];
      }
      if (size > kMaxExprs) fail(diagnose<message::inlined_expressions>(name_, chain()));
      sizes_.push_back(size);
      depths_.push_back(depth + 1);
      varies_.push_back(varies);
    }
    return id;
  }
  bool is_written(std::uint32_t buffer) const {
    const BufferAccess access = buffers_[buffer].access;
    return access == BufferAccess::ReadWrite || access == BufferAccess::Workgroup;
  }

  ExprId zero_of(DataType type) {
    if (!is_vector(type)) return literal(type, {});
    const ExprId lane = literal(DataType::U32, {});
    const std::array<ExprId, 4> lanes{lane, lane, lane, lane};
    const std::size_t count = lane_count(type);
    return make(count == 4 ? Operation::Vec4 : Operation::Vec2, 0, 0,
                std::span(lanes).first(count));
  }

  StmtId here() const { return StmtId{out_.stmts.size()}; }

  void add(const Stmt& stmt) {
    if (failure_) return;
    for (ExprId root : roots(stmt)) {
      written_ += sizes_[root.index];
      if (written_ > kMaxExprs) fail(diagnose<message::inlined_expressions>(name_, chain()));
      if (depths_[root.index] > kMaxExprDepth) {
        fail(diagnose<message::inlined_depth>(name_, chain(), depths_[root.index]));
      }
    }
    if (out_.stmts.size() >= kMaxStmts) fail(diagnose<message::inlined_statements>(name_, chain()));
    if (failure_) return;
    out_.stmts.push_back(stmt);
    sites_of_.push_back(site_);
  }

  // A local of an op, under a name that its body does not have twice.
  LocalId declare(Frame& frame, std::string_view wanted) {
    if (frame.names.empty()) frame.number = number_++;
    constexpr std::size_t kRoom = 64;  // for prefix and numbers
    const std::string name(wanted.substr(0, kMaxNameBytes - kRoom));
    std::string fresh = name;
    while (!frame.names.try_emplace(fresh, 1).second) {
      fresh = name + "_" + std::to_string(++frame.names[name]);
    }
    out_.locals.push_back({std::string(kPrefix) + std::to_string(frame.number) + "_" + fresh});
    return LocalId{out_.locals.size() - 1};
  }

  void fail(Diagnostic diagnostic) {
    if (failure_ || !limited_) return;
    failure_ = std::move(diagnostic);
  }
  // The calls that lead to the current one, or where none is open to the last one.
  std::string chain() const {
    std::vector<std::string> ids;
    for (std::uint32_t s = site_ != 0 ? site_ : last_site_; s != 0; s = sites_[s].parent) {
      ids.push_back(shorten(sites_[s].op->id));
    }
    std::string text;
    for (std::size_t i = ids.size(); i-- > 0;) text += ids[i] + (i > 0 ? " → " : "");
    return shorten(text, 400);
  }

  // --- Expressions

  // The copy of an expression of the frame's body. What its calls need stands in front.
  ExprId copy(Frame& frame, ExprId root) {
    const auto done = [&](ExprId id) {
      const Frame::Copy& copy = frame.copies[id.index];
      return copy.expr.exists() && (copy.statement == 0 || copy.statement == statement_);
    };
    // A call inside copies too, with room of its own.
    std::vector<Visit> stack = std::exchange(visits_, {});
    std::vector<ExprId> args = std::exchange(args_, {});
    const auto is_known = [&](ExprId id) { return failure_ || done(id); };
    operands_first(frame.body, root, stack, is_known, [&](ExprId id, auto ids) {
      if (failure_) return;
      args.clear();
      std::uint64_t holds = 0;
      for (ExprId arg : ids) {
        args.push_back(frame.copies[arg.index].expr);
        holds = std::max(holds, frame.copies[arg.index].statement);
      }
      const std::size_t before = bound_;
      const ExprId made = copy_one(frame, frame.body[id], args);
      if (bound_ != before) holds = statement_;
      frame.copies[id.index] = {made, holds};
    });
    visits_ = std::move(stack);
    args_ = std::move(args);
    return failure_ ? ExprId{0u} : frame.copies[root.index].expr;
  }

  ExprId copy_one(Frame& frame, const Expr& expr, std::vector<ExprId>& args) {
    switch (expr.op) {
      case Operation::Literal: return literal(type_of_detail(expr), literal_bits(frame.body, expr));
      case Operation::Local: {
        const Stand& stand = frame.locals[expr.imm];
        return stand.expr.exists() ? stand.expr : local(stand.local);
      }
      case Operation::Call: return call(frame.body.callees[expr.imm], args);
      case Operation::Load:
      case Operation::Length:
      case Operation::InvocationId:
      case Operation::WorkgroupId:
      case Operation::LocalId:
      case Operation::Select:
      case Operation::Cast:
      case Operation::Vec2:
      case Operation::Vec4:
      case Operation::Lane:
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
        break;
    }
    return make(expr.op, expr.detail, expr.imm, args);
  }

  // The same with the expressions that this statement has bound to locals replaced by those.
  ExprId settled(ExprId root) {
    if (replaced_.empty()) return root;
    std::unordered_map<std::uint32_t, ExprId> copies;
    std::vector<Visit> stack;
    const auto is_known = [&](ExprId id) {
      const auto replaced = replaced_.find(id.index);
      if (replaced != replaced_.end()) {
        copies[id.index] = replaced->second;
      } else if (!varies_[id.index]) {
        copies[id.index] = id;
      }
      return copies.contains(id.index);
    };
    operands_first(out_, root, stack, is_known, [&](ExprId id, auto ids) {
      std::vector<ExprId> args;
      for (ExprId arg : ids) args.push_back(copies[arg.index]);
      const Expr expr = out_[id];
      copies[id.index] = make(expr.op, expr.detail, expr.imm, args);
    });
    return copies[root.index];
  }

  ExprId bind(LocalId to, ExprId value) {
    value = settled(value);
    add(Let{to, value});
    ++bound_;
    const ExprId stand = local(to);
    if (varies_[value.index]) replaced_[value.index] = stand;
    return stand;
  }

  const Callee& callee_of(const std::string& id) {
    const Op& op = *find_(id);
    const auto known = callees_.find(&op);
    if (known != callees_.end()) return known->second;
    return callees_.emplace(&op, study(op)).first->second;
  }

  // The only recursion: a body has calls, whose bodies have calls. Calls nest at most kMaxCallDepth
  // deep (V017).
  ExprId call(const std::string& id, std::vector<ExprId> args) {
    const Callee& callee = callee_of(id);
    const std::uint32_t caller = site_;
    sites_.push_back({callee.op, caller, at_});
    site_ = last_site_ = static_cast<std::uint32_t>(sites_.size() - 1);
    const ExprId result = callee.is_expression() ? expression(callee, args) : body(callee, args);
    site_ = caller;
    return result;
  }

  // An op of one expression.
  ExprId expression(const Callee& callee, std::span<ExprId> args) {
    Frame frame(callee.body());
    frame.callee = &callee;
    for (std::size_t i = 0; i < args.size(); ++i) {
      const std::uint64_t more = std::uint64_t{sizes_[args[i].index]} * (callee.uses[i] - 1);
      const bool many = callee.uses[i] > 1 && more > kManyExprs;
      const bool deep = depths_[args[i].index] > 1 && callee.uses[i] > 0 &&
                        depths_[args[i].index] + callee.depth > kManyLevels;
      if (many || deep) args[i] = bind(declare(frame, callee.body().locals[i].name), args[i]);
      frame.locals[i] = {{}, args[i]};
    }
    return copy(frame, std::get<Return>(callee.body().stmts[0]).value);
  }

  // An op of several statements; gives the expression that is its result.
  ExprId body(const Callee& callee, std::span<const ExprId> args) {
    const Body& source = callee.body();
    Frame frame(source);
    frame.callee = &callee;
    for (std::size_t i = 0; i < args.size(); ++i) {
      // What cannot change on the way needs no local of its own.
      const Operation op = out_[args[i]].op;
      const bool fixed = op == Operation::Literal || op == Operation::Local;
      if (fixed && !callee.assigned[i]) {
        frame.locals[i] = {{}, args[i]};
      } else {
        const LocalId own = declare(frame, source.locals[i].name);
        bind(own, args[i]);
        frame.locals[i] = {own, {}};
        if (!callee.assigned[i] || !varies_[args[i].index]) continue;
        // The local stands for the argument in the rest of the statement, so another one changes.
        const LocalId copy = declare(frame, source.locals[i].name);
        add(Let{copy, local(own)});
        frame.locals[i] = {copy, {}};
      }
    }
    ++bound_;  // what the result is made of holds for this statement alone

    const StmtId end{source.stmts.size()};
    const std::uint64_t statement = statement_;
    auto replaced = std::move(replaced_);
    ExprId result{0u};
    if (callee.is_straight()) {
      flat(frame, StmtId{0u}, StmtId{end.index - 1});
      begin_statement();
      result = copy(frame, std::get<Return>(source.stmts.back()).value);
    } else {
      frame.result = declare(frame, "result");
      add(Let{frame.result, zero_of(callee.op->signature.output)});
      if (callee.in_loop) {
        frame.done = declare(frame, "done");
        add(Let{frame.done, literal(DataType::U32, {})});
      }
      if (callee.nests) {
        nested(frame, StmtId{0u}, end);
      } else {
        const ExprId one = literal(DataType::U32, {{1}});
        const StmtId loop = here();
        add(For{declare(frame, "once"), literal(DataType::U32, {}), one, {}});
        frame.once = true;
        flat(frame, StmtId{0u}, end);
        if (!failure_) std::get<For>(out_.stmts[loop.index]).end = here();
      }
      result = local(frame.result);
    }
    statement_ = statement;
    replaced_ = std::move(replaced);
    return result;
  }

  // --- Statements

  // Statements of the frame's body, in their shape. A `return` of an op leaves the loop around it.
  void flat(Frame& frame, StmtId first, StmtId end) {
    struct Open {
      StmtId owner;
      StmtId made;
      StmtId end;
      bool is_else = false;
    };
    std::vector<Open> stack;
    const auto close = [&](const Open& open) {
      Stmt& made = out_.stmts[open.made.index];
      std::visit(
          [&](auto& s) {
            if constexpr (requires { s.else_begin; }) {
              if (!open.is_else) s.else_begin = here();
            }
            if constexpr (requires { s.end; }) s.end = here();
          },
          made);
      if (const If* branch = std::get_if<If>(&frame.body[open.owner]); branch && !open.is_else) {
        stack.push_back({open.owner, open.made, branch->end, true});
      }
      if (!std::holds_alternative<For>(frame.body[open.owner])) return;
      --frame.loops;
      if (frame.callee != nullptr && frame.callee->returns[open.owner.index] && breaks(frame)) {
        const StmtId own = here();
        add(If{is_done(frame, Operation::Ne), StmtId{own.index + 2}, StmtId{own.index + 2}});
        add(Break{});
      }
    };
    for (StmtId id = first; !failure_; ++id.index) {
      while (!stack.empty() && stack.back().end == id && !failure_) {
        const Open open = stack.back();
        stack.pop_back();
        close(open);
      }
      if (id == end || failure_) break;
      if (site_ == 0) at_ = id;
      const Stmt& stmt = frame.body[id];
      if (frame.callee != nullptr && std::holds_alternative<Return>(stmt)) {
        leave(frame, std::get<Return>(stmt).value);
        continue;
      }
      const StmtId made = statement(frame, stmt);
      if (const If* branch = std::get_if<If>(&stmt))
        stack.push_back({id, made, branch->else_begin});
      if (const Block* block = std::get_if<Block>(&stmt)) stack.push_back({id, made, block->end});
      if (const For* loop = std::get_if<For>(&stmt)) {
        stack.push_back({id, made, loop->end});
        ++frame.loops;
      }
    }
  }

  // What is left to do while early returns are turned into branches, the next task last.
  using Range = std::pair<StmtId, StmtId>;
  struct Task {
    enum class Kind : std::uint8_t { Part, BeginElse, EndIf };
    Kind kind = Kind::Part;
    StmtId made = {};  // the `if` whose `else` begins, or that ends
    // Statements of a block outside of loops; then those of the ranges behind, the last one first.
    Range part = {};
    std::vector<Range> behind = {};
  };

  void nested(Frame& frame, StmtId first, StmtId end) {
    std::vector<Task> tasks;
    tasks.push_back({.part = {first, end}});
    while (!tasks.empty() && !failure_) {
      Task task = std::move(tasks.back());
      tasks.pop_back();
      switch (task.kind) {
        case Task::Kind::Part: part(frame, task, tasks); break;
        case Task::Kind::BeginElse:
          std::get<If>(out_.stmts[task.made.index]).else_begin = here();
          break;
        case Task::Kind::EndIf: std::get<If>(out_.stmts[task.made.index]).end = here(); break;
      }
    }
  }

  void part(Frame& frame, Task& task, std::vector<Task>& tasks) {
    for (StmtId id = task.part.first; id < task.part.second && !failure_;
         id = next(frame.body, id)) {
      const StmtId rest = next(frame.body, id);
      const Stmt& stmt = frame.body[id];
      if (!frame.callee->returns[id.index]) {
        flat(frame, id, rest);
        continue;
      }
      if (std::holds_alternative<Return>(stmt)) return leave(frame, std::get<Return>(stmt).value);
      std::vector<Range> then = std::move(task.behind);
      if (rest < task.part.second) then.emplace_back(rest, task.part.second);
      if (const Block* block = std::get_if<Block>(&stmt)) {
        // Names are unique, so its scope is not needed.
        tasks.push_back({.part = {StmtId{id.index + 1}, block->end}, .behind = std::move(then)});
        return;
      }
      if (const If* branch = std::get_if<If>(&stmt)) {
        // The way that goes on takes with it what comes behind.
        const Range ways[] = {{StmtId{id.index + 1}, branch->else_begin},
                              {branch->else_begin, branch->end}};
        const StmtId own = statement(frame, stmt);
        const auto go = [&](const Range& way) {
          tasks.push_back({.part = way});
          if (!frame.callee->leaves_in(way.first, way.second)) tasks.back().behind = then;
        };
        tasks.push_back({Task::Kind::EndIf, own});
        go(ways[1]);
        tasks.push_back({Task::Kind::BeginElse, own});
        return go(ways[0]);
      }
      flat(frame, id, rest);  // a loop
      if (then.empty() || failure_) return;
      const StmtId own = here();
      add(If{is_done(frame, Operation::Eq), {}, {}});
      tasks.push_back({Task::Kind::EndIf, own});
      tasks.push_back({Task::Kind::BeginElse, own});
      tasks.push_back({.behind = std::move(then)});
      return;
    }
    if (task.behind.empty()) return;
    const Range last = task.behind.back();
    task.behind.pop_back();
    tasks.push_back({.part = last, .behind = std::move(task.behind)});
  }

  static bool breaks(const Frame& frame) { return frame.once || frame.loops > 0; }
  ExprId is_done(const Frame& frame, Operation test) {
    return make(test, 0, 0, std::array{local(frame.done), literal(DataType::U32, {})});
  }

  // A `return` of an op.
  void leave(Frame& frame, ExprId value) {
    begin_statement();
    add(Assign{frame.result, settled(copy(frame, value))});
    if (frame.loops > 0) add(Assign{frame.done, literal(DataType::U32, {{1}})});
    if (breaks(frame)) add(Break{});
  }

  // Expressions are evaluated anew.
  void begin_statement() {
    statement_ = ++statements_;
    replaced_.clear();
  }

  // One statement, without what is in it.
  StmtId statement(Frame& frame, Stmt stmt) {
    begin_statement();
    for_each_root(stmt, [&](ExprId& root) {
      if (root.exists() && !failure_) root = copy(frame, root);
    });
    for_each_root(stmt, [&](ExprId& root) {
      if (root.exists() && !failure_) root = settled(root);
    });
    if (failure_) return here();
    if (LocalId* named = local_of(stmt); named != nullptr && named->exists()) {
      Stand& stand = frame.locals[named->index];
      if (frame.callee != nullptr && declared(stmt).exists()) {
        stand = {declare(frame, frame.body[*named].name), {}};
      }
      *named = stand.local;
    }
    add(stmt);
    return StmtId{here().index - 1};
  }

  const std::string_view name_;
  const std::span<const BufferDecl> buffers_;
  const Find find_;
  const bool limited_;
  std::unordered_map<const Op*, Callee> callees_;

  Body out_;
  Interner interner_{out_};
  std::vector<Visit> visits_;  // room for walks
  std::vector<ExprId> args_;
  std::vector<std::uint32_t> sizes_;   // per expression of the result, as written out
  std::vector<std::uint32_t> depths_;  // and how deep it is
  std::vector<bool> varies_;           // and whether it loads what may be written meanwhile
  std::uint64_t written_ = 0;          // expressions of the result, as written out

  // The calls that were expanded, each with the one in which it stands; 0 is the caller itself.
  struct Site {
    const Op* op;
    std::uint32_t parent;
    StmtId at;  // the caller's statement
  };
  std::vector<Site> sites_{{nullptr, 0, StmtId{0u}}};
  std::uint32_t site_ = 0;  // that is being expanded
  std::uint32_t last_site_ = 0;
  std::vector<std::uint32_t> sites_of_;  // per statement of the result
  StmtId at_{0u};                        // the caller's statement
  std::uint32_t number_ = 0;             // of the next call whose locals need names
  std::uint64_t statements_ = 0;
  std::uint64_t statement_ = 0;  // whose expressions are copied
  std::size_t bound_ = 0;        // how often something was put in front of a statement
  std::unordered_map<std::uint32_t, ExprId> replaced_;  // what this statement has bound to locals
  std::optional<Diagnostic> failure_;
};

Result<Body> expanded(const Linked& linked, bool limited) {
  const Program& program = linked.program();
  std::unordered_map<std::string_view, const Op*> ops;
  for (const auto& op : linked.ops()) ops.emplace(op->id, op.get());
  Inliner inliner(
      program.name, program.buffers, [&](std::string_view id) { return ops.at(id); }, limited);
  return inliner.expand(program.body, "program", 0);
}

}  // namespace

Program expand_calls(const Linked& linked) {
  Program program = linked.program();
  if (!program.body.callees.empty()) program.body = *expanded(linked, false);
  return program;
}

Result<Program> inline_calls(const Linked& linked) {
  ++counters.inlinings;
  Program program = linked.program();
  if (program.body.callees.empty()) return program;
  Result<Body> body = expanded(linked, true);
  if (!body.ok()) return body.diagnostics();
  program.body = std::move(*body);
  // What names take when they are written out is a limit too, which only long ones reach.
  constexpr std::size_t kLong = 200;
  const auto is_long = [&](const Local& local) { return local.name.size() > kLong; };
  if (std::ranges::any_of(program.body.locals, is_long)) {
    if (std::vector<Diagnostic> wrong = validate(program); !wrong.empty()) return wrong;
  }
  return program;
}

Result<Op> inline_calls(const Op& op, const Registry& registry) {
  Op result = op;
  if (op.body.callees.empty()) return result;
  Inliner inliner(op.id, {}, [&](std::string_view id) { return registry.find(id); });
  Result<Body> body =
      inliner.expand(op.body, "op", static_cast<std::uint32_t>(op.signature.inputs.size()));
  if (!body.ok()) return body.diagnostics();
  result.body = std::move(*body);
  return result;
}

}  // namespace vyre
