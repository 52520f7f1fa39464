#include "vyre/ir/typing.h"

#include <algorithm>

#include "vyre/ir/walk.h"

namespace vyre {

Types types_of(const Body& body, std::span<const BufferDecl> buffers,
               std::span<const DataType> inputs, std::span<const DataType> results) {
  Types types;
  types.exprs.assign(body.exprs.size(), DataType::Unknown);
  types.locals.assign(body.locals.size(), DataType::Unknown);
  std::ranges::copy(inputs, types.locals.begin());

  const auto type_of = [&](const Expr& expr) {
    const std::span<const ExprId> args = operands(body, expr);
    switch (expr.op) {
      case Operation::Literal:
      case Operation::Cast: return type_of_detail(expr);
      case Operation::Local: return types.locals[expr.imm];
      case Operation::Load: return loaded_type(buffers[expr.imm].element);
      case Operation::Length:
      case Operation::InvocationId:
      case Operation::WorkgroupId:
      case Operation::LocalId:
      case Operation::Lane: return DataType::U32;
      case Operation::Select: return types[args[1]];
      case Operation::Vec2: return DataType::Vec2U32;
      case Operation::Vec4: return DataType::Vec4U32;
      case Operation::Call: return results[expr.imm];
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
          return result_of(expr.op, types[args[0]]);
    }
    return DataType::Unknown;
  };

  // A local is declared before an expression that is new in a later statement can mention it.
  std::uint32_t done = 0;
  for (const Stmt& stmt : body.stmts) {
    for (ExprId root : roots(stmt)) {
      for (; done <= root.index; ++done) types.exprs[done] = type_of(body.exprs[done]);
    }
    visit(
        stmt, [&](const Let& let) { types.locals[let.local.index] = types[let.value]; },
        [&](const For& loop) { types.locals[loop.variable.index] = DataType::U32; },
        [&](const Atomic& atomic) {
          if (!atomic.result.exists()) return;
          types.locals[atomic.result.index] = buffers[atomic.buffer.index].element;
        },
        Nothing<Assign, Store, If, Block, Break, Return, Barrier>());
  }
  return types;
}

}  // namespace vyre
