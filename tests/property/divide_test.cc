// Division by constants: that the multiplication gives the quotient of every dividend, by the exact
// bound on its error at 32 and 64 bits, by trying everything at 8 bits, and by the solver. The
// bound is written twice, with and without large numbers, and each is tested by the other and at 8
// bits. With VYRE_LONG the bound is checked for all divisors of 32 bits.
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/build.h"
#include "vyre/base/random.h"
#include "vyre/passes/divide.h"
#include "vyre/prove/prove.h"

namespace vyre {
namespace {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

std::uint64_t largest(unsigned width) { return ~std::uint64_t{0} >> ((64 - width) % 64); }

std::int64_t with_sign(unsigned width, std::uint64_t bits) {
  return static_cast<std::int64_t>(bits << (64 - width)) >> (64 - width);
}

bool is_divisor(std::uint64_t d) { return d >= 3 && !std::has_single_bit(d); }

std::string text(const Reciprocal& r) {
  return "multiplier " + std::to_string(r.multiplier) + ", before " + std::to_string(r.before) +
         ", after " + std::to_string(r.after) + (r.add ? ", add" : "");
}
std::string text(const SignedReciprocal& r) {
  return "multiplier " + std::to_string(r.multiplier) + ", after " + std::to_string(r.after) +
         ", add " + std::to_string(r.add);
}

// --- What the formulas give, in registers of the width ------------------------------------------

std::uint64_t divide(unsigned width, std::uint64_t n, const Reciprocal& r) {
  const std::uint64_t mask = largest(width);
  const auto high =
      static_cast<std::uint64_t>((Wide{n >> r.before} * r.multiplier) >> width) & mask;
  if (!r.add) return high >> r.after;
  const std::uint64_t half = ((n - high) & mask) >> 1;
  return ((half + high) & mask) >> (r.after - 1);
}

std::int64_t divide(unsigned width, std::int64_t n, const SignedReciprocal& r) {
  auto t = static_cast<std::uint64_t>((SignedWide{n} * r.multiplier) >> width);
  if (r.add != 0)
    t += r.add > 0 ? static_cast<std::uint64_t>(n) : 0 - static_cast<std::uint64_t>(n);
  const std::int64_t quotient = with_sign(width, t) >> r.after;
  return quotient + (quotient < 0 ? 1 : 0);
}

// --- Whether a reciprocal gives the quotient of every dividend
// ------------------------------------

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

// Of a quotient that is rounded down. If not, there is a dividend for which it does not.
//
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

// Of a quotient that is rounded towards zero.
//
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

// --- The bound ----------------------------------------------------------------------------------

// m * d = 2^p + e with 0 < e, and e * c < 2^p for the largest dividend c that leaves d - 1. The
// numbers are kept: to allocate them would take longer than to compute with them.
class Bound {
 public:
  bool holds(unsigned width, std::uint64_t divisor, const Reciprocal& r) {
    const std::uint64_t d = divisor >> r.before;
    if (r.multiplier > largest(width) || d << r.before != divisor) return false;
    if (r.add ? r.before != 0 || r.after == 0 : r.after >= width) return false;
    multiplier_ = r.multiplier;
    if (r.add) mpz_setbit(multiplier_.get_mpz_t(), width);
    return has_error(d, width + r.after) && is_small(width - r.before, 0, d, true);
  }

  bool holds(unsigned width, std::int64_t divisor, const SignedReciprocal& r) {
    if (r.multiplier != with_sign(width, static_cast<std::uint64_t>(r.multiplier))) return false;
    if (r.after >= width || r.add < -1 || r.add > 1) return false;
    one_ = r.add;
    multiplier_ = r.multiplier;
    multiplier_ += one_ << width;
    if ((multiplier_ < 0) != (divisor < 0)) return false;
    multiplier_ = abs(multiplier_);
    if (mpz_sizeinbase(multiplier_.get_mpz_t(), 2) > width) return false;  // t does not fit
    const std::uint64_t d =
        divisor < 0 ? 0 - static_cast<std::uint64_t>(divisor) : static_cast<std::uint64_t>(divisor);
    // Positive quotients, of the one and the other sign's dividends; then negative ones.
    return has_error(d, width + r.after) && is_small(width - 1, divisor < 0 ? 1 : 0, d, true) &&
           is_small(width - 1, divisor < 0 ? 0 : 1, d, false);
  }

