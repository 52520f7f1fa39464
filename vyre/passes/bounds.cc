#include "vyre/passes/bounds.h"

#include <algorithm>

#include "vyre/passes/draft.h"
#include "vyre/text/print.h"

namespace vyre {
namespace {

void add(std::vector<Assumption>& list, const Assumption& assumption) {
  if (std::ranges::find(list, assumption) == list.end()) list.push_back(assumption);
}

bool is_sized_by_host(const BufferDecl& buffer) { return is_bound(buffer.access); }

}  // namespace

std::vector<bool> depends_on_data(const Program& program) {
  const Body& body = program.body;
  std::vector<bool> data;
  std::vector<bool> locals(body.locals.size());
  // What a loop hands on takes another round.
  constexpr int kRounds = 8;
  bool changed = true;
  for (int round = 0; round < kRounds && std::exchange(changed, false); ++round) {
    data = spread(body, [&](const Expr& expr) {
      return (expr.op == Operation::Load &&
              program.buffers[expr.imm].access != BufferAccess::Uniform) ||
             (expr.op == Operation::Local && locals[expr.imm]);
    });
    for (Stmt stmt : body.stmts) {
      const LocalId* local = local_of(stmt);
      if (local == nullptr || !local->exists() || locals[local->index]) continue;
      const bool depends =
          std::holds_alternative<Atomic>(stmt) ||
          std::ranges::any_of(roots(stmt), [&](ExprId id) { return data[id.index]; });
      if (depends) locals[local->index] = changed = true;
    }
  }
  return data;
}

bool holds(const Assumption& assumption, const DispatchFacts& facts) {
  const std::uint32_t buffer = assumption.buffer.index;
  switch (assumption.kind) {
    case Assumption::Kind::Groups: return facts.grid[assumption.axis] <= assumption.value;
    case Assumption::Kind::Length: return facts.lengths[buffer] == assumption.value;
    case Assumption::Kind::AtLeast: return facts.lengths[buffer] >= assumption.value;
    case Assumption::Kind::Order:
      return facts.lengths[buffer] <= facts.lengths[assumption.other.index];
    case Assumption::Kind::Word:
      return assumption.index < facts.uniforms[buffer].size() &&
             facts.uniforms[buffer][assumption.index] == assumption.value;
  }
  return false;
}

std::string text(const Assumption& assumption, const Program& program) {
  const auto name = [&](BufferId id) { return program.buffers[id.index].name; };
  const std::string value = std::to_string(assumption.value);
  const auto length = [&](BufferId id) { return "len(" + name(id) + ")"; };
  switch (assumption.kind) {
    case Assumption::Kind::Groups:
      return std::string("workgroup_id.") + "xyz"[assumption.axis] + " < " + value;
    case Assumption::Kind::Length: return length(assumption.buffer) + " == " + value;
    case Assumption::Kind::AtLeast: return length(assumption.buffer) + " >= " + value;
    case Assumption::Kind::Order:
      return length(assumption.buffer) + " <= " + length(assumption.other);
    case Assumption::Kind::Word:
      return name(assumption.buffer) + "[" + std::to_string(assumption.index) + "] == " +
             print_literal({loaded_type(program.buffers[assumption.buffer.index].element),
                            {{static_cast<std::uint32_t>(assumption.value)}}});
  }
  return {};
}

std::size_t Bounds::checked() const {
  return static_cast<std::size_t>(std::ranges::count_if(accesses, &CheckedAccess::is_compared));
}

const CheckedAccess* Bounds::find(StmtId stmt, ExprId load) const {
  const auto key = [](const CheckedAccess& access) { return std::pair(access.stmt, access.load); };
  const auto found = std::ranges::lower_bound(accesses, std::pair(stmt, load), {}, key);
  return found != accesses.end() && key(*found) == std::pair(stmt, load) ? &*found : nullptr;
}

std::vector<Assumption> assumptions_of(const Program& program, const DispatchFacts& facts) {
  std::vector<Assumption> list;
  std::array<bool, 3> axes{};
  const Body& body = program.body;
  using Kind = Assumption::Kind;
  for (const Expr& expr : body.exprs) {
    const BufferId buffer{expr.imm};
    if (expr.op == Operation::InvocationId || expr.op == Operation::WorkgroupId) {
      if (std::exchange(axes[expr.detail], true)) continue;
      list.push_back({Kind::Groups, expr.detail, {}, {}, 0, facts.grid[expr.detail]});
    } else if (expr.op == Operation::Length && is_sized_by_host(program.buffers[expr.imm])) {
      list.push_back({Kind::Length, 0, buffer, {}, 0, facts.lengths[expr.imm]});
    }
  }
  // The words that the analysis really looks at.
  Ranges ranges(program, &facts);
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    ranges.go_to(StmtId{i});
    for (ExprId root : roots(body.stmts[i])) ranges.base(ranges.value(root));
  }
  for (const auto& [buffer, index] : ranges.words()) {
    list.push_back({Kind::Word, 0, buffer, {}, index, facts.uniforms[buffer.index][index]});
  }
  return list;
}

