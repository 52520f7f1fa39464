// A program with all that a run of it needs: what the generator makes, the reducer shrinks, and
// backends are compared on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"
#include "vyre/ir/typing.h"

namespace vyre {

struct Case {
  Module module;                        // ops, and one program as the last item
  std::array<std::uint32_t, 3> grid{};  // workgroups on each axis
  // By buffer, in the order of declaration: its bytes before the run. Nothing for workgroup
  // memory. Those of a Bytes buffer need not be whole words.
  std::vector<std::vector<std::byte>> contents;

  Program& program() { return std::get<Program>(module.items.back()); }
  const Program& program() const { return std::get<Program>(module.items.back()); }

  friend bool operator==(const Case&, const Case&) = default;
};

// Its program, with the ops that it calls.
Result<Linked> link(const Case& c);

// The elements of a buffer while the case runs.
std::uint32_t length_of(const Case& c, std::size_t buffer);

// The types in an item of a valid module.
Types types_of(const Module& module, const Item& item);

// The ops of the library that generated programs call: those of one expression, without calls.
const std::vector<const Op*>& plain_library();

// The program as text under a comment with the command that runs it. The file alone is enough to
// see what the case shows; `file` is the name under which it will be found.
std::string to_text(const Case& c, std::string_view file = "FILE");

}  // namespace vyre
