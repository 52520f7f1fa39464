#include "vyre/passes/pass.h"

#include <algorithm>
#include <utility>

#include "vyre/base/counters.h"
#include "vyre/passes/draft.h"
#include "vyre/passes/inline.h"

namespace vyre {
namespace {

// The order of the passes, and which of them may find more in what one has changed. Of those that
// are due, the first one runs next.
enum : unsigned {
  kUnroll = 1,
  kShare = 2,
  kDecide = 4,
  kBranches = 8,
  kStrength = 16,
  kArrays = 32,
};
constexpr unsigned kAll = 63;

constexpr Pass kPasses[] = {
    {"inline", "expand the calls of ops", nullptr},
    {"unroll", "write short loops out", unroll, kUnroll, kAll & ~kUnroll},
    {"arrays", "make locals of arrays whose indices are known", arrays, kArrays, 0},
    {"share", "bind what is wanted more than once, once, outside of loops", share, kShare,
     kUnroll | kArrays},
    {"decide", "replace what ranges decide", decide, kDecide, kUnroll | kArrays | kStrength},
    {"branches", "turn cheap branches into selections", branches, kBranches, kBranches | kStrength},
    {"strength", "share, and divide and multiply by constants more cheaply", strength, kStrength,
     kUnroll | kBranches},
    // For GPUs.
    {"partly", "write a few rounds of long loops out", unroll_partly},
    {"merge", "make large workgroups of small ones", nullptr, 0, 0, merge},
    {"coarsen", "run invocations of four workgroups at once", nullptr, 0, 0, coarsen},
    {"predicate", "load under conditions instead of branching", predicate},
    {"gather", "gather atomics on few elements in workgroup memory", nullptr, 0, 0, gather},
    {"zeros", "make workgroup memory zero where that shows", zeros},
    // `share` includes these; they are here to be looked at alone.
    {"forward", "remember what memory holds", forward},
    {"fold", "compute what is constant", fold},
    {"algebra", "apply the rules", algebra},
};
constexpr int kMaxRuns = 64;  // of all passes together
// What GPUs need besides, once nothing more becomes known.
constexpr std::string_view kForGpu[] = {"partly",  "decide",    "strength", "merge",
                                        "coarsen", "predicate", "gather"};

// Whether a body is one that a program may have, as written out.
bool is_within_limits(const Body& body) {
  if (body.stmts.size() > kMaxStmts) return false;
  const WrittenOut written = written_out(body);
  return written.total <= kMaxExprs &&
         std::ranges::all_of(written.depths, [](auto depth) { return depth <= kMaxExprDepth; });
}

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

const Pass* find_pass(std::string_view name) {
  const auto found = std::ranges::find(kPasses, name, &Pass::name);
  return found == std::end(kPasses) ? nullptr : found;
}

Result<Program> optimise(const Linked& linked, std::span<const Pass* const> passes,
                         const AfterPass& after) {
  Result<Program> inlined = inline_calls(linked);
  if (!inlined.ok()) return inlined.diagnostics();
  return optimise(std::move(*inlined), passes, after);
}

namespace {

Shaped run_passes(Program program, std::span<const Pass* const> passes, const AfterPass& after,
                  const GpuLimits& limits = {}) {
  LaunchShape launch = plain_launch(program);
  const auto goes_on = [&](const Pass& pass) {
    if (!after) return true;
    Program shown = program;
    name_apart(shown);
    return after(pass, shown);
  };
  // Runs a pass; says whether it has changed something. What a pass makes larger than a program may
  // be is not taken.
  const auto run = [&](const Pass& pass) {
    std::optional<Shaped> result;
    if (pass.shape != nullptr) {
      result = pass.shape({program, launch}, limits);
    } else if (std::optional<Program> changed = pass.run(program)) {
      result = {std::move(*changed), launch};
    }
    if (!result || result->program.body == program.body) return false;
    if (!is_within_limits(result->program.body)) return false;
    program = std::move(result->program);
    launch = std::move(result->launch);
    return true;
  };
  bool going = goes_on(kPasses[0]) && !nests_deeply(program.body);
  for (const Pass* pass : passes) {
    if (!going || pass == &kPasses[0]) continue;
    run(*pass);
    going = goes_on(*pass);
  }
  unsigned due = passes.empty() ? kAll : 0;
  for (int runs = 0; going && due != 0 && runs < kMaxRuns; ++runs) {
    const Pass& pass =
        *std::ranges::find_if(kPasses, [&](const Pass& each) { return (each.bit & due) != 0; });
    due &= ~pass.bit;
    if (run(pass)) due |= pass.wakes;
    going = goes_on(pass);
  }
  name_apart(program);
  return {std::move(program), std::move(launch)};
}

}  // namespace

Program optimise(Program program, std::span<const Pass* const> passes, const AfterPass& after) {
  if (passes.empty()) ++counters.optimisations;
  Program result = run_passes(std::move(program), passes, after).program;
  drop_unused_memory(result);
  return result;
}

Shaped shape_for_gpu(const Program& program, const GpuLimits& limits) {
  std::vector<const Pass*> passes;
  for (const std::string_view name : kForGpu) passes.push_back(find_pass(name));
  return run_passes(program, passes, {}, limits);
}

}  // namespace vyre
