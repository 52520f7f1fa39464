#include "vyre/backends/cpu/row_writer.h"

namespace vyre {
namespace {

using llvm::Compare;
using Value = Ir::Value;

// A gang of more statements is written once, with all checks.
constexpr std::uint32_t kMaxTwice = 400;

}  // namespace

void RowWriter::write(StmtId begin, StmtId end, const FastRow* whole) {
  if (!facts_.has<Let, Assign, Store, Atomic, If, For, Break, Return, Collective>(begin, end)) {
    return;
  }
  const std::uint64_t rows = facts_.layout.rows;
  const auto write_one = [&](Value number) {
    gang_.begin_row(number);
    whole != nullptr ? write_each(begin, end, *whole) : write_rows(begin, end, 1);
  };
  if (rows == 1) {
    write_one(ir_.wide(0));
  } else if (facts_.is_limited) {
    write_rows(begin, end, rows);
  } else if (whole != nullptr) {
    for (std::uint64_t i = 0; i < rows; ++i) write_one(ir_.wide(i));
  } else {
    ir_.loop("rows", ir_.wide(0), ir_.wide(rows), write_one);
  }
  gang_.end_gangs();
}

Value RowWriter::present_in_row() {
  if (!facts_.is_limited) return ir_.wide(facts_.layout.row_invocations);
  const Value origin = ir_.zext(frame_.group[0], 64) * frame_.row_size;
  return ir_.umin(frame_.limits[0] - origin, frame_.row_size);
}

// Each gang with code of its own.
void RowWriter::write_each(StmtId begin, StmtId end, const FastRow& whole) {
  // What is after a `return` may not be reached.
  gang_.let_stores_wait(!facts_.has<Return>(begin, end));
  for (std::uint64_t i = 0; i < facts_.layout.row_gangs; ++i) {
    gang_.begin_gang(ir_.wide(i));
    gang_.write_fast(begin, end, whole);
  }
  gang_.write_waiting();
}

// One row, which has begun; or several at once: what one of them loads serves the next one, too.
void RowWriter::write_rows(StmtId begin, StmtId end, std::uint64_t count) {
  const bool is_one = count == 1;
  const Value present = present_in_row();
  RowSpan lanes{ir_.wide(0), present};
  Value rows;
  if (!is_one) {
    const Value first = ir_.zext(frame_.group[1], 64) * count;
    rows = ir_.umin(frame_.limits[1] - first, count);
    lanes.to = ir_.select(ir_.equal(rows, count), present, 0);
  }
  const auto write_slow = [&](Value gang) {
    const auto write_one = [&] {
      gang_.begin_gang(gang);
      gang_.write_checked(begin, end, present);
    };
    if (is_one) return write_one();
    ir_.loop("rows", ir_.wide(0), rows, [&](Value row) {
      gang_.begin_row(row);
      write_one();
    });
  };
  const bool twice = !facts_.can_unroll && !facts_.is_large && end.index - begin.index <= kMaxTwice;
  if (!twice) return ir_.loop("gangs", ir_.wide(0), gangs_for(present), write_slow);
  std::vector<FastRow> all;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!is_one) gang_.begin_row(ir_.wide(i));
    all.push_back(find_unchecked(frame_, gang_, begin, end, Extent::Row, lanes));
  }
  const auto write_fast = [&](Value gang) {
    load_slides(all, gang);
    gang_.let_stores_wait(!is_one);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!is_one) gang_.begin_row(ir_.wide(i));
      gang_.begin_gang(gang);
      gang_.write_fast(begin, end, all[i]);
    }
    move_slides(all);
    gang_.write_waiting();
  };
  const RowSpan fast = whole_gangs(lanes);
  const auto enter = [&](Value gang) { begin_slides(all, gang); };
  write_gang_loops(gangs_for(present), fast, enter, write_fast, write_slow);
}

// Calls write_fast(gang) once, in a loop over the gangs of `fast`, with enter(gang) before it, and
// write_slow(gang) in a loop over the others of `count`.
template <class Enter, class Fast, class Slow>
void RowWriter::write_gang_loops(Value count, RowSpan fast, Enter enter, Fast write_fast,
                                 Slow write_slow) {
  const Value at = ir_.variable("gang", ir_.wide(0));
  const Ir::Block head = ir_.block("gangs");
  const Ir::Block more = ir_.block("more");
  const Ir::Block entry = ir_.block("enter");
  const Ir::Block quick = ir_.block("fast");
  const Ir::Block slow = ir_.block("slow");
  const Ir::Block after = ir_.block("gangs.end");
  const auto go_to_next = [&](Value end_of, Ir::Block again, Ir::Block over) {
    const Value next = ir_.load(ir_.i64, at) + 1;
    ir_.store(next, at);
    ir_.branch(next < end_of, again, over);
  };
  ir_.jump(head);
  ir_.go_on(head);
  const Value now = ir_.load(ir_.i64, at);
  ir_.branch(now < count, more, after);
  ir_.go_on(more);
  const Value after_begin = now >= fast.from;
  ir_.branch(after_begin & (now < fast.to), entry, slow);
  ir_.go_on(entry);
  enter(now);
  ir_.jump(quick);
  ir_.go_on(quick);
  const Value gang = ir_.load(ir_.i64, at);
  if (facts_.returns_far) {
    const Value first = gang_.row() * facts_.layout.row_gangs;
    const Value kept = gang_.kept_alive(first + gang);
    ir_.go_on_if(ir_.equal(kept, ir_.ones(ir_.i64)), "whole", slow);
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
  const Value element = slide.start + gang * facts_.width;
  const Value pointer = ir_.at(ir_.i32, frame_.buffers[slide.buffer.index].address, element);
  return ir_.load(ir_.vector(ir_.i32), pointer, 4);
}

void RowWriter::begin_slides(std::vector<FastRow>& rows, Value gang) {
  for (FastRow& row : rows) {
    for (FastRow::Slide& slide : row.slides) {
      slide.last = ir_.variable("last", slide_row(slide, gang - 1));
      slide.now = ir_.variable("now", slide_row(slide, gang));
    }
  }
}

void RowWriter::load_slides(std::vector<FastRow>& rows, Value gang) {
  const Value next = gang + 1;
  for (FastRow& row : rows) {
    for (FastRow::Slide& slide : row.slides) slide.next = slide_row(slide, next);
  }
}

void RowWriter::move_slides(const std::vector<FastRow>& rows) {
  for (const FastRow& row : rows) {
    for (const FastRow::Slide& slide : row.slides) {
      ir_.store(ir_.load(ir_.vector(ir_.i32), slide.now), slide.last);
      ir_.store(slide.next, slide.now);
    }
  }
}

}  // namespace vyre
