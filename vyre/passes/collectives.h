// Collectives for targets that have none: they become workgroup memory, barriers and ordinary
// statements.
//
// Each invocation stores its value in words that the collectives of a program share. The first
// invocations, about as many as the root of their number, combine a stretch of values each, and
// then each invocation combines what it needs of those: two barriers in place of one for each power
// of two, and little that waits. Collectives side by side share the barriers, each with words of
// its own. Before the words get other values, all invocations have read what was there.
//
// A result that is loaded is not uniform by the rules of the language. Where control flow around a
// barrier depends on one, a target may have it as `workgroup_broadcast(words[k], 0)`, k a constant:
// behind a barrier, and no other collective is left then.
#pragma once

#include <cstdint>

#include "vyre/ir/program.h"

namespace vyre {

// An optimised program without calls. `uniform_loads` says whether the target has these.
Program without_collectives(const Program& program, bool uniform_loads);

// The bytes of workgroup memory that this adds.
std::uint64_t collective_bytes(const Program& program);

}  // namespace vyre
