// Races as diagnostics: what races with what, where both stand in the source, and what helps.
#pragma once

#include <vector>

#include "vyre/base/diagnostics.h"
#include "vyre/interp/race.h"
#include "vyre/text/positions.h"

namespace vyre {

// `source` and `positions` are those of the file and the item that the program comes from; null for
// a program without a source, whose places are then paths such as `body[3].then[0]`.
std::vector<Diagnostic> describe_races(const RaceReport& report, const Program& program,
                                       const Source* source = nullptr,
                                       const ItemPositions* positions = nullptr);

}  // namespace vyre
