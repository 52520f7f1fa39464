// Executes steps. A Machine runs one workgroup after the other on memory that it is given. It calls
// the functions of a Watch at each step and access.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

#include "vyre/base/random.h"
#include "vyre/base/result.h"
#include "vyre/interp/script.h"
#include "vyre/ir/eval.h"
#include "vyre/ir/run.h"

namespace vyre {

// Sees nothing, and costs nothing. A Watch derives from it and hides what it wants to see.
struct NoWatch {
  void switch_to(std::uint32_t /*which of the workgroups that run at the same time*/) {}
  void begin_group(const Ids&) {}
  void begin_step(const Step&, std::uint32_t /*invocation in the group*/) {}
  void load(const Node&, std::uint32_t /*index*/, bool /*inside*/, const Bits&) {}
  void store(const Step&, std::uint32_t, bool, const Bits&) {}
  void atomic(const Step&, std::uint32_t, bool, std::uint32_t /*old*/, std::uint32_t /*now*/) {}
  void end_step(const Step&, const BodyFrame&) {}
  // A call of an op, whose arguments are its first locals; one of its steps; its result.
  void begin_call(std::uint32_t /*op*/, const BodyFrame&) {}
  void begin_op_step(const Step&) {}
  void end_op_step(const Step&, const BodyFrame&) {}
  void end_call(std::uint32_t /*op*/, const BodyFrame&, ExprId /*result*/) {}
  void barrier() {}
};

// What the machines of one run share: how far it is, when to stop, and what came of it.
struct Control {
  const RunOptions& options;
  const std::uint64_t groups;
  const Grid grid = {};
  std::atomic<std::uint64_t> begun = 0;     // of the groups; the number of the next one
  std::atomic<std::uint64_t> finished = 0;  // of the groups
  bool threaded = false;                    // machines run at the same time
  std::uint64_t spent = 0;                  // of the steps, where they are limited
  std::atomic<bool> failed = false;
  std::mutex mutex = {};  // for what follows
  RunStats total = {};
  std::vector<Diagnostic> failure = {};

  bool stopped() const {
    return failed || (options.stop != nullptr && options.stop->load(std::memory_order_relaxed));
  }
  void report() const {
    if (!options.progress || groups == 0) return;
    options.progress(static_cast<double>(finished.load(std::memory_order_relaxed)) /
                     static_cast<double>(groups));
  }
  // A machine does no more: it has run what there was, or is to stop for this reason, if any.
  void end(const RunStats& stats, const std::vector<Diagnostic>& reason, bool ran_all) {
    const std::lock_guard lock(mutex);
    total.steps += stats.steps;
    total.evaluations += stats.evaluations;
    total.out_of_bounds.add(stats.out_of_bounds);
    if (!ran_all) failed = true;
    if (!reason.empty()) failure = reason;
  }
  Result<RunStats> result() const {
    if (!failure.empty()) return failure;
    report();
    if (stopped()) return diagnose<message::interrupted>();
    if (options.out_of_bounds != nullptr) *options.out_of_bounds = total.out_of_bounds;
    return total;
  }
};

// The elements of a buffer.
struct Elements {
  std::byte* bytes = nullptr;
  std::uint64_t length = 0;
  DataType element = DataType::U32;
  std::uint32_t bytes_each = 4;
  bool shared = false;  // written by invocations of several workgroups
};

inline Elements elements_of(const BufferDecl& buffer, Memory memory) {
  return {memory.data(), memory.size() / stride(buffer.element), buffer.element,
          stride(buffer.element), buffer.access == BufferAccess::ReadWrite};
}

// Accesses to elements are relaxed atomics, so that a program with races stays defined when
// workgroups run on several threads. An element of 16 bytes is guarded by one of a few locks.
class ElementAccess {
 public:
  explicit ElementAccess(bool threaded) : threaded_(threaded) {}

