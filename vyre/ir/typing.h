// The types of a body's expressions and locals: a table beside the body.
#pragma once

#include <span>
#include <vector>

#include "vyre/ir/program.h"

namespace vyre {

struct Types {
  std::vector<DataType> exprs;
  std::vector<DataType> locals;

  DataType operator[](ExprId id) const { return exprs[id.index]; }
  DataType operator[](LocalId id) const { return locals[id.index]; }
};

// Of a valid body. `inputs` are the types of an op's parameters, `results` those of its callees.
Types types_of(const Body& body, std::span<const BufferDecl> buffers,
               std::span<const DataType> inputs, std::span<const DataType> results);

}  // namespace vyre
