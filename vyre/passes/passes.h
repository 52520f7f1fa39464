// The passes, each a function from a valid program without calls to another one that gives the same
// bytes, or to nothing where there is nothing to do. pass.cc says in which order they run; each is
// described where it is written.
#pragma once

#include <optional>

#include "vyre/ir/program.h"

namespace vyre {

std::optional<Program> fold(const Program& program);     // fold.cc
std::optional<Program> algebra(const Program& program);  // fold.cc
std::optional<Program> unroll(const Program& program);   // unroll.cc
std::optional<Program> unroll_partly(const Program& program);
std::optional<Program> predicate(const Program& program);  // coarsen.cc
std::optional<Program> zeros(const Program& program);      // zeros.cc
std::optional<Program> forward(const Program& program);    // forward.cc
std::optional<Program> branches(const Program& program);   // branches.cc
std::optional<Program> decide(const Program& program);     // decide.cc
// For dispatches of which the facts are true.
struct DispatchFacts;
Program decide_for(const Program& program, const DispatchFacts& facts);
std::optional<Program> share(const Program& program);     // share.cc
std::optional<Program> strength(const Program& program);  // share.cc

}  // namespace vyre
