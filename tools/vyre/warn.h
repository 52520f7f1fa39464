// Warnings of a file, and what a run hid, for `vyre check`, `vyre run` and `vyre race`.
#pragma once

#include "tools/vyre/request.h"
#include "vyre/ir/run.h"

namespace vyre {

// Whether --deny makes warnings errors.
Result<bool> denies_warnings(const Invocation& invocation);

// Warnings as they are, or as errors.
std::vector<Diagnostic> as_denied(std::vector<Diagnostic> warnings, bool denied);

// Of the program that runs and the ops of its file that it calls. As text they are printed here,
// and what is left is for JSON. With --deny they are what is wrong.
struct Warned {
  std::vector<Diagnostic> wrong;
  std::vector<Diagnostic> unprinted;
};
Warned print_warnings(const Invocation& invocation, const Request& request, const Console& console);

// {"stores":…,"atomics":…,"loads":…,"first":{"line":…,"invocation":[…]}}
JsonObject out_of_bounds_json(const OutOfBounds& hidden, const Request& request);

}  // namespace vyre
