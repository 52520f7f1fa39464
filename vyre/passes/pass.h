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

struct DispatchFacts;

struct Pass {
  std::string_view name;
  std::string_view summary;
  // Nothing where there is nothing to do. Null for `inline`, which is about linked programs.
  std::optional<Program> (*run)(const Program& program);
  unsigned bit = 0;    // in sets of passes; none: it only runs when it is asked for
  unsigned wakes = 0;  // those that may find more in what it has changed
  // Of a shape pass, in place of `run`: with how the result is launched.
  std::optional<Shaped> (*shape)(const Shaped& from, const GpuLimits& limits) = nullptr;
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

// The passes that keep the launch, of a valid program without calls; each is described where it is
// written. Nothing where there is nothing to do.
std::optional<Program> arrays(const Program& program);  // arrays.cc
std::optional<Program> unroll(const Program& program);  // unroll.cc
std::optional<Program> unroll_partly(const Program& program);
std::optional<Program> predicate(const Program& program);  // coarsen.cc
std::optional<Program> zeros(const Program& program);      // zeros.cc
std::optional<Program> branches(const Program& program);   // branches.cc
std::optional<Program> fold(const Program& program);       // decide.cc
std::optional<Program> algebra(const Program& program);
std::optional<Program> decide(const Program& program);
// For dispatches of which the facts are true.
Program decide_for(const Program& program, const DispatchFacts& facts);
std::optional<Program> forward(const Program& program);  // share.cc
std::optional<Program> share(const Program& program);
std::optional<Program> strength(const Program& program);

// Private and constant memory that nothing mentions any more is not declared any more.
void drop_unused_memory(Program& program);  // arrays.cc

// A statement has at most about so many expressions.
std::optional<Program> shorten(const Program& program, std::uint32_t longest);  // shorten.cc

}  // namespace vyre
