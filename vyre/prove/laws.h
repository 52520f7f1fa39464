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

// What an algebra has when it can `call` the ops of a law with a span of arguments: the op itself
// is number 0, the law's k-th argument number k + 1.
template <class Self, class Operand>
struct LawCalls {
  using Value = Operand;

  Value apply(std::span<const Value> v) { return call(0, v); }
  Value f(const Value& a) { return call(0, std::array{a}); }
  Value f(const Value& a, const Value& b) { return call(0, std::array{a, b}); }
  Value other(std::size_t k, const Value& a) { return call(k + 1, std::array{a}); }
  Value other(std::size_t k, const Value& a, const Value& b) {
    return call(k + 1, std::array{a, b});
  }

 private:
  Value call(std::size_t k, std::span<const Value> v) {
    return static_cast<Self*>(this)->call(k, v);
  }
};

// The law's statement about the values v. `Algebra` has types Value and Truth, and
//   Value f(args…), Value apply(span): the op itself
//   Value other(k, args…): the law's k-th argument, an op
//   Value constant(k): its k-th argument, a value
//   Value zero(), Value add(a, b)
//   Truth equal(a, b), at_most(a, b), is_one(a), both(p, q), either(p, q), negated(p)
// Operands are made in the order in which they are written here, on every compiler, so that the
// formula of a law is always the same text.
template <class Algebra>
typename Algebra::Truth law_statement(Algebra& x, const Law& law, const OpSignature& signature,
                                      std::span<const typename Algebra::Value> v) {
  using Truth = typename Algebra::Truth;
  using Value = typename Algebra::Value;
  const bool unary = signature.inputs.size() == 1;
  const auto implies = [&](const Truth& p, const Truth& q) {
    const Truth not_p = x.negated(p);
    return x.either(not_p, q);
  };
  // f(a, b) = c, and what is made of two of those.
  const auto gives = [&](const Value& a, const Value& b, const Value& c) {
    const Value result = x.f(a, b);
    return x.equal(result, c);
  };
  switch (law.kind) {
    case LawKind::Commutative: {
      const Value right = x.f(v[1], v[0]);
      return gives(v[0], v[1], right);
    }
    case LawKind::Associative: {
      const Value first = x.f(v[0], v[1]);
      const Value last = x.f(v[1], v[2]);
      const Value right = x.f(v[0], last);
      return gives(first, v[2], right);
    }
    case LawKind::Identity: {
      const Truth on_right = gives(v[0], x.constant(0), v[0]);
      const Truth on_left = gives(x.constant(0), v[0], v[0]);
      return x.both(on_right, on_left);
    }
    case LawKind::LeftIdentity: return gives(x.constant(0), v[0], v[0]);
    case LawKind::RightIdentity: return gives(v[0], x.constant(0), v[0]);
    case LawKind::Idempotent: return gives(v[0], v[0], v[0]);
    case LawKind::SelfInverse: return gives(v[0], v[0], x.constant(0));
    case LawKind::Absorbing: {
      const Truth on_right = gives(v[0], x.constant(0), x.constant(0));
      const Truth on_left = gives(x.constant(0), v[0], x.constant(0));
      return x.both(on_right, on_left);
    }
    case LawKind::LeftAbsorbing: return gives(x.constant(0), v[0], x.constant(0));
    case LawKind::RightAbsorbing: return gives(v[0], x.constant(0), x.constant(0));
    case LawKind::Involution: {
      const Value once = x.f(v[0]);
      const Value twice = x.f(once);
      return x.equal(twice, v[0]);
    }
    case LawKind::InverseOf: {
      const Value there = unary ? x.other(0, v[0]) : x.other(0, v[0], v[1]);
      const Value back = unary ? x.f(there) : x.f(there, v[1]);
      return x.equal(back, v[0]);
    }
    case LawKind::DistributiveOver: {
      const Value inner = x.other(0, v[1], v[2]);
      const Value left = x.f(v[0], v[1]);
      const Value right = x.f(v[0], v[2]);
      const Value outer = x.other(0, left, right);
      return gives(v[0], inner, outer);
    }
    case LawKind::LatticeAbsorption: {
      const Value inner = x.other(0, v[0], v[1]);
      return gives(v[0], inner, v[0]);
    }
    case LawKind::DeMorgan: {
      const Value inner = x.other(0, v[0], v[1]);
      const Value left = x.f(inner);
      const Value first = x.f(v[0]);
      const Value second = x.f(v[1]);
      const Value right = x.other(1, first, second);
      return x.equal(left, right);
    }
    case LawKind::Complement: {
      const Value other = x.other(0, v[0]);
      if (!unary) return gives(v[0], other, x.constant(1));
      const Value first = x.f(v[0]);
      const Value second = x.f(other);
      const Value sum = x.add(first, second);
      return x.equal(sum, x.constant(1));
    }
    case LawKind::Monotonic: {
      const bool grows = std::get<Direction>(law.arguments[0]) == Direction::NonDecreasing;
      const Value low = x.f(v[0]);
      const Value high = x.f(v[1]);
      const Truth ordered = x.at_most(v[0], v[1]);
      const Truth kept = grows ? x.at_most(low, high) : x.at_most(high, low);
      return implies(ordered, kept);
    }
    case LawKind::Bounded: {
      const Value result = x.apply(v);
      const Truth above = x.at_most(x.constant(0), result);
      const Truth below = x.at_most(result, x.constant(1));
      return x.both(above, below);
    }
    case LawKind::Trichotomy: {
      const Truth lt = x.is_one(x.other(0, v[0], v[1]));
      const Truth eq = x.is_one(x.other(1, v[0], v[1]));
      const Truth gt = x.is_one(x.other(2, v[0], v[1]));
      const auto only = [&](const Truth& p, const Truth& q, const Truth& r) {
        const Truth others = x.either(q, r);
        const Truth none = x.negated(others);
        return x.both(p, none);
      };
      const Truth only_lt = only(lt, eq, gt);
      const Truth only_eq = only(eq, lt, gt);
      const Truth only_gt = only(gt, lt, eq);
      const Truth either = x.either(only_eq, only_gt);
      return x.either(only_lt, either);
    }
    case LawKind::ZeroProduct: {
      const Value zero = x.zero();
      const Truth product = gives(v[0], v[1], zero);
      const Truth first = x.equal(v[0], zero);
      const Truth second = x.equal(v[1], zero);
      const Truth either = x.either(first, second);
      return implies(product, either);
    }
  }
  return {};
}

}  // namespace vyre
