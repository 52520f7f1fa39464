// Workgroups of another size, where a program does not show which it has.
#pragma once

#include <array>
#include <cstdint>

#include "vyre/ir/program.h"

namespace vyre {

// Whether nothing binds the invocations of a workgroup together: no barriers, no memory of their
// own.
bool has_free_workgroups(const Program& program);

// The same optimised program in workgroups of another size, which computes the ids of its own
// workgroups from those of invocations. Of a program without calls whose workgroups are free; a
// grid of it has to leave out the invocations beyond those of the program.
Program regrouped(const Program& program, std::array<std::uint32_t, 3> size);

}  // namespace vyre
