// Atomics on few elements are gathered: each workgroup updates memory of its own, and the buffer
// once at its end. It does not matter when updates come that commute and whose old value nobody
// wants, to a buffer that nothing else accesses. So that gathering pays, a workgroup does the work
// of several, one after another.
#include <algorithm>
#include <map>

#include "vyre/passes/bounds.h"
#include "vyre/passes/formulas.h"
#include "vyre/passes/launch.h"
#include "vyre/passes/regroup.h"

namespace vyre {
namespace {

constexpr std::uint32_t kMaxElements = 4096;  // that are gathered, of all buffers
constexpr std::uint32_t kBytes = 4;           // of an element
constexpr std::uint32_t kSteps = 16;          // workgroups, one after another

struct Gathered {
  BufferId buffer;
  AtomicOp op = AtomicOp::Add;
  std::uint32_t count = 0;  // elements, from the first one
  BufferId own;             // the workgroup memory
};

std::vector<Gathered> find(const Program& program, std::uint32_t most_elements) {
  if (!has_free_workgroups(program)) return {};
  std::map<BufferId, Gathered> found;
  for (const auto& [buffer, op] : only_updated(program)) found[buffer] = {buffer, op, 0, {}};
  if (found.empty()) return {};
  for (const CheckedAccess& access : bounds_of(program).accesses) {
    const auto gathered = found.find(access.buffer);
    if (gathered == found.end()) continue;
    const std::uint64_t most = access.condition.exists() ? access.inner_most : access.most;
    if (most >= most_elements) {
      found.erase(gathered);
      continue;
    }
    std::uint32_t& count = gathered->second.count;
    count = std::max(count, static_cast<std::uint32_t>(most) + 1);
  }
  std::vector<Gathered> all;
  std::uint32_t count = 0;
  for (const auto& [buffer, gathered] : found) {
    if (gathered.count == 0 || count + gathered.count > most_elements) continue;
    count += gathered.count;
    all.push_back(gathered);
  }
  return all;
}

// Whether an invocation can end in a loop, which leaves more than that loop.
bool returns_from_loop(const Body& body) {
  StmtId end{0u};  // of the loops that are open
  for (StmtId id{0u}; id.index < body.stmts.size(); ++id.index) {
    if (const For* loop = std::get_if<For>(&body[id])) end = std::max(end, loop->end);
    if (std::holds_alternative<Return>(body[id]) && id < end) return true;
  }
  return false;
}

class Gather {
 public:
  Gather(Draft& draft, const Shaped& shaped, const std::vector<Gathered>& all)
      : f_{draft}, shaped_(shaped), all_(all), memo_(draft.from().body.exprs.size()) {}

  void run(std::uint32_t limit) {
    Draft& draft = f_.draft;
    thread_ = f_.bind("thread", f_.thread());
    for (const Gathered& gathered : all_) begin(gathered);
    if (!std::ranges::all_of(all_, [&](const Gathered& each) { return nothing(each) == 0; })) {
      draft.add(Barrier{});
    }
    // The invocation id that a step begins with may be beyond the end, and wrap around.
    const std::uint32_t each = shaped_.program.workgroup_size[0] * shaped_.launch.copies;
    const ExprId last = f_.bind("last", f_.load(shaped_.launch.uniform, f_.number(limit)));
    const ExprId group = f_.id(Operation::WorkgroupId);
    const ExprId first = f_.bind("first", f_.times(group, kSteps * each));
    const ExprId rest = f_.bind("rest", f_.make.make(Operation::Sub, {last, first}));
    const ExprId step = f_.open_loop("step", kSteps);
    group_ = f_.sum(f_.times(group, kSteps), step);
    const ExprId distance =
        f_.bind("distance", f_.sum(f_.times(step, each), f_.id(Operation::LocalId)));
    invocation_ = f_.bind("begins", f_.sum(first, distance));  // coarse programs have their own
    const auto is_below = [&](ExprId a, ExprId b) { return f_.make.make(Operation::Le, {a, b}); };
    draft.open(If{f_.both(is_below(distance, rest), is_below(invocation_, last)), {}, {}});
    // What ends an invocation only ends its step.
    const bool returns = has_returns();
    if (returns) f_.open_loop("once", 1);
    rewrite(draft, *this);
    if (returns) draft.close();
    draft.close();
    draft.close();
    draft.add(Barrier{});
    for (const Gathered& gathered : all_) end(gathered);
  }

