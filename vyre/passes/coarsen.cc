// Straight-line code instead of waiting, in two ways that are written by one walk.
//
// `coarsen`: an invocation runs those of several workgroups at once, statement by statement and
// loads first, so that each has several loads under way and several workgroups wait at one barrier.
// What is the same for all of them is computed once. Where invocations that are neighbours access
// narrow elements that are, it runs neighbours instead: together they load and store whole words.
// One test says that all of them are in bounds; where they are not, they run one after another.
//
// `predicate`: a short `if` that does little but load is written without a branch, so that its
// loads need not wait for those before it.
//
// Both turn an `if` into conditions of what is in it. A condition of an access is part of its
// index, `a[select(condition, i, 0xffffffff)]`: no buffer has an element of that number, so a load
// gives 0 and a store does nothing where the condition does not hold.
#include <algorithm>

#include "vyre/passes/affine.h"
#include "vyre/passes/collectives.h"
#include "vyre/passes/formulas.h"
#include "vyre/passes/launch.h"
#include "vyre/passes/pass.h"
#include "vyre/passes/regroup.h"

namespace vyre {
namespace {

constexpr std::uint32_t kCopies = 4;       // enough loads under way; eight gain nothing
constexpr std::size_t kStreamExprs = 128;  // beyond it computing hides the loads
constexpr std::size_t kWaitingExprs = 256;
constexpr std::uint32_t kWideBytes = 16;       // that one instruction moves
constexpr std::size_t kNeighbourExprs = 1024;  // of all neighbours
constexpr std::uint32_t kShortIf = 4;          // statements
constexpr int kMaxDepth = 8;                   // of tests that are looked through

bool is_workgroup(const BufferDecl& buffer) { return buffer.access == BufferAccess::Workgroup; }

// What differs between the invocations of the same local id in workgroups that are neighbours along
// an axis.
struct Differences {
  std::uint32_t count = 1;  // of invocations that run at once
  std::uint32_t axis = 3;   // none
  std::vector<bool> exprs;
  std::vector<bool> locals;
  std::vector<bool> buffers;  // only workgroup memory: what it holds
  std::vector<bool> stmts;    // an `if` of which conditions are made
};

class Finder {
 public:
  Finder(const Program& program, std::uint32_t axis, std::uint32_t count = kCopies)
      : program_(program), body_(program.body) {
    found_.count = count;
    found_.axis = axis;
    found_.locals.resize(body_.locals.size());
    found_.buffers.resize(program.buffers.size());
    found_.stmts.resize(body_.stmts.size());
    apart_.resize(body_.exprs.size());
  }

  // Nothing where they cannot go together.
  std::optional<Differences> find() {
    do {
      changed_ = false;
      find_exprs();
      find_stmts();
    } while (changed_);
    if (!possible_) return std::nullopt;
    return std::move(found_);
  }

 private:
  void set(std::vector<bool>& table, std::size_t at, bool differs) {
    if (!differs || table[at]) return;
    table[at] = true;
    changed_ = true;
  }

  void find_exprs() {
    found_.exprs = spread(body_, [&](const Expr& expr) {
      const bool is_id = expr.op == Operation::InvocationId || expr.op == Operation::WorkgroupId;
      if (expr.op == Operation::Local) return bool{found_.locals[expr.imm]};
      if (expr.op != Operation::Load) return is_id && expr.detail == found_.axis;
      const BufferDecl& buffer = program_.buffers[expr.imm];
      return apart_[static_cast<std::size_t>(&expr - body_.exprs.data())] ||
             (is_workgroup(buffer) ? found_.buffers[expr.imm] : is_written(buffer.access));
    });
  }

