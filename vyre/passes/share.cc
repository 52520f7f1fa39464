// Value sharing and loop-invariant motion. Every `let` is taken apart, and what is wanted more than
// once is bound again, where it serves best; so the result does not depend on which names the
// program had given to what.
//
// Values are nodes of a graph in which a local is replaced by what it holds, simplified as a whole,
// so that equal values are equal nodes. A local that is given several values, and a load from
// memory that others write, are nodes of their own each time. A value is bound in front of the
// first statement that wants it, in the innermost block around all that want it; from there it
// moves in front of a loop as long as nothing in it changes inside. What is wanted once stands
// where it is wanted. A load of an element that was loaded or stored before is the value that it
// had (memory.h); a load that several statements want is bound in front of the first.
//
// A local that is assigned again, in the block that declares it, gets a name of its own from there
// on; what is left to assign are the values that loops and branches hand on. What nobody can notice
// is left out.
//
// So there are four steps: collect() follows the statements and makes the values, find_live() finds
// the statements that somebody can notice, bind() the places where values are bound, and the Writer
// writes what is left.
#include <algorithm>

#include "vyre/passes/memory.h"
#include "vyre/passes/pass.h"
#include "vyre/passes/ranges.h"
#include "vyre/passes/values.h"

namespace vyre {
namespace {

constexpr std::uint32_t kNowhere = 0xffffffff;
// At every so many levels a value is bound even if it is wanted once, so that none becomes too
// deep.
constexpr std::uint32_t kLevels = 32;

// Which stores are surely in bounds, found as far as somebody has asked.
class ProvedStores {
 public:
  explicit ProvedStores(const Program& program) : body_(program.body), ranges_(program) {}

  bool operator[](StmtId store) {
    while (proved_.size() <= store.index) {
      const StmtId id{proved_.size()};
      const Store* at = std::get_if<Store>(&body_[id]);
      ranges_.go_to(id);
      proved_.push_back(at != nullptr &&
                        ranges_.less(ranges_.value(at->index), 0, ranges_.length(at->buffer)));
    }
    return proved_[store.index];
  }

 private:
  const Body& body_;
  Ranges ranges_;
  std::vector<bool> proved_;  // per statement
};

class Sharing {
 public:
  Sharing(const Program& program, unsigned simplifications)
      : program_(program),
        body_(program.body),
        values_of_(program, simplifications),
        memory_(program, graph_),
        lets_(body_.locals.size()),
        local_blocks_(body_.locals.size()),
        places_(1),
        blocks_(body_.stmts.size()),
        reached_(body_.stmts.size()),
        runs_(body_.stmts.size()) {
    make_.local_types().resize(body_.locals.size());
    values_.reserve(expected_exprs(body_));
    collect();
    find_live();
    bind();
  }

  Program write() {
    Draft draft(program_, kNothing, Draft::Expressions::None);
    make_.local_types().resize(body_.locals.size());
    draft.begin({{}, std::move(make_.local_types())});
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
    bool is_kept = false;             // a load that other statements than its own want
    std::uint32_t block = 0;          // where it begins
    StmtId begin;                     // that loads it, or behind which the local holds it
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
  };

  // --- Blocks

  // Which blocks of an `if` can run.
  enum class Runs : std::uint8_t { Either, First, Second };

  std::uint32_t new_place(std::uint32_t parent, StmtId owner, bool is_loop) {
    places_.push_back({parent, places_[parent].depth + 1, owner, is_loop});
    return static_cast<std::uint32_t>(places_.size() - 1);
  }
  // Of two blocks one of which is inside the other.
  std::uint32_t deeper(std::uint32_t a, std::uint32_t b) const {
    return places_[a].depth >= places_[b].depth ? a : b;
  }

  // --- Values

