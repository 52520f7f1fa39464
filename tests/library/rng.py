"""Answers for rng.*. Sequences have to agree with Python's random, the C++ standard, Java, Random123's
known answers, and what the generators' authors publish.
"""

import random

from reference import known, mask, op

M32 = mask(32)
M64 = mask(64)
GOLDEN32 = 0x9E3779B9
GOLDEN64 = 0x9E3779B97F4A7C15


def rotl(x, n, bits=32):
    n %= bits
    return (x << n | x >> (bits - n)) & mask(bits)


def chain(step, state, count):
    """That many states, the first one included."""
    states = [state]
    while len(states) < count:
        states.append(step(states[-1]))
    return states


def sequence(id, signature, states, numbers, source):
    """The numbers that are published for a chain of states."""
    for state, number in zip(states, numbers):
        known(id, signature, (state,), number, source)


# SplitMix64.


@op("rng.splitmix64_next", "u64 -> u64")
def splitmix64_next(state):
    return (state + GOLDEN64) % 2**64


@op("rng.splitmix64_output", "u64 -> u64")
def splitmix64_output(state):
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        state = (state ^ state >> shift) * factor % 2**64
    return state


@op("rng.splitmix64", "u64 u64 -> u64", inputs=[(1234567, i) for i in range(20)])
def splitmix64(seed, i):
    if i < 20:
        return splitmix64_output(chain(splitmix64_next, seed, i + 2)[-1])
    return splitmix64_output((seed + GOLDEN64 + i * GOLDEN64) % 2**64)


SPLITMIX = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
ROSETTA = "Rosetta Code, seed 1234567"
STATES = chain(splitmix64_next, 1234567, 5)[1:]
sequence("rng.splitmix64_output", "u64 -> u64", STATES, SPLITMIX, ROSETTA)
for i, number in enumerate(SPLITMIX):
    known("rng.splitmix64", "u64 u64 -> u64", (1234567, i), number, ROSETTA)


# PCG.

FACTOR = 6364136223846793005


@op("rng.pcg32_increment", "u64 -> u64")
def pcg32_increment(stream):
    return 2 * stream + 1


@op("rng.pcg32_next", "u64 u64 -> u64")
def pcg32_next(state, increment):
    return (state * FACTOR + increment) % 2**64


@op("rng.pcg32_seed", "u64 u64 -> u64")
def pcg32_seed(seed, increment):
    return pcg32_next(pcg32_next(0, increment) + seed, increment)


@op("rng.pcg32_output", "u64 -> u32", inputs=[(i << 59 | 0x123456789ABCDEF,) for i in range(32)])
def pcg32_output(state):
    word = ((state ^ state >> 18) >> 27) % 2**32
    return rotl(word, -(state >> 59))


