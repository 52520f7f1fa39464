"""color.*: channels, blending and colour spaces, from Python's fractions and, for sRGB, decimal."""

import bisect
import math
import struct
from decimal import Decimal, getcontext
from fractions import Fraction

from reference import op

getcontext().prec = 50


def split(c):
    return struct.unpack("4B", struct.pack("<I", c))


def join(channels):
    return struct.unpack("<I", struct.pack("4B", *channels))[0]


def nearest(value):
    """A Fraction rounded to the nearest integer, ties up."""
    return math.floor(value + Fraction(1, 2))


def limit(x):
    return min(x, 255)


COLORS = [0, 0xFFFFFFFF, 0xFF000000, 0x00FFFFFF, 0x80808080, 0x7F7F7F7F, 0x80FF00FF, 0x01FE807F]
COLORS += [0xFE010203, 0x40302010]
ONE = [(c,) for c in COLORS]
TWO = [(a, b) for a in COLORS for b in COLORS]
TO = "u32 -> u32"
TO2 = "u32 u32 -> u32"

op("color.pack", "vec4u32 -> u32", inputs=[((1, 2, 3, 4),), ((255, 256, 257, 0),)])(
    lambda v: join(map(limit, v)))
op("color.unpack", "u32 -> vec4u32", inputs=ONE)(split)
op("color.from_rgba", "u32 u32 u32 u32 -> u32")(lambda *v: join(map(limit, v)))
for index, name in enumerate(("red", "green", "blue", "alpha")):
    op(f"color.{name}", TO, inputs=ONE)(lambda c, index=index: split(c)[index])
op("color.with_alpha", TO2)(lambda c, a: join((*split(c)[:3], limit(a))))
op("color.swap_rb", TO, inputs=ONE)(lambda c: join(split(c)[i] for i in (2, 1, 0, 3)))
op("color.invert", TO, inputs=ONE)(lambda c: join((*[255 - x for x in split(c)[:3]], split(c)[3])))
PLACES = (*range(0, 1500, 4), *range(64000, 65540, 4), *range(1500, 64000, 252))
LANES = [tuple(range(i, i + 4)) for i in PLACES]
op("color.div255", "vec4u32 -> vec4u32", inputs=[(row,) for row in LANES])(
    lambda row: tuple(nearest(Fraction(min(x, 65535), 255)) for x in row))
op("color.mul_unorm8", TO2, inputs=[(a, b) for a in range(0, 256, 5) for b in range(0, 256, 3)])(
    lambda a, b: nearest(Fraction(limit(a) * limit(b), 255)))


@op("color.multiply", TO2, inputs=TWO)
def multiply(a, b):
    return join(nearest(Fraction(x * y, 255)) for x, y in zip(split(a), split(b)))


@op("color.screen", TO2, inputs=TWO)
def screen(a, b):
    return join(nearest(x + y - Fraction(x * y, 255)) for x, y in zip(split(a), split(b)))


@op("color.lerp", "u32 u32 u32 -> u32",
    inputs=[(a, b, t) for a, b in TWO[::3] for t in (0, 1, 127, 128, 254, 255, 256)])
def lerp(a, b, t):
    part = Fraction(limit(t), 255)
    return join(nearest(x + (y - x) * part) for x, y in zip(split(a), split(b)))


FADED = [(a << 24 | c & 0xFFFFFF,) for a in range(0, 256, 3) for c in (0xFFFFFF, 0x808182, 0x7F0301)]


@op("color.premultiply", TO, inputs=FADED)
def premultiply(c):
    *rgb, a = split(c)
    return join((*[nearest(Fraction(x * a, 255)) for x in rgb], a))


@op("color.unpremultiply", TO, inputs=FADED)
def unpremultiply(c):
    *rgb, a = split(c)
    return join((*[limit(nearest(Fraction(x * 255, a))) if a else 0 for x in rgb], a))


@op("color.blend_over_premultiplied", TO2, inputs=TWO, count=500)
def blend_over_premultiplied(src, dst):
    rest = 1 - Fraction(split(src)[3], 255)
    return join(limit(nearest(x + y * rest)) for x, y in zip(split(src), split(dst)))


