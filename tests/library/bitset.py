"""bitset.*: sets of small numbers as bits, from Python's sets."""

from reference import mask, op


def members(x):
    return {i for i in range(x.bit_length()) if x >> i & 1}


def bits_of(numbers):
    return sum(1 << i for i in numbers)


def family(kind, width, suffix):
    def add(name, signature, function, **more):
        signature = signature.replace("set", kind)
        op(f"bitset.{name}{suffix}", signature, **more)(function)

    sets = [0, 1, 0b1010, mask(width), mask(width) // 3]
    sets += [1 << (width - 1), mask(width) ^ (mask(8) << 5), 0b110 << (width - 4)]
    pairs = [(s, i) for s in sets for i in [*range(width + 2), mask(32) - 1, mask(32)]]
    numbers = set(range(width))
    add("insert", "set u32 -> set", lambda s, i: bits_of((members(s) | {i}) & numbers), inputs=pairs)
    add("remove", "set u32 -> set", lambda s, i: bits_of(members(s) - {i}), inputs=pairs)
    add("toggle", "set u32 -> set", lambda s, i: bits_of((members(s) ^ {i}) & numbers), inputs=pairs)
    add("contains", "set u32 -> u32", lambda s, i: int(i in members(s)), inputs=pairs)
    add("count", "set -> u32", lambda s: len(members(s)))
    add("union", "set set -> set", lambda a, b: bits_of(members(a) | members(b)))
    add("intersect", "set set -> set", lambda a, b: bits_of(members(a) & members(b)))
    add("difference", "set set -> set", lambda a, b: bits_of(members(a) - members(b)))
    add("symmetric_difference", "set set -> set", lambda a, b: bits_of(members(a) ^ members(b)))
    add("complement", "set -> set", lambda s: bits_of(numbers - members(s)))
    add("is_subset", "set set -> u32", lambda a, b: int(members(a) <= members(b)),
        inputs=[(a & b, b) for a in sets for b in sets])
    add("is_disjoint", "set set -> u32", lambda a, b: int(members(a).isdisjoint(members(b))),
        inputs=[(a & ~b, b) for a in sets for b in sets])
    add("lowest", "set -> u32", lambda s: min(members(s), default=width))
    add("highest", "set -> u32", lambda s: max(members(s), default=width))
    add("remove_lowest", "set -> set", lambda s: bits_of(sorted(members(s))[1:]))
    add("next", "set u32 -> u32", lambda s, after: min((i for i in members(s) if i > after), default=width),
        inputs=pairs)
    add("rank", "set u32 -> u32", lambda s, i: sum(member < i for member in members(s)), inputs=pairs)
    add("select", "set u32 -> u32", lambda s, k: dict(enumerate(sorted(members(s)))).get(k, width),
        inputs=pairs)
    add("full", "u32 -> set", lambda n: bits_of(range(min(n, width))),
        inputs=[(n,) for n in range(width + 2)])
    add("from_range", "u32 u32 -> set", lambda first, last: bits_of(i for i in numbers if first <= i < last),
        inputs=[(a, b) for a in (0, 1, 5, width - 1, width) for b in range(width + 2)])


for row in (("u32", 32, ""), ("u64", 64, "_u64"), ("u128", 128, "_u128")):
    family(*row)
