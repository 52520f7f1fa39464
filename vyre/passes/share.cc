// Value sharing and loop-invariant motion. Every `let` is taken apart, and what is wanted more than
// once is bound again, where it serves best; so the result does not depend on which names the
// program had given to what.
//
// Values are nodes of a graph in which a local is replaced by what it holds, simplified as a whole,
// so that equal values are equal nodes. A local that is given several values, and a load from
// memory that others write, are nodes of their own each time. A value is bound in front of the
// first statement that wants it, in the innermost block around all that want it; from there it
// moves in front of a loop as long as nothing in it changes inside. What is wanted once stands
// where it is wanted.
//
// A local that is assigned again, in the block that declares it, gets a name of its own from there
// on; what is left to assign are the values that loops and branches hand on.
#include <algorithm>

#include "vyre/passes/draft.h"
#include "vyre/passes/passes.h"

namespace vyre {
namespace {

constexpr std::uint32_t kNowhere = 0xffffffff;
// At every so many levels a value is bound even if it is wanted once, so that none becomes too
// deep.
constexpr std::uint32_t kLevels = 32;

class Sharing {
 public:
  explicit Sharing(const Program& program)
      : program_(program),
        body_(program.body),
        assigned_(assigned_locals(body_)),
        needed_(needed_statements(body_)),
        memo_(body_.exprs.size()),
        varies_(body_.exprs.size()),
        locals_(body_.locals.size()),
        latest_(body_.locals.size()),
        marked_(body_.locals.size()) {
    make_.local_types() = types_of(body_, program.buffers, {}, {}).locals;
    study();
    collect();
    decide();
  }

  Program write() {
    Draft draft(program_, kNothing);
    Writer writer(*this, draft);
    rewrite(draft, writer);
    return std::move(draft).finish();
  }

 private:
  struct Place {  // a block
    std::uint32_t parent = kNowhere;
    std::uint32_t depth = 0;
    StmtId owner;
    bool is_loop = false;
  };
  // A local of the graph, from the number of the program's locals on: one value of a local that has
  // several, or what a load from memory that others write gives in one statement.
  struct Leaf {
    LocalId local;  // of the program; none for a load
    BufferId buffer;
    ExprId index;             // of the graph
    std::uint32_t block = 0;  // where it begins
    StmtId end;               // the statement behind which the local holds something else
  };
  // What is known about a node, and where it is wanted: by a statement or by other values.
  struct Value {
    bool cheap = false;    // a leaf, or as good as one: never bound
    bool loads = false;    // from memory that others write: never bound either
    bool costly = false;   // loads or divides: not to be done where it is not wanted
    bool changes = false;  // has one value of several of a local in it
    bool again = false;    // wanted by more than one
    bool here = false;     // by one in that very block, or on both ways of a branch
    std::uint32_t depth = 1;
    std::uint32_t rank = 0;          // in which order values are wanted
    std::uint32_t begins = 0;        // the innermost block that declares something in it
    std::uint32_t block = kNowhere;  // the innermost around all that want it
    StmtId first;                    // where it is wanted first, and last
    StmtId last;
    LocalId named;               // a local that a `let` gives it to
    std::uint32_t named_in = 0;  // the block of that
    LocalId bound;
  };

  // --- Blocks

