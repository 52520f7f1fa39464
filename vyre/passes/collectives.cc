#include "vyre/passes/collectives.h"

#include <algorithm>
#include <map>
#include <set>

#include "vyre/ir/eval.h"
#include "vyre/ir/uniformity.h"
#include "vyre/passes/formulas.h"
#include "vyre/passes/launch.h"

namespace vyre {
namespace {

constexpr std::uint32_t kWord = 4;            // bytes
constexpr std::uint32_t kFew = 16;            // values that every invocation combines itself
constexpr std::uint64_t kEverywhere = 16384;  // bytes of workgroup memory that all devices have

std::uint32_t threads_of(const Program& program) {
  return static_cast<std::uint32_t>(invocations_of(program));
}

// --- Which of them share barriers ---------------------------------------------------------------

// A collective, and where its values lie.
struct Member {
  const Collective& source;
  const CollectiveInfo& row;
  DataType type;
  std::uint32_t at;      // the first word
  std::uint32_t values;  // the high words of a u64 are so many behind the low ones

  std::uint32_t end() const { return at + values * stride(type) / kWord; }
};

struct Together {
  std::vector<Member> members;
  bool waits = false;  // what is in memory may still be read
};
using Groups = std::map<StmtId, Together>;  // by the first of them

class Grouping {
 public:
  explicit Grouping(const Program& program)
      : program_(program),
        body_(program.body),
        types_(types_of(body_, program.buffers, {}, {})),
        sees_(spread(body_, [&](const Expr& expr) { return is_volatile(program, expr); })) {
    most_ = (kEverywhere - std::min(workgroup_bytes(program), kEverywhere)) / kWord;
  }

  Groups find(bool uniform_loads) const {
    Groups groups;
    walk(
        [&](StmtId id, StmtId end) -> std::uint32_t {
          Together together = from(id, end);
          const auto count = static_cast<std::uint32_t>(together.members.size());
          if (count > 0) groups.emplace(id, std::move(together));
          return count;
        },
        [] {});
    find_waits(groups, uniform_loads);
    return groups;
  }

 private:
  // visit(id, end) for each statement, in a block that ends there, says how many it is about.
  // closed() is called where a block ends.
  template <class Visit, class Closed>
  void walk(Visit visit, Closed closed) const {
    BlockStack<OpenBlock> stack(body_);
    for (StmtId id{0u}; id.index < body_.stmts.size();) {
      stack.enter(id.index, [&](const OpenBlock&, const OpenBlock&) { closed(); });
      const std::uint32_t count = visit(id, StmtId{stack.back().end});
      if (count == 0) stack.open(id.index);
      id.index += std::max(count, 1u);
    }
  }

  // Where what the last ones left may still be read. A result that is the same for all is loaded by
  // all at once, and last, where the target has such loads.
  void find_waits(Groups& groups, bool uniform_loads) const {
    const auto leaves = [&](const Together& together) {
      return !uniform_loads || std::ranges::none_of(together.members, [](const Member& each) {
        return each.row.is_uniform();
      });
    };
    const bool any_leaves =
        std::ranges::any_of(groups, [&](const auto& each) { return leaves(each.second); });
    bool any = false;  // so far
    bool is_read = false;
    walk(
        [&](StmtId id, StmtId) -> std::uint32_t {
          if (std::holds_alternative<Barrier>(body_[id])) is_read = false;
          if (std::holds_alternative<For>(body_[id]))
            is_read = any = any || any_leaves;  // a round before
          const auto found = groups.find(id);
          if (found == groups.end()) return 0;
          Together& together = found->second;
          together.waits = is_read;
          is_read = leaves(together);
          any = any || is_read;
          return static_cast<std::uint32_t>(together.members.size());
        },
        [&] { is_read = any; });
  }

  // Those from a statement on that take what is known before the first of them.
  Together from(StmtId first, StmtId end) const {
    Together together;
    std::set<LocalId> results;
    std::uint32_t at = 0;
    for (StmtId id = first; id < end; ++id.index) {
      const Collective* one = std::get_if<Collective>(&body_[id]);
      if (one == nullptr) break;
      const CollectiveInfo& row = info(one->op);
      const std::uint32_t values = row.shape == CollectiveShape::One ? 1 : threads_of(program_);
      const Member member{*one, row, types_[one->result], at, values};
      if (id != first && (member.end() > most_ || !is_known(body_[id], results))) break;
      at = member.end();
      together.members.push_back(member);
      results.insert(one->result);
    }
    return together;
  }
  bool is_known(const Stmt& stmt, const std::set<LocalId>& results) const {
    return std::ranges::none_of(roots(stmt), [&](ExprId id) { return sees_[id.index]; }) &&
           std::ranges::none_of(read_locals(body_, stmt),
                                [&](LocalId id) { return results.contains(id); });
  }

