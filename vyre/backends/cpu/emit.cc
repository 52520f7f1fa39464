#include "vyre/backends/cpu/emit.h"

#include <algorithm>

#include "vyre/backends/cpu/emitter.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

using llvm::Compare;
using Value = Ir::Value;
using Kind = Shape::Kind;

// A gang of so many statements is written once, with all checks.
constexpr std::uint32_t kMaxTwice = 400;
// A thread has its own copy of buffers of up to so many elements.
constexpr std::uint64_t kMaxCopied = 2048;

}  // namespace

void CpuEmitter::write_gang(StmtId begin, StmtId end, bool fast, Value mask) {
  fast_ = fast;
  mask_ = first_mask_ = mask;
  moved_.clear();
  fetched_.clear();
  alive_ = {};
  for (StmtId id = begin; id < end && !alive_.exists(); id = next(body_, id)) {
    if (!leaving_[id.index].returns) continue;
    alive_ = make_mask("alive");
  }
  // Locals of another version of the same statements are not those of this one.
  for (std::uint32_t i = begin.index; i < end.index; ++i) {
    const LocalId local = declared(body_.stmts[i]);
    if (!local.exists() || places_[local.index].crosses || is_large_) continue;
    places_[local.index].value = {};
    places_[local.index].slots = {};
  }
  statements(begin, end, gang_end_);
  fast_ = false;
}

// The statements for every gang of the workgroup, row after row.
void CpuEmitter::write_gangs(StmtId begin, StmtId end) {
  bool does_something = false;
  for (StmtId id = begin; id < end; ++id.index) {
    does_something = does_something || !std::holds_alternative<Block>(body_[id]);
  }
  if (!does_something) return;
  const auto row = [&](Value number) {
    begin_row(number);
    write_row(begin, end);
  };
  if (rows_ == 1) {
    row(ir_.wide(0));
  } else if (is_limited_) {
    write_rows(begin, end);
  } else if (is_unrolled_) {
    for (std::uint64_t i = 0; i < rows_; ++i) row(ir_.wide(i));
  } else {
    ir_.loop("rows", ir_.wide(0), ir_.wide(rows_), row);
  }
  gang_ = nullptr;
}

void CpuEmitter::begin_row(Value number) {
  row_ = number;
  const Value word = ir_.trunc(number, 32);
  const auto& size = program_.workgroup_size;
  first_[1] = ir_.urem(word, ir_.word(size[1]));
  first_[2] = ir_.udiv(word, ir_.word(size[1]));
}

// Several rows at once: what one of them loads serves the next one too.
void CpuEmitter::write_rows(StmtId begin, StmtId end) {
  const Value width = ir_.wide(width_);
  const Value origin = ir_.mul(ir_.zext(group_[0], 64), row_size_);
  const Value first_row = ir_.mul(ir_.zext(group_[1], 64), ir_.wide(rows_));
  const Value present = ir_.call("llvm.umin", {ir_.sub(limits_[0], origin), row_size_});
  const Value rows = ir_.call("llvm.umin", {ir_.sub(limits_[1], first_row), ir_.wide(rows_)});
  struct Row {
    std::map<ExprId, Start> starts;
    std::map<StmtId, Value> streamed;
    std::vector<Slide> slides;
    std::map<std::pair<ExprId, BufferId>, std::pair<std::size_t, std::int64_t>> sliding;
  };
  const auto write_slow = [&](Value gang) {
    ir_.loop("rows", ir_.wide(0), rows, [&](Value row) {
      begin_row(row);
      begin_gang(gang);
      gang_end_ = ir_.block("row.end");
      write_gang(begin, end, false, present_lanes(present));
      ir_.go_on(gang_end_);
    });
  };
  if (is_large_) return ir_.loop("gangs", ir_.wide(0), rounded_up(present), write_slow);
  std::vector<Row> all;
  Span fast{ir_.wide(0),
            ir_.select(ir_.compare(Compare::Eq, rows, ir_.wide(rows_)), present, ir_.wide(0))};
  for (std::uint64_t i = 0; i < rows_; ++i) {
    begin_row(ir_.wide(i));
    fast = unchecked(begin, end, fast);
    all.push_back({starts_, streamed_, slides_, sliding_});
  }
  fast = {rounded_up(fast.from), ir_.udiv(fast.to, width)};
  write_gang_loops(
      rounded_up(present), fast,
      [&](Value gang) {
        for (Row& row : all) {
          slides_ = row.slides;
          begin_slides(gang);
          row.slides = slides_;
        }
      },
      [&](Value gang) {
        for (Row& row : all) {
          slides_ = row.slides;
          load_slides(gang);
          row.slides = slides_;
        }
        for (std::uint64_t i = 0; i < rows_; ++i) {
          begin_row(ir_.wide(i));
          begin_gang(gang);
          starts_ = all[i].starts;
          streamed_ = all[i].streamed;
          slides_ = all[i].slides;
          sliding_ = all[i].sliding;
          gang_end_ = ir_.block("row.end");
          is_gathering_ = true;
          write_gang(begin, end, true, nullptr);
          is_gathering_ = false;
          ir_.go_on(gang_end_);
        }
        for (const Row& row : all) {
          slides_ = row.slides;
          go_on_with_slides();
        }
        put_rows(std::exchange(waiting_, {}));
      },
      write_slow);
}

