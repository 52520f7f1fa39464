// Large programs as many functions. The time that LLVM takes for a function grows faster than its
// size, so that a large one is cut: a piece is a list of statements that becomes a function of its
// own, and long operations become functions that all of them call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "vyre/backends/cpu/emit.h"
#include "vyre/passes/lowered.h"

namespace vyre {

// Whether a program is to be written in pieces.
bool is_large(const Lowered& lowered, const CpuTarget& target);

// Whether an operation on vectors takes so much code that a large program has it once.
bool is_long(Operation op, DataType type, bool by_constant, const CpuTarget& target);
bool is_long_access(DataType element, bool is_store, bool is_row, const CpuTarget& target);

struct Piece {
  StmtId begin;
  StmtId end;
  bool is_collective = false;  // run for the whole workgroup, not for a gang
  std::uint32_t parent = 0;    // the piece that calls it
};

struct Pieces {
  std::vector<Piece> all;         // the first is the whole program
  std::vector<std::uint32_t> of;  // by statement: the innermost
  std::map<std::tuple<std::uint32_t, StmtId, bool>, std::uint32_t> found;

  // The piece of a function that begins at a statement.
  std::optional<std::uint32_t> find(std::uint32_t parent, StmtId begin, bool is_collective) const;
};

// `collective`: the statements that run for the whole workgroup.
Pieces find_pieces(const Lowered& lowered, const CpuTarget& target,
                   const std::vector<bool>& collective);

}  // namespace vyre
