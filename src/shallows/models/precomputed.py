"""kernel="precomputed": fits to a kernel matrix in place of points, and predictions from kernel values.

In a fit the points are the numbers of the rows, which the matrix, as a `shallows.kernels.Precomputed`, turns into
kernel values. So all that a fit does with points, to shuffle them, to hold some out, to drop those of weight zero, it
does with rows of the matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays
from ..arrays import Array, Device
from ..errors import ShallowsError
from ..kernels import Kernel, Precomputed

BLOCK_BYTES = 2**27
"""Kernel values of new points that are brought to the device at a time."""


def is_asked_for(estimator: Any) -> bool:
    """Whether an estimator's kernel is its training points' matrix."""
    kernel = getattr(estimator, "kernel", None)
    return isinstance(kernel, str) and kernel == Precomputed.name


def refuse(estimator: Any, reason: str) -> None:
    """Raise an error if an estimator is given a kernel matrix that needs the points.

    Parameters
    ----------
    estimator : Estimator
    reason : str
        Why it needs the points, as a whole sentence.

    Raises
    ------
    ShallowsError
    """
    if is_asked_for(estimator):
        raise ShallowsError(
            f"{type(estimator).__name__} does not take kernel='precomputed'. {reason} Those do that need no more than "
            "the kernel's values: EigenPro, EigenProCentres with a number of centres, KernelRidge, KernelSGD, "
            "KernelSVM, CoreVectorMachine, and NORMA, Pegasos and SDCA with features=None."
        )


def numbers_of_rows(matrix: Any) -> np.ndarray:
    """The numbers of the rows of a fit's matrix, which stand for its points, shape (n, 1).

    Raises
    ------
    ValueError
        If the matrix is not square.
    """
    n, m = matrix.shape
    if n != m:
        raise ValueError(
            f"With kernel='precomputed', fit takes the square matrix of kernel values of the training points with each "
            f"other, got the shape ({n}, {m})."
        )
    return np.arange(n, dtype=np.float64)[:, None]


def kernel_on(matrix: Any, points: Array) -> Precomputed:
    """The kernel of the matrix of a fit, beside its points."""
    matrix = matrix.toarray() if scipy.sparse.issparse(matrix) else matrix
    return Precomputed(arrays.to_device(matrix, arrays.device_of(points), np.dtype(str(points.dtype))))


def without_matrix(kernel: Kernel) -> Kernel:
    """What a model keeps of its kernel."""
    return Precomputed(None) if isinstance(kernel, Precomputed) else kernel


def held_bytes(kernel: Any) -> int:
    """Bytes of the matrix of a fit; 0 for other kernels."""
    return kernel.matrix.nbytes if isinstance(kernel, Precomputed) else 0


def are_kernel_values(kernel: Any, X: Any, *, fitting: bool) -> bool:
    """Whether points are rows of kernel values, and not the numbers of rows of the fit's own matrix."""
    return isinstance(kernel, Precomputed) and not (fitting and X.shape[1] == 1)


def scores(X: Any, points: Array, coefficients: Array, device: Device) -> np.ndarray:
    """Σⱼ αⱼ k(x, xⱼ) from the kernel values of new points with all training points, shape (m, c), on the host.

    Parameters
    ----------
    X : array or CSR matrix, shape (m, n)
    points : array, shape (p, 3)
        The augmented numbers of the columns that have coefficients.
    coefficients : array, shape (p, c)
    device : Device
    """
    columns = arrays.to_numpy(points[:, 0]).astype(np.int64)
    out = np.empty((X.shape[0], coefficients.shape[1]), dtype=np.dtype(str(coefficients.dtype)))
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_BYTES // (8 * max(1, X.shape[1])))):
            block = X[rows]
            block = block.toarray() if scipy.sparse.issparse(block) else block
            values = arrays.to_device(block[:, columns], device, out.dtype)
            out[rows] = arrays.to_numpy(values @ coefficients)
    return out