// Most of a row has gangs that need no checks, one behind the other; the others are checked lane by
// lane.
void CpuEmitter::write_row(StmtId begin, StmtId end) {
  Span lanes{ir_.wide(0), ir_.wide(row_invocations_)};
  if (is_limited_) {
    const Value origin = ir_.mul(ir_.zext(group_[0], 64), row_size_);
    lanes.to = ir_.call("llvm.umin", {ir_.sub(limits_[0], origin), row_size_});
  }
  const Value present = lanes.to;
  if (is_unrolled_) {
    // What is behind a `return` may not be reached.
    is_gathering_ =
        std::none_of(body_.stmts.begin() + begin.index, body_.stmts.begin() + end.index,
                     [](const Stmt& stmt) { return std::holds_alternative<Return>(stmt); });
    for (std::uint64_t i = 0; i < gangs_ / rows_; ++i) {
      gang_end_ = ir_.block("gang.end");
      begin_gang(ir_.wide(i));
      write_gang(begin, end, true, nullptr);
      ir_.go_on(gang_end_);
    }
    is_gathering_ = false;
    return put_rows(std::exchange(waiting_, {}));
  }
  const auto write_slow = [&](Value gang) {
    begin_gang(gang);
    gang_end_ = ir_.block("gang.end");
    write_gang(begin, end, false, present_lanes(present));
    ir_.go_on(gang_end_);
  };
  const bool twice = !can_unroll_ && !is_large_ && end.index - begin.index <= kMaxTwice;
  if (!twice) return ir_.loop("gangs", ir_.wide(0), rounded_up(present), write_slow);
  Span fast = unchecked(begin, end, lanes);
  fast = {rounded_up(fast.from), ir_.udiv(fast.to, ir_.wide(width_))};
  const auto write_fast = [&](Value gang) {
    begin_gang(gang);
    load_slides(gang);
    gang_end_ = ir_.block("gang.end");
    write_gang(begin, end, true, nullptr);
    ir_.go_on(gang_end_);
    go_on_with_slides();
  };
  const auto enter = [&](Value gang) { begin_slides(gang); };
  write_gang_loops(rounded_up(present), fast, enter, write_fast, write_slow);
}

