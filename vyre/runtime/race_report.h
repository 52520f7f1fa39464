// Race checks from host bytes, and races as diagnostics: what races with what, where both are in
// the source, and what helps.
#pragma once

#include <span>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/compile.h"
#include "vyre/interp/race.h"
#include "vyre/runtime/dispatch.h"
#include "vyre/text/parse.h"

namespace vyre {

// What `vyre race` does: runs a program on the interpreter in many orders, or in the given ones.
// Everything that can be wrong with a dispatch is found first. The contents stay as they are.
Result<RaceReport> find_races(const Linked& linked, const Grid& grid,
                              std::span<const HostBuffer> buffers, const RunOptions& options = {},
                              std::span<const Schedule> schedules = {});
Result<RaceReport> find_races(const Linked& linked, const Grid& grid,
                              std::initializer_list<HostBuffer> buffers,
                              const RunOptions& options = {});

// A program as the interpreter runs it, for what dispatch() cannot do; or why it cannot run it.
Result<Script> script_of(const Linked& linked);

// Of a program without a text: places are paths such as `body[3].then[0]`.
std::vector<Diagnostic> describe_races(const RaceReport& report, const Program& program);

// Of a program of a file, by its name.
std::vector<Diagnostic> describe_races(const RaceReport& report, const Loaded& loaded,
                                       std::string_view program);

// Says in a diagnostic where a statement of such a program accesses a buffer: itself, or with one
// of its loads.
void locate_access(Diagnostic& diagnostic, const Loaded& loaded, std::size_t item, StmtId stmt,
                   ExprId load);

}  // namespace vyre
