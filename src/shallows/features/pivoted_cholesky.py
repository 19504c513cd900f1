"""Partial Cholesky factors of kernel matrices by greedy or random pivots, without forming the matrix."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays, kernels, streams
from ..arrays import Array

PROPOSALS = 128
"""Pivots that are proposed at a time. Accepted pivots share one pass over the points."""
ROWS = 8192
"""Columns of the factor's transpose that are computed at a time on a CPU."""
ROUNDINGS = 4.0
"""Diagonal entries up to this number of rounding errors are treated as zero."""


@dataclass(frozen=True)
class PartialCholesky:
    """F with F Fᵀ ≈ K, which is equal to K in the rows and columns of the pivots."""

    pivots: np.ndarray  # In the order in which they were chosen, shape (r,)
    factor: Array  # F, shape (n, r); the rows of the pivots are lower triangular
    remainder: np.ndarray  # Diagonal of K − F Fᵀ, shape (n,), float64; its sum is the trace norm of the error


def pivoted_cholesky(
    kernel: Any, points: Array, rank: int, *, random: bool = True, weights: Array | None = None, seed: int = 0
) -> PartialCholesky:
    """The partial Cholesky factor of the kernel matrix of n augmented points, from its diagonal and the columns of its
    pivots.

    Random pivots are drawn in proportion to the diagonal of the remainder (RPCholesky). Their expected error in the
    trace norm is near the error of the best approximation of a slightly lower rank. The greedy rule chooses the largest
    entry of the diagonal, and may choose outliers.

    Random pivots are proposed 128 at a time, and accepted with the probability that their diagonal has in proportion to
    its value before the round. So they have the same distribution as if drawn one at a time. The pivots of a lower rank
    are the first pivots of a higher rank. With ``weights`` W, shape (n, 1), W^½ K W^½ is factored instead of K.

    References
    ----------
    Y. Chen, E. N. Epperly, J. A. Tropp and R. J. Webber (2025), "Randomly pivoted Cholesky", Communications on Pure and
    Applied Mathematics 78. E. N. Epperly, J. A. Tropp and R. J. Webber (2024), "Embrace rejection", arXiv:2410.03969.
    """
    xp, n = arrays.namespace(points), points.shape[0]
    root = None if weights is None else xp.sqrt(weights[:, 0])
    diagonal = kernel.diagonal(points[:, :-2])
    remainder = arrays.to_numpy(diagonal if weights is None else weights[:, 0] * diagonal).astype(np.float64)
    floor = ROUNDINGS * float(xp.finfo(points.dtype).eps) * max(float(remainder.max()), 0.0)
    most = min(rank, n)
    # The transpose of F, whose rows so far are contiguous.
    factor, pivots, n_rounds = xp.empty((most, n), dtype=points.dtype), np.empty(0, dtype=np.int64), 0
    while len(pivots) < most:
        remainder[remainder <= floor] = 0.0
        if not remainder.any():
            break
        if random:
            rows, chances = _draw(remainder, seed, n_rounds)
        else:
            rows, chances = np.array([np.argmax(remainder)]), np.zeros(1)
        k, n_rounds = len(pivots), n_rounds + 1
        left = _left_of(kernel, points, root, factor[:k, :], rows)
        kept, lower = _eliminate(left, chances, floor, most - k)
        if not kept:
            remainder[rows] = 0.0  # They were positive by rounding only.
            continue
        found = rows[kept]
        squares = _extend(kernel, points, root, factor, k, found, lower)
        remainder = np.maximum(remainder - squares, 0.0)
        # At its pivots the remainder is zero, so the computed values there are rounding errors.
        floor = max(floor, ROUNDINGS * float(np.abs(np.diagonal(left)[kept] - squares[found]).max()))
        remainder[found] = 0.0
        pivots = np.concatenate([pivots, found])
    return PartialCholesky(pivots, factor[: len(pivots), :].T, remainder)


def _draw(remainder: np.ndarray, seed: int, n_rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows drawn in proportion to the remainder, and a uniform number for each."""
    uniform, chances = streams.uniform(seed, "pivots", n_rounds, (2, PROPOSALS))
    cumulative = np.cumsum(remainder)
    rows = np.minimum(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"), len(remainder) - 1)
    # A row that is proposed again would be rejected.
    first = np.sort(np.unique(rows, return_index=True)[1])
    return rows[first], chances[first]


def _left_of(kernel: Any, points: Array, root: Array | None, factor: Array, rows: np.ndarray) -> np.ndarray:
    """K − F Fᵀ of some rows and the same columns, in double precision on the host."""
    xp = arrays.namespace(points)
    K = kernels.matrix(kernel, arrays.astype(arrays.take_rows(points, rows), xp.float64))
    some = arrays.to_numpy(xp.take(factor, xp.asarray(rows), axis=1)).astype(np.float64)
    scale = 1.0 if root is None else arrays.to_numpy(arrays.take_rows(root, rows)).astype(np.float64)
    return arrays.to_numpy(K) * np.multiply.outer(scale, scale) - some.T @ some


def _eliminate(left: np.ndarray, chances: np.ndarray, floor: float, most: int) -> tuple[list[int], np.ndarray]:
    """The accepted proposals, and the Cholesky factor of their part of a matrix."""
    kept: list[int] = []
    lower = np.zeros((len(left), min(len(left), most)))
    for i in range(len(left)):
        k = len(kept)
        if k == lower.shape[1]:
            break
        now = left[i, i] - lower[i, :k] @ lower[i, :k]
        if now > floor and chances[i] * left[i, i] < now:
            lower[i:, k] = (left[i:, i] - lower[i:, :k] @ lower[i, :k]) / np.sqrt(now)
            kept.append(i)
    return kept, lower[kept, : len(kept)]


def _extend(
    kernel: Any, points: Array, root: Array | None, factor: Array, k: int, found: np.ndarray, lower: np.ndarray
) -> np.ndarray:
    """Write the rows of the factor's transpose for new pivots, and return the sums of their squares, shape (n,)."""
    xp, n, t = arrays.namespace(points), points.shape[0], len(found)
    at = arrays.take_rows(points, found)
    before = arrays.contiguous(xp.take(factor[:k, :], xp.asarray(found), axis=1).T)
    scale = None if root is None else arrays.take_rows(root, found)[:, None]
    lower, squares = arrays.like(lower, points), np.empty(n)
    spans = list(arrays.blocks(n, ROWS if arrays.uses_numpy(points) else n))
    n_workers = min(arrays.workers_for(points), len(spans))

    def work(worker: int) -> None:
        for span in spans[worker::n_workers]:
            block = kernels.values(kernel, at, points[span, :])
            if root is not None:
                block = scale * block * root[span][None, :]
            if k:
                block = block - before @ factor[:k, span]
            new = arrays.solve_triangular(lower, block)
            factor[k : k + t, span] = new
            squares[span] = arrays.to_numpy(xp.sum(arrays.astype(new * new, xp.float64), axis=0))

    arrays.in_threads(work, n_workers)
    return squares
