// Conventions: how a host wires the buffers of a program. A host that names one for a pipeline gets
// an error that names the buffer when the program is not like that.
#pragma once

#include <string>
#include <vector>

#include "vyre/base/diagnostics.h"
#include "vyre/ir/program.h"

namespace vyre {

std::string name_of(const Convention& convention);  // "V1"

// V1, in the order of bindings: one or more read buffers (inputs), one read_write (the output), at
// most one uniform (parameters). V2: the same besides a read buffer at the lookup binding.
std::vector<Diagnostic> check_convention(const Program& program, const Convention& convention);

}  // namespace vyre
