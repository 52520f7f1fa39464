// The workgroups of a grid in the order of a schedule.
#pragma once

#include <limits>
#include <memory>
#include <numeric>

#include "vyre/base/text.h"
#include "vyre/interp/machine.h"

namespace vyre {

class Groups {
 public:
  Groups(const Grid& grid, const Schedule& schedule) : grid_(grid), schedule_(schedule) {
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

// In a mixed schedule so many workgroups run at the same time.
inline constexpr std::uint32_t kMixedGroups = 4;

// Runs workgroups until there are none left. Those that run at the same time have a machine each,
// and take turns at random.
template <class Watch>
void run_groups(const Script& script, std::span<const Memory> buffers, const Groups& groups,
                Control& control, Watch& watch, bool reports = true) {
  using Progress = typename Machine<Watch>::Progress;
  const std::size_t at_once =
      control.options.schedule.kind == Schedule::Kind::Mixed ? kMixedGroups : 1;
  std::vector<std::unique_ptr<Machine<Watch>>> machines;
  std::vector<std::uint32_t> busy;
  std::uint64_t next = 0;
  const auto is_left = [&] { return (next = control.begun++) < groups.count(); };
  while (machines.size() < at_once && is_left()) {
    busy.push_back(static_cast<std::uint32_t>(machines.size()));
    machines.push_back(std::make_unique<Machine<Watch>>(script, buffers, control, watch, reports));
    watch.switch_to(busy.back());
    machines.back()->begin(groups[next]);
  }
  Random random(control.options.schedule.seed);
  while (!busy.empty()) {
    const auto count = static_cast<std::uint32_t>(busy.size());
    std::uint32_t& chosen = busy[count == 1 ? 0 : random.below(count)];
    Machine<Watch>& machine = *machines[chosen];
    watch.switch_to(chosen);
    const Progress progress = machine.go_on();
    if (progress == Progress::Going) continue;
    if (progress == Progress::Stopped) return control.end(machine.stats(), machine.failure, false);
    if (is_left()) {
      machine.begin(groups[next]);
      continue;
    }
    control.end(machine.stats(), {}, true);
    std::swap(chosen, busy.back());
    busy.pop_back();
  }
}

// Runs all workgroups under a watch.
template <class Watch>
Result<RunStats> run_watched(const Script& script, const Grid& grid,
                             std::span<const Memory> buffers, const RunOptions& options,
                             Watch& watch) {
  const Groups groups(grid, options.schedule);
  Control control{options, groups.count(), grid};
  run_groups(script, buffers, groups, control, watch);
  return control.result();
}

}  // namespace vyre
