"""Normal numbers with a Gaussian kernel. The eigenfunctions are Hermite functions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from shallows import streams
from shallows_papers.datasets.parameter_rules import POSITIVE
from shallows_papers.datasets.synthetic.generator import Generator, points


@dataclass(frozen=True, eq=False)
class Gaussian1D(Generator):
    r"""Points :math:`x \sim N(0, s^2)` without targets, with the eigenpairs of a Gaussian kernel.

    With :math:`k(x, z) = \exp(-(x - z)^2 / (2 \sigma^2))`, :math:`a = 1/(4 s^2)`, :math:`b = 1/(2 \sigma^2)` and
    :math:`c = \sqrt{a^2 + 2ab}`, the operator :math:`f \mapsto E[k(\cdot, x) f(x)]` has, for i = 0, 1, ...,

    .. math::
        \lambda_i = \sqrt{\tfrac{2a}{a + b + c}} \Big(\tfrac{b}{a + b + c}\Big)^i, \qquad
        e_i(x) = \frac{(c/a)^{1/4}}{\sqrt{2^i i!}} e^{-(c - a) x^2} H_i(\sqrt{2c}\, x),

    with :math:`E[e_i(x)^2] = 1`.

    References
    ----------
    C. K. I. Williams and M. Seeger. The effect of the input density distribution on kernel-based classifiers. ICML
    2000. B. Xie, Y. Liang and L. Song. Scale up nonlinear component analysis with doubly stochastic gradients. NIPS
    2015, section 6.
    """

    name = "gaussian_1d"
    task = "none"
    d = 1

    scale: float = field(default=1.0, metadata=POSITIVE)  # Standard deviation s of the points
    # :math:`\sigma` of the kernel. Xie et al. (2015) give neither number. With these two, the first eigenvalues are
    # 0.39, 0.24 and 0.15, which are well separated.
    bandwidth: float = field(default=0.5, metadata=POSITIVE)

    def eigenvalues(self, k: int) -> np.ndarray:
        """Return the `k` largest eigenvalues, descending. The sum over all eigenvalues is 1."""
        a, b, c = self._constants()
        return math.sqrt(2 * a / (a + b + c)) * (b / (a + b + c)) ** np.arange(k)

    def eigenfunctions(self, x: np.ndarray, k: int) -> np.ndarray:
        """Return the first `k` eigenfunctions at `x`, shape (n, k)."""
        a, _, c = self._constants()
        x = points(x, 1)[:, 0]
        z = math.sqrt(2 * c) * x
        # The recursion for the Hermite polynomials divided by sqrt(2^i i!) has no overflow and no cancellation.
        e = np.empty((len(x), max(k, 1)))
        e[:, 0] = (c / a) ** 0.25 * np.exp(-(c - a) * x**2)
        if k > 1:
            e[:, 1] = math.sqrt(2) * z * e[:, 0]
        for i in range(2, k):
            e[:, i] = math.sqrt(2 / i) * z * e[:, i - 1] - math.sqrt((i - 1) / i) * e[:, i - 2]
        return e[:, :k]

    def kernel(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the kernel matrix of two sets of points."""
        return np.exp(-((points(x, 1) - points(z, 1).T) ** 2) / (2 * self.bandwidth**2))

    def _constants(self) -> tuple[float, float, float]:
        a, b = 1 / (4 * self.scale**2), 1 / (2 * self.bandwidth**2)
        return a, b, math.sqrt(a**2 + 2 * a * b)

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        x = self.scale * streams.normal(self.seed, self.name, chunk, (n_rows, 1))
        return x, np.empty((n_rows, 0))
