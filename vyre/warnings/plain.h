// An item as analyses of programs without calls take it: each statement and value is where it is
// written, and what is only written is memory of which nothing is known.
#pragma once

#include <vector>

#include "vyre/ir/program.h"
#include "vyre/validate/context.h"

namespace vyre {

struct Plain {
  Program program;
  std::vector<ExprId> exprs;  // by expression of the item; none for an array
  // Statements before those of the item, which give the parameters of an op their values.
  std::uint32_t first = 0;

  StmtId at(std::uint32_t stmt) const { return StmtId{stmt + first}; }
  ExprId operator[](ExprId id) const { return exprs[id.index]; }
};

Plain plain(const Context& item);

}  // namespace vyre
