#include "vyre/interp/race.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <unordered_map>

#include "vyre/base/zeroed.h"
#include "vyre/interp/groups.h"
#include "vyre/interp/interp.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

constexpr std::size_t kKinds = 4;

// Which accesses by two invocations conflict when nothing orders them.
constexpr bool conflict(AccessKind a, AccessKind b) {
  if (a == AccessKind::Write || b == AccessKind::Write) return true;
  const auto is = [&](AccessKind one, AccessKind other) {
    return (a == one && b == other) || (a == other && b == one);
  };
  return is(AccessKind::Read, AccessKind::Atomic);
}

// A place of the program that accesses memory: a node of its script, or after them a statement.
using Place = std::uint32_t;

// Calls access(kind, buffer, index, place) of the watch for each access inside the bounds.
template <class Watch>
class AccessWatch : public NoWatch {
 public:
  explicit AccessWatch(const Script& script) : script_(script) {}

  void switch_to(std::uint32_t slot) { slot_ = slot; }
  void begin_step(const Step& step, std::uint32_t invocation) {
    stmt_ = step.stmt;
    invocation_ = invocation;
  }
  void load(const Node& node, std::uint32_t index, bool inside, const Bits&) {
    const auto place = static_cast<Place>(&node - script_.body.nodes.data());
    if (inside) self().access(AccessKind::Read, node.imm, index, place);
  }
  void store(const Step& step, std::uint32_t index, bool inside, const Bits&) {
    if (inside) self().access(AccessKind::Write, step.buffer.index, index, place_of(step));
  }
  void atomic(const Step& step, std::uint32_t index, bool inside, std::uint32_t, std::uint32_t) {
    const AccessKind kind =
        step.atomic == AtomicOp::Load ? AccessKind::AtomicLoad : AccessKind::Atomic;
    if (inside) self().access(kind, step.buffer.index, index, place_of(step));
  }

 protected:
  const Script& script_;
  std::uint32_t slot_ = 0;
  std::uint32_t stmt_ = 0;
  std::uint32_t invocation_ = 0;

 private:
  Watch& self() { return static_cast<Watch&>(*this); }
  Place place_of(const Step& step) const {
    return static_cast<Place>(script_.body.nodes.size()) + step.stmt;
  }
};

// --- The detecting run --------------------------------------------------------------------------

// Who made the accesses of one kind: nobody (0), one (its number, from 1 on), or several.
using Who = std::uint32_t;
constexpr Who kSeveral = std::numeric_limits<Who>::max();

inline void enter(Who& who, Who number) { who = who == 0 || who == number ? number : kSeveral; }
inline bool has_another(Who who, Who number) { return who != 0 && who != number; }

struct Shadow {
  std::uint32_t epoch;   // in which `invocations` were entered
  std::uint32_t places;  // one bit for each that accessed it, shared by several in long programs
  std::array<Who, kKinds> invocations;  // of one workgroup, since its last barrier
  std::array<Who, kKinds> groups;       // in the whole run
};
static_assert(sizeof(Shadow) <= 40);

constexpr std::uint32_t kRacy = std::uint32_t{1} << 31;  // among the bits of `places`

constexpr std::uint32_t place_bit(Place place) { return std::uint32_t{1} << place % 31; }

// The shadow of one buffer; none for a buffer that nobody writes.
struct ShadowBuffer {
  ZeroedArray<Shadow> elements;
  std::uint64_t racy = 0;  // elements
  bool shared = false;     // by workgroups
};

class RaceWatch : public AccessWatch<RaceWatch> {
 public:
  using AccessWatch::AccessWatch;

  std::vector<ShadowBuffer> buffers;
  std::uint64_t racy() const {  // elements
    std::uint64_t sum = 0;
    for (const ShadowBuffer& buffer : buffers) sum += buffer.racy;
    return sum;
  }

  void begin_group(const Ids&) {
    group_[slot_] = ++groups_;
    barrier();
  }
  void barrier() {
    epoch_[slot_] = ++epochs_;
    if (epochs_ != 0) return;
    // The numbers of epochs are used up: nothing entered so far belongs to one that follows.
    for (ShadowBuffer& buffer : buffers) {
      for (Shadow& shadow : buffer.elements.span()) shadow.epoch = 0;
    }
    for (std::uint32_t& epoch : epoch_) epoch = ++epochs_;
  }
  void access(AccessKind kind, std::uint32_t buffer, std::uint32_t index, Place place) {
    ShadowBuffer& shadows = buffers[buffer];
    if (shadows.elements.span().empty()) return;
    Shadow& shadow = shadows.elements.span()[index];
    const Who group = shadows.shared ? group_[slot_] : 1;
    const Who invocation = invocation_ + 1;
    if (shadow.epoch != epoch_[slot_]) {
      shadow.epoch = epoch_[slot_];
      shadow.invocations = {};
    }
    enter(shadow.invocations[static_cast<std::size_t>(kind)], invocation);
    enter(shadow.groups[static_cast<std::size_t>(kind)], group);
    shadow.places |= place_bit(place);
    for (std::size_t other = 0; other < kKinds; ++other) {
      if (!conflict(kind, static_cast<AccessKind>(other))) continue;
      if (has_another(shadow.invocations[other], invocation) ||
          has_another(shadow.groups[other], group)) {
        shadows.racy += (shadow.places & kRacy) == 0;
        shadow.places |= kRacy;
        return;
      }
    }
  }

