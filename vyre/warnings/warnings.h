// Warnings: what is valid and has one meaning, and is most likely not what its author means. load()
// knows nothing of them; who wants them asks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "vyre/compile.h"

namespace vyre {

// Of these items of a module, in the order of the source. A comment `// allow L004: reason` on the
// line that a warning points at silences it.
std::vector<Diagnostic> warnings_of(const Loaded& loaded, std::span<const std::size_t> items);

// Of all items.
std::vector<Diagnostic> warnings_of(const Loaded& loaded);

// The items of the module that a program consists of: itself, and those of the ops it calls.
std::vector<std::size_t> items_of(const Loaded& loaded, const Linked& linked, std::size_t program);

}  // namespace vyre
