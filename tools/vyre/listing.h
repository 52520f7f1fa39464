// A program, or an op that it calls, as it is written: where its statements are, for traces.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/vyre/request.h"
#include "vyre/ir/typing.h"

namespace vyre {

// What a statement of the program is of one of the text, which may stand for several: see
// "Shorthands" in docs/text-format.md.
enum class Part : std::uint8_t {
  Whole,
  Hidden,    // nobody wants to see it
  Test,      // of a `while`: leaves it where this is not zero
  From,      // the first bound of a loop with `step` or `reversed`
  To,        // the second one
  Rounds,    // its loop
  Variable,  // its variable in a round
  Result,    // an atomic or collective whose result is assigned
  Assigned,  // the assignment
};

struct StatementPlace {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string text = {};    // its first line
  std::uint32_t first = 0;  // of the statements that the text stands for
  Part part = Part::Whole;
};

struct Listing {
  const Body& body;
  std::span<const BufferDecl> buffers;
  Types types;
  std::string name;                         // of the program or op
  std::string file = {};                    // that it is in; empty: the library
  std::string suffix = {};                  // " (FILE)" where it is not in that of the program
  bool has_lines = true;                    // a wire file has none
  StatementPlace head = {};                 // where it begins
  std::vector<StatementPlace> places = {};  // by statement, and of the end

  // "5:3", or "body[2]".
  std::string number_of(std::size_t stmt) const;
};

// An op of the user's files, among the items of the module.
std::optional<std::size_t> own_item(const Request& request, std::string_view op);

Listing list_program(const Request& request);
Listing list_op(const Request& request, const Op& op);

}  // namespace vyre
