"""fixed.*: Q16.16 and Q32.32, from Python's fractions and decimal.

Exact operations are computed with fractions and rounded. For sin, exp and the like the true value is computed
with 70 digits and rounded. Arguments are left out where it is so near to the middle of two steps that an op
within its bound might round the other way; elsewhere the op has to give exactly the true value's step.

The helpers with 58 to 127 fractional bits are computed in the same way as the ops do it, with constants
derived here, and held against the true value, which has to be within the bound that they state."""

import functools
import math
import random
from decimal import Decimal, getcontext
from fractions import Fraction

from reference import mask, op, signed

getcontext().prec = 70
LN2 = Decimal(2).ln()
SLACK = Decimal("0.000001")  # how far from the truth an op may be before it rounds, in ulp
HALF = Decimal("0.5")


class Undecided(Exception):
    pass


def arctan_series(x):
    """The arc tangent of a Decimal between -0.5 and 0.5."""
    total, power, k = Decimal(0), x, 1
    while abs(power) > Decimal(10) ** -72:
        total += power / k
        power *= -x * x
        k += 2
    return total


PI = 4 * (4 * arctan_series(Decimal(1) / 5) - arctan_series(Decimal(1) / 239))


def sine(x):
    """The sine of a Decimal: reduced by quarters, then the Taylor series of the sine or cosine."""
    quarters = (x / (PI / 2)).to_integral_value()
    x -= quarters * PI / 2
    k = int(quarters) % 4
    term = Decimal(1) if k % 2 else x
    n = 0 if k % 2 else 1
    total = Decimal(0)
    while abs(term) > Decimal(10) ** -72:
        total += term
        term *= -x * x / ((n + 1) * (n + 2))
        n += 2
    return -total if k >= 2 else total


assert abs(sine(PI / 6) - HALF) < Decimal(10) ** -60
assert abs(float(sine(Decimal(100))) - math.sin(100)) < 1e-15


def angle(y, x):
    """The angle of the point (x, y)."""
    if x == 0 and y == 0:
        return Decimal(0)
    if abs(y) > abs(x):
        return (PI / 2 if y > 0 else -PI / 2) - angle(x, abs(y)) * (1 if y > 0 else -1)
    if x < 0:
        return (PI if y >= 0 else -PI) + arc(Decimal(y) / x)
    return arc(Decimal(y) / x)


def arc(t):
    """The arc tangent for -1 to 1, by atan t = 2 * atan(t / (1 + sqrt(1 + t^2)))."""
    return 2 * arctan_series(t / (1 + (1 + t * t).sqrt()))


def even(value):
    """A Fraction rounded to the nearest integer, ties to even."""
    return round(value)


def nearest(value):
    """A Decimal rounded to the nearest integer, exact halves up; Undecided when it is nearly a half."""
    rest = value - value.to_integral_value(rounding="ROUND_FLOOR")
    if rest != HALF and abs(rest - HALF) < SLACK:
        raise Undecided
    return int((value + HALF).to_integral_value(rounding="ROUND_FLOOR"))


def clamp(x, low, high):
    return max(low, min(x, high))


