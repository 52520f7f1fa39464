// What a run hid by the meaning of accesses that are out of bounds, in words.
#pragma once

#include <string>

#include "vyre/compile.h"
#include "vyre/ir/run.h"

namespace vyre {

// "17 stores and 3 loads were out of bounds, first at line 7 by invocation (64, 0, 0)", of a run of
// a program of a file; empty where there were none.
std::string out_of_bounds_note(const OutOfBounds& hidden, const Loaded& loaded, std::size_t item);

// The same as an error at the place of the first one.
Diagnostic out_of_bounds_error(const OutOfBounds& hidden, const Loaded& loaded, std::size_t item);

}  // namespace vyre
