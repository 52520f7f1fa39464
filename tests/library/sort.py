"""sort.*: Python's own sorting."""

from reference import op

for suffix, kind in (("", "u32"), ("_i32", "i32"), ("_u64", "u64"), ("_u128", "u128")):
    for n in (4, 8, 16, 32):
        backwards, alternating = tuple(range(n, 0, -1)), (0, 1) * (n // 2)
        op(
            f"sort.sort{n}{suffix}",
            f"{kind}[{n}] -> {kind}[{n}]",
            inputs=[(backwards,), (alternating,), (alternating[::-1],)],
        )(lambda x: tuple(sorted(x)))