  Bits load(const Elements& from, std::uint32_t index) const {
    std::byte* at = from.bytes + std::uint64_t{index} * from.bytes_each;
    Bits bits;
    if (from.bytes_each == 1) {
      const std::uint8_t value = word<std::uint8_t>(at).load(std::memory_order_relaxed);
      bits.lanes[0] = from.element == DataType::I8
                          ? static_cast<std::uint32_t>(static_cast<std::int8_t>(value))
                          : value;
    } else if (from.bytes_each == 2) {
      const std::uint16_t value = word<std::uint16_t>(at).load(std::memory_order_relaxed);
      bits.lanes[0] = from.element == DataType::I16
                          ? static_cast<std::uint32_t>(static_cast<std::int16_t>(value))
                          : value;
    } else if (from.bytes_each == 4) {
      bits.lanes[0] = word<std::uint32_t>(at).load(std::memory_order_relaxed);
      if (from.element == DataType::Bool) bits.lanes[0] = bits.lanes[0] != 0;
    } else if (from.bytes_each == 8) {
      const std::uint64_t value = word<std::uint64_t>(at).load(std::memory_order_relaxed);
      bits.lanes = {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
    } else {
      guarded(from, at, [&] { std::memcpy(bits.lanes.data(), at, 16); });
    }
    return bits;
  }

  void store(const Elements& to, std::uint32_t index, const Bits& bits) const {
    std::byte* at = to.bytes + std::uint64_t{index} * to.bytes_each;
    if (to.bytes_each == 1) {
      word<std::uint8_t>(at).store(static_cast<std::uint8_t>(bits.lanes[0]),
                                   std::memory_order_relaxed);
    } else if (to.bytes_each == 2) {
      word<std::uint16_t>(at).store(static_cast<std::uint16_t>(bits.lanes[0]),
                                    std::memory_order_relaxed);
    } else if (to.bytes_each == 4) {
      word<std::uint32_t>(at).store(bits.lanes[0], std::memory_order_relaxed);
    } else if (to.bytes_each == 8) {
      word<std::uint64_t>(at).store(bits.lanes[0] | std::uint64_t{bits.lanes[1]} << 32,
                                    std::memory_order_relaxed);
    } else {
      guarded(to, at, [&] { std::memcpy(at, bits.lanes.data(), 16); });
    }
  }

  template <class Word>
  static std::atomic_ref<Word> word(std::byte* at) {
    return std::atomic_ref<Word>(*reinterpret_cast<Word*>(at));
  }

 private:
  static std::atomic_flag& lock_of(const std::byte* at) {
    static std::array<std::atomic_flag, 64> locks;
    return locks[reinterpret_cast<std::uintptr_t>(at) / 16 % locks.size()];
  }

  void guarded(const Elements& elements, const std::byte* at, auto access) const {
    if (!threaded_ || !elements.shared) return access();
    std::atomic_flag& lock = lock_of(at);
    while (lock.test_and_set(std::memory_order_acquire)) {
    }
    access();
    lock.clear(std::memory_order_release);
  }

  bool threaded_;
};

template <class Watch>
class Machine {
 public:
  // `reports`: it tells how far the machines of this run are.
  Machine(const Script& script, std::span<const Memory> buffers, Control& control, Watch& watch,
          bool reports = true)
      : script_(script),
        control_(control),
        watch_(watch),
        access_(control.threaded),
        invocations_(static_cast<std::uint32_t>(invocations_of(script.program()))),
        interleaved_(control.options.schedule.kind == Schedule::Kind::RoundRobin ||
                     control.options.schedule.has_seed()),
        keeps_all_(interleaved_ || script.has_barrier),
        reports_(reports),
        values_(script.body.values) {
    const std::size_t kept = keeps_all_ ? invocations_ : 1;
    for (std::size_t i = 0; i < script.program().buffers.size(); ++i) {
      const BufferDecl& buffer = script.program().buffers[i];
      Memory memory = i < buffers.size() ? buffers[i] : Memory();  // what is not bound comes last
      const std::size_t bytes = std::size_t{buffer.count} * stride(buffer.element);
      switch (buffer.access) {
        case BufferAccess::ReadOnly:
        case BufferAccess::ReadWrite:
        case BufferAccess::Uniform: break;
        case BufferAccess::Workgroup: memory = group_memory_.emplace_back(bytes); break;
        case BufferAccess::Private:
          own_memory_.push_back({i, bytes, std::vector<std::byte>(kept * bytes)});
          memory = Memory(own_memory_.back().all).first(bytes);
          break;
        case BufferAccess::Constant: {
          // Nothing stores to it.
          const std::vector<std::byte>& table = buffer.contents.bytes();
          memory = {const_cast<std::byte*>(table.data()), table.size()};
          break;
        }
      }
      elements_.push_back(elements_of(buffer, memory));
    }
    pcs_.resize(kept);
    locals_.resize(kept * script.body.locals);
    if (script.has_barrier) contributions_.resize(invocations_);
    for (const BodyScript& op : script.ops)
      ops_.push_back({std::vector<Bits>(op.locals), op.values});
  }