  Keep statement(StmtId at, const Stmt& source) {
    if (is_end(shaped_, at)) return Keep::Nothing;  // a step that begins is in the dispatch
    if (std::holds_alternative<Return>(source)) {
      f_.draft.add(Break{});
      return Keep::All;
    }
    Stmt stmt = with_roots(source, [&](ExprId root) {
      return copy_expr(f_.draft, root, memo_,
                       [&](ExprId, const Expr& expr, std::span<const ExprId>) -> ExprId {
                         if (expr.detail != 0) return {};
                         if (expr.op == Operation::WorkgroupId) return group_;
                         return expr.op == Operation::InvocationId ? invocation_ : ExprId{};
                       });
    });
    if (Atomic* atomic = std::get_if<Atomic>(&stmt)) {
      const auto found = std::ranges::find(all_, atomic->buffer, &Gathered::buffer);
      if (found != all_.end()) atomic->buffer = found->own;
    }
    f_.draft.put(stmt);
    return Keep::All;
  }

 private:
  bool has_returns() const {
    const std::vector<Stmt>& stmts = shaped_.program.body.stmts;
    for (std::uint32_t i = 0; i < stmts.size(); ++i) {
      const bool is_last = i > 0 && is_end(shaped_, StmtId{i - 1});
      if (std::holds_alternative<Return>(stmts[i]) && !is_last) return true;
    }
    return false;
  }
  DataType element(const Gathered& gathered) const {
    return shaped_.program.buffers[gathered.buffer.index].element;
  }
  std::uint32_t nothing(const Gathered& gathered) const {
    return neutral(gathered.op, element(gathered));
  }
  ExprId nothing_of(const Gathered& gathered) {
    return f_.make.constant(element(gathered), {{nothing(gathered)}});
  }

  // As what leaves everything as it is. Workgroup memory begins as zeros.
  void begin(const Gathered& gathered) {
    if (nothing(gathered) == 0) return;
    for (std::uint32_t done = 0; done < gathered.count; done += f_.threads()) {
      f_.draft.add(Store{gathered.own, f_.sum(thread_, done), nothing_of(gathered)});
    }
  }

  // What was gathered, where it belongs.
  void end(const Gathered& gathered) {
    const ExprId length = f_.make.make(Operation::Length, 0, gathered.buffer.index, {});
    const ExprId end =
        f_.bind("end", f_.make.make(Operation::Min, {length, f_.number(gathered.count)}));
    for (std::uint32_t done = 0; done < gathered.count; done += f_.threads()) {
      const ExprId at = f_.bind("at", f_.sum(thread_, done));
      const ExprId inside = f_.bind("inside", f_.less(at, end));
      const ExprId all = f_.bind("all", f_.load(gathered.own, f_.when(inside, at)));
      const ExprId differs = f_.make.make(Operation::Ne, {all, nothing_of(gathered)});
      const ExprId changes = f_.bind("changes", f_.both(inside, differs));
      f_.draft.add(Atomic{gathered.op, {}, gathered.buffer, f_.when(changes, at), {}, all});
    }
  }

  Formulas f_;
  const Shaped& shaped_;
  const std::vector<Gathered>& all_;
  std::vector<ExprId> memo_;
  ExprId thread_;
  ExprId group_;
  ExprId invocation_;
};

}  // namespace

std::optional<Shaped> gather(const Shaped& from, const GpuLimits& limits) {
  if (from.launch.steps > 1 || !limits.atomics) return std::nullopt;
  std::vector<Gathered> all = find(from.program, std::min(kMaxElements, limits.memory / kBytes));
  if (all.empty() || returns_from_loop(from.program.body)) return std::nullopt;
  Shaped gathered = from;
  for (Gathered& each : all) {
    const BufferDecl& buffer = from.program.buffers[each.buffer.index];
    each.own = add_buffer(gathered.program, {buffer.name + "_gathered", 0, BufferAccess::Workgroup,
                                             buffer.element, each.count});
  }
  const bool has_last =
      !from.launch.limits.empty() && from.launch.limits[0] == LaunchShape::Limit{};
  const std::uint32_t limit = has_last ? 0 : add_limit(gathered, {});
  gathered.launch.steps = kSteps;
  gathered.launch.groups[0] *= kSteps;
  Draft draft(gathered.program, kFold | kAlgebra);
  Gather(draft, gathered, all).run(limit);
  gathered.program = std::move(draft).finish();
  return gathered;
}

}  // namespace vyre
