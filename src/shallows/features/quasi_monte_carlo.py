"""Fourier features with frequencies from a low-discrepancy sequence, which covers their distribution evenly."""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special
from scipy.stats import qmc

from .. import arrays, streams
from ..arrays import Array
from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers
from .fourier import FourierMap, fourier_pairs

FARTHEST = 2.0**-32
"""The smallest distance of uniform numbers from 0 and 1, where quantiles are infinite."""


def _matern(u: np.ndarray, kernel: Any) -> np.ndarray:
    spread = np.sqrt(kernel.nu / scipy.special.gammainccinv(kernel.nu, u[:, -1:]))
    return spread * scipy.special.ndtri(u[:, :-1])


QUANTILES = {
    "gaussian": (lambda u, kernel: scipy.special.ndtri(u), 0),
    # A normal vector divided by the absolute value of a normal number has the multivariate Cauchy distribution.
    "laplace": (lambda u, kernel: scipy.special.ndtri(u[:, :-1]) / scipy.special.ndtri(0.5 + 0.5 * u[:, -1:]), 1),
    "cauchy": (lambda u, kernel: np.sqrt(-2.0 * np.log1p(-u[:, -1:])) * scipy.special.ndtri(u[:, :-1]), 1),
    "matern": (_matern, 1),
    "laplace_product": (lambda u, kernel: np.tan(math.pi * (u - 0.5)), 0),
    "cauchy_product": (lambda u, kernel: -np.sign(u - 0.5) * np.log1p(-2.0 * np.abs(u - 0.5)), 0),
}
"""From uniform numbers to frequencies of bandwidth 1, and the number of additional uniform numbers of a frequency."""


@takes_numpy_integers
@dataclass(frozen=True)
class QuasiMonteCarloMap(FourierMap):
    """Fourier features whose frequencies are the quantiles of a Sobol sequence, shifted at random modulo one.

    Each frequency has the kernel's distribution, so the features are unbiased over the random shift. Together they
    cover the distribution more evenly than independent draws, so the error is smaller if d is small compared with the
    number of frequencies. Block i uses the next points of the same sequence.

    The kernel must be a key of `QUANTILES`, with at most 21,200 inputs, the largest dimension of the sequence in SciPy.
    The parameters are those of `FourierMap`, without ``orthogonal``. The shift is drawn with the seed.
    `shallows.kernel_approximation.QuasiMonteCarloFeatures` has the sources.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.orthogonal:
            raise ShallowsError("A low-discrepancy sequence has no orthogonal frequencies. Use orthogonal=False.")
        if self.kernel.name not in QUANTILES:
            raise ShallowsError(
                f"The frequencies of {self.kernel.name!r} have no quantiles here. Kernels that have them: "
                f"{', '.join(map(repr, QUANTILES))}."
            )
        if self._dimension > qmc.Sobol.MAXDIM:
            raise ShallowsError(
                f"Sobol sequences have at most {qmc.Sobol.MAXDIM:,} dimensions, and these inputs take "
                f"{self._dimension:,}. features='fourier' has no such bound."
            )

    @property
    def _dimension(self) -> int:
        return self.n_inputs + QUANTILES[self.kernel.name][1]

    def _draw(self, i: int, like: Array) -> Array:
        # Runs of the sequence are evenly spread if their length is a power of two.
        run = 1 << (self.block_size - 1).bit_length()
        sequence = qmc.Sobol(self._dimension, scramble=False)
        if i:
            sequence.fast_forward(i * run)
        shift = streams.uniform(self.seed, "shift of the sequence", 0, (self._dimension,))
        uniform = (sequence.random(run)[: self.block_size] + shift) % 1.0
        quantiles, _ = QUANTILES[self.kernel.name]
        omega = quantiles(np.clip(uniform, FARTHEST, 1.0 - FARTHEST), self.kernel) / self.kernel.bandwidth
        return arrays.contiguous(arrays.like(omega, like))


quasi_monte_carlo_frequencies = functools.partial(fourier_pairs, cls=QuasiMonteCarloMap)
