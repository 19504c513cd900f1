"""Base of the functions on the circle under the heat kernel: what gradient descent can reach, in closed form."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from shallows import streams
from shallows.datasets.parameter_rules import NOT_NEGATIVE, POSITIVE
from shallows.datasets.synthetic.generator import Generator, points

_NEGLIGIBLE = 1e-18


@dataclass(frozen=True, eq=False)
class CircleFunction(Generator):
    r"""Angles, uniform in [0, 2 pi), a function of them of norm 1, and a kernel whose eigenfunctions are sines."""

    task = "regression"
    d = 1

    width: float = field(default=0.5, metadata=POSITIVE)
    noise: float = field(default=0.0, metadata=NOT_NEGATIVE)

    @abstractmethod
    def energies(self, j: np.ndarray) -> np.ndarray:
        """Return the share of the target's squared norm that lies at the frequencies `j`."""

    @abstractmethod
    def energy_above(self, j: int) -> float:
        """Return the share of the target's squared norm that lies above the frequency `j`."""

    def eigenvalues(self, j: np.ndarray) -> np.ndarray:
        r"""Return the eigenvalues of the heat kernel at the frequencies `j`: :math:`e^{-j^2 s}`.

        They are those of the operator :math:`f \mapsto E[k(\cdot, x) f(x)]`. Each belongs to a sine and a cosine, that
        of j = 0 to the constant.
        """
        return np.exp(-self.width * np.asarray(j, dtype=np.float64) ** 2)

    def kernel(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the heat kernel between two sets of angles, as the sum of its Fourier series."""
        difference = points(x, 1) - points(z, 1).T
        value = np.ones_like(difference)
        for j in range(1, self._last_frequency(_NEGLIGIBLE) + 1):
            value += 2 * math.exp(-self.width * j**2) * np.cos(j * difference)
        return value

    def residual(self, t: float, step_size: float = 1.0) -> float:
        r"""Return the relative error in :math:`L_2` that `t` steps of gradient descent from zero leave.

        A step :math:`f \leftarrow f - \eta K (f - f^*)` multiplies what is missing at the frequency j by
        :math:`1 - \eta e^{-j^2 s}`.

        Parameters
        ----------
        t : float
            Number of steps.
        step_size : float, default=1.0
            :math:`\eta`. The largest eigenvalue is 1: the steps diverge above 2.
        """
        if t == 0:
            return 1.0
        # Beyond `last` nothing has been fitted to double precision: the tail is summed as it is.
        last = self._last_frequency(_NEGLIGIBLE / max(1.0, 2 * t * step_size))
        j = np.arange(1, last + 1)
        fitted = step_size * self.eigenvalues(j)
        with np.errstate(divide="ignore"):  # a frequency that one step fits: the logarithm of 0
            logarithm = np.where(fitted < 1, np.log1p(-np.minimum(fitted, 1)), np.log(np.abs(1 - fitted)))
        return math.sqrt(float(self.energies(j) @ np.exp(2 * t * logarithm)) + self.energy_above(last))

    def truncation_error(self, j: int) -> float:
        """Return the relative error of the Fourier series up to the frequency `j`."""
        return math.sqrt(self.energy_above(j))

    def _last_frequency(self, eigenvalue: float) -> int:
        return math.ceil(math.sqrt(-math.log(eigenvalue) / self.width))

    def _numbers_per_row(self) -> int:
        return 3

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        x = 2 * math.pi * streams.uniform(self.seed, f"{self.name}/angle", chunk, (n_rows, 1))
        y = self.truth(x)
        if self.noise:
            y = y + self.noise * streams.normal(self.seed, f"{self.name}/noise", chunk, (n_rows,))
        return x, y