  // Runs one workgroup to its end. False: the run is to stop, for the reason in `failure` if any.
  bool run(const Ids& group) {
    begin(group);
    Progress progress = go_on();
    while (progress == Progress::Going) progress = go_on();
    return progress == Progress::Ended;
  }

  // The same in pieces, for several workgroups at a time: begin(), then go_on() until the workgroup
  // has ended.
  enum class Progress : std::uint8_t { Going, Ended, Stopped };
  void begin(const Ids& group) {
    group_ = group;
    for (auto& memory : group_memory_) std::ranges::fill(memory, std::byte{});
    for (OwnMemory& memory : own_memory_) std::ranges::fill(memory.all, kUndefined);
    watch_.begin_group(group);
    std::ranges::fill(pcs_, 0);
    // Each workgroup has an order of its own, whichever machine runs it.
    random_ = Random(control_.options.schedule.seed);
    for (std::uint32_t id : group) random_ = Random(random_.next() + id);
    line_up();
  }

  // Gives one invocation its turn.
  Progress go_on() {
    if (control_.options.schedule.has_seed()) {
      const auto count = static_cast<std::uint32_t>(runnable_.size());
      std::swap(runnable_[random_.below(count)], runnable_.back());
    }
    const std::uint32_t invocation = runnable_.back();
    runnable_.pop_back();
    switch (turn(invocation)) {
      case Pause::Turn:
        if (control_.options.schedule.kind == Schedule::Kind::RoundRobin) {
          runnable_.push_front(invocation);
        } else {
          runnable_.push_back(invocation);
        }
        break;
      case Pause::Barrier: waiting_.push_back(invocation); break;
      case Pause::Ended: break;
      case Pause::Stopped: return Progress::Stopped;
    }
    if (!runnable_.empty()) return Progress::Going;
    if (waiting_.empty()) {
      control_.finished.fetch_add(1, std::memory_order_relaxed);
      return Progress::Ended;
    }
    return pass_barrier() ? Progress::Going : Progress::Stopped;
  }

  // The result of one of the script's ops; it takes as many steps as it takes. `result` is the
  // expression of the op that has it.
  Bits call_op(std::uint32_t op, std::span<const Bits> arguments, ExprId* result = nullptr) {
    const BodyFrame frame{&script_.ops[op], ops_[op].locals.data(), ops_[op].values.data()};
    std::ranges::copy(arguments, frame.locals);
    std::uint32_t pc = 0;
    if (advance(frame, pc, false) != Pause::Ended) return {};
    const ExprId returned = frame.script->steps[pc - 1].value;
    if (result != nullptr) *result = returned;
    return frame.values[returned.index];
  }

  std::vector<Diagnostic> failure;
  RunStats stats() const { return {steps_ - allowance_, evaluations_, out_of_bounds_}; }

 private:
  enum class Pause : std::uint8_t { Turn, Barrier, Ended, Stopped };

  struct OpFrame {
    std::vector<Bits> locals;
    std::vector<Bits> values;
  };

  // All invocations can run.
  void line_up() {
    waiting_.clear();
    runnable_.resize(invocations_);
    std::iota(runnable_.begin(), runnable_.end(), 0);
    if (control_.options.schedule.kind != Schedule::Kind::Reverse) std::ranges::reverse(runnable_);
  }

  // Those at a barrier go on when everybody is there.
  bool pass_barrier() {
    const auto elsewhere = [&](std::uint32_t i) { return pcs_[i] != pcs_[waiting_[0]]; };
    if (waiting_.size() != invocations_ || std::ranges::any_of(waiting_, elsewhere)) {
      diverged();
      return false;
    }
    const Step& step = script_.body.steps[pcs_[waiting_[0]] - 1];
    if (step.kind == Step::Kind::Collective) combine(step);
    watch_.barrier();
    line_up();
    return true;
  }

