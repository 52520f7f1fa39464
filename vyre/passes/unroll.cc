// Writes loops with few rounds, whose number is known, out. The innermost are counted first, so
// that a loop around them is judged by what they become. Of longer ones, if asked to, a few rounds
// at a time.
#include <algorithm>

#include "vyre/passes/formulas.h"
#include "vyre/passes/pass.h"

namespace vyre {
namespace {

constexpr std::uint32_t kMaxRounds = 64;
constexpr std::uint64_t kMaxUnrolled = 12'000;  // expressions of all loops, as written out
constexpr std::uint32_t kPartly = 4;            // rounds at a time
constexpr std::uint64_t kMaxPartly = 250;       // expressions of each

// What a statement counts without its expressions and blocks. A barrier ends loops over
// invocations, and invocations that leave take code at every end of a block around.
std::uint64_t own_cost(const Stmt& stmt) {
  const bool leaves = std::holds_alternative<Return>(stmt) || std::holds_alternative<Break>(stmt);
  return leaves || waits(stmt) ? 32 : 1;
}

// How many rounds a loop has, where both ends are numbers; 0 for anything else.
std::uint32_t rounds_of(const Body& body, const Stmt& stmt) {
  const For* loop = std::get_if<For>(&stmt);
  if (loop == nullptr) return 0;
  const Expr& from = body[loop->from];
  const Expr& to = body[loop->to];
  if (from.op != Operation::Literal || to.op != Operation::Literal) return 0;
  return to.imm - std::min(from.imm, to.imm);
}

class Unroller {
 public:
  enum class Loops : std::uint8_t { Whole, Partly };
  Unroller(Draft& draft, Loops loops)
      : draft_(draft),
        body_(draft.from().body),
        rounds_(body_.stmts.size()),
        memo_(body_.exprs.size()),
        varies_(spread(body_, [](const Expr& expr) { return expr.op == Operation::Local; })),
        locals_(body_.locals.size()) {
    loops == Loops::Whole ? plan() : plan_partly();
  }

  bool finds_any() const { return any_; }
  void run() {
    StmtId id{0u};
    while (!stack_.empty() || id.index < body_.stmts.size()) {
      id = !stack_.empty() && stack_.back().end == id ? leave() : enter(id);
    }
  }

 private:
  // Loops that have neither loops nor barriers in them, and a number of rounds that fits.
  void plan_partly() {
    std::vector<std::uint32_t> sizes;  // where they are wanted
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      const std::uint32_t times = rounds_of(body_, body_.stmts[i]);
      if (times % kPartly != 0 || times <= kPartly) continue;
      if (sizes.empty()) sizes = written_out(body_).sizes;
      std::uint64_t inside = 0;
      bool is_plain = true;
      for (std::uint32_t k = i + 1; k < next(body_, StmtId{i}).index; ++k) {
        const Stmt& stmt = body_.stmts[k];
        is_plain = is_plain && !std::holds_alternative<For>(stmt) && !waits(stmt);
        for (ExprId root : roots(stmt)) inside += sizes[root.index];
      }
      if (!is_plain || inside > kMaxPartly) continue;
      rounds_[i] = kPartly;
      is_partly_ = any_ = true;
    }
  }

  // How often each loop is written out; 0: it stays a loop.
  void plan() {
    const std::size_t count = body_.stmts.size();
    const WrittenOut written = written_out(body_);
    std::uint64_t own = written.total;
    for (const Stmt& stmt : body_.stmts) own += own_cost(stmt);
    const std::uint64_t most = kMaxUnrolled - std::min(own, kMaxUnrolled);
    // Inner statements come after outer ones.
    std::vector<std::uint64_t> cost(count);  // of a statement with all in it
    std::vector<bool> breaks(count);         // a `break` in it leaves a loop around it
    std::uint64_t total = 0;
    for (std::uint32_t i = static_cast<std::uint32_t>(count); i-- > 0;) {
      const Stmt& stmt = body_.stmts[i];
      std::uint64_t inside = 0;
      bool breaks_off = std::holds_alternative<Break>(stmt);
      for (StmtId id{i + 1}; id < next(body_, StmtId{i}); id = next(body_, id)) {
        inside += cost[id.index];
        breaks_off = breaks_off || breaks[id.index];
      }
      breaks[i] = breaks_off && !std::holds_alternative<For>(stmt);
      cost[i] = own_cost(stmt) + inside;
      for (ExprId root : roots(stmt)) cost[i] += written.sizes[root.index];
      const std::uint32_t times = rounds_of(body_, stmt);
      if (times == 0 || breaks_off) continue;
      if (times > 1 && (times > kMaxRounds || total + times * inside > most)) continue;
      rounds_[i] = times;
      cost[i] = times * inside;
      if (times > 1) total += cost[i];
      any_ = true;
    }
  }

  struct Frame {
    StmtId owner;
    StmtId end;
    enum class Part : std::uint8_t { Then, Last, Round } part;
    std::uint32_t round = 0;
  };

  void begin_round(const Frame& frame) {
    const For& loop = std::get<For>(body_[frame.owner]);
    Formulas f{draft_};
    const ExprId number = f.number(body_[loop.from].imm + frame.round);
    locals_[loop.variable.index] =
        is_partly_ ? f.sum(f.times(f.make.local(loop.variable), kPartly), number) : number;
  }

