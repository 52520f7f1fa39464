// The line of a program, from bytes to something that a device loads:
//
//   load → link → optimise → lower → emit
//
// What travels between load() and everything that runs programs is a Linked: a valid program with
// the ops that it calls.
#pragma once

#include <string_view>
#include <vector>

#include "vyre/backends/backend.h"
#include "vyre/base/result.h"
#include "vyre/files.h"
#include "vyre/ir/program.h"
#include "vyre/library/registry.h"
#include "vyre/text/parse.h"
#include "vyre/validate/validate.h"

namespace vyre {

struct Lowered;  // passes/lowered.h

std::string_view version();  // "0.1.0"

// A valid module and, when it came as text, where its parts are in that.
struct Loaded {
  Module module;
  Source source;
  std::vector<ItemPositions> positions;  // empty for a wire file
  Registry registry;                     // with the ops of the module
  // How many of the items, which come first, are in the first file and not in one that is used.
  std::size_t own_items = 0;

  // The name of the file that an item is in.
  std::string_view file_of(std::size_t item) const;
};

// Text or wire, told apart by the wire format's magic; parsed or decoded, and validated. `find`
// finds the files that it uses; without one, `use` is an error (P012).
Result<Loaded> load_module(Source source, const Registry& registry = {}, const FindFile& find = {});

// The items of the first file, with the ops that they need from others: what `vyre encode` writes.
Module own_module(const Loaded& loaded);

// Of each of its items; nothing where there are no positions.
std::vector<SourceLines> source_lines(const Loaded& loaded);

// Which item of the module a program is. Without a name the only one of the first file.
Result<std::size_t> find_program(const Loaded& loaded, std::string_view name = {});
// That program, with the ops that it calls.
Result<Linked> link(const Loaded& loaded, std::string_view name = {});
Linked program_at(const Loaded& loaded, std::size_t item);

// Code for a device of a backend, made or found again. `kind` names a kind of machine, as
// `vyre lower --cpu` does; empty: this one.
Result<Artifact> compile(const Linked& linked, const Backend& backend, std::string_view kind = {});
// What the emitter of a backend is given; B003 where it has none.
Result<Lowered> lower(const Linked& linked, const Backend& backend, std::string_view kind = {});

}  // namespace vyre
