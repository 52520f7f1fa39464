#include "vyre/passes/pass.h"

#include <algorithm>

#include "vyre/passes/inline.h"

namespace vyre {
namespace {

constexpr Pass kPasses[] = {
    {"inline", "expand the calls of ops", inline_calls},
};

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

const Pass* find_pass(std::string_view name) {
  const auto found = std::ranges::find(kPasses, name, &Pass::name);
  return found == std::end(kPasses) ? nullptr : found;
}

Result<Program> optimise(const Linked& linked, std::span<const Pass* const> passes,
                         const std::function<void(const Pass&, const Program&)>& after) {
  std::vector<const Pass*> list{&kPasses[0]};
  for (const Pass& pass : std::span(kPasses).subspan(1)) {
    if (passes.empty()) list.push_back(&pass);
  }
  for (const Pass* pass : passes) {
    if (pass != list[0]) list.push_back(pass);
  }
  Linked state = linked;
  for (const Pass* pass : list) {
    Result<Program> result = pass->run(state);
    if (!result.ok()) return result.diagnostics();
    state = {std::move(*result), {}};
    if (after) after(*pass, state.program);
  }
  return std::move(state.program);
}

}  // namespace vyre
