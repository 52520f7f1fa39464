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

// Whether error * n < 2^power, or <= if `or_equal`, for a power of at most 128, or 127.
bool is_small(Wide error, std::uint64_t n, unsigned power, bool or_equal = false) {
  const Wide below = ~Wide{0} >> (128 - power);
  return error <= (or_equal ? below + 1 : below) / n;
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

// Let W be the width, b = before, s = after, p = W + s, d the divisor shifted right by b, m the
// multiplier, with its top bit if there is `add`, and m * d = 2^p + e. All n are integers below
// 2^(W - b), since n / (d * 2^b) = (n >> b) / d when both are rounded down; when b is too large for
// the divisor, the divisor and the number before it look the same and one quotient is wrong.
//
// The formula is m * n / 2^p rounded down. Without `add` that is what it says: shifting by W and
// then by s is shifting by p. With `add`, t <= n because the multiplier is below 2^W: n - t does
// not borrow, (n - t) / 2 + t <= n does not overflow, and it is (n + t) / 2 rounded down, while
// n + t itself, which is m * n / 2^W rounded down, may need a bit more than there is.
//
// With n = q * d + r:  m * n / 2^p = n / d + e * n / (d * 2^p) = q + (r + e * n / 2^p) / d.
// e = 0 cannot be, as d is no power of two. If e < 0, n = d gives 0. Otherwise the formula gives q
// if and only if e * n < (d - r) * 2^p. Let c be the largest n with r = d - 1: e * c < 2^p is
// necessary. It suffices: for n <= c because d - r >= 1; for n > c because r < d - 1 there, and
// n <= c + d - 1 <= 2 * c, so that e * n < 2 * 2^p <= (d - r) * 2^p.
//
// (Every c is below 2^(W - b), which makes Granlund and Montgomery's bound of it: e <= 2^(s + b).)
bool is_exact(unsigned width, std::uint64_t divisor, const Reciprocal& reciprocal) {
  const auto [multiplier, before, after, add] = reciprocal;
  if (multiplier > largest(width) || before >= width) return false;
  if (divisor >> before << before != divisor) return false;
  // Shifts by the width and more are no shifts, and `add` has none before.
  if (add ? before != 0 || after > width : after >= width) return false;
  const std::uint64_t d = divisor >> before;
  // m * d - 2^p without the bit that would be too much: what has to be taken from multiplier * d.
  // With `add` and 2^s < d there would be e >= 2^W and, as 2 * c >= 2^W - 1, c >= 2^(W - 1): no.
  Wide taken = Wide{1} << after;
  if (add && taken < d) return false;
  if (add) taken -= d;
  const Wide product = Wide{multiplier} * d;
  if (product <= taken << width) return false;
  const Wide error = product - (taken << width);
  return is_small(error, last_before_multiple(largest(width) >> before, d), width + after);
}

SignedReciprocal signed_reciprocal(unsigned width, std::int64_t divisor) {
  const std::uint64_t d = magnitude(divisor);
  const std::uint64_t top = largest(width - 1) + (divisor < 0 ? 1 : 0);
  // There is always one, as above: dividends have a bit less. `top` is that of positive quotients.
  // The bound for negative ones, see below, asks for more only if d divides 2^(W - 1) + 1. It asks
  // for e <= 2^(s + 1) then, and the e of the least multiplier is 2^(s + 1) modulo d.
  const Found found = *find(width, d, last_before_multiple(top, d));
  const bool is_large = found.multiplier > largest(width - 1);
  // The multiplier, less 2^W if it is too large, with the sign of the divisor.
  const std::uint64_t rest = found.multiplier - (is_large ? largest(width) + 1 : 0);
  return {static_cast<std::int64_t>(divisor < 0 ? 0 - rest : rest), found.after,
          is_large ? (divisor < 0 ? -1 : 1) : 0};
}

// Let W be the width, s = after, p = W + s, M = multiplier + add * 2^W, D the divisor, and n from
// -2^(W - 1) to 2^(W - 1) - 1. For -2^W < M <= 2^W, M * n / 2^W rounded down fits, and is t. An M
// that is not one of these, or has not the sign of D, is refused; none is right at 8 bits, as the
// tests show. Let m = |M|, d = |D| and m * d = 2^p + e. Again e is not 0, as d is no power of two,
// and with e < 0 the quotient of n = D is 0.
//
// Let k = |n| = q * d + r and x = m * k / 2^p = q + (r + e * k / 2^p) / d.
//
// Where n / D is positive, x rounded down has to be q. As above that is e * c < 2^p, where c is the
// largest of these k that leaves d - 1.
//
// Where n / D is negative, -x is rounded down, which is negative as x > 0, and 1 is added: x
// rounded up, less 1, has to be q. That is q < x, which e > 0 gives, and x <= q + 1, which is
// e * k <= (d - r) * 2^p, or by the same argument e * c <= 2^p for the largest of these k that
// leaves d - 1.
//
// Negative n, be they the one side or the other, go one further than positive ones.
bool is_exact(unsigned width, std::int64_t divisor, const SignedReciprocal& reciprocal) {
  const auto [multiplier, after, add] = reciprocal;
  const std::uint64_t half = largest(width - 1);
  if (after >= width || multiplier > static_cast<std::int64_t>(half) ||
      multiplier < -static_cast<std::int64_t>(half) - 1) {
    return false;
  }
  // Adding must bring the multiplier to the other sign, which has to be the divisor's.
  const bool is_negative = divisor < 0;
  if (add == 0 ? (multiplier < 0) != is_negative
               : add != (is_negative ? -1 : 1) || (multiplier > 0) == (add > 0)) {
    return false;
  }
  const std::uint64_t size = magnitude(multiplier);
  const Wide m = add == 0 ? Wide{size} : (Wide{1} << width) - size;
  const std::uint64_t d = magnitude(divisor);
  const unsigned power = width + after;
  if (m * d <= Wide{1} << power) return false;
  const Wide error = m * d - (Wide{1} << power);
  const std::uint64_t more = last_before_multiple(half + 1, d);
  const std::uint64_t less = last_before_multiple(half, d);
  return is_small(error, is_negative ? more : less, power) &&
         is_small(error, is_negative ? less : more, power, true);
}

}  // namespace vyre
