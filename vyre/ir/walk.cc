#include "vyre/ir/walk.h"

namespace vyre {

Roots roots(const Stmt& stmt) {
  Roots result;
  for_each_root(stmt, [&](ExprId id) { result.add(id); });
  return result;
}

LocalId* local_of(Stmt& stmt) {
  if (Let* let = std::get_if<Let>(&stmt)) return &let->local;
  if (Assign* assign = std::get_if<Assign>(&stmt)) return &assign->local;
  if (For* loop = std::get_if<For>(&stmt)) return &loop->variable;
  if (Atomic* atomic = std::get_if<Atomic>(&stmt)) return &atomic->result;
  return nullptr;
}

LocalId declared(const Stmt& stmt) {
  if (const Let* let = std::get_if<Let>(&stmt)) return let->local;
  if (const For* loop = std::get_if<For>(&stmt)) return loop->variable;
  if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) return atomic->result;
  return {};
}

StmtId next(const Body& body, StmtId id) {
  const Stmt& stmt = body[id];
  if (const If* branch = std::get_if<If>(&stmt)) return branch->end;
  if (const For* loop = std::get_if<For>(&stmt)) return loop->end;
  if (const Block* block = std::get_if<Block>(&stmt)) return block->end;
  return StmtId{id.index + 1};
}

bool is_else_if(const Body& body, const If& parent) {
  return parent.else_begin < parent.end && std::holds_alternative<If>(body[parent.else_begin]) &&
         next(body, parent.else_begin) == parent.end;
}

Bits literal_bits(const Body& body, const Expr& literal) {
  if (is_wide(type_of_detail(literal))) return body.constants[literal.imm];
  Bits bits;
  bits.lanes[0] = literal.imm;
  return bits;
}

}  // namespace vyre