  // Gives every invocation the result of a collective to which all have contributed.
  void combine(const Step& step) {
    const CollectiveInfo& row = info(step.collective);
    const auto give = [&](std::uint32_t to, const Bits& bits) {
      locals_[std::size_t{to} * script_.body.locals + step.local.index] = bits;
    };
    Bits sum = collective_identity(step.collective, step.type);
    for (std::uint32_t i = 0; i < invocations_; ++i) {
      const Contribution& own = contributions_[i];
      if (row.chooses()) {
        give(i, own.chosen < invocations_ ? contributions_[own.chosen].value : Bits{});
        continue;
      }
      if (row.shape == CollectiveShape::Before) give(i, sum);
      sum = eval(row.operation, step.type, sum, own.value);
    }
    for (std::uint32_t i = 0; i < invocations_ && row.shape == CollectiveShape::All; ++i) {
      give(i, sum);
    }
  }

  Pause turn(std::uint32_t invocation) {
    invocation_ = invocation;
    local_ = local_ids(script_.program(), invocation);
    const std::size_t kept = keeps_all_ ? invocation : 0;
    if (!keeps_all_) pcs_[0] = 0;
    for (OwnMemory& memory : own_memory_) {
      elements_[memory.buffer].bytes = memory.all.data() + kept * memory.bytes;
      if (!keeps_all_) std::ranges::fill(memory.all, kUndefined);
    }
    const BodyFrame frame{&script_.body, locals_.data() + kept * script_.body.locals,
                          values_.data()};
    return advance(frame, pcs_[kept], interleaved_);
  }

  // Executes steps until the invocation waits or ends; just one step when `single`.
  Pause advance(const BodyFrame& frame, std::uint32_t& pc, bool single) {
    const bool watched = frame.script == &script_.body;
    for (;;) {
      if (allowance_ == 0 && !spend()) {
        stopped_ = true;
        return Pause::Stopped;
      }
      --allowance_;
      const Step& step = frame.script->steps[pc++];
      if (watched) {
        stmt_ = step.stmt;
        watch_.begin_step(step, invocation_);
      } else {
        watch_.begin_op_step(step);
      }
      evaluate(frame, step);
      if (stopped_) return Pause::Stopped;  // in a call: the step has no values to work with
      const Pause pause = execute(frame, step, pc);
      watched ? watch_.end_step(step, frame) : watch_.end_op_step(step, frame);
      if (single || pause != Pause::Turn) return pause;
    }
  }

  // Does what the step does with the values of its expressions; `pc` is that of the next step.
  Pause execute(const BodyFrame& frame, const Step& step, std::uint32_t& pc) {
    const auto value = [&](ExprId id) { return frame.values[id.index].lanes[0]; };
    switch (step.kind) {
      case Step::Kind::Set: set(frame, step); break;
      case Step::Kind::SetElement: {
        const ArrayPlace& array = frame.script->local_arrays[step.local.index];
        const std::uint32_t index = value(step.index);
        if (index < array.count) frame.locals[array.first + index] = frame.values[step.value.index];
        break;
      }
      case Step::Kind::Collective:
        contributions_[invocation_] = {frame.values[step.value.index],
                                       step.from.exists() ? value(step.from) : 0};
        return Pause::Barrier;
      case Step::Kind::Store: store(step, value(step.index), frame.values[step.value.index]); break;
      case Step::Kind::Atomic: {
        const std::uint32_t old = update(frame, step);
        if (step.local.exists()) frame.locals[step.local.index] = {{old}};
        break;
      }
      case Step::Kind::Branch:
        if (value(step.value) == 0) pc = step.target;
        break;
      case Step::Kind::Enter:
        frame.locals[step.local.index] = frame.values[step.from.index];
        frame.locals[step.limit] = frame.values[step.value.index];
        if (value(step.from) >= value(step.value)) pc = step.target;
        break;
      case Step::Kind::Again:
        if (++frame.locals[step.local.index].lanes[0] < frame.locals[step.limit].lanes[0]) {
          pc = step.target;
        }
        break;
      case Step::Kind::Jump: pc = step.target; break;
      case Step::Kind::Barrier: return Pause::Barrier;
      case Step::Kind::Return: return Pause::Ended;
    }
    return Pause::Turn;
  }

  void set(const BodyFrame& frame, const Step& step) {
    const ArrayPlace& array = frame.script->local_arrays[step.local.index];
    frame.locals[step.local.index] = frame.values[step.value.index];
    if (array.count == 0) return;
    const std::span<const Bits> from = frame.array_of(step.value);
    if (from.data() != frame.locals + array.first) {
      std::ranges::copy(from, frame.locals + array.first);
    }
  }

