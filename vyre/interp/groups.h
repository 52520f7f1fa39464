// The workgroups of a grid in the order of a schedule.
#pragma once

#include <limits>
#include <memory>
#include <numeric>

#include "vyre/interp/machine.h"

namespace vyre {

class Groups {
 public:
  Groups(const Grid& grid, const Schedule& schedule) : grid_(grid), schedule_(schedule) {
    __extension__ using Wide = unsigned __int128;
    const Wide count = Wide{grid[0]} * grid[1] * grid[2];
    // Nobody waits for the end of so many; the number only has to be too large.
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max() / 2;
    count_ = count > kMost ? kMost : static_cast<std::uint64_t>(count);
    if (count_ == 0 || !schedule.has_seed()) return;
    // i * factor + offset modulo the count visits each once when the factor is coprime.
    Random random(schedule.seed);
    offset_ = random.next() % count_;
    do {
      factor_ = random.next() >> 1 | 1;
    } while (std::gcd(factor_, count_) > 1);
  }

  std::uint64_t count() const { return count_; }

  Ids operator[](std::uint64_t i) const {
    __extension__ using Wide = unsigned __int128;
    if (schedule_.kind == Schedule::Kind::Reverse) i = count_ - 1 - i;
    if (schedule_.has_seed()) {
      i = static_cast<std::uint64_t>((Wide{i} * factor_ + offset_) % count_);
    }
    const std::uint64_t rows = i / grid_[0];
    return {static_cast<std::uint32_t>(i % grid_[0]), static_cast<std::uint32_t>(rows % grid_[1]),
            static_cast<std::uint32_t>(rows / grid_[1])};
  }

 private:
  Grid grid_;
  Schedule schedule_;
  std::uint64_t count_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t factor_ = 1;
};

// Runs a few workgroups at a time, each of which has a machine, and lets them take turns at random.
inline constexpr std::uint32_t kMixedGroups = 4;

template <class Watch>
Result<RunStats> run_mixed(const Script& script, std::span<const Memory> buffers,
                           const Groups& groups, Control& control, Watch& watch) {
  using Progress = typename Machine<Watch>::Progress;
  std::vector<std::unique_ptr<Machine<Watch>>> machines;
  std::vector<std::uint32_t> busy;
  std::uint64_t next = 0;
  while (next < std::min<std::uint64_t>(kMixedGroups, groups.count())) {
    busy.push_back(static_cast<std::uint32_t>(machines.size()));
    machines.push_back(std::make_unique<Machine<Watch>>(script, buffers, control, watch));
    watch.switch_to(busy.back());
    machines.back()->begin(groups[next++]);
  }
  Random random(control.options.schedule.seed);
  RunStats total;
  while (!busy.empty()) {
    std::uint32_t& chosen = busy[random.below(static_cast<std::uint32_t>(busy.size()))];
    Machine<Watch>& machine = *machines[chosen];
    watch.switch_to(chosen);
    const Progress progress = machine.go_on();
    if (progress == Progress::Going) continue;
    if (progress == Progress::Stopped) {
      if (machine.failure.empty()) return diagnose<message::interrupted>();
      return machine.failure;
    }
    if (next < groups.count()) {
      machine.begin(groups[next++]);
      continue;
    }
    total += machine.stats();
    std::swap(chosen, busy.back());
    busy.pop_back();
  }
  control.report();
  if (control.stopped()) return diagnose<message::interrupted>();
  return total;
}

// Runs all workgroups for who watches them.
template <class Watch>
Result<RunStats> run_watched(const Script& script, const Grid& grid,
                             std::span<const Memory> buffers, const RunOptions& options,
                             Watch& watch) {
  const Groups groups(grid, options.schedule);
  Control control{options, groups.count()};
  if (options.schedule.kind == Schedule::Kind::Mixed) {
    return run_mixed(script, buffers, groups, control, watch);
  }
  Machine<Watch> machine(script, buffers, control, watch);
  for (std::uint64_t i = 0; i < groups.count(); ++i) {
    if (machine.run(groups[i])) continue;
    if (machine.failure.empty()) return diagnose<message::interrupted>();
    return machine.failure;
  }
  control.report();
  if (control.stopped()) return diagnose<message::interrupted>();
  return machine.stats();
}

}  // namespace vyre
