// The lanes of a row that need no checks: their accesses to rows are in bounds, and tests of ids
// come out as they mostly do.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "vyre/backends/cpu/frame.h"

namespace vyre {

class GangWriter;

// Of the lanes or gangs of a row.
struct RowSpan {
  Ir::Value from = nullptr;
  Ir::Value to = nullptr;
};

// What code without checks may take for granted, in the lanes that run it.
struct FastRow {
  // An index as the place of a row's first lane, in 64 bits and without wrapping around, and a
  // number that is added to it.
  struct Start {
    Ir::Value at = nullptr;
    std::int64_t offset = 0;
  };
  // Rows of a buffer that overlap: the vectors of the last gang, this one and the next.
  struct Slide {
    BufferId buffer;
    Ir::Value start = nullptr;  // of the row
    Ir::Value last = nullptr;   // the memory of each
    Ir::Value now = nullptr;
    Ir::Value next = nullptr;  // itself
  };
  // A load that takes its lanes from a slide, so far from the middle.
  struct Slid {
    std::size_t slide = 0;
    std::int64_t by = 0;
  };

  Extent extent = Extent::Row;  // where it is the workgroup, each gang has code of its own
  std::set<std::pair<StmtId, ExprId>> in_bounds;  // accesses; no load: the store or atomic itself
  std::map<ExprId, bool> outcomes;                // of tests
  std::map<ExprId, Start> starts;                 // of indices
  std::vector<Slide> slides;
  std::map<std::pair<ExprId, BufferId>, Slid> slid;
  std::map<StmtId, Ir::Value> streamed;  // stores that may pass the caches, and whether they do
};

// Of code with all checks.
inline const FastRow kNothingKnown;

// For the statements from `begin` to `end`. Writes code that makes `lanes` those which need no
// checks; it comes before the first gang.
FastRow find_unchecked(Frame& frame, GangWriter& gang, StmtId begin, StmtId end, Extent extent,
                       RowSpan& lanes);

}  // namespace vyre
