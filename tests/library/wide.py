"""u64.* and u128.*: halves, wide products, carries and two's complement, from Python's integers."""

import math

from reference import mask, op, signed


def toward_zero(a, b):
    """The quotient rounded toward zero; 0 for a zero divisor."""
    return 0 if b == 0 else abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


def clamp(x, bits):
    return max(-(1 << (bits - 1)), min(x, mask(bits - 1)))


def leading(x, bits, digit):
    text = format(x, f"0{bits}b")
    return bits - len(text.lstrip(digit))


def trailing(x, bits, digit):
    text = format(x, f"0{bits}b")
    return bits - len(text.rstrip(digit))


def low_signed(x, count, bits):
    count = count % bits or bits
    return signed(x & mask(count), count)


def near(kind, bits):
    """Pairs that are equal or nearly so, of both signs."""
    top = 1 << (bits - 1)
    numbers = [0, 1, 5, top - 2, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1]
    return [(a, b) for a in numbers for b in numbers]


for kind, half, bits in (("u64", "u32", 64), ("u128", "u64", 128)):
    halves = bits // 2
    pairs = near(kind, bits)
    counted = [(x, n) for x in (0xFF, 0x80, 0x7F, mask(bits), 1 << (bits - 1)) for n in range(0, bits + 2)]
    carried = [(a, b, c) for a, b in pairs for c in (0, 1, 2)]
    carried += [(a, mask(bits) - a + d & mask(bits), c) for a, _ in pairs for d in (-1, 0, 1) for c in (0, 1)]
    wide = [(mask(halves), mask(halves)), (mask(halves), 1 << (halves - 1)), (mask(halves) - 1, mask(halves))]

    def table(kind, half, bits, halves, pairs, counted, carried, wide):
        one, two = f"{kind} -> ", f"{kind} {kind} -> "

        def s(x):
            return signed(x, bits)

        def add(name, signature, function, **more):
            op(f"{kind}.{name}", signature, **more)(function)

        add("from_parts", f"{half} {half} -> {kind}", lambda lo, hi: hi * 2**halves + lo)
        add("low", one + half, lambda x: x % 2**halves)
        add("high", one + half, lambda x: x // 2**halves)
        add("mul_wide", f"{half} {half} -> {kind}", lambda a, b: a * b, inputs=wide)
        add("mul_add_wide", f"{half} {half} {half} {half} -> {kind}", lambda a, b, c, d: a * b + c + d,
            inputs=[(mask(halves),) * 4, (mask(halves), mask(halves), 1, 0)])
        add("add_carry", f"{kind} {kind} u32 -> u32", lambda a, b, c: (a + b + (c != 0)) >> bits,
            inputs=carried)
        add("sub_borrow", f"{kind} {kind} u32 -> u32", lambda a, b, c: int(a - b - (c != 0) < 0),
            inputs=carried)
        add(f"div_{half}", f"{kind} {half} -> {kind}", lambda a, b: a // b if b else 0)
        add(f"rem_{half}", f"{kind} {half} -> {half}", lambda a, b: a % b if b else 0)
        add("div_round_up", two + kind, lambda a, b: -(-a // b) if b else 0, inputs=pairs)
        add("div_round", two + kind, lambda a, b: (2 * a + b) // (2 * b) if b else 0, inputs=pairs)
        add("bit_length", one + "u32", lambda x: x.bit_length())
        add("leading_ones", one + "u32", lambda x: leading(x, bits, "1"))
        add("trailing_ones", one + "u32", lambda x: trailing(x, bits, "1"))
        add("from_i32", f"i32 -> {kind}", lambda x: x)
        add("to_i32_sat", one + "i32", lambda x: clamp(s(x), 32),
            inputs=[(x & mask(bits),) for c in (2**31, -(2**31), 2**32, -(2**32)) for x in (c - 1, c, c + 1)])
        add("sign_extend", f"{kind} u32 -> {kind}", lambda x, n: low_signed(x, n, bits), inputs=counted)
        add("is_negative", one + "u32", lambda x: int(s(x) < 0))
        add("sign", one + "i32", lambda x: (s(x) > 0) - (s(x) < 0))
        add("lt_signed", two + "u32", lambda a, b: int(s(a) < s(b)), inputs=pairs)
        add("le_signed", two + "u32", lambda a, b: int(s(a) <= s(b)), inputs=pairs)
        add("min_signed", two + kind, lambda a, b: min(s(a), s(b)), inputs=pairs)
        add("max_signed", two + kind, lambda a, b: max(s(a), s(b)), inputs=pairs)
        add("shr_signed", f"{kind} u32 -> {kind}", lambda x, n: s(x) // 2 ** (n % bits), inputs=counted)
        add("negate", one + kind, lambda x: -x)
        add("abs_signed", one + kind, lambda x: abs(s(x)))
        add("abs_diff_signed", two + kind, lambda a, b: abs(s(a) - s(b)), inputs=pairs)
        add("add_sat_signed", two + kind, lambda a, b: clamp(s(a) + s(b), bits), inputs=pairs)
        add("sub_sat_signed", two + kind, lambda a, b: clamp(s(a) - s(b), bits), inputs=pairs)
        add("div_signed", two + kind, lambda a, b: toward_zero(s(a), s(b)), inputs=pairs)
        add("rem_signed", two + kind, lambda a, b: s(a) - s(b) * toward_zero(s(a), s(b)) if b else 0,
            inputs=pairs)

    table(kind, half, bits, halves, pairs, counted, carried, wide)


@op("u64.mul_high_signed", "u64 u64 -> u64", inputs=near("u64", 64))
def mul_high_signed(a, b):
    return signed(a, 64) * signed(b, 64) >> 64


@op("u64.mul_div", "u64 u64 u64 -> u64")
def mul_div(a, b, c):
    return a * b // c if c else 0


@op("u128.mul_high", "u128 u128 -> u128", 
    inputs=[(mask(128), mask(128)), (mask(64), mask(128)), (mask(127), 3)])
def mul_high(a, b):
    return a * b >> 128


@op("u128.from_signed_u64", "u64 -> u128")
def from_signed_u64(x):
    return signed(x, 64)


squares = [n * n + d for n in (1, 2, 3, 99, 2**32 - 1, 2**32, 2**63, 2**64 - 1) for d in (-1, 0, 1)]


@op("u128.sqrt", "u128 -> u64", inputs=[(x,) for x in squares], count=100)
def sqrt(x):
    return math.isqrt(x)
