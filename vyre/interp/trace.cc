#include "vyre/interp/trace.h"

#include <utility>

#include "vyre/interp/groups.h"

namespace vyre {
namespace {

class TraceWatch : public NoWatch {
 public:
  TraceWatch(const Script& script, const Ids& invocation, TraceVisitor& visitor)
      : visitor_(visitor) {
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
    traced_.step = steps_[0] = &step;
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
  void end_step(const Step& step, const BodyFrame& frame) {
    if (!active_) return;
    traced_.loads = loads_;
    traced_.frame = frame;
    visitor_.step(traced_);
    waits_ = step.kind == Step::Kind::Collective;
  }
  void barrier() {
    if (!in_group_[slot_] || !std::exchange(waits_, false)) return;
    visitor_.receive(*traced_.step, traced_.frame);
  }
  void begin_call(std::uint32_t op, const BodyFrame& frame) {
    if (!active_) return;
    if (unseen_ > 0 || !visitor_.enter(*steps_.back(), op, frame)) {
      ++unseen_;
    } else {
      steps_.push_back(nullptr);
    }
  }
  void begin_op_step(const Step& step) {
    if (active_ && unseen_ == 0) steps_.back() = &step;
  }
  void end_op_step(const Step& step, const BodyFrame& frame) {
    if (active_ && unseen_ == 0) visitor_.step({&step, frame, {}, nullptr, 0});
  }
  void end_call(std::uint32_t op, const BodyFrame& frame, ExprId result) {
    if (!active_) return;
    if (unseen_ == 0) {
      steps_.pop_back();
    } else if (--unseen_ > 0) {
      return;
    }
    visitor_.leave(op, frame, result);
  }

 private:
  TraceVisitor& visitor_;
  Ids group_{};
  std::uint32_t invocation_ = 0;
  std::uint32_t slot_ = 0;
  std::array<bool, kMixedGroups> in_group_{};
  bool active_ = false;
  bool waits_ = false;                       // for the result of a collective
  std::vector<const Step*> steps_{nullptr};  // of the program, and of the ops that are running
  std::uint32_t unseen_ = 0;                 // calls that are running and not reported
  TracedStep traced_;
  TracedAccess effect_;
  std::vector<TracedAccess> loads_;
};

}  // namespace

Result<RunStats> trace(const Script& script, const Grid& grid, std::span<const Memory> buffers,
                       const std::array<std::uint32_t, 3>& invocation, const RunOptions& options,
                       TraceVisitor& visitor) {
  TraceWatch watch(script, invocation, visitor);
  return run_watched(script, grid, buffers, options, watch);
}

}  // namespace vyre