// Calls write_fast(gang) once, in a loop over the gangs of `fast`, with enter(gang) before it, and
// write_slow(gang) in a loop over the others of `count`.
template <class Enter, class Fast, class Slow>
void CpuEmitter::write_gang_loops(Value count, Span fast, Enter enter, Fast write_fast,
                                  Slow write_slow) {
  const Value at = ir_.local(ir_.i64, "gang");
  ir_.store(ir_.wide(0), at);
  const Ir::Block head = ir_.block("gangs");
  const Ir::Block more = ir_.block("more");
  const Ir::Block entry = ir_.block("enter");
  const Ir::Block quick = ir_.block("fast");
  const Ir::Block slow = ir_.block("slow");
  const Ir::Block behind = ir_.block("gangs.end");
  const auto go_to_next = [&](Value end_of, Ir::Block again, Ir::Block over) {
    const Value next = ir_.add(ir_.load(ir_.i64, at), ir_.wide(1));
    ir_.store(next, at);
    ir_.branch(ir_.compare(Compare::Ult, next, end_of), again, over);
  };
  ir_.jump(head);
  ir_.go_on(head);
  const Value now = ir_.load(ir_.i64, at);
  ir_.branch(ir_.compare(Compare::Ult, now, count), more, behind);
  ir_.go_on(more);
  const Value in_fast =
      ir_.both(ir_.compare(Compare::Uge, now, fast.from), ir_.compare(Compare::Ult, now, fast.to));
  ir_.branch(in_fast, entry, slow);
  ir_.go_on(entry);
  enter(now);
  ir_.jump(quick);
  ir_.go_on(quick);
  const Value gang = ir_.load(ir_.i64, at);
  if (returns_far_) {
    const Value number = ir_.add(ir_.mul(row_, ir_.wide(gangs_ / rows_)), gang);
    const Value kept = ir_.load(ir_.i64, ir_.at(ir_.i64, address(all_alive_), number));
    const Ir::Block whole = ir_.block("whole");
    ir_.branch(ir_.compare(Compare::Eq, kept, ir_.ones(ir_.i64)), whole, slow);
    ir_.go_on(whole);
  }
  write_fast(gang);
  go_to_next(fast.to, quick, head);
  ir_.go_on(slow);
  write_slow(ir_.load(ir_.i64, at));
  go_to_next(ir_.wide(0), head, head);
  ir_.go_on(behind);
}

// The ids of a gang of the row.
void CpuEmitter::begin_gang(Value number) {
  gang_in_row_ = number;
  gang_ = ir_.add(ir_.mul(row_, ir_.wide(gangs_ / rows_)), number);
  first_[0] = ir_.mul(ir_.trunc(number, 32), ir_.word(width_));
  if (in_rows_) return;
  const auto& size = program_.workgroup_size;
  const auto all = [&](std::uint32_t of) { return ir_.splat_number(ir_.i32, of); };
  const Value numbers = ir_.add(ir_.splat(first_[0]), ir_.ramp(ir_.i32, 0, 1));
  first_[0] = ir_.urem(numbers, all(size[0]));
  first_[1] = ir_.urem(ir_.udiv(numbers, all(size[0])), all(size[1]));
  first_[2] = ir_.udiv(numbers, all(size[0] * size[1]));
}

// Of the gang, those that are there and have not returned; null where all are.
Value CpuEmitter::present_lanes(Value present) {
  Value mask = nullptr;
  if (is_limited_ || row_invocations_ % width_ != 0) {
    const Value left = ir_.sub(present, ir_.mul(gang_in_row_, ir_.wide(width_)));
    const Value few = ir_.trunc(ir_.call("llvm.umin", {left, ir_.wide(width_)}), 32);
    mask = ir_.compare(Compare::Ult, ir_.ramp(ir_.i32, 0, 1), ir_.splat(few));
  }
  if (returns_far_) {
    const Value kept = ir_.load(ir_.i64, ir_.at(ir_.i64, address(all_alive_), gang_));
    mask = with(mask, from_bits(kept));
    const Ir::Block some = ir_.block("some");
    ir_.branch(any(mask), some, gang_end_);
    ir_.go_on(some);
  }
  return mask;
}