  const Program& program_;
  const Body& body_;
  const Types types_;
  const std::vector<bool> sees_;  // by expression: whether it may see what is stored
  std::uint64_t most_ = 0;        // words for several
};

std::uint32_t memory_words(const Groups& groups) {
  std::uint32_t words = 0;
  for (const auto& [first, together] : groups) {
    words = std::max(words, together.members.back().end());
  }
  return words;
}

// --- Writing them -------------------------------------------------------------------------------

// How many values the first invocations combine each. An odd number, so that those which they load
// at once lie in different banks of the memory.
std::uint32_t stretch_of(std::uint32_t threads) {
  if (threads <= kFew) return 1;
  std::uint32_t stretch = 3;
  while (stretch * stretch < threads) stretch += 2;
  return stretch;
}

class Writer {
 public:
  Writer(Draft& draft, const Groups& groups, BufferId memory, bool uniform_loads)
      : f_{draft},
        draft_(draft),
        groups_(groups),
        memory_(memory),
        uniform_loads_(uniform_loads),
        threads_(f_.threads()),
        stretch_(stretch_of(threads_)),
        stretches_((threads_ + stretch_ - 1) / stretch_) {}

  void run() {
    if (threads_ > 1) rank_ = bound("rank", f_.thread());
    rewrite(draft_, *this);
  }

  Keep statement(StmtId id, const Stmt& stmt) {
    const auto found = groups_.find(id);
    if (found != groups_.end()) {
      threads_ > 1 ? write(found->second) : write_alone(found->second);
    } else if (!std::holds_alternative<Collective>(stmt)) {
      draft_.put(stmt);
    }
    return Keep::All;
  }

 private:
  // What a member has become so far.
  struct State {
    const Member& member;
    ExprId chosen;  // the invocation
  };
  using States = std::vector<State>;

  ExprId bound(std::string_view name, ExprId value) {
    return operands(draft_.body(), draft_.body()[value]).empty() ? value : f_.bind(name, value);
  }
  ExprId exists(const State& state) { return f_.less(state.chosen, f_.number(threads_)); }
  ExprId combined(const Member& member, ExprId a, ExprId b) {
    return f_.make.make(member.row.operation, {a, b});
  }
  ExprId nothing(const Member& member) {
    return f_.make.constant(member.type, collective_identity(member.source.op, member.type));
  }
  ExprId local_of_type(const Member& member, std::string_view name, ExprId begin) {
    const LocalId local = draft_.declare(name, member.type);
    draft_.add(Let{local, begin});
    return f_.make.local(local);
  }
  void assign(ExprId local, ExprId value) {
    draft_.add(Assign{LocalId{draft_.body()[local].imm}, value});
  }

  // A value of a member from its words, and back; under a condition, if there is one.
  ExprId value_of(DataType type, ExprId low, ExprId high) {
    if (type != DataType::U64) return f_.make.cast(type, low);
    const ExprId moved =
        f_.make.make(Operation::Shl, {f_.make.cast(type, high), f_.number(kWord * 8)});
    return f_.make.make(Operation::BitOr, {f_.make.cast(type, low), moved});
  }
  ExprId word(const Member& member, ExprId condition, ExprId number, bool is_high) {
    return f_.when(condition, f_.sum(number, member.at + (is_high ? member.values : 0)));
  }
  ExprId load(const Member& member, ExprId number, ExprId condition = {}) {
    const auto part = [&](bool is_high) {
      return f_.load(memory_, word(member, condition, number, is_high));
    };
    const ExprId low = part(false);
    return value_of(member.type, low, member.type == DataType::U64 ? part(true) : low);
  }
  void store(const Member& member, ExprId number, ExprId value, ExprId condition = {}) {
    const auto part = [&](bool is_high, ExprId from) {
      draft_.add(Store{memory_, word(member, condition, number, is_high),
                       f_.make.cast(DataType::U32, from)});
    };
    part(false, value);
    if (member.type != DataType::U64) return;
    part(true, f_.make.make(Operation::Shr, {value, f_.number(kWord * 8)}));
  }

