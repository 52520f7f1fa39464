// Updates whose order nobody can tell: atomics that commute, of buffers that nothing else accesses.
// Threads may gather them in memory of their own and join it with the buffer later.
#pragma once

#include <cstdint>
#include <map>

#include "vyre/ir/program.h"

namespace vyre {

inline bool commutes(AtomicOp op) { return info(op).order == AtomicOrder::Any; }

// The value with which an update that commutes changes nothing.
std::uint32_t neutral(AtomicOp op, DataType element);

// Buffers that are only updated, by one operation that commutes, without a look at the old value.
std::map<BufferId, AtomicOp> only_updated(const Program& program);

}  // namespace vyre
