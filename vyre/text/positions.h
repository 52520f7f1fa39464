// The places of the parts of an item in its source: a table beside the program, per use, because
// one expression of the arena may be written in many places.
#pragma once

#include <vector>

#include "vyre/base/source.h"

namespace vyre {

struct ItemPositions {
  struct Statement {
    Span head;                      // its first token
    std::uint32_t first_use = 0;    // of its expressions, in `uses`
    Span local;                     // the name that it declares or assigns
    Span buffer;                    // the name of the buffer that it accesses
    std::uint32_t element_end = 0;  // behind the index that follows that
  };

  Span name;
  Span workgroup_size;
  Span output;
  std::uint32_t end = 0;  // the closing brace
  std::vector<Span> buffers;
  std::vector<Span> parameters;
  std::vector<Span> laws;
  std::vector<Statement> statements;
  std::vector<std::uint32_t> heads;  // first tokens of the item, its buffers, description, laws
  // Each use of an expression, statement by statement, in the order of for_each_use().
  std::vector<Span> uses;
};

}  // namespace vyre
