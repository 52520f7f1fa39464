#include "vyre/backends/cpu/row_writer.h"

namespace vyre {
namespace {

using llvm::Compare;
using Value = Ir::Value;

// A gang of more statements is written once, with all checks.
constexpr std::uint32_t kMaxTwice = 400;

}  // namespace

void RowWriter::write(StmtId begin, StmtId end, const FastRow* whole) {
  bool does_something = false;
  for (StmtId id = begin; id < end; ++id.index) {
    does_something = does_something || !std::holds_alternative<Block>(facts_.body[id]);
  }
  if (!does_something) return;
  const std::uint64_t rows = facts_.layout.rows;
  const auto write_one = [&](Value number) {
    gang_.begin_row(number);
    whole != nullptr ? write_each(begin, end, *whole) : write_row(begin, end);
  };
  if (rows == 1) {
    write_one(ir_.wide(0));
  } else if (facts_.is_limited) {
    write_together(begin, end);
  } else if (whole != nullptr) {
    for (std::uint64_t i = 0; i < rows; ++i) write_one(ir_.wide(i));
  } else {
    ir_.loop("rows", ir_.wide(0), ir_.wide(rows), write_one);
  }
  gang_.end_gangs();
}

Value RowWriter::present_in_row() {
  if (!facts_.is_limited) return ir_.wide(facts_.layout.row_invocations);
  const Value origin = ir_.mul(ir_.zext(frame_.group[0], 64), frame_.row_size);
  return ir_.call("llvm.umin", {ir_.sub(frame_.limits[0], origin), frame_.row_size});
}

// Each gang with code of its own.
void RowWriter::write_each(StmtId begin, StmtId end, const FastRow& whole) {
  // What is after a `return` may not be reached.
  gang_.let_stores_wait(!facts_.has<Return>(begin, end));
  for (std::uint64_t i = 0; i < facts_.layout.row_gangs; ++i) {
    gang_.begin_gang(ir_.wide(i));
    gang_.write_fast(begin, end, whole, "gang.end");
  }
  gang_.let_stores_wait(false);
  gang_.write_waiting();
}

void RowWriter::write_row(StmtId begin, StmtId end) {
  RowSpan lanes{ir_.wide(0), present_in_row()};
  const Value present = lanes.to;
  const auto write_slow = [&](Value gang) {
    gang_.begin_gang(gang);
    gang_.write_checked(begin, end, present, "gang.end");
  };
  const bool twice = !facts_.can_unroll && !facts_.is_large && end.index - begin.index <= kMaxTwice;
  if (!twice) return ir_.loop("gangs", ir_.wide(0), gangs_for(present), write_slow);
  FastRow row = find_unchecked(frame_, gang_, begin, end, Extent::Row, lanes);
  const auto write_fast = [&](Value gang) {
    gang_.begin_gang(gang);
    load_slides(row, gang);
    gang_.write_fast(begin, end, row, "gang.end");
    move_slides(row);
  };
  const auto enter = [&](Value gang) { begin_slides(row, gang); };
  const RowSpan fast = whole_gangs(lanes);
  write_gang_loops(gangs_for(present), fast, enter, write_fast, write_slow);
}

// Several rows at once: what one of them loads serves the next one, too.
void RowWriter::write_together(StmtId begin, StmtId end) {
  const Value all_rows = ir_.wide(facts_.layout.rows);
  const Value origin = ir_.mul(ir_.zext(frame_.group[0], 64), frame_.row_size);
  const Value first_row = ir_.mul(ir_.zext(frame_.group[1], 64), all_rows);
  const Value present = ir_.call("llvm.umin", {ir_.sub(frame_.limits[0], origin), frame_.row_size});
  const Value rows = ir_.call("llvm.umin", {ir_.sub(frame_.limits[1], first_row), all_rows});
  const auto write_slow = [&](Value gang) {
    ir_.loop("rows", ir_.wide(0), rows, [&](Value row) {
      gang_.begin_row(row);
      gang_.begin_gang(gang);
      gang_.write_checked(begin, end, present, "row.end");
    });
  };
  if (facts_.is_large) return ir_.loop("gangs", ir_.wide(0), gangs_for(present), write_slow);
  RowSpan lanes{ir_.wide(0),
                ir_.select(ir_.compare(Compare::Eq, rows, all_rows), present, ir_.wide(0))};
  std::vector<FastRow> all;
  for (std::uint64_t i = 0; i < facts_.layout.rows; ++i) {
    gang_.begin_row(ir_.wide(i));
    all.push_back(find_unchecked(frame_, gang_, begin, end, Extent::Row, lanes));
  }
  const RowSpan fast = whole_gangs(lanes);
  const auto enter = [&](Value gang) {
    for (FastRow& row : all) begin_slides(row, gang);
  };
  const auto write_fast = [&](Value gang) {
    for (FastRow& row : all) load_slides(row, gang);
    gang_.let_stores_wait(true);
    for (std::uint64_t i = 0; i < facts_.layout.rows; ++i) {
      gang_.begin_row(ir_.wide(i));
      gang_.begin_gang(gang);
      gang_.write_fast(begin, end, all[i], "row.end");
    }
    gang_.let_stores_wait(false);
    for (const FastRow& row : all) move_slides(row);
    gang_.write_waiting();
  };
  write_gang_loops(gangs_for(present), fast, enter, write_fast, write_slow);
}

// Calls write_fast(gang) once, in a loop over the gangs of `fast`, with enter(gang) before it, and
// write_slow(gang) in a loop over the others of `count`.
template <class Enter, class Fast, class Slow>
void RowWriter::write_gang_loops(Value count, RowSpan fast, Enter enter, Fast write_fast,
                                 Slow write_slow) {
  const Value at = ir_.local(ir_.i64, "gang");
  ir_.store(ir_.wide(0), at);
  const Ir::Block head = ir_.block("gangs");
  const Ir::Block more = ir_.block("more");
  const Ir::Block entry = ir_.block("enter");
  const Ir::Block quick = ir_.block("fast");
  const Ir::Block slow = ir_.block("slow");
  const Ir::Block after = ir_.block("gangs.end");
  const auto go_to_next = [&](Value end_of, Ir::Block again, Ir::Block over) {
    const Value next = ir_.add(ir_.load(ir_.i64, at), ir_.wide(1));
    ir_.store(next, at);
    ir_.branch(ir_.compare(Compare::Ult, next, end_of), again, over);
  };
  ir_.jump(head);
  ir_.go_on(head);
  const Value now = ir_.load(ir_.i64, at);
  ir_.branch(ir_.compare(Compare::Ult, now, count), more, after);
  ir_.go_on(more);
  const Value in_fast =
      ir_.both(ir_.compare(Compare::Uge, now, fast.from), ir_.compare(Compare::Ult, now, fast.to));
  ir_.branch(in_fast, entry, slow);
  ir_.go_on(entry);
  enter(now);
  ir_.jump(quick);
  ir_.go_on(quick);
  const Value gang = ir_.load(ir_.i64, at);
  if (facts_.returns_far) {
    const Value first = ir_.mul(gang_.row(), ir_.wide(facts_.layout.row_gangs));
    const Value kept = gang_.kept_alive(ir_.add(first, gang));
    const Ir::Block whole = ir_.block("whole");
    ir_.branch(ir_.compare(Compare::Eq, kept, ir_.ones(ir_.i64)), whole, slow);
    ir_.go_on(whole);
  }
  write_fast(gang);
  go_to_next(fast.to, quick, head);
  ir_.go_on(slow);
  write_slow(ir_.load(ir_.i64, at));
  go_to_next(ir_.wide(0), head, head);
  ir_.go_on(after);
}

// --- Slides

Value RowWriter::slide_row(const FastRow::Slide& slide, Value gang) {
  const Value element = ir_.add(slide.start, ir_.mul(gang, ir_.wide(facts_.width)));
  const Value pointer = ir_.at(ir_.i32, frame_.buffers[slide.buffer.index].address, element);
  return ir_.load(ir_.vector(ir_.i32), pointer, 4);
}

void RowWriter::begin_slides(FastRow& row, Value gang) {
  for (FastRow::Slide& slide : row.slides) {
    slide.last = ir_.local(ir_.vector(ir_.i32), "last");
    slide.now = ir_.local(ir_.vector(ir_.i32), "now");
    ir_.store(slide_row(slide, ir_.sub(gang, ir_.wide(1))), slide.last);
    ir_.store(slide_row(slide, gang), slide.now);
  }
}

void RowWriter::load_slides(FastRow& row, Value gang) {
  for (FastRow::Slide& slide : row.slides) {
    slide.next = slide_row(slide, ir_.add(gang, ir_.wide(1)));
  }
}

void RowWriter::move_slides(const FastRow& row) {
  for (const FastRow::Slide& slide : row.slides) {
    ir_.store(ir_.load(ir_.vector(ir_.i32), slide.now), slide.last);
    ir_.store(slide.next, slide.now);
  }
}

}  // namespace vyre
