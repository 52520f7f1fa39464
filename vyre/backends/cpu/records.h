// Records: accesses of a program that together touch every element of a stretch of a buffer, a few
// neighbouring ones for each invocation, such as data[4 * i], data[4 * i + 1] and so on. Vectors
// then move the whole stretch, and lanes are exchanged in registers.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "vyre/passes/lowered.h"

namespace vyre {

// What a table has for a key; null: nothing.
template <class Table>
const typename Table::mapped_type* found_in(const Table& table,
                                            const typename Table::key_type& key) {
  const auto found = table.find(key);
  return found == table.end() ? nullptr : &found->second;
}

struct Record {
  std::uint32_t size = 0;                          // elements for each invocation: a power of two
  StmtId last;                                     // of stores: the last one
  std::vector<std::pair<StmtId, ExprId>> members;  // statements, and loads; none: the store
};

struct Records {
  struct Place {
    std::size_t record = 0;
    std::uint32_t offset = 0;  // of the element
  };
  std::vector<Record> all;
  std::map<std::pair<StmtId, ExprId>, Place> places;

  const Place* find(StmtId stmt, ExprId load) const { return found_in(places, {stmt, load}); }
};

// Loads are of buffers that nobody writes, and stores have nothing between them that could tell
// when they happen.
Records find_records(const Lowered& lowered);

}  // namespace vyre
