"""Triangular and positive-definite linear systems, solved in place if the library allows it."""

import contextlib
import importlib.util
import math
from collections.abc import Callable

import numpy as np

from .devices import Array, astype, is_numpy, namespace, supports_out
from .operations import blocks, contiguous, diagonal
from .threads import in_threads, one_blas_thread, workers_for


def raise_on_failure(x: Array) -> contextlib.AbstractContextManager:
    """A block in which a failed factorization raises an error; by default CuPy returns what it has computed."""
    if not _is_cupy(x):
        return contextlib.nullcontext()
    import cupyx

    return cupyx.errstate(linalg="raise")


def _is_cupy(x: Array) -> bool:
    return type(x).__module__.partition(".")[0] == "cupy" and importlib.util.find_spec("cupyx") is not None


def solve_triangular(factor: Array, b: Array, trans: str = "N") -> Array:
    """Solve ``factor @ x = b`` for a lower triangular factor, or for its transpose if ``trans="T"``."""
    if is_numpy(factor):
        from scipy.linalg import solve_triangular as solve

        return solve(factor, b, lower=True, trans=trans, check_finite=False)
    if _is_cupy(factor):
        from cupyx.scipy.linalg import solve_triangular as solve

        return solve(factor, b, lower=True, trans=trans, check_finite=False)
    return namespace(factor).linalg.solve(factor.T if trans == "T" else factor, b)


WIDE_ROWS = 1024
"""Rows of a factor that are converted to float64 at a time."""


def solve_triangular_in_double(factor: Array, b: Array, trans: str = "N") -> Array:
    """As `solve_triangular` for few columns, in float64, without a float64 copy of the whole factor."""
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
    """``L.T @ L`` for a C-ordered lower triangular ``L``, which may be overwritten; only its lower part is valid."""
    if not is_numpy(factor):
        return factor.T @ factor
    if _divides(factor):
        return _triangular_gram_by_threads(factor)
    from scipy.linalg import get_lapack_funcs

    (lauum,) = get_lapack_funcs(("lauum",), (factor,))
    # The transpose is in Fortran order, and is the upper factor U of U Uᵀ.
    return lauum(factor.T, lower=0, overwrite_c=1)[0].T


def cholesky_in_place(matrix: Array) -> Array:
    """``L`` with ``L @ L.T = matrix`` for a C-ordered symmetric matrix, which may be overwritten.

    The part of the result above the diagonal has no meaning. An indefinite matrix raises ``numpy.linalg.LinAlgError``.
    """
    if is_numpy(matrix):
        return _cholesky_by_threads(matrix) if _divides(matrix) else _cholesky_of_block(matrix)
    xp = namespace(matrix)
    with raise_on_failure(matrix):
        factor = xp.linalg.cholesky(matrix)
    if not bool(xp.all(xp.isfinite(factor))):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return factor


DIVIDED_FROM, PANEL = 512, 192
"""Number of rows from which our own threads factor a matrix, and columns that they factor at a time. BLAS threads wait
for each other thousands of times in a factorization. Next to another program with two threads on two cores, 4,000 rows
took 4.8 s instead of 0.3 s."""


def _divides(matrix: np.ndarray) -> bool:
    return len(matrix) >= DIVIDED_FROM and workers_for(matrix) > 1


def _cholesky_of_block(matrix: np.ndarray) -> np.ndarray:
    from scipy.linalg import cho_factor

    # The transpose is in Fortran order, so LAPACK factors it in place; its upper factor is Lᵀ.
    return cho_factor(matrix.T, lower=False, overwrite_a=True, check_finite=False)[0].T


def _cholesky_by_threads(matrix: np.ndarray) -> np.ndarray:
    """Block columns from left to right: subtract earlier columns, factor the square, then solve for the rows below."""
    from scipy.linalg import get_blas_funcs

    p, n_workers = len(matrix), workers_for(matrix)
    (trsm,) = get_blas_funcs(("trsm",), (matrix,))
    with one_blas_thread():
        for columns in blocks(p, PANEL):
            left = matrix[columns, : columns.start]
            square = matrix[columns, columns] = _cholesky_of_block(matrix[columns, columns] - left @ left.T)

            def below(rows: slice) -> None:
                rest = matrix[rows, columns] - matrix[rows, : columns.start] @ left.T  # noqa: B023
                matrix[rows, columns] = trsm(1.0, square.T, rest.T, trans_a=1, overwrite_b=1).T  # noqa: B023

            _for_all(below, columns.stop, p, n_workers)
    return matrix


def _triangular_gram_by_threads(factor: np.ndarray) -> np.ndarray:
    """Block rows from top to bottom: no row of the factor is needed after its own step."""
    p, n_workers = len(factor), workers_for(factor)
    with one_blas_thread():
        for rows in blocks(p, PANEL):
            factor[rows, rows] = np.tril(factor[rows, rows])
            left = np.ascontiguousarray(factor[rows.start :, rows]).T
            out = np.empty((rows.stop - rows.start, rows.stop), dtype=factor.dtype)

            def of_columns(columns: slice) -> None:
                out[:, columns] = left @ factor[rows.start :, columns]  # noqa: B023

            _for_all(of_columns, 0, rows.stop, n_workers)
            factor[rows, : rows.stop] = out
    return factor


def _for_all(work: Callable[[slice], None], start: int, stop: int, n_workers: int) -> None:
    """Call ``work`` for all parts of a range; each thread takes the next part."""
    size = min(512, max(64, -(-(stop - start) // (4 * n_workers))))
    parts = [slice(start + part.start, start + part.stop) for part in blocks(stop - start, size)]
    waiting = iter(parts)

    def take_parts(_: int) -> None:
        for part in waiting:
            work(part)

    if parts:
        in_threads(take_parts, min(n_workers, len(parts)))


def solve_positive_definite(matrix: Array, b: Array) -> Array:
    """Solve ``matrix @ x = b`` for a positive-definite matrix, which may be overwritten; see `cholesky_in_place`."""
    return solve_factored(cholesky_in_place(matrix), b)  # A second matrix may not fit.


def solve_factored(factor: Array, b: Array) -> Array:
    """``x`` with ``L @ L.T @ x = b`` for a lower triangular ``L``."""
    with one_blas_thread():
        return solve_triangular(factor, solve_triangular(factor, b), trans="T")


def solve_damped(matrix: Array, b: Array, damping: float) -> Array:
    """Solve ``(matrix + damping I) @ x = b`` in float64, with more damping while it is indefinite."""
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
    """A float64 copy with a number added to the diagonal."""
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

    # Not the triangle of `solve_positive_definite`: it rounds differently, and reference results use this one.
    return cho_solve(cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False), b, check_finite=False)