  void find_stmts() {
    Mentions mentions(body_);
    StmtId end{0u};  // of the outermost `if` that not all of them enter
    for (StmtId id{0u}; id.index < body_.stmts.size(); ++id.index) {
      const bool parts = id < end;
      const Stmt& stmt = body_[id];
      bool differs = parts;
      for (ExprId root : roots(stmt)) differs = differs || found_.exprs[root.index];
      if (parts) {
        // What is loaded under a condition that differs.
        mentions.visit(id, [&](ExprId at) {
          set(apart_, at.index, body_[at].op == Operation::Load);
          return true;
        });
      }
      const auto goes_together = [&] { possible_ = possible_ && !differs; };
      visit(
          stmt,
          [&](const Let& let) {
            set(found_.locals, let.local.index, found_.exprs[let.value.index]);
          },
          [&](const Assign& assign) { set(found_.locals, assign.local.index, differs); },
          [&](const Atomic& atomic) {
            if (atomic.result.exists()) set(found_.locals, atomic.result.index, true);
          },
          [&](const Store& store) {
            if (!is_workgroup(program_.buffers[store.buffer.index])) return;
            set(found_.buffers, store.buffer.index, differs);
          },
          [&](const If& branch) {
            set(found_.stmts, id.index, differs);
            if (differs) end = std::max(end, branch.end);
          },
          [&](const For&) { goes_together(); }, [&](const Break&) { goes_together(); },
          [&](const Return&) { goes_together(); }, [&](const Barrier&) { goes_together(); },
          [&](const Collective& all) {
            // What they give may differ; that they give it may not.
            possible_ = possible_ && !parts;
            set(found_.locals, all.result.index, differs);
          },
          Nothing<Block, SetElement, Continue>{});
    }
  }

  const Program& program_;
  const Body& body_;
  Differences found_;
  std::vector<bool> apart_;
  bool changed_ = false;
  bool possible_ = true;
};

// Loads that each makes for itself.
std::size_t own_loads(const Program& program, const Differences& differences) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < program.body.exprs.size(); ++i) {
    count += program.body.exprs[i].op == Operation::Load && differences.exprs[i] ? 1 : 0;
  }
  return count;
}

// Nothing where one workgroup at a time is better.
std::optional<Differences> find_several(const Program& program, const GpuLimits& limits) {
  const Body& body = program.body;
  const auto any = [&]<class T>(T) {
    return std::ranges::any_of(body.stmts,
                               [](const Stmt& stmt) { return std::holds_alternative<T>(stmt); });
  };
  // Memory that each invocation has for itself is slow, and several of it are slower.
  const auto is_private = [](const BufferDecl& buffer) {
    return buffer.access == BufferAccess::Private;
  };
  if (std::ranges::any_of(program.buffers, is_private)) return std::nullopt;
  const bool waits = any(Barrier{}) || any(Collective{});
  const std::uint64_t shared = workgroup_bytes(program);
  // Without barriers a loop has time to hide its loads, or none.
  if (!waits && (shared > 0 || any(For{}))) return std::nullopt;
  if (body.exprs.size() > (waits ? kWaitingExprs : kStreamExprs)) return std::nullopt;
  if (shared * kCopies > limits.memory) return std::nullopt;
  std::optional<Differences> best = Finder(program, 0).find();
  if (waits && program.workgroup_size[1] > 1) {
    std::optional<Differences> rows = Finder(program, 1).find();
    if (rows && (!best || own_loads(program, *rows) <= own_loads(program, *best))) {
      best = std::move(rows);
    }
  }
  if (!best) return std::nullopt;
  const std::size_t loads = own_loads(program, *best);
  if (loads == 0 || (!waits && loads >= kCopies)) return std::nullopt;
  return best;
}

