// The way of a program from bytes to something that can run.
#pragma once

#include <string_view>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"
#include "vyre/library/registry.h"
#include "vyre/text/positions.h"

namespace vyre {

std::string_view version();  // "0.1.0"

// A valid module and, when it came as text, where its parts stand.
struct Loaded {
  Module module;
  Source source;
  std::vector<ItemPositions> positions;  // empty for a wire file
};

// Text or wire, told apart by the wire format's magic; parsed or decoded, and validated.
Result<Loaded> load(Source source, const Registry& registry = {});

// Of one of its programs, or of all items; nothing where there are no positions.
SourceLines source_lines(const Loaded& loaded, std::size_t item);
std::vector<SourceLines> source_lines(const Loaded& loaded);

// Validates a program and finds the ops that it calls. `registry` has those of the file that the
// program comes from, if it calls any of them: Registry::add(module).
Result<Linked> link(const Program& program, const Registry& registry = {});

// A valid op with those that it calls, as the last one, behind a program that does nothing.
Linked link(const Op& op, const Registry& registry);

}  // namespace vyre