 private:
  std::array<std::uint32_t, kMixedGroups> epoch_{};
  std::array<Who, kMixedGroups> group_{};
  std::uint32_t epochs_ = 0;
  Who groups_ = 0;
};

// --- The run that finds the witnesses -----------------------------------------------------------

bool is_across(const Race& race) { return race.first.workgroup != race.second.workgroup; }

class WitnessWatch : public AccessWatch<WitnessWatch> {
 public:
  WitnessWatch(const Script& script, const RaceWatch& detected) : AccessWatch(script) {
    constexpr std::uint64_t kMost = 1 << 14;
    constexpr std::uint64_t kFirst = 16;
    const std::vector<ShadowBuffer>& buffers = detected.buffers;
    const std::uint64_t racy = detected.racy();
    // By the places that accessed them: how often they were met. Of many, the first few of each
    // kind and then ever fewer are watched.
    std::unordered_map<std::uint64_t, std::uint64_t> met;
    for (std::uint32_t b = 0; b < buffers.size(); ++b) {
      const std::span<const Shadow> elements = buffers[b].elements.span();
      for (std::uint32_t i = 0; buffers[b].racy > 0 && i < elements.size(); ++i) {
        if ((elements[i].places & kRacy) == 0) continue;
        const std::uint64_t times = met[key(b, elements[i].places)]++;
        if (racy <= kMost || times < kFirst || (times & (times - 1)) == 0) watched_[key(b, i)] = {};
      }
    }
  }

  std::vector<Race> races;  // one for each pair of places, up to kMaxRaces
  std::uint64_t more = 0;   // pairs beyond those

  void begin_group(const Ids& group) {
    group_[slot_] = group;
    barrier();
  }
  void barrier() { epoch_[slot_] = ++epochs_; }
  void access(AccessKind kind, std::uint32_t buffer, std::uint32_t index, Place place);

 private:
  struct Seen {
    Access access;
    Place place;
    std::uint64_t epoch;
  };
  // Of each place, accesses by two invocations of the current epoch, and by two workgroups: if
  // that place conflicts with a new access, one of these does.
  struct Witnesses {
    std::vector<Seen> in_epoch;
    std::vector<Seen> in_groups;
  };

  static std::uint64_t key(std::uint32_t buffer, std::uint32_t index) {
    return std::uint64_t{buffer} << 32 | index;
  }

  Seen seen_now(AccessKind kind, Place place) const;
  void meet(const Race& race, Place first, Place second);
  static void keep(std::vector<Seen>& list, const Seen& now, Ids Access::* who);

  std::unordered_map<std::uint64_t, Witnesses> watched_;
  std::map<std::pair<Place, Place>, std::size_t> pairs_;  // with the index of their race
  std::array<Ids, kMixedGroups> group_{};
  std::array<std::uint64_t, kMixedGroups> epoch_{};
  std::uint64_t epochs_ = 0;
};

void WitnessWatch::access(AccessKind kind, std::uint32_t buffer, std::uint32_t index, Place place) {
  const auto found = watched_.find(key(buffer, index));
  if (found == watched_.end()) return;
  auto& [in_epoch, in_groups] = found->second;
  const Seen now = seen_now(kind, place);
  const auto meet_others = [&](const std::vector<Seen>& list, Ids Access::* who) {
    for (const Seen& seen : list) {
      if (seen.access.*who == now.access.*who || !conflict(kind, seen.access.kind)) continue;
      meet({BufferId{buffer}, index, seen.access, now.access, 0}, seen.place, place);
    }
  };
  std::erase_if(in_epoch, [&](const Seen& seen) { return seen.epoch != now.epoch; });
  meet_others(in_epoch, &Access::local);
  if (script_.program().buffers[buffer].access != BufferAccess::Workgroup) {
    meet_others(in_groups, &Access::workgroup);
  }
  keep(in_epoch, now, &Access::local);
  keep(in_groups, now, &Access::workgroup);
}