 private:
  bool has_error(std::uint64_t d, unsigned power) {
    power_ = 0;
    mpz_setbit(power_.get_mpz_t(), power);
    mpz_mul_ui(error_.get_mpz_t(), multiplier_.get_mpz_t(), d);
    error_ -= power_;
    return error_ > 0;
  }
  // For the dividends below 2^bits + more.
  bool is_small(unsigned bits, unsigned more, std::uint64_t d, bool strictly) {
    worst_ = more;
    mpz_setbit(worst_.get_mpz_t(), bits);
    mpz_sub_ui(worst_.get_mpz_t(), worst_.get_mpz_t(), mpz_fdiv_ui(worst_.get_mpz_t(), d));
    worst_ -= 1;
    worst_ *= error_;
    return strictly ? worst_ < power_ : worst_ <= power_;
  }

  mpz_class one_, multiplier_, power_, error_, worst_;
};

// The same for the least multiplier, whose error is at most d: the high half of m * d is then 2^s,
// and the low half the error.
bool is_within_bound(unsigned width, std::uint64_t divisor, const Reciprocal& r) {
  const std::uint64_t d = divisor >> r.before;
  const std::uint64_t top = largest(width) >> r.before;
  const Wide product = Wide{r.multiplier} * d;
  const Wide high = (product >> width) + (r.add ? d : 0);
  const std::uint64_t error = static_cast<std::uint64_t>(product) & largest(width);
  const std::uint64_t worst = top - (top - (d - 1)) % d;
  const unsigned power = width + r.after;
  return d << r.before == divisor && r.multiplier <= largest(width) && !(r.add && r.before != 0) &&
         r.after < width + r.add && r.after >= r.add && high == Wide{1} << r.after && error > 0 &&
         (power == 128 || Wide{error} * worst < Wide{1} << power);
}

// --- Divisors -----------------------------------------------------------------------------------

// Those near powers of two, multiples of them and of their neighbours, and factors of 2^32 + 1.
std::vector<std::uint64_t> edges(unsigned width) {
  std::vector<std::uint64_t> all;
  for (unsigned k = 1; k <= width; ++k) {
    const std::uint64_t power = k == 64 ? 0 : std::uint64_t{1} << k;
    for (std::uint64_t factor : {1u, 3u, 5u, 7u, 10u, 641u, 1000u, 6700417u, 1000000007u}) {
      for (std::int64_t near : {-3, -2, -1, 0, 1, 2, 3}) {
        const std::uint64_t number = power + static_cast<std::uint64_t>(near);
        all.push_back(number * factor);
        all.push_back(power * factor + static_cast<std::uint64_t>(near));
        all.push_back(power / factor + static_cast<std::uint64_t>(near));
        all.push_back(largest(width) / factor + static_cast<std::uint64_t>(near));
      }
    }
  }
  for (std::uint64_t& d : all) d &= largest(width);
  std::erase_if(all, [](std::uint64_t d) { return !is_divisor(d); });
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

// Of all lengths.
std::vector<std::uint64_t> some_divisors(unsigned width, std::size_t count) {
  std::vector<std::uint64_t> all = edges(width);
  Random random(width);
  random.shuffle(all);
  all.resize(std::min(all.size(), count / 2));
  while (all.size() < count) {
    const std::uint64_t d = (random.next() & largest(width)) >> random.below(width - 2) % 64;
    if (is_divisor(d)) all.push_back(d);
  }
  return all;
}

void for_small_and_edges(unsigned width, const auto& check) {
  for (std::uint64_t d = 3; d <= 0x10000; ++d) {
    if (is_divisor(d)) check(d);
  }
  for (std::uint64_t d : edges(width)) check(d);
}

TEST(Divide, KeepsTheBound) {
  Bound bound;
  for (unsigned width : {16u, 32u, 64u}) {
    EXPECT_GT(edges(width).size(), 500u);
    for_small_and_edges(width, [&](std::uint64_t d) {
      if (d > largest(width)) return;
      const Reciprocal r = reciprocal(width, d);
      if (bound.holds(width, d, r) && is_within_bound(width, d, r) && is_exact(width, d, r)) return;
      ADD_FAILURE() << width << " bits, / " << d << ": " << text(r);
    });
  }
}

TEST(Divide, KeepsTheBoundWithSigns) {
  Bound bound;
  for (unsigned width : {16u, 32u, 64u}) {
    for_small_and_edges(width, [&](std::uint64_t bits) {
      for (std::int64_t d : {with_sign(width, bits), with_sign(width, 0 - bits)}) {
        if (d == with_sign(width, std::uint64_t{1} << (width - 1)) || (d > -3 && d < 3)) continue;
        if (std::has_single_bit(static_cast<std::uint64_t>(std::abs(d)))) continue;
        const SignedReciprocal r = signed_reciprocal(width, d);
        if (bound.holds(width, d, r) && is_exact(width, d, r)) continue;
        ADD_FAILURE() << width << " bits, / " << d << ": " << text(r);
      }
    });
  }
}

TEST(Divide, KeepsTheBoundForAllDivisors) {
  const std::uint64_t end = std::uint64_t{1} << (is_long() ? 32 : 18);
  const std::uint64_t step = std::uint64_t{1} << (is_long() ? 24 : 16);
  for (unsigned width : {32u, 64u}) {
    std::atomic<std::uint64_t> next = 0;
    std::mutex mutex;
    const auto work = [&] {
      for (std::uint64_t begin; (begin = next.fetch_add(step)) < end;) {
        if (is_long() && begin % (end / 16) == 0) {
          const std::uint64_t percent = begin * 100 / end;
          std::fprintf(stderr, "%u bits: %u %%\n", width, static_cast<unsigned>(percent));
        }
        for (std::uint64_t d = begin; d < begin + step; ++d) {
          if (!is_divisor(d)) continue;
          const Reciprocal r = reciprocal(width, d);
          if (is_within_bound(width, d, r)) [[likely]]
            continue;
          const std::lock_guard lock(mutex);
          ADD_FAILURE() << width << " bits, / " << d << ": " << text(r);
          next = end;
          return;
        }
      }
    };
    std::thread other(work);
    work();
    other.join();
  }
}

// --- Everything at 8 bits -----------------------------------------------------------------------

bool is_right_at_8_bits(std::uint64_t d, const Reciprocal& r) {
  if (divide(8, d, r) != 1 || divide(8, d - 1, r) != 0) return false;  // sooner
  for (std::uint64_t n = 0; n < 256; ++n) {
    if (divide(8, n, r) != n / d) return false;
  }
  return true;
}

bool is_right_at_8_bits(std::int64_t d, const SignedReciprocal& r) {
  if (divide(8, d, r) != 1 || divide(8, d + (d < 0 ? 1 : -1), r) != 0) return false;
  for (std::int64_t n = -128; n < 128; ++n) {
    if (divide(8, n, r) != n / d) return false;
  }
  return true;
}

// How much one costs: what the function says that it looks for.
unsigned cost(const Reciprocal& r) { return (r.add ? 200 : r.before != 0 ? 100 : 0) + r.after; }

TEST(Divide, IsRightAndCheapestAt8Bits) {
  Bound bound;
  std::size_t kinds[3] = {};
  for (std::uint64_t d = 3; d < 256; ++d) {
    if (!is_divisor(d)) continue;
    const Reciprocal chosen = reciprocal(8, d);
    EXPECT_TRUE(is_right_at_8_bits(d, chosen)) << "/ " << d << ": " << text(chosen);
    ++kinds[cost(chosen) / 100];
    const auto check = [&](const Reciprocal& r) {
      const bool is_right = is_right_at_8_bits(d, r);
      if (is_exact(8, d, r) != is_right) ADD_FAILURE() << "/ " << d << ": " << text(r);
      if (!is_right) return;
      if (!bound.holds(8, d, r)) ADD_FAILURE() << "bound / " << d << ": " << text(r);
      if (cost(r) < cost(chosen)) ADD_FAILURE() << "cheaper / " << d << ": " << text(r);
    };
    for (std::uint64_t multiplier = 0; multiplier < 256; ++multiplier) {
      for (unsigned before = 0; before < 8; ++before) {
        for (unsigned after = 0; after < 8; ++after) check({multiplier, before, after, false});
      }
      for (unsigned after = 1; after <= 8; ++after) check({multiplier, 0, after, true});
    }
  }
  for (std::size_t count : kinds) EXPECT_GT(count, 10u);
}

TEST(Divide, IsRightAndCheapestAt8BitsWithSigns) {
  Bound bound;
  std::size_t kinds[3] = {};
  for (std::int64_t d = -127; d < 128; ++d) {
    if (!is_divisor(static_cast<std::uint64_t>(std::abs(d)))) continue;
    const SignedReciprocal chosen = signed_reciprocal(8, d);
    EXPECT_TRUE(is_right_at_8_bits(d, chosen)) << "/ " << d << ": " << text(chosen);
    ++kinds[chosen.add + 1];
    for (std::int64_t multiplier = -128; multiplier < 128; ++multiplier) {
      for (unsigned after = 0; after < 8; ++after) {
        for (int add : {-1, 0, 1}) {
          const SignedReciprocal r{multiplier, after, add};
          const bool is_right = is_right_at_8_bits(d, r);
          if (is_exact(8, d, r) != is_right) ADD_FAILURE() << "/ " << d << ": " << text(r);
          if (!is_right) continue;
          if (!bound.holds(8, d, r)) ADD_FAILURE() << "bound / " << d << ": " << text(r);
          if (after < chosen.after || (add == 0 && chosen.add != 0)) {
            ADD_FAILURE() << "cheaper / " << d << ": " << text(r);
          }
        }
      }
    }
  }
  for (std::size_t count : kinds) EXPECT_GT(count, 10u);
}

// --- The places where a quotient changes --------------------------------------------------------

// Multiples of d and their neighbours: the first, the last, any.
std::vector<std::uint64_t> critical(std::uint64_t top, std::uint64_t d, Random& random) {
  std::vector<std::uint64_t> all{0, 1, top - 1, top};
  const std::uint64_t last = top / d;
  for (std::uint64_t k : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, last / 2, last - 1,
                          last, random.next(), random.next(), random.next(), random.next()}) {
    const std::uint64_t multiple = k % (last + 1) * d;
    for (std::uint64_t n : {multiple - 1, multiple, multiple + 1}) {
      if (n <= top) all.push_back(n);
    }
  }
  return all;
}

TEST(Divide, IsRightAtMultiples) {
  Random random(1);
  for (unsigned width : {16u, 32u, 64u}) {
    for (std::uint64_t d : some_divisors(width, 5000)) {
      const Reciprocal r = reciprocal(width, d);
      for (std::uint64_t n : critical(largest(width), d, random)) {
        if (divide(width, n, r) == n / d) continue;
        ADD_FAILURE() << width << " bits, " << n << " / " << d << ": " << text(r);
      }
    }
  }
}

TEST(Divide, IsRightAtMultiplesWithSigns) {
  Random random(1);
  for (unsigned width : {16u, 32u, 64u}) {
    for (std::uint64_t size : some_divisors(width - 1, 5000)) {
      const bool is_negative = random.one_in(2);
      const std::int64_t d = with_sign(width, is_negative ? 0 - size : size);
      const SignedReciprocal r = signed_reciprocal(width, d);
      for (std::uint64_t bits : critical(std::uint64_t{1} << (width - 1), size, random)) {
        // 2^(width - 1) is the least number with either sign.
        for (std::int64_t n : {with_sign(width, bits), with_sign(width, 0 - bits)}) {
          if (divide(width, n, r) == n / d) continue;
          ADD_FAILURE() << width << " bits, " << n << " / " << d << ": " << text(r);
        }
      }
    }
  }
}

// --- Wrong ones ---------------------------------------------------------------------------------

// One number of it changed, as far as the formula is still one; last the same thing said otherwise.
std::vector<Reciprocal> changed(unsigned width, const Reciprocal& r) {
  std::vector<Reciprocal> all(8, r);
  ++all[0].multiplier;
  --all[1].multiplier;
  ++all[2].after;
  --all[3].after;
  all[4].add = !r.add;
  ++all[5].before;
  --all[6].before;
  all[7].multiplier *= 2;
  ++all[7].after;
  std::erase_if(all, [&](const Reciprocal& other) {
    return other.multiplier > largest(width) || other.before >= width ||
           (other.add ? other.before != 0 || other.after == 0 || other.after > width
                      : other.after >= width);
  });
  return all;
}

std::vector<SignedReciprocal> changed(unsigned width, const SignedReciprocal& r) {
  std::vector<SignedReciprocal> all(7, r);
  ++all[0].multiplier;
  --all[1].multiplier;
  ++all[2].after;
  --all[3].after;
  all[4].add = r.add == 0 ? 1 : 0;
  all[5].add = r.add == 0 ? -1 : -r.add;
  all[6].multiplier = with_sign(64, static_cast<std::uint64_t>(r.multiplier) * 2);
  ++all[6].after;
  std::erase_if(all, [&](const SignedReciprocal& other) {
    return other.multiplier != with_sign(width, static_cast<std::uint64_t>(other.multiplier)) ||
           other.after >= width;
  });
  return all;
}

// What is rejected is wrong for some dividend, and what is not keeps the bound. At 8 bits the tests
// above have this for all that can be written.
TEST(Divide, RejectsExactlyWhatIsWrong) {
  Bound bound;
  std::size_t wrong = 0;
  std::size_t right = 0;
  for (unsigned width : {16u, 32u, 64u}) {
    for (std::uint64_t d : some_divisors(width, 2000)) {
      for (const Reciprocal& r : changed(width, reciprocal(width, d))) {
        const bool accepted = is_exact(width, d, r);
        const std::uint64_t last = largest(width) - (largest(width) - (d - 1)) % d;
        const auto differs = [&](std::uint64_t n) { return divide(width, n, r) != n / d; };
        const bool is_wrong = differs(d) || differs(d - 1) || differs(last);
        ++(is_wrong ? wrong : right);
        if (accepted != is_wrong && bound.holds(width, d, r) == accepted) continue;
        ADD_FAILURE() << width << " bits, / " << d << ": " << text(r);
      }
    }
  }
  EXPECT_GT(wrong, 10'000u);
  EXPECT_GT(right, 1'000u);
}

TEST(Divide, RejectsExactlyWhatIsWrongWithSigns) {
  Bound bound;
  std::size_t wrong = 0;
  std::size_t right = 0;
  for (unsigned width : {16u, 32u, 64u}) {
    const std::uint64_t half = std::uint64_t{1} << (width - 1);
    for (std::uint64_t size : some_divisors(width - 1, 2000)) {
      for (std::int64_t d : {with_sign(width, size), with_sign(width, 0 - size)}) {
        for (const SignedReciprocal& r : changed(width, signed_reciprocal(width, d))) {
          const bool accepted = is_exact(width, d, r);
          const auto differs = [&](std::uint64_t bits) {
            const std::int64_t n = with_sign(width, bits);
            return divide(width, n, r) != n / d;
          };
          bool is_wrong = differs(half) || differs(half - 1);
          // The last that leave d - 1, below 2^(width - 1) and up to it.
          const std::uint64_t last = half - 1 - (half - size) % size;
          const std::uint64_t most = half - (half - (size - 1)) % size;
          for (std::uint64_t n : {size, size - 1, last, most}) {
            is_wrong = is_wrong || (n < half && differs(n)) || differs(0 - n);
          }
          ++(is_wrong ? wrong : right);
          if (accepted != is_wrong && bound.holds(width, d, r) == accepted) continue;
          ADD_FAILURE() << width << " bits, / " << d << ": " << text(r);
        }
      }
    }
  }
  EXPECT_GT(wrong, 10'000u);
  EXPECT_GT(right, 1'000u);
}

// Numbers that are right and do not fit, or stand where the formula has no place for them.
TEST(Divide, RejectsWhatDoesNotFit) {
  ASSERT_EQ(reciprocal(8, 7), (Reciprocal{37, 0, 3, true}));
  EXPECT_FALSE(is_exact(8, 7, Reciprocal{256 + 37, 0, 3, false}));
  EXPECT_FALSE(is_exact(8, 14, Reciprocal{37, 1, 3, true}));
  EXPECT_FALSE(is_exact(8, 7, Reciprocal{37, 0, 0, true}));
  ASSERT_EQ(signed_reciprocal(8, -7), (SignedReciprocal{109, 2, -1}));
  EXPECT_FALSE(is_exact(8, -7, SignedReciprocal{109 - 256, 2, 0}));
  EXPECT_FALSE(is_exact(8, 7, SignedReciprocal{256 - 109, 2, 0}));
  for (unsigned width : {8u, 64u}) {
    for (unsigned shift : {64u, 65u, 128u, ~1u}) {
      EXPECT_FALSE(is_exact(width, 7, Reciprocal{37, 0, shift, false}));
      EXPECT_FALSE(is_exact(width, 7, Reciprocal{37, shift, 0, false}));
      EXPECT_FALSE(is_exact(width, 7, Reciprocal{37, 0, shift + 1, true}));
      EXPECT_FALSE(is_exact(width, -7, SignedReciprocal{109, shift, -1}));
    }
  }
  // 2^after is less than the divisor; the error looks right without its bit 128.
  EXPECT_FALSE(is_exact(64, ~std::uint64_t{0}, Reciprocal{(1ull << 63) + 2, 0, 63, true}));
}

// --- The solver ---------------------------------------------------------------------------------

std::string number(unsigned digits, std::uint64_t value) {
  char out[20];
  std::snprintf(out, sizeof out, "#x%0*llx", static_cast<int>(digits),
                static_cast<unsigned long long>(value));
  return out;
}
std::string call(const std::string& function, const std::string& a, const std::string& b) {
  return "(" + function + " " + a + " " + b + ")";
}

// The formulas as terms over n.
std::string term(const Reciprocal& r) {
  const std::string n = "((_ zero_extend 8) " + call("bvlshr", "n", number(2, r.before)) + ")";
  const std::string t = "((_ extract 15 8) " + call("bvmul", n, number(4, r.multiplier)) + ")";
  if (!r.add) return call("bvlshr", t, number(2, r.after));
  const std::string half = call("bvlshr", call("bvsub", "n", t), number(2, 1));
  return call("bvlshr", call("bvadd", half, t), number(2, r.after - 1));
}
std::string term(const SignedReciprocal& r) {
  const std::string multiplier = number(4, static_cast<std::uint64_t>(r.multiplier) & 0xffff);
  std::string t = "((_ extract 15 8) " + call("bvmul", "((_ sign_extend 8) n)", multiplier) + ")";
  if (r.add != 0) t = call(r.add > 0 ? "bvadd" : "bvsub", t, "n");
  const std::string q = call("bvashr", t, number(2, r.after));
  return call("bvadd", q, call("bvlshr", q, number(2, 7)));
}

TEST(Divide, IsProvedAt8Bits) {
  const std::string head = "(set-logic QF_BV)\n(declare-const n (_ BitVec 8))\n";
  const Result<Solved> ready = solve(head);
  if (!ready.ok()) GTEST_SKIP() << "SKIPPED: " << ready.diagnostics()[0].problem;
  const auto differ = [](const char* division, std::uint64_t d, const std::string& quotient) {
    const std::string expected = call(division, "n", number(2, d));
    return call("distinct", quotient, expected) + "\n";
  };
  std::size_t count = 0;
  std::string any;
  for (std::uint64_t d = 3; d < 256; ++d) {
    if (is_divisor(d)) {
      any += differ("bvudiv", d, term(reciprocal(8, d)));
      ++count;
    }
    const std::int64_t with = with_sign(8, d);
    if (is_divisor(static_cast<std::uint64_t>(std::abs(with)))) {
      any += differ("bvsdiv", d, term(signed_reciprocal(8, with)));
      ++count;
    }
  }
  EXPECT_EQ(count, 247u + 240u);
  // All in one question takes less time than in many.
  EXPECT_EQ(*solve(head + "(assert (or\n" + any + "))\n"), Solved::No);
  // The question can be answered otherwise.
  Reciprocal wrong = reciprocal(8, 7);
  --wrong.multiplier;
  EXPECT_EQ(*solve(head + "(assert " + differ("bvudiv", 7, term(wrong)) + ")\n"), Solved::Yes);
}

}  // namespace
}  // namespace vyre
