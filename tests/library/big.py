"""u256.* and u512.*: numbers of many words, from Python's integers."""

from reference import mask, op

SPECIAL = [
    2**255 - 19,  # curve25519
    2**256 - 2**224 + 2**192 + 2**96 - 1,  # P-256
    2**256 - 2**32 - 977,  # secp256k1
    3,
    2**64 + 1,
]


def number(words):
    return sum(word << (32 * i) for i, word in enumerate(words))


def table(bits):
    count, kind = bits // 32, f"u32[{bits // 32}]"

    def words(x, length=count):
        return tuple(x >> (32 * i) & mask(32) for i in range(length))

    def add(name, takes, gives, function, inputs=(), where=None, count=40):
        """takes: a letter for each parameter, `n` for a number of many words and `w` for a word."""
        signature = " ".join({"n": kind, "w": "u32"}[t] for t in takes) + " -> " + gives

        def plain(arguments):
            return [number(x) if isinstance(x, tuple) else x for x in arguments]

        def answer(*arguments):
            result = function(*plain(arguments))
            if gives == "u32":
                return result
            return words(result, int(gives[4:-1]))

        tried = [tuple(words(x) if t == "n" else x for t, x in zip(takes, row)) for row in inputs]
        op(
            f"u{bits}.{name}",
            signature,
            inputs=tried,
            where=where and (lambda *arguments: where(*plain(arguments))),
            count=count,
        )(answer)

    top = mask(bits)
    pairs = [(top, 1), (top, top), (1 << (bits - 1), 1 << (bits - 1)), (5, 7), (mask(32), 1), (7, 5)]
    counts = [(top // 3 << 5 & top, n) for n in (0, 1, 31, 32, 33, 63, 64, 100, bits // 2, bits - 1, bits, bits + 5)]
    add("add", "nn", kind, lambda a, b: a + b, pairs)
    add("sub", "nn", kind, lambda a, b: a - b, pairs)
    add("lt", "nn", "u32", lambda a, b: int(a < b), pairs)
    add("eq", "nn", "u32", lambda a, b: int(a == b), pairs + [(9 << 77, 9 << 77)])
    add("shl", "nw", kind, lambda x, n: x << n % bits, counts)
    add("shr", "nw", kind, lambda x, n: x >> n % bits, counts)
    add("bit_length", "n", "u32", lambda x: x.bit_length(), [(1 << n,) for n in range(0, bits, 13)])
    add("mul", "nn", kind, lambda a, b: a * b, pairs)
    add("mul_wide", "nn", f"u32[{2 * count}]", lambda a, b: a * b, pairs)

    # Modular ones: of any three numbers, those that the op speaks about.
    moduli = SPECIAL + [top, top - 2, (1 << (bits - 1)) + 1, 10**40 + 1]
    rows = [(a % m, b % m, m) for m in moduli for a, b in ((0, 1), (top // 7, top // 3), (m - 1, m - 1), (m - 1, 1))]
    one = pow(2, bits)

    def below(a, b, m):
        return a < m and b < m

    def inverse(m):
        return -pow(m, -1, 1 << 32) & mask(32)

    add("addmod", "nnn", kind, lambda a, b, m: (a + b) % m, rows, below)
    add("submod", "nnn", kind, lambda a, b, m: (a - b) % m, rows, below)
    add("mulmod", "nnn", kind, lambda a, b, m: a * b % m, rows, lambda a, b, m: below(a, b, m) and m % 2 == 1, 2)
    add("reduce", "nwn", kind, lambda x, carry, m: (x + (carry << bits)) % m,
        [((a + b) & top, a + b >> bits, m) for a, b, m in rows],
        lambda x, carry, m: x + (carry << bits) < 2 * m)
    add("monty_inverse", "n", "u32", inverse, [(m,) for m in moduli], lambda m: m % 2 == 1)
    odd = [row for row in rows if row[2] % 2 == 1]
    add("mul_monty", "nnnw", kind, lambda a, b, m, _: a * b * pow(one, -1, m) % m,
        [(*row, inverse(row[2])) for row in odd],
        lambda a, b, m, i: m % 2 == 1 and below(a, b, m) and i == inverse(m))
    add("to_monty", "nn", kind, lambda x, m: x * one % m, [(b, m) for _, b, m in rows], lambda x, m: x < m, 4)
    add("from_monty", "nnw", kind, lambda x, m, _: x * pow(one, -1, m) % m,
        [(b, m, inverse(m)) for _, b, m in odd],
        lambda x, m, i: m % 2 == 1 and x < m and i == inverse(m))
    # Only these, as each takes a thousand products.
    powers = [(3, 0, 7), (0, 5, 9), (2, SPECIAL[0] - 1, SPECIAL[0]), (3, 0x10001, top), (top // 7, top // 3, top - 2)]
    add("powmod", "nnn", kind, pow, powers, lambda *row: tuple(row) in powers)


table(256)
table(512)