// Statements that run for the whole workgroup, and between them those that gangs run.
void CpuEmitter::write_region(StmtId begin, StmtId end) {
  StmtId first = begin;
  const auto flush = [&](StmtId to) {
    if (first < to && !ir_.is_closed()) write_gangs(first, to);
  };
  for (StmtId id = begin, after; id < end; id = after) {
    const std::optional<std::uint32_t> piece = piece_at(id, true);
    after = piece ? pieces_.all[*piece].end : next(body_, id);
    if (!piece && !is_on_top(id)) continue;
    flush(id);
    first = after;
    if (ir_.is_closed()) return;
    if (piece) {
      call_region_piece(*piece);
      continue;
    }
    begin_statement(id);
    const StmtId inside{id.index + 1};
    const bool has_blocks = next(body_, id) > inside;
    if (has_blocks) rows_known_.clear();
    if (const If* branch = std::get_if<If>(&body_[id])) {
      const Ir::Block yes = ir_.block("then");
      const Ir::Block no = ir_.block("else");
      const Ir::Block behind = ir_.block("end");
      ir_.branch(ops_.truth(scalar(branch->condition)), yes, no);
      ir_.go_on(yes);
      write_region(inside, branch->else_begin);
      ir_.jump(behind);
      ir_.go_on(no);
      rows_known_.clear();
      write_region(branch->else_begin, branch->end);
      ir_.jump(behind);
      ir_.go_on(behind);
    } else if (const For* loop = std::get_if<For>(&body_[id])) {
      const Value from = ops_.whole(scalar(loop->from)).parts[0];
      const Value to = ops_.whole(scalar(loop->to)).parts[0];
      const Value counter = ir_.local(ir_.i32, body_[loop->variable].name.c_str());
      ir_.store(from, counter);
      const Value rounds = count_rounds(id, *loop);
      const Ir::Block head = ir_.block("loop");
      const Ir::Block round = ir_.block("round");
      const Ir::Block exit = ir_.block("loop.end");
      ir_.jump(head);
      ir_.go_on(head);
      const Value now = ir_.load(ir_.i32, counter);
      begin_round(rounds);
      ir_.branch(ir_.compare(Compare::Ult, now, to), round, exit);
      ir_.go_on(round);
      Place& place = places_[loop->variable.index];
      place.crosses = false;
      begin_loop(place, now);
      loops_.push_back({id, exit, {}, nullptr, function_});
      write_region(inside, loop->end);
      loops_.pop_back();
      if (!ir_.is_closed()) {
        ir_.store(ir_.add(now, ir_.word(1)), counter);
        ir_.jump(head);
      }
      ir_.go_on(exit);
    } else if (const Block* block = std::get_if<Block>(&body_[id])) {
      write_region(inside, block->end);
    } else if (std::holds_alternative<Break>(body_[id])) {
      return leave_region(kBreak);
    } else if (std::holds_alternative<Return>(body_[id])) {
      return leave_region(kReturn);
    }
    if (has_blocks) rows_known_.clear();
  }
  flush(end);
}

// Workgroup memory begins as zeros.
void CpuEmitter::clear_memory() {
  const auto clear = [&](Value from, std::uint64_t bytes) {
    std::array<Ir::Type, 2> named{ir_.pointer(), ir_.i64};
    ir_.call("llvm.memset", named,
             {from, ir_.number(ir_.i8, 0), ir_.wide(bytes), ir_.zero(ir_.boolean)});
  };
  if (is_large_) return clear(frame(workgroup_memory_.first), workgroup_memory_.second);
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const BufferDecl& buffer = program_.buffers[i];
    if (buffer.access != BufferAccess::Workgroup) continue;
    lives(buffers_[i], "llvm.lifetime.start");
    clear(buffers_[i].address, std::uint64_t{buffer.count} * stride(buffer.element));
  }
}

