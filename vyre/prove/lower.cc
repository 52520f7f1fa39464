#include "vyre/prove/lower.h"

#include "vyre/prove/smt.h"

namespace vyre {

Result<Proof> prove_row(const LowerRow& row, const ProveOptions& options) {
  Formula formula;
  const bool is_cast = row.op == Operation::Cast;
  const bool unary = is_cast || info(row.op).arity == 1;
  std::vector<FormulaVariable> variables{{"a", row.type}};
  if (!unary) variables.push_back({"b", second_operand(row.op, row.type)});
  const auto halves = [&](const Symbol& value) {
    const DataType half = half_of(value.type);
    const Symbol width = formula.constant(DataType::U32, {{info(half).width}});
    const Symbol high = formula.cast(half, formula.apply(Operation::Shr, value, width));
    return std::array{formula.cast(half, value), high};
  };

  // An operand is two parameters where its type is not theirs.
  std::vector<Symbol> operands;
  std::vector<Symbol> arguments;
  for (const FormulaVariable& each : variables) {
    operands.push_back(formula.variable(each.type, each.name));
    const Symbol& operand = operands.back();
    if (row.low->signature.inputs[arguments.size()] == operand.type) {
      arguments.push_back(operand);
    } else {
      for (Symbol& half : halves(operand)) arguments.push_back(std::move(half));
    }
  }
  const Symbol meant = is_cast ? formula.cast(row.target, operands[0])
                               : formula.apply(row.op, operands[0], operands.back());
  std::vector<Symbol> wanted{meant};
  if (row.high != nullptr) {
    const auto both = halves(meant);
    wanted.assign(both.begin(), both.end());
  }
  std::string same = "true";
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Result<Symbol> given = formula.apply(i == 0 ? *row.low : *row.high, arguments);
    if (!given.ok()) return given.diagnostics();
    same = formula.both(same, formula.equal(*given, wanted[i]));
  }
  return prove_none(formula.question(formula.negated(same)), variables, options);
}

}  // namespace vyre
