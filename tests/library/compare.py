"""Comparisons, from the difference of two unbounded integers."""

from reference import edges, op

# Which of the differences -1, 0 and 1 (by sign) each comparison accepts.
ACCEPTS = {"eq": (0,), "ne": (-1, 1), "lt": (-1,), "gt": (1,), "le": (-1, 0), "ge": (0, 1)}
TYPES = (("", "u32"), ("_i32", "i32"), ("_u64", "u64"), ("_u128", "u128"))


def sign(x):
    return 0 if x == 0 else x // abs(x)


def accepts(signs):
    return lambda a, b: int(sign(int(a) - int(b)) in signs)


def near(kind):
    """Neighbours at the ends of each word, where comparisons of several words go wrong."""
    values = [x for x in edges(kind) if x + 1 in edges(kind)]
    return [(x, x + 1) for x in values] + [(x + 1, x) for x in values] + [(x, x) for x in edges(kind)]


def words(kind):
    """Pairs whose words disagree about the order: the highest decides."""
    if kind not in ("u64", "u128"):
        return []
    places = range(0, 64 if kind == "u64" else 128, 32)
    pairs = [(1 << i, (1 << j) - 1) for i in places for j in places]
    return pairs + [(b, a) for a, b in pairs]


for suffix, kind in TYPES:
    pairs = near(kind) + words(kind)
    for name, signs in ACCEPTS.items():
        op("primitive.compare." + name + suffix, kind + " " + kind + " -> u32", inputs=pairs)(accepts(signs))
    op("primitive.compare.three_way" + suffix, kind + " " + kind + " -> i32", inputs=pairs)(
        lambda a, b: sign(a - b)
    )
    ranges = [(x, a, b) for a, b in pairs for x in (a, b)]
    op("primitive.compare.in_range" + suffix, " ".join([kind] * 3) + " -> u32", inputs=ranges)(
        lambda x, lo, hi: int(sorted((lo, x, hi)) == [lo, x, hi])
    )
    bits = [(1 << i,) for i in range(31 if kind == "i32" else int(kind[1:]))]
    op("primitive.compare.is_zero" + suffix, kind + " -> u32", inputs=bits)(lambda x: 1 - len({x, 0} - {0}))
    op("primitive.compare.is_nonzero" + suffix, kind + " -> u32", inputs=bits)(lambda x: len({x, 0} - {0}))

for name in ("eq", "ne"):
    op("primitive.compare." + name + "_bool", "bool bool -> u32")(accepts(ACCEPTS[name]))
