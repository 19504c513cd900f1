"""Uniform points in a cube, to study the spectra of kernels on a compact domain of any dimension."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shallows import streams
from shallows_papers.datasets.parameter_rules import COUNT
from shallows_papers.datasets.synthetic.generator import Generator


@dataclass(frozen=True, eq=False)
class UniformCube(Generator):
    """Points without targets, uniform in [0, 1)^d."""

    name = "uniform_cube"
    task = "none"

    dimension: int = field(default=2, metadata=COUNT)  # Features d

    @property
    def d(self) -> int:
        """The dimension."""
        return self.dimension

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        return streams.uniform(self.seed, self.name, chunk, (n_rows, self.dimension)), np.empty((n_rows, 0))