  void evaluate(const BodyFrame& frame, const Step& step) {
    evaluations_ += step.last - step.first;
    for (std::uint32_t i = step.first; i < step.last; ++i) {
      const Node& node = frame.script->nodes[i];
      frame.values[node.id] = value_of(frame, node);
    }
  }

  Bits value_of(const BodyFrame& frame, const Node& node) {
    const auto value = [&](std::size_t arg) -> const Bits& {
      return frame.values[node.args[arg].index];
    };
    const auto lane = [&](std::size_t arg) { return value(arg).lanes[0]; };
    const auto listed = [&](std::size_t arg) -> const Bits& {
      return frame.values[frame.script->operands[node.args[0].index + arg].index];
    };
    switch (node.op) {
      case Operation::Literal: break;  // never among the nodes
      case Operation::Local: return frame.locals[node.imm];
      case Operation::Load: {
        const Elements& from = elements_[node.imm];
        const std::uint32_t index = lane(0);
        const bool inside = index < from.length;
        const Bits loaded = inside ? access_.load(from, index) : Bits{};
        if (!inside) count_outside(out_of_bounds_.loads, ExprId{node.id});
        watch_.load(node, index, inside, loaded);
        return loaded;
      }
      case Operation::Length: return {{static_cast<std::uint32_t>(elements_[node.imm].length)}};
      case Operation::InvocationId:
        return {{group_[node.detail] * script_.program().workgroup_size[node.detail] +
                 local_[node.detail]}};
      case Operation::WorkgroupId: return {{group_[node.detail]}};
      case Operation::LocalId: return {{local_[node.detail]}};
      case Operation::Select: return value(lane(0) != 0 ? 1 : 2);
      case Operation::Cast:
        return eval_cast(node.type, static_cast<DataType>(node.detail), value(0));
      case Operation::Vec2: return {{lane(0), lane(1)}};
      case Operation::Vec4: {
        Bits vector;
        for (std::size_t i = 0; i < 4; ++i) vector.lanes[i] = listed(i).lanes[0];
        return vector;
      }
      case Operation::NumWorkgroups: return {{control_.grid[node.detail]}};
      case Operation::Table:
      case Operation::Zeros: break;  // they are where they are
      case Operation::Count: return {{element_count(node.type)}};
      case Operation::Array: {
        const ArrayPlace& array = frame.script->value_arrays[node.id];
        for (std::uint32_t i = 0; i < array.count; ++i) frame.values[array.first + i] = listed(i);
        break;
      }
      case Operation::Element: {
        const std::span<const Bits> array = frame.array_of(node.args[0]);
        const std::uint32_t index = lane(1);
        return index < array.size() ? array[index] : Bits{};
      }
      case Operation::Lane: return {{value(0).lanes[node.detail]}};
      case Operation::Call: return call(frame, node);
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
        return eval(node.op, node.type, value(0), value(1));
    }
    return {};
  }

  // An op does not call itself, directly or through others, so one frame for each is enough.
  Bits call(const BodyFrame& caller, const Node& node) {
    const BodyScript& script = script_.ops[node.imm];
    const BodyFrame callee{&script, ops_[node.imm].locals.data(), ops_[node.imm].values.data()};
    for (std::uint32_t i = 0; i < node.args[1].index; ++i) {
      const ExprId argument = caller.script->operands[node.args[0].index + i];
      callee.locals[i] = caller.values[argument.index];
      std::ranges::copy(caller.array_of(argument), callee.locals + script.local_arrays[i].first);
    }
    watch_.begin_call(node.imm, callee);
    ExprId result;
    const Bits bits = call_op(node.imm, {}, &result);
    if (result.exists()) {
      std::ranges::copy(callee.array_of(result),
                        caller.values + caller.script->value_arrays[node.id].first);
      watch_.end_call(node.imm, callee, result);
    }
    return bits;
  }

  void store(const Step& step, std::uint32_t index, const Bits& value) {
    const Elements& to = elements_[step.buffer.index];
    const bool inside = index < to.length;
    if (inside) {
      access_.store(to, index, value);
    } else {
      count_outside(out_of_bounds_.stores, {});
    }
    watch_.store(step, index, inside, value);
  }

