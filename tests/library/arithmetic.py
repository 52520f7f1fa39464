"""The family primitive.math, from Python's unbounded integers, math and fractions. (A file called math.py
would stand in the way of Python's own module.)"""

import bisect
import math
import statistics
from fractions import Fraction

from reference import known, mask, op

UNSIGNED = (("", "u32", 32), ("_u64", "u64", 64), ("_u128", "u128", 128))
ALL = (("", "u32", 0, mask(32)), ("_i32", "i32", -(2**31), 2**31 - 1)) + tuple(
    ("_" + kind, kind, 0, mask(bits)) for _, kind, bits in UNSIGNED[1:]
)


def name(op_name, suffix=""):
    return "primitive.math." + op_name + suffix


def quotient(a, b):
    """Rounded towards zero, and 0 for b = 0."""
    return math.trunc(Fraction(a, b)) if b else 0


def rounded(a, b, to):
    return to(Fraction(a, b)) if b else 0


def pinned(x, lo, hi):
    return lo if x < lo else hi if x > hi else x


def near_ends(lo, hi):
    """Pairs whose sum, difference and product just stay in range or just do not."""
    ends = (lo, lo + 1, lo + 2, hi - 2, hi - 1, hi)
    half = (lo // 2, hi // 2, hi // 2 + 1)
    pairs = [(a, b) for a in ends + half for b in ends + half]
    for a in (2, 3, 10, 255, 65536, math.isqrt(hi), math.isqrt(hi) + 1):
        for limit in (lo, hi):
            for b in (quotient(limit, a) - 1, quotient(limit, a), quotient(limit, a) + 1):
                if lo <= b <= hi:
                    pairs += [(a, b), (b, a)]
    return pairs


def divisions(lo, hi):
    """Exact ones and their neighbours, ties of rounding, divisors of every sign and size."""
    pairs = [(lo, -1)] if lo < 0 else []
    for b in (1, 2, 3, 4, 5, 7, 8, 641, 65537, hi // 2, hi // 2 + 1, hi - 1, hi):
        multiples = (b - 1, b, b + 1, 10 * b - 1, 10 * b, 10 * b + 1)
        for a in (0, 1, b // 2, b // 2 + 1, 3 * b // 2, 9 * b // 2) + multiples:
            pairs += [(s * a, t * b) for s in (1, -1) for t in (1, -1)]
    return [(a, b) for a, b in pairs if lo <= a <= hi and lo <= b <= hi]


BINARY = {
    "add": lambda a, b, lo, hi: a + b,
    "sub": lambda a, b, lo, hi: a - b,
    "mul": lambda a, b, lo, hi: a * b,
    "div": lambda a, b, lo, hi: quotient(a, b),
    "mod": lambda a, b, lo, hi: a - b * quotient(a, b) if b else 0,
    "min": lambda a, b, lo, hi: sorted((a, b))[0],
    "max": lambda a, b, lo, hi: sorted((a, b))[1],
    "avg_floor": lambda a, b, lo, hi: math.floor(Fraction(a + b, 2)),
    "avg_ceil": lambda a, b, lo, hi: math.ceil(Fraction(a + b, 2)),
    "add_sat": lambda a, b, lo, hi: pinned(a + b, lo, hi),
    "sub_sat": lambda a, b, lo, hi: pinned(a - b, lo, hi),
    "mul_sat": lambda a, b, lo, hi: pinned(a * b, lo, hi),
    "mul_high": lambda a, b, lo, hi: a * b // (hi - lo + 1),
    "div_ceil": lambda a, b, lo, hi: rounded(a, b, math.ceil),
    "div_round": lambda a, b, lo, hi: rounded(a, b, lambda x: math.floor(x + Fraction(1, 2))),
    "div_floor": lambda a, b, lo, hi: rounded(a, b, math.floor),
    "mod_floor": lambda a, b, lo, hi: a % b if b else 0,
    "div_euclid": lambda a, b, lo, hi: (a - a % abs(b)) // b if b else 0,
    "mod_euclid": lambda a, b, lo, hi: a % abs(b) if b else 0,
}
EVERY = {"u32", "i32", "u64", "u128"}
TYPES = {
    "mul_sat": {"u32", "i32", "u64", "u128"},
    "mul_high": {"u32", "i32", "u64"},
    "div_ceil": {"u32", "u64", "u128"},
    "div_round": {"u32", "u64", "u128"},
    "div_floor": {"i32"},
    "mod_floor": {"i32"},
    "div_euclid": {"i32"},
    "mod_euclid": {"i32"},
}

for suffix, kind, lo, hi in ALL:
    two = kind + " " + kind + " -> "
    three = " ".join([kind] * 3) + " -> " + kind
    pairs = near_ends(lo, hi) + divisions(lo, hi)
    for binary, function in BINARY.items():
        if kind in TYPES.get(binary, EVERY):
            op(name(binary, suffix), two + kind, inputs=pairs, count=100)(
                lambda a, b, f=function, lo=lo, hi=hi: f(a, b, lo, hi)
            )
    op(name("abs_diff", suffix), two + ("u32" if kind == "i32" else kind), inputs=near_ends(lo, hi))(
        lambda a, b: abs(a - b)
    )
    op(name("is_multiple", suffix), two + "u32", inputs=divisions(lo, hi), count=100)(
        lambda a, b: int(Fraction(a, b).denominator == 1 if b else a == 0)
    )
    op(name("neg", suffix), kind + " -> " + kind)(lambda x: 0 - x)
    orders = [(a, b, c) for a in (lo, 1, hi) for b in (lo, 1, 2, hi) for c in (lo, 1, 3, hi)]
    op(name("min3", suffix), three, inputs=orders)(lambda a, b, c: sorted((a, b, c))[0])
    op(name("max3", suffix), three, inputs=orders)(lambda a, b, c: sorted((a, b, c))[2])
    op(name("median3", suffix), three, inputs=orders)(lambda a, b, c: statistics.median((a, b, c)))
    op(name("clamp", suffix), three, inputs=orders)(
        lambda x, low, high: pinned(x, low, high) if low <= high else high
    )
    bases = [(base, exponent) for base in (0, 1, 2, 3, 7, 10, hi) for exponent in range(0, 40)]
    op(name("ipow", suffix), kind + " u32 -> " + kind, inputs=bases)(
        lambda base, exponent: pow(base, exponent, 2**128)
    )


@op(name("abs_i32"), "i32 -> i32")
def absolute(x):
    return abs(x)


@op(name("sign_i32"), "i32 -> i32")
def sign(x):
    return x // abs(x) if x else 0


def fibonacci(bits):
    """Neighbouring Fibonacci numbers: those below a limit that take Euclid's algorithm longest."""
    pairs = [(1, 1)]
    while sum(pairs[-1]) <= mask(bits):
        a, b = pairs[-1]
        pairs.append((b, a + b))
    return pairs[-3:]


def gcd_inputs(bits):
    pairs = fibonacci(bits) + [(b, a) for a, b in fibonacci(bits)]
    for i in range(0, bits, 5):
        for j in range(0, bits, 7):
            pairs.append((3 << i & mask(bits), 5 << j & mask(bits)))
    top, most = 1 << bits - 1, mask(bits)
    return pairs + [(most, most), (most, most - 1), (top, most), (top, 2), (most // 3, most // 5)]


def roots(bits, power):
    """Powers and their neighbours, and the largest root there is."""
    most = cube_root(mask(bits)) if power == 3 else math.isqrt(mask(bits))
    bases = list(range(20)) + [most - 1, most, most // 2, most // 3, 1 << most.bit_length() - 1]
    return [(base**power + d & mask(bits),) for base in bases for d in (-1, 0, 1)]


def cube_root(x):
    return bisect.bisect_right(range(1 << 22), x, key=lambda root: root**3) - 1


for suffix, kind, bits in UNSIGNED:
    two = kind + " " + kind + " -> " + kind
    op(name("gcd", suffix), two, inputs=gcd_inputs(bits), count=100)(math.gcd)
    op(name("isqrt", suffix), kind + " -> " + kind, inputs=roots(bits, 2))(math.isqrt)
    op(name("lcm", suffix), two, inputs=gcd_inputs(bits), count=100)(math.lcm)
    if kind != "u128":
        op(name("icbrt", suffix), kind + " -> " + kind, inputs=roots(bits, 3))(cube_root)

# Odd and even moduli, primes, powers of two, and those so large that a sum or product wraps.
MODULI = {
    "u32": (0, 1, 2, 3, 7, 10, 97, 2**16 + 1, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 5, 2**32 - 2, 2**32 - 1),
    "u64": (0, 1, 2, 3, 7, 10, 97, 2**32 + 1, 2**61 - 1, 2**63, 2**63 + 1, 2**64 - 59, 2**64 - 2, 2**64 - 1),
}


def inverse(a, m):
    return pow(a, -1, m) if m and math.gcd(a, m) == 1 else 0


for suffix, kind, bits in UNSIGNED[:2]:
    three = " ".join([kind] * 3) + " -> " + kind
    half = 2 ** (bits // 2)
    some = (0, 1, 2, 5, half - 1, half, 2 ** (bits - 1) + 1, mask(bits) - 1, mask(bits))
    triples = [(a, b, m) for m in MODULI[kind] for a in some for b in some]
    most = [(m - i, m - j, m) for m in MODULI[kind] for i in (1, 2) for j in (1, 2) if m > 2]
    op(name("addmod", suffix), three, inputs=most + triples)(lambda a, b, m: (a + b) % m if m else 0)
    op(name("submod", suffix), three, inputs=most + triples)(lambda a, b, m: (a - b) % m if m else 0)
    op(name("mulmod", suffix), three, inputs=most + triples)(lambda a, b, m: a * b % m if m else 0)
    op(name("powmod", suffix), three, inputs=most + triples[::3], count=100)(
        lambda a, b, m: pow(a, b, m) if m else 0
    )
    against = [(a, m) for m in MODULI[kind] for a in (*some, 3, 6, m - 1, m // 2 + 1, 12345) if a >= 0]
    against += fibonacci(bits) + [(a, m) for m in range(13) for a in range(13)]
    op(name("invmod", suffix), kind + " " + kind + " -> " + kind, inputs=against)(inverse)

# Euler, 1732: 641 divides the fifth Fermat number.
known(name("mod_u64"), "u64 u64 -> u64", (2**32 + 1, 641), 0, "Euler, E26")
known(name("div_u64"), "u64 u64 -> u64", (2**32 + 1, 641), 6700417, "Euler, E26")
known(name("gcd"), "u32 u32 -> u32", (1071, 462), 21, "the usual example of Euclid's algorithm")
for x, root in enumerate((0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4)):
    known(name("isqrt"), "u32 -> u32", (x,), root, "OEIS A000196")
for x, root in enumerate((0, 1, 1, 1, 1, 1, 1, 1, 2, 2)):
    known(name("icbrt"), "u32 -> u32", (x,), root, "OEIS A048766")
for base in (2, 3, 5, 7):
    # Carmichael's number 561 passes Fermat's test for every base that is prime to it; 341 does for 2.
    known(name("powmod"), "u32 u32 u32 -> u32", (base, 561, 561), base, "OEIS A002997")
known(name("powmod"), "u32 u32 u32 -> u32", (2, 340, 341), 1, "OEIS A001567")
