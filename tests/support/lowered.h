// Programs as they are for targets that lack something, run in place of what they were.
#pragma once

#include "tests/support/differential.h"
#include "vyre/interp/machine.h"
#include "vyre/passes/lower.h"
#include "vyre/passes/pass.h"

namespace vyre {

// Targets that lack one thing each, some that lack several, and one that has nothing.
inline const std::vector<Capabilities>& lacking_targets() {
  static const std::vector<Capabilities> all = [] {
    std::vector<Capabilities> targets;
    Capabilities nothing;
    for (const CapabilityInfo& each : all_capabilities()) {
      targets.emplace_back().*each.member = false;
      nothing.*each.member = false;
    }
    targets.push_back(nothing);
    Capabilities words;  // as of a shading language
    words.u64 = words.mul_high = words.rotate = words.saturate = words.collectives = false;
    targets.push_back(words);
    return targets;
  }();
  return all;
}

// Optimised before, as programs are.
inline Result<Program> lowered_for(const Linked& linked, const Capabilities& target) {
  Result<Program> program = optimise(linked);
  if (!program.ok()) return program;
  return replace_missing(*program, target);
}

// A fixture of which the device runs the lowered program, for each of its targets.
template <class Fixture>
class LoweredOn : public Fixture {
 protected:
  // On a device that compiles, those that lack most; it goes by what is uniform.
  virtual std::vector<Capabilities> targets() {
    Capabilities no_u128;
    no_u128.u128 = false;
    Capabilities nothing = lacking_targets()[lacking_targets().size() - 2];
    nothing.uniform_loads = true;
    return {no_u128, nothing, lacking_targets().back()};
  }

  std::string difference(const Case& c) override {
    const Result<Linked> linked = link(c);
    if (!linked.ok()) return render(linked.diagnostics()[0]);
    std::vector<HostBuffer> buffers;
    for (std::size_t i = 0; i < linked->program().buffers.size(); ++i) {
      if (!is_bound(linked->program().buffers[i].access)) continue;
      buffers.emplace_back(linked->program().buffers[i].name, c.contents[i]);
    }
    DispatchOptions options;
    options.device = this->interp_.get();
    options.run.max_steps = this->max_steps_;
    const Result<Outputs> expected = dispatch(*linked, c.grid, buffers, options);
    if (!expected.ok()) {
      const Diagnostic& why = expected.diagnostics()[0];
      return why.code == Code::R004 ? "" : render(why);
    }
    options.run.max_steps = 0;
    options.device = this->device_.get();
    for (const Capabilities& target : targets()) {
      const Result<Program> lowered = lowered_for(*linked, target);
      if (!lowered.ok()) return render(lowered.diagnostics()[0]);
      const Running running(print(Module{{*lowered}}));
      const Result<Outputs> found = dispatch(Linked::trust(*lowered), c.grid, buffers, options);
      if (!found.ok()) return render(found.diagnostics()[0]);
      for (std::size_t i = 0; i < expected->buffers.size(); ++i) {
        if (expected->buffers[i].bytes != found->buffers[i].bytes) {
          return "another value in " + expected->buffers[i].name + " of\n" +
                 print(Module{{*lowered}});
        }
      }
    }
    ++this->compared_;
    return {};
  }
};

// A row on numbers, by the interpreter.
class RowTrial {
 public:
  explicit RowTrial(const LowerRow& row) : row_(row) {
    for (const std::shared_ptr<const Op>& op : {row.low, row.high}) {
      if (op == nullptr) continue;
      scripts_.push_back(std::make_unique<Script>(make_script(Linked::trust({}, {op}))));
      machines_.push_back(std::make_unique<Machine<NoWatch>>(
          *scripts_.back(), std::span<const Memory>(), control_, watch_));
    }
  }

  Bits operator()(const Bits& a, const Bits& b) {
    std::vector<Bits> args;
    const std::size_t inputs = row_.low->signature.inputs.size();
    add(args, row_.type, a, row_.type == row_.wide);
    if (args.size() < inputs) add(args, row_.type, b, inputs - args.size() == 2);
    Bits result = machines_[0]->call_op(0, args);
    if (machines_.size() == 1) return result;
    const Bits high = machines_[1]->call_op(0, args);
    const std::size_t words = min_bytes(row_.low->signature.output) / 4;
    for (std::size_t i = 0; i < words; ++i) result.lanes[words + i] = high.lanes[i];
    return result;
  }

 private:
  static void add(std::vector<Bits>& args, DataType type, const Bits& value, bool splits) {
    args.push_back(value);
    if (!splits) return;
    Bits high;
    const std::size_t words = min_bytes(half_of(type)) / 4;
    for (std::size_t i = 0; i < words; ++i) {
      high.lanes[i] = value.lanes[words + i];
      args.back().lanes[words + i] = 0;
    }
    args.push_back(high);
  }

  const LowerRow& row_;
  RunOptions options_;
  Control control_{options_, 1};
  NoWatch watch_;
  std::vector<std::unique_ptr<Script>> scripts_;
  std::vector<std::unique_ptr<Machine<NoWatch>>> machines_;
};

}  // namespace vyre
