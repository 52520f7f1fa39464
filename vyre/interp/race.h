// Finds data races, and outputs that depend on the order of atomics.
//
// Every access that a run executes is entered into shadow memory: for each element, per kind of
// access (read, write, atomic, atomic load), whether no workgroup, one, or more than one did it,
// and the same for the invocations of the current workgroup since its last barrier. That is all
// that is needed to see whether a pair of unordered, conflicting accesses exists, in whatever order
// they come. A second run then watches the elements that race and finds out who accessed them: all
// of them, or where there are very many, some of each set of places that have an element in common.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/ir/run.h"

namespace vyre {

struct Script;

// Atomics that change the element or may, and those that only load it.
enum class AccessKind : std::uint8_t { Read, Write, Atomic, AtomicLoad };

struct Access {
  AccessKind kind = AccessKind::Read;
  StmtId stmt;
  ExprId expr;  // of a load; none for what the statement itself does
  Ids global{};
  Ids workgroup{};
  Ids local{};
};

struct Race {
  BufferId buffer;
  std::uint32_t element = 0;
  Access first;
  Access second;
  std::uint64_t elements = 0;  // of this buffer that race, here or elsewhere
};

// Two schedules that leave different values in an element.
struct OrderDependence {
  BufferId buffer;
  std::uint32_t element = 0;
  Schedule first;
  Schedule second;
  Bits first_value;
  Bits second_value;
};

// More pairs of places than this help nobody.
inline constexpr std::size_t kMaxRaces = 100;

struct RaceReport {
  std::vector<Race> races;                   // one for each pair of places, up to kMaxRaces
  std::uint64_t more_races = 0;              // pairs of places beyond those
  std::uint64_t racy_elements = 0;           // in the schedule that has most of them
  std::vector<OrderDependence> dependences;  // one for each buffer; only sought without races
  std::uint64_t schedules = 0;
  bool clean() const { return racy_elements == 0 && dependences.empty(); }
};

// The schedules in which find_races() looks for races, unless others are asked for: at least eight.
// Those that mix workgroups are left out where no atomic shows the order.
std::vector<Schedule> race_schedules();

// `buffers` hold the initial contents, which stay as they are.
Result<RaceReport> find_races(const Script& script, const Grid& grid,
                              std::span<const Memory> buffers, const RunOptions& options = {},
                              std::span<const Schedule> schedules = {});

// The elements that race in one schedule: a sorted list for each buffer.
Result<std::vector<std::vector<std::uint32_t>>> racy_elements(const Script& script,
                                                              const Grid& grid,
                                                              std::span<const Memory> buffers,
                                                              const RunOptions& options = {});

}  // namespace vyre
