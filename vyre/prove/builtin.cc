// The built-in operations as ops, so that one prover serves both.
#include <algorithm>
#include <cassert>

#include "vyre/base/text.h"
#include "vyre/compile.h"
#include "vyre/prove/prove.h"
#include "vyre/text/print.h"

namespace vyre {
namespace {

std::string id_of(const OperationInfo& row, DataType type) {
  std::string id = "builtin.";
  for (char c : row.name) id += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return id + "." + std::string(text(type));
}

// A word of the table as a constant of a type; `operand` is the type of the operation.
std::string constant_text(DataType type, std::string_view word, DataType operand) {
  const bool ones = word == "ones";
  std::uint32_t lane = word == "1" ? 1 : 0;
  if (ones) lane = type == DataType::Bool ? 1 : 0xffffffff;
  if (word == "width") lane = lane_bits(operand);
  TypedBits value{type, {}};
  for (std::size_t i = 0; i < words(type); ++i) {
    if (i == 0 || ones || is_vector(type)) value.bits.lanes[i] = lane;
  }
  return print_literal(value);
}

// `distributive_over(primitive.bitwise.or)` names the operation by its op for u32.
std::string other_text(std::string_view id, DataType type) {
  const Op* op = Registry().find(id);
  assert(op != nullptr && op->body.stmts.size() == 1);
  const Operation operation = op->body[std::get<Return>(op->body.stmts[0]).value].op;
  return id_of(info(operation), type);
}

// The laws of a row for one of its types, as they would be written in an op.
std::string laws_text(const OperationInfo& row, DataType type) {
  std::string out;
  std::string_view rest = row.laws;
  while (!rest.empty()) {
    const std::size_t open = rest.find('(');
    const std::size_t space = rest.find(' ');
    const bool has_arguments = open < space;
    const std::size_t end = has_arguments ? rest.find(')') + 1 : std::min(space, rest.size());
    const std::string_view name = rest.substr(0, has_arguments ? open : end);
    out += "  law " + std::string(name);
    if (has_arguments) {
      std::string_view list = rest.substr(open + 1, end - open - 2);
      const LawInfo& law = *find_law(name);
      for (std::size_t k = 0; !list.empty(); ++k) {
        const std::string_view word = list.substr(0, list.find(','));
        out += k == 0 ? "(" : ", ";
        if (law.arguments[k] == 'o') {
          out += other_text(word, type);
        } else if (law.arguments[k] == 'v') {
          const bool second = law.kind == LawKind::RightIdentity;
          out += constant_text(second ? second_operand(row.op, type) : result_of(row.op, type),
                               word, type);
        } else {
          out += word;
        }
        list.remove_prefix(std::min(list.size(), word.size() + 2));
      }
      out += ")";
    }
    out += "\n";
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  return out;
}

std::string op_text(const OperationInfo& row, DataType type) {
  std::string out = "op " + id_of(row, type) + "(a: " + std::string(text(type));
  if (row.arity == 2) out += ", b: " + std::string(text(second_operand(row.op, type)));
  out += ") -> " + std::string(text(result_of(row.op, type))) + " {\n" + laws_text(row, type);
  return out + "  return " + print_applied(row) + "\n}\n";
}

}  // namespace

const Registry& builtin_ops() {
  static const Registry registry = [] {
    std::string source;
    for (const OperationInfo& row : all_operations()) {
      if (is_form(row.op)) continue;
      for (const TypeInfo& type : all_types()) {
        if (contains(row.types, type.type)) source += op_text(row, type.type);
      }
    }
    Registry made;
    const Result<Loaded> loaded = load_module({"ops.def", std::move(source)});
    assert(loaded.ok());
    if (loaded.ok()) (void)made.add(loaded->module);
    return made;
  }();
  return registry;
}

}  // namespace vyre
