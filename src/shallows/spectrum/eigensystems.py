"""The top of the spectrum of symmetric positive semi-definite matrices."""

import contextlib
import math
from collections.abc import Callable

import numpy as np

from .. import arrays, streams
from ..arrays import Array
from ..utils import progress
from ..utils.plain_numbers import takes_numpy_integers

FULL_BELOW, FULL_BELOW_EXACT = 1500, 4000
"""Up to this size a full decomposition is as fast as the truncated one (measured for ranks of a tenth and more). The
second number applies with a tolerance, which takes more products."""


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
    """The k largest eigenvalues of a positive semi-definite matrix, descending, and orthonormal eigenvectors.

    Block subspace iteration with a Rayleigh-Ritz step at the end (Halko, Martinsson and Tropp 2011), which needs only
    products with the matrix: ``multiply`` returns its product with an (n, b) array. ``like`` has the library, device
    and precision. The iteration ends when no eigenvalue changes by a twentieth of the relative ``tolerance``; the
    eigenvalues converge geometrically, so the error is smaller than it. With a tolerance of 0 there are
    ``n_iterations`` products. ``oversampling`` is the additional width of the block as a share of k: a tenth, or 1 with
    a tolerance, since the last pair converges with the square of λ_{width}/λ_k.
    """
    xp = arrays.namespace(like)
    share = (1.0 if tolerance else 0.1) if oversampling is None else oversampling
    width = min(n, k + max(10, math.ceil(share * k)))
    basis = streams.normal(seed, "subspace iteration", 0, (n, width), like=like, dtype=like.dtype)
    # With a tolerance, the number of products is not known in advance.
    part = progress.Part(f"eigensystem of {n:,} points", None if tolerance else max(1, n_iterations) + 1)
    for _ in range(max(1, n_iterations)):
        basis = orthonormal(multiply(basis))
        part.advance()
    previous = None
    for _ in range(100):
        image = multiply(basis)
        part.advance()
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
    """An orthonormal basis of the columns, by two Cholesky factors of the Gram matrix, or by QR if these fail."""
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


def eigensystem(matrix: Array, k: int, *, seed: int = 0, tolerance: float = 0.0) -> tuple[Array, Array]:
    """The k largest eigenpairs of a positive semi-definite matrix, in the fastest way; see `top_eigensystem`."""
    xp = arrays.namespace(matrix)
    n = matrix.shape[0]
    if n <= (FULL_BELOW_EXACT if tolerance else FULL_BELOW) or k > n // 3:
        progress.Part(f"eigensystem of {n:,} points")
        with arrays.one_blas_thread() if n <= FULL_BELOW else contextlib.nullcontext():
            values, vectors = xp.linalg.eigh(matrix)
        values, vectors = xp.flip(values)[:k], xp.flip(vectors, axis=1)[:, :k]
        return xp.clip(values, 0.0, None), vectors
    return top_eigensystem(lambda a: matrix @ a, n, k, like=matrix, seed=seed, tolerance=tolerance)
