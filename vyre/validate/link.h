// Finds the ops that a program calls: from here on it travels with them, as a Linked.
#pragma once

#include "vyre/base/result.h"
#include "vyre/ir/program.h"
#include "vyre/library/registry.h"

namespace vyre {

// Validates a program first. `registry` has the ops that it calls.
Result<Linked> link(Program program, const Registry& registry = {});

// Of a program that validate() has nothing against.
Linked link_valid(Program program, const Registry& registry = {});

// A valid op with those that it calls, as the last one, and a program that does nothing.
Linked link(const Op& op, const Registry& registry);

}  // namespace vyre
