"""Kernel values of points that a model is evaluated at after every epoch, such as a test set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..gram import Blocks


@dataclass
class CachedKernelValues:
    """Kernel values between some points of evaluation and the training points.

    Attributes
    ----------
    points : ndarray, shape (m, d)
        A copy of the points of evaluation.
    budget : int
        Bytes for the blocks of a product, which decide how the values are cut into blocks.
    blocks : dict
        The values, by the first row of each block of points; None until the points come a second time.
    """

    points: np.ndarray
    budget: int = 0
    blocks: dict[int, Blocks] | None = field(default=None)


MOST_SEEN_ONCE = 4
"""Sets of points seen once that are remembered, so that a second visit is recognised."""


class EvaluationCache:
    """Keeps the kernel values of points that are scored more than once during a fit, as a test set after every epoch.

    Scoring needs the kernel values between these points and all training points. For ten thousand points their
    computation can take longer than an epoch over a matrix that is in memory. From the second time on the values are
    kept, as far as the memory goes; scores stay the same to the bit. Points are recognised by their values, not by
    their address.

    Parameters
    ----------
    n : int
        Training points.
    itemsize : int
        Bytes of a kernel value.
    budget : int
        Bytes that may be kept.
    """

    def __init__(self, n: int, itemsize: int, budget: int):
        self.n, self.itemsize, self.left = n, itemsize, budget
        self._known: list[CachedKernelValues] = []

    def entry_for(self, X: Any, budget: int) -> CachedKernelValues | None:
        """The entry of some points, to be filled or read; None for points that are new, sparse or too many.

        Parameters
        ----------
        X : array or sparse matrix, shape (m, d)
        budget : int
            Bytes for the blocks of a product.
        """
        if not isinstance(X, np.ndarray):
            return None
        for known in self._known:
            if known.points.dtype == X.dtype and np.array_equal(known.points, X):
                needed = X.shape[0] * self.n * self.itemsize
                if known.blocks is None and self._reserve(needed):
                    known.budget, known.blocks = budget, {}
                return known if known.blocks is not None else None
        once = [known for known in self._known if known.blocks is None]
        if len(once) == MOST_SEEN_ONCE:
            self._known = [known for known in self._known if known is not once[0]]
            self.left += once[0].points.nbytes
        if self._reserve(X.nbytes):
            self._known.append(CachedKernelValues(np.array(X)))
        return None

    def _reserve(self, nbytes: int) -> bool:
        fits = nbytes <= self.left
        self.left -= nbytes if fits else 0
        return fits
