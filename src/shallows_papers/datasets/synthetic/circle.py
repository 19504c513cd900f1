"""The step on the circle with the heat kernel, for which the progress of gradient descent has a closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from shallows import streams
from shallows_papers.datasets.parameter_rules import NOT_NEGATIVE, POSITIVE
from shallows_papers.datasets.synthetic.generator import Generator, points

_NEGLIGIBLE = 1e-18


@dataclass(frozen=True, eq=False)
class HeavisideCircle(Generator):
    r"""The step on the circle: +1 on [0, pi), -1 on [pi, 2 pi), at uniform angles.

    It is :math:`\frac4\pi \sum_{j\,\mathrm{odd}} \sin(jx)/j`. Its coefficients fall as 1/j and the heat kernel's
    eigenvalues as :math:`e^{-j^2 s}`, so an error :math:`\epsilon` takes about :math:`\exp(0.164\, s/\epsilon^4)` steps
    of gradient descent, where the Fourier series takes :math:`4/(\pi^2\epsilon^2)` terms.

    References
    ----------
    S. Ma and M. Belkin. Diving into the shallows. NIPS 2017, section 2.
    """

    name = "heaviside_circle"
    task = "regression"
    d = 1

    width: float = field(default=0.5, metadata=POSITIVE)  # Time s of the heat kernel
    noise: float = field(default=0.0, metadata=NOT_NEGATIVE)  # Standard deviation of normal noise on the targets

    def energies(self, j: np.ndarray) -> np.ndarray:
        r"""Return :math:`8/(\pi^2 j^2)` at odd frequencies and 0 at even ones."""
        j = np.asarray(j, dtype=np.float64)
        return np.where(j % 2 == 1, 8 / (math.pi * np.maximum(j, 1)) ** 2, 0.0)

    def energy_above(self, j: int) -> float:
        """Return 1 minus the shares of the frequencies up to `j`."""
        return 1 - float(self.energies(np.arange(j + 1)).sum())

    def truth(self, x: np.ndarray) -> np.ndarray:
        """Return the step function at the angles `x`."""
        return np.where(points(x, 1)[:, 0] % (2 * math.pi) < math.pi, 1.0, -1.0)

    def eigenvalues(self, j: np.ndarray) -> np.ndarray:
        r"""Return the eigenvalues of the heat kernel at the frequencies `j`: :math:`e^{-j^2 s}`.

        The operator is :math:`f \mapsto E[k(\cdot, x) f(x)]`. Its eigenfunctions are a sine and a cosine for each j,
        and the constant function for j = 0.
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
        r"""Return the relative :math:`L_2` error after `t` steps of gradient descent from zero.

        A step :math:`f \leftarrow f - \eta K (f - f^*)` multiplies the error at the frequency j by
        :math:`1 - \eta e^{-j^2 s}`.
        """
        if t == 0:
            return 1.0
        # Above `last`, nothing has been fitted in double precision, so the error is the whole tail.
        last = self._last_frequency(_NEGLIGIBLE / max(1.0, 2 * t * step_size))
        j = np.arange(1, last + 1)
        fitted = step_size * self.eigenvalues(j)
        with np.errstate(divide="ignore"):  # a frequency that one step fits gives log(0)
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
        return x, self._noisy(self.truth(x), chunk)
