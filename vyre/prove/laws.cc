#include "vyre/prove/laws.h"

namespace vyre {

std::vector<DataType> law_variables(const Law& law, const OpSignature& f) {
  const DataType first = f.inputs.empty() ? DataType::U32 : f.inputs[0];
  switch (law.kind) {
    case LawKind::Identity:
    case LawKind::Idempotent:
    case LawKind::SelfInverse:
    case LawKind::Absorbing:
    case LawKind::RightIdentity:
    case LawKind::RightAbsorbing:
    case LawKind::Involution: return {first};
    case LawKind::LeftIdentity:
    case LawKind::LeftAbsorbing: return {f.inputs[1]};
    case LawKind::Commutative:
    case LawKind::LatticeAbsorption:
    case LawKind::Trichotomy:
    case LawKind::DeMorgan:
    case LawKind::Monotonic:
    case LawKind::ZeroProduct: return {first, first};
    case LawKind::Associative: return {first, first, first};
    case LawKind::DistributiveOver: return {first, f.output, f.output};
    case LawKind::InverseOf:
      if (f.inputs.size() == 1) return {f.output};
      return {f.output, f.inputs[1]};
    case LawKind::Complement: return {first};
    case LawKind::Bounded: return f.inputs;
  }
  return {};
}

}  // namespace vyre