// Buffers that invocations access each in the place of its own id along x, and how many of them
// fill what one instruction moves; none where no narrow elements are among them, or neighbours
// cannot go together.
struct Neighbours {
  std::vector<BufferId> buffers;
  std::uint32_t count = 0;
};
Neighbours find_neighbours(const Program& program, const LaunchShape& launch) {
  const Body& body = program.body;
  const std::vector<ExprId> bound = bound_values(body);
  Neighbours found;
  bool any_narrow = false;
  std::uint32_t widest = 1;
  const auto access = [&](BufferId id, ExprId index) {
    for (int i = 0; i < kMaxDepth && body[index].op == Operation::Local; ++i) {
      const ExprId value = bound[body[index].imm];
      if (!value.exists()) break;
      index = value;
    }
    const BufferDecl& buffer = program.buffers[id.index];
    const bool is_own = body[index].op == Operation::InvocationId && body[index].detail == 0;
    if (!is_own || !is_bound(buffer.access)) return;
    any_narrow = any_narrow || is_narrow(buffer.element);
    widest = std::max(widest, stride(buffer.element));
    if (std::ranges::find(found.buffers, id) == found.buffers.end()) found.buffers.push_back(id);
  };
  const auto is_refused = [](const Stmt& stmt) {
    return std::holds_alternative<For>(stmt) || std::holds_alternative<Return>(stmt);
  };
  for (const Expr& expr : body.exprs) {
    if (expr.op == Operation::Load) access(BufferId{expr.imm}, expr.args[0]);
  }
  for (const Stmt& stmt : body.stmts) {
    if (const Store* store = std::get_if<Store>(&stmt)) access(store->buffer, store->index);
  }
  if (!any_narrow || !has_free_workgroups(program) || std::ranges::any_of(body.stmts, is_refused)) {
    return {};
  }
  found.count = std::max(kWideBytes / widest, kCopies);
  const bool is_whole = launch.size[0] % found.count == 0;
  return is_whole && body.exprs.size() * found.count <= kNeighbourExprs ? found : Neighbours{};
}

// By statement: an `if` of a block that does little but load.
std::vector<bool> short_ifs(const Program& program) {
  const Body& body = program.body;
  std::vector<bool> found(body.stmts.size());
  const std::vector<bool> loads = spread(body, [&](const Expr& expr) {
    return expr.op == Operation::Load && !is_written(program.buffers[expr.imm].access);
  });
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    const If* branch = std::get_if<If>(&body.stmts[i]);
    if (branch == nullptr || branch->else_begin < branch->end) continue;
    if (branch->end.index - i - 1 > kShortIf) continue;
    bool is_short = true;
    bool has_load = false;
    for (std::uint32_t k = i + 1; k < branch->end.index; ++k) {
      const Stmt& stmt = body.stmts[k];
      is_short =
          is_short && (std::holds_alternative<Let>(stmt) || std::holds_alternative<Assign>(stmt));
      for (ExprId root : roots(stmt)) has_load = has_load || loads[root.index];
    }
    found[i] = is_short && has_load;
  }
  return found;
}

class Writer {
 public:
  Writer(Draft& draft, const Differences& differences)
      : f_{draft},
        draft_(draft),
        make_(f_.make),
        body_(draft.from().body),
        differences_(differences),
        loads_(spread(body_, [](const Expr& expr) { return expr.op == Operation::Load; })),
        sees_(spread(body_, [&](const Expr& expr) { return is_volatile(draft.from(), expr); })),
        copies_(differences.count) {
    for (Copy& copy : copies_) {
      copy.memo.resize(body_.exprs.size());
      for (std::uint32_t i = 0; i < body_.locals.size(); ++i) copy.locals.emplace_back(i);
      for (std::uint32_t i = 0; i < draft.from().buffers.size(); ++i) {
        copy.buffers.emplace_back(i);
      }
    }
  }