  void study() {
    for (std::uint32_t i = 0; i < body_.exprs.size(); ++i) {
      const Expr& expr = body_.exprs[i];
      varies_[i] =
          is_volatile(program_, expr) || (expr.op == Operation::Local && assigned_[expr.imm]);
      for (ExprId arg : operands(body_, expr)) varies_[i] = varies_[i] || varies_[arg.index];
    }
    places_.push_back({});
    blocks_.resize(body_.stmts.size());
    local_blocks_.resize(body_.locals.size());
    struct Frame : OpenBlock {
      std::uint32_t place = 0;
    };
    BlockStack<Frame> stack(body_);
    const auto enter_place = [&](Frame& frame, std::uint32_t parent, std::uint32_t owner) {
      frame.place = static_cast<std::uint32_t>(places_.size());
      places_.push_back({parent, places_[parent].depth + 1, StmtId{owner}, frame.is_loop});
    };
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      stack.enter(i, [&](const Frame& closed, Frame& now) {
        if (now.is_else && now.owner == closed.owner && !closed.is_else) {
          enter_place(now, places_[closed.place].parent, now.owner);
        }
      });
      blocks_[i] = stack.back().place;
      const LocalId local = declared(body_.stmts[i]);
      if (local.exists()) local_blocks_[local.index] = blocks_[i];
      if (Frame* opened = stack.open(i)) {
        // A scope is taken apart: names are kept apart anyway.
        opened->place = blocks_[i];
        if (std::holds_alternative<Block>(body_.stmts[i])) continue;
        enter_place(*opened, blocks_[i], i);
        if (local.exists()) local_blocks_[local.index] = opened->place;
      }
    }
  }
  // Of two blocks one of which is inside the other.
  std::uint32_t deeper(std::uint32_t a, std::uint32_t b) const {
    return places_[a].depth >= places_[b].depth ? a : b;
  }

  // --- Values

  ExprId new_leaf(const Leaf& leaf, DataType type) {
    leaves_.push_back(leaf);
    make_.local_types().push_back(type);
    return known(make_.local(LocalId{make_.local_types().size() - 1}));
  }
  // Keeps the table of values up to date.
  ExprId known(ExprId id) {
    while (values_.size() < graph_.exprs.size()) {
      values_.push_back(known_of(ExprId{values_.size()}));
    }
    return id;
  }
  // A local has a value of which nothing is known but that it is what the local holds.
  void change(LocalId local, std::uint32_t block, StmtId at) {
    if (latest_[local.index].exists()) {
      Leaf& before = leaves_[graph_[latest_[local.index]].imm - body_.locals.size()];
      if (!before.end.exists()) before.end = at;
    }
    locals_[local.index] = new_leaf({local, {}, {}, block, {}}, make_.local_types()[local.index]);
    latest_[local.index] = locals_[local.index];
  }
  // A local is given a value.
  void give(LocalId local, ExprId value, StmtId id) {
    if (assigned_[local.index]) change(local, blocks_[id.index], id);
    if (!values_[value.index].loads) locals_[local.index] = value;
  }
  // The locals that are assigned in a loop begin anew.
  void change_all(StmtId first, StmtId end, std::uint32_t block, StmtId at) {
    for (StmtId id = first; id < end; ++id.index) {
      const Assign* assign = std::get_if<Assign>(&body_[id]);
      if (assign != nullptr) change(assign->local, block, at);
    }
  }

  // The node of an expression in the current statement.
  ExprId value_of(ExprId root) {
    if (memo_[root.index].exists()) return memo_[root.index];
    std::vector<std::pair<ExprId, std::uint32_t>>& stack = visits_;  // with the next operand
    std::vector<ExprId>& args = args_;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      const ExprId id = stack.back().first;
      const Expr& expr = body_[id];
      const std::span<const ExprId> ids = operands(body_, expr);
      if (stack.back().second < ids.size()) {
        const ExprId operand = ids[stack.back().second++];
        if (!memo_[operand.index].exists()) stack.emplace_back(operand, 0);
        continue;
      }
      args.clear();
      for (ExprId operand : ids) args.push_back(memo_[operand.index]);
      ExprId made;
      if (expr.op == Operation::Literal) {
        made = make_.constant(type_of_detail(expr), literal_bits(body_, expr));
      } else if (expr.op == Operation::Local) {
        made = locals_[expr.imm].exists() ? locals_[expr.imm] : make_.local(LocalId{expr.imm});
      } else if (is_volatile(program_, expr)) {
        made = new_leaf({{}, BufferId{expr.imm}, args[0], 0, {}},
                        loaded_type(program_.buffers[expr.imm].element));
      } else {
        made = make_.make(expr.op, expr.detail, expr.imm, args);
      }
      const Value& value = values_[known(made).index];
      if (varies_[id.index] || value.changes || value.loads) touched_.push_back(id);
      memo_[id.index] = made;
      stack.pop_back();
    }
    return memo_[root.index];
  }

