"""A teacher whose function is a sum of Gaussian kernels at random centres."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from shallows.datasets.synthetic.kernel_teacher import KernelTeacher


@dataclass(frozen=True, eq=False)
class RBFTeacher(KernelTeacher):
    r"""Normal points, labelled by a function of the Gaussian kernel's own space.

    The function is :math:`f(x) \propto \sum_{j=1}^m w_j k(x, c_j)` with normal weights and centres of the points' own
    law, less its mean and scaled to variance 1, both in closed form. Before the mean, a constant, is taken off, its
    norm in the kernel's space is finite and known (`squared_norm`), so that the error falls fast with the number of
    examples.

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
        Of the Gaussian kernel; by default :math:`\sqrt d`.
    noise : float, default=0.1
        Standard deviation of the noise on the target, or on the functions before the class is chosen.
    teacher_seed : int, optional
        Of the teacher alone: with one teacher, another `seed` gives another sample of the same problem.
    """

    name = "rbf_teacher"

    @functools.cached_property
    def centres(self) -> np.ndarray:
        """The centres, shape (n_units, d)."""
        return self._drawn("centres", (self.n_units, self.d))

    def squared_norm(self) -> np.ndarray:
        """Return the squared norm of every function in the kernel's space: one, or one a class."""
        kernel = _gaussian(self.centres, self.centres, self.sigma)
        return np.einsum("ic,ij,jc->c", self.weights, kernel, self.weights)

    def _units(self, x: np.ndarray) -> np.ndarray:
        return _gaussian(x, self.centres, self.sigma)

    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        # Integrals of Gaussians. The product of two kernels is a kernel of half the squared bandwidth about the middle
        # of their centres, times one between them of twice the squared bandwidth.
        c, s2 = self.centres, self.sigma**2
        squares = (c**2).sum(axis=1)
        means = (1 + 1 / s2) ** (-self.d / 2) * np.exp(-squares / (2 * (s2 + 1)))
        middles = (squares[:, None] + squares + 2 * c @ c.T) / 4
        between = _gaussian(c, c, math.sqrt(2) * self.sigma)
        return means, (1 + 2 / s2) ** (-self.d / 2) * np.exp(-middles / (s2 + 2)) * between


def _gaussian(x: np.ndarray, z: np.ndarray, sigma: float) -> np.ndarray:
    squared = (x**2).sum(axis=1)[:, None] + (z**2).sum(axis=1) - 2 * x @ z.T
    return np.exp(-np.maximum(squared, 0) / (2 * sigma**2))
