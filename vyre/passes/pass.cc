#include "vyre/passes/pass.h"

#include <algorithm>

#include "vyre/passes/draft.h"
#include "vyre/passes/inline.h"
#include "vyre/passes/passes.h"

namespace vyre {
namespace {

constexpr Pass kPasses[] = {
    {"inline", "expand the calls of ops", nullptr},
    {"unroll", "write short loops out", unroll},
    {"forward", "remember what memory holds", forward},
    {"decide", "replace what ranges decide", decide},
    {"branches", "turn cheap branches into selections", branches},
    {"share", "bind what is wanted more than once, once, outside of loops", share, true},
    {"strength", "share, and divide and multiply by constants more cheaply", strength, true},
    {"dead_code", "drop what nobody can notice", dead_code, true},
    // For GPUs.
    {"partly", "write a few rounds of long loops out", unroll_partly, true, true},
    // `share` includes these; they are here to be looked at alone.
    {"fold", "compute what is constant", fold, true, true},
    {"algebra", "apply the rules", algebra, true, true},
};

// How the list is gone through: once what comes first, then the rest again and again until nothing
// changes. A pass that has found nothing in the very program before is left out.
constexpr std::string_view kFirst[] = {"unroll", "share"};
constexpr std::string_view kPipeline[] = {
    "forward", "decide", "branches", "strength", "dead_code", "unroll",
};
constexpr int kMaxRounds = 8;

// Whether a body is one that a program may have, as written out.
bool is_within_limits(const Body& body) {
  if (body.stmts.size() > kMaxStmts) return false;
  std::vector<std::uint32_t> sizes(body.exprs.size(), 1);
  std::vector<std::uint16_t> depths(body.exprs.size(), 1);
  for (std::size_t i = 0; i < body.exprs.size(); ++i) {
    for (ExprId arg : operands(body, body.exprs[i])) {
      sizes[i] = std::min(kMaxExprs + 1, sizes[i] + sizes[arg.index]);
      depths[i] = std::max<std::uint16_t>(depths[i], depths[arg.index] + 1);
    }
    if (depths[i] > kMaxExprDepth) return false;
  }
  std::uint64_t written = 0;
  for (const Stmt& stmt : body.stmts) {
    for (ExprId root : roots(stmt)) written += sizes[root.index];
  }
  return written <= kMaxExprs;
}

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

const Pass* find_pass(std::string_view name) {
  const auto found = std::ranges::find(kPasses, name, &Pass::name);
  return found == std::end(kPasses) ? nullptr : found;
}

Result<Program> optimise(const Linked& linked, std::span<const Pass* const> passes,
                         const AfterPass& after) {
  const Pass* const first = &kPasses[0];
  std::vector<const Pass*> list;
  for (const Pass* pass : passes) {
    if (pass != first) list.push_back(pass);
  }
  if (passes.empty()) {
    for (std::string_view name : kFirst) list.push_back(find_pass(name));
    for (int round = 0; round < kMaxRounds; ++round) {
      for (std::string_view name : kPipeline) list.push_back(find_pass(name));
    }
  }
  Result<Program> inlined = inline_calls(linked);
  if (!inlined.ok()) return inlined.diagnostics();
  Program program = std::move(*inlined);
  const auto goes_on = [&](const Pass& pass) {
    if (!after) return true;
    Program shown = program;
    name_apart(shown);
    return after(pass, shown);
  };
  bool going = goes_on(*first) && !nests_deeply(program.body);
  std::uint32_t version = 1;
  std::array<std::uint32_t, std::size(kPasses)>
      done{};  // the version that each has nothing to do in
  for (const Pass* pass : list) {
    if (!going) break;
    std::uint32_t& own = done[static_cast<std::size_t>(pass - kPasses)];
    if (own == version) continue;
    std::optional<Program> result = pass->run(program);
    // What a pass makes larger than a program may be is not taken.
    const bool changed = result && result->body != program.body && is_within_limits(result->body);
    if (changed) {
      program = std::move(*result);
      ++version;
    }
    if (!changed || pass->settles) own = version;
    going = goes_on(*pass);
  }
  name_apart(program);
  return program;
}

}  // namespace vyre
