"""The kernel matrix of all training points with the centres of a model, for products."""

from __future__ import annotations

from ... import arrays, gram
from ...arrays import Array
from ...kernels import Kernel
from ..centring import TrainingRows


class CentresMatrix:
    """The kernel matrix of the training points with the centres, as the base class uses its Gram matrix."""

    kept_fraction = 0.0

    def __init__(self, kernel: Kernel, points: Array, rows: TrainingRows, budget: int):
        self.kernel, self.points, self._rows, self._budget = kernel, points, rows, budget

    def dot(self, a: Array) -> Array:
        """``k(X, Z) @ a`` for all training points in the order of the fit, shape (n, c)."""
        xp = arrays.namespace(a)
        parts = [
            gram.cross_product(self.kernel, self._rows(batch)[:, :-2], self.points, a, budget=self._budget)
            for batch in arrays.blocks(len(self._rows), 20_000)
        ]
        return xp.concat(parts)
