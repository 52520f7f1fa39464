// Remembers, within an invocation, what elements of memory hold: a load of an element that was
// loaded or stored before becomes the value it had. What is remembered ends with a store that may
// hit the same element, with an atomic, and with a barrier. A stored value stands for its element
// only where the index is known to be in bounds: a store out of bounds does nothing.
//
// A first walk finds the loads whose values are wanted again; the second one binds these to locals
// in front of their statements.
#include <algorithm>
#include <map>

#include "vyre/passes/bounds.h"
#include "vyre/passes/draft.h"
#include "vyre/passes/passes.h"

namespace vyre {
namespace {

// How many elements are remembered at a time; older ones are forgotten.
constexpr std::size_t kMaxElements = 64;

// Loads by statement, in the order of their ids.
using Wanted = std::map<std::uint32_t, std::vector<ExprId>>;

class Forwarding {
 public:
  // Without bounds, as if every store were in bounds. A search makes no expressions: those of the
  // program stand for themselves.
  Forwarding(Draft& draft, const Bounds* bounds, const Wanted& wanted, bool searches)
      : draft_(draft),
        body_(draft.from().body),
        view_(searches ? body_ : draft.body()),
        searches_(searches),
        bounds_(bounds),
        wanted_(wanted),
        memo_(body_.exprs.size()),
        varies_(spread(body_, [&](const Expr& expr) { return is_volatile(draft.from(), expr); })),
        assigned_(assigned_locals(body_)),
        changes_(body_.locals.size()),
        forgotten_(draft.from().buffers.size()) {}

  // What the walk has found.
  Wanted found;
  bool changed = false;
  bool stored = false;  // also by what was stored

  Keep statement(StmtId id, const Stmt& source) {
    at_ = id;
    if (const auto bound = wanted_.find(id.index); bound != wanted_.end()) bind(bound->second);
    Stmt stmt = source;
    for_each_root(stmt, [&](ExprId& root) {
      if (root.exists()) root = copy(root);
    });
    for (ExprId at : touched_) memo_[at.index] = {};
    touched_.clear();

    if (std::holds_alternative<If>(stmt) || std::holds_alternative<For>(stmt) ||
        std::holds_alternative<Block>(stmt)) {
      // The round before has done what the body of a loop does.
      if (std::holds_alternative<For>(stmt)) forget_effects(id);
      draft_.open(stmt);
      marks_.push_back(elements_.size());
      return Keep::All;
    }
    draft_.add(stmt);
    if (const Let* let = std::get_if<Let>(&stmt)) {
      // The local is the name of what it loads.
      const bool loads = is_volatile(draft_.from(), body_[std::get<Let>(source).value]);
      if (loads && !assigned_[let->local.index]) name(std::get<Let>(source).value, let->local);
    } else if (const Assign* assign = std::get_if<Assign>(&stmt)) {
      changes_[assign->local.index] = ++now_;
    } else if (const Store* store = std::get_if<Store>(&stmt)) {
      forget_elements(store->buffer, store->index);
      const bool known = !facts(store->value).loads && !facts(store->index).loads;
      if (known && (bounds_ == nullptr || bounds_->is_proved(id))) {
        elements_.push_back({store->buffer, store->index, store->value, {}, {}, now_, ++serial_});
      }
    } else if (std::holds_alternative<Atomic>(stmt) || std::holds_alternative<Barrier>(stmt)) {
      forgotten_all_ = ++serial_;
    }
    return Keep::All;
  }

  // What a block has remembered holds only there; what it has forgotten stays forgotten.
  void else_begins(StmtId) { elements_.resize(marks_.back()); }
  void closes(StmtId id) {
    elements_.resize(marks_.back());
    marks_.pop_back();
    if (std::holds_alternative<For>(body_[id])) forget_effects(id);
  }

 private:
  struct Element {
    BufferId buffer;
    ExprId index;  // of the draft
    ExprId value;  // what it holds; none: what `load` gives in statement `stmt`
    ExprId load;   // of the program
    StmtId stmt;
    std::uint64_t since = 0;   // when index and value had their meaning
    std::uint64_t serial = 0;  // grows from element to element
    bool dead = false;
  };
  struct Facts {
    bool loads = false;    // from memory that others write
    bool changes = false;  // mentions a local that is given other values
  };