WitnessWatch::Seen WitnessWatch::seen_now(AccessKind kind, Place place) const {
  const std::vector<Node>& nodes = script_.body.nodes;
  const ExprId expr = place < nodes.size() ? ExprId{nodes[place].id} : ExprId{};
  const Ids& workgroup = group_[slot_];
  const Ids local = local_ids(script_.program(), invocation_);
  Ids global{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    global[axis] = workgroup[axis] * script_.program().workgroup_size[axis] + local[axis];
  }
  return {{kind, StmtId{stmt_}, expr, global, workgroup, local}, place, epoch_[slot_]};
}

// Two accesses that race.
void WitnessWatch::meet(const Race& race, Place first, Place second) {
  const auto [known, is_new] = pairs_.emplace(std::minmax(first, second), races.size());
  if (is_new && races.size() < kMaxRaces) return races.push_back(race);
  if (is_new) ++more;
  if (known->second >= kMaxRaces) return;
  // One across workgroups says more: no barrier helps.
  Race& shown = races[known->second];
  if (is_across(race) && !is_across(shown)) shown = race;
}

// Two of each place; of very many places, at least two of each kind of access, so that each element
// that races has a witness.
void WitnessWatch::keep(std::vector<Seen>& list, const Seen& now, Ids Access::* who) {
  std::size_t same_place = 0;
  std::size_t same_kind = 0;
  for (const Seen& seen : list) {
    const bool same = seen.access.*who == now.access.*who;
    if (seen.place == now.place && (same || ++same_place == 2)) return;
    if (seen.access.kind == now.access.kind && !same) ++same_kind;
  }
  if (list.size() < 2 * kMaxRaces || same_kind == 0) list.push_back(now);
}

// --- Both together ------------------------------------------------------------------------------

std::vector<bool> written_buffers(const Program& program) {
  std::vector<bool> written(program.buffers.size());
  for (const Stmt& stmt : program.body.stmts) {
    std::visit(
        [&](const auto& s) {
          if constexpr (requires { s.buffer; }) written[s.buffer.index] = true;
        },
        stmt);
  }
  return written;
}

// A copy of the buffers that a run may change.
class Copies {
 public:
  Copies(const Program& program, std::span<const Memory> buffers) : memories_(buffers.size()) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const BufferAccess access = program.buffers[i].access;
      if (!is_bound(access)) continue;
      memories_[i] = buffers[i];
      if (access != BufferAccess::ReadWrite) continue;
      memories_[i] = own_.emplace_back(buffers[i].begin(), buffers[i].end());
    }
  }
  std::span<const Memory> memories() const { return memories_; }

 private:
  std::vector<std::vector<std::byte>> own_;
  std::vector<Memory> memories_;
};

// Runs one schedule on `buffers`, which it changes, and finds the elements that race.
Result<RaceWatch> detect(const Script& script, const Grid& grid, std::span<const Memory> buffers,
                         const RunOptions& options) {
  const bool mixed = options.schedule.kind == Schedule::Kind::Mixed;
  const std::uint64_t groups = Groups(grid, {}).count();
  if (groups >= kSeveral - 1) return diagnose<message::too_many_workgroups>(groups);
  RaceWatch watch(script);
  std::uint64_t bytes = 0;
  const Program& program = script.program();
  const std::vector<bool> written = written_buffers(program);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const BufferDecl& buffer = program.buffers[i];
    ShadowBuffer& shadow = watch.buffers.emplace_back();
    shadow.shared = buffer.access != BufferAccess::Workgroup;
    // Workgroups that run at the same time have memory of their own; what of it races shows in the
    // other schedules.
    const bool own = buffer.access == BufferAccess::Private;  // by an invocation alone
    if (!written[i] || own || (mixed && !shadow.shared)) continue;
    const std::uint64_t length =
        shadow.shared ? buffers[i].size() / stride(buffer.element) : std::uint64_t{buffer.count};
    bytes += length * sizeof(Shadow);
    if (bytes > physical_memory() / 2 || !shadow.elements.allocate(length)) {
      return diagnose<message::out_of_memory>(length * sizeof(Shadow), "the race detector");
    }
  }
  const Result<RunStats> ran = run_watched(script, grid, buffers, options, watch);
  if (!ran) return ran.diagnostics();
  return watch;
}

// The two places of a race, whichever came first.
auto places_of(const Race& race) {
  const auto place = [](const Access& access) { return std::pair(access.stmt, access.expr); };
  const auto first = place(race.first);
  const auto second = place(race.second);
  return first < second ? std::pair(first, second) : std::pair(second, first);
}

