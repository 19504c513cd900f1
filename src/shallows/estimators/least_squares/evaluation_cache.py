"""Points that a model is looked at with again and again in its training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...gram import Blocks


@dataclass
class CachedKernelValues:
    """Kernel values between points that are looked at and the training points.

    Attributes
    ----------
    points : ndarray, shape (m, d)
        A copy of what is looked at.
    budget : int
        Bytes for the blocks of a product, which decide how the values are cut.
    blocks : dict
        By the first of the rows that they are computed for at a time; None where nothing is kept.
    """

    points: np.ndarray
    budget: int = 0
    blocks: dict[int, Blocks] | None = field(default=None)


REMEMBERED = 4
"""How many sets of points that were looked at once are remembered."""


class EvaluationCache:
    """Keeps the kernel values of points that are scored more than once during a fit, as a test set after every epoch.

    To score them takes the kernel values between them and all training points, which for ten thousand points can take
    longer than an epoch over a matrix that is kept. From the second time on the values are kept, as far as memory goes.
    The products are those of the first time to the bit. Points are known again by what they are, not by where they lie.

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

    def find(self, X: Any, budget: int) -> CachedKernelValues | None:
        """Where to keep, or to find, the values of some points; None where they are new, sparse or too many.

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
                if known.blocks is None and self._takes(needed):
                    known.budget, known.blocks = budget, {}
                return known if known.blocks is not None else None
        once = [known for known in self._known if known.blocks is None]
        if len(once) == REMEMBERED:
            self._known = [known for known in self._known if known is not once[0]]
            self.left += once[0].points.nbytes
        if self._takes(X.nbytes):
            self._known.append(CachedKernelValues(np.array(X)))
        return None

    def _takes(self, nbytes: int) -> bool:
        fits = nbytes <= self.left
        self.left -= nbytes if fits else 0
        return fits
