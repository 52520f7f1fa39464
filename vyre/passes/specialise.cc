#include "vyre/passes/specialise.h"

#include <algorithm>

#include "vyre/passes/pass.h"
#include "vyre/passes/passes.h"

namespace vyre {

bool Variant::fits(const DispatchFacts& facts) const {
  return std::ranges::all_of(assumptions,
                             [&](const Assumption& each) { return holds(each, facts); });
}

namespace {

Variant finished(Program program, Finish finish) {
  if (finish == nullptr) {
    LaunchShape launch = plain_launch(program);
    return {std::move(program), std::move(launch), {}};
  }
  Shaped shaped = finish(program);
  return {std::move(shaped.program), std::move(shaped.launch), {}};
}

// What is true of a dispatch, for a program that is launched in another shape.
DispatchFacts shaped(const DispatchFacts& facts, const Variant& variant) {
  DispatchFacts own = facts;
  own.grid = variant.launch.grid(facts.grid);
  for (std::size_t i = facts.lengths.size(); i < variant.program.buffers.size(); ++i) {
    own.lengths.push_back(variant.program.buffers[i].count);
    own.uniforms.emplace_back();
    if (BufferId{i} == variant.launch.uniform) {
      own.uniforms.back() = variant.launch.words(facts.grid);
    }
  }
  return own;
}

// Finds the bounds, and says of their assumptions what they are about the dispatch. Where work ends
// earlier than a limit says, less is done.
void find_bounds(Variant& variant, const DispatchFacts& facts) {
  const DispatchFacts own = shaped(facts, variant);
  variant.bounds = bounds_of(variant.program, &own);
  std::vector<Assumption> list;
  for (Assumption each : variant.bounds.assumptions) {
    if (each.buffer.exists() && each.buffer == variant.launch.uniform) {
      if (each.kind != Assumption::Kind::Word) continue;
      each = {Assumption::Kind::Groups, variant.launch.limits[each.index].axis, {}, {}, 0, 0};
    }
    if (each.kind == Assumption::Kind::Groups) each.value = facts.grid[each.axis];
    if (std::ranges::find(list, each) == list.end()) list.push_back(each);
  }
  variant.bounds.assumptions = std::move(list);
}

}  // namespace

Variant general_variant(const Program& program, Finish finish) {
  Variant variant = finished(program, finish);
  variant.bounds = bounds_of(variant.program);
  return variant;
}

Variant special_variant(const Program& program, const DispatchFacts& facts, Finish finish) {
  Variant variant = finished(program, finish);
  find_bounds(variant, facts);
  variant.assumptions = variant.bounds.assumptions;
  const auto is_order = [](const Assumption& each) { return each.kind == Assumption::Kind::Order; };
  if (std::ranges::all_of(variant.assumptions, is_order)) return variant;

  variant = finished(optimise(decide_for(program, facts)), finish);
  find_bounds(variant, facts);
  variant.assumptions = assumptions_of(program, facts);
  for (const Assumption& each : variant.bounds.assumptions) {
    const bool implied = std::ranges::any_of(variant.assumptions, [&](const Assumption& other) {
      return other == each ||
             (each.kind == Assumption::Kind::AtLeast && other.kind == Assumption::Kind::Length &&
              other.buffer == each.buffer);
    });
    if (!implied) variant.assumptions.push_back(each);
  }
  return variant;
}

}  // namespace vyre
