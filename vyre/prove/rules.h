// Proves the rows of rules.def, for all values of their variables.
#pragma once

#include <vector>

#include "vyre/base/result.h"
#include "vyre/passes/rules.h"
#include "vyre/prove/prove.h"

namespace vyre {

// The variables of a pattern, in the order of kVariableNames.
std::vector<std::uint8_t> variables_of(const Pattern& pattern);

// That pattern and result of a row are equal wherever its condition holds, with `t` for T.
// Refuted: `values` has one for each variable of the pattern. Fails without a solver.
Result<Proof> prove_rule(const RuleRow& row, DataType t, const ProveOptions& options = {});

// The same where T is a byte, with a sign or without one, and so are counts and tests: for rows
// that are too much for the solver in full width. It knows the operations that those have; Unknown,
// and why, for a row with anything else. Refuted: there are no `values`.
Result<Proof> prove_rule_on_bytes(const RuleRow& row, bool is_signed);

}  // namespace vyre
