// Writes the gangs of a workgroup, row after row. Most of a row has gangs that need no checks, one
// after the other; the others are checked lane by lane.
#pragma once

#include <vector>

#include "vyre/backends/cpu/gang_writer.h"

namespace vyre {

class RowWriter {
 public:
  using Value = Ir::Value;

  RowWriter(Frame& frame, GangWriter& gang) : frame_(frame), gang_(gang) {}

  // The statements for every gang. `whole`: what is known of all of them, where each has code of
  // its own; null: they share their code.
  void write(StmtId begin, StmtId end, const FastRow* whole);

 private:
  void write_rows(StmtId begin, StmtId end, std::uint64_t count);
  void write_each(StmtId begin, StmtId end, const FastRow& whole);
  template <class Enter, class Fast, class Slow>
  void write_gang_loops(Value count, RowSpan fast, Enter enter, Fast write_fast, Slow write_slow);
  Value gangs_for(Value lanes) { return (lanes + (facts_.width - 1)) / facts_.width; }
  // The gangs all of whose lanes are among these.
  RowSpan whole_gangs(RowSpan lanes) { return {gangs_for(lanes.from), lanes.to / facts_.width}; }
  // The invocations that a row has, where there may be fewer than places.
  Value present_in_row();

  // Rows that overlap: before the first gang without checks, before each of them, and after it.
  Value slide_row(const FastRow::Slide& slide, Value gang);
  void begin_slides(std::vector<FastRow>& rows, Value gang);
  void load_slides(std::vector<FastRow>& rows, Value gang);
  void move_slides(const std::vector<FastRow>& rows);

  Frame& frame_;
  GangWriter& gang_;
  const CpuFacts& facts_ = frame_.facts;
  Ir& ir_ = frame_.ir;
};

}  // namespace vyre