  const Leaf* leaf_of(const Expr& expr) const {
    if (expr.op != Operation::Local || expr.imm < body_.locals.size()) return nullptr;
    return &leaves_[expr.imm - body_.locals.size()];
  }

  Value known_of(ExprId id) const {
    const Expr& expr = graph_[id];
    const std::span<const ExprId> args = operands(graph_, expr);
    Value value;
    if (const Leaf* leaf = leaf_of(expr)) {
      value.loads = !leaf->local.exists();
      value.changes = !value.loads;
      value.begins = leaf->block;
    } else if (expr.op == Operation::Local) {
      value.begins = local_blocks_[expr.imm];
    }
    value.costly =
        expr.op == Operation::Load || expr.op == Operation::Div || expr.op == Operation::Mod;
    bool constant = expr.op == Operation::Vec2 || expr.op == Operation::Vec4;
    for (ExprId arg : args) {
      const Value& of = values_[arg.index];
      value.loads = value.loads || of.loads;
      value.costly = value.costly || of.costly;
      value.changes = value.changes || of.changes;
      value.begins = deeper(value.begins, of.begins);
      value.depth = std::max(value.depth, of.depth + 1);
      constant = constant && graph_[arg].op == Operation::Literal;
    }
    value.cheap = args.empty() || constant || expr.op == Operation::Lane ||
                  (expr.op == Operation::Cast && min_bytes(type_of_detail(expr)) == 4 &&
                   type_of_detail(expr) != DataType::Bool);
    return value;
  }

  // --- Who wants what

  void want(ExprId id, std::uint32_t block, StmtId first, StmtId last, bool again, bool here) {
    Value& value = values_[id.index];
    if (value.block == kNowhere) {
      value.block = block;
      value.first = first;
      value.last = last;
      value.again = again;
      value.here = here;
      return;
    }
    value.again = true;
    value.first = std::min(value.first, first);
    value.last = std::max(value.last, last);
    std::uint32_t a = value.block;
    std::uint32_t b = block;
    std::uint32_t below_a = a;
    std::uint32_t below_b = b;
    while (a != b) {
      if (places_[a].depth >= places_[b].depth) {
        below_a = a;
        a = places_[a].parent;
      } else {
        below_b = b;
        b = places_[b].parent;
      }
    }
    const bool both = a != value.block && a != block &&
                      places_[below_a].owner == places_[below_b].owner && value.here && here;
    value.here = (a == value.block && value.here) || (a == block && here) || both;
    value.block = a;
  }

  // An open `if`, with the locals that it assigns: their values before it, and at the end of the
  // first block.
  struct Branch {
    std::vector<LocalId> locals;
    std::vector<ExprId> before;
    std::vector<ExprId> latest;
    std::vector<ExprId> then;
    bool then_ended = false;
  };

  void open_branch(StmtId id, const If& branch) {
    Branch& open = branches_.emplace_back();
    ++marks_;
    for (StmtId at{id.index + 1}; at < branch.end; ++at.index) {
      const Assign* assign = std::get_if<Assign>(&body_[at]);
      if (assign == nullptr || !locals_[assign->local.index].exists()) continue;
      if (std::exchange(marked_[assign->local.index], marks_) == marks_) continue;
      open.locals.push_back(assign->local);
      open.before.push_back(locals_[assign->local.index]);
      open.latest.push_back(latest_[assign->local.index]);
    }
  }
  void end_first(bool ended) {
    Branch& branch = branches_.back();
    branch.then_ended = ended;
    for (std::size_t i = 0; i < branch.locals.size(); ++i) {
      const std::uint32_t local = branch.locals[i].index;
      branch.then.push_back(std::exchange(locals_[local], branch.before[i]));
      latest_[local] = branch.latest[i];
    }
  }
  void end_branch(StmtId id, bool ended) {
    const Branch branch = std::move(branches_.back());
    branches_.pop_back();
    const std::uint32_t block = blocks_[id.index];
    for (std::size_t i = 0; i < branch.locals.size(); ++i) {
      const LocalId local = branch.locals[i];
      ExprId value = locals_[local.index];
      if (ended && !branch.then_ended) value = branch.then[i];
      const bool same = value == branch.then[i] || ended || branch.then_ended;
      change(local, block, StmtId{next(body_, id).index - 1});
      // A value from inside may mention what is declared there, and may not be wanted behind.
      const Value& known = values_[value.index];
      if (same && !known.changes && places_[known.begins].depth <= places_[block].depth) {
        locals_[local.index] = value;
      }
    }
  }