void CpuEmitter::write_group() {
  group_end_ = ir_.block("group.end");
  if (returns_far_) {
    if (!all_alive_.exists()) {
      all_alive_ = make_slot(ir_.api().ArrayType2(ir_.i64, gangs_), 8 * gangs_, "alive", is_large_);
    }
    ir_.loop("begin", ir_.wide(0), ir_.wide(gangs_), [&](Value gang) {
      ir_.store(ir_.ones(ir_.i64), ir_.at(ir_.i64, address(all_alive_), gang));
    });
  }
  if (!can_unroll_) {
    clear_memory();
    write_region(StmtId{0u}, StmtId{body_.stmts.size()});
  } else {
    // All of the workgroup without checks and with code for each gang, or all of it otherwise.
    const Ir::Block yes = ir_.block("fast");
    const Ir::Block no = ir_.block("slow");
    ir_.branch(is_all_unchecked(), yes, no);
    for (const Ir::Block version : {yes, no}) {
      ir_.go_on(version);
      is_unrolled_ = version == yes;
      rows_known_.clear();
      for (Place& place : places_) {
        place.value = {};
        place.slots = {};
      }
      // LLVM drops memory of which all is in registers, unless other code reads it.
      const auto use_own = [&] {
        for (Buffer& buffer : buffers_) {
          if (buffer.is_local && !is_unrolled_) std::swap(buffer.address, buffer.checked);
        }
      };
      use_own();
      clear_memory();
      write_region(StmtId{0u}, StmtId{body_.stmts.size()});
      if (!ir_.is_closed()) {
        for (const Buffer& buffer : buffers_) lives(buffer, "llvm.lifetime.end");
      }
      use_own();
      ir_.jump(group_end_);
    }
    is_unrolled_ = false;
  }
  ir_.jump(group_end_);
  ir_.go_on(group_end_);
}

// From here on a buffer is in use, or not any more.
void CpuEmitter::lives(const Buffer& buffer, const char* intrinsic) {
  if (!buffer.is_local) return;
  std::array<Ir::Type, 1> named{ir_.pointer()};
  ir_.call(intrinsic, named, {ir_.ones(ir_.i64), buffer.address});
}

// Whether no invocation of the workgroup needs a check anywhere.
Value CpuEmitter::is_all_unchecked() {
  is_whole_ = true;
  std::ranges::fill(earlies_, Early::Unknown);
  begin_row(ir_.wide(0));
  const Span lanes =
      unchecked(StmtId{0u}, StmtId{body_.stmts.size()}, {ir_.wide(0), ir_.wide(row_invocations_)});
  const Value all = ir_.both(ir_.equal_zero(lanes.from),
                             ir_.compare(Compare::Eq, lanes.to, ir_.wide(row_invocations_)));
  // What was told of the first row is not true of others.
  starts_.clear();
  sliding_.clear();
  slides_.clear();
  if (rows_ > 1) streamed_.clear();
  is_whole_ = false;
  std::ranges::fill(earlies_, Early::Unknown);
  return all;
}

void CpuEmitter::set_attributes(Value function) {
  ir_.attribute(function, "target-cpu", target_.name);
  ir_.attribute(function, "target-features", target_.features);
  ir_.attribute(function, "prefer-vector-width", std::to_string(target_.bits));
  ir_.attribute(function, "min-legal-vector-width", std::to_string(target_.bits));
  ir_.attribute(function, "warn-stack-size", "0");  // LLVM tells what each takes
  ir_.attribute(function, 0xffffffff, "nounwind");
}

// The workgroups with the numbers [begin, end), x running fastest.
void CpuEmitter::write_groups(Value begin, Value end) {
  std::array<Value, 3> at{};
  const Value rows = ir_.udiv(begin, groups_[0]);
  const std::array<Value, 3> first = {ir_.urem(begin, groups_[0]), ir_.urem(rows, groups_[1]),
                                      ir_.udiv(rows, groups_[1])};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    at[axis] = ir_.local(ir_.i64, "group");
    ir_.store(first[axis], at[axis]);
  }
  ir_.loop("groups", begin, end, [&](Value) {
    std::array<Value, 3> now{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      now[axis] = ir_.load(ir_.i64, at[axis]);
      group_[axis] = ir_.trunc(now[axis], 32);
      if (is_large_) ir_.store(group_[axis], frame(kGroup + 4 * axis));
    }
    write_group();
    Value carry = ir_.ones(ir_.boolean);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Value next = ir_.add(now[axis], ir_.zext(carry, 64));
      const Value over = ir_.compare(Compare::Eq, next, groups_[axis]);
      ir_.store(axis == 2 ? next : ir_.select(over, ir_.wide(0), next), at[axis]);
      carry = ir_.both(carry, over);
    }
  });
}

