// What GPU devices share when they launch programs: code that is chosen by what the host knows of a
// launch, and grids that take several launches.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "vyre/backends/backend.h"
#include "vyre/backends/variants.h"

namespace vyre {

// --- Code by facts ------------------------------------------------------------------------------

// A kernel whose code depends on the facts of a launch. It remembers what it chose for the last
// ones that differed. Safe to use from several threads.
template <class Code>
class VariantKernel : public Kernel {
 public:
  explicit VariantKernel(Linked linked) : linked_(std::move(linked)) {}
  const Program& program() const { return linked_.program(); }

  // The code for such a launch; nothing where it has to be made first.
  std::optional<Code> find(const DispatchFacts& facts) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(chosen_, facts, &Chosen::facts);
    if (found == chosen_.end()) return std::nullopt;
    return found->code;
  }
  virtual Result<Code> make(const DispatchFacts& facts) const = 0;

 protected:
  // `may_drop`: whether the oldest one may be unloaded now.
  void keep(const DispatchFacts& facts, const Code& code, bool may_drop) const {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(chosen_, facts, &Chosen::facts) != chosen_.end()) return;
    if (chosen_.size() >= kMost && may_drop) chosen_.pop_front();
    chosen_.push_back({facts, code});
  }

 private:
  static constexpr std::size_t kMost = 16;
  struct Chosen {
    DispatchFacts facts;
    Code code;
  };
  const Linked linked_;
  mutable std::mutex mutex_;
  mutable std::deque<Chosen> chosen_;
};

// Calls action(memory) for what a launch may write.
template <class Action>
void for_each_written(const Program& program, const Launch& launch, Action action) {
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].access == BufferAccess::ReadWrite) action(*launch.buffers[i].memory);
  }
}

// From here on the host does not know what these launches may write.
template <class Code>
void forget_written(std::span<const Launch> launches) {
  for (const Launch& launch : launches) {
    for_each_written(static_cast<const VariantKernel<Code>&>(*launch.kernel).program(), launch,
                     [](DeviceMemory& memory) { memory.known.forget(); });
  }
}

inline bool is_stopped(const RunOptions& options) {
  return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
}

// The code for launches of such kernels that run one after the other, now or later. What memory
// holds is known under the lock. While code is made others may have it; as what they write may
// change what is known, all is looked at again then.
template <class Code>
Result<std::vector<Code>> choose_code(std::span<const Launch> launches, bool is_now,
                                      std::unique_lock<std::mutex>& lock) {
  constexpr int kOpenRounds = 2;  // then it has to come to an end
  std::vector<DispatchFacts> facts(launches.size());
  std::vector<Code> chosen(launches.size());
  bool is_open = true;
  for (int round = 0; is_open; ++round) {
    is_open = false;
    std::set<const DeviceMemory*> written;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const auto& kernel = static_cast<const VariantKernel<Code>&>(*launches[i].kernel);
      DispatchFacts now = facts_of(kernel.program(), launches[i], is_now, written);
      for_each_written(kernel.program(), launches[i],
                       [&](const DeviceMemory& memory) { written.insert(&memory); });
      if (round > 0 && facts[i] == now) continue;
      std::optional<Code> found = kernel.find(now);
      if (!found) {
        if (round < kOpenRounds) {
          is_open = true;
          lock.unlock();
        }
        Result<Code> made = kernel.make(now);
        if (!lock.owns_lock()) lock.lock();
        if (!made) return made.diagnostics();
        found = std::move(*made);
      }
      facts[i] = std::move(now);
      chosen[i] = std::move(*found);
    }
  }
  return chosen;
}

// --- Grids in parts -----------------------------------------------------------------------------

// A device launches at most `step` workgroups on each axis at once.
using GridStep = std::array<std::uint64_t, 3>;

// The number of launches that a grid takes; at most `limit` + 1.
std::uint64_t count_parts(const Grid& grid, const GridStep& step, std::uint64_t limit);

// Calls launch(first, count) for each part, with the number of its first workgroup on each axis and
// how many it has; ends at the first that fails.
template <class Part>
Result<void> for_each_part(const Grid& grid, const GridStep& step, Part launch) {
  std::array<std::uint64_t, 3> at{};
  for (at[2] = 0; at[2] < grid[2]; at[2] += step[2]) {
    for (at[1] = 0; at[1] < grid[1]; at[1] += step[1]) {
      for (at[0] = 0; at[0] < grid[0]; at[0] += step[0]) {
        std::array<std::uint32_t, 3> first{};
        std::array<std::uint64_t, 3> count{};
        for (std::size_t axis = 0; axis < 3; ++axis) {
          first[axis] = static_cast<std::uint32_t>(at[axis]);
          count[axis] = std::min(step[axis], grid[axis] - at[axis]);
        }
        if (Result<void> done = launch(first, count); !done) return done;
      }
    }
  }
  return {};
}

}  // namespace vyre
