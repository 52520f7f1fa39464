// The types of a body's expressions and locals, found in one forward loop.
#pragma once

#include <vector>

#include "vyre/ir/program.h"

namespace vyre {

struct Types {
  std::vector<DataType> exprs;
  std::vector<DataType> locals;

  DataType operator[](ExprId id) const { return exprs[id.index]; }
  DataType operator[](LocalId id) const { return locals[id.index]; }
};

}  // namespace vyre