void CpuEmitter::make_zeros() {
  zeros_ = ir_.api().AddGlobal(ir_.module(), ir_.vector(ir_.i64, 2), "zeros");
  ir_.api().SetInitializer(zeros_, ir_.zero(ir_.vector(ir_.i64, 2)));
  ir_.api().SetGlobalConstant(zeros_, 1);
  ir_.api().SetLinkage(zeros_, llvm::kPrivate);
}

void CpuEmitter::write() {
  if (is_large_) return write_large();
  const Ir::Type pointer = ir_.pointer();
  const std::size_t count = program_.buffers.size();

  // The function itself, with each buffer as a parameter: they do not overlap.
  std::vector<Ir::Type> parameters;
  for (std::size_t i = 0; i < count; ++i) {
    parameters.push_back(pointer);
    parameters.push_back(ir_.i64);
  }
  for (int i = 0; i < 7; ++i) parameters.push_back(ir_.i64);
  parameters.insert(parameters.end(), {pointer, ir_.i64, ir_.i64, pointer});
  const Value inner = ir_.declare("workgroups", parameters, false);
  ir_.begin(inner);
  set_attributes(inner);
  ir_.attribute(inner, 0xffffffff, "noinline");
  const auto last = static_cast<unsigned>(parameters.size());
  for (unsigned i = 0; i < count; ++i) {
    ir_.attribute(inner, 2 * i + 1, "noalias");
    buffers_.push_back({ir_.parameter(2 * i), ir_.parameter(2 * i + 1)});
  }
  ir_.attribute(inner, last, "noalias");
  scratch_ = ir_.parameter(last - 1);
  const Ir::Block start = ir_.block("start");
  ir_.go_on(start);
  for (unsigned axis = 0; axis < 3; ++axis) {
    groups_[axis] = ir_.parameter(static_cast<unsigned>(2 * count) + axis);
  }
  limits_ = {ir_.parameter(static_cast<unsigned>(2 * count) + 3),
             ir_.parameter(static_cast<unsigned>(2 * count) + 4)};
  row_size_ = ir_.parameter(static_cast<unsigned>(2 * count) + 5);
  streams_ = ir_.not_zero(ir_.parameter(static_cast<unsigned>(2 * count) + 6));
  stop_ = ir_.parameter(static_cast<unsigned>(2 * count) + 7);
  make_zeros();
  sink_ = ir_.local(ir_.vector(ir_.i64, 2), "sink");
  for (std::size_t i = 0; i < count; ++i) {
    const BufferDecl& buffer = program_.buffers[i];
    if (buffer.access != BufferAccess::Workgroup) continue;
    const std::uint64_t bytes = std::uint64_t{buffer.count} * stride(buffer.element);
    buffers_[i].length = ir_.wide(buffer.count);
    if (can_unroll_ && taken_ + 2 * bytes <= kMaxStackBytes / 2) {
      // LLVM sees that nobody else looks at it.
      taken_ += 2 * bytes;
      const Ir::Type line = ir_.vector(ir_.i32, kLine / 4);
      const std::uint64_t lines = (bytes + kLine - 1) / kLine;
      for (Value* memory : {&buffers_[i].address, &buffers_[i].checked}) {
        *memory = ir_.local(ir_.api().ArrayType2(line, lines), buffer.name.c_str());
      }
      buffers_[i].is_local = true;
    } else {
      buffers_[i].address = frame(reserve(bytes));
    }
  }
  const std::map<BufferId, Atomic> copied = find_copied();
  const auto for_each_copied = [&](auto visit) {
    for (const auto& [id, atomic] : copied) {
      const Buffer& buffer = buffers_[id.index];
      const Ir::Block yes = ir_.block("copied");
      const Ir::Block no = ir_.block("not.copied");
      ir_.branch(buffer.has_copy, yes, no);
      ir_.go_on(yes);
      ir_.loop("copy", ir_.wide(0), buffer.length, [&](Value i) { visit(buffer, atomic, i); });
      ir_.jump(no);
      ir_.go_on(no);
    }
  };
  for (const auto& [id, atomic] : copied) {
    Buffer& buffer = buffers_[id.index];
    buffer.copy = frame(reserve(kMaxCopied * 4));
    buffer.has_copy = ir_.compare(Compare::Ule, buffer.length, ir_.wide(kMaxCopied));
  }
  for_each_copied([&](const Buffer& buffer, const Atomic& atomic, Value i) {
    ir_.store(ir_.word(neutral(atomic)), ir_.at(ir_.i32, buffer.copy, i), 4);
  });
  write_groups(ir_.parameter(last - 3), ir_.parameter(last - 2));
  for_each_copied([&](const Buffer& buffer, const Atomic& atomic, Value i) {
    const Value own = ir_.load(ir_.i32, ir_.at(ir_.i32, buffer.copy, i), 4);
    const Ir::Block changed = ir_.block("changed");
    const Ir::Block next = ir_.block("next");
    ir_.branch(ir_.compare(Compare::Ne, own, ir_.word(neutral(atomic))), changed, next);
    ir_.go_on(changed);
    update(atomic, false, ir_.at(ir_.i32, buffer.address, i), nullptr, own);
    ir_.jump(next);
    ir_.go_on(next);
  });
  if (target_.triple.starts_with("x86_64"))
    ir_.call("llvm.x86.sse.sfence", std::span<Ir::Type>(), {});
  ir_.leave();
  ir_.begin_at(start);

  // What the runtime calls.
  std::array<Ir::Type, 4> outside{pointer, ir_.i64, ir_.i64, pointer};
  const Value kernel = ir_.declare("vyre_kernel", outside, true);
  ir_.begin(kernel);
  set_attributes(kernel);
  arguments_ = ir_.parameter(0);
  std::vector<Value> passed;
  for (std::size_t i = 0; i < count; ++i) {
    passed.push_back(ir_.load(pointer, argument(2 * i)));
    passed.push_back(ir_.load(ir_.i64, argument(2 * i + 1)));
  }
  for (std::size_t i = 0; i < 7; ++i) {
    passed.push_back(ir_.load(ir_.i64, argument(2 * count + i)));
  }
  passed.push_back(ir_.load(pointer, argument(2 * count + 7)));
  for (unsigned i = 1; i < 4; ++i) passed.push_back(ir_.parameter(i));
  ir_.api().BuildCall2(ir_.builder(),
                       ir_.api().FunctionType(ir_.nothing, parameters.data(), last, 0), inner,
                       passed.data(), last, "");
  ir_.leave();
}

