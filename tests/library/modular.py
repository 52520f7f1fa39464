"""modular.*: arithmetic modulo three primes, from Python's integers and pow."""

from reference import mask, op

FIELDS = (
    ("goldilocks", "u64", 64, 2**64 - 2**32 + 1),
    ("m31", "u32", 32, 2**31 - 1),
    ("babybear", "u32", 32, 15 * 2**27 + 1),
)
ROOTS = {"goldilocks": (7, 32), "babybear": (31, 27)}


def field(name, kind, bits, p):
    top = mask(bits)
    near = {c + d for c in (0, p // 2, p, 2 * p, top) for d in (-2, -1, 0, 1, 2)}
    around = sorted(x for x in near if 0 <= x <= top)
    ones = [(x,) for x in around]
    pairs = [(a, b) for a in around for b in around]
    one, two = f"{kind} -> {kind}", f"{kind} {kind} -> {kind}"
    wide, wide_bits = ("u128", 128) if bits == 64 else ("u64", 64)
    multiples = {p * k + d for k in (0, 1, 2, p - 2, p - 1, p, mask(wide_bits) // p) for d in (-1, 0, 1)}
    multiples |= {a * b for a in around for b in around} | {1 << k for k in range(wide_bits)}
    multiples |= {mask(wide_bits) - (1 << k) for k in range(wide_bits)}

    def add(what, signature, function, **more):
        op(f"modular.{name}.{what}", signature, **more)(function)

    add("reduce", one, lambda x: x % p, inputs=ones)
    add(f"reduce_{wide}", f"{wide} -> {kind}", lambda x: x % p,
        inputs=[(x,) for x in sorted(multiples) if 0 <= x <= mask(wide_bits)], count=1000)
    add("is_canonical", f"{kind} -> u32", lambda x: int(x < p), inputs=ones)
    add("from_i32", f"i32 -> {kind}", lambda x: x % p,
        inputs=[(x,) for c in (p, -p) for x in (c - 1, c, c + 1) if abs(x) < 2**31])
    add("add", two, lambda a, b: (a + b) % p, inputs=pairs)
    add("sub", two, lambda a, b: (a - b) % p, inputs=pairs)
    add("neg", one, lambda x: -x % p, inputs=ones)
    add("double", one, lambda x: 2 * x % p, inputs=ones)
    add("halve", one, lambda x: x * pow(2, -1, p) % p, inputs=ones)
    add("mul", two, lambda a, b: a * b % p, inputs=pairs, count=500)
    add("square", one, lambda x: x * x % p, inputs=ones)
    add("square_times", f"{kind} u32 -> {kind}", lambda x, n: pow(x, 2 ** min(n, 64), p),
        inputs=[(3, n) for n in range(67)])
    add("pow", two, lambda x, e: pow(x, e, p), inputs=pairs, count=50)
    add("inv", one, lambda x: pow(x, -1, p) if x % p else 0, inputs=ones, count=100)
    add("div", two, lambda a, b: a * pow(b, -1, p) % p if b % p else 0, count=50)
    if name in ROOTS:
        generator, adicity = ROOTS[name]

        def root(n):
            if n > adicity:
                return 0
            value = pow(generator, (p - 1) >> n, p)
            assert n == 0 or pow(value, 1 << (n - 1), p) == p - 1, "its order is 2^n"
            return value

        add("root_of_unity", f"u32 -> {kind}", root, inputs=[(n,) for n in range(adicity + 2)])
    if name == "babybear":
        radix = pow(2, 32, p)
        add("to_monty", one, lambda x: x * radix % p, inputs=ones)
        add("from_monty", one, lambda x: x * pow(radix, -1, p) % p, inputs=ones)
        add("mul_monty", two, lambda a, b: a * b * pow(radix, -1, p) % p, inputs=pairs, count=500)


for row in FIELDS:
    field(*row)
