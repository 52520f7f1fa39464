// The built-in operations as ops, so that one prover serves both.
#include <algorithm>
#include <cassert>

#include "vyre/ir/intern.h"
#include "vyre/prove/prove.h"

namespace vyre {
namespace {

std::string id_of(const OperationInfo& row, DataType type) {
  std::string id = "builtin.";
  for (char c : row.name) id += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return id + "." + std::string(text(type));
}

// A word of the table as a constant of a type; `operand` is the type of the operation.
TypedBits constant(DataType type, std::string_view word, DataType operand) {
  const bool ones = word == "ones";
  std::uint32_t lane = word == "1" ? 1 : 0;
  if (ones) lane = type == DataType::Bool ? 1 : 0xffffffff;
  if (word == "width") lane = lane_bits(operand);
  TypedBits value{type, {}};
  for (std::size_t i = 0; i < words(type); ++i) {
    if (i == 0 || ones || is_vector(type)) value.bits.lanes[i] = lane;
  }
  return value;
}

// `distributive_over(primitive.bitwise.or)` names the operation by its op for u32.
std::string id_of_other(std::string_view id, DataType type) {
  const Op* op = Registry().find(id);
  assert(op != nullptr && op->body.stmts.size() == 1);
  const Operation operation = op->body[std::get<Return>(op->body.stmts[0]).value].op;
  return id_of(info(operation), type);
}

// The laws of a row for one of its types: each is `name` or `name(word, word)`.
std::vector<Law> laws_of(const OperationInfo& row, DataType type) {
  std::vector<Law> laws;
  std::string_view rest = row.laws;
  while (!rest.empty()) {
    const LawInfo& law = *find_law(rest.substr(0, rest.find_first_of(" (")));
    rest.remove_prefix(law.text.size());
    std::vector<LawArgument>& arguments = laws.emplace_back(Law{law.kind, {}}).arguments;
    for (const char kind : law.arguments) {
      rest.remove_prefix(rest.find_first_not_of("(, "));
      const std::string_view word = rest.substr(0, rest.find_first_of(",)"));
      rest.remove_prefix(word.size());
      if (kind == 'o') {
        arguments.emplace_back(id_of_other(word, type));
      } else if (kind == 'b') {
        arguments.emplace_back(TypedBits{DataType::Bool, {{word == "true"}}});
      } else {
        assert(kind == 'v');  // no row has a direction
        const bool second = law.kind == LawKind::RightIdentity;
        const DataType wanted = second ? second_operand(row.op, type) : result_of(row.op, type);
        arguments.emplace_back(constant(wanted, word, type));
      }
    }
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(") ")));
  }
  return laws;
}

Op op_of(const OperationInfo& row, DataType type) {
  Op op{id_of(row, type), {{type}, result_of(row.op, type)}, "", laws_of(row, type), {}};
  if (row.arity == 2) op.signature.inputs.push_back(second_operand(row.op, type));
  Interner make(op.body);
  std::vector<ExprId> operands;
  for (std::size_t i = 0; i < op.signature.inputs.size(); ++i) {
    op.body.locals.push_back({i == 0 ? "a" : "b"});
    operands.push_back(make.local(LocalId{i}));
  }
  op.body.stmts.push_back(Return{make.make(row.op, 0, 0, operands)});
  return op;
}

}  // namespace

const Registry& builtin_ops() {
  static const Registry registry = [] {
    Registry made;
    for (const OperationInfo& row : all_operations()) {
      if (is_form(row.op)) continue;
      for (const TypeInfo& type : all_types()) {
        if (contains(row.types, type.type)) (void)made.add(op_of(row, type.type));
      }
    }
    return made;
  }();
  return registry;
}

}  // namespace vyre