  const Facts& facts(ExprId id) {
    for (std::size_t i = facts_.size(); i < view_.exprs.size(); ++i) {
      const Expr& expr = view_.exprs[i];
      Facts f{is_volatile(draft_.from(), expr),
              expr.op == Operation::Local && expr.imm < assigned_.size() && assigned_[expr.imm]};
      for (ExprId arg : operands(view_, expr)) {
        f.loads = f.loads || facts_[arg.index].loads;
        f.changes = f.changes || facts_[arg.index].changes;
      }
      facts_.push_back(f);
    }
    return facts_[id.index];
  }

  ExprId copy(ExprId root) {
    if (searches_) return search(root);
    return copy_expr(draft_, root, memo_,
                     [&](ExprId at, const Expr& expr, std::span<const ExprId> args) {
                       if (varies_[at.index]) touched_.push_back(at);
                       if (!is_volatile(draft_.from(), expr)) return ExprId{};
                       return loaded(at, BufferId{expr.imm}, args[0]);
                     });
  }

  // Looks at the loads below an expression, operands first.
  ExprId search(ExprId root) {
    const auto is_known = [&](ExprId id) { return !varies_[id.index] || memo_[id.index].exists(); };
    operands_first(body_, root, draft_.visits, is_known,
                   [&](ExprId id, std::span<const ExprId> args) {
                     memo_[id.index] = id;
                     touched_.push_back(id);
                     if (!is_volatile(draft_.from(), body_[id])) return;
                     loaded(id, BufferId{body_[id].imm}, args[0]);
                   });
    return root;
  }

  // What a load gives, if that is known.
  ExprId loaded(ExprId load, BufferId buffer, ExprId index) {
    if (facts(index).loads) return {};
    for (std::size_t i = elements_.size(), end = i - std::min(i, kMaxElements); i-- > end;) {
      Element& element = elements_[i];
      if (element.buffer != buffer || element.index != index || !holds(element)) continue;
      stored = stored || !element.load.exists();
      if (!element.value.exists()) {
        if (element.stmt == at_) return {};
        std::vector<ExprId>& loads = found[element.stmt.index];
        if (std::ranges::find(loads, element.load) == loads.end()) loads.push_back(element.load);
        return {};
      }
      changed = true;
      return element.value;
    }
    elements_.push_back({buffer, index, {}, load, at_, now_, ++serial_});
    return {};
  }

  void bind(const std::vector<ExprId>& loads) {
    for (ExprId load : loads) {
      const ExprId value = copy(load);
      if (draft_.body()[value].op != Operation::Load) continue;
      const LocalId local = draft_.declare("loaded", draft_.make().type(value));
      draft_.add(Let{local, value});
      memo_[load.index] = draft_.make().local(local);
      name(load, local);
    }
  }
  void name(ExprId load, LocalId local) {
    // Those of this statement are the last ones.
    for (std::size_t i = elements_.size(); i-- > 0 && elements_[i].stmt == at_;) {
      Element& element = elements_[i];
      if (element.load != load || element.value.exists()) continue;
      element.value = searches_ ? load : draft_.make().local(local);
    }
  }

  bool holds(const Element& element) {
    if (element.dead || element.serial <= forgotten_all_ ||
        element.serial <= forgotten_[element.buffer.index]) {
      return false;
    }
    return unchanged(element.index, element.since) &&
           (!element.value.exists() || unchanged(element.value, element.since));
  }
  bool unchanged(ExprId root, std::uint64_t since) {
    if (!facts(root).changes) return true;
    std::vector<ExprId> stack{root};
    while (!stack.empty()) {
      const Expr& expr = view_[stack.back()];
      stack.pop_back();
      if (expr.op == Operation::Local && changes_[expr.imm] > since) return false;
      for (ExprId arg : operands(view_, expr)) {
        if (facts(arg).changes) stack.push_back(arg);
      }
    }
    return true;
  }

