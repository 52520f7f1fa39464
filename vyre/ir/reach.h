// Expressions that others reach through their operands.
#pragma once

#include <set>
#include <vector>

#include "vyre/ir/walk.h"

namespace vyre {

// Calls visit(id) once for each of `roots` and of what is below them, users before operands.
template <class Roots, class Visit>
void for_each_below(const Body& body, const Roots& roots, Visit visit) {
  std::set<ExprId> seen;
  std::vector<ExprId> work(roots.begin(), roots.end());
  while (!work.empty()) {
    const ExprId id = work.back();
    work.pop_back();
    if (!seen.insert(id).second) continue;
    for (ExprId arg : operands(body, body[id])) work.push_back(arg);
    visit(id);
  }
}

// The locals that a statement reads.
inline std::set<LocalId> read_locals(const Body& body, const Stmt& stmt) {
  std::set<LocalId> locals;
  for_each_below(body, roots(stmt), [&](ExprId id) {
    if (body[id].op == Operation::Local) locals.insert(LocalId{body[id].imm});
  });
  return locals;
}

}  // namespace vyre
