// What the laws mean. Written once, over any kind of value for which functions can be applied and
// results compared: numbers, to try a law, and formulas, to prove it.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "vyre/ir/program.h"

namespace vyre {

// The types of the values that a law speaks of: a, b, c.
std::vector<DataType> law_variables(const Law& law, const OpSignature& f);

// Whether the law says that there are values such that its statement does not hold.
inline bool denies(const Law& law) {
  return law.kind == LawKind::ZeroProduct &&
         std::get<TypedBits>(law.arguments[0]).bits.lanes[0] == 0;
}

// The law's statement about the values v. `Algebra` has types Value and Truth, and
//   Value f(args…), Value other(k, args…): the op itself, and the law's k-th argument, an op
//   Value constant(k): its k-th argument, a value
//   Value zero(type), Value add(a, b)
//   Truth equal(a, b), at_most(a, b), is_one(a), both(p, q), either(p, q), negated(p)
template <class Algebra>
typename Algebra::Truth law_statement(Algebra& x, const Law& law, const OpSignature& signature,
                                      std::span<const typename Algebra::Value> v) {
  using Truth = typename Algebra::Truth;
  using Value = typename Algebra::Value;
  const bool unary = signature.inputs.size() == 1;
  const auto implies = [&](const Truth& p, const Truth& q) { return x.either(x.negated(p), q); };
  switch (law.kind) {
    case LawKind::Commutative: return x.equal(x.f(v[0], v[1]), x.f(v[1], v[0]));
    case LawKind::Associative:
      return x.equal(x.f(x.f(v[0], v[1]), v[2]), x.f(v[0], x.f(v[1], v[2])));
    case LawKind::Identity:
      return x.both(x.equal(x.f(v[0], x.constant(0)), v[0]),
                    x.equal(x.f(x.constant(0), v[0]), v[0]));
    case LawKind::LeftIdentity: return x.equal(x.f(x.constant(0), v[0]), v[0]);
    case LawKind::RightIdentity: return x.equal(x.f(v[0], x.constant(0)), v[0]);
    case LawKind::Idempotent: return x.equal(x.f(v[0], v[0]), v[0]);
    case LawKind::SelfInverse: return x.equal(x.f(v[0], v[0]), x.constant(0));
    case LawKind::Absorbing:
      return x.both(x.equal(x.f(v[0], x.constant(0)), x.constant(0)),
                    x.equal(x.f(x.constant(0), v[0]), x.constant(0)));
    case LawKind::LeftAbsorbing: return x.equal(x.f(x.constant(0), v[0]), x.constant(0));
    case LawKind::RightAbsorbing: return x.equal(x.f(v[0], x.constant(0)), x.constant(0));
    case LawKind::Involution: return x.equal(x.f(x.f(v[0])), v[0]);
    case LawKind::InverseOf:
      if (unary) return x.equal(x.f(x.other(0, v[0])), v[0]);
      return x.equal(x.f(x.other(0, v[0], v[1]), v[1]), v[0]);
    case LawKind::DistributiveOver:
      return x.equal(x.f(v[0], x.other(0, v[1], v[2])),
                     x.other(0, x.f(v[0], v[1]), x.f(v[0], v[2])));
    case LawKind::LatticeAbsorption: return x.equal(x.f(v[0], x.other(0, v[0], v[1])), v[0]);
    case LawKind::DeMorgan:
      return x.equal(x.f(x.other(0, v[0], v[1])), x.other(1, x.f(v[0]), x.f(v[1])));
    case LawKind::Complement:
      if (unary) return x.equal(x.add(x.f(v[0]), x.f(x.other(0, v[0]))), x.constant(1));
      return x.equal(x.f(v[0], x.other(0, v[0])), x.constant(1));
    case LawKind::Monotonic: {
      const bool grows = std::get<Direction>(law.arguments[0]) == Direction::NonDecreasing;
      const Value low = x.f(v[0]);
      const Value high = x.f(v[1]);
      return implies(x.at_most(v[0], v[1]), grows ? x.at_most(low, high) : x.at_most(high, low));
    }
    case LawKind::Bounded: {
      const Value result = x.apply(v);
      return x.both(x.at_most(x.constant(0), result), x.at_most(result, x.constant(1)));
    }
    case LawKind::Trichotomy: {
      const Truth lt = x.is_one(x.other(0, v[0], v[1]));
      const Truth eq = x.is_one(x.other(1, v[0], v[1]));
      const Truth gt = x.is_one(x.other(2, v[0], v[1]));
      const auto only = [&](const Truth& p, const Truth& q, const Truth& r) {
        return x.both(p, x.negated(x.either(q, r)));
      };
      return x.either(only(lt, eq, gt), x.either(only(eq, lt, gt), only(gt, lt, eq)));
    }
    case LawKind::ZeroProduct: {
      const Value zero = x.zero();
      return implies(x.equal(x.f(v[0], v[1]), zero),
                     x.either(x.equal(v[0], zero), x.equal(v[1], zero)));
    }
  }
  return {};
}

}  // namespace vyre