namespace {

class Judge {
 public:
  Judge(const Program& program, const DispatchFacts* facts)
      : program_(program), facts_(facts), always_(program) {
    if (facts != nullptr) here_.emplace(program, facts);
  }

  Bounds run(const EachStatement& each) {
    const Body& body = program_.body;
    const std::vector<bool> has_load =
        spread(body, [](const Expr& expr) { return expr.op == Operation::Load; });
    Mentions mentions(body);
    std::vector<ExprId> loads;
    for (StmtId id{0u}; id.index < body.stmts.size(); ++id.index) {
      always_.go_to(id);
      if (here_) here_->go_to(id);
      loads.clear();
      mentions.visit(id, [&](ExprId at) {
        if (body[at].op == Operation::Load) loads.push_back(at);
        return has_load[at.index];
      });
      std::ranges::sort(loads);
      for (ExprId load : loads) judge({id, load, BufferId{body[load].imm}, body[load].args[0]});
      visit(
          body[id], [&](const Store& store) { judge({id, {}, store.buffer, store.index}); },
          [&](const Atomic& atomic) { judge({id, {}, atomic.buffer, atomic.index}); },
          Nothing<Let, Assign, If, For, Block, Break, Return, Barrier, Collective, SetElement,
                  Continue>{});
      if (each) each(id, always_, bounds_);
    }
    if (exact_) assume_facts();
    return std::move(bounds_);
  }

 private:
  using Verdict = CheckedAccess::Verdict;
  using Kind = Assumption::Kind;

  void judge(CheckedAccess access) {
    const Body& body = program_.body;
    const Expr& index = body[access.index];
    const auto is_nowhere = [&](ExprId id) {
      return body[id].op == Operation::Literal && body[id].imm == 0xffffffff;
    };
    if (index.op == Operation::Select && is_nowhere(index.args[2])) {
      access.condition = index.args[0];
      access.inner = index.args[1];
      const std::uint64_t most = always_.range(always_.value(access.index)).hi;
      const Ranges::Assumed assumed(always_, always_.value(access.condition));
      std::optional<Ranges::Assumed> too;
      if (here_) too.emplace(*here_, here_->value(access.condition));
      access.inner_verdict = verdict_on(access, access.inner);
      access.inner_most = std::exchange(access.most, most);
    } else {
      access.verdict = verdict_on(access, access.index);
    }
    bounds_.accesses.push_back(std::move(access));
  }

  Verdict verdict_on(CheckedAccess& access, ExprId at) {
    const ExprId index = always_.value(at);
    const ExprId length = always_.length(access.buffer);
    access.most = always_.range(index).hi;
    if (const auto reason = always_.less(index, 0, length)) {
      access.guard = reason->guard;
      return Verdict::Proved;
    }
    if (facts_ == nullptr) return Verdict::Checked;
    if (const auto ordered = always_.less(index, 0, length, facts_)) {
      access.guard = ordered->guard;
      access.orders = ordered->orders;
      for (const auto& [shorter, longer] : ordered->orders) {
        add(bounds_.assumptions, {Kind::Order, 0, shorter, longer, 0, 0});
      }
      return Verdict::Specialised;
    }
    const auto special = here_->less(here_->value(at), 0, here_->length(access.buffer));
    if (!special) return Verdict::Checked;
    access.guard = special->guard;
    exact_ = true;
    if (is_sized_by_host(program_.buffers[access.buffer.index])) {
      const std::uint32_t least = facts_->lengths[access.buffer.index];
      add(bounds_.assumptions, {Kind::AtLeast, 0, access.buffer, {}, 0, least});
    }
    return Verdict::Specialised;
  }

  void assume_facts() {
    for (const Assumption& assumption : assumptions_of(program_, *facts_)) {
      if (assumption.kind == Kind::Length) {
        std::erase_if(bounds_.assumptions, [&](const Assumption& other) {
          return other.kind == Kind::AtLeast && other.buffer == assumption.buffer;
        });
      }
      add(bounds_.assumptions, assumption);
    }
  }

  const Program& program_;
  const DispatchFacts* facts_;
  Ranges always_;
  std::optional<Ranges> here_;  // with the facts
  bool exact_ = false;          // something takes more from the facts than the order of lengths
  Bounds bounds_;
};

}  // namespace

Bounds bounds_of(const Program& program, const DispatchFacts* facts, const EachStatement& each) {
  return Judge(program, facts).run(each);
}

bool ends_early(const Program& program, const CheckedAccess& access) {
  constexpr std::uint64_t kMaxTable = 1 << 20;
  const std::uint32_t fixed = program.buffers[access.buffer.index].count;
  return access.verdict == CheckedAccess::Verdict::Checked && access.most < kMaxTable &&
         (fixed == 0 || access.most < fixed);
}

}  // namespace vyre