  std::uint32_t update(const BodyFrame& frame, const Step& step) {
    const auto value = [&](ExprId id) { return id.exists() ? frame.values[id.index].lanes[0] : 0; };
    const Elements& to = elements_[step.buffer.index];
    const std::uint32_t index = value(step.index);
    const bool inside = index < to.length;
    std::uint32_t old = 0;
    std::uint32_t now = 0;
    if (inside) {
      auto element = access_.template word<std::uint32_t>(to.bytes + std::uint64_t{index} * 4);
      old = element.load();
      do {
        now = eval_atomic(step.atomic, to.element, old, value(step.expected), value(step.value));
      } while (!element.compare_exchange_weak(old, now));
    } else {
      count_outside(out_of_bounds_.atomics, {});
    }
    watch_.atomic(step, index, inside, old, now);
    return old;
  }

  // An access of the current step is out of bounds; `load` says which of its loads, if it is one.
  void count_outside(std::uint64_t& count, ExprId load) {
    const Grid& grid = control_.grid;
    const std::uint64_t group =
        (std::uint64_t{group_[2]} * grid[1] + group_[1]) * grid[0] + group_[0];
    OutOfBounds::First& first = out_of_bounds_.first;
    if (!out_of_bounds_.any() ||
        std::pair(group, invocation_) < std::pair(first.workgroup, first.invocation)) {
      first = {group, invocation_, {}, StmtId{stmt_}, load};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        first.global[axis] = group_[axis] * script_.program().workgroup_size[axis] + local_[axis];
      }
    }
    ++count;
  }

  // Takes the next portion of steps. A run with a limit has one thread; where it has several
  // machines they take single steps, so that the count is exact.
  bool spend() {
    const RunOptions& options = control_.options;
    if (options.max_steps != 0 && control_.spent == options.max_steps) {
      failure = {diagnose<message::too_many_steps>(options.max_steps)};
      return false;
    }
    if (reports_) control_.report();
    if (control_.stopped()) return false;
    allowance_ = 1 << 14;
    if (options.max_steps != 0) {
      if (options.schedule.kind == Schedule::Kind::Mixed) allowance_ = 1;
      allowance_ = std::min(allowance_, options.max_steps - control_.spent);
      control_.spent += allowance_;
    }
    steps_ += allowance_;
    return true;
  }

  void diverged() {
    const auto local_text = [&](std::uint32_t i) {
      return ids_text(local_ids(script_.program(), i));
    };
    // Somebody who is not where the first one waits.
    std::uint32_t other = 0;
    const auto waits = [&](std::uint32_t i) {
      return std::ranges::find(waiting_, i) != waiting_.end();
    };
    while (waits(other) && pcs_[other] == pcs_[waiting_[0]]) ++other;
    failure = {diagnose<message::divergence>(ids_text(group_), local_text(waiting_[0]),
                                             local_text(other),
                                             waits(other) ? "at another one" : "has ended")};
  }

  const Script& script_;
  Control& control_;
  Watch& watch_;
  ElementAccess access_;
  std::vector<Elements> elements_;
  // What private memory holds when an invocation begins: nobody may rely on it.
  static constexpr std::byte kUndefined{0xa7};
  struct OwnMemory {
    std::size_t buffer;
    std::size_t bytes;  // of each invocation
    std::vector<std::byte> all;
  };
  struct Contribution {
    Bits value;
    std::uint32_t chosen = 0;  // the number of an invocation
  };
  std::deque<std::vector<std::byte>> group_memory_;
  std::deque<OwnMemory> own_memory_;
  std::vector<Contribution> contributions_;
  const std::uint32_t invocations_;  // in a workgroup
  const bool interleaved_;           // invocations take turns after each statement
  const bool keeps_all_;             // the state of all invocations, not just of one
  const bool reports_;

  Ids group_{};
  Ids local_{};
  std::uint32_t invocation_ = 0;  // the same as a number
  std::uint32_t stmt_ = 0;        // of the current step
  OutOfBounds out_of_bounds_;
  std::vector<std::uint32_t> pcs_;
  std::vector<Bits> locals_;
  std::vector<Bits> values_;
  std::vector<OpFrame> ops_;
  std::deque<std::uint32_t> runnable_;  // the next one is the last of the list
  std::vector<std::uint32_t> waiting_;  // at a barrier
  Random random_{0};
  std::uint64_t steps_ = 0;      // taken, and those still allowed
  std::uint64_t allowance_ = 0;  // until the next look at the limit and the stop flag
  std::uint64_t evaluations_ = 0;
  bool stopped_ = false;
};

}  // namespace vyre