  // An index as something plus a constant.
  std::pair<ExprId, std::uint32_t> parts(ExprId index) {
    const Expr& expr = view_[index];
    if (expr.op == Operation::Literal) return {ExprId{}, expr.imm};
    if (expr.op == Operation::Add || expr.op == Operation::Sub) {
      const Expr& constant = view_[expr.args[1]];
      if (constant.op == Operation::Literal) {
        return {expr.args[0], expr.op == Operation::Add ? constant.imm : 0 - constant.imm};
      }
    }
    return {index, 0};
  }

  void forget_elements(BufferId buffer, ExprId index) {
    const auto [base, offset] = parts(index);
    const std::size_t end = elements_.size() - std::min(elements_.size(), kMaxElements);
    for (std::size_t i = elements_.size(); i-- > end;) {
      Element& element = elements_[i];
      if (element.buffer != buffer) continue;
      const auto [other, other_offset] = parts(element.index);
      // Two places at a constant distance, as long as what they start from is the same.
      const bool apart = base == other && offset != other_offset &&
                         unchanged(element.index, element.since) && !facts(index).loads;
      if (!apart) element.dead = true;
    }
    if (end > 0) forgotten_[buffer.index] = elements_[end - 1].serial;
  }

  void forget_effects(StmtId loop) {
    ++now_;
    for (std::uint32_t i = loop.index + 1; i < next(body_, loop).index; ++i) {
      const Stmt& stmt = body_.stmts[i];
      if (const Assign* assign = std::get_if<Assign>(&stmt)) {
        changes_[assign->local.index] = now_;
      } else if (const Store* store = std::get_if<Store>(&stmt)) {
        forgotten_[store->buffer.index] = ++serial_;
      } else if (std::holds_alternative<Atomic>(stmt) || std::holds_alternative<Barrier>(stmt)) {
        forgotten_all_ = ++serial_;
      }
    }
  }

  Draft& draft_;
  const Body& body_;
  const Body& view_;  // whose expressions are remembered: the draft's, or the program's in a search
  const bool searches_;
  const Bounds* bounds_;
  const Wanted& wanted_;
  std::vector<ExprId> memo_;
  std::vector<bool> varies_;              // per expression: loads from memory that others write
  std::vector<bool> assigned_;            // per local
  std::vector<std::uint64_t> changes_;    // per local: when it was last given a value
  std::vector<std::uint64_t> forgotten_;  // per buffer: elements up to this one
  std::uint64_t forgotten_all_ = 0;
  std::vector<Facts> facts_;  // per expression of the draft
  std::vector<ExprId> touched_;
  std::vector<Element> elements_;
  std::vector<std::size_t> marks_;
  StmtId at_;
  std::uint64_t now_ = 1;
  std::uint64_t serial_ = 0;
};

}  // namespace

std::optional<Program> forward(const Program& program) {
  bool loads = false;
  for (const Expr& expr : program.body.exprs) loads = loads || is_volatile(program, expr);
  if (!loads) return std::nullopt;
  const Wanted nothing;
  bool stored = false;
  const auto search = [&](const Bounds* bounds) {
    Draft trial(program, kNothing, Draft::Expressions::None);
    Forwarding walk(trial, bounds, nothing, true);
    rewrite(trial, walk);
    stored = walk.stored;
    return std::pair(walk.changed, std::move(walk.found));
  };
  // Most programs have nothing to find, whatever is in bounds. The bounds are only wanted for what
  // is stored.
  if (const auto [changed, found] = search(nullptr); !changed && found.empty()) return std::nullopt;
  const Bounds bounds = stored ? bounds_of(program) : Bounds();
  auto [changed, found] = search(&bounds);
  if (!changed && found.empty()) return std::nullopt;
  Draft draft(program, kFold);
  for (auto& [stmt, wanted] : found) std::ranges::sort(wanted);
  Forwarding pass(draft, &bounds, found, false);
  rewrite(draft, pass);
  return std::move(draft).finish();
}

}  // namespace vyre
