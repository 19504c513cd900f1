"""Triangular and positive-definite linear systems, solved in place where the library allows it."""

from __future__ import annotations

import contextlib
import importlib.util
import math

import numpy as np

from .devices import Array, astype, is_numpy, namespace, supports_out
from .operations import blocks, contiguous, diagonal


def raise_on_failure(x: Array) -> contextlib.AbstractContextManager:
    """A context in which a factorisation that fails raises; left alone, CuPy returns the finite numbers it came to."""
    if not _is_cupy(x):
        return contextlib.nullcontext()
    import cupyx

    return cupyx.errstate(linalg="raise")


def _is_cupy(x: Array) -> bool:
    return type(x).__module__.partition(".")[0] == "cupy" and importlib.util.find_spec("cupyx") is not None


def solve_triangular(factor: Array, b: Array, trans: str = "N") -> Array:
    """``x`` with ``factor @ x = b`` for a lower triangular factor, or with its transpose for ``trans="T"``."""
    if is_numpy(factor):
        from scipy.linalg import solve_triangular as solve

        return solve(factor, b, lower=True, trans=trans, check_finite=False)
    if _is_cupy(factor):
        from cupyx.scipy.linalg import solve_triangular as solve

        return solve(factor, b, lower=True, trans=trans, check_finite=False)
    return namespace(factor).linalg.solve(factor.T if trans == "T" else factor, b)


WIDE_ROWS = 1024
"""Rows of a factor that are brought to float64 at a time."""


def solve_triangular_in_double(factor: Array, b: Array, trans: str = "N") -> Array:
    """As `solve_triangular`, with the arithmetic in float64 and the factor left in its precision; few columns."""
    xp, p = namespace(factor), factor.shape[0]
    if factor.dtype == xp.float64:
        return solve_triangular(factor, b, trans)
    x, spans = xp.asarray(b, dtype=xp.float64, copy=True), list(blocks(p, WIDE_ROWS))
    for span in reversed(spans) if trans == "T" else spans:
        strip = astype(factor[span, : span.stop], xp.float64)
        left, square = strip[:, : span.start], contiguous(strip[:, span.start :])
        if trans == "T":
            x[span, :] = solve_triangular(square, x[span, :], trans)
            x[: span.start, :] -= left.T @ x[span, :]
        else:
            x[span, :] = solve_triangular(square, x[span, :] - left @ x[: span.start, :])
    return x


def triangular_gram(factor: Array) -> Array:
    """``L.T @ L`` for a C-ordered lower triangular ``L``, which is overwritten where it can be.

    What lies above the diagonal of ``L`` is not read by NumPy, and that of the result has no meaning.
    """
    if not is_numpy(factor):
        return factor.T @ factor
    from scipy.linalg import get_lapack_funcs

    (lauum,) = get_lapack_funcs(("lauum",), (factor,))
    # The transpose lies in Fortran order, and is the upper factor U of U Uᵀ.
    return lauum(factor.T, lower=0, overwrite_c=1)[0].T


def cholesky_in_place(matrix: Array) -> Array:
    """``L`` with ``L @ L.T = matrix`` for a C-ordered symmetric matrix, which is overwritten where it can be.

    What lies above the diagonal of the result has no meaning.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite to rounding.
    """
    if is_numpy(matrix):
        from scipy.linalg import cho_factor

        # The transpose lies in Fortran order, so LAPACK factors it in place; its upper factor is Lᵀ.
        return cho_factor(matrix.T, lower=False, overwrite_a=True, check_finite=False)[0].T
    xp = namespace(matrix)
    with raise_on_failure(matrix):
        factor = xp.linalg.cholesky(matrix)
    if not bool(xp.all(xp.isfinite(factor))):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return factor


def solve_positive_definite(matrix: Array, b: Array) -> Array:
    """``x`` with ``matrix @ x = b`` for a symmetric positive-definite matrix, which is overwritten where it can be.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite to rounding.
    """
    if is_numpy(matrix):
        from scipy.linalg import cho_factor, cho_solve

        # The transpose lies in Fortran order, so LAPACK factors it in place: a second matrix may not fit.
        factor = cho_factor(matrix.T, lower=False, overwrite_a=True, check_finite=False)
        return cho_solve(factor, b, check_finite=False)
    factor = cholesky_in_place(matrix)
    return solve_triangular(factor, solve_triangular(factor, b), trans="T")


def solve_damped(matrix: Array, b: Array, damping: float) -> Array:
    """``x`` with ``(matrix + damping I) @ x = b`` for a positive semi-definite matrix, solved in float64.

    Where rounding has made the damped matrix indefinite, the damping grows tenfold until it is not.
    """
    xp = namespace(matrix)
    right = astype(b, xp.float64)
    while True:
        try:
            return astype(_solve(_damped(matrix, damping), right), b.dtype)
        except np.linalg.LinAlgError:
            if not (math.isfinite(damping) and bool(xp.all(xp.isfinite(matrix)))):
                return xp.full_like(b, xp.nan)
            floor = float(xp.finfo(matrix.dtype).eps) * float(xp.max(diagonal(matrix)))
            damping = max(10.0 * damping, floor, 1e-300)


def _damped(matrix: Array, damping: float) -> Array:
    """A copy in float64 with a number added to the diagonal."""
    xp, n = namespace(matrix), matrix.shape[0]
    if not supports_out(matrix):
        return astype(matrix, xp.float64) + damping * xp.eye(n, dtype=xp.float64)
    copy = xp.array(matrix, dtype=xp.float64, copy=True, order="C")
    xp.reshape(copy, (-1,))[:: n + 1] += damping
    return copy


def _solve(matrix: Array, b: Array) -> Array:
    if not is_numpy(matrix):
        return solve_positive_definite(matrix, b)
    from scipy.linalg import cho_factor, cho_solve

    # The other triangle than `solve_positive_definite` takes, which rounds otherwise: reference results were made so.
    return cho_solve(cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False), b, check_finite=False)