  // Of workgroups of one invocation.
  void write_alone(const Together& together) {
    for (const Member& member : together.members) {
      const Collective& source = member.source;
      ExprId result = source.value;
      if (member.row.shape == CollectiveShape::Before) result = nothing(member);
      if (member.row.chooses()) {
        const ExprId exists = f_.less(source.invocation, f_.number(1));
        result = f_.make.make(Operation::Select, {exists, result, nothing(member)});
      }
      draft_.add(Let{source.result, result});
    }
  }

  void write(const Together& together) {
    States states;
    States all;
    States before;
    for (const Member& member : together.members) {
      const bool chooses = member.row.chooses();
      const State state{member, chooses ? bound("chosen", member.source.invocation) : ExprId{}};
      states.push_back(state);
      if (member.row.shape == CollectiveShape::All) all.push_back(state);
      if (member.row.shape == CollectiveShape::Before) before.push_back(state);
    }
    if (together.waits) draft_.add(Barrier{});
    for (const State& state : states) give(state);
    draft_.add(Barrier{});
    if (stretch_ > 1 && !(all.empty() && before.empty())) combine_stretches(all, before);
    finish_scans(before);
    if (!uniform_loads_) finish_sums(all);
    if (uniform_loads_ && !all.empty()) {
      draft_.open(If{f_.make.make(Operation::Eq, {rank_, f_.number(0)}), {}, {}});
      finish_sums(all);
      draft_.close();
      draft_.add(Barrier{});
    }
    for (const State& state : states) {
      if (state.chosen.exists()) take(state);
    }
    for (const State& state : states) {
      if (uniform_loads_ && state.member.row.is_uniform()) take_together(state);
    }
  }

  void give(const State& state) {
    const Member& member = state.member;
    const ExprId value = bound("given", member.source.value);
    if (member.row.shape != CollectiveShape::One) return store(member, rank_, value);
    store(member, f_.number(0), value, f_.make.make(Operation::Eq, {rank_, state.chosen}));
  }

  // Each of the first invocations leaves what a stretch has together in the place of its first
  // value; of a scan, what is before each of the others in theirs.
  void combine_stretches(const States& all, const States& before) {
    draft_.open(If{f_.less(rank_, f_.number(stretches_)), {}, {}});
    const ExprId first = f_.bind("first", f_.times(rank_, stretch_));
    const ExprId end = f_.make.make(Operation::Min, {f_.sum(first, stretch_), f_.number(threads_)});
    std::vector<ExprId> sums;
    const auto begin = [&](const States& states) {
      for (const State& state : states) {
        sums.push_back(local_of_type(state.member, "sum", load(state.member, first)));
      }
    };
    begin(all);
    begin(before);
    const LocalId number = draft_.declare("at", DataType::U32);
    draft_.open(For{number, f_.sum(first, 1), end, {}});
    const ExprId at = f_.make.local(number);
    std::size_t next = 0;
    for (const State& state : all) {
      const ExprId sum = sums[next++];
      assign(sum, combined(state.member, sum, load(state.member, at)));
    }
    for (const State& state : before) {
      const ExprId sum = sums[next++];
      const ExprId given = f_.bind("given", load(state.member, at));
      store(state.member, at, sum);
      assign(sum, combined(state.member, sum, given));
    }
    draft_.close();
    next = 0;
    for (const State& state : all) store(state.member, first, sums[next++]);
    for (const State& state : before) store(state.member, first, sums[next++]);
    draft_.close();
    draft_.add(Barrier{});
  }

  ExprId open_stretches(std::uint32_t from, ExprId to) {
    const LocalId number = draft_.declare("stretch", DataType::U32);
    draft_.open(For{number, f_.number(from), to, {}});
    return f_.times(f_.make.local(number), stretch_);
  }

  // What all stretches have together: the result, or left for take_together().
  void finish_sums(const States& states) {
    if (states.empty()) return;
    std::vector<ExprId> sums;
    for (const State& state : states) {
      const ExprId first = load(state.member, f_.number(0));
      if (uniform_loads_) {
        sums.push_back(local_of_type(state.member, "sum", first));
      } else {
        draft_.add(Let{state.member.source.result, first});
        sums.push_back(f_.make.local(state.member.source.result));
      }
    }
    const ExprId at = open_stretches(1, f_.number(stretches_));
    for (std::size_t i = 0; i < states.size(); ++i) {
      assign(sums[i], combined(states[i].member, sums[i], load(states[i].member, at)));
    }
    draft_.close();
    if (!uniform_loads_) return;
    for (std::size_t i = 0; i < states.size(); ++i) {
      store(states[i].member, f_.number(0), sums[i]);
    }
  }