  // What tells them apart, in front of the statements: `ends` whether the program has the guard of
  // merged workgroups.
  void begin(Shaped& shaped, bool ends);
  // The same for neighbours along x, of which the first one is given. Several writers may write the
  // same statements into a draft: all but one declare the locals anew.
  void begin_neighbours(ExprId first, bool is_again);
  void use_buffer(std::uint32_t copy, BufferId own, BufferId instead) {
    copies_[copy].buffers[own.index] = instead;
  }
  void run() {
    BlockStack<OpenBlock> stack(body_);
    const auto close = [&](const OpenBlock& closed, const OpenBlock& now) { leave(closed, now); };
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      stack.enter(i, close);
      statement(StmtId{i});
      forget();
      stack.open(i);
    }
    stack.enter(static_cast<std::uint32_t>(body_.stmts.size()), close);
    flush();
  }

 private:
  struct Copy {
    ExprId invocation;  // its ids on the axis
    ExprId workgroup;
    ExprId exists;  // whether the dispatch has its workgroup; none: it does
    std::vector<LocalId> locals;
    std::vector<BufferId> buffers;
    std::vector<ExprId> memo;  // of this statement
    struct Taken {
      ExprId test;
      ExprId runs;  // with those of all around
    };
    std::vector<Taken> open;    // the `if`s
    std::vector<Store> stores;  // that are still to be written
  };
  bool differs(ExprId id) const { return differences_.exprs[id.index]; }
  bool differs(LocalId id) const { return differences_.locals[id.index]; }
  bool parts() const { return !copies_[0].open.empty(); }

  // What has to hold for an invocation to be here, if anything.
  static ExprId condition(const Copy& copy) {
    return copy.open.empty() ? copy.exists : copy.open.back().runs;
  }

  // Whether it is 0 or 1, or a local that may be.
  bool is_truth(ExprId id, int depth = 0) const {
    const Expr& expr = draft_.body()[id];
    if (expr.op == Operation::BitAnd || expr.op == Operation::BitOr) {
      return depth < kMaxDepth && is_truth(expr.args[0], depth + 1) &&
             is_truth(expr.args[1], depth + 1);
    }
    return expr.op == Operation::Local || gives_truth(expr.op);
  }
  // As a u32 that is compared once.
  ExprId test(ExprId value) {
    if (make_.type(value) == DataType::Bool) return make_.cast(DataType::U32, value);
    return is_truth(value) ? value : make_.make(Operation::Ne, {value, f_.number(0)});
  }

  // The index of an access, and nowhere where the condition does not hold. An invocation without a
  // workgroup does no harm in workgroup memory where one that has a workgroup goes too.
  ExprId guarded(const Copy& copy, BufferId buffer, ExprId source, ExprId index) {
    const bool is_own =
        is_workgroup(draft_.from().buffers[buffer.index]) && copy.open.empty() && !differs(source);
    return f_.when(is_own ? ExprId{} : condition(copy), index);
  }

  ExprId value(Copy& copy, ExprId root) {
    return copy_expr(draft_, root, copy.memo,
                     [&](ExprId id, const Expr& expr, std::span<const ExprId> args) -> ExprId {
                       touched_.push_back(id);
                       const bool is_own = expr.detail == differences_.axis;
                       if (expr.op == Operation::InvocationId && is_own) return copy.invocation;
                       if (expr.op == Operation::WorkgroupId && is_own) return copy.workgroup;
                       if (expr.op == Operation::Local) return make_.local(copy.locals[expr.imm]);
                       if (expr.op != Operation::Load) return {};
                       const BufferId own{expr.imm};
                       const ExprId index = guarded(copy, own, expr.args[0], args[0]);
                       return f_.load(copy.buffers[own.index], index);
                     });
  }

  // Loads that are the same for all, once.
  void share_loads(const Stmt& stmt) {
    if (copies_.size() == 1) return;
    std::vector<ExprId> stack;
    for (ExprId root : roots(stmt)) stack.push_back(root);
    std::ranges::reverse(stack);
    while (!stack.empty()) {
      const ExprId id = stack.back();
      stack.pop_back();
      if (!loads_[id.index] || copies_[0].memo[id.index].exists()) continue;
      if (differs(id)) {
        for (ExprId arg : operands(body_, body_[id])) stack.push_back(arg);
        continue;
      }
      const ExprId shared = f_.bind("same", value(copies_[0], id));
      touched_.push_back(id);
      for (Copy& copy : copies_) copy.memo[id.index] = shared;
    }
  }

  void forget() {
    for (ExprId id : touched_) {
      for (Copy& copy : copies_) copy.memo[id.index] = {};
    }
    touched_.clear();
  }

  // A local that a statement declares, as that of a copy.
  LocalId declare(Copy& copy, LocalId local) {
    if (&copy != &copies_[0] || is_again_) {
      copy.locals[local.index] = draft_.declare(body_[local].name, draft_.type(local));
    }
    return copy.locals[local.index];
  }

  // Where a store or an atomic goes.
  ExprId place(Copy& copy, BufferId buffer, ExprId source) {
    const ExprId index = value(copy, source);
    return guarded(copy, buffer, source, loads_[source.index] ? bound_first(source, index) : index);
  }
  // What it takes.
  ExprId input(Copy& copy, ExprId source) { return bound_first(source, value(copy, source)); }
  // Before what is stored: all copies load first.
  ExprId bound_first(ExprId source, ExprId value) {
    const bool is_leaf = operands(body_, body_[source]).empty();
    return copies_.size() == 1 || is_leaf ? value : f_.bind("value", value);
  }

  // In all copies, or once where they do the same.
  template <class Each>
  void each(bool differs, Each each) {
    for (Copy& copy : copies_) {
      each(copy);
      if (!differs) return;
    }
  }

  void statement(StmtId id) {
    const Stmt& stmt = body_[id];
    if (!copies_[0].invocation.exists() && !parts() && !opens(id)) return draft_.put(stmt);
    const auto sees = [&](ExprId root) { return sees_[root.index]; };
    if (!std::holds_alternative<Store>(stmt) || std::ranges::any_of(roots(stmt), sees)) flush();
    share_loads(stmt);
    const auto put_once = [&] {
      draft_.put(with_roots(stmt, [&](ExprId root) { return value(copies_[0], root); }));
    };
    visit(
        stmt,
        [&](const Let& let) {
          each(differs(let.local), [&](Copy& copy) {
            const ExprId given = value(copy, let.value);
            draft_.add(Let{declare(copy, let.local), given});
          });
        },
        [&](const Assign& assign) {
          each(differs(assign.local), [&](Copy& copy) { give(copy, assign); });
        },
        [&](const Store& store) { put_store(store); },
        [&](const Atomic& atomic) { put_atomic(atomic); },
        [&](const If& branch) {
          if (!opens(id)) return put_once();
          for (Copy& copy : copies_) {
            const ExprId taken = f_.bind("taken", test(value(copy, branch.condition)));
            const ExprId around = condition(copy);
            copy.open.push_back(
                {taken, around.exists() ? f_.bind("runs", f_.both(around, taken)) : taken});
          }
        },
        [&](const For&) { put_once(); }, [&](const Block&) { put_once(); },
        [&](const Break&) { put_once(); }, [&](const Return&) { put_once(); },
        [&](const Barrier&) { put_once(); }, [&](const Collective& all) { put_collective(all); },
        Nothing<SetElement, Continue>{});
  }
  bool opens(StmtId id) const { return differences_.stmts[id.index]; }

  void leave(const OpenBlock& closed, const OpenBlock& now) {
    flush();
    const bool goes_on = is_else_of(now, closed);
    if (!opens(StmtId{closed.owner})) {
      goes_on ? draft_.else_begins() : draft_.close();
      return;
    }
    for (Copy& copy : copies_) {
      const ExprId taken = copy.open.back().test;
      copy.open.pop_back();
      if (!goes_on) continue;
      const ExprId other = make_.make(Operation::LogicalNot, {taken});
      copy.open.push_back({taken, f_.bind("runs", f_.both(condition(copy), other))});
    }
  }

  void give(Copy& copy, const Assign& assign) {
    const LocalId local = copy.locals[assign.local.index];
    ExprId given = value(copy, assign.value);
    if (parts()) {
      given = make_.make(Operation::Select, {condition(copy), given, make_.local(local)});
    }
    draft_.add(Assign{local, given});
  }

  void put_store(const Store& store) {
    const bool is_same = is_workgroup(draft_.from().buffers[store.buffer.index]) &&
                         !differences_.buffers[store.buffer.index];
    each(!is_same, [&](Copy& copy) {
      const ExprId index = place(copy, store.buffer, store.index);
      copy.stores.push_back({copy.buffers[store.buffer.index], index, input(copy, store.value)});
    });
  }
  // Stores in a row wait for what all copies load, and those of one copy stay together: neighbours
  // may be one wide access.
  void flush() {
    for (Copy& copy : copies_) {
      for (const Store& store : copy.stores) draft_.add(store);
      copy.stores.clear();
    }
  }

  void put_atomic(const Atomic& atomic) {
    std::vector<Atomic> all;
    for (Copy& copy : copies_) {
      Atomic own = atomic;
      own.index = place(copy, atomic.buffer, atomic.index);
      if (atomic.expected.exists()) own.expected = input(copy, atomic.expected);
      if (atomic.value.exists()) own.value = input(copy, atomic.value);
      if (atomic.result.exists()) own.result = declare(copy, atomic.result);
      all.push_back(own);
    }
    for (const Atomic& each : all) draft_.add(each);
  }

  // Side by side, with what they take before all of them: they may wait together.
  void put_collective(const Collective& collective) {
    std::vector<Collective> all;
    each(differs(collective.result), [&](Copy& copy) {
      Collective own = collective;
      own.value = input(copy, collective.value);
      if (own.invocation.exists()) own.invocation = input(copy, collective.invocation);
      own.result = declare(copy, collective.result);
      all.push_back(own);
    });
    for (const Collective& each : all) draft_.add(each);
  }

  Formulas f_;
  Draft& draft_;
  Simplifier& make_;
  const Body& body_;
  const Differences& differences_;
  const std::vector<bool> loads_;  // by expression: whether there is one in it
  const std::vector<bool> sees_;   // and whether it may see what is stored
  std::vector<Copy> copies_;
  std::vector<ExprId> touched_;
  bool is_again_ = false;
};

