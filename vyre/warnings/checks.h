// What looks for warnings in one item.
#pragma once

#include <string_view>

#include "vyre/base/source.h"
#include "vyre/text/parse.h"
#include "vyre/validate/context.h"

namespace vyre {

// An item and, when it came as text, what is written.
struct Written {
  Context& context;
  const Source* source = nullptr;  // both or none
  const ItemPositions* positions = nullptr;

  std::string_view text(Span span) const {
    return std::string_view(source->text).substr(span.begin, span.end - span.begin);
  }
  Span use(std::uint32_t stmt, std::uint32_t number) const {
    return positions->uses[positions->statements[stmt].first_use + number];
  }
  // The word with which a statement begins; of an expansion that of the statement that is written.
  std::string_view head(std::uint32_t stmt) const {
    return positions == nullptr ? "" : text(positions->statements[stmt].head);
  }
};

// Calls visit(id, number) for each use of an expression in a statement.
template <class Visit>
void for_each_use_in(const Body& body, std::uint32_t stmt, Visit visit) {
  std::uint32_t number = 0;
  for (ExprId root : roots(body.stmts[stmt])) {
    for_each_use(body, root, [&](ExprId id) { visit(id, number++); });
  }
}

void check_ranges(const Written& item);    // L001 to L004, L010, L011
void check_unused(const Written& item);    // L005, L009
void check_spelling(const Written& item);  // L006, L007, L013
void check_stores(const Written& item);    // L008

}  // namespace vyre