  // The stretches before its own, and those before it there.
  void finish_scans(const States& states) {
    if (states.empty()) return;
    const ExprId own = bound("own", f_.make.make(Operation::Div, {rank_, f_.number(stretch_)}));
    for (const State& state : states) {
      draft_.add(Let{state.member.source.result, nothing(state.member)});
    }
    const ExprId at = open_stretches(0, own);
    for (const State& state : states) {
      const ExprId sum = f_.make.local(state.member.source.result);
      assign(sum, combined(state.member, sum, load(state.member, at)));
    }
    draft_.close();
    if (stretch_ == 1) return;
    const ExprId is_first =
        f_.bind("is_first", f_.make.make(Operation::Eq, {rank_, f_.times(own, stretch_)}));
    for (const State& state : states) {
      const ExprId sum = f_.make.local(state.member.source.result);
      const ExprId both = combined(state.member, sum, load(state.member, rank_));
      assign(sum, f_.make.make(Operation::Select, {is_first, sum, both}));
    }
  }

  // The value of one invocation; 0 where there is none.
  void take(const State& state) {
    const Member& member = state.member;
    const bool is_one = member.row.shape == CollectiveShape::One;
    if (is_one && uniform_loads_) return;
    const ExprId number = is_one ? f_.number(0) : state.chosen;
    draft_.add(Let{member.source.result, load(member, number, exists(state))});
  }

  void take_together(const State& state) {
    const Member& member = state.member;
    const bool is_all = member.type == DataType::U32 && !state.chosen.exists();
    const auto part = [&](bool is_high) {
      const LocalId local = is_all ? member.source.result : draft_.declare("same", DataType::U32);
      draft_.add(Collective{CollectiveOp::Broadcast, local,
                            f_.load(memory_, word(member, {}, f_.number(0), is_high)),
                            f_.number(0)});
      return f_.make.local(local);
    };
    const ExprId low = part(false);
    if (is_all) return;
    ExprId result = value_of(member.type, low, member.type == DataType::U64 ? part(true) : low);
    if (state.chosen.exists()) {
      result = f_.make.make(Operation::Select, {exists(state), result, nothing(member)});
    }
    draft_.add(Let{member.source.result, result});
  }

  Formulas f_;
  Draft& draft_;
  const Groups& groups_;
  const BufferId memory_;
  const bool uniform_loads_;
  const std::uint32_t threads_;
  const std::uint32_t stretch_;    // values that one invocation combines first
  const std::uint32_t stretches_;  // of a workgroup
  ExprId rank_;                    // of the invocation in its workgroup
};

// In front of the memory that invocations have for themselves, which stays the last.
BufferId add_memory(Program& program, std::uint32_t words) {
  const std::size_t at = count_declared(program.buffers);
  add_buffer(program, BufferDecl::workgroup("collectives", DataType::U32, words));
  std::vector<BufferDecl>& all = program.buffers;
  std::rotate(all.begin() + static_cast<std::ptrdiff_t>(at), all.end() - 1, all.end());
  for_each_buffer(program.body, [&](std::uint32_t& buffer) { buffer += buffer >= at ? 1 : 0; });
  return BufferId{at};
}

Program rewritten(const Program& program, bool uniform_loads) {
  const Groups groups = Grouping(program).find(uniform_loads);
  Program with_memory = program;
  BufferId memory;
  if (threads_of(program) > 1) memory = add_memory(with_memory, memory_words(groups));
  Draft draft(with_memory, kFold | kAlgebra);
  Writer(draft, groups, memory, uniform_loads).run();
  Program result = std::move(draft).finish();
  name_apart(result);
  return result;
}

// Whether it can be told that all invocations reach each barrier together.
bool waits_together(const Program& program) {
  const Uniformity uniformity = uniformity_of(program.body, program.buffers);
  for (StmtId id{0u}; id.index < program.body.stmts.size(); ++id.index) {
    if (waits(program.body[id]) && !uniformity[id]) return false;
  }
  return true;
}

bool has_collectives(const Program& program) {
  return std::ranges::any_of(program.body.stmts, [](const Stmt& stmt) {
    return std::holds_alternative<Collective>(stmt);
  });
}

}  // namespace

Program without_collectives(const Program& program, bool uniform_loads) {
  if (!has_collectives(program)) return program;
  Program loaded = rewritten(program, false);
  if (!uniform_loads || waits_together(loaded)) return loaded;
  return rewritten(program, true);
}

std::uint64_t collective_bytes(const Program& program) {
  if (!has_collectives(program) || threads_of(program) == 1) return 0;
  return std::uint64_t{memory_words(Grouping(program).find(false))} * kWord;
}

}  // namespace vyre