def format_of(group, kind, bits):
    """The ops of one format: numbers are integers over 2^half."""
    half = bits // 2
    one = 1 << half
    least, most = -(1 << (bits - 1)), mask(bits - 1)

    def fit(x):
        return clamp(x, least, most)

    def real(x):
        return Decimal(x) / one

    def whole(x):
        return fit_whole(even(Fraction(x, one)))

    def fit_whole(n):
        return clamp(n * one, least, most // one * one)

    special = [0, 1, -1, one // 2, one // 2 - 1, one // 2 + 1, one, one + 1, one - 1]
    special += [3 * one // 2, 2 * one, 5 * one // 2, 10 * one]
    special += [int(PI * one), int(PI * one / 2), int(PI * 100 * one)]
    special += [least, least + 1, most, most - one // 2, most // one * one]
    special += [-x for x in special if x != least]
    ones = [(x,) for x in special]
    twos = [(a, b) for a in special[::2] for b in special[1::3]]
    source = random.Random(group)
    small = [(source.randrange(-25 * one, 25 * one),) for _ in range(300)]
    positive = [(source.getrandbits(bits - 1) >> source.randrange(bits - 1),) for _ in range(300)]

    def add(name, signature, function, inputs=(), count=200):
        @functools.cache
        def unsigned(*arguments):
            return function(*[signed(x, bits) for x in arguments])

        def decided(*arguments):
            try:
                unsigned(*arguments)
                return True
            except Undecided:
                return False

        rows = [tuple(x if kind == "i32" else x & mask(bits) for x in row) for row in inputs]
        op(f"fixed.{group}.{name}", signature.replace("q", kind), rows, decided, count)(unsigned)

    add("add_sat", "q q -> q", lambda a, b: fit(a + b), twos)
    add("sub_sat", "q q -> q", lambda a, b: fit(a - b), twos)
    add("mul", "q q -> q", lambda a, b: fit(even(Fraction(a * b, one))), twos, 500)
    add("div", "q q -> q", lambda a, b: fit(even(Fraction(a * one, b))) if b else 0, twos, 500)
    add("sqrt", "q -> q", lambda x: root(max(x, 0) * one), ones + positive)
    add("floor", "q -> q", lambda x: math.floor(Fraction(x, one)) * one, ones)
    add("ceil", "q -> q", lambda x: fit_whole(math.ceil(Fraction(x, one))), ones)
    add("round", "q -> q", whole, ones)
    add("fract", "q -> q", lambda x: x % one, ones)
    add("lerp", "q q q -> q", lambda a, b, t: even(a + Fraction((b - a) * clamp(t, 0, one), one)),
        [(a, b, t) for a, b in twos for t in (one // 3, one // 2)])
    add("sin", "q -> q", lambda x: nearest(sine(real(x)) * one), ones + small, 300)
    add("cos", "q -> q", lambda x: nearest(sine(real(x) + PI / 2) * one) if x else one, ones + small, 300)
    add("atan2", "q q -> q", lambda y, x: nearest(angle(y, x) * one), twos, 100)
    add("exp", "q -> q", lambda x: power(real(x), Decimal(1)), ones + small)
    add("exp2", "q -> q", lambda x: power(real(x), LN2), ones + small)
    add("log", "q -> q", lambda x: nearest(real(x).ln() * one) if x > 0 else least, ones + positive)
    add("log2", "q -> q", lambda x: logarithm(x) if x > 0 else least, ones + positive)

    def root(square):
        floor = math.isqrt(square)
        return floor + (4 * square > (2 * floor + 1) ** 2)

    def power(x, base):
        """e^(x * base) as a number of the format; powers of 2 exactly."""
        if x * base > 30 or x * base < -30:
            return most if x > 0 else 0
        if base == LN2 and x == int(x):
            return fit(nearest(Decimal(2) ** int(x) * one))
        return fit(nearest((x * base).exp() * one))

    def logarithm(x):
        if x & (x - 1) == 0:
            return (x.bit_length() - 1 - half) * one
        return nearest(real(x).ln() / LN2 * one)

    wide, size = ("u64", 64) if bits == 32 else ("u128", 128)
    ends = [(most + d, n) for d in (-1, 0, 1, 2) for n in (0, 1, 7)]
    op(f"fixed.{group}.saturate", f"{wide} u32 -> {kind}", inputs=ends)(
        lambda x, negative: fit(-x if negative else x))
    parts = [(n, f) for n in range(-half - 3, half + 1) for f in (0, 1 << (size - 1), mask(size) // 3)]

    @op(f"fixed.{group}.exp2_parts", f"i32 {wide} -> {kind}", inputs=parts,
        where=lambda n, fraction: fraction >> 24 or not fraction)
    def exp2_parts(n, fraction):
        if abs(n) > 40:
            return most if n > 0 else 0
        if fraction == 0:
            return fit(nearest(Decimal(2) ** n * one))
        return fit(nearest(Decimal(2) ** n * (Decimal(fraction) / 2**size * LN2).exp() * one))


format_of("q16", "i32", 32)
format_of("q32", "u64", 64)


def toward_zero(x, one):
    return int(Fraction(x, one))


NEAR = [(x,) for c in (0, 1, 2, -1, -2, 3) for x in (c * 32768 - 1, c * 32768, c * 32768 + 1)]
op("fixed.q16.from_int", "i32 -> i32", inputs=[(x,) for x in (3, 32767, 32768, -32768, -32769)])(
    lambda x: clamp(x * 65536, -(2**31), 2**31 - 1))
op("fixed.q16.to_int", "i32 -> i32", inputs=NEAR)(lambda x: toward_zero(x, 65536))
op("fixed.q16.trunc", "i32 -> i32", inputs=NEAR)(lambda x: toward_zero(x, 65536) * 65536)
op("fixed.q16.round_to_int", "i32 -> i32", inputs=NEAR)(lambda x: even(Fraction(x, 65536)))
op("fixed.q16.neg_sat", "i32 -> i32")(lambda x: min(-x, 2**31 - 1))
op("fixed.q16.abs_sat", "i32 -> i32")(lambda x: min(abs(x), 2**31 - 1))
op("fixed.q16.to_q32", "i32 -> u64")(lambda x: x * 65536)
op("fixed.q32.from_i32", "i32 -> u64")(lambda x: x * 2**32)
op("fixed.q32.to_i32", "u64 -> i32", inputs=[(x * 65536 % 2**64,) for (x,) in NEAR])(
    lambda x: toward_zero(signed(x, 64), 2**32))
TIES = [((x * 65536 + d) % 2**64,) for (x,) in NEAR for d in (-32768, 0, 32768)]
op("fixed.q32.to_q16", "u64 -> i32", inputs=TIES)(
    lambda x: clamp(even(Fraction(signed(x, 64), 65536)), -(2**31), 2**31 - 1))


def series(coefficients, sign, x, bits):
    """The sum of c[k] * (sign * x)^k for a fraction x of so many bits, by Horner's rule, truncated."""
    total = 0
    for c in reversed(coefficients):
        total = c + sign * (total * x >> bits)
    return total


def scaled(value, bits):
    return int((value * 2**bits).to_integral_value())


def within(answer, bits, true, bound):
    """The answer; as a number with so many fractional bits it is within 2^bound of the true value."""
    assert abs(Decimal(answer) / 2**bits - true) <= Decimal(2) ** bound, (answer, true)
    return answer


SINE = [scaled((PI / 2) ** (2 * k + 1) / math.factorial(2 * k + 1), 63) for k in range(12)]
FACTORIALS = [2**63 // math.factorial(k) for k in range(19)]
LONG_FACTORIALS = [2**127 // math.factorial(k) for k in range(9)]
TAIL_FACTORIALS = [2**80 // math.factorial(k) for k in range(9, 24)]
ODD = [2**63 // (2 * k + 1) for k in range(23)]


@op("fixed.sin_turn", "u64 -> u64",
    inputs=[(k * 2**61 + d & mask(64),) for k in range(8) for d in (-1, 0, 1)])
def sin_turn(turn):
    r = turn * 4 & mask(64)
    r = r if turn >> 62 in (0, 2) else mask(64) - r
    result = ((series(SINE, -1, r * r >> 64, 64) * r >> 64) + 1) >> 1
    result = -result if turn >> 63 else result
    return within(result, 62, sine(Decimal(turn) / 2**64 * 2 * PI), -60)


@op("fixed.exp2_fraction", "u64 -> u64", count=300)
def exp2_fraction(f):
    result = series(FACTORIALS, 1, f * scaled(LN2, 64) >> 64, 64)
    return within(result, 63, (Decimal(f) / 2**64 * LN2).exp(), -60)


@op("fixed.exp2_fraction_u128", "u128 -> u128", count=300)
def exp2_fraction_u128(f):
    r = f * scaled(LN2, 128) >> 128
    tail = series(TAIL_FACTORIALS, 1, r >> 64, 64)
    result = series(LONG_FACTORIALS + [tail << 47], 1, r, 128)
    return within(result, 127, (Decimal(f) / 2**128 * LN2).exp(), -83)


@op("fixed.log2_integer", "u64 -> u64", inputs=[(2**k + d,) for k in range(2, 64) for d in (-1, 0, 1)])
def log2_integer(x):
    if x == 0:
        return 0
    exponent = x.bit_length() - 1
    m = x << (63 - exponent)
    upper = m >= scaled(Decimal(2).sqrt(), 63)
    s = abs((m - (2 << 63 if upper else 1 << 63)) << 64) // (m + (2 << 63 if upper else 1 << 63))
    fraction = (((s * series(ODD[:13], 1, s * s >> 64, 64) >> 64) * scaled(2 / LN2, 62) >> 64) + 4) >> 3
    result = (exponent + upper << 58) + (-fraction if upper else fraction)
    return within(result, 58, Decimal(x).ln() / LN2, -56)


@op("fixed.atan_ratio", "u64 u64 -> u64",
    inputs=[(a, 29) for a in range(31)] + [(a, 1000) for a in range(0, 1000, 3)])
def atan_ratio(a, b):
    if a > b or b == 0:
        return 0
    upper = 29 * a > 12 * b
    s = ((b - a) << 64) // (b + a) if upper else (a << 64) // b
    result = s * series(ODD, -1, s * s >> 64, 64) >> 64
    result = scaled(PI / 4, 63) - result if upper else result
    return within(result, 63, arc(Decimal(a) / b), -60)
