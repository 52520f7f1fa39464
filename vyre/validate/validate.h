// The rules that a module must keep. validate() finds every independent error; an empty list means
// that the module is valid, and a valid program never fails to lower except for a device limit or
// because it exceeds the size limits once its calls are expanded, which the inliner reports.
#pragma once

#include <vector>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"
#include "vyre/library/registry.h"
#include "vyre/text/parse.h"

namespace vyre {

std::vector<Diagnostic> validate(const Module& module, const Registry& registry = {});
std::vector<Diagnostic> validate(const Program& program, const Registry& registry = {});

// Adds what is wrong to `parsed.findings`, with places in the source. Items with syntax errors are
// left out.
void validate(Parsed& parsed, const Registry& registry = {});

// With the ops that it calls a program travels on, as a Linked. Validates it first; `registry` has
// the ops.
Result<Linked> link(Program program, const Registry& registry = {});
// Of a program that validate() has nothing against.
Linked link_valid(Program program, const Registry& registry = {});
// A valid op with those that it calls, as the last one, and a program that does nothing.
Linked link(const Op& op, const Registry& registry);

}  // namespace vyre
