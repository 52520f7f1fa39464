#include "vyre/interp/trace.h"

#include "vyre/interp/groups.h"

namespace vyre {
namespace {

class TraceWatch : public NoWatch {
 public:
  TraceWatch(const Script& script, const Ids& invocation,
             const std::function<void(const TracedStep&)>& report)
      : report_(report) {
    const auto& size = script.program().workgroup_size;
    Ids local{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      group_[axis] = invocation[axis] / size[axis];
      local[axis] = invocation[axis] % size[axis];
    }
    invocation_ = (local[2] * size[1] + local[1]) * size[0] + local[0];
  }

  void switch_to(std::uint32_t slot) { slot_ = slot; }
  void begin_group(const Ids& group) { in_group_[slot_] = group == group_; }
  void begin_step(const Step& step, std::uint32_t invocation) {
    active_ = in_group_[slot_] && invocation == invocation_;
    if (!active_) return;
    loads_.clear();
    traced_ = {};
    traced_.step = &step;
  }
  void load(const Node& node, std::uint32_t index, bool inside, const Bits& value) {
    if (active_) loads_.push_back({ExprId{node.id}, BufferId{node.imm}, index, inside, value});
  }
  void store(const Step& step, std::uint32_t index, bool inside, const Bits& value) {
    effect_ = {{}, step.buffer, index, inside, value};
    traced_.effect = &effect_;
  }
  void atomic(const Step& step, std::uint32_t index, bool inside, std::uint32_t old,
              std::uint32_t now) {
    store(step, index, inside, {{now}});
    traced_.old = old;
  }
  void end_step(const Step&, const Bits* locals, const Bits* values) {
    if (!active_) return;
    traced_.loads = loads_;
    traced_.locals = locals;
    traced_.values = values;
    report_(traced_);
  }

 private:
  const std::function<void(const TracedStep&)>& report_;
  Ids group_{};
  std::uint32_t invocation_ = 0;
  std::uint32_t slot_ = 0;
  std::array<bool, kMixedGroups> in_group_{};
  bool active_ = false;
  TracedStep traced_;
  TracedAccess effect_;
  std::vector<TracedAccess> loads_;
};

}  // namespace

Result<RunStats> trace(const Script& script, const Grid& grid, std::span<const Memory> buffers,
                       const std::array<std::uint32_t, 3>& invocation, const RunOptions& options,
                       const std::function<void(const TracedStep&)>& report) {
  TraceWatch watch(script, invocation, report);
  return run_watched(script, grid, buffers, options, watch);
}

}  // namespace vyre
