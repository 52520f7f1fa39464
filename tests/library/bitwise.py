"""Bits of numbers, from strings of binary digits, Python's integers and the first terms of sequences of the
On-Line Encyclopedia of Integer Sequences (OEIS)."""

import struct

from reference import known, mask, op

TYPES = (("", "u32", 32), ("_u64", "u64", 64), ("_u128", "u128", 128))
ALL = TYPES + (("_i32", "i32", 32),)


def name(op_name, suffix=""):
    return "primitive.bitwise." + op_name + suffix


def digits(x, bits):
    """The binary digits of x, the lowest first."""
    return [int(d) for d in reversed(format(x & mask(bits), "0%db" % bits))]


def number(digit_list):
    return int("".join(str(d) for d in reversed(digit_list)) or "0", 2)


def join(table, bits):
    """The binary function of this table (for 00, 01, 10, 11), digit by digit."""
    return lambda a, b: number([table[2 * p + q] for p, q in zip(digits(a, bits), digits(b, bits))])


def shift_inputs(kind, bits):
    x = -0x5A5A5A5B if kind == "i32" else mask(bits) // 5 * 3 + 2
    return [(x, count) for count in range(bits + 2)] + [(x, mask(32)), (x, 1 << 31)]


def powers(bits):
    """Powers of two and their neighbours, for unary ops."""
    return [((1 << i) + d & mask(bits),) for i in range(bits) for d in (-1, 0, 1)]


