"""packed.*: small lanes in a word, from struct and Python's integers, lane by lane."""

import struct

from reference import op, signed


def lanes(x, code):
    """The lanes of a word: code "B" for bytes, "b" for signed ones, "H" and "h" for halves."""
    return struct.unpack("<" + code * (4 // struct.calcsize(code)), struct.pack("<I", x))


def word(values, bits):
    return sum((x & ((1 << bits) - 1)) << (bits * i) for i, x in enumerate(values))


def lane_by_lane(code, bits, function):
    def both(a, b):
        return word([function(x, y) for x, y in zip(lanes(a, code), lanes(b, code))], bits)

    return both


def clamp(x, low, high):
    return max(low, min(x, high))


EDGES = (0x00000000, 0x01010101, 0x7F7F7F7F, 0x80808080, 0xFFFFFFFF, 0x00FF807F, 0x7F80FF00,
         0x8000FFFF, 0xFFFF7FFF, 0x01FE0001)
PAIRS = [(a, b) for a in EDGES for b in EDGES]
TWO = "u32 u32 -> u32"

for group, code, bits in (("u8x4", "B", 8), ("u16x2", "H", 16)):
    top = (1 << bits) - 1
    count = 32 // bits
    for name, function in (
        ("add", lambda x, y: x + y),
        ("sub", lambda x, y: x - y),
        ("add_sat", lambda x, y, top=top: min(x + y, top)),
        ("sub_sat", lambda x, y: max(x - y, 0)),
        ("eq", lambda x, y, top=top: top if x == y else 0),
        ("lt", lambda x, y, top=top: top if x < y else 0),
        ("min", min),
        ("max", max),
        ("abs_diff", lambda x, y: abs(x - y)),
        ("avg_floor", lambda x, y: (x + y) // 2),
        ("avg_ceil", lambda x, y: (x + y + 1) // 2),
    ):
        op(f"packed.{group}.{name}", TWO, inputs=PAIRS, count=1000)(lane_by_lane(code, bits, function))

    def each(x, n, function, code=code, bits=bits):
        return word([function(lane, n % bits) for lane in lanes(x, code)], bits)

    counted = [(x, n) for x in EDGES for n in range(18)]
    op(f"packed.{group}.shl", TWO, counted)(lambda x, n, each=each: each(x, n, lambda lane, k: lane << k))
    op(f"packed.{group}.shr", TWO, counted)(lambda x, n, each=each: each(x, n, lambda lane, k: lane >> k))
    op(f"packed.{group}.splat", "u32 -> u32")(lambda x, n=count, bits=bits: word([x] * n, bits))
    op(f"packed.{group}.extract", TWO, inputs=counted)(lambda x, i, code=code, n=count: lanes(x, code)[i % n])

    def insert(x, i, value, code=code, bits=bits, n=count):
        values = list(lanes(x, code))
        values[i % n] = value
        return word(values, bits)

    op(f"packed.{group}.insert", "u32 u32 u32 -> u32")(insert)
    op(f"packed.{group}.sum", "u32 -> u32", [(x,) for x in EDGES])(lambda x, code=code: sum(lanes(x, code)))


def dot(a, b, code):
    return sum(x * y for x, y in zip(lanes(a, code), lanes(b, code)))


TRIPLES = [(a, b, c) for a, b in PAIRS for c in (0, 1)]
op("packed.u8x4.pack", "u32 u32 u32 u32 -> u32")(lambda *values: word(values, 8))
op("packed.u8x4.unpack", "u32 -> vec4u32")(lambda x: lanes(x, "B"))
op("packed.u8x4.dot", TWO, inputs=PAIRS)(lambda a, b: dot(a, b, "B"))
op("packed.u8x4.dot_add", "u32 u32 u32 -> u32", inputs=TRIPLES)(lambda a, b, c: c + dot(a, b, "B"))
op("packed.u8x4.sad", TWO, inputs=PAIRS)(
    lambda a, b: sum(abs(x - y) for x, y in zip(lanes(a, "B"), lanes(b, "B"))))
op("packed.u8x4.top_bits", "u32 -> u32", inputs=[(x,) for x in EDGES])(
    lambda x: sum((lane >= 128) << i for i, lane in enumerate(lanes(x, "B"))))
op("packed.i8x4.extract", "u32 u32 -> i32", inputs=[(x, i) for x in EDGES for i in range(5)])(
    lambda x, i: lanes(x, "b")[i % 4])
op("packed.i8x4.lt", TWO, inputs=PAIRS)(lane_by_lane("b", 8, lambda x, y: 255 if x < y else 0))
op("packed.i8x4.min", TWO, inputs=PAIRS)(lane_by_lane("b", 8, min))
op("packed.i8x4.max", TWO, inputs=PAIRS)(lane_by_lane("b", 8, max))
op("packed.i8x4.add_sat", TWO, inputs=PAIRS, count=1000)(
    lane_by_lane("b", 8, lambda x, y: clamp(x + y, -128, 127)))
op("packed.dot_i8x4", "u32 u32 i32 -> i32", inputs=TRIPLES)(lambda a, b, c: signed(c + dot(a, b, "b")))
op("packed.u16x2.pack", TWO)(lambda *values: word(values, 16))
op("packed.u16x2.unpack", "u32 -> vec2u32")(lambda x: lanes(x, "H"))
op("packed.u16x2.dot", TWO, inputs=PAIRS)(lambda a, b: dot(a, b, "H"))
op("packed.u16x2.swap", "u32 -> u32")(lambda x: word(lanes(x, "H")[::-1], 16))
op("packed.dot_i16x2", "u32 u32 i32 -> i32", inputs=TRIPLES)(lambda a, b, c: signed(c + dot(a, b, "h")))
