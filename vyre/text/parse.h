// From text to a module. The parser also resolves names, because the program holds ids: a name
// that does not resolve is reported with its V code here, and an id that names nothing takes its
// place, so that the validator can continue.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"

namespace vyre {

// The signature of an op, null where there is none of that id.
using FindSignature = std::function<const OpSignature*(std::string_view id)>;

// A module. Fails if there is any diagnostic.
Result<Module> parse(std::string_view text, std::string_view file = "",
                     const FindSignature& find = {});

// The places of the parts of an item in its source: a table beside the program, per use, because
// one expression of the arena may be written in many places.
struct ItemPositions {
  struct Statement {
    Span head;                      // its first token
    std::uint32_t first_use = 0;    // of its expressions, in `uses`
    Span local;                     // the name that it declares or assigns
    Span buffer;                    // the name of the buffer that it accesses
    std::uint32_t element_end = 0;  // after the index that follows it
  };

  Span name;
  Span workgroup_size;
  Span output;
  std::uint32_t end = 0;  // the closing brace
  std::vector<Span> buffers;
  std::vector<Span> parameters;
  std::vector<Span> laws;
  std::vector<Statement> statements;
  std::vector<std::uint32_t> heads;  // first tokens of the item, its buffers, description, laws
  // Each use of an expression, statement by statement, in the order of for_each_use().
  std::vector<Span> uses;
};

// All that the parser can say about a source, for tools that go on after errors.
struct Parsed {
  Module module;
  std::vector<ItemPositions> positions;  // one per item
  std::vector<bool> sound;               // per item: free of syntax errors
  // By item: its declarations and blocks are, so that types can be checked without noise.
  std::vector<bool> typed;
  std::vector<std::uint32_t> heads;  // first tokens of constants
  Findings findings;
  bool syntax_ok = true;  // in the whole file
};

// Of a source of several files: the files that each of them uses, and the order in which they are
// parsed, used ones first.
struct FileUses {
  std::vector<std::vector<std::uint32_t>> of_file;
  std::vector<std::uint32_t> order;
};
// The items of the first file come first, in the order of the text. `find` says what ops that are
// not in the source take and give, for numbers among the arguments of their calls. `uses` is
// missing where only one file is looked at.
Parsed parse_source(const Source& source, const FindSignature& find = {},
                    const FileUses& uses = {});

// `use "path"`, at the top of a file.
struct Use {
  std::string path;  // as it is written
  Span span;
};
// What is wrong with them parse_source() says.
std::vector<Use> uses_of(const Source& source, Source::File file);

}  // namespace vyre
