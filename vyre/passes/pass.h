// The passes that make of a linked program one that backends emit. Each is a function from a
// program to one that gives the same bytes; the list says in which order they run.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"
#include "vyre/passes/launch.h"

namespace vyre {

struct Pass {
  std::string_view name;
  std::string_view summary;
  // Nothing where there is nothing to do. Null for `inline`, which is about linked programs.
  std::optional<Program> (*run)(const Program& program);
  unsigned bit = 0;    // in sets of passes; none: it only runs when it is asked for
  unsigned wakes = 0;  // those that may find more in what it has changed
  // Of a shape pass, in place of `run`: with how the result is launched.
  std::optional<Shaped> (*shape)(const Shaped& from) = nullptr;
  bool by_name() const { return (run != nullptr || shape != nullptr) && bit == 0; }
};

std::span<const Pass> all_passes();
const Pass* find_pass(std::string_view name);

// Runs passes in the given order, all of them when none are given; the first one is always
// `inline`. `after` is called with each result, and says whether to go on.
using AfterPass = std::function<bool(const Pass&, const Program&)>;
Result<Program> optimise(const Linked& linked, std::span<const Pass* const> passes = {},
                         const AfterPass& after = {});
// A program without calls.
Program optimise(Program program, std::span<const Pass* const> passes = {},
                 const AfterPass& after = {});

// An optimised program as GPUs run it, whatever facts of a dispatch were put into it before: a few
// rounds of long loops at a time, and the shape passes.
Shaped shape_for_gpu(const Program& program);

}  // namespace vyre
