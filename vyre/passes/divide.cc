// Granlund and Montgomery, "Division by invariant integers using multiplication" (PLDI 1994), with
// the sharper bound of Hacker's Delight, chapter 10.
#include "vyre/passes/divide.h"

#include <bit>
#include <optional>

namespace vyre {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t largest(unsigned width) { return ~std::uint64_t{0} >> (64 - width); }

// -x for the least x too.
constexpr std::uint64_t magnitude(std::int64_t x) {
  const auto bits = static_cast<std::uint64_t>(x);
  return x < 0 ? 0 - bits : bits;
}

// The largest number up to `top`, which is at least d - 1, that leaves d - 1 when divided by d.
constexpr std::uint64_t last_before_multiple(std::uint64_t top, std::uint64_t d) {
  return top - (top - (d - 1)) % d;
}

struct Found {
  std::uint64_t multiplier;
  unsigned after;
};

// The smallest shift, with the least multiplier for it, such that m * d = 2^(width + after) + e and
// e * worst < 2^(width + after). If m does for a shift, 2m does for the next one: so the largest
// shift for which m < 2^width decides whether there is one, and then we go down.
std::optional<Found> find(unsigned width, std::uint64_t d, std::uint64_t worst) {
  unsigned after = static_cast<unsigned>(std::bit_width(d)) - 1;
  // 2^after < d < 2^width: the quotient is at most 2^width - 2.
  auto quotient = static_cast<std::uint64_t>((Wide{1} << (width + after)) / d);
  const auto does = [&](std::uint64_t candidate, unsigned shift) {
    const Wide power = Wide{1} << (width + shift);
    const auto error = static_cast<std::uint64_t>(Wide{candidate + 1} * d - power);  // <= d
    return Wide{error} * worst < power;
  };
  if (!does(quotient, after)) return {};
  while (after > 0 && does(quotient >> 1, after - 1)) {
    quotient >>= 1;
    --after;
  }
  return Found{quotient + 1, after};
}

}  // namespace

Reciprocal reciprocal(unsigned width, std::uint64_t divisor) {
  const std::uint64_t top = largest(width);
  if (const auto plain = find(width, divisor, last_before_multiple(top, divisor))) {
    return {plain->multiplier, 0, plain->after, false};
  }
  if (divisor % 2 == 0) {
    // There is always one: if d has k bits, the error is below 2^k, and with `after` = k - 1 that
    // is small enough, because dividends have lost a bit.
    const auto before = static_cast<unsigned>(std::countr_zero(divisor));
    const std::uint64_t d = divisor >> before;
    const Found shifted = *find(width, d, last_before_multiple(top >> before, d));
    return {shifted.multiplier, before, shifted.after, false};
  }
  // 2^after is the power of two above the divisor, 0 when that is 2^64; the multiplier is
  // 2^(width + after) / d + 1 less 2^width.
  const auto after = static_cast<unsigned>(std::bit_width(divisor));
  const std::uint64_t rest = (after == 64 ? 0 : std::uint64_t{1} << after) - divisor;
  return {static_cast<std::uint64_t>((Wide{rest} << width) / divisor) + 1, 0, after, true};
}

SignedReciprocal signed_reciprocal(unsigned width, std::int64_t divisor) {
  const std::uint64_t d = magnitude(divisor);
  const std::uint64_t top = largest(width - 1) + (divisor < 0 ? 1 : 0);
  // There is always one, as above: dividends have a bit less. `top` is that of positive quotients.
  // The bound for negative ones, see divide_test.cc, asks for more only if d divides 2^(W - 1) + 1.
  // It asks for e <= 2^(s + 1) then, and the e of the least multiplier is 2^(s + 1) modulo d.
  const Found found = *find(width, d, last_before_multiple(top, d));
  const bool is_large = found.multiplier > largest(width - 1);
  // The multiplier, less 2^W if it is too large, with the sign of the divisor.
  const std::uint64_t rest = found.multiplier - (is_large ? largest(width) + 1 : 0);
  return {static_cast<std::int64_t>(divisor < 0 ? 0 - rest : rest), found.after,
          is_large ? (divisor < 0 ? -1 : 1) : 0};
}

}  // namespace vyre
