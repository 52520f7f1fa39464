// Where the accesses of a program go: an index as another value and a constant distance from it,
// so that neighbours share an address; and which of them are neighbours that one instruction moves.
#pragma once

#include <cstdint>
#include <vector>

#include "vyre/ir/program.h"
#include "vyre/passes/bounds.h"

namespace vyre {

struct AccessPlace {
  static constexpr std::uint32_t kNoPack = 0xffffffff;

  bool checked = true;      // its index is compared with the length
  ExprId condition;         // that has to hold besides, if any
  ExprId index;             // where it does
  ExprId base;              // none: the index is the offset alone
  std::int64_t offset = 0;  // base + offset is the index, as a number that has not wrapped around
  std::uint32_t pack = kNoPack;
  std::uint32_t lane = 0;  // in the pack
};

// Loads or stores of all the elements of a stretch that is aligned to its size.
struct AccessPack {
  std::uint32_t width = 0;  // elements
  ExprId base;
  std::int64_t offset = 0;  // of the first one
  ExprId condition;         // under which all of them happen, if any
  StmtId at;                // the first statement that loads, or the last that stores
};

struct Places {
  std::vector<ExprId> bound;     // by local: the value that it always has, if there is one
  std::vector<bool> stable;      // by expression: of one value wherever what it mentions is visible
  std::vector<AccessPlace> all;  // by access, as in the bounds
  std::vector<AccessPack> packs;
  // By expression, of a division: what its divisor never is, wherever it is computed.
  struct Divisor {
    bool not_zero = true;
    bool not_minus_one = true;
  };
  std::vector<Divisor> divisors;

  // Of the store or atomic of a statement, or of a load in it.
  const AccessPlace& at(const Bounds& bounds, StmtId stmt, ExprId load = {}) const {
    return all[static_cast<std::size_t>(bounds.find(stmt, load) - bounds.accesses.data())];
  }
};

// The bounds of a program, and the places of its accesses.
Bounds bounds_of(const Program& program, const DispatchFacts* facts, Places& places);

}  // namespace vyre