for suffix, kind, bits in ALL:
    two = kind + " " + kind + " -> " + kind
    shift = kind + " u32 -> " + kind
    op(name("and", suffix), two)(join((0, 0, 0, 1), bits))
    op(name("or", suffix), two)(join((0, 1, 1, 1), bits))
    op(name("xor", suffix), two)(join((0, 1, 1, 0), bits))
    op(name("not", suffix), kind + " -> " + kind)(lambda x: -1 - x)
    counts = shift_inputs(kind, bits)
    op(name("shl", suffix), shift, inputs=counts)(lambda x, count, bits=bits: x * 2 ** (count % bits))
    op(name("shr", suffix), shift, inputs=counts)(lambda x, count, bits=bits: x // 2 ** (count % bits))


def rotated(x, count, bits):
    """Rotated left: as digits, the highest of them first."""
    text = format(x, "0%db" % bits)
    return int(text[count % bits :] + text[: count % bits], 2)


def bswap(x, bits):
    return int.from_bytes(x.to_bytes(bits // 8, "little"), "big")


assert struct.pack("<I", 0x11223344) == struct.pack(">I", bswap(0x11223344, 32))


def least_power(x, bits):
    return next((1 << i for i in range(bits) if 1 << i >= x), 0)


def gray_decode(x, bits):
    result = 0
    for d in format(x, "0%db" % bits):
        result = 2 * result + (int(d) ^ result & 1)
    return result


UNARY = {
    "popcount": ("u32", lambda x, bits: x.bit_count()),
    "clz": ("u32", lambda x, bits: bits - x.bit_length()),
    "ctz": ("u32", lambda x, bits: (digits(x, bits) + [1]).index(1)),
    "reverse_bits": ("T", lambda x, bits: number(digits(x, bits)[::-1])),
    "bswap": ("T", bswap),
    "isolate_lowest": ("T", lambda x, bits: 2 ** digits(x, bits).index(1) if x else 0),
    "clear_lowest": ("T", lambda x, bits: x - 2 ** digits(x, bits).index(1) if x else 0),
    "isolate_highest": ("T", lambda x, bits: 2 ** (x.bit_length() - 1) if x else 0),
    "clear_highest": ("T", lambda x, bits: x - 2 ** (x.bit_length() - 1) if x else 0),
    "parity": ("u32", lambda x, bits: sum(digits(x, bits)) % 2),
    "is_power_of_two": ("u32", lambda x, bits: int(x in [1 << i for i in range(bits)])),
    "next_power_of_two": ("T", least_power),
    "log2_floor": ("u32", lambda x, bits: max([i for i in range(bits) if 1 << i <= x], default=0)),
    "log2_ceil": ("u32", lambda x, bits: min(i for i in range(bits + 1) if 1 << i >= x)),
    "gray_encode": ("T", lambda x, bits: (x ^ 2 * x) // 2),
    "gray_decode": ("T", gray_decode),
}

for suffix, kind, bits in TYPES:
    for unary, (gives, function) in UNARY.items():
        signature = kind + " -> " + gives.replace("T", kind)
        op(name(unary, suffix), signature, inputs=powers(bits), count=100)(
            lambda x, f=function, bits=bits: f(x, bits)
        )
    counts = shift_inputs(kind, bits)
    for rotation, way in (("rotl", 1), ("rotr", -1)):
        op(name(rotation, suffix), kind + " u32 -> " + kind, inputs=counts)(
            lambda x, count, way=way, bits=bits: rotated(x, way * count, bits)
        )
    every = [(count,) for count in range(bits + 3)]
    op(name("low_mask", suffix), "u32 -> " + kind, inputs=every)(
        lambda count, bits=bits: 2 ** min(count, bits) - 1
    )
    op(name("high_mask", suffix), "u32 -> " + kind, inputs=every)(
        lambda count, bits=bits: 2**bits - 2 ** (bits - min(count, bits))
    )

op(name("popcount_sw"), "u32 -> u32", inputs=powers(32))(lambda x: x.bit_count())


def extract(x, offset, count, bits):
    return number(digits(x, bits)[offset:][:count])


def insert(x, field, offset, count, bits):
    result = digits(x, bits)
    for i, d in enumerate(digits(field, bits)[:count]):
        if offset + i < bits:
            result[offset + i] = d
    return number(result)


for suffix, kind, bits in TYPES[:2]:
    x = mask(bits) // 255 * 0xA6 + 0x1234567
    fields = [(i, c) for i in range(0, bits + 5, 3) for c in (0, 1, 5, bits, mask(32))]
    fields += [(i, bits - i + d) for i in range(0, bits, 3) for d in (-1, 0, 1)]
    op(name("extract_bits", suffix), kind + " u32 u32 -> " + kind, inputs=[(x, i, c) for i, c in fields])(
        lambda x, offset, count, bits=bits: extract(x, offset, count, bits)
    )
    op(
        name("insert_bits", suffix),
        kind + " " + kind + " u32 u32 -> " + kind,
        inputs=[(a, b, i, c) for i, c in fields for a, b in ((0, mask(bits)), (mask(bits), 0), (x, x // 3))],
    )(lambda x, field, offset, count, bits=bits: insert(x, field, offset, count, bits))


def pdep(x, into, bits):
    source = iter(digits(x, bits))
    return number([next(source) if d else 0 for d in digits(into, bits)])


def pext(x, taken, bits):
    return number([d for d, keep in zip(digits(x, bits), digits(taken, bits)) if keep])


for suffix, kind, bits in (("", "u32", 32), ("_u64", "u64", 64)):
    two = kind + " " + kind + " -> " + kind
    op(name("pdep", suffix), two)(lambda x, into, bits=bits: pdep(x, into, bits))
    op(name("pext", suffix), two)(lambda x, taken, bits=bits: pext(x, taken, bits))


def spread(x, ways, length):
    """The low digits of x, each with ways - 1 zeros above."""
    return sum(2 ** (ways * i) * d for i, d in enumerate(digits(x, 32)[:length]))


def compact(x, ways, length):
    return number(digits(x, 64)[::ways][:length])


for suffix, kind, ways, length in (
    ("", "u32", 2, 16),
    ("_u64", "u64", 2, 32),
    ("", "u32", 3, 10),
    ("_u64", "u64", 3, 21),
):
    bits = int(kind[1:])
    axes = "xyz"[:ways]
    op(name("spread%d" % ways, suffix), "u32 -> " + kind, inputs=powers(32))(
        lambda x, w=ways, n=length: spread(x, w, n)
    )
    op(name("compact%d" % ways, suffix), kind + " -> u32", inputs=powers(bits))(
        lambda x, w=ways, n=length: compact(x, w, n)
    )
    op(name("morton%d_encode" % ways, suffix), "u32 " * ways + "-> " + kind)(
        lambda *at, w=ways, n=length: sum(2**i * spread(x, w, n) for i, x in enumerate(at))
    )
    for i, axis in enumerate(axes):
        op(name("morton%d_decode_%s" % (ways, axis), suffix), kind + " -> u32", inputs=powers(bits))(
            lambda code, i=i, w=ways, n=length: compact(code // 2**i, w, n)
        )


def sequence(op_name, oeis, start, terms):
    for x, term in enumerate(terms, start):
        known(name(op_name), "u32 -> u32", (x,), term, "OEIS " + oeis)


sequence("popcount", "A000120", 0, (0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4))
sequence("popcount_sw", "A000120", 0, (0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4))
sequence("ctz", "A007814", 1, (0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 4))
sequence("parity", "A010060", 0, (0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0))
sequence("gray_encode", "A003188", 0, (0, 1, 3, 2, 6, 7, 5, 4, 12, 13, 15, 14, 10, 11, 9, 8))
sequence("gray_decode", "A006068", 0, (0, 1, 3, 2, 7, 6, 4, 5, 15, 14, 12, 13, 8, 9, 11, 10))
sequence("isolate_highest", "A053644", 0, (0, 1, 2, 2, 4, 4, 4, 4, 8))
sequence("clear_highest", "A053645", 1, (0, 0, 1, 0, 1, 2, 3, 0, 1))
sequence("log2_floor", "A000523", 1, (0, 1, 1, 2, 2, 2, 2, 3, 3))
sequence("log2_ceil", "A029837", 1, (0, 1, 2, 2, 3, 3, 3, 3, 4, 4))
sequence("spread2", "A000695", 0, (0, 1, 4, 5, 16, 17, 20, 21, 64, 65, 68, 69, 80, 81, 84, 85))
