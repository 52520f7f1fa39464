// Where the accesses of a program go: an index as another value and a constant distance from it,
// so that neighbours share an address; and which of them are neighbours that one instruction moves.
#pragma once

#include <cstdint>
#include <vector>

#include "vyre/ir/program.h"
#include "vyre/passes/bounds.h"

namespace vyre {

struct PtxPlace {
  static constexpr std::uint32_t kNoPack = 0xffffffff;

  bool checked = true;
  ExprId base;              // none: the index is the offset alone
  std::int64_t offset = 0;  // base + offset is the index, as a number that has not wrapped around
  std::uint32_t pack = kNoPack;
  std::uint32_t lane = 0;  // in the pack
};

// Loads or stores of all the elements of a stretch that is aligned to its size.
struct PtxPack {
  std::uint32_t width = 0;  // elements
  ExprId base;
  std::int64_t offset = 0;  // of the first one
  StmtId at;                // the first statement that loads, or the last that stores
};

struct PtxPlaces {
  std::vector<ExprId> bound;  // by local: the value that it always has, if there is one
  std::vector<bool> stable;   // by expression: of one value wherever what it mentions is visible
  std::vector<PtxPlace> all;  // by access, as in the bounds
  std::vector<PtxPack> packs;
};

PtxPlaces find_places(const Program& program, const Bounds& bounds);

// By buffer: workgroup memory that nobody reads before the workgroup has written all of it, each
// invocation the element of its own number, so that it need not begin as zeros.
std::vector<bool> find_filled(const Program& program, const Bounds& bounds,
                              const PtxPlaces& places);

}  // namespace vyre
