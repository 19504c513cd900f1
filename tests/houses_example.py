"""A user's own table, for tests of the comparison on such data."""

import numpy as np


def write_houses(path, n=160, spoilt=None):
    """A table with a category and a target that a straight line does not explain."""
    rng = np.random.default_rng(0)
    area, age, kind = rng.uniform(20, 200, n).round(1), rng.integers(0, 90, n), rng.integers(0, 3, n)
    price = (np.sin(area / 25) * 40 + 0.2 * age + 30 * kind + rng.normal(0, 3, n)).round(2)
    lines = [f"{a},{b},{'abc'[k]},{p}" for a, b, k, p in zip(area, age, kind, price, strict=True)]
    if spoilt:
        lines[9] = spoilt
    path.write_text("area,age,kind,price\n" + "\n".join(lines) + "\n")
    return path