// Runs one schedule on `buffers`, which it changes, and adds the races that are new.
Result<void> add_races(const Script& script, const Grid& grid, std::span<const Memory> initial,
                       std::span<const Memory> buffers, const RunOptions& options,
                       RaceReport& report) {
  const Result<RaceWatch> watch = detect(script, grid, buffers, options);
  if (!watch) return watch.diagnostics();
  report.racy_elements = std::max(report.racy_elements, watch->racy());
  if (watch->racy() == 0) return {};

  WitnessWatch witness(script, *watch);
  const Copies again(script.program(), initial);
  const Result<RunStats> ran_again = run_watched(script, grid, again.memories(), options, witness);
  if (!ran_again) return ran_again.diagnostics();
  assert(!witness.races.empty());
  for (Race& race : witness.races) {
    const auto same = [&](const Race& known) { return places_of(known) == places_of(race); };
    if (std::ranges::any_of(report.races, same)) continue;
    if (report.races.size() >= kMaxRaces) {
      ++witness.more;
      continue;
    }
    race.elements = watch->buffers[race.buffer.index].racy;
    report.races.push_back(race);
  }
  report.more_races = std::max(report.more_races, witness.more);
  return {};
}

void compare(const Program& program, std::span<const Memory> first, std::span<const Memory> second,
             const Schedule& first_schedule, const Schedule& second_schedule,
             std::vector<OrderDependence>& dependences) {
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const BufferDecl& buffer = program.buffers[i];
    if (buffer.access != BufferAccess::ReadWrite) continue;
    const auto known = [&](const OrderDependence& d) { return d.buffer == BufferId{i}; };
    if (std::ranges::any_of(dependences, known)) continue;
    const auto [a, b] = std::ranges::mismatch(first[i], second[i]);
    if (a == first[i].end()) continue;
    const auto index = static_cast<std::uint32_t>((a - first[i].begin()) / stride(buffer.element));
    const auto bits = [&](Memory memory) {
      if (is_narrow(buffer.element)) return load_element(buffer.element, memory, index);
      Bits value;
      std::memcpy(value.lanes.data(), &memory[std::size_t{index} * stride(buffer.element)],
                  stride(buffer.element));
      return value;
    };
    dependences.push_back(
        {BufferId{i}, index, first_schedule, second_schedule, bits(first[i]), bits(second[i])});
  }
}

}  // namespace

std::vector<Schedule> race_schedules() {
  std::vector<Schedule> schedules = {{Schedule::Kind::Sequential, 0},
                                     {Schedule::Kind::Reverse, 0},
                                     {Schedule::Kind::RoundRobin, 0}};
  for (std::uint64_t seed = 1; seed <= 7; ++seed) {
    schedules.push_back({Schedule::Kind::Random, seed});
  }
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    schedules.push_back({Schedule::Kind::Mixed, seed});
  }
  return schedules;
}

Result<RaceReport> find_races(const Script& script, const Grid& grid,
                              std::span<const Memory> buffers, const RunOptions& options,
                              std::span<const Schedule> schedules) {
  std::vector<Schedule> standard = race_schedules();
  if (ordered_atomics(script.program()).empty()) {
    std::erase_if(standard, [](const Schedule& s) { return s.kind == Schedule::Kind::Mixed; });
  }
  if (schedules.empty()) schedules = standard;
  RaceReport report;
  std::optional<Copies> first;
  for (const Schedule& schedule : schedules) {
    RunOptions own = options;
    own.schedule = schedule;
    if (options.progress) {
      own.progress = [&](double fraction) {
        options.progress((static_cast<double>(report.schedules) + fraction) /
                         static_cast<double>(schedules.size()));
      };
    }
    if (report.schedules > 0) own.out_of_bounds = nullptr;  // what the first one counts is told
    Copies copies(script.program(), buffers);
    const Result<void> ran = add_races(script, grid, buffers, copies.memories(), own, report);
    if (!ran) return ran.diagnostics();
    ++report.schedules;
    if (!first) {
      first = std::move(copies);
    } else {
      compare(script.program(), first->memories(), copies.memories(), schedules[0], schedule,
              report.dependences);
    }
  }
  if (!report.races.empty()) report.dependences.clear();
  return report;
}

Result<std::vector<std::vector<std::uint32_t>>> racy_elements(const Script& script,
                                                              const Grid& grid,
                                                              std::span<const Memory> buffers,
                                                              const RunOptions& options) {
  const Copies copies(script.program(), buffers);
  const Result<RaceWatch> watch = detect(script, grid, copies.memories(), options);
  if (!watch) return watch.diagnostics();
  std::vector<std::vector<std::uint32_t>> racy(watch->buffers.size());
  for (std::size_t i = 0; i < racy.size(); ++i) {
    const std::span<const Shadow> elements = watch->buffers[i].elements.span();
    for (std::uint32_t e = 0; e < elements.size(); ++e) {
      if ((elements[e].places & kRacy) != 0) racy[i].push_back(e);
    }
  }
  return racy;
}

}  // namespace vyre