void Writer::begin_neighbours(ExprId first, bool is_again) {
  is_again_ = is_again;
  for (std::uint32_t k = 0; k < copies_.size(); ++k) {
    copies_[k].invocation = k == 0 ? first : f_.bind("invocation_x", f_.sum(first, k));
  }
}

void Writer::begin(Shaped& shaped, bool ends) {
  const std::uint32_t axis = differences_.axis;
  const std::uint32_t size = shaped.program.workgroup_size[axis];
  const std::string name(1, "xyz"[axis]);
  const auto is_used = [&](Operation op) {
    return std::ranges::any_of(
        body_.exprs, [&](const Expr& expr) { return expr.op == op && expr.detail == axis; });
  };
  const auto word = [&](std::uint32_t limit) {
    return f_.load(shaped.launch.uniform, f_.number(limit));
  };
  const ExprId group = f_.id(Operation::WorkgroupId, axis);
  const ExprId first = f_.bind("invocation_" + name, f_.sum(f_.times(group, kCopies * size),
                                                            f_.id(Operation::LocalId, axis)));
  if (ends) f_.end_if(make_.make(Operation::Gt, {first, word(0)}));
  for (std::uint32_t k = 0; k < kCopies; ++k) {
    Copy& copy = copies_[k];
    copy.invocation = first;
    if (k > 0) {
      const auto limit = static_cast<std::uint32_t>(shaped.launch.limits.size()) - kCopies + k;
      copy.exists = f_.bind("exists", f_.less(first, word(limit)));
      if (is_used(Operation::InvocationId)) {
        copy.invocation = f_.bind("invocation_" + name, f_.sum(first, k * size));
      }
    }
    if (is_used(Operation::WorkgroupId)) {
      copy.workgroup = f_.bind("workgroup_" + name, f_.sum(f_.times(group, kCopies), k));
    }
  }
}

