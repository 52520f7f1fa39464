// Expressions that only move bytes of words to other places, such as a swap of their order written
// with shifts and masks: one instruction does that.
#pragma once

#include <cstdint>
#include <vector>

#include "vyre/ir/program.h"
#include "vyre/ir/typing.h"

namespace vyre {

struct BytesMove {
  ExprId first;   // none: this expression is no such thing
  ExprId second;  // none: zeros
  // Four bits for each byte, lowest first: 0 to 3 for those of the first word, 4 to 7 for those of
  // the second.
  std::uint32_t selector = 0;
};

// By expression, where it replaces at least three operations.
std::vector<BytesMove> find_moves(const Body& body, const Types& types);

}  // namespace vyre
