"""The heat kernel on the circle, whose spectrum is known in closed form."""

import math
from dataclasses import dataclass

from .. import arrays
from ..arrays import Array
from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers
from .base import Kernel, check_positive, in_strips


@takes_numpy_integers
@dataclass(frozen=True)
class HeatCircle(Kernel):
    """(1/2π) (1 + 2 Σⱼ exp(−j² s) cos j(x − z)) for angles x and z.

    Its integral operator on [0, 2π) has the eigenvalues exp(−j² s), each twice except the first, with the Fourier basis
    as eigenfunctions (Ma and Belkin 2017, section 2). The values are exact up to rounding: for s > 1 by the cosines,
    otherwise by the other series of the theta function, Gaussians (4πs)^(−½) exp(−(x − z + 2πm)²/(4s)) wrapped around
    the circle.

    Parameters
    ----------
    time : float
        s, positive.
    """

    time: float = 0.5
    name = "heat_circle"
    shift_invariant = True

    def __post_init__(self) -> None:
        check_positive("time", self.time)

    @classmethod
    def check_inputs(cls, n_features: int) -> None:  # noqa: D102
        if n_features != 1:
            raise ShallowsError(f"The kernel 'heat_circle' takes one feature, an angle in radians, got {n_features}.")

    def left_factor(self, points: Array) -> Array:  # noqa: D102
        return points[:, :1]

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        right = others[:, :1].T

        def work(strip: slice) -> None:
            out[strip, :] = self._of_difference(left[strip, :] - right)

        return in_strips(out, work)

    def _of_difference(self, difference: Array) -> Array:
        xp = arrays.namespace(difference)
        if self.time > 1.0:
            # The first term left out is below exp(−49) of the first.
            total = xp.ones_like(difference)
            for j in range(1, 7):
                total += (2.0 * math.exp(-j * j * self.time)) * xp.cos(difference * j)
            return total / (2.0 * math.pi)
        nearest = difference - (2.0 * math.pi) * xp.round(difference / (2.0 * math.pi))
        total = xp.zeros_like(difference)
        for m in (-2, -1, 0, 1, 2):
            # The first terms left out are below exp(−61).
            shifted = nearest + 2.0 * math.pi * m
            total += xp.exp(shifted * shifted * (-0.25 / self.time))
        return total / math.sqrt(4.0 * math.pi * self.time)

    def diagonal(self, x: Array) -> Array:
        """(1/2π) Σⱼ exp(−j² s) over all integers j, shape (len(x),)."""
        return self._of_difference(arrays.namespace(x).zeros(x.shape[0], dtype=x.dtype))
