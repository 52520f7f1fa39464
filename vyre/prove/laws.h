// What the laws mean. Written once, over any kind of value for which functions can be applied and
// results compared: numbers, to try a law, and formulas, to prove it.
#pragma once

#include <initializer_list>
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
//   Value call(k, span): the op itself, which is number 0, or the law's argument k - 1, an op
//   Value constant(k): its k-th argument, a value
//   Value zero(), Value add(a, b)
//   Truth equal(a, b), at_most(a, b), is_one(a), both(p, q), either(p, q), negated(p)
// What is in braces is made in the order in which it is written, on every compiler, so that the
// formula of a law is always the same text.
template <class Algebra>
typename Algebra::Truth law_statement(Algebra& x, const Law& law, const OpSignature& signature,
                                      std::span<const typename Algebra::Value> v) {
  using Truth = typename Algebra::Truth;
  using Value = typename Algebra::Value;
  using Values = std::initializer_list<Value>;
  using Truths = std::initializer_list<Truth>;
  const bool unary = signature.inputs.size() == 1;
  const auto f = [&](Values of) { return x.call(0, {of.begin(), of.size()}); };
  const auto other = [&](std::size_t k, Values of) {
    return x.call(k + 1, {of.begin(), of.size()});
  };
  const auto equal = [&](Values of) { return x.equal(of.begin()[0], of.begin()[1]); };
  const auto at_most = [&](Values of) { return x.at_most(of.begin()[0], of.begin()[1]); };
  const auto both = [&](Truths of) { return x.both(of.begin()[0], of.begin()[1]); };
  const auto either = [&](Truths of) { return x.either(of.begin()[0], of.begin()[1]); };
  const auto on_left = [&](const Value& gives) { return equal({f({x.constant(0), v[0]}), gives}); };
  const auto on_right = [&](const Value& gives) {
    return equal({f({v[0], x.constant(0)}), gives});
  };
  switch (law.kind) {
    case LawKind::Commutative: return equal({f({v[0], v[1]}), f({v[1], v[0]})});
    case LawKind::Associative:
      return equal({f({f({v[0], v[1]}), v[2]}), f({v[0], f({v[1], v[2]})})});
    case LawKind::Identity: return both({on_right(v[0]), on_left(v[0])});
    case LawKind::LeftIdentity: return on_left(v[0]);
    case LawKind::RightIdentity: return on_right(v[0]);
    case LawKind::Idempotent: return equal({f({v[0], v[0]}), v[0]});
    case LawKind::SelfInverse: return equal({f({v[0], v[0]}), x.constant(0)});
    case LawKind::Absorbing: return both({on_right(x.constant(0)), on_left(x.constant(0))});
    case LawKind::LeftAbsorbing: return on_left(x.constant(0));
    case LawKind::RightAbsorbing: return on_right(x.constant(0));
    case LawKind::Involution: return equal({f({f({v[0]})}), v[0]});
    case LawKind::InverseOf:
      return equal({unary ? f({other(0, {v[0]})}) : f({other(0, {v[0], v[1]}), v[1]}), v[0]});
    case LawKind::DistributiveOver:
      return equal(
          {f({v[0], other(0, {v[1], v[2]})}), other(0, {f({v[0], v[1]}), f({v[0], v[2]})})});
    case LawKind::LatticeAbsorption: return equal({f({v[0], other(0, {v[0], v[1]})}), v[0]});
    case LawKind::DeMorgan:
      return equal({f({other(0, {v[0], v[1]})}), other(1, {f({v[0]}), f({v[1]})})});
    case LawKind::Complement: {
      const Value complement = other(0, {v[0]});
      const Value first = unary ? f({v[0]}) : f({v[0], complement});
      return equal({unary ? x.add(first, f({complement})) : first, x.constant(1)});
    }
    case LawKind::Monotonic: {
      const bool grows = std::get<Direction>(law.arguments[0]) == Direction::NonDecreasing;
      const Value low = f({v[0]});
      const Value high = f({v[1]});
      return either(
          {x.negated(at_most({v[0], v[1]})), grows ? at_most({low, high}) : at_most({high, low})});
    }
    case LawKind::Bounded: {
      const Value result = x.call(0, v);
      return both({at_most({x.constant(0), result}), at_most({result, x.constant(1)})});
    }
    case LawKind::Trichotomy: {
      const auto holds = [&](std::size_t k) { return x.is_one(other(k, {v[0], v[1]})); };
      const Truth each[] = {holds(0), holds(1), holds(2)};
      const auto only = [&](const Truth& p, const Truth& q, const Truth& r) {
        return both({p, x.negated(x.either(q, r))});
      };
      return either({only(each[0], each[1], each[2]),
                     either({only(each[1], each[0], each[2]), only(each[2], each[1], each[0])})});
    }
    case LawKind::ZeroProduct:
      return either({x.negated(equal({f({v[0], v[1]}), x.zero()})),
                     either({equal({v[0], x.zero()}), equal({v[1], x.zero()})})});
  }
  return {};
}

}  // namespace vyre
