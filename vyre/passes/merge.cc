// Small workgroups that do not wait for each other are merged into large ones, side by side along
// x: a GPU starts a workgroup so slowly that short programs spend their time on it, and along x the
// lanes of a warp touch neighbouring elements. `invocation_id` stays what it is; the last workgroup
// may have invocations that no workgroup of the dispatch has, which end at once.
#include "vyre/passes/formulas.h"
#include "vyre/passes/launch.h"
#include "vyre/passes/regroup.h"

namespace vyre {
namespace {

constexpr std::uint32_t kWarp = 32;

// How many have at most so many invocations together, and whole warps where that is possible.
std::uint32_t groups_of(const Program& program, std::uint32_t invocations) {
  if (invocations_of(program) > invocations / 2 || !has_free_workgroups(program)) return 1;
  const auto count = static_cast<std::uint32_t>(invocations_of(program));
  const std::uint32_t most = invocations / count;
  for (std::uint32_t fewer = most; fewer > 1; --fewer) {
    if (fewer * count % kWarp == 0) return fewer;
  }
  return most;
}

}  // namespace

std::optional<Shaped> merge(const Shaped& from, const GpuLimits& limits) {
  const std::uint32_t groups = groups_of(from.program, limits.invocations);
  if (groups == 1 || from.launch != plain_launch(from.program)) return std::nullopt;
  std::array<std::uint32_t, 3> size = from.program.workgroup_size;
  size[0] *= groups;
  Shaped merged{regrouped(from.program, size), from.launch};
  merged.launch.groups[0] = groups;
  const std::uint32_t limit = add_limit(merged, {});
  Draft draft(merged.program, kNothing);
  Formulas f{draft};
  const ExprId last = f.load(merged.launch.uniform, f.number(limit));
  f.end_if(f.make.make(Operation::Gt, {f.id(Operation::InvocationId), last}));
  CopyStatements same{draft};
  rewrite(draft, same);
  merged.program = std::move(draft).finish();
  return merged;
}

}  // namespace vyre
