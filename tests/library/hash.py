"""Answers for hash.*. The steps are put together to whole algorithms here, which have to agree with
hashlib, zlib, binascii and lzma, or with the digests that their authors published.
"""

import binascii
import functools
import hashlib
import lzma
import math
import struct
import zlib

from reference import known, mask, op

M32 = mask(32)
M64 = mask(64)
FOX = b"The quick brown fox jumps over the lazy dog"
MESSAGES = [b"", b"a", b"abc", b"123456789", FOX, bytes(range(64)), bytes(range(200))]
BYTES = [(state, byte) for state in (0, 1, 0xFFFFFFFF) for byte in (0, 1, 97, 255, 256, 0xFFFFFF61)]


def rotl(x, n, bits=32):
    n %= bits
    return (x << n | x >> (bits - n)) & mask(bits)


def rotr(x, n, bits=32):
    return rotl(x, -n, bits)


def root(n, k):
    """The largest integer whose k-th power is at most n."""
    low, high = 0, 1 << (n.bit_length() // k + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**k <= n else (low, middle)
    return low


PRIMES = [n for n in range(2, 420) if all(n % d for d in range(2, math.isqrt(n) + 1))]


def words(data, size=4, order="little"):
    return [int.from_bytes(data[i : i + size], order) for i in range(0, len(data), size)]


def join(values, size=4, order="little"):
    return b"".join(x.to_bytes(size, order) for x in values)


def bytes_of(word):
    return word.to_bytes(4, "little")


def every(step, state, data):
    return functools.reduce(step, data, state)


def ends_in(id, signature, step, start, data, value, source):
    """The last step of a hash whose published value, for these bytes, is its last state."""
    known(id, signature, (every(step, start, data[:-1]), data[-1]), value, source)


# Bytewise hashes.


@op("hash.fnv1a", "u32 u32 -> u32", inputs=BYTES)
def fnv1a(state, byte):
    return (state ^ byte % 256) * 16777619 & M32


@op("hash.fnv1a_u64", "u64 u32 -> u64", inputs=BYTES)
def fnv1a_u64(state, byte):
    return (state ^ byte % 256) * 1099511628211 & M64


@op("hash.fnv1a_word", "u32 u32 -> u32")
def fnv1a_word(state, word):
    return every(fnv1a, state, bytes_of(word))


@op("hash.djb2", "u32 u32 -> u32", inputs=BYTES)
def djb2(state, byte):
    return (state << 5) + state + byte % 256


@op("hash.sdbm", "u32 u32 -> u32", inputs=BYTES)
def sdbm(state, byte):
    return byte % 256 + (state << 6) + (state << 16) - state


@op("hash.one_at_a_time", "u32 u32 -> u32", inputs=BYTES)
def one_at_a_time(state, byte):
    state = (state + byte % 256) * 1025 & M32
    return state ^ state >> 6


@op("hash.one_at_a_time_finish", "u32 -> u32")
def one_at_a_time_finish(state):
    state = state * 9 & M32
    return (state ^ state >> 11) * 32769 & M32


FNV = "the FNV test vectors of Noll"
ends_in("hash.fnv1a", "u32 u32 -> u32", fnv1a, 0x811C9DC5, b"a", 0xE40C292C, FNV)
ends_in("hash.fnv1a", "u32 u32 -> u32", fnv1a, 0x811C9DC5, b"foobar", 0xBF9CF968, FNV)
OFFSET = 0xCBF29CE484222325
ends_in("hash.fnv1a_u64", "u64 u32 -> u64", fnv1a_u64, OFFSET, b"a", 0xAF63DC4C8601EC8C, FNV)
ends_in("hash.fnv1a_u64", "u64 u32 -> u64", fnv1a_u64, OFFSET, b"foobar", 0x85944171F73967E8, FNV)
JENKINS = "Jenkins' one-at-a-time, as Wikipedia lists it"
for message, value in [(b"a", 0xCA2E9442), (FOX, 0x519E91F5)]:
    state = every(one_at_a_time, 0, message)
    known("hash.one_at_a_time_finish", "u32 -> u32", (state,), value, JENKINS)


@op("hash.polynomial", "u32 u32 u32 -> u32")
def polynomial(state, base, value):
    return state * base + value


@op("hash.polynomial_slide", "u32 u32 u32 u32 u32 -> u32")
def polynomial_slide(state, base, power, old, new):
    return state * base - old * power * base + new


@op("hash.buzhash", "u32 u32 -> u32")
def buzhash(state, value):
    return state * 2 % 2**32 + state // 2**31 ^ value


@op("hash.buzhash_slide", "u32 u32 u32 u32 -> u32", inputs=[(1, n, 0x80000001, 5) for n in range(40)])
def buzhash_slide(state, length, old, new):
    return rotl(state, 1) ^ rotl(old, length) ^ new


def windows(length=7, data=FOX):
    """Sliding has to give what hashing each window afresh gives."""
    for i in range(1, len(data) - length):
        before, after = data[i - 1 : i - 1 + length], data[i : i + length]
        poly = [every(lambda h, x: polynomial(h, 31, x), 0, w) & M32 for w in (before, after)]
        slid = polynomial_slide(poly[0], 31, 31 ** (length - 1), before[0], after[-1])
        assert slid & M32 == poly[1]
        buz = [every(buzhash, 0, w) for w in (before, after)]
        assert buzhash_slide(buz[0], length, before[0], after[-1]) == buz[1]


windows()


# Cyclic redundancy checks, by division of polynomials.


def reversed_bits(x, bits):
    return int(format(x, "0%db" % bits)[::-1], 2)


def remainder(register, data, polynomial, bits, reflected):
    """The register after the bytes: (register + data's bits * x^...) modulo the polynomial."""
    if reflected:
        register = reversed_bits(register, bits)
        data = bytes(reversed_bits(byte, 8) for byte in data)
    count = 8 * len(data)
    n = register << count ^ int.from_bytes(data, "big") << bits
    for i in reversed(range(bits, bits + count)):
        if n >> i & 1:
            n ^= (1 << bits | polynomial) << (i - bits)
    return reversed_bits(n, bits) if reflected else n


@op("hash.crc32_byte", "u32 u32 -> u32", inputs=BYTES)
def crc32_byte(register, byte):
    return zlib.crc32(bytes([byte % 256]), register ^ M32) ^ M32


@op("hash.crc32_word", "u32 u32 -> u32")
def crc32_word(register, word):
    return binascii.crc32(bytes_of(word), register ^ M32) ^ M32


@op("hash.crc32", "u32 u32 -> u32", inputs=BYTES)
def crc32(crc, byte):
    return zlib.crc32(bytes([byte % 256]), crc)


@op("hash.crc32c_byte", "u32 u32 -> u32", inputs=BYTES)
def crc32c_byte(register, byte):
    return remainder(register, bytes([byte % 256]), 0x1EDC6F41, 32, True)


@op("hash.crc32c_word", "u32 u32 -> u32")
def crc32c_word(register, word):
    return remainder(register, bytes_of(word), 0x1EDC6F41, 32, True)


@op("hash.crc32c", "u32 u32 -> u32", inputs=BYTES)
def crc32c(crc, byte):
    return crc32c_byte(crc ^ M32, byte) ^ M32


@op("hash.crc64_byte", "u64 u32 -> u64", inputs=BYTES)
def crc64_byte(register, byte):
    return remainder(register, bytes([byte % 256]), 0x42F0E1EBA9EA3693, 64, True)


@op("hash.crc16_byte", "u32 u32 -> u32", inputs=BYTES)
def crc16_byte(register, byte):
    return binascii.crc_hqx(bytes([byte % 256]), register & 0xFFFF)


@op("hash.crc8_byte", "u32 u32 -> u32", inputs=BYTES)
def crc8_byte(register, byte):
    return remainder(register & 0xFF, bytes([byte % 256]), 0x07, 8, False)


def xz_crc64(data):
    """The check of the only block of an .xz file, which stands between the block and the index."""
    file = lzma.compress(data, lzma.FORMAT_XZ, lzma.CHECK_CRC64)
    index = (int.from_bytes(file[-8:-4], "little") + 1) * 4
    return int.from_bytes(file[-12 - index - 8 : -12 - index], "little")


for message in MESSAGES[1:]:
    assert remainder(M32, message, 0x04C11DB7, 32, True) ^ M32 == zlib.crc32(message)
    assert every(crc64_byte, M64, message) ^ M64 == xz_crc64(message)
    assert remainder(0xFFFF, message, 0x1021, 16, False) == binascii.crc_hqx(message, 0xFFFF)
DIGITS = b"123456789"
CHECK = "the check value, of the digits 1 to 9, in the catalogue of parametrised CRCs"
ends_in("hash.crc32", "u32 u32 -> u32", crc32, 0, DIGITS, 0xCBF43926, CHECK)
ends_in("hash.crc32c", "u32 u32 -> u32", crc32c, 0, DIGITS, 0xE3069283, CHECK)
ends_in("hash.crc64_byte", "u64 u32 -> u64", crc64_byte, M64, DIGITS, 0x995DC9BBDF1939FA ^ M64, CHECK)
ends_in("hash.crc16_byte", "u32 u32 -> u32", crc16_byte, 0xFFFF, DIGITS, 0x29B1, CHECK)
ends_in("hash.crc16_byte", "u32 u32 -> u32", crc16_byte, 0, DIGITS, 0x31C3, CHECK)
ends_in("hash.crc8_byte", "u32 u32 -> u32", crc8_byte, 0, DIGITS, 0xF4, CHECK)
for words8, value in [([0] * 8, 0x8A9136AA), ([M32] * 8, 0x62A8AB43), (words(bytes(range(32))), 0x46DD794E)]:
    state = every(crc32c_word, M32, words8[:-1])
    known("hash.crc32c_word", "u32 u32 -> u32", (state, words8[-1]), value ^ M32, "RFC 3720, B.4")


# Sums.


def two_sums(state, value, bits, modulus):
    low = (state % 2**bits + value % 2**bits) % modulus
    return ((state >> bits) % 2**bits + low) % modulus << bits | low


@op("hash.adler32", "u32 u32 -> u32", inputs=BYTES + [(65520 << 16 | 65520, n) for n in range(256)])
def adler32(state, byte):
    return two_sums(state, byte % 256, 16, 65521)


@op("hash.adler32_word", "u32 u32 -> u32", inputs=[(65520 << 16 | 65520, n) for n in (1, 0x01000000, M32)])
def adler32_word(state, word):
    return every(adler32, state, bytes_of(word))


@op("hash.fletcher16", "u32 u32 -> u32", inputs=BYTES + [(0xFEFE, n) for n in range(256)])
def fletcher16(state, byte):
    return two_sums(state, byte % 256, 8, 255)


@op("hash.fletcher32", "u32 u32 -> u32", inputs=[(0xFFFEFFFE, n) for n in (0, 1, 2, 0xFFFE, 0xFFFF, 0x10000)])
def fletcher32(state, half):
    return two_sums(state, half % 65536, 16, 65535)


@op("hash.internet_sum", "u32 u32 -> u32", inputs=[(0xFFFF, n) for n in (0, 1, 0xFFFE, 0xFFFF, 0x10000)])
def internet_sum(a, b):
    total = a % 65536 + b % 65536
    return (total - 1) % 65535 + 1 if total else 0


for message in MESSAGES:
    assert every(adler32, 1, message) == zlib.adler32(message)
ends_in("hash.adler32", "u32 u32 -> u32", adler32, 1, b"Wikipedia", 0x11E60398, "Wikipedia, Adler-32")
FLETCHER = "Wikipedia, Fletcher's checksum"
for message, small, large in [
    (b"abcde", 0xC8F0, 0xF04FC729),
    (b"abcdef", 0x2057, 0x56502D2A),
    (b"abcdefgh", 0x0627, 0xEBE19591),
]:
    ends_in("hash.fletcher16", "u32 u32 -> u32", fletcher16, 0, message, small, FLETCHER)
    ends_in("hash.fletcher32", "u32 u32 -> u32", fletcher32, 0, words(message, 2), large, FLETCHER)
RFC1071 = [0x0001, 0xF203, 0xF4F5, 0xF6F7]
ends_in("hash.internet_sum", "u32 u32 -> u32", internet_sum, 0, RFC1071, 0xDDF2, "RFC 1071, 3")


# MurmurHash3 and xxHash.


def mix(x, bits, *steps):
    """x ^= x >> shift, then times the factor, for each pair; the last shift has none."""
    for shift, factor in steps:
        x = (x ^ x >> shift) * factor & mask(bits)
    return x


@op("hash.murmur3_scramble", "u32 -> u32")
def murmur3_scramble(word):
    return rotl(word * 0xCC9E2D51 & M32, 15) * 0x1B873593 & M32


@op("hash.murmur3_block", "u32 u32 -> u32")
def murmur3_block(state, word):
    return (rotl(state ^ murmur3_scramble(word), 13) * 5 + 0xE6546B64) & M32


@op("hash.murmur3_tail", "u32 u32 -> u32")
def murmur3_tail(state, word):
    return state ^ murmur3_scramble(word)


@op("hash.fmix32", "u32 -> u32")
def fmix32(x):
    return mix(x, 32, (16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1))


@op("hash.fmix64", "u64 -> u64")
def fmix64(x):
    return mix(x, 64, (33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53), (33, 1))


@op("hash.murmur3_finish", "u32 u32 -> u32")
def murmur3_finish(state, length):
    return fmix32(state ^ length)


MURMUR = "values of MurmurHash3_x86_32 that its ports test against"
for message, seed, value in [
    (b"", 0, 0),
    (b"", 1, 0x514E28B7),
    (b"", M32, 0x81F16F39),
    (b"test", 0, 0xBA6BD213),
    (b"Hello, world!", 0, 0xC0363E43),
    (b"Hello, world!", 0x9747B28C, 0x24884CBA),
    (FOX, 0, 0x2E4FF723),
]:
    whole = len(message) // 4 * 4
    state = every(murmur3_block, seed, words(message[:whole]))
    state = murmur3_tail(state, int.from_bytes(message[whole:], "little"))
    known("hash.murmur3_finish", "u32 u32 -> u32", (state, len(message)), value, MURMUR)
    assert murmur3_finish(state, len(message)) == value

P32 = [0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1]
P64 = [0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5]


@op("hash.xxh32_seed", "u32 -> vec4u32")
def xxh32_seed(seed):
    return [(seed + x) & M32 for x in (P32[0] + P32[1], P32[1], 0, -P32[0])]


@op("hash.xxh32_round", "u32 u32 -> u32")
def xxh32_round(acc, word):
    return rotl((acc + word * P32[1]) & M32, 13) * P32[0] & M32


@op("hash.xxh32_merge", "vec4u32 -> u32")
def xxh32_merge(acc):
    return sum(rotl(x, n) for x, n in zip(acc, (1, 7, 12, 18))) & M32


@op("hash.xxh32_word", "u32 u32 -> u32")
def xxh32_word(state, word):
    return rotl((state + word * P32[2]) & M32, 17) * P32[3] & M32


@op("hash.xxh32_byte", "u32 u32 -> u32", inputs=BYTES)
def xxh32_byte(state, byte):
    return rotl((state + byte % 256 * P32[4]) & M32, 11) * P32[0] & M32


@op("hash.xxh32_avalanche", "u32 -> u32")
def xxh32_avalanche(state):
    return mix(state, 32, (15, P32[1]), (13, P32[2]), (16, 1))


@op("hash.xxh64_round", "u64 u64 -> u64")
def xxh64_round(acc, lane):
    return rotl((acc + lane * P64[1]) & M64, 31, 64) * P64[0] & M64


@op("hash.xxh64_merge_round", "u64 u64 -> u64")
def xxh64_merge_round(state, acc):
    return ((state ^ xxh64_round(0, acc)) * P64[0] + P64[3]) & M64


@op("hash.xxh64_lane", "u64 u64 -> u64")
def xxh64_lane(state, lane):
    return (rotl(state ^ xxh64_round(0, lane), 27, 64) * P64[0] + P64[3]) & M64


@op("hash.xxh64_word", "u64 u32 -> u64")
def xxh64_word(state, word):
    return (rotl(state ^ word * P64[0] & M64, 23, 64) * P64[1] + P64[2]) & M64


@op("hash.xxh64_byte", "u64 u32 -> u64", inputs=BYTES)
def xxh64_byte(state, byte):
    return rotl(state ^ byte % 256 * P64[4] & M64, 11, 64) * P64[0] & M64


@op("hash.xxh64_avalanche", "u64 -> u64")
def xxh64_avalanche(state):
    return mix(state, 64, (33, P64[1]), (29, P64[2]), (32, 1))


def xxh32(data, seed):
    """All of xxHash32 but the avalanche."""
    accs, at = xxh32_seed(seed), len(data) // 16 * 16
    for i in range(0, at, 16):
        accs = [xxh32_round(acc, word) for acc, word in zip(accs, words(data[i : i + 16]))]
    state = (xxh32_merge(accs) if at else seed + P32[4]) + len(data) & M32
    rest = len(data) // 4 * 4
    return every(xxh32_byte, every(xxh32_word, state, words(data[at:rest])), data[rest:])


def xxh64(data, seed):
    """All of xxHash64 but the avalanche."""
    accs, at = [(seed + x) & M64 for x in (P64[0] + P64[1], P64[1], 0, -P64[0])], len(data) // 32 * 32
    for i in range(0, at, 32):
        accs = [xxh64_round(acc, lane) for acc, lane in zip(accs, words(data[i : i + 32], 8))]
    state = seed + P64[4]
    if at:
        total = sum(rotl(x, n, 64) for x, n in zip(accs, (1, 7, 12, 18))) & M64
        state = every(xxh64_merge_round, total, accs)
    state, lanes, rest = state + len(data) & M64, len(data) // 8 * 8, len(data) // 4 * 4
    state = every(xxh64_lane, state, words(data[at:lanes], 8))
    return every(xxh64_byte, every(xxh64_word, state, words(data[lanes:rest])), data[rest:])


XXHASH = "values of xxHash that its documentation and its ports give"
for message, small, large in [
    (b"", 0x02CC5D05, 0xEF46DB3751D8E999),
    (b"a", 0x550D7456, 0xD24EC4F1A98C6E5B),
    (b"abc", 0x32D153FF, 0x44BC2CF5AD770999),
    (b"Nobody inspects the spammish repetition", 0xE2293B2F, 0xFBCEA83C8A378BF1),
]:
    known("hash.xxh32_avalanche", "u32 -> u32", (xxh32(message, 0),), small, XXHASH)
    known("hash.xxh64_avalanche", "u64 -> u64", (xxh64(message, 0),), large, XXHASH)
    assert xxh32_avalanche(xxh32(message, 0)) == small and xxh64_avalanche(xxh64(message, 0)) == large


# SipHash.


@op("hash.siphash_mix", "u128 u32 -> u128")
def siphash_mix(pair, turn):
    a, b = pair & M64, pair >> 64
    a = (a + b) & M64
    return (rotl(b, turn, 64) ^ a) << 64 | a


@op("hash.siphash_mix_swap", "u128 u32 -> u128")
def siphash_mix_swap(pair, turn):
    mixed = siphash_mix(pair, turn)
    high, low = struct.unpack("<II", struct.pack("<Q", mixed & M64))
    return mixed >> 64 << 64 | high << 32 | low


def sipround(v):
    for a, b, step, turn in [
        (0, 1, siphash_mix_swap, 13),
        (2, 3, siphash_mix, 16),
        (0, 3, siphash_mix, 21),
        (2, 1, siphash_mix_swap, 17),
    ]:
        pair = step(v[b] << 64 | v[a], turn)
        v[a], v[b] = pair & M64, pair >> 64


def siphash(key, data):
    k = words(key.to_bytes(16, "little"), 8)
    v = [k[i % 2] ^ x for i, x in enumerate(words(b"somepseudorandomlygeneratedbytes", 8, "big"))]
    data += bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for word in words(data, 8):
        v[3] ^= word
        sipround(v)
        sipround(v)
        v[0] ^= word
    v[2] ^= 255
    for _ in range(4):
        sipround(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


@op("hash.siphash24", "u128 u64 -> u64")
def siphash24(key, message):
    return siphash(key, message.to_bytes(8, "little"))


KEY = int.from_bytes(bytes(range(16)), "little")
assert siphash(KEY, bytes(range(15))) == 0xA129CA6149BE45E5
assert siphash(KEY, b"") == 0x726FDB47DD0E0E31
known(
    "hash.siphash24",
    "u128 u64 -> u64",
    (KEY, 0x0706050403020100),
    0x93F5F5799A932462,
    "vectors.h of the SipHash reference code",
)


# SHA-2.

LANES = [0, M32, 0xFFFF0000, 0x0F0F0F0F, 0x33333333, 0x12345678]
TRIPLES = [(a, b, c) for a in LANES for b in LANES for c in LANES]


def choose(e, f, g):
    return e & f | ~e & g


def majority(a, b, c):
    return a & b ^ a & c ^ b & c


def parity(b, c, d):
    return b ^ c ^ d


for kind, name, bits, sigmas in [
    ("u32", "sha256", 32, [(2, 13, 22), (6, 11, 25), (7, 18, 3), (17, 19, 10)]),
    ("u64", "sha512", 64, [(28, 34, 39), (14, 18, 41), (1, 8, 7), (19, 61, 6)]),
]:

    def big(x, turns, bits=bits):
        return rotr(x, turns[0], bits) ^ rotr(x, turns[1], bits) ^ rotr(x, turns[2], bits)

    def small(x, turns, bits=bits):
        return rotr(x, turns[0], bits) ^ rotr(x, turns[1], bits) ^ x >> turns[2]

    def schedule(w16, w15, w7, w2, small=small, sigmas=sigmas):
        return small(w2, sigmas[3]) + w7 + small(w15, sigmas[2]) + w16

    three = " ".join([kind] * 3) + " -> " + kind
    op("hash.%s_ch" % name, three, inputs=TRIPLES)(choose)
    op("hash.%s_maj" % name, three, inputs=TRIPLES)(majority)
    op("hash.%s_schedule" % name, kind + " " + three)(schedule)
    one = kind + " -> " + kind
    powers = [(1 << i,) for i in range(bits)]
    op("hash.%s_big_sigma0" % name, one, inputs=powers)(lambda x, f=big, t=sigmas[0]: f(x, t))
    op("hash.%s_big_sigma1" % name, one, inputs=powers)(lambda x, f=big, t=sigmas[1]: f(x, t))
    op("hash.%s_small_sigma0" % name, one, inputs=powers)(lambda x, f=small, t=sigmas[2]: f(x, t))
    op("hash.%s_small_sigma1" % name, one, inputs=powers)(lambda x, f=small, t=sigmas[3]: f(x, t))

    def temporaries(abcd, efgh, kw, big=big, sigmas=sigmas):
        first = efgh[3] + big(efgh[0], sigmas[1]) + choose(*efgh[:3]) + kw
        return first, big(abcd[0], sigmas[0]) + majority(*abcd[:3])

    rounds = 64 if bits == 32 else 80
    constants = [root(p << 3 * bits, 3) & mask(bits) for p in PRIMES[:rounds]]

    @op("hash.%s_block" % name, f"{kind}[8] {kind}[16] -> {kind}[8]", count=20)
    def block_step(state, w, bits=bits, constants=constants, schedule=schedule, temporaries=temporaries):
        w, v = list(w), list(state)
        while len(w) < len(constants):
            w.append(schedule(w[-16], w[-15], w[-7], w[-2]) & mask(bits))
        for k, x in zip(constants, w):
            first, second = temporaries(v[:4], v[4:], k + x)
            v = [first + second & mask(bits)] + v[:3] + [v[3] + first & mask(bits)] + v[4:7]
        return [x + y & mask(bits) for x, y in zip(state, v)]

    def digest(data, bits=bits, block_step=block_step):
        """All of SHA-256 or SHA-512, with the constants from roots of primes."""
        size = bits // 8
        state = [root(p << 2 * bits, 2) & mask(bits) for p in PRIMES[:8]]
        length = 8 * len(data)
        data += b"\x80" + bytes((-len(data) - 1 - 2 * size) % (16 * size)) + length.to_bytes(2 * size, "big")
        for at in range(0, len(data), 16 * size):
            state = block_step(state, words(data[at : at + 16 * size], size, "big"))
        return join(state, size, "big")

    for message in MESSAGES:
        assert digest(message) == hashlib.new(name, message).digest()
    if bits == 32:

        @op("hash.sha256_new_a", "vec4u32 vec4u32 u32 -> u32")
        def sha256_new_a(abcd, efgh, kw, temporaries=temporaries):
            return sum(temporaries(abcd, efgh, kw))

        @op("hash.sha256_new_e", "vec4u32 vec4u32 u32 -> u32")
        def sha256_new_e(abcd, efgh, kw, temporaries=temporaries):
            return abcd[3] + temporaries(abcd, efgh, kw)[0]


@op("hash.sha256_k", "u32 -> u32", inputs=[(i,) for i in range(130)])
def sha256_k(round):
    return root(PRIMES[round % 64] << 96, 3)


@op("hash.sha512_k", "u32 -> u64", inputs=[(i,) for i in range(90)])
def sha512_k(round):
    return root(PRIMES[round] << 192, 3) if round < 80 else 0


START = [(0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A), (0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)]
FIRST = (*START, 0x61626380 + 0x428A2F98)
known("hash.sha256_new_a", "vec4u32 vec4u32 u32 -> u32", FIRST, 0x5D6AEBCD, "FIPS 180-2, B.1, t = 0")
known("hash.sha256_new_e", "vec4u32 vec4u32 u32 -> u32", FIRST, 0xFA2A4622, "FIPS 180-2, B.1, t = 0")


# SHA-1 and MD5.

LIMITS = (0, 15, 16, 19, 20, 31, 32, 39, 40, 47, 48, 59, 60, 63, 79, 80, M32)
ROUNDS = [(r, *t) for r in LIMITS for t in TRIPLES[::5]]


@op("hash.sha1_parity", "u32 u32 u32 -> u32", inputs=TRIPLES)
def sha1_parity(b, c, d):
    return parity(b, c, d)


@op("hash.sha1_f", "u32 u32 u32 u32 -> u32", inputs=ROUNDS)
def sha1_f(round, b, c, d):
    return [choose, parity, majority, parity][min(round // 20, 3)](b, c, d)


@op("hash.sha1_k", "u32 -> u32", inputs=[(i,) for i in range(82)])
def sha1_k(round):
    return root([2, 3, 5, 10][min(round // 20, 3)] << 60, 2)


@op("hash.sha1_schedule", "u32 u32 u32 u32 -> u32")
def sha1_schedule(w16, w14, w8, w3):
    return rotl(w3 ^ w8 ^ w14 ^ w16, 1)


@op("hash.sha1_new_a", "vec4u32 u32 u32 u32 -> u32", inputs=[((1, 2, 3, 4), 5, i, 6) for i in range(80)])
def sha1_new_a(abcd, e, round, word):
    return rotl(abcd[0], 5) + sha1_f(round, *abcd[1:]) + e + sha1_k(round) + word & M32


@op("hash.md5_f", "u32 u32 u32 u32 -> u32", inputs=ROUNDS)
def md5_f(round, b, c, d):
    if round < 16:
        return b & c | ~b & d
    if round < 32:
        return b & d | c & ~d
    return b ^ c ^ d if round < 48 else c ^ (b | ~d & M32)


@op("hash.md5_index", "u32 -> u32", inputs=[(i,) for i in range(70)])
def md5_index(round):
    return [round, 5 * round + 1, 3 * round + 5, 7 * round][min(round // 16, 3)] % 16


@op("hash.md5_turn", "u32 -> u32", inputs=[(i,) for i in range(130)])
def md5_turn(round):
    return [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]][round // 16 % 4][round % 4]


@op("hash.md5_k", "u32 -> u32", inputs=[(i,) for i in range(130)])
def md5_k(round):
    return int(abs(math.sin(round % 64 + 1)) * 2**32)


@op("hash.md5_new_b", "vec4u32 u32 u32 -> u32", inputs=[((1, 2, 3, 4), i, 5) for i in range(64)])
def md5_new_b(abcd, round, kw):
    total = abcd[0] + md5_f(round, *abcd[1:]) + kw
    return abcd[1] + rotl(total & M32, md5_turn(round)) & M32


@op("hash.sha1_block", "u32[5] u32[16] -> u32[5]", count=20)
def sha1_block(state, w):
    w, v = list(w), list(state)
    while len(w) < 80:
        w.append(sha1_schedule(w[-16], w[-14], w[-8], w[-3]))
    for i in range(80):
        v = [sha1_new_a(v[:4], v[4], i, w[i]), v[0], rotl(v[1], 30), v[2], v[3]]
    return [x + y & M32 for x, y in zip(state, v)]


@op("hash.md5_block", "u32[4] u32[16] -> u32[4]", count=20)
def md5_block(state, w):
    v = list(state)
    for i in range(64):
        v = [v[3], md5_new_b(v, i, md5_k(i) + w[md5_index(i)]), v[1], v[2]]
    return [x + y & M32 for x, y in zip(state, v)]


def old_digest(data, name):
    """All of SHA-1 or of MD5."""
    order = "big" if name == "sha1" else "little"
    state = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0][: 5 if name == "sha1" else 4]
    length = 8 * len(data)
    data += b"\x80" + bytes((-len(data) - 9) % 64) + length.to_bytes(8, order)
    for at in range(0, len(data), 64):
        step = sha1_block if name == "sha1" else md5_block
        state = step(state, words(data[at : at + 64], 4, order))
    return join(state, 4, order)


for message in MESSAGES:
    for name in ("sha1", "md5"):
        assert old_digest(message, name) == hashlib.new(name, message, usedforsecurity=False).digest()
known(
    "hash.sha1_new_a",
    "vec4u32 u32 u32 u32 -> u32",
    ((0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476), 0xC3D2E1F0, 0, 0x61626380),
    0x0116FC33,
    "FIPS 180-2, A.1, t = 0",
)


# BLAKE2s, BLAKE3, ChaCha, Salsa20.

QUADS = [tuple(1 << i if j == k else 0 for k in range(4)) for i in range(32) for j in range(4)]


@op("hash.blake2s_g", "vec4u32 u32 u32 -> vec4u32", inputs=[(q, 0, 0) for q in QUADS])
def blake2s_g(v, x, y):
    a, b, c, d = v
    for word, first, second in ((x, 16, 12), (y, 8, 7)):
        a = a + b + word & M32
        d = rotr(d ^ a, first)
        c = c + d & M32
        b = rotr(b ^ c, second)
    return a, b, c, d


SIGMA = [
    "0123456789abcdef ea489fd61c02b753 b8c052fdae367194 7931dcbe265a40f8 905724afe1bc683d".split(),
    "2c6a0b834d75fe19 c51fed4a0763928b db7ec13950f4862a 6fe9b308c2d714a5 a2847615fb9e3cd0".split(),
]


@op("hash.blake2s_sigma", "u32 u32 -> u32", inputs=[(r, i) for r in range(12) for i in range(17)])
def blake2s_sigma(round, i):
    return int((SIGMA[0] + SIGMA[1])[round % 10][i % 16], 16)


@op("hash.blake3_permute", "u32 -> u32", inputs=[(i,) for i in range(34)])
def blake3_permute(i):
    return [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8][i % 16]


COLUMNS = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
DIAGONALS = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
IV = [*START[0], *START[1]]


def blake_round(v, m):
    for i, place in enumerate(COLUMNS + DIAGONALS):
        for p, x in zip(place, blake2s_g([v[p] for p in place], m[2 * i], m[2 * i + 1])):
            v[p] = x


@op("hash.blake2s_block", "u32[8] u32[16] u64 u32 -> u32[8]", count=20)
def blake2s_block(h, m, length, last):
    v = [*h, *IV[:4], IV[4] ^ length & M32, IV[5] ^ length >> 32, IV[6] ^ M32 * (last != 0), IV[7]]
    for r in range(10):
        blake_round(v, [m[blake2s_sigma(r, i)] for i in range(16)])
    return [h[i] ^ v[i] ^ v[i + 8] for i in range(8)]


def blake2s(data):
    h = [IV[0] ^ 0x01010020, *IV[1:]]
    for at in range(0, max(len(data), 1), 64):
        m = words(data[at : at + 64].ljust(64, b"\0"))
        last = at + 64 >= len(data)
        h = blake2s_block(h, m, len(data) if last else at + 64, last)
    return join(h)


def blake3(data):
    """BLAKE3 of at most 64 bytes: one block that is start, end and root."""
    m = words(data.ljust(64, b"\0"))
    v = IV + IV[:4] + [0, 0, len(data), 0b1011]
    for _ in range(7):
        blake_round(v, m)
        m = [m[blake3_permute(i)] for i in range(16)]
    return join([v[i] ^ v[i + 8] for i in range(8)]).hex()


for message in MESSAGES:
    assert blake2s(message) == hashlib.blake2s(message).digest()
assert blake3(b"") == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
assert blake3(b"abc") == "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"


@op("hash.chacha_quarter_round", "vec4u32 -> vec4u32", inputs=[(q,) for q in QUADS])
def chacha_quarter_round(v):
    a, b, c, d = v
    for first, second in ((16, 12), (8, 7)):
        a = a + b & M32
        d = rotl(d ^ a, first)
        c = c + d & M32
        b = rotl(b ^ c, second)
    return a, b, c, d


@op("hash.salsa20_quarter_round", "vec4u32 -> vec4u32", inputs=[(q,) for q in QUADS])
def salsa20_quarter_round(y):
    z = list(y)
    for i, turn in zip((1, 2, 3, 0), (7, 9, 13, 18)):
        z[i] ^= rotl(z[i - 1] + z[i - 2] & M32, turn)
    return z


def permuted(block, quarter, places, rounds):
    """The block plus itself after that many double rounds of quarter rounds at these places."""
    v = list(block)
    for _ in range(rounds):
        for place in places:
            for p, x in zip(place, quarter([v[p] for p in place])):
                v[p] = x
    return [x + y & M32 for x, y in zip(block, v)]


@op("hash.chacha20_block", "u32[16] -> u32[16]", count=20)
def chacha20_block(block):
    return permuted(block, chacha_quarter_round, COLUMNS + DIAGONALS, 10)


known(
    "hash.chacha20_block",
    "u32[16] -> u32[16]",
    (words(b"expand 32-byte k" + bytes(range(32)) + bytes.fromhex("01000000000000090000004a00000000")),),
    words(
        bytes.fromhex(
            "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
            "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
        )
    ),
    "RFC 8439, 2.3.2",
)


def scrypt(password, salt):
    """scrypt with n = 2, r = 1, p = 1, which mixes with Salsa20/8."""
    salsa_places = [(0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11)]
    salsa_places += [(0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14)]

    def block_mix(b):
        x, out = b[16:], []
        for half in (b[:16], b[16:]):
            x = permuted([p ^ q for p, q in zip(x, half)], salsa20_quarter_round, salsa_places, 4)
            out += x
        return out

    x = words(hashlib.pbkdf2_hmac("sha256", password, salt, 1, 128))
    table = [x, block_mix(x)]
    x = block_mix(table[1])
    for _ in range(2):
        x = block_mix([p ^ q for p, q in zip(x, table[x[16] % 2])])
    return hashlib.pbkdf2_hmac("sha256", password, join(x), 1, 32)


assert scrypt(b"pass", b"salt") == hashlib.scrypt(b"pass", salt=b"salt", n=2, r=1, p=1, dklen=32)
known(
    "hash.chacha_quarter_round",
    "vec4u32 -> vec4u32",
    ((0x11111111, 0x01020304, 0x9B8D6F43, 0x01234567),),
    (0xEA2A92F4, 0xCB1CF8CE, 0x4581472E, 0x5881C4BB),
    "RFC 8439, 2.1.1",
)
SALSA = ("hash.salsa20_quarter_round", "vec4u32 -> vec4u32")
SPEC = "the Salsa20 specification, 3"
known(*SALSA, ((1, 0, 0, 0),), (0x08008145, 0x00000080, 0x00010200, 0x20500000), SPEC)
known(*SALSA, ((0, 1, 0, 0),), (0x88000100, 0x00000001, 0x00000200, 0x00402000), SPEC)


# Keccak.


@op("hash.keccak_parity", "u64 u64 u64 u64 u64 -> u64")
def keccak_parity(a0, a1, a2, a3, a4):
    return sum((sum(x >> i & 1 for x in (a0, a1, a2, a3, a4)) % 2) << i for i in range(64))


@op("hash.keccak_theta", "u64 u64 u64 -> u64")
def keccak_theta(lane, left, right):
    return lane ^ left ^ rotl(right, 1, 64)


def rho_offsets():
    """FIPS 202, 3.2.2."""
    offsets, x, y = {0: 0}, 1, 0
    for t in range(24):
        offsets[x + 5 * y] = (t + 1) * (t + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    return offsets


@op("hash.keccak_rho_offset", "u32 -> u32", inputs=[(i,) for i in range(32)])
def keccak_rho_offset(i, offsets=rho_offsets()):
    return offsets.get(i, 0)


@op("hash.keccak_rho", "u64 u32 -> u64", inputs=[(0x8000000000000003, i) for i in range(32)])
def keccak_rho(lane, i):
    return rotl(lane, keccak_rho_offset(i), 64)


@op("hash.keccak_pi", "u32 -> u32", inputs=[(i,) for i in range(60)])
def keccak_pi(i):
    """FIPS 202, 3.2.3, says where a lane comes from: A'[x, y] = A[x + 3y, x]."""
    return next(x + 5 * y for x in range(5) for y in range(5) if (x + 3 * y) % 5 + 5 * x == i % 25)


@op("hash.keccak_chi", "u64 u64 u64 -> u64", inputs=TRIPLES)
def keccak_chi(a, b, c):
    return a ^ (b ^ M64) & c


@op("hash.keccak_iota", "u32 -> u64", inputs=[(i,) for i in range(70)])
def keccak_iota(round):
    """FIPS 202, algorithms 5 and 6: bits from a linear feedback shift register."""
    register, constant = 1, 0
    if round >= 24:
        return 0
    for t in range(7 * round + 7):
        if t >= 7 * round:
            constant |= (register & 1) << (2 ** (t - 7 * round) - 1)
        register = register << 1 ^ (register >> 7) * 0x171
    return constant


@op("hash.keccak_f1600", "u64[25] -> u64[25]", count=20)
def keccak_f1600(a):
    for round in range(24):
        c = [keccak_parity(*a[x::5]) for x in range(5)]
        a = [keccak_theta(a[i], c[(i % 5 - 1) % 5], c[(i % 5 + 1) % 5]) for i in range(25)]
        b = [0] * 25
        for i in range(25):
            b[keccak_pi(i)] = keccak_rho(a[i], i)
        a = [keccak_chi(*(b[i - i % 5 + (i % 5 + k) % 5] for k in range(3))) for i in range(25)]
        a[0] ^= keccak_iota(round)
    return a


def sha3_256(data):
    data += b"\x06" + bytes((-len(data) - 1) % 136)
    data = data[:-1] + bytes([data[-1] | 0x80])
    a = [0] * 25
    for at in range(0, len(data), 136):
        for i, lane in enumerate(words(data[at : at + 136], 8)):
            a[i] ^= lane
        a = keccak_f1600(a)
    return join(a[:4], 8)


for message in (b"", b"abc", bytes(range(136))):
    assert sha3_256(message) == hashlib.sha3_256(message).digest()
for round, value in [(0, 1), (1, 0x8082), (2, 0x800000000000808A), (23, 0x8000000080008008)]:
    known("hash.keccak_iota", "u32 -> u64", (round,), value, "the Keccak specification summary")


# Integers.


@op("hash.lowbias32", "u32 -> u32")
def lowbias32(x):
    return mix(x, 32, (16, 0x7FEB352D), (15, 0x846CA68B), (16, 1))


@op("hash.triple32", "u32 -> u32")
def triple32(x):
    return mix(x, 32, (17, 0xED5AD4BB), (11, 0xAC4C1B51), (15, 0x31848BAB), (14, 1))


@op("hash.wang", "u32 -> u32")
def wang(x):
    x = (x ^ 61) ^ x >> 16
    x = x + (x << 3) & M32
    return mix(x, 32, (4, 0x27D4EB2D), (15, 1))


@op("hash.wang_u64", "u64 -> u64")
def wang_u64(x):
    x = (x << 21) - x - 1 & M64
    x = x ^ x >> 24
    x = x + (x << 3) + (x << 8) & M64
    x = x ^ x >> 14
    x = x + (x << 2) + (x << 4) & M64
    x = x ^ x >> 28
    return x + (x << 31)


@op("hash.jenkins", "u32 -> u32")
def jenkins(x):
    x = x * 4097 + 0x7ED55D16 & M32
    x = x ^ 0xC761C23C ^ x >> 19
    x = x * 33 + 0x165667B1 & M32
    x = (x + 0xD3A2646C ^ x << 9) & M32
    x = x * 9 + 0xFD7046C5 & M32
    return x ^ 0xB55A4F09 ^ x >> 16


@op("hash.splitmix64", "u64 -> u64")
def splitmix64(x):
    return mix(x, 64, (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


@op("hash.moremur", "u64 -> u64")
def moremur(x):
    return mix(x, 64, (27, 0x3C79AC492BA7B653), (33, 0x1C69B3F74AC4AE35), (27, 1))


for i, value in enumerate([6457827717110365317, 3203168211198807973, 9817491932198370423], 1):
    state = 1234567 + i * 0x9E3779B97F4A7C15 & M64
    known("hash.splitmix64", "u64 -> u64", (state,), value, "Rosetta Code, SplitMix64, seed 1234567")


@op("hash.fibonacci", "u32 u32 -> u32")
def fibonacci(x, bits):
    return x * 2654435769 % 2**32 // 2 ** (-bits % 32)


@op("hash.fibonacci_u64", "u64 u32 -> u64")
def fibonacci_u64(x, bits):
    return x * 11400714819323198485 % 2**64 // 2 ** (-bits % 64)


@op("hash.combine", "u32 u32 -> u32")
def combine(seed, value):
    return seed ^ (value + 0x9E3779B9 + seed * 64 + seed // 4) % 2**32


@op("hash.combine_u64", "u64 u64 -> u64")
def combine_u64(seed, value):
    return seed ^ (value + 0x9E3779B97F4A7C15 + seed * 4096 + seed // 16) % 2**64


@op("hash.probe", "u32 u32 u32 -> u32")
def probe(first, step, i):
    return first + i * (step if step % 2 else step + 1)
