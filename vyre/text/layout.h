// The one layout of vyre text: line breaks, indentation, blank lines, spaces, and what happens to
// comments. The printer and the formatter both end here, so they cannot disagree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vyre {

// `line_starts` are the offsets, in order, of the tokens that start a line: the first ones of
// items, buffers, descriptions, laws and statements. The text has no syntax errors.
std::string layout(std::string_view text, const std::vector<std::uint32_t>& line_starts);

}  // namespace vyre