namespace {

// What the vector code needs of LLVM's optimiser: values instead of memory, nothing twice, nothing
// in loops that does not change there.
constexpr const char* kPasses =
    "sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,loop-simplify,lcssa,"
    "loop-mssa(licm),sroa,early-cse<memssa>,gvn,instcombine<no-verify-fixpoint>,dse,adce,simplifycfg";

// What the functions of a large program get of it: what takes about the same time for each
// instruction.
constexpr const char* kFewPasses = "sroa,early-cse,simplifycfg,adce";

// Owns what LLVM compiles with.
class Machine {
 public:
  Machine(const llvm::Api& api, const CpuTarget& target, bool is_large) : api_(api) {
    passes_ = std::string(target.is_scalar ? "sroa,scalarizer," : "") + kPasses;
    if (is_large) passes_ = kFewPasses;

    llvm::Target found = nullptr;
    char* message = nullptr;
    if (api.GetTargetFromTriple(target.triple.c_str(), &found, &message) != 0) {
      problem = message;
      api.DisposeMessage(message);
      return;
    }
    machine_ = api.CreateTargetMachine(found, target.triple.c_str(), target.name.c_str(),
                                       target.features.c_str(), 1, llvm::kPic, 0);
  }
  ~Machine() {
    if (machine_ != nullptr) api_.DisposeTargetMachine(machine_);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void prepare(Ir& ir, const CpuTarget& target) {
    api_.SetTarget(ir.module(), target.triple.c_str());
    const llvm::TargetData layout = api_.CreateTargetDataLayout(machine_);
    api_.SetModuleDataLayout(ir.module(), layout);
    api_.DisposeTargetData(layout);
  }
  bool optimise(Ir& ir) {
    const llvm::PassOptions options = api_.CreatePassBuilderOptions();
    const std::string passes = "function(" + passes_ + ")";
    const llvm::Error error = api_.RunPasses(ir.module(), passes.c_str(), machine_, options);
    api_.DisposePassBuilderOptions(options);
    if (error == nullptr) return true;
    char* message = api_.GetErrorMessage(error);
    problem = message;
    api_.DisposeErrorMessage(message);
    return false;
  }
  std::string compile(Ir& ir, int file) {
    char* message = nullptr;
    llvm::MemoryBuffer buffer = nullptr;
    if (api_.TargetMachineEmitToMemoryBuffer(machine_, ir.module(), file, &message, &buffer) != 0) {
      problem = message;
      api_.DisposeMessage(message);
      return {};
    }
    std::string bytes(api_.GetBufferStart(buffer), api_.GetBufferSize(buffer));
    api_.DisposeMemoryBuffer(buffer);
    return bytes;
  }

  std::string problem;

 private:
  const llvm::Api& api_;
  std::string passes_;
  llvm::TargetMachine machine_ = nullptr;
};

Result<std::string> produce(const llvm::Api& api, const CpuReady& ready,
                            std::optional<CpuText> what, CpuCode& code) {
  Machine machine(api, ready.target, ready.is_large);
  const auto failed = [&] {
    return diagnose<message::no_machine_code>(ready.program.name, machine.problem);
  };
  if (!machine.problem.empty()) return failed();
  CpuEmitter emitter(api, ready);
  Ir& ir = emitter.ir();
  machine.prepare(ir, ready.target);
  emitter.write();
  code.scratch_bytes = emitter.scratch_bytes();
  char* message = nullptr;
  if (api.VerifyModule(ir.module(), 2, &message) != 0) machine.problem = message;
  api.DisposeMessage(message);
  if (!machine.problem.empty()) return failed();
  const auto text = [&] {
    char* printed = api.PrintModuleToString(ir.module());
    std::string copy = printed;
    api.DisposeMessage(printed);
    return copy;
  };
  if (!machine.optimise(ir)) return failed();
  if (what == CpuText::Llvm) return text();
  std::string made = machine.compile(ir, what ? llvm::kAssembly : llvm::kObject);
  if (machine.problem.empty()) machine.problem = ir.problem();
  if (made.empty() || !machine.problem.empty()) return failed();
  code.stack_bytes = emitter.stack_bytes();
  return made;
}

}  // namespace

Result<CpuCode> emit_cpu(const llvm::Api& api, const CpuReady& ready) {
  CpuCode code;
  Result<std::string> object = produce(api, ready, {}, code);
  if (!object) return object.diagnostics();
  code.object = std::move(*object);
  return code;
}

Result<std::string> print_cpu(const llvm::Api& api, const CpuReady& ready, CpuText what) {
  CpuCode code;
  return produce(api, ready, what, code);
}

}  // namespace vyre