  void collect() {
    struct Frame : OpenBlock {
      bool ended = false;  // a `return` or `break` is its last statement
    };
    BlockStack<Frame> stack(body_);
    const auto close = [&](const Frame& closed, Frame& now) {
      const StmtId owner{closed.owner};
      if (const For* loop = std::get_if<For>(&body_[owner])) {
        const StmtId last{loop->end.index - 1};
        change_all(StmtId{closed.owner + 1}, loop->end, blocks_[owner.index], last);
      } else if (std::holds_alternative<If>(body_[owner])) {
        const bool else_follows = now.is_else && now.owner == closed.owner && !closed.is_else;
        if (!closed.is_else) end_first(closed.ended);
        if (!else_follows) end_branch(owner, closed.is_else && closed.ended);
      } else {
        now.ended = closed.ended;
      }
    };
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      stack.enter(i, close);
      const StmtId id{i};
      first_root_.push_back(static_cast<std::uint32_t>(root_values_.size()));
      const Let* let = std::get_if<Let>(&body_[id]);
      if (!needed_[i] && let == nullptr) {
        if (const If* branch = std::get_if<If>(&body_[id])) open_branch(id, *branch);
        stack.open(i);
        continue;
      }
      // A `let` that nobody needs still gives a name to its value.
      wanting_ = needed_[i];
      for (ExprId root : roots(body_[id])) root_values_.push_back(value_of(root));
      for (ExprId expr : touched_) memo_[expr.index] = {};
      touched_.clear();
      bool apart = false;  // it is taken apart
      if (let != nullptr && !assigned_[let->local.index]) {
        Value& value = values_[root_values_.back().index];
        apart = !value.loads;
        if (apart) locals_[let->local.index] = root_values_.back();
        if (apart && !value.named.exists()) {
          value.named = let->local;
          value.named_in = blocks_[i];
        }
      }
      if (!apart && wanting_) {
        for (std::size_t k = first_root_.back(); k < root_values_.size(); ++k) {
          want(root_values_[k], blocks_[i], id, id, false, true);
          wanted_.push_back(root_values_[k]);
        }
      }
      const Stmt& stmt = body_[id];
      stack.back().ended =
          std::holds_alternative<Return>(stmt) || std::holds_alternative<Break>(stmt);
      if (let != nullptr && wanting_) {
        if (assigned_[let->local.index]) give(let->local, root_values_.back(), id);
      } else if (const Assign* assign = std::get_if<Assign>(&stmt)) {
        give(assign->local, root_values_.back(), id);
      } else if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) {
        if (atomic->result.exists() && assigned_[atomic->result.index]) {
          change(atomic->result, blocks_[i], id);
        }
      } else if (const If* branch = std::get_if<If>(&stmt)) {
        open_branch(id, *branch);
      } else if (const For* loop = std::get_if<For>(&stmt)) {
        const StmtId inside{i + 1};
        if (inside < loop->end) change_all(inside, loop->end, blocks_[inside.index], id);
      }
      stack.open(i);
    }
  }

  // Those who want a value come behind it.
  void decide() {
    for (auto id = static_cast<std::uint32_t>(values_.size()); id-- > 0;) {
      Value& value = values_[id];
      if (value.block == kNowhere) continue;
      const Expr& expr = graph_.exprs[id];
      bool bound = !value.cheap && !value.loads && binds(value);
      if (const Leaf* leaf = leaf_of(graph_.exprs[id]);
          leaf != nullptr && leaf->end.exists() && value.last > leaf->end) {
        // What a local held is kept before it is given something else.
        StmtId at = leaf->end;
        while (blocks_[at.index] != leaf->block) at = places_[blocks_[at.index]].owner;
        want(ExprId{id}, leaf->block, at, at, true, true);
        bound = true;
      }
      if (bound) {
        while (blocks_[value.first.index] != value.block) {
          value.first = places_[blocks_[value.first.index]].owner;
        }
        bindings_.push_back(ExprId{id});
        value.again = false;
        value.here = true;
        value.last = value.first;
      }
      const auto pass_on = [&](ExprId arg) {
        want(arg, value.block, value.first, value.last, value.again, value.here);
      };
      if (const Leaf* leaf = leaf_of(expr); leaf != nullptr && leaf->index.exists()) {
        pass_on(leaf->index);
      }
      for (ExprId arg : operands(graph_, expr)) pass_on(arg);
    }
    rank();
    std::ranges::sort(bindings_, {}, [&](ExprId id) {
      return std::pair(values_[id.index].first, values_[id.index].rank);
    });
  }

  // Numbers the values in the order in which the statements want them, operands first.
  void rank() {
    std::uint32_t count = 0;
    std::vector<std::pair<ExprId, bool>> stack;
    for (ExprId root : wanted_) {
      stack.push_back({root, false});
      while (!stack.empty()) {
        const auto [id, open] = stack.back();
        stack.pop_back();
        Value& value = values_[id.index];
        if (open) value.rank = ++count;
        if (open || value.rank != 0) continue;
        stack.push_back({id, true});
        const Expr& expr = graph_[id];
        const std::span<const ExprId> args = operands(graph_, expr);
        for (std::size_t i = args.size(); i-- > 0;) stack.push_back({args[i], false});
        const Leaf* leaf = leaf_of(expr);
        if (leaf != nullptr && leaf->index.exists()) stack.push_back({leaf->index, false});
      }
    }
  }

  // Moves a value in front of the loops in which it does not change, and says whether it is bound.
  bool binds(Value& value) const {
    bool bound = (value.again && (value.here || !value.costly)) || value.depth % kLevels == 0;
    for (std::uint32_t at = value.block; at != kNowhere; at = places_[at].parent) {
      const Place& place = places_[at];
      if (!place.is_loop) continue;
      if (places_[value.begins].depth >= place.depth) break;
      // Nothing costly is done in vain, unless it was before.
      const bool outside = value.named.exists() && places_[value.named_in].depth < place.depth;
      if (value.costly && !outside && (at != value.block || !value.here)) break;
      value.block = place.parent;
      value.first = place.owner;
      value.here = true;
      bound = true;
    }
    return bound;
  }

  // --- Writing

  struct Writer {
    Sharing& plan;
    Draft& draft;
    std::vector<ExprId> made;    // per value
    std::vector<LocalId> names;  // per local of the program: which one of the draft it is now
    std::size_t next_binding = 0;
    std::vector<std::pair<ExprId, bool>> stack;  // room for walks
    std::vector<ExprId> args;

    Writer(Sharing& from, Draft& to) : plan(from), draft(to), made(from.values_.size()) {
      for (std::uint32_t i = 0; i < plan.body_.locals.size(); ++i) names.emplace_back(i);
    }

    Keep statement(StmtId id, const Stmt& source) {
      if (!plan.needed_[id.index]) return Keep::Nothing;
      while (next_binding < plan.bindings_.size() &&
             plan.values_[plan.bindings_[next_binding].index].first <= id) {
        const ExprId node = plan.bindings_[next_binding++];
        Value& value = plan.values_[node.index];
        if (value.first != id) continue;  // in a block that can never run
        const ExprId whole = emit(node, true);
        const std::string name = value.named.exists() ? plan.body_[value.named].name : "shared";
        value.bound = draft.declare(name, draft.make().type(whole));
        draft.add(Let{value.bound, whole});
      }
      const Let* let = std::get_if<Let>(&source);
      if (let != nullptr && plan.locals_[let->local.index].exists() &&
          !plan.assigned_[let->local.index]) {
        return Keep::Nothing;
      }
      Stmt stmt = source;
      std::uint32_t root_value = plan.first_root_[id.index];
      for_each_root(stmt, [&](ExprId& root) {
        if (root.exists()) root = emit(plan.root_values_[root_value++], false);
      });
      if (Assign* assign = std::get_if<Assign>(&stmt)) {
        LocalId& name = names[assign->local.index];
        if (plan.local_blocks_[assign->local.index] == plan.blocks_[id.index]) {
          // In the block that declares it: from here on a local of its own.
          name = draft.declare(plan.body_[assign->local].name, draft.type(assign->local));
          stmt = Let{name, assign->value};
        } else {
          assign->local = name;
        }
      }
      if (const If* branch = std::get_if<If>(&stmt)) {
        const std::optional<Bits> condition = draft.make().bits(branch->condition);
        if (condition) return *condition == Bits{} ? Keep::Second : Keep::First;
      }
      if (std::holds_alternative<Block>(stmt)) return Keep::First;
      draft.put(stmt);
      return Keep::All;
    }
    void else_begins(StmtId) {}
    void closes(StmtId) {}

    // The expression of a value; the local where it is bound, unless the whole is wanted.
    ExprId emit(ExprId root, bool whole) {
      const Body& graph = plan.graph_;
      stack.emplace_back(root, false);
      while (!stack.empty()) {
        const auto [id, open] = stack.back();
        stack.pop_back();
        const Value& value = plan.values_[id.index];
        const bool is_whole = whole && id == root;
        if (value.bound.exists() && !is_whole) {
          made[id.index] = draft.make().local(value.bound);
          continue;
        }
        if (made[id.index].exists() && !is_whole) continue;
        const Expr& expr = graph[id];
        const Leaf* leaf = plan.leaf_of(expr);
        const std::span<const ExprId> ids = leaf != nullptr && leaf->index.exists()
                                                ? std::span(&leaf->index, 1)
                                                : operands(graph, expr);
        if (!open) {
          stack.emplace_back(id, true);
          for (ExprId arg : ids) stack.emplace_back(arg, false);
          continue;
        }
        args.clear();
        for (ExprId arg : ids) args.push_back(made[arg.index]);
        Simplifier& make = draft.make();
        if (leaf != nullptr) {
          made[id.index] = leaf->local.exists()
                               ? make.local(names[leaf->local.index])
                               : make.make(Operation::Load, 0, leaf->buffer.index, args);
        } else if (expr.op == Operation::Literal) {
          made[id.index] = make.constant(type_of_detail(expr), literal_bits(graph, expr));
        } else {
          made[id.index] = make.make(expr.op, expr.detail, expr.imm, args);
        }
      }
      return made[root.index];
    }
  };

  const Program& program_;
  const Body& body_;
  std::vector<bool> assigned_;
  std::vector<bool> needed_;
  std::vector<ExprId> memo_;  // per expression of the program
  std::vector<bool> varies_;  // per expression: may be another value in the next statement
  std::vector<ExprId> touched_;
  std::vector<std::pair<ExprId, std::uint32_t>> visits_;  // room for walks
  std::vector<ExprId> args_;
  std::vector<ExprId> locals_;  // per local: its value; none: it is a leaf
  std::vector<ExprId> latest_;  // per local: the leaf that stands for what it holds now
  std::vector<Branch> branches_;
  std::vector<std::uint32_t> marked_;  // per local: by which search it was last seen
  std::uint32_t marks_ = 0;
  bool wanting_ = true;  // the current statement is needed
  std::vector<std::uint32_t> local_blocks_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> blocks_;  // per statement
  Body graph_;
  Simplifier make_{program_, graph_, kFold | kAlgebra};
  std::vector<Leaf> leaves_;
  std::vector<Value> values_;              // per node of the graph
  std::vector<std::uint32_t> first_root_;  // per statement, in root_values_
  std::vector<ExprId> root_values_;
  std::vector<ExprId> wanted_;  // those that statements want
  std::vector<ExprId> bindings_;
};

}  // namespace

std::optional<Program> share(const Program& program) { return Sharing(program).write(); }

}  // namespace vyre
