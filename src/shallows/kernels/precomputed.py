"""kernel="precomputed": fits to a kernel matrix instead of points.

In a fit the points are row numbers, which the kernel looks up in the matrix. So shuffling points, or setting some
aside, selects rows of the matrix.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays
from ..arrays import Array
from ..errors import ShallowsError
from .base import Kernel, check_semidefinite


@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """k(i, j) = matrix[i, j]: the points are the numbers of rows and columns, in one feature.

    Parameters
    ----------
    matrix : array, shape (n, n), or None
        On the device and in the precision of the points. A fitted model has None: it needs column numbers only.
    """

    matrix: Array | None = None
    name = "precomputed"

    @property
    def parameters(self) -> dict[str, Any]:
        """Empty: the matrix is data."""
        return {}

    @property
    def matrix_bytes(self) -> int:  # noqa: D102
        return self.matrix.nbytes

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

    def check_values(self, points: Array) -> None:
        """Also refuse matrices that are not symmetric or not positive semi-definite."""
        super().check_values(points)
        check_semidefinite(self, points, "precomputed kernel matrix")


def _numbers(points: Array, matrix: Array | None) -> Array:
    """The row numbers that points, plain or augmented, are, on the device of the matrix; exact up to 2²⁴ in float32."""
    if matrix is None:
        raise ShallowsError("kernel='precomputed' has no values for points; a kernel of points is needed here.")
    return _next_to(matrix, arrays.astype(points[:, 0], arrays.namespace(points).int64))


def _next_to(x: Array, values: Array) -> Array:
    """The values on the device of ``x``."""
    device = arrays.device_of(x)
    return values if arrays.device_of(values) == device else arrays.to_device(values, device)


def numbers_of_rows(matrix: Any) -> np.ndarray:
    """The points of a fit to a square matrix, shape (n, 1): the numbers of its rows."""
    n, m = matrix.shape
    if n != m:
        raise ValueError(
            f"With kernel='precomputed', fit takes the square matrix of kernel values of the training points with each "
            f"other, got the shape ({n}, {m})."
        )
    return np.arange(n, dtype=np.float64)[:, None]


def kernel_on(matrix: Any, points: Array) -> Precomputed:
    """The kernel of the matrix of a fit, on the device of its points."""
    matrix = matrix.toarray() if scipy.sparse.issparse(matrix) else matrix
    return Precomputed(arrays.to_device(matrix, arrays.device_of(points), np.dtype(str(points.dtype))))


def is_asked_for(estimator: Any) -> bool:
    """Whether an estimator has ``kernel="precomputed"``, or the object without a matrix, which is the same."""
    kernel = getattr(estimator, "kernel", None)
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == Precomputed.name)


def refuse(estimator: Any, reason: str) -> None:
    """Refuse ``kernel="precomputed"`` for an estimator that needs points; ``reason`` is a whole sentence."""
    if is_asked_for(estimator):
        raise ShallowsError(
            f"{type(estimator).__name__} cannot use kernel='precomputed' here. {reason} Estimators that need only "
            "kernel values can: KernelRidge, also with a number of centers, KernelSVM, CoreVectorMachine, and NORMA, "
            "Pegasos and SDCA with features=None."
        )
