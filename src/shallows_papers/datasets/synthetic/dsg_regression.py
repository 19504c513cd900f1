"""A radial wave in few dimensions, the synthetic regression problem for doubly stochastic gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from shallows import streams
from shallows_papers.datasets.parameter_rules import COUNT, NOT_NEGATIVE
from shallows_papers.datasets.synthetic.generator import Generator, points


@dataclass(frozen=True, eq=False)
class DSGRegression(Generator):
    r"""A damped radial wave with noise: :math:`y = \cos(\pi r/2)\, e^{-\pi r/10} + 0.1\,\epsilon`, :math:`r = \|x\|`.

    The points are uniform in the cube :math:`[-5, 5]^d`.

    Notes
    -----
    Dai et al. (2014) compare solvers on a synthetic regression problem that their text does not define. It refers to an
    appendix that this project does not have. This function replaces it: it is smooth and nonlinear in few dimensions,
    with noise that no solver can fit. Results on it are not comparable with the paper.

    References
    ----------
    B. Dai, B. Xie, N. He, Y. Liang, A. Raj, M.-F. Balcan and L. Song. Scalable kernel methods via doubly stochastic
    gradients. NIPS 2014, section 7.
    """

    name = "dsg_regression"
    task = "regression"

    dimension: int = field(default=2, metadata=COUNT)  # d
    noise: float = field(default=0.1, metadata=NOT_NEGATIVE)  # Standard deviation of the noise

    @property
    def d(self) -> int:
        """The dimension of the cube."""
        return self.dimension

    def truth(self, x: np.ndarray) -> np.ndarray:
        """Return the wave at `x`, without noise."""
        r = np.sqrt((points(x, self.d) ** 2).sum(axis=1))
        return np.cos(math.pi * r / 2) * np.exp(-math.pi * r / 10)

    def _numbers_per_row(self) -> int:
        return self.dimension + 2

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        x = 10 * streams.uniform(self.seed, f"{self.name}/points", chunk, (n_rows, self.d)) - 5
        return x, self._noisy(self.truth(x), chunk)
