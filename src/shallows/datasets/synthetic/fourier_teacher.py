"""A teacher whose function is a random Fourier sum: a draw from the Gaussian process of a Gaussian kernel."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from shallows import streams
from shallows.datasets.synthetic.kernel_teacher import KernelTeacher


@dataclass(frozen=True, eq=False)
class FourierTeacher(KernelTeacher):
    r"""Normal points, labelled by a random draw from the Gaussian process of a Gaussian kernel.

    The function is :math:`f(x) \propto \sum_{j=1}^m w_j \cos(\omega_j^\top x + b_j)` with normal weights, frequencies
    of the Gaussian kernel's spectral density and uniform phases, less its mean and scaled to variance 1, both in closed
    form. It is as rough as the kernel allows, so that the error falls slowly with the number of examples.

    Parameters
    ----------
    seed : int, default=0
    dimension : int
        d.
    classes : int, default=0
        0: regression. Otherwise every class has a function, and an example belongs to the one with the largest value.
    n_units : int, default=512
        m.
    bandwidth : float, optional
        Of the Gaussian kernel; by default :math:`\sqrt d`, near the median distance of two points over
        :math:`\sqrt 2`.
    noise : float, default=0.1
        Standard deviation of the noise on the target, or on the functions before the class is chosen.
    teacher_seed : int, optional
        Of the teacher alone: with one teacher, another `seed` gives another sample of the same problem.
    """

    name = "fourier_teacher"

    @functools.cached_property
    def _frequencies(self) -> np.ndarray:
        return self._drawn("frequencies", (self.d, self.n_units)) / self.sigma

    @functools.cached_property
    def _phases(self) -> np.ndarray:
        seed = self.seed if self.teacher_seed is None else self.teacher_seed
        return 2 * math.pi * streams.uniform(seed, f"{self.name}/phases", 0, (self.n_units,))

    def _units(self, x: np.ndarray) -> np.ndarray:
        return np.cos(x @ self._frequencies + self._phases)

    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        # E cos(w'x + b) = exp(-|w|^2 / 2) cos(b) for normal x; a product of two is half a sum of two.
        w, b = self._frequencies, self._phases
        squares, inner = (w**2).sum(axis=0), w.T @ w
        both = squares[:, None] + squares
        differences = np.exp(np.minimum(inner - both / 2, 0)) * np.cos(b[:, None] - b)
        sums = np.exp(np.minimum(-inner - both / 2, 0)) * np.cos(b[:, None] + b)
        return np.exp(-squares / 2) * np.cos(b), (differences + sums) / 2