// A program without the guard of merged workgroups; `ends` whether it had one.
std::optional<Shaped> coarsen_neighbours(const Program& plain, const LaunchShape& launch,
                                         bool ends) {
  const Neighbours neighbours = find_neighbours(plain, launch);
  const std::uint32_t count = neighbours.count;
  if (count == 0) return std::nullopt;
  const std::array<std::uint32_t, 3> size = plain.workgroup_size;
  Shaped coarse{regrouped(plain, {size[0] * count, size[1], size[2]}), launch};
  const std::optional<Differences> together = Finder(coarse.program, 0, count).find();
  if (!together) return std::nullopt;
  Differences alone = *together;
  alone.count = 1;
  alone.stmts.assign(alone.stmts.size(), false);
  coarse.program.workgroup_size = size;
  const std::uint32_t limit = ends ? 0 : add_limit(coarse, {});
  coarse.launch.copies = count;
  coarse.launch.groups[0] *= count;
  Draft draft(coarse.program, kFold | kAlgebra);
  Formulas f{draft};
  const ExprId thread =
      f.sum(f.times(f.id(Operation::WorkgroupId), size[0]), f.id(Operation::LocalId));
  const ExprId first = f.bind("invocation_x", f.times(thread, count));
  // The dispatch has all neighbours or none.
  f.end_if(f.less(f.load(coarse.launch.uniform, f.number(limit)), first));
  ExprId inside;
  for (const BufferId buffer : neighbours.buffers) {
    const ExprId length = f.make.make(Operation::Length, 0, buffer.index, {});
    inside = f.both(inside, f.less(f.sum(first, count - 1), length));
  }
  draft.open(If{inside, {}, {}});
  Writer all(draft, *together);
  all.begin_neighbours(first, false);
  all.run();
  draft.else_begins();
  const ExprId next = f.open_loop("next", count);
  Writer each(draft, alone);
  each.begin_neighbours(f.bind("invocation_x", f.sum(first, next)), true);
  each.run();
  draft.close();
  draft.close();
  coarse.program = std::move(draft).finish();
  const Pass* const passes[] = {find_pass("decide"), find_pass("strength")};
  coarse.program = optimise(std::move(coarse.program), passes);
  return coarse;
}

}  // namespace

