#include "vyre/ir/typing.h"

#include <algorithm>

namespace vyre {

std::optional<Diagnostic> variable_error(std::string_view what, DataType type) {
  const DataType element = element_type(type);
  const DataType value = loaded_type(element);
  if (type == DataType::Unknown || is_variable_type(type)) return {};
  if (element == DataType::Bytes) return diagnose<message::bytes_type>(what);
  if (value != element) return diagnose<message::narrow_type>(what, element, value);
  const std::uint64_t bytes = std::uint64_t{element_count(type)} * min_bytes(element);
  return diagnose<message::array_size>(what, type, bytes);
}

std::optional<Diagnostic> table_error(std::string_view name, DataType element, std::size_t count) {
  if (loaded_type(element) == DataType::Unknown) return diagnose<message::no_type>(name);
  if (element == DataType::Bytes) {
    return diagnose<message::bytes_type>("table `" + std::string(name) + "`");
  }
  if (count == 0) return diagnose<message::empty_table>(name);
  if (count <= kMaxTableCount && count * stride(element) <= kMaxTableBytes) return {};
  return diagnose<message::table_size>(name);
}

Diagnostic condition_error(DataType type) {
  if (is_array(type)) return diagnose<message::array_condition>(type);
  if (is_vector(type)) return diagnose<message::vector_condition>(type);
  return diagnose<message::condition_type>(type, text(type));
}

Diagnostic operand_error(std::string_view operation, DataType type, TypeSet taken) {
  if (is_array(type)) return diagnose<message::operand_array>(operation, type, list_of(taken));
  return diagnose<message::operand_type>(operation, type, list_of(taken));
}

Diagnostic lane_error(DataType type, std::uint32_t lane) {
  return diagnose<message::missing_lane>(type, std::string(1, "xyzw"[lane]),
                                         type == DataType::Vec2U32 ? "its lanes are .x and .y"
                                         : is_array(type) ? "an array has elements: `array[0]`"
                                         : cast_exists(type, DataType::Vec4U32)
                                             ? "only vectors have lanes; cast it: `vec4u32(…)`"
                                             : "only vectors have lanes; cast it: `vec2u32(…)`");
}

Types types_of(const Body& body, std::span<const BufferDecl> buffers,
               std::span<const DataType> inputs, std::span<const DataType> results) {
  Types types;
  types.exprs.assign(body.exprs.size(), DataType::Unknown);
  types.locals.assign(body.locals.size(), DataType::Unknown);
  std::ranges::copy(inputs, types.locals.begin());

  const auto type_of = [&](const Expr& expr) {
    if (expr.op == Operation::Local) return types.locals[expr.imm];
    if (expr.op == Operation::Load) return loaded_type(buffers[expr.imm].element);
    if (expr.op == Operation::Table) return body.tables[expr.imm].type();
    if (expr.op == Operation::Call) return results[expr.imm];
    const std::span<const ExprId> args = operands(body, expr);
    return result_type(expr, [&](std::size_t i) { return types[args[i]]; });
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
        [&](const Collective& collective) {
          types.locals[collective.result.index] = types[collective.value];
        },
        Nothing<Assign, Store, If, Block, Break, Return, Barrier, SetElement, Continue>());
  }
  return types;
}

}  // namespace vyre
