"""A new generator of data: it has its own module in ``datasets/synthetic/`` and a line in `GENERATORS` there."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from shallows import streams
from shallows_papers.datasets.parameter_rules import NOT_NEGATIVE
from shallows_papers.datasets.synthetic.generator import Generator
from shallows_papers.lazy_numpy import np


@dataclass(frozen=True, eq=False)
class TwoMoons(Generator):
    """Two half circles that reach into each other, with normal noise.

    Parameters
    ----------
    seed : int, default=0
    noise : float, default=0.1
        Standard deviation in both directions.
    """

    name = "two_moons"
    task = "classification"

    d = 2
    n_classes = 2

    noise: float = field(default=0.1, metadata=NOT_NEGATIVE)

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        angle, side = streams.uniform(self.seed, f"{self.name}/places", chunk, (n_rows, 2)).T
        y = (side < 0.5).astype(np.int64)
        x = np.column_stack([np.cos(math.pi * angle), np.sin(math.pi * angle)])
        x = np.where(y[:, None] == 0, x, [1.0, 0.5] - x)
        return x + self.noise * streams.normal(self.seed, f"{self.name}/noise", chunk, (n_rows, 2)), y
