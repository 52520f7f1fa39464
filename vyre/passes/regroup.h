// What does not depend on how invocations are grouped: workgroups of another size, where a program
// does not show which it has, and updates whose order nobody can tell.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "vyre/ir/program.h"

namespace vyre {

// Whether nothing binds the invocations of a workgroup together: no barriers, no memory of their
// own.
bool has_free_workgroups(const Program& program);

// The same optimised program in workgroups of another size, which computes the ids of its own
// workgroups from those of invocations. Of a program without calls whose workgroups are free; a
// grid of it has to leave out the invocations beyond those of the program.
Program regrouped(const Program& program, std::array<std::uint32_t, 3> size);

// --- Updates: atomics that commute, of buffers that nothing else accesses. Threads may gather them
// in memory of their own and join it with the buffer later.

inline bool commutes(AtomicOp op) { return info(op).order == AtomicOrder::Any; }

// The value with which an update that commutes changes nothing.
std::uint32_t neutral(AtomicOp op, DataType element);

// Buffers that are only updated, by one operation that commutes, without a look at the old value.
std::map<BufferId, AtomicOp> only_updated(const Program& program);

}  // namespace vyre
