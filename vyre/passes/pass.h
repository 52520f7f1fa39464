// The passes that make of a linked program one that backends emit. Each is a function from a
// program to one that gives the same bytes; the list says in which order they run.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"

namespace vyre {

struct Pass {
  std::string_view name;
  std::string_view summary;
  // Nothing where there is nothing to do. Null for `inline`, which is about linked programs.
  std::optional<Program> (*run)(const Program& program);
  bool settles = false;  // finds so little in its own result that it is not worth the time
  bool by_name = false;  // only runs when it is asked for
};

std::span<const Pass> all_passes();
const Pass* find_pass(std::string_view name);

// Runs passes in the given order, all of them when none are given; the first one is always
// `inline`. `after` is called with each result, and says whether to go on.
using AfterPass = std::function<bool(const Pass&, const Program&)>;
Result<Program> optimise(const Linked& linked, std::span<const Pass* const> passes = {},
                         const AfterPass& after = {});

}  // namespace vyre
