"""Triangular and positive-definite linear systems, solved in place where the library allows it."""

from __future__ import annotations

import contextlib
import importlib.util
import math

import numpy as np

from .devices import Array, astype, is_numpy, namespace, supports_out


def raise_on_failure(x: Array) -> contextlib.AbstractContextManager:
    """A context in which a factorisation that fails raises; left alone, CuPy returns the finite numbers it came to."""
    if type(x).__module__.partition(".")[0] != "cupy" or importlib.util.find_spec("cupyx") is None:
        return contextlib.nullcontext()
    import cupyx

    return cupyx.errstate(linalg="raise")


def solve_triangular(factor: Array, b: Array) -> Array:
    """``x`` with ``factor @ x = b`` for a lower triangular factor."""
    if is_numpy(factor):
        from scipy.linalg import solve_triangular as solve

        return solve(factor, b, lower=True, check_finite=False)
    if type(factor).__module__.partition(".")[0] == "cupy":
        from cupyx.scipy.linalg import solve_triangular as solve

        return solve(factor, b, lower=True, check_finite=False)
    return namespace(factor).linalg.solve(factor, b)


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
    halfway = solve_triangular(factor, b)
    if type(factor).__module__.partition(".")[0] == "cupy":
        from cupyx.scipy.linalg import solve_triangular as solve

        return solve(factor, halfway, lower=True, trans="T", check_finite=False)
    return namespace(factor).linalg.solve(factor.T, halfway)


def solve_damped(matrix: Array, b: Array, damping: float) -> Array:
    """``x`` with ``(matrix + damping I) @ x = b`` for a positive semi-definite matrix, solved in float64.

    Where rounding has made the damped matrix indefinite, the damping grows tenfold until it is not; on a GPU, whose
    host would have to wait to know, it is solved as it is, by LU factors.
    """
    xp = namespace(matrix)
    if supports_out(matrix) and not is_numpy(matrix):
        n, wide = matrix.shape[0], xp.array(matrix, dtype=xp.float64, copy=True)
        xp.reshape(wide, (-1,))[:: n + 1] += damping
        return astype(xp.linalg.solve(wide, astype(b, xp.float64)), b.dtype)
    wide, right = astype(matrix, xp.float64), astype(b, xp.float64)
    eye = xp.eye(wide.shape[0], dtype=wide.dtype)
    if not is_numpy(matrix):
        return astype(xp.linalg.solve(wide + damping * eye, right), b.dtype)
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    floor = float(np.finfo(matrix.dtype).eps) * float(wide.diagonal().max(initial=0.0))
    while True:
        try:
            factor = cho_factor(wide + damping * eye, lower=True, check_finite=False, overwrite_a=True)
            return astype(cho_solve(factor, right, check_finite=False), b.dtype)
        except LinAlgError:
            if not (math.isfinite(damping) and np.isfinite(wide).all()):
                return np.full_like(b, np.nan)
            damping = max(10.0 * damping, floor, 1e-300)
