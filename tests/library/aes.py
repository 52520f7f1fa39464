"""aes.*: the S-box from its definition, the inverse in GF(256) and an affine map; the rest on bytes in the
square of FIPS 197, whose examples are known answers.
"""

import functools
import operator

from reference import known, op


def times(a, b):
    """The product in GF(256) modulo x^8 + x^4 + x^3 + x + 1."""
    product = 0
    for i in range(8):
        product ^= (a << i) * (b >> i & 1)
    for i in range(14, 7, -1):
        product ^= (0x11B << i - 8) * (product >> i & 1)
    return product


def inverse(x):
    return next((y for y in range(256) if times(x, y) == 1), 0)


def affine(x):
    """x and its turns to the left by one to four bits, added, and 0x63."""
    return functools.reduce(operator.xor, ((x << n | x >> 8 - n) & 255 for n in range(5)), 0x63)


SBOX = [affine(inverse(x)) for x in range(256)]
assert SBOX[0x53] == 0xED, "FIPS 197, 5.1.1"


def square(words):
    """Rows of bytes; a word is a column."""
    return [[word >> 24 - 8 * r & 255 for word in words] for r in range(4)]


def columns(rows):
    return tuple(int.from_bytes(bytes(column), "big") for column in zip(*rows))


def each(function):
    return lambda word: int.from_bytes(bytes(function(b) for b in word.to_bytes(4, "big")), "big")


substitute = op("aes.substitute", "u32 -> u32", inputs=[(x * 0x01010101,) for x in range(256)])(each(SBOX.__getitem__))
op("aes.double", "u32 -> u32", inputs=[(x * 0x01010101,) for x in range(256)])(each(lambda b: times(b, 2)))


@op("aes.shift_rows", "u32[4] -> u32[4]")
def shift_rows(block):
    return columns([row[r:] + row[:r] for r, row in enumerate(square(block))])


def add_key(block, key):
    return tuple(a ^ b for a, b in zip(block, key))


def mix_columns(block):
    rows = square(block)
    mixed = [[0] * 4 for _ in range(4)]
    for r in range(4):
        for c in range(4):
            for k, factor in enumerate((2, 3, 1, 1)):
                mixed[r][c] ^= times(rows[(r + k) % 4][c], factor)
    return columns(mixed)


@op("aes.round", "u32[4] u32[4] -> u32[4]", count=40)
def round(block, key):
    return add_key(mix_columns(shift_rows(tuple(map(substitute, block)))), key)


def round_keys(key):
    words, constant = list(key), 1
    while len(words) < 4 * (len(key) + 7):
        last = words[-1]
        if len(words) % len(key) == 0:
            last = substitute((last << 8 | last >> 24) & 0xFFFFFFFF) ^ constant << 24
            constant = times(constant, 2)
        elif len(key) == 8 and len(words) % 8 == 4:
            last = substitute(last)
        words.append(words[-len(key)] ^ last)
    return tuple(words)


def encrypt(block, keys):
    block = add_key(block, keys[:4])
    for i in range(4, len(keys) - 4, 4):
        block = round(block, keys[i : i + 4])
    return add_key(shift_rows(tuple(map(substitute, block))), keys[-4:])


def words(text):
    return tuple(int(text[i : i + 8], 16) for i in range(0, len(text), 8))


PLAIN = words("00112233445566778899aabbccddeeff")
for bits, count, cipher in (
    (128, 44, "69c4e0d86a7b0430d8cdb78070b4c55a"),
    (256, 60, "8ea2b7ca516745bfeafc49904b496089"),
):
    keyed, encrypted = f"u32[{bits // 32}] -> u32[{count}]", f"u32[4] u32[{count}] -> u32[4]"
    key = words(bytes(range(bits // 8)).hex())
    op(f"aes.round_keys_{bits}", keyed, count=20)(round_keys)
    op(f"aes.encrypt_{bits}", encrypted, count=20)(encrypt)
    known(f"aes.encrypt_{bits}", encrypted, (PLAIN, round_keys(key)), words(cipher), "FIPS 197, C")
    assert encrypt(PLAIN, round_keys(key)) == words(cipher)
assert round_keys(words("2b7e151628aed2a6abf7158809cf4f3c"))[-1] == 0xB6630CA6, "FIPS 197, A.1"
