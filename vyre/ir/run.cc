#include "vyre/ir/run.h"

#include <charconv>

namespace vyre {
namespace {

constexpr std::pair<Schedule::Kind, std::string_view> kSchedules[] = {
    {Schedule::Kind::Sequential, "sequential"},
    {Schedule::Kind::Reverse, "reverse"},
    {Schedule::Kind::Random, "random"},
    {Schedule::Kind::RoundRobin, "round-robin"},
    {Schedule::Kind::Mixed, "mixed"}};

}  // namespace

std::string to_text(const Schedule& schedule) {
  for (const auto& [kind, name] : kSchedules) {
    if (kind != schedule.kind) continue;
    return std::string(name) + (schedule.has_seed() ? ":" + std::to_string(schedule.seed) : "");
  }
  return {};
}

std::optional<Schedule> find_schedule(std::string_view text) {
  const std::string_view wanted = text.substr(0, text.find(':'));
  for (const auto& [kind, name] : kSchedules) {
    if (name != wanted) continue;
    Schedule schedule{kind, 0};
    if (name == text) return schedule;
    const std::string_view seed = text.substr(name.size() + 1);
    const auto [end, error] =
        std::from_chars(seed.data(), seed.data() + seed.size(), schedule.seed);
    const bool whole = error == std::errc() && end == seed.data() + seed.size();
    if (whole && schedule.has_seed()) return schedule;
  }
  return {};
}

std::string ids_text(const Ids& ids) {
  return "(" + std::to_string(ids[0]) + ", " + std::to_string(ids[1]) + ", " +
         std::to_string(ids[2]) + ")";
}

}  // namespace vyre
