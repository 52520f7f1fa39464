// Proves the rows of rules.def and lower.def, for all values of their variables.
#pragma once

#include <vector>

#include "vyre/base/result.h"
#include "vyre/passes/lower.h"
#include "vyre/passes/rules.h"
#include "vyre/prove/prove.h"

namespace vyre {

// The variables of a pattern, in the order of kVariableNames.
std::vector<std::uint8_t> variables_of(const Pattern& pattern);

// That pattern and result of a row are equal wherever its condition holds, with `t` for T.
// Refuted: `values` has one for each variable of the pattern. Fails without a solver.
Result<Proof> prove_rule(const RuleRow& row, DataType t, const ProveOptions& options = {});

// That the ops of a row give what the operation means; a row for narrow words is one of
// read_lower_rows(). Refuted: `values` has the operands. Fails without a solver.
Result<Proof> prove_row(const LowerRow& row, const ProveOptions& options = {});

}  // namespace vyre
