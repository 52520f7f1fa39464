// Programs made of ops: each element of the output is what the op gives for the elements of the
// inputs at the same place.
//
//   program primitive_math_gcd workgroup(64) {
//     read       a: u32[] @0
//     read       b: u32[] @1
//     read_write out: u32[] @2
//
//     let i = invocation_id.x
//     if i < len(out) {
//       out[i] = primitive.math.gcd(a[i], b[i])
//     }
//   }
#pragma once

#include <span>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"

namespace vyre {

// Whether elements of buffers can be its inputs and its output, which arrays cannot.
bool is_elementwise(const Op& op);

// A buffer for each input, in their order, then the output. The grid has to have as many
// invocations as there are outputs, at least; others do nothing.
Result<Program> elementwise(const Op& op);

// The same for several ops in one program, without buffers between them: the result of each is the
// first input of the next, whose other inputs are further buffers. An op that does not take what
// the one before gives, or that is not elementwise, is V022.
Result<Program> elementwise(std::span<const Op* const> chain);

}  // namespace vyre
