// How a division by a constant becomes a multiplication: the numbers to multiply with and to shift
// by. divide_test.cc says why they are right for every dividend.
//
// A divisor is at least 3, its sign aside, and no power of two: those have cheaper ways. A width is
// 8, 16, 32 or 64. mul_high is the high half of the product that is twice as wide.
#pragma once

#include <cstdint>

namespace vyre {

// Without `add`: n / d = mul_high(n >> before, multiplier) >> after.
// With `add` the multiplier has one bit more than fits, the top one, which is left out; nothing is
// shifted before: t = mul_high(n, multiplier); n / d = (((n - t) >> 1) + t) >> (after - 1).
struct Reciprocal {
  std::uint64_t multiplier = 0;
  unsigned before = 0;
  unsigned after = 0;
  bool add = false;

  bool operator==(const Reciprocal&) const = default;
};

// The cheapest: a plain one if there is any, otherwise one that shifts before if the divisor is
// even, otherwise one that adds; of these the one that shifts least afterwards.
Reciprocal reciprocal(unsigned width, std::uint64_t divisor);

// t = mul_high(n, multiplier), with signs, plus n times `add`, which is -1, 0 or 1;
// q = t >> after, with its sign; n / d = q < 0 ? q + 1 : q.
struct SignedReciprocal {
  std::int64_t multiplier = 0;  // fits the width
  unsigned after = 0;
  int add = 0;

  bool operator==(const SignedReciprocal&) const = default;
};

// The one that shifts least; it adds nothing if that is possible.
SignedReciprocal signed_reciprocal(unsigned width, std::int64_t divisor);

}  // namespace vyre
