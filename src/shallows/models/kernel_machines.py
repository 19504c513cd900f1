"""Machines of one kernel that share their points: fⱼ(x) + bⱼ for each of some problems of two classes, or of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array, Device
from ..kernels import Kernel
from . import precomputed
from .centring import Centring
from .functions import KernelSum
from .kernel_checks import check_scores


@dataclass(frozen=True)
class KernelMachines:
    """fⱼ(x) + bⱼ with fⱼ(x) = Σᵢ βᵢⱼ k(x, xᵢ).

    Attributes
    ----------
    function : KernelSum
        All fⱼ, in the precision of the fit.
    intercepts : ndarray, shape (n_problems,)
    """

    function: KernelSum
    intercepts: np.ndarray

    @classmethod
    def of(
        cls, kernel: Kernel, centring: Centring, points: Array, coefficients: np.ndarray, intercepts: np.ndarray
    ) -> tuple[KernelMachines, np.ndarray]:
        """The machines on the host without the points that no machine uses, and the numbers of the others."""
        support = np.flatnonzero(coefficients.any(axis=1))
        held = arrays.to_numpy(arrays.take_rows(points, support))
        a = coefficients[support].astype(np.dtype(str(points.dtype)))
        return cls(KernelSum(precomputed.without_matrix(kernel), centring, held, a), intercepts), support

    def scores(self, X: Any, device: Device, budget: int) -> np.ndarray:
        """The outputs of all machines at checked points, float64, shape (m, n_problems)."""
        out = self.function.scores(X, device, budget)
        check_scores(out, X)
        return out.astype(np.float64) + self.intercepts
