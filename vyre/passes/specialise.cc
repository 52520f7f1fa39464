#include "vyre/passes/specialise.h"

#include <algorithm>

#include "vyre/passes/pass.h"
#include "vyre/passes/passes.h"

namespace vyre {

bool Variant::fits(const DispatchFacts& facts) const {
  return std::ranges::all_of(assumptions,
                             [&](const Assumption& each) { return holds(each, facts); });
}

Variant general_variant(const Program& program, Finish finish) {
  Variant variant{finish != nullptr ? finish(program) : program, {}, {}};
  variant.bounds = bounds_of(variant.program);
  return variant;
}

Variant special_variant(const Program& program, const DispatchFacts& facts, Finish finish) {
  Variant variant{finish != nullptr ? finish(program) : program, {}, {}};
  variant.bounds = bounds_of(variant.program, &facts);
  variant.assumptions = variant.bounds.assumptions;
  const auto is_order = [](const Assumption& each) { return each.kind == Assumption::Kind::Order; };
  if (std::ranges::all_of(variant.assumptions, is_order)) return variant;

  Result<Program> special = optimise({decide_for(program, facts), {}});
  if (!special.ok()) return variant;
  variant.program = finish != nullptr ? finish(*special) : std::move(*special);
  variant.bounds = bounds_of(variant.program, &facts);
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