@op("color.blend_over", TO2, inputs=TWO, count=500)
def blend_over(src, dst):
    """Porter and Duff's operator on real numbers from 0 to 1, then back to 8 bits."""
    *above, over = [Fraction(x, 255) for x in split(src)]
    *below, under = [Fraction(x, 255) for x in split(dst)]
    alpha = over + under * (1 - over)
    if alpha == 0:
        return 0
    mixed = [(x * over + y * under * (1 - over)) / alpha for x, y in zip(above, below)]
    return join(nearest(x * 255) for x in (*mixed, alpha))


for name, weights in (("601", ("0.299", "0.587", "0.114")), ("709", ("0.2126", "0.7152", "0.0722"))):
    assert sum(map(Fraction, weights)) == 1

    def luma(c, weights=weights):
        return nearest(sum(Fraction(w) * x for w, x in zip(weights, split(c))))

    op(f"color.luma_{name}", TO, inputs=ONE, count=500)(luma)
    op(f"color.grayscale_{name}", TO, inputs=ONE)(lambda c, luma=luma: join((*[luma(c)] * 3, split(c)[3])))

LEVELS = [(x * 0x01010101,) for x in range(256)]


@op("color.to_rgb565", TO, inputs=LEVELS)
def to_rgb565(c):
    r, g, b, _ = split(c)
    r, g, b = [nearest(Fraction(x * top, 255)) for x, top in ((r, 31), (g, 63), (b, 31))]
    return r * 2048 + g * 32 + b


@op("color.from_rgb565", TO,
    inputs=[(r * 2048 + g * 32 + 31 - r,) for r in range(32) for g in (2 * r, 63 - r)])
def from_rgb565(x):
    fields = ((x >> 11 & 31, 31), (x >> 5 & 63, 63), (x & 31, 31))
    return join((*[nearest(Fraction(255 * value, top)) for value, top in fields], 255))


@op("color.from_hsv", "u32 u32 u32 -> u32",
    inputs=[(h, s, v) for h in range(0, 1600, 17) for s, v in ((255, 255), (100, 200))])
def from_hsv(h, s, v):
    """The ramps of the hexagon: a channel keeps v - v * s * (how far the hue is outside its third)."""
    hue, s, v = Fraction(h % 1530, 255), Fraction(limit(s), 255), limit(v)

    def channel(center):
        distance = abs((hue - center + 3) % 6 - 3)
        return nearest(v - v * s * max(0, min(distance - 1, 1)))

    return join((channel(0), channel(2), channel(4), 255))


def decode(x):
    """IEC 61966-2-1: linear light of an sRGB value, both from 0 to 1."""
    x = Decimal(x)
    if x <= Decimal("0.04045"):
        return x / Decimal("12.92")
    return ((x + Decimal("0.055")) / Decimal("1.055")) ** Decimal("2.4")


def encode(x):
    """IEC 61966-2-1: the sRGB value of linear light, both from 0 to 1."""
    x = Decimal(x)
    if x <= Decimal("0.0031308"):
        return x * Decimal("12.92")
    return Decimal("1.055") * x ** (1 / Decimal("2.4")) - Decimal("0.055")


# Half way between neighbours, where rounding turns; all inputs next to such a place are tried.
TURNS = [decode((Decimal(c) + Decimal("0.5")) / 255) * 65535 for c in range(255)]
AROUND = [(int(t) + d,) for t in TURNS for d in (0, 1)]


@op("color.srgb_to_linear", TO, inputs=[(c,) for c in range(256)])
def srgb_to_linear(c):
    return int(decode(Decimal(limit(c)) / 255) * 65535 + Decimal("0.5"))


@op("color.linear_to_srgb", TO, inputs=AROUND + [(x,) for x in range(0, 65536, 31)])
def linear_to_srgb(x):
    return int(encode(Decimal(min(x, 65535)) / 65535) * 255 + Decimal("0.5"))


assert all(bisect.bisect(TURNS, x) == linear_to_srgb(x) for (x,) in AROUND)
