#include "vyre/ir/run.h"

#include <algorithm>
#include <charconv>

#include "vyre/base/text.h"

namespace vyre {
namespace {

constexpr std::string_view kSchedules[] = {"sequential", "reverse", "random", "round-robin",
                                           "mixed"};  // by kind

}  // namespace

void OutOfBounds::add(const OutOfBounds& other) {
  const auto place = [](const First& at) { return std::pair(at.workgroup, at.invocation); };
  if (!any() || (other.any() && place(other.first) < place(first))) first = other.first;
  stores += other.stores;
  atomics += other.atomics;
  loads += other.loads;
}

std::string to_text(const Schedule& schedule) {
  const std::string name(kSchedules[static_cast<std::size_t>(schedule.kind)]);
  return schedule.has_seed() ? name + ":" + std::to_string(schedule.seed) : name;
}

std::optional<Schedule> find_schedule(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto row = std::ranges::find(kSchedules, name);
  if (row == std::end(kSchedules)) return {};
  Schedule schedule{static_cast<Schedule::Kind>(row - kSchedules), 0};
  if (name == text) return schedule;
  const std::string_view seed = text.substr(name.size() + 1);
  const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), schedule.seed);
  const bool whole = error == std::errc() && end == seed.data() + seed.size();
  if (!whole || !schedule.has_seed()) return {};
  return schedule;
}

std::string ids_text(const Ids& ids) {
  return "(" + join(ids, ", ", [](std::uint32_t id) { return std::to_string(id); }) + ")";
}

}  // namespace vyre
