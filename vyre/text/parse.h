// From text to a module. The parser also resolves names, because the program holds ids: a name
// that does not resolve is reported with its V code here, and an id that names nothing takes its
// place, so that the validator can continue.
#pragma once

#include <string_view>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"
#include "vyre/text/positions.h"

namespace vyre {

// A module. Fails if there is any diagnostic.
Result<Module> parse(std::string_view text, std::string_view file = "");

// All that the parser can say about a source, for tools that go on after errors.
struct Parsed {
  Module module;
  std::vector<ItemPositions> positions;  // one per item
  std::vector<bool> sound;               // per item: free of syntax errors
  // By item: its declarations and blocks are, so that types can be checked without noise.
  std::vector<bool> typed;
  Findings findings;
  bool syntax_ok = true;  // in the whole file
};
Parsed parse_source(const Source& source);

}  // namespace vyre