std::optional<Shaped> coarsen(const Shaped& from, const GpuLimits& limits) {
  if (from.launch.copies > 1 || from.launch.steps > 1) return std::nullopt;
  const bool ends = !from.program.body.stmts.empty() && is_end(from, StmtId{0u});
  Program plain = from.program;
  if (ends) {
    Draft draft(from.program, kNothing);
    CopyStatements rest{draft, 1};
    rewrite(draft, rest);
    plain = std::move(draft).finish();
  } else if (!from.launch.limits.empty()) {
    return std::nullopt;
  }
  if (auto neighbours = coarsen_neighbours(plain, from.launch, ends)) return neighbours;
  const std::optional<Differences> differences = find_several(plain, limits);
  if (!differences) return std::nullopt;
  Shaped coarse{plain, from.launch};
  const std::uint32_t axis = differences->axis;
  for (std::uint32_t k = 1; k < kCopies; ++k) {
    add_limit(coarse, {axis, k * plain.workgroup_size[axis]});
  }
  std::vector<std::pair<BufferId, BufferId>> own;  // three for each buffer that differs
  for (std::size_t i = 0; i < plain.buffers.size(); ++i) {
    if (!differences->buffers[i]) continue;
    for (std::uint32_t k = 1; k < kCopies; ++k) {
      own.emplace_back(BufferId{i}, add_buffer(coarse.program, plain.buffers[i]));
    }
  }
  coarse.launch.copies = kCopies;
  coarse.launch.groups[axis] *= kCopies;
  Draft draft(coarse.program, kFold | kAlgebra);
  Writer writer(draft, *differences);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto copy = static_cast<std::uint32_t>(1 + i % (kCopies - 1));
    writer.use_buffer(copy, own[i].first, own[i].second);
  }
  writer.begin(coarse, ends);
  writer.run();
  coarse.program = std::move(draft).finish();
  const std::uint64_t taken = limits.collectives ? 0 : collective_bytes(coarse.program);
  if (taken > 0 && workgroup_bytes(coarse.program) + taken > limits.memory) return std::nullopt;
  return coarse;
}

std::optional<Program> predicate(const Program& program) {
  Differences differences;
  differences.stmts = short_ifs(program);
  if (std::ranges::find(differences.stmts, true) == differences.stmts.end()) return std::nullopt;
  differences.exprs.resize(program.body.exprs.size());
  differences.locals.resize(program.body.locals.size());
  differences.buffers.resize(program.buffers.size());
  Draft draft(program, kFold | kAlgebra);
  Writer(draft, differences).run();
  return std::move(draft).finish();
}

}  // namespace vyre
