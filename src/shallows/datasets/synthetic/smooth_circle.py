"""A periodic function of chosen smoothness on the circle."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from shallows.datasets.parameter_rules import COUNT, POSITIVE, one_of
from shallows.datasets.synthetic.circle_function import CircleFunction
from shallows.datasets.synthetic.generator import points


@dataclass(frozen=True, eq=False)
class SmoothCircle(CircleFunction):
    r"""A periodic function of chosen smoothness: :math:`\sum_{j=1}^{J} a_j \sin(jx)`, of norm 1.

    Parameters
    ----------
    seed : int, default=0
    decay : {"exponential", "power"}, default="exponential"
        How the coefficients fall: :math:`a_j \propto e^{-rj}` (an analytic function, which gradient descent reaches) or
        :math:`j^{-r}` (a function of finitely many derivatives, which it does not).
    rate : float, default=1.0
        r.
    n_frequencies : int, default=64
        J.
    width : float, default=0.5
        Time s of the heat kernel.
    noise : float, default=0.0
        Standard deviation of normal noise on the targets.

    References
    ----------
    S. Ma and M. Belkin. Diving into the shallows. NIPS 2017, section 2, theorem 2.
    """

    name = "smooth_circle"

    decay: str = field(default="exponential", metadata=one_of("exponential", "power"))
    rate: float = field(default=1.0, metadata=POSITIVE)
    n_frequencies: int = field(default=64, metadata=COUNT)

    def energies(self, j: np.ndarray) -> np.ndarray:
        """Return the shares of the frequencies `j`, 0 above the last."""
        j = np.asarray(j)
        shares = np.append(0.0, np.append(self._coefficients() ** 2 / 2, 0.0))
        return shares[np.minimum(j, self.n_frequencies + 1)]

    def energy_above(self, j: int) -> float:
        """Return the sum of the shares above `j`."""
        return float((self._coefficients()[j:] ** 2 / 2).sum())

    def truth(self, x: np.ndarray) -> np.ndarray:
        """Return the function at the angles `x`."""
        x = points(x, 1)[:, 0]
        value = np.zeros_like(x)
        for j, coefficient in enumerate(self._coefficients(), start=1):
            value += coefficient * np.sin(j * x)
        return value

    def _coefficients(self) -> np.ndarray:
        j = np.arange(1, self.n_frequencies + 1, dtype=np.float64)
        falling = np.exp(-self.rate * (j - 1)) if self.decay == "exponential" else j**-self.rate
        return falling * math.sqrt(2 / (falling**2).sum())
