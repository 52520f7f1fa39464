// Proves the rows of lower.def, for all values of their operands.
#pragma once

#include "vyre/base/result.h"
#include "vyre/passes/lower.h"
#include "vyre/prove/prove.h"

namespace vyre {

// That the ops of a row give what the operation means. Refuted: `values` has the operands. Fails
// without a solver.
Result<Proof> prove_row(const LowerRow& row, const ProveOptions& options = {});

}  // namespace vyre
