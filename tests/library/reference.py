"""Answers of the library's ops from outside vyre: Python's integers and standard library, and
published test vectors. A family's file says for each op what it computes; `python3 answers.py`
prints lines such as `primitive.math.gcd(12, 18) = 6`, which the tests compare with what vyre gives.
"""

import itertools
import random

WIDTH = {"u32": 32, "i32": 32, "u64": 64, "u128": 128}
LANES = {"vec2u32": 2, "vec4u32": 4}
_OPS = {}
_KNOWN = []


def mask(bits):
    return (1 << bits) - 1


def array_of(kind):
    """The type of an array's elements, and how many there are: ("u32", 8) of "u32[8]"."""
    element, _, count = kind.rstrip("]").partition("[")
    return (element, int(count)) if count else None


def signed(x, bits=32):
    """The number whose low bits in two's complement are those of x."""
    x &= mask(bits)
    return x - (1 << bits) if x >> (bits - 1) else x


def edges(kind):
    """Values of a type at which mistakes show, fewer than twenty."""
    if kind == "bool":
        return [False, True]
    if array_of(kind):
        element, count = array_of(kind)
        values = [0, 1, mask(WIDTH[element]), mask(WIDTH[element] - 1)]
        return [(x,) * count for x in values] + [tuple(range(count)), (1,) + (0,) * (count - 1)]
    if kind in LANES:
        lanes = [0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678]
        rows = [[x] * LANES[kind] for x in lanes]
        rows.append([lanes[i] for i in range(LANES[kind])])
        rows.append([lanes[-1 - i] for i in range(LANES[kind])])
        return [tuple(row) for row in rows]
    width = WIDTH[kind]
    if kind == "i32":
        return [0, 1, -1, 2, -2, 7, -7, 100, -128, 255, 65535, -65536, mask(31), mask(31) - 1, -mask(31), -mask(31) - 1]
    values = [0, 1, 2, 3, 7, 10, 31, 32, 63, 64, 127, 128, 255, 0x8000, 0xFFFF, 0x10001]
    values += [0x12345678, 1 << (width - 1), mask(width - 1), mask(width) - 1, mask(width)]
    values += [mask(width) // 3, 1 << (width // 2), mask(width // 2)]
    return sorted(set(values))


def draw(kind, source):
    """A random value of a type; small ones and those with few bits come often."""
    if kind == "bool":
        return source.random() < 0.5
    if array_of(kind):
        element, count = array_of(kind)
        return tuple(draw(element, source) for _ in range(count))
    if kind in LANES:
        return tuple(draw("u32", source) for _ in range(LANES[kind]))
    width = WIDTH[kind]
    x = source.getrandbits(width) >> source.choice([0, 0, 0, source.randrange(width)])
    return signed(x, width) if kind == "i32" else x


def op(id, signature, inputs=None, where=None, count=200):
    """The function below computes the op `id` of this signature, as in "u32 u32 -> u32". It takes
    and gives Python integers, bools, and tuples for vectors; its result is reduced to the type.
    inputs: further arguments to try, a list of tuples; where: for which arguments it speaks."""

    def register(function):
        assert id not in _OPS, id
        _OPS[id] = (signature, function, inputs or [], where, count)
        return function

    return register


def known(id, signature, arguments, value, source):
    """One published answer, and where it is published."""
    assert source
    _KNOWN.append((id, signature, tuple(arguments), value))


def types(signature):
    given, gives = signature.split("->")
    return given.split(), gives.strip()


def literal(kind, value):
    if kind == "bool":
        return "true" if value else "false"
    if array_of(kind):
        return "[" + ", ".join(literal(array_of(kind)[0], x) for x in value) + "]"
    if kind in LANES:
        return kind + "(" + ", ".join(str(x & mask(32)) for x in value) + ")"
    if kind == "i32":
        return str(signed(value)) + "i32"
    return str(value & mask(WIDTH[kind])) + ("" if kind == "u32" else kind)


def line(id, signature, arguments, value):
    given, gives = types(signature)
    assert len(given) == len(arguments), (id, arguments)
    list = ", ".join(literal(kind, x) for kind, x in zip(given, arguments))
    return id + "(" + list + ") = " + literal(gives, value)


def cases(id):
    signature, _, inputs, where, count = _OPS[id]
    given, _ = types(signature)
    source = random.Random(id)
    tables = [edges(kind) for kind in given]
    total = 1
    for table in tables:
        total *= len(table)
    if total <= 600:
        chosen = list(itertools.product(*tables))
    else:
        chosen = [tuple(source.choice(table) for table in tables) for _ in range(600)]
    chosen += [tuple(draw(kind, source) for kind in given) for _ in range(count)]
    source.shuffle(chosen)  # the first ones are all kinds
    chosen = list(inputs) + chosen
    return [arguments for arguments in chosen if where is None or where(*arguments)]


def lines(prefix=""):
    """All answers whose op's id starts so, the published ones first."""
    for id, signature, arguments, value in _KNOWN:
        if id.startswith(prefix):
            yield line(id, signature, arguments, value)
    for id, (signature, function, _, _, _) in _OPS.items():
        if id.startswith(prefix):
            for arguments in dict.fromkeys(cases(id)):
                yield line(id, signature, arguments, function(*arguments))
