"""The step function on the circle: its Fourier coefficients fall slowly, so gradient descent hardly fits it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shallows.datasets.synthetic.circle_function import CircleFunction
from shallows.datasets.synthetic.generator import points


@dataclass(frozen=True, eq=False)
class HeavisideCircle(CircleFunction):
    r"""The step on the circle: +1 on [0, pi), -1 on [pi, 2 pi).

    It is :math:`\frac4\pi \sum_{j\,\mathrm{odd}} \sin(jx)/j`. Its coefficients fall as 1/j and the heat kernel's
    eigenvalues as :math:`e^{-j^2 s}`, so an error :math:`\epsilon` takes about :math:`\exp(0.164\, s/\epsilon^4)` steps
    of gradient descent, where the Fourier series takes :math:`4/(\pi^2\epsilon^2)` terms.

    Parameters
    ----------
    seed : int, default=0
    width : float, default=0.5
        Time s of the heat kernel.
    noise : float, default=0.0
        Standard deviation of normal noise on the targets.

    References
    ----------
    S. Ma and M. Belkin. Diving into the shallows. NIPS 2017, section 2.
    """

    name = "heaviside_circle"

    def energies(self, j: np.ndarray) -> np.ndarray:
        r"""Return :math:`8/(\pi^2 j^2)` at odd frequencies and 0 at even ones."""
        j = np.asarray(j, dtype=np.float64)
        return np.where(j % 2 == 1, 8 / (math.pi * np.maximum(j, 1)) ** 2, 0.0)

    def energy_above(self, j: int) -> float:
        """Return what the frequencies up to `j` leave of 1."""
        return 1 - float(self.energies(np.arange(j + 1)).sum())

    def truth(self, x: np.ndarray) -> np.ndarray:
        """Return the step at the angles `x`."""
        return np.where(points(x, 1)[:, 0] % (2 * math.pi) < math.pi, 1.0, -1.0)
