// Expands calls, so that a program is one body without any; and what is only written, not run:
// arrays become private memory, tables constant memory, and `continue` becomes branches.
//
// An op whose body is one `return` becomes that expression, with the arguments in the place of the
// parameters: the result is what one would have written by hand. The statements of any other op go
// in front of the statement that calls it. Its arguments are bound to locals first, left to right;
// its locals become `__call<N>_<name>`; a `return` that is not the last statement becomes an
// assignment in structured control flow. So each argument is evaluated once, and nothing but the
// caller's own `return` ends the caller.
//
// An argument that is large and wanted more than once, or deep, is bound to a local as well, so
// that calls in calls do not multiply. What is beyond the limits of a program all the same is
// reported with the chain of calls that leads there.
#pragma once

#include "vyre/base/result.h"
#include "vyre/ir/program.h"
#include "vyre/library/registry.h"

namespace vyre {

// A linked program. The result is valid.
Result<Program> inline_calls(const Linked& linked);

// The same without the limits of programs that are written: for calls that passes have made.
Program expand_calls(const Linked& linked);

// An op without calls.
struct FlatOp {
  Op op;
  // What its arrays and tables became: first the parameters that are arrays, in their order.
  std::vector<BufferDecl> memory;
};

// A valid op whose callees are in the registry, and whose result is no array.
Result<FlatOp> inline_calls(const Op& op, const Registry& registry);

}  // namespace vyre