  // Opens the statement if it has blocks, and says where to go on.
  StmtId enter(StmtId id) {
    const StmtId inside{id.index + 1};
    if (draft_.is_dead()) return next(body_, id);
    if (rounds_[id.index] > 0) {
      stack_.push_back({id, next(body_, id), Frame::Part::Round});
      if (is_partly_) {
        For loop = std::get<For>(body_[id]);
        loop.from = draft_.make().number(0);
        loop.to = draft_.make().number(rounds_of(body_, body_[id]) / kPartly);
        draft_.open(loop);
      }
      begin_round(stack_.back());
      ++copies_;
      return inside;
    }
    const Stmt stmt = copy(id);
    if (const If* branch = std::get_if<If>(&body_[id])) {
      stack_.push_back({id, branch->else_begin, Frame::Part::Then});
    } else if (std::holds_alternative<For>(stmt) || std::holds_alternative<Block>(stmt)) {
      stack_.push_back({id, next(body_, id), Frame::Part::Last});
    } else {
      draft_.add(stmt);
      return inside;
    }
    draft_.open(stmt);
    return inside;
  }

  // The same at the end of a block.
  StmtId leave() {
    Frame& frame = stack_.back();
    switch (frame.part) {
      case Frame::Part::Then: {
        const If& branch = std::get<If>(body_[frame.owner]);
        draft_.else_begins();
        frame = {frame.owner, branch.end, Frame::Part::Last};
        return branch.else_begin;
      }
      case Frame::Part::Round:
        if (++frame.round < rounds_[frame.owner.index]) {
          begin_round(frame);
          return StmtId{frame.owner.index + 1};
        }
        --copies_;
        if (is_partly_) draft_.close();
        break;
      case Frame::Part::Last: draft_.close(); break;
    }
    const StmtId end = frame.end;
    stack_.pop_back();
    return end;
  }

  // A sum, or a multiple of one, with the number that tells rounds apart outside: what is inside is
  // the same in all of them.
  ExprId apart(Operation op, ExprId a, ExprId b) {
    Simplifier& make = draft_.make();
    const bool is_sum = op == Operation::Add;
    if (!is_sum && op != Operation::Mul && op != Operation::Shl) return {};
    if (make.type(a) != DataType::U32) return {};
    const auto is_literal = [&](ExprId id) { return draft_.body()[id].op == Operation::Literal; };
    for (const auto& [of, other] : {std::pair(a, b), std::pair(b, a)}) {
      const Expr inner = draft_.body()[of];
      if (inner.op != Operation::Add || !is_literal(inner.args[1])) continue;
      if (is_sum) {
        const ExprId rest = make.make(op, {inner.args[0], other});
        return make.make(op, {rest, inner.args[1]});
      }
      if (of != a || !is_literal(b)) continue;
      return make.make(Operation::Add,
                       {make.make(op, {inner.args[0], b}), make.make(op, {inner.args[1], b})});
    }
    return {};
  }

  Stmt copy(StmtId id) {
    if (copies_ == 0 && !is_partly_) return body_[id];  // nothing in it is different
    Stmt stmt = with_roots(body_[id], [&](ExprId root) {
      return copy_expr(draft_, root, memo_,
                       [&](ExprId at, const Expr& expr, std::span<const ExprId> args) {
                         if (varies_[at.index]) touched_.push_back(at);
                         if (is_partly_ && args.size() == 2) {
                           return apart(expr.op, args[0], args[1]);
                         }
                         return expr.op == Operation::Local ? locals_[expr.imm] : ExprId{};
                       });
    });
    for (ExprId at : touched_) memo_[at.index] = {};
    touched_.clear();
    if (LocalId* local = local_of(stmt); local != nullptr && local->exists()) {
      ExprId& own = locals_[local->index];
      if (declared(stmt).exists() && copies_ > 0) {
        own = draft_.make().local(draft_.declare(body_[*local].name, draft_.type(*local)));
      }
      if (own.exists()) *local = LocalId{draft_.body()[own].imm};
    }
    return stmt;
  }

  Draft& draft_;
  const Body& body_;
  std::vector<std::uint32_t> rounds_;  // per statement
  std::vector<ExprId> memo_;
  std::vector<bool> varies_;    // per expression: mentions a local
  std::vector<ExprId> locals_;  // per local: what it is here; none: itself
  std::vector<ExprId> touched_;
  std::vector<Frame> stack_;
  std::uint32_t copies_ = 0;  // open rounds
  bool is_partly_ = false;    // what is written out stays a loop
  bool any_ = false;
};

std::optional<Program> unrolled(const Program& program, Unroller::Loops loops) {
  const auto is_candidate = [&](const Stmt& stmt) { return rounds_of(program.body, stmt) > 0; };
  if (std::ranges::none_of(program.body.stmts, is_candidate)) return std::nullopt;
  Draft draft(program, kFold);
  Unroller unroller(draft, loops);
  if (!unroller.finds_any()) return std::nullopt;
  unroller.run();
  return std::move(draft).finish();
}

}  // namespace

std::optional<Program> unroll(const Program& program) {
  return unrolled(program, Unroller::Loops::Whole);
}

std::optional<Program> unroll_partly(const Program& program) {
  return unrolled(program, Unroller::Loops::Partly);
}

}  // namespace vyre
