// From a module to text. Printing is canonical: equal programs print the same, and the text parses
// to the same program again.
#pragma once

#include <span>
#include <string>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"

namespace vyre {

std::string print(const Module& module);
std::string print(const Program& program);
std::string print(const Op& op);

// One expression, for messages. Cut where it grows longer than `limit` bytes.
std::string print_expr(const Body& body, std::span<const BufferDecl> buffers, ExprId id,
                       std::size_t limit);
// A statement up to its opening brace, if it has one; expressions are cut at `limit` bytes.
std::string print_head(const Body& body, std::span<const BufferDecl> buffers, const Stmt& stmt,
                       std::size_t limit);
std::string print_literal(const TypedBits& value);
// An operation applied to a, or to a and b: "a + b", "popcount(a)", "-a".
std::string print_applied(const OperationInfo& row);

std::string print_law(const Law& law);

// What `vyre fmt` writes: the layout of print(), but of the source's own tokens, with its comments,
// single blank lines, parentheses and spelling of literals. The same program as before. Fails on
// syntax errors only.
Result<std::string> format(const Source& source);

// The one layout of vyre text, with which both end: line breaks, indentation, blank lines, spaces,
// and what happens to comments. `line_starts` are the offsets, in order, of the tokens that start a
// line: the first ones of items, buffers, descriptions, laws and statements. The text has no syntax
// errors.
std::string layout(std::string_view text, const std::vector<std::uint32_t>& line_starts);

}  // namespace vyre
