// What GPU devices share when they launch programs: what the host knows of a launch, the code that
// was chosen for it, and grids that take several launches.
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
#include "vyre/passes/ranges.h"

namespace vyre {

// --- What a launch sees of the buffers of its program -------------------------------------------

struct LaunchLayout {
  struct Buffer {
    std::uint64_t stride;
    BufferAccess access;
    std::uint32_t count;  // of workgroup memory
  };
  std::vector<Buffer> buffers;  // in the order of declaration

  explicit LaunchLayout(const Program& program);
  std::uint32_t length(std::size_t buffer, const Launch& launch) const;  // in elements

  template <class Action>
  void for_each_written(const Launch& launch, Action action) const {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].access == BufferAccess::ReadWrite) action(*launch.buffers[i].memory);
    }
  }

  // What the host knows of a launch. It knows what a uniform holds unless `written` has the
  // uniform, or `is_now` is false: then others may write to it before the launch.
  DispatchFacts facts(const Launch& launch, bool is_now,
                      const std::set<const DeviceMemory*>& written) const;
};

// --- Code by facts ------------------------------------------------------------------------------

// The code that was chosen for the last launches with different facts. Safe to use from several
// threads.
template <class Code>
class ChosenCode {
 public:
  std::optional<Code> find(const DispatchFacts& facts) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(chosen_, facts, &Chosen::facts);
    if (found == chosen_.end()) return std::nullopt;
    return found->code;
  }
  // `may_drop`: whether the oldest one may be unloaded now.
  void add(const DispatchFacts& facts, const Code& code, bool may_drop) {
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
  mutable std::mutex mutex_;
  std::deque<Chosen> chosen_;
};

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
