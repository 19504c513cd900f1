"""The top of the spectrum of symmetric positive semi-definite matrices."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable

import numpy as np

from .. import arrays, streams
from ..arrays import Array
from ..utils import progress
from ..utils.plain_numbers import takes_numpy_integers


@takes_numpy_integers
def top_eigensystem(
    multiply: Callable[[Array], Array],
    n: int,
    k: int,
    *,
    like: Array,
    seed: int = 0,
    tolerance: float = 0.0,
    n_iterations: int = 3,
    oversampling: float | None = None,
) -> tuple[Array, Array]:
    """The k largest eigenvalues of a symmetric positive semi-definite matrix, with their eigenvectors.

    Block subspace iteration with a Rayleigh-Ritz step at the end (Halko, Martinsson and Tropp 2011), which needs
    nothing of the matrix but products with it.

    Parameters
    ----------
    multiply : callable
        The matrix times an (n, b) array.
    n : int
        Rows of the matrix.
    k : int
        How many pairs; with ``k`` near ``n`` a full decomposition is cheaper, see `eigensystem`.
    like : array
        Tells library, device and precision.
    seed : int
        Of the start.
    tolerance : float
        Relative accuracy of the eigenvalues: iterate until none changes by a twentieth of it in one product (they
        approach their limit geometrically, so the change is smaller than what is left); 0 makes ``n_iterations`` and
        stops.
    n_iterations : int
        Products before the first Rayleigh-Ritz step, one at least.
    oversampling : float, optional
        Width of the block beyond ``k``, as a share of ``k``: a tenth, or as wide again where a tolerance is asked for,
        since the last of the k pairs converges with the square of λ_{width}/λ_k.

    Returns
    -------
    values : array, shape (k,), descending
    vectors : array, shape (n, k), orthonormal columns
    """
    xp = arrays.namespace(like)
    share = (1.0 if tolerance else 0.1) if oversampling is None else oversampling
    width = min(n, k + max(10, math.ceil(share * k)))
    basis = streams.normal(seed, "subspace iteration", 0, (n, width), like=like, dtype=like.dtype)
    # How many products an accuracy takes is not known beforehand.
    told = progress.Part(f"eigensystem of {n:,} points", None if tolerance else max(1, n_iterations) + 1)
    for _ in range(max(1, n_iterations)):
        basis = orthonormal(multiply(basis))
        told.advance()
    previous = None
    for _ in range(100):
        image = multiply(basis)
        told.advance()
        small = basis.T @ image
        values, rotation = xp.linalg.eigh((small + small.T) / 2)
        values, rotation = xp.flip(values)[:k], xp.flip(rotation, axis=1)[:, :k]
        if tolerance == 0.0:
            break
        if previous is not None:
            floor = xp.finfo(like.dtype).eps * values[0]
            if bool(xp.all(xp.abs(values - previous) <= 0.05 * tolerance * xp.abs(values) + floor)):
                break
        previous = values
        basis = orthonormal(image)
    return xp.clip(values, 0.0, None), basis @ rotation


def orthonormal(y: Array) -> Array:
    """An orthonormal basis of the columns: Cholesky factors of the small Gram matrix, twice; QR where that breaks."""
    xp = arrays.namespace(y)
    q = y
    try:
        for _ in range(2):
            with arrays.raise_on_failure(q):
                factor = xp.linalg.cholesky(q.T @ q)
            if not bool(xp.all(xp.isfinite(factor))):
                raise np.linalg.LinAlgError
            q = arrays.solve_triangular(factor, q.T).T
        return q
    except np.linalg.LinAlgError:
        return xp.linalg.qr(y)[0]


FULL_BELOW = 1500
"""Up to this size a full decomposition costs no more than the truncated one (measured for ranks of a tenth and up)."""


FULL_BELOW_EXACT = 4000
"""The same where the eigenvalues are wanted to an accuracy, which takes more products."""


def eigensystem(matrix: Array, k: int, *, seed: int = 0, tolerance: float = 0.0) -> tuple[Array, Array]:
    """The k largest eigenpairs of a symmetric positive semi-definite matrix, by whichever way is faster.

    Parameters are those of `top_eigensystem`, with the matrix itself, shape (n, n).
    """
    xp = arrays.namespace(matrix)
    n = matrix.shape[0]
    if n <= (FULL_BELOW_EXACT if tolerance else FULL_BELOW) or k > n // 3:
        progress.Part(f"eigensystem of {n:,} points")
        with arrays.one_blas_thread() if n <= FULL_BELOW else contextlib.nullcontext():
            values, vectors = xp.linalg.eigh(matrix)
        values, vectors = xp.flip(values)[:k], xp.flip(vectors, axis=1)[:, :k]
        return xp.clip(values, 0.0, None), vectors
    return top_eigensystem(lambda a: matrix @ a, n, k, like=matrix, seed=seed, tolerance=tolerance)
