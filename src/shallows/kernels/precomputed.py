"""A kernel that is known by its matrix alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import arrays
from ..arrays import Array
from .base import Kernel


@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """k(i, j) = matrix[i, j]: the points are the numbers of rows and columns, in one feature.

    Parameters
    ----------
    matrix : array, shape (n, n), or None
        On the device and in the precision of the points. A model that is trained has coefficients and the numbers of
        their columns, and does without.
    """

    matrix: Array | None
    name = "precomputed"

    @property
    def parameters(self) -> dict[str, Any]:
        """None: the matrix is data."""
        return {}

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        rows, columns = (_numbers(points, self.matrix) for points in (left, others))
        if arrays.device_of(out) != arrays.device_of(self.matrix):
            # Parameters are chosen on the host, also where the matrix is on a GPU.
            chosen = arrays.take_rows(arrays.take_rows(self.matrix, rows).T, columns).T
            out[...] = _next_to(out, chosen)
        elif arrays.supports_out(out):
            out[...] = self.matrix[rows[:, None], columns[None, :]]
        else:
            out[...] = arrays.take_rows(arrays.take_rows(self.matrix, rows).T, columns).T
        return out

    def diagonal(self, x: Array) -> Array:
        """matrix[i, i], shape (len(x),)."""
        rows, size = _numbers(x, self.matrix), self.matrix.shape[0]
        xp = arrays.namespace(self.matrix)
        found = xp.take(xp.reshape(self.matrix, (-1,)), rows * (size + 1))
        return _next_to(x, found)


def _numbers(points: Array, matrix: Array) -> Array:
    """The row numbers that points, plain or augmented, stand for, next to the matrix.

    They are exact up to 2²⁴ in float32.
    """
    return _next_to(matrix, arrays.astype(points[:, 0], arrays.namespace(points).int64))


def _next_to(x: Array, values: Array) -> Array:
    """The values on the device of ``x``."""
    device = arrays.device_of(x)
    return values if arrays.device_of(values) == device else arrays.to_device(values, device)
