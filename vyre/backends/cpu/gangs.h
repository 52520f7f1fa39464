// Which invocations of a program run side by side: how many, and in which workgroups.
#pragma once

#include <optional>

#include "vyre/backends/cpu/emit.h"
#include "vyre/ir/program.h"

namespace vyre {

// Whether an access that is not proved is in bounds as soon as its buffer is as long as may be
// expected: ranges know where its index ends.
bool ends_early(const Program& program, const CheckedAccess& access);

// The target with the width that fits a program: more than a vector holds where one waits for
// itself most of the time, and registers hold all that several need; and without vectors where it
// mostly looks up in tables, which these are slow at.
CpuTarget fitted(const CpuTarget& target, const Program& program);

// A program without barriers and workgroup memory, in workgroups that are long along x and have one
// row, so that they fit vectors; nothing where they already do, or cannot.
std::optional<Program> regrouped(const Program& program, unsigned width);

}  // namespace vyre
