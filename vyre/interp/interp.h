// The reference: what a program means, executed. Every other backend answers to it, byte for byte.
//
// One invocation runs at a time, one statement after the other. The order of invocations is a
// parameter; a program without races whose output does not depend on the order of atomics gives the
// same bytes in all of them. In the default order, and where no result can depend on it, workgroups
// are spread over the machine's cores.
#pragma once

#include <vector>

#include "vyre/base/result.h"
#include "vyre/interp/script.h"
#include "vyre/ir/run.h"

namespace vyre {

// `buffers` are in the order of declaration; the entries of workgroup buffers are ignored. Sizes
// have been checked: whole elements, at least as many as declared.
Result<RunStats> interpret(const Script& script, const Grid& grid, std::span<const Memory> buffers,
                           const RunOptions& options = {});

// The atomics in which the order of invocations shows: they give a result that is used, do not
// commute, or meet another kind of atomic in their buffer.
std::vector<StmtId> ordered_atomics(const Program& program);

}  // namespace vyre
