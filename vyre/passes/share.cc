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
// on; what is left to assign are the values that loops and branches hand on. What nobody can notice
// is left out.
#include <algorithm>

#include "vyre/passes/passes.h"
#include "vyre/passes/values.h"

namespace vyre {
namespace {

constexpr std::uint32_t kNowhere = 0xffffffff;
// At every so many levels a value is bound even if it is wanted once, so that none becomes too
// deep.
constexpr std::uint32_t kLevels = 32;

class Sharing {
 public:
  Sharing(const Program& program, unsigned simplifications)
      : program_(program),
        body_(program.body),
        values_of_(program, simplifications),
        latest_(body_.locals.size()),
        lets_(body_.locals.size()),
        local_blocks_(body_.locals.size()),
        places_(1),
        blocks_(body_.stmts.size()),
        reached_(body_.stmts.size()),
        runs_(body_.stmts.size()) {
    make_.local_types() = types_of(body_, program.buffers, {}, {}).locals;
    values_.reserve(expected_exprs(body_));
    collect();
    find_live();
    decide();
  }

  Program write() {
    Draft draft(program_, kNothing, Draft::Expressions::None);
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
  // several, or what a load from memory that others write gives in one statement; that has only a
  // buffer and an index. A value may end outside of the block in which it begins: behind a branch
  // in which it was given, where nobody wants it any more.
  struct Leaf {
    LocalId local;  // of the program; none for a load
    BufferId buffer;
    ExprId index;                     // of the graph
    std::uint32_t block = 0;          // where it begins
    StmtId begin;                     // the statement behind which the local holds it
    ExprId before;                    // what the local held before
    StmtId end;                       // the statement behind which it holds something else
    std::uint32_t inputs = kNowhere;  // where it comes from, in inputs_
  };
  // Where the value of a local comes from: a statement that gives it, or an earlier value.
  struct Input {
    StmtId stmt;
    ExprId leaf;
    std::uint32_t next = kNowhere;  // the next one of the same leaf
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

  // Which blocks of an `if` can run: one of both, only one, or only the first, and nothing behind
  // it.
  enum class Runs : std::uint8_t { Either, First, Second, FirstAndLast };

  std::uint32_t new_place(std::uint32_t parent, StmtId owner, bool is_loop) {
    places_.push_back({parent, places_[parent].depth + 1, owner, is_loop});
    return static_cast<std::uint32_t>(places_.size() - 1);
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
  Leaf& leaf_at(ExprId node) { return leaves_[graph_[node].imm - body_.locals.size()]; }
  // A local has a value of which nothing is known but that it is what the local holds. Gives the
  // one that it had before.
  ExprId change(LocalId local, std::uint32_t block, StmtId at) {
    const ExprId before = latest_[local.index];
    Leaf leaf;
    leaf.local = local;
    leaf.block = block;
    leaf.begin = at;
    leaf.before = before;
    locals_[local.index] = new_leaf(leaf, make_.local_types()[local.index]);
    latest_[local.index] = locals_[local.index];
    return before;
  }
  void comes_from(LocalId local, StmtId stmt, ExprId leaf) {
    Leaf& now = leaf_at(latest_[local.index]);
    inputs_.push_back({stmt, leaf, now.inputs});
    now.inputs = static_cast<std::uint32_t>(inputs_.size() - 1);
  }
  // A local that is assigned is given a value.
  void give(LocalId local, ExprId value, StmtId id) {
    const ExprId before = change(local, blocks_[id.index], id);
    comes_from(local, id, {});
    // Where it is assigned in an inner block, it is declared before.
    if (local_blocks_[local.index] != blocks_[id.index]) comes_from(local, {}, before);
    if (!values_[value.index].loads) locals_[local.index] = value;
  }
  // The locals that are assigned in a loop begin anew.
  void change_all(StmtId first, StmtId end, std::uint32_t block, StmtId at) {
    values_of_.for_each_assignment(first, end, [&](StmtId id, LocalId local, bool is_first) {
      if (is_first) comes_from(local, {}, change(local, block, at));
      comes_from(local, id, {});
    });
  }

  // The node of an expression in the current statement.
  ExprId value_of(ExprId root) {
    return known(values_of_.value(root, [&](const Expr& expr, std::span<const ExprId> args) {
      if (expr.op == Operation::Local) return make_.local(LocalId{expr.imm});
      Leaf leaf;
      leaf.buffer = BufferId{expr.imm};
      leaf.index = args[0];
      return new_leaf(leaf, loaded_type(program_.buffers[expr.imm].element));
    }));
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
    value.costly = cost(expr.op) == Cost::Many;
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
    // A cast to such a type keeps the lowest word.
    value.cheap = cost(expr.op) == Cost::None || constant ||
                  (expr.op == Operation::Cast && contains(type_sets::Word, type_of_detail(expr)));
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
    std::vector<ExprId> then_latest;
    bool then_ended = false;
  };

  void open_branch(StmtId id, const If& branch) {
    Branch& open = branches_.emplace_back();
    values_of_.for_each_assignment(StmtId{id.index + 1}, branch.end,
                                   [&](StmtId, LocalId local, bool is_first) {
                                     if (!is_first || !locals_[local.index].exists()) return;
                                     open.locals.push_back(local);
                                     open.before.push_back(locals_[local.index]);
                                     open.latest.push_back(latest_[local.index]);
                                   });
  }
  void end_first(bool ended) {
    Branch& branch = branches_.back();
    branch.then_ended = ended;
    for (std::size_t i = 0; i < branch.locals.size(); ++i) {
      const std::uint32_t local = branch.locals[i].index;
      branch.then.push_back(std::exchange(locals_[local], branch.before[i]));
      branch.then_latest.push_back(std::exchange(latest_[local], branch.latest[i]));
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
      comes_from(local, {}, change(local, block, StmtId{next(body_, id).index - 1}));
      comes_from(local, {}, branch.then_latest[i]);
      // A value from inside may mention what is declared there, and may not be wanted behind.
      const Value& known = values_[value.index];
      if (same && !known.changes && places_[known.begins].depth <= places_[block].depth) {
        locals_[local.index] = value;
      }
    }
  }

  void collect() {
    struct Frame : OpenBlock {
      std::uint32_t place = 0;
      bool ended = false;  // what follows can never run
    };
    BlockStack<Frame> stack(body_);
    const auto close = [&](const Frame& closed, Frame& now) {
      const StmtId owner{closed.owner};
      const If* branch = std::get_if<If>(&body_[owner]);
      const bool else_follows = now.is_else && now.owner == closed.owner && !closed.is_else;
      if (else_follows) now.place = blocks_[owner.index];
      if (!reached_[owner.index]) {
        now.ended = true;
      } else if (const For* loop = std::get_if<For>(&body_[owner])) {
        const StmtId last{loop->end.index - 1};
        change_all(StmtId{closed.owner + 1}, loop->end, blocks_[owner.index], last);
      } else if (branch == nullptr) {
        now.ended = closed.ended;
      } else if (runs_[owner.index] == Runs::Either) {
        if (!closed.is_else) end_first(closed.ended);
        if (else_follows) {
          now.place = new_place(blocks_[owner.index], owner, false);
        } else {
          now.ended = closed.is_else && closed.ended && branches_.back().then_ended;
          end_branch(owner, closed.is_else && closed.ended);
        }
      } else if (closed.is_else == (runs_[owner.index] == Runs::Second)) {
        // The block that runs; a second one behind it does not.
        now.ended = closed.ended || else_follows;
        if (closed.ended && else_follows) runs_[owner.index] = Runs::FirstAndLast;
      } else if (!else_follows) {
        now.ended = runs_[owner.index] == Runs::FirstAndLast;
      }
    };
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      stack.enter(i, close);
      const StmtId id{i};
      const Stmt& stmt = body_[id];
      const std::uint32_t place = blocks_[i] = stack.back().place;
      first_root_.push_back(static_cast<std::uint32_t>(root_values_.size()));
      reached_[i] = !stack.back().ended;
      if (!reached_[i]) {
        if (Frame* opened = stack.open(i)) {
          opened->place = place;
          opened->ended = true;
        }
        continue;
      }
      for (ExprId root : roots(stmt)) root_values_.push_back(value_of(root));
      values_of_.end_statement();
      stack.back().ended =
          std::holds_alternative<Return>(stmt) || std::holds_alternative<Break>(stmt);
      if (const LocalId local = declared(stmt); local.exists()) local_blocks_[local.index] = place;
      if (const Let* let = std::get_if<Let>(&stmt)) {
        Value& value = values_[root_values_.back().index];
        if (values_of_.assigned[let->local.index]) {
          give(let->local, root_values_.back(), id);
        } else if (value.loads) {
          lets_[let->local.index] = id;
        } else {
          // Taken apart; it still gives a name to its value.
          locals_[let->local.index] = root_values_.back();
          if (!value.named.exists()) {
            value.named = let->local;
            value.named_in = place;
          }
        }
      } else if (const Assign* assign = std::get_if<Assign>(&stmt)) {
        give(assign->local, root_values_.back(), id);
      } else if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) {
        if (atomic->result.exists() && values_of_.assigned[atomic->result.index]) {
          change(atomic->result, place, id);
          comes_from(atomic->result, id, {});
        }
      }
      // Scopes, and the block of an `if` that surely runs, are taken apart: names are kept apart
      // anyway.
      Frame* opened = stack.open(i);
      if (opened == nullptr) continue;
      opened->place = place;
      if (const If* branch = std::get_if<If>(&stmt)) {
        if (const std::optional<Bits> condition = make_.bits(root_values_.back())) {
          runs_[i] = *condition == Bits{} ? Runs::Second : Runs::First;
          opened->ended = runs_[i] == Runs::Second;
        } else {
          opened->place = new_place(place, id, false);
          open_branch(id, *branch);
        }
      } else if (const For* loop = std::get_if<For>(&stmt)) {
        opened->place = new_place(place, id, true);
        local_blocks_[loop->variable.index] = opened->place;
        change_all(StmtId{i + 1}, loop->end, opened->place, id);
      }
    }
    first_root_.push_back(static_cast<std::uint32_t>(root_values_.size()));
  }

  // The statements that somebody can notice, and those that they depend on.
  void find_live() {
    live_.resize(body_.stmts.size());
    read_.resize(body_.locals.size());
    std::vector<bool> seen(values_.size());
    std::vector<std::pair<StmtId, StmtId>> breaks;  // of each loop
    std::vector<StmtId> work;
    std::vector<ExprId> reads;
    const auto need = [&](StmtId id) {
      if (!id.exists() || live_[id.index] || !reached_[id.index]) return;
      live_[id.index] = true;
      work.push_back(id);
    };
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      const Stmt& stmt = body_.stmts[i];
      if (!reached_[i]) continue;
      if (std::holds_alternative<Store>(stmt) || std::holds_alternative<Atomic>(stmt) ||
          std::holds_alternative<Barrier>(stmt) || std::holds_alternative<Return>(stmt)) {
        need(StmtId{i});
      } else if (std::holds_alternative<Break>(stmt)) {
        std::uint32_t place = blocks_[i];
        while (!places_[place].is_loop) place = places_[place].parent;
        breaks.emplace_back(places_[place].owner, i);
      }
    }
    std::ranges::sort(breaks);
    while (!work.empty()) {
      const StmtId id = work.back();
      work.pop_back();
      need(places_[blocks_[id.index]].owner);
      if (std::holds_alternative<For>(body_[id])) {
        for (const auto& [loop, leave] : std::ranges::equal_range(
                 breaks, id, {}, [](const auto& each) { return each.first; })) {
          need(leave);
        }
      }
      reads.insert(reads.end(), root_values_.begin() + first_root_[id.index],
                   root_values_.begin() + first_root_[id.index + 1]);
      while (!reads.empty()) {
        const ExprId node = reads.back();
        reads.pop_back();
        if (!node.exists() || seen[node.index]) continue;
        seen[node.index] = true;
        const Expr& expr = graph_[node];
        if (expr.op != Operation::Local) {
          for (ExprId arg : operands(graph_, expr)) reads.push_back(arg);
        } else if (const Leaf* leaf = leaf_of(expr)) {
          if (leaf->index.exists()) reads.push_back(leaf->index);
          if (leaf->local.exists()) read_[leaf->local.index] = true;
          for (std::uint32_t at = leaf->inputs; at != kNowhere; at = inputs_[at].next) {
            need(inputs_[at].stmt);
            reads.push_back(inputs_[at].leaf);
          }
        } else {
          need(lets_[expr.imm]);
          read_[expr.imm] = true;
        }
      }
    }
    // A value ends where a statement that is live gives another one.
    for (std::size_t i = leaves_.size(); i-- > 0;) {
      const Leaf& leaf = leaves_[i];
      if (!leaf.before.exists()) continue;
      bool given = false;
      for (std::uint32_t at = leaf.inputs; at != kNowhere; at = inputs_[at].next) {
        given = given || (inputs_[at].stmt.exists() && live_[inputs_[at].stmt.index]);
      }
      StmtId& end = leaf_at(leaf.before).end;
      end = std::min(end, given ? leaf.begin : leaf.end);
    }
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      if (!live_[i]) continue;
      for (std::uint32_t k = first_root_[i]; k < first_root_[i + 1]; ++k) {
        want(root_values_[k], blocks_[i], StmtId{i}, StmtId{i}, false, true);
        wanted_.push_back(root_values_[k]);
      }
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
      if (std::holds_alternative<Block>(source)) return Keep::First;
      if (plan.runs_[id.index] != Runs::Either) {
        return plan.runs_[id.index] == Runs::Second ? Keep::Second : Keep::First;
      }
      if (!plan.live_[id.index]) return Keep::Nothing;
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
      } else if (Atomic* atomic = std::get_if<Atomic>(&stmt)) {
        if (atomic->result.exists() && !plan.read_[atomic->result.index]) atomic->result = {};
      }
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
  ValueGraph values_of_;
  const Body& graph_ = values_of_.nodes;
  Simplifier& make_ = values_of_.make;
  std::vector<ExprId>& locals_ = values_of_.locals;  // without a value: it is a leaf
  std::vector<bool> live_;                           // per statement
  std::vector<bool> read_;                           // per local: what it holds is wanted
  std::vector<ExprId> latest_;  // per local: the leaf that stands for what it holds now
  std::vector<Branch> branches_;
  std::vector<StmtId> lets_;  // per local: the `let` that loads it from memory that others write
  std::vector<std::uint32_t> local_blocks_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> blocks_;  // per statement
  std::vector<bool> reached_;          // per statement: it may run
  std::vector<Runs> runs_;             // per statement
  std::vector<Leaf> leaves_;
  std::vector<Input> inputs_;
  std::vector<Value> values_;              // per node of the graph
  std::vector<std::uint32_t> first_root_;  // per statement, in root_values_
  std::vector<ExprId> root_values_;
  std::vector<ExprId> wanted_;  // those that statements want
  std::vector<ExprId> bindings_;
};

}  // namespace

std::optional<Program> share(const Program& program) {
  return Sharing(program, kFold | kAlgebra).write();
}
std::optional<Program> strength(const Program& program) {
  return Sharing(program, kFold | kAlgebra | kStrength).write();
}

}  // namespace vyre
