// How a program is run: on how many workgroups, in which order of invocations, and what a run took.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vyre/ir/program.h"

namespace vyre {

using Ids = std::array<std::uint32_t, 3>;
std::string ids_text(const Ids& ids);  // "(1, 2, 3)"

// The local id of the invocation with that number in its workgroup, x running fastest.
inline Ids local_ids(const Program& program, std::uint32_t number) {
  const Ids& size = program.workgroup_size;
  return {number % size[0], number / size[0] % size[1], number / size[0] / size[1]};
}

// How many invocations a workgroup has; the greatest number where there are more.
inline std::uint64_t invocations_of(const Program& program) {
  const auto& [x, y, z] = program.workgroup_size;
  const std::uint64_t most = ~std::uint64_t{0};
  const std::uint64_t layer = std::uint64_t{x} * y;
  return layer > most / z ? most : layer * z;
}

// Workgroups on each axis.
struct Grid {
  Ids axes;

  constexpr Grid(std::uint32_t x = 1, std::uint32_t y = 1, std::uint32_t z = 1) : axes{x, y, z} {}
  constexpr Grid(const Ids& counts) : axes(counts) {}

  constexpr std::uint32_t operator[](std::size_t axis) const { return axes[axis]; }
  friend bool operator==(const Grid&, const Grid&) = default;
};

struct Schedule {
  enum class Kind : std::uint8_t {
    Sequential,  // invocations in the order of their ids, each as far as it gets
    Reverse,
    Random,      // any invocation, one statement at a time; workgroups in any order
    RoundRobin,  // all invocations of a workgroup in turn, one statement each
    Mixed,       // as Random, with the invocations of up to four workgroups at a time
  };
  Kind kind = Kind::Sequential;
  std::uint64_t seed = 0;  // of Random and Mixed

  bool has_seed() const { return kind == Kind::Random || kind == Kind::Mixed; }

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

std::string to_text(const Schedule& schedule);                 // "random:7"
std::optional<Schedule> find_schedule(std::string_view text);  // the same, back

// What total semantics hid in a run: accesses to buffers that were out of bounds.
struct OutOfBounds {
  std::uint64_t stores = 0;
  std::uint64_t atomics = 0;
  std::uint64_t loads = 0;
  // The first access of the first invocation that made one, in the order of workgroups, then of
  // invocations; it says nothing where there are none.
  struct First {
    std::uint64_t workgroup = 0;   // its number, x fastest
    std::uint32_t invocation = 0;  // in the workgroup
    Ids global{};
    StmtId stmt;
    ExprId load;  // none: the statement itself
  };
  First first;

  bool any() const { return stores + atomics + loads > 0; }
  void add(const OutOfBounds& other);
};

struct RunOptions {
  Schedule schedule;
  // After so many steps the run fails; 0: any number. A step is an executed statement, the move of
  // a loop to its next round or from one branch over the other, or the end of an invocation or op.
  std::uint64_t max_steps = 0;
  unsigned threads = 0;                     // at most; 0: as many as there are cores
  const std::atomic<bool>* stop = nullptr;  // set by somebody else to end the run early
  // Called now and then, by one thread, with the fraction of the workgroups that have ended.
  std::function<void(double)> progress;
  OutOfBounds* out_of_bounds = nullptr;  // where to write what the interpreter has counted
};

struct RunStats {
  std::uint64_t steps = 0;
  std::uint64_t evaluations = 0;  // of expressions
  OutOfBounds out_of_bounds;
};

// The memory of one buffer: whole elements, aligned to 8 bytes.
using Memory = std::span<std::byte>;

}  // namespace vyre