  // The type of the local that the current statement declares.
  DataType type_of_declared(const Stmt& stmt) const {
    if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) {
      return program_.buffers[atomic->buffer.index].element;
    }
    return std::holds_alternative<For>(stmt) ? DataType::U32
                                             : make_.type(root_values_[first_root_.back()]);
  }

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
    const ExprId before = locals_[local.index].latest;
    Leaf leaf;
    leaf.local = local;
    leaf.block = block;
    leaf.begin = at;
    leaf.before = before;
    const ExprId node = new_leaf(leaf, make_.local_types()[local.index]);
    locals_[local.index] = {node, node};
    return before;
  }
  void comes_from(LocalId local, StmtId stmt, ExprId leaf) {
    Leaf& now = leaf_at(locals_[local.index].latest);
    inputs_.push_back({stmt, leaf, now.inputs});
    now.inputs = static_cast<std::uint32_t>(inputs_.size() - 1);
  }
  // A statement that others may see gives its result to a local.
  void receive(LocalId result, std::uint32_t block) {
    memory_.forget_all();
    if (!result.exists() || !values_of_.assigned[result.index]) return;
    change(result, block, at_);
    comes_from(result, at_, {});
  }
  // A local that is assigned is given a value.
  void give(LocalId local, ExprId value) {
    const std::uint32_t block = blocks_[at_.index];
    const ExprId before = change(local, block, at_);
    comes_from(local, at_, {});
    // Where it is assigned in an inner block, it is declared before.
    if (local_blocks_[local.index] != block) comes_from(local, {}, before);
    if (!values_[value.index].loads) locals_[local.index].value = value;
  }
  void declare(const Let& let) {
    const ExprId node = root_values_.back();
    Value& value = values_[node.index];
    if (values_of_.assigned[let.local.index]) {
      give(let.local, node);
    } else if (value.loads) {
      lets_[let.local.index] = at_;
      // It is the name of what it loads.
      const Leaf* leaf = leaf_of(graph_[node]);
      if (leaf == nullptr || leaf->begin != at_) return;
      memory_.find(leaf->buffer, leaf->index)->value = known(make_.local(let.local));
    } else {
      // Taken apart; it still gives a name to its value.
      locals_[let.local.index].value = node;
      if (value.named.exists()) return;
      value.named = let.local;
      value.named_in = blocks_[at_.index];
    }
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
      return expr.op == Operation::Local ? make_.local(LocalId{expr.imm})
                                         : loaded(BufferId{expr.imm}, args[0]);
    }));
  }
  // What a load gives of an element to which a value was stored.
  ExprId cut_to(DataType element, ExprId value) {
    if (!is_narrow(element)) return value;
    const std::uint32_t bits = lane_bits(element);
    if (!has_sign(element)) {
      return make_.make(Operation::BitAnd, {value, make_.number((std::uint32_t{1} << bits) - 1)});
    }
    const ExprId count = make_.number(32 - bits);
    return make_.make(Operation::Shr, {make_.make(Operation::Shl, {value, count}), count});
  }
  // Whether an index is below the least length of a buffer, as its form alone says: most are, and
  // the ranges of a whole program take long.
  bool is_always_inside(BufferId buffer, ExprId index) const {
    const std::uint32_t length = program_.buffers[buffer.index].count;
    const Expr& expr = graph_[index];
    if (expr.op == Operation::Literal) return expr.imm < length;
    if (expr.op == Operation::LocalId) return program_.workgroup_size[expr.detail] <= length;
    const bool is_remainder = expr.op == Operation::Mod;
    if (!is_remainder && expr.op != Operation::BitAnd && expr.op != Operation::Min) return false;
    const Expr& most = graph_[expr.args[1]];
    if (most.op != Operation::Literal) return false;
    return is_remainder ? most.imm - 1 < length : most.imm < length;
  }
  // What an element of memory that others write holds. A store out of bounds does nothing.
  ExprId loaded(BufferId buffer, ExprId index) {
    const Memory::Element* element = memory_.find(buffer, index);
    if (element != nullptr && element->store.exists()) {
      if (is_always_inside(buffer, index)) return element->value;
      if (!proved_) proved_.emplace(program_);
      if ((*proved_)[element->store]) return element->value;
    } else if (element != nullptr) {
      if (graph_[element->value].imm >= body_.locals.size()) {
        Leaf& leaf = leaf_at(element->value);
        leaf.is_kept = leaf.is_kept || leaf.begin != at_;
      }
      return element->value;
    }
    Leaf leaf;
    leaf.buffer = buffer;
    leaf.index = index;
    leaf.begin = at_;
    const ExprId value = new_leaf(leaf, loaded_type(program_.buffers[buffer.index].element));
    memory_.loaded(buffer, index, value);
    return value;
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

  void end_branch(StmtId id, bool then_ended, bool else_ended) {
    const std::uint32_t block = blocks_[id.index];
    values_of_.end_branch([&](LocalId local, const ValueGraph::Held& then) {
      ExprId value = locals_[local.index].value;
      if (else_ended && !then_ended) value = then.value;
      const bool same = value == then.value || else_ended || then_ended;
      comes_from(local, {}, change(local, block, StmtId{next(body_, id).index - 1}));
      comes_from(local, {}, then.latest);
      // A value from inside may mention what is declared there, and may not be wanted behind.
      const Value& known = values_[value.index];
      if (same && !known.changes && places_[known.begins].depth <= places_[block].depth) {
        locals_[local.index].value = value;
      }
    });
  }

  void collect() {
    struct Frame : OpenBlock {
      std::uint32_t place = 0;
      std::size_t elements = 0;  // of memory that were known before
      bool ended = false;        // what follows can never run
      bool then_ended = false;   // of an `else`: so it was at the end of the block before it
    };
    BlockStack<Frame> stack(body_);
    const auto close = [&](const Frame& closed, Frame& now) {
      const StmtId owner{closed.owner};
      const If* branch = std::get_if<If>(&body_[owner]);
      const bool else_follows = now.is_else && now.owner == closed.owner && !closed.is_else;
      if (else_follows) {
        now.place = blocks_[owner.index];
        now.elements = closed.elements;
      }
      memory_.close(closed.elements);
      if (!reached_[owner.index]) {
        now.ended = true;
      } else if (const For* loop = std::get_if<For>(&body_[owner])) {
        const StmtId last{loop->end.index - 1};
        change_all(StmtId{closed.owner + 1}, loop->end, blocks_[owner.index], last);
        memory_.forget_effects(owner);
      } else if (branch == nullptr) {
        now.ended = closed.ended;
      } else if (runs_[owner.index] == Runs::Either) {
        if (!closed.is_else) values_of_.end_first();
        if (else_follows) {
          now.place = new_place(blocks_[owner.index], owner, false);
          now.then_ended = closed.ended;
        } else {
          const bool then_ended = closed.is_else ? closed.then_ended : closed.ended;
          const bool else_ended = closed.is_else && closed.ended;
          now.ended = then_ended && else_ended;
          end_branch(owner, then_ended, else_ended);
        }
      } else {
        const bool is_run = closed.is_else == (runs_[owner.index] == Runs::Second);
        now.ended = is_run ? closed.ended : closed.then_ended;
        // Of two blocks the other one does not run.
        if (else_follows) now.then_ended = std::exchange(now.ended, is_run);
      }
    };
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      stack.enter(i, close);
      at_ = StmtId{i};
      const Stmt& stmt = body_[at_];
      const std::uint32_t place = blocks_[i] = stack.back().place;
      first_root_.push_back(static_cast<std::uint32_t>(root_values_.size()));
      reached_[i] = !stack.back().ended;
      if (reached_[i]) {
        for (ExprId root : roots(stmt)) root_values_.push_back(value_of(root));
        values_of_.end_statement();
        if (const LocalId local = declared(stmt); local.exists()) {
          local_blocks_[local.index] = place;
          make_.local_types()[local.index] = type_of_declared(stmt);
        }
        visit(
            stmt, [&](const Let& let) { declare(let); },
            [&](const Assign& assign) { give(assign.local, root_values_.back()); },
            [&](const Store& store) {
              const DataType element = program_.buffers[store.buffer.index].element;
              const ExprId value = known(cut_to(element, root_values_.back()));
              const bool is_known = !values_[value.index].loads;
              memory_.stored(store.buffer, root_values_[first_root_.back()],
                             is_known ? value : ExprId{}, at_);
            },
            [&](const Atomic& atomic) { receive(atomic.result, place); },
            [&](const Break&) { stack.back().ended = true; },
            [&](const Return&) { stack.back().ended = true; },
            [&](const Barrier&) { memory_.forget_all(); },
            [&](const Collective& collective) { receive(collective.result, place); },
            Nothing<If, For, Block, SetElement, Continue>{});
      }
      // Scopes, and the block of an `if` that surely runs, are taken apart: names are kept apart
      // anyway.
      Frame* opened = stack.open(i);
      if (opened == nullptr) continue;
      opened->place = place;
      opened->elements = memory_.open();
      opened->ended = !reached_[i];
      if (!reached_[i]) continue;
      if (const If* branch = std::get_if<If>(&stmt)) {
        if (const std::optional<Bits> condition = make_.bits(root_values_.back())) {
          runs_[i] = *condition == Bits{} ? Runs::Second : Runs::First;
          opened->ended = runs_[i] == Runs::Second;
        } else {
          opened->place = new_place(place, at_, false);
          values_of_.open_branch(StmtId{i + 1}, branch->end);
        }
      } else if (const For* loop = std::get_if<For>(&stmt)) {
        opened->place = new_place(place, at_, true);
        local_blocks_[loop->variable.index] = opened->place;
        change_all(StmtId{i + 1}, loop->end, opened->place, at_);
        memory_.forget_effects(at_);
      }
    }
    first_root_.push_back(static_cast<std::uint32_t>(root_values_.size()));
  }

  bool is_private(BufferId buffer) const {
    return program_.buffers[buffer.index].access == BufferAccess::Private;
  }

  // The statements that somebody can notice, and those that they depend on. Stores to memory of an
  // invocation are noticed where it loads from that.
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
    std::vector<std::vector<StmtId>> private_stores(program_.buffers.size());
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      const Stmt& stmt = body_.stmts[i];
      if (!reached_[i]) continue;
      if (const Store* store = std::get_if<Store>(&stmt); store && is_private(store->buffer)) {
        private_stores[store->buffer.index].emplace_back(i);
      } else if (std::holds_alternative<Store>(stmt) || std::holds_alternative<Atomic>(stmt) ||
                 waits(stmt) || std::holds_alternative<Return>(stmt)) {
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
        for (ExprId arg : parts(node)) reads.push_back(arg);
        const Expr& expr = graph_[node];
        if (expr.op != Operation::Local) continue;
        if (const Leaf* leaf = leaf_of(expr)) {
          if (leaf->local.exists()) read_[leaf->local.index] = true;
          if (leaf->buffer.exists()) {
            for (StmtId store : std::exchange(private_stores[leaf->buffer.index], {})) need(store);
          }
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
  void bind() {
    for (auto id = static_cast<std::uint32_t>(values_.size()); id-- > 0;) {
      Value& value = values_[id];
      if (value.block == kNowhere) continue;
      const Expr& expr = graph_.exprs[id];
      bool bound = !value.cheap && !value.loads && binds(value);
      const Leaf* leaf = leaf_of(expr);
      if (leaf != nullptr && leaf->is_kept && value.first != value.last) {
        bound = true;
      } else if (leaf != nullptr && leaf->end.exists() && value.last > leaf->end) {
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
      for (ExprId arg : parts(ExprId{id})) {
        want(arg, value.block, value.first, value.last, value.again, value.here);
      }
    }
    rank();
    std::ranges::sort(bindings_, {}, [&](ExprId id) {
      return std::pair(values_[id.index].first, values_[id.index].rank);
    });
  }

  // What a value is made of. A load is a leaf with an index.
  std::span<const ExprId> parts(ExprId node) const {
    const Leaf* leaf = leaf_of(graph_[node]);
    return leaf != nullptr && leaf->index.exists() ? std::span(&leaf->index, 1)
                                                   : operands(graph_, graph_[node]);
  }

  // Numbers the values in the order in which the statements want them, operands first.
  void rank() {
    std::uint32_t count = 0;
    std::vector<Visit> stack;
    for (ExprId root : wanted_) {
      operands_first(
          root, stack, [&](ExprId id) { return parts(id); },
          [&](ExprId id) { return values_[id.index].rank != 0; },
          [&](ExprId id, std::span<const ExprId>) { values_[id.index].rank = ++count; });
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
    std::vector<ExprId> made;    // per value: the expression, or the local that it is bound to
    std::vector<LocalId> names;  // per local of the program: which one of the draft it is now
    std::size_t next_binding = 0;

    Writer(Sharing& from, Draft& to) : plan(from), draft(to), made(from.values_.size()) {
      for (std::uint32_t i = 0; i < plan.body_.locals.size(); ++i) names.emplace_back(i);
    }

    Keep statement(StmtId id, const Stmt& source) {
      while (next_binding < plan.bindings_.size() &&
             plan.values_[plan.bindings_[next_binding].index].first <= id) {
        const ExprId node = plan.bindings_[next_binding++];
        const Value& value = plan.values_[node.index];
        if (value.first != id) continue;  // in a block that can never run
        const ExprId whole = emit(node);
        const std::string name = value.named.exists() ? plan.body_[value.named].name
                                 : value.loads        ? "loaded"
                                                      : "shared";
        const LocalId bound = draft.declare(name, draft.make().type(whole));
        draft.add(Let{bound, whole});
        made[node.index] = draft.make().local(bound);
      }
      if (std::holds_alternative<Block>(source)) return Keep::First;
      if (plan.runs_[id.index] != Runs::Either) {
        return plan.runs_[id.index] == Runs::Second ? Keep::Second : Keep::First;
      }
      if (!plan.live_[id.index]) return Keep::Nothing;
      std::uint32_t root_value = plan.first_root_[id.index];
      Stmt stmt = with_roots(source, [&](ExprId) { return emit(plan.root_values_[root_value++]); });
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

    // The expression of a value.
    ExprId emit(ExprId root) {
      const auto is_made = [&](ExprId id) { return made[id.index].exists(); };
      const auto parts = [&](ExprId id) { return plan.parts(id); };
      operands_first(root, draft.visits, parts, is_made, [&](ExprId id, auto ids) {
        draft.operands.clear();
        for (ExprId arg : ids) draft.operands.push_back(made[arg.index]);
        const Expr& expr = plan.graph_[id];
        const Leaf* leaf = plan.leaf_of(expr);
        Simplifier& make = draft.make();
        if (leaf != nullptr && leaf->local.exists()) {
          made[id.index] = make.local(names[leaf->local.index]);
        } else if (leaf != nullptr) {
          made[id.index] = make.make(Operation::Load, 0, leaf->buffer.index, draft.operands);
        } else if (expr.op == Operation::Literal) {
          made[id.index] = make.constant(type_of_detail(expr), literal_bits(plan.graph_, expr));
        } else {
          made[id.index] = make.make(expr.op, expr.detail, expr.imm, draft.operands);
        }
      });
      return made[root.index];
    }
  };

  const Program& program_;
  const Body& body_;
  ValueGraph values_of_;
  const Body& graph_ = values_of_.nodes;
  Simplifier& make_ = values_of_.make;
  // Per local: its value, without which it is a leaf, and the leaf that stands for what it holds.
  std::vector<ValueGraph::Held>& locals_ = values_of_.locals;
  Memory memory_;
  std::optional<ProvedStores> proved_;  // where somebody has asked
  StmtId at_;                           // the statement whose values are collected
  std::vector<bool> live_;              // per statement
  std::vector<bool> read_;              // per local: what it holds is wanted
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

std::optional<Program> forward(const Program& program) { return Sharing(program, kFold).write(); }
std::optional<Program> share(const Program& program) {
  return Sharing(program, kFold | kAlgebra).write();
}
std::optional<Program> strength(const Program& program) {
  return Sharing(program, kFold | kAlgebra | kStrength).write();
}

}  // namespace vyre