@op("rng.pcg32_jump", "u64 u64 u64 -> u64", inputs=[(42, 109, i) for i in range(20)])
def pcg32_jump(state, increment, steps):
    """FACTOR^n * state + increment * (1 + FACTOR + ... + FACTOR^(n - 1))."""
    power = pow(FACTOR, steps, (FACTOR - 1) << 64)
    return power * state + increment * ((power - 1) // (FACTOR - 1))


START = pcg32_seed(42, pcg32_increment(54))
STATES = chain(lambda state: pcg32_next(state, 109), START, 20)
for i, state in enumerate(STATES):
    assert pcg32_jump(START, 109, i) % 2**64 == state
    assert pcg32_jump(state, 109, 2**64 - i) % 2**64 == START
DEMO = [0xA15C02B7, 0x7B47F409, 0xBA1D3330, 0x83D2F293, 0xBFA4784B, 0xCBED606E]
sequence("rng.pcg32_output", "u64 -> u32", STATES, DEMO, "the demo of the PCG library, seed 42, stream 54")


@op("rng.pcg_hash", "u32 -> u32", inputs=[(i,) for i in range(100)])
def pcg_hash(x):
    state = (x * 747796405 + 2891336453) % 2**32
    word = (state ^ state >> (4 + state // 2**28)) * 277803737 % 2**32
    return word ^ word >> 22


@op("rng.pcg2d", "vec2u32 -> vec2u32")
def pcg2d(v):
    v = [(a * 1664525 + 1013904223) % 2**32 for a in v]
    for _ in range(2):
        v[0] = (v[0] + v[1] * 1664525) % 2**32
        v[1] = (v[1] + v[0] * 1664525) % 2**32
        v = [a ^ a >> 16 for a in v]
    return v


@op("rng.pcg4d", "vec4u32 -> vec4u32")
def pcg4d(v):
    v = [(a * 1664525 + 1013904223) % 2**32 for a in v]
    for last in (False, True):
        for i, j, k in ((0, 1, 3), (1, 2, 0), (2, 0, 1), (3, 1, 2)):
            v[i] = (v[i] + v[j] * v[k]) % 2**32
        if not last:
            v = [a ^ a >> 16 for a in v]
    return v


# xoshiro and xoroshiro.


@op("rng.xoshiro128_next", "vec4u32 -> vec4u32")
def xoshiro128_next(s):
    a, b, c, d = s
    t = b << 9 & M32
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= t
    return a, b, c, rotl(d, 11)


@op("rng.xoshiro128_starstar", "vec4u32 -> u32")
def xoshiro128_starstar(s):
    return rotl(s[1] * 5 % 2**32, 7) * 9


@op("rng.xoshiro128_plusplus", "vec4u32 -> u32")
def xoshiro128_plusplus(s):
    return rotl((s[0] + s[3]) % 2**32, 7) + s[0]


@op("rng.xoshiro128_plus", "vec4u32 -> u32")
def xoshiro128_plus(s):
    return s[0] + s[3]


@op("rng.xoroshiro128_next", "u128 -> u128")
def xoroshiro128_next(state):
    s0, s1 = state % 2**64, state >> 64
    s1 ^= s0
    s0 = rotl(s0, 49, 64) ^ s1 ^ s1 << 21 & M64
    return rotl(s1, 28, 64) << 64 | s0


@op("rng.xoroshiro128_plusplus", "u128 -> u64")
def xoroshiro128_plusplus(state):
    s0, s1 = state % 2**64, state >> 64
    return rotl((s0 + s1) % 2**64, 17, 64) + s0


STATES = chain(xoshiro128_next, (1, 2, 3, 4), 10)
CRATE = "the tests of the crate rand_xoshiro, from the reference code"
NUMBERS = [11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597]
sequence("rng.xoshiro128_starstar", "vec4u32 -> u32", STATES, NUMBERS, CRATE)
NUMBERS = [641, 1573767, 3222811527, 3517856514, 836907274, 4247214768, 3867114732, 1355841295, 495546011]
sequence("rng.xoshiro128_plusplus", "vec4u32 -> u32", STATES, NUMBERS, CRATE)
STATES = chain(xoroshiro128_next, 2 << 64 | 1, 6)
NUMBERS = [393217, 669327710093319, 1732421326133921491, 11394790081659126983, 9555452776773192676]
sequence("rng.xoroshiro128_plusplus", "u128 -> u64", STATES, NUMBERS, CRATE)


# xorshift.


def shifted(x, bits, *counts):
    """x ^= x << count in turn, >> where the count is negative."""
    for count in counts:
        x ^= x << count & mask(bits) if count > 0 else x >> -count
    return x


@op("rng.xorshift32", "u32 -> u32")
def xorshift32(x):
    return shifted(x, 32, 13, -17, 5)


@op("rng.xorshift64", "u64 -> u64")
def xorshift64(x):
    return shifted(x, 64, 13, -7, 17)


@op("rng.xorshift64_star_next", "u64 -> u64")
def xorshift64_star_next(x):
    return shifted(x, 64, -12, 25, -27)


@op("rng.xorshift64_star_output", "u64 -> u64")
def xorshift64_star_output(x):
    return x * 2685821657736338717


@op("rng.xorshift128", "vec4u32 -> vec4u32")
def xorshift128(s):
    return *s[1:], s[3] ^ s[3] >> 19 ^ shifted(s[0], 32, 11, -8)


MARSAGLIA = "Marsaglia, Xorshift RNGs, with the seeds given there"
STATES = [2463534242, 723471715, 2497366906, 2064144800]
sequence("rng.xorshift32", "u32 -> u32", STATES, STATES[1:], MARSAGLIA)
STATES = chain(xorshift128, (123456789, 362436069, 521288629, 88675123), 5)
assert [s[3] for s in STATES[1:]] == [3701687786, 458299110, 2500872618, 3633119408], MARSAGLIA
NUMBERS = [xorshift64_star_output(x) >> 32 & M32 for x in chain(xorshift64_star_next, 1234567, 6)[1:]]
assert NUMBERS == [3540625527, 2750739987, 4037983143, 1993361440, 3809424708], ROSETTA


# Linear generators.


@op("rng.lcg", "u32 -> u32")
def lcg(x):
    return (x * 1664525 + 1013904223) % 2**32


@op("rng.lcg_u64", "u64 -> u64")
def lcg_u64(x):
    return (x * 6364136223846793005 + 1442695040888963407) % 2**64


@op("rng.minstd", "u32 -> u32", inputs=[(2**31 - n,) for n in range(4)])
def minstd(x):
    return x * 48271 % (2**31 - 1)


@op("rng.minstd0", "u32 -> u32", inputs=[(2**31 - n,) for n in range(4)])
def minstd0(x):
    return x * 16807 % (2**31 - 1)


@op("rng.drand48_next", "u64 -> u64")
def drand48_next(x):
    return (x * 25214903917 + 11) % 2**48


@op("rng.lfsr", "u32 -> u32")
def lfsr(x):
    return x // 2 ^ (0x80200003 if x % 2 else 0)


RECIPES = [0, 0x3C6EF35F, 0x47502932, 0xD1CCF6E9, 0xAAF95334, 0x6252E503, 0x9F2EC686, 0x57FE6C2D]
sequence("rng.lcg", "u32 -> u32", RECIPES, RECIPES[1:], "Numerical Recipes, 7.1")
CPP = "the C++ standard, [rand.predef]: the 10000th number"
known("rng.minstd", "u32 -> u32", (chain(minstd, 1, 10000)[-1],), 399268537, CPP)
known("rng.minstd0", "u32 -> u32", (chain(minstd0, 1, 10000)[-1],), 1043618065, CPP)
assert [x >> 16 for x in chain(drand48_next, 42 ^ 0x5DEECE66D, 3)[1:]] == [
    -1170105035 & M32,
    234785527,
], "java.util.Random, seed 42, nextInt"


def lfsr_power(n):
    """The state of the register after n steps from 1, by squaring: a step is linear in the bits."""
    columns = [lfsr(1 << i) for i in range(32)]

    def apply(matrix, x):
        result = 0
        for i in range(32):
            result ^= matrix[i] if x >> i & 1 else 0
        return result

    x = 1
    while n:
        x = apply(columns, x) if n & 1 else x
        columns = [apply(columns, column) for column in columns]
        n >>= 1
    return x


assert lfsr_power(1000) == chain(lfsr, 1, 1001)[-1]
assert lfsr_power(2**32 - 1) == 1 and all(lfsr_power((2**32 - 1) // p) != 1 for p in (3, 5, 17, 257, 65537))


# The Mersenne Twister.


@op("rng.mt19937_seed", "u32 u32 -> u32")
def mt19937_seed(before, i):
    return (1812433253 * (before ^ before >> 30) + i) % 2**32


@op("rng.mt19937_twist", "u32 u32 u32 -> u32")
def mt19937_twist(first, second, middle):
    y = (first >> 31 << 31) + second % 2**31
    return middle ^ y // 2 ^ (0x9908B0DF if y % 2 else 0)


@op("rng.mt19937_temper", "u32 -> u32", inputs=[(1 << i,) for i in range(32)])
def mt19937_temper(x):
    x ^= x >> 11
    x ^= x << 7 & 0x9D2C5680
    x ^= x << 15 & 0xEFC60000
    return x ^ x >> 18


def inverse_bits():
    """What the single bits of a number come from: the inverse of tempering as a matrix."""
    rows = [(mt19937_temper(1 << i), 1 << i) for i in range(32)]
    for bit in range(32):
        at = next(i for i in range(bit, 32) if rows[i][0] >> bit & 1)
        rows[bit], rows[at] = rows[at], rows[bit]
        pivot = rows[bit]
        for i, (a, b) in enumerate(rows):
            if i != bit and a >> bit & 1:
                rows[i] = (a ^ pivot[0], b ^ pivot[1])
    return [b for _, b in rows]


@op("rng.mt19937_untemper", "u32 -> u32", inputs=[(1 << i,) for i in range(32)])
def mt19937_untemper(x, bits=inverse_bits()):
    result = 0
    for i in range(32):
        result ^= bits[i] if x >> i & 1 else 0
    return result


def twisted(state):
    state = list(state)
    for i in range(624):
        state[i] = mt19937_twist(state[i], state[(i + 1) % 624], state[(i + 397) % 624])
    return state


SOURCE = random.Random(7)
STATE = SOURCE.getstate()[1][:624]
assert [mt19937_temper(x) for x in twisted(STATE)] == [SOURCE.getrandbits(32) for _ in range(624)]
STATE = [5489]
for i in range(1, 624):
    STATE.append(mt19937_seed(STATE[-1], i))
for _ in range(17):
    STATE = twisted(STATE)
assert 16 * 624 < 10000 <= 17 * 624
known("rng.mt19937_temper", "u32 -> u32", (STATE[9999 - 16 * 624],), 4123659995, CPP)
known("rng.mt19937_untemper", "u32 -> u32", (4123659995,), STATE[9999 - 16 * 624], CPP)


# Philox, Threefry, Squares.


@op("rng.philox4x32_round", "vec4u32 vec2u32 -> vec4u32")
def philox4x32_round(counter, key):
    high0, low0 = divmod(counter[0] * 0xD2511F53, 2**32)
    high1, low1 = divmod(counter[2] * 0xCD9E8D57, 2**32)
    return high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0


@op("rng.philox4x32_bump", "vec2u32 -> vec2u32")
def philox4x32_bump(key):
    return (key[0] + GOLDEN32) % 2**32, (key[1] + 0xBB67AE85) % 2**32


@op("rng.philox4x32", "vec4u32 vec2u32 -> vec4u32")
def philox4x32(counter, key):
    for bumped in chain(philox4x32_bump, key, 10):
        counter = philox4x32_round(counter, bumped)
    return counter


@op("rng.philox2x32_round", "vec2u32 u32 -> vec2u32")
def philox2x32_round(counter, key):
    high, low = divmod(counter[0] * 0xD256D193, 2**32)
    return high ^ key ^ counter[1], low


@op("rng.philox2x32", "vec2u32 u32 -> vec2u32")
def philox2x32(counter, key):
    for i in range(10):
        counter = philox2x32_round(counter, (key + i * GOLDEN32) % 2**32)
    return counter


@op("rng.threefry2x32_round", "vec2u32 u32 -> vec2u32")
def threefry2x32_round(x, turn):
    a = (x[0] + x[1]) % 2**32
    return a, rotl(x[1], turn) ^ a


@op("rng.threefry4x32_round", "vec4u32 vec2u32 -> vec4u32")
def threefry4x32_round(x, turns):
    a, b = threefry2x32_round(x[:2], turns[0])
    c, d = threefry2x32_round(x[2:], turns[1])
    return a, d, c, b


TURNS2 = [13, 15, 26, 6, 17, 29, 16, 24]
TURNS4 = [(10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20)]


def threefry(counter, key, round, turns):
    count = len(key)
    keys = [*key, 0x1BD11BDA]
    for x in key:
        keys[count] ^= x
    x = [(a + b) % 2**32 for a, b in zip(counter, key)]
    for i in range(20):
        x = round(x, turns[i % 8])
        if i % 4 == 3:
            group = i // 4 + 1
            x = [(a + keys[(group + j) % (count + 1)]) % 2**32 for j, a in enumerate(x)]
            x[-1] = (x[-1] + group) % 2**32
    return x


@op("rng.threefry2x32", "vec2u32 vec2u32 -> vec2u32")
def threefry2x32(counter, key):
    return threefry(counter, key, threefry2x32_round, TURNS2)


@op("rng.threefry4x32", "vec4u32 vec4u32 -> vec4u32")
def threefry4x32(counter, key):
    return threefry(counter, key, threefry4x32_round, TURNS4)


PI = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0, 0x082EFA98, 0xEC4E6C89]
KAT = "Random123, tests/kat_vectors"
for name, counters, keys, answers in [
    ("philox4x32", 4, 2, ["6627e8d5 e169c58d bc57ac4c 9b00dbd8", "408f276d 41c83b0e a20bc7c6 6d5451fd",
                          "d16cfe09 94fdcceb 5001e420 24126ea1"]),
    ("philox2x32", 2, 1, ["ff1dae59 6cd10df2", "2c3f628b ab4fd7ad", "dd7ce038 f62a4c12"]),
    ("threefry2x32", 2, 2, ["6b200159 99ba4efe", "1cb996fc bb002be7", "c4923a9c 483df7a0"]),
    ("threefry4x32", 4, 4, ["9c6ca96a e17eae66 fc10ecd4 5256a7d8", "2a881696 57012287 f6c7446e a16a6732",
                            "59cd1dbb b8879579 86b5d00c ac8b6d84"]),
]:
    for digits, answer in zip(([0] * 8, [M32] * 8, PI), answers):
        key = digits[counters] if keys == 1 else tuple(digits[counters : counters + keys])
        kinds = "vec%du32 %s -> vec%du32" % (counters, "u32" if keys == 1 else "vec%du32" % keys, counters)
        value = tuple(int(word, 16) for word in answer.split())
        known("rng." + name, kinds, (tuple(digits[:counters]), key), value, KAT)


@op("rng.squares32", "u64 u64 -> u32", inputs=[(i, 0xC58EFD154CE32F6D) for i in range(50)])
def squares32(counter, key):
    x = y = counter * key % 2**64
    for i, add in enumerate((y, y + key, y, y + key)):
        x = (x * x + add) % 2**64
        x = x % 2**32 * 2**32 + x // 2**32
    return x % 2**32


# Ranges.


def accepts(x, n, bits):
    """Whether the fraction of x * n / 2^bits is above the 2^bits % n parts that are too many."""
    return n == 0 or x * n % 2**bits >= 2**bits % n


def fair(n, bits=8):
    """Of all x that are accepted, each number below n has the same share."""
    counts = [0] * n
    for x in range(2**bits):
        if accepts(x, n, bits):
            counts[x * n >> bits] += 1
    return min(counts) == max(counts) == 2**bits // n


assert all(fair(n) for n in range(1, 257))
SMALL = [(x, n) for n in (0, 1, 2, 3, 6, 7, 2**31 + 1, M32) for x in (0, 1, 2, 5, 2**31, M32)]
for kind, suffix, bits in (("u32", "", 32), ("u64", "_u64", 64)):
    two = "%s %s -> " % (kind, kind)
    op("rng.bounded" + suffix, two + kind, inputs=SMALL)(lambda x, n, bits=bits: x * n // 2**bits)
    op("rng.bounded_accepts" + suffix, two + "u32", inputs=SMALL)(lambda x, n, bits=bits: accepts(x, n, bits))

    def uniform(x, lo, hi, bits=bits):
        return lo + x * ((hi - lo) % 2**bits + 1) // 2**bits

    ranges = [(1, 6), (5, 5), (0, mask(bits)), (9, 8)]
    corners = [(x, *between) for x in (0, 1, M32, mask(bits)) for between in ranges]
    op("rng.uniform" + suffix, kind + " " + two + kind, inputs=corners)(uniform)


@op("rng.uniform_i32", "u32 i32 i32 -> i32", inputs=[(x, -3, 3) for x in (0, 2**31, M32)])
def uniform_i32(x, lo, hi):
    return lo + x * ((hi - lo) % 2**32 + 1) // 2**32


@op("rng.chance", "u32 u32 u32 -> u32", inputs=[(x, 1, 4) for x in (0, 2**30 - 1, 2**30, M32)])
def chance(x, part, whole):
    return x * whole // 2**32 < part


@op("rng.binomial", "u32 -> u32")
def binomial(x):
    return x.bit_count()


@op("rng.van_der_corput", "u32 -> u32")
def van_der_corput(i):
    return int(format(i, "032b")[::-1], 2)


@op("rng.golden", "u32 -> u32")
def golden(i):
    return i * 2654435769


@op("rng.owen_scramble", "u32 u32 -> u32", inputs=[(1 << i, 5) for i in range(32)])
def owen_scramble(x, seed):
    y = (van_der_corput(x) + seed) % 2**32
    for factor in (0x6C50B47C, 0xB82F1E52, 0xC7AFE638, 0x8D22F6E6):
        y ^= y * factor % 2**32
    return van_der_corput(y)
