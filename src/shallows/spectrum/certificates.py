"""Certificates: what step sizes need to know about a preconditioned operator, measured on points."""

import math
from dataclasses import dataclass

import numpy as np

from .. import arrays, streams
from ..arrays import Array

UPPER_SHARE = 0.02
"""Share of the points, those with the largest diagonals, whose mean diagonal is used for usual batches."""

N_RITZ = 8
"""Number of eigenvectors of the preconditioned operator that are computed for the certificate."""

N_FRESH = 4000
"""Points outside the subsample, at most, on which the step size is certified; three times the subsample is enough."""


@dataclass(frozen=True)
class Certificate:
    """Measurements of a preconditioned operator on points, for the size of steps."""

    top_eigenvalue: float = math.nan  # λ: the largest eigenvalue of the operator
    largest_diagonal: float = math.nan  # β: the largest value of the preconditioned kernel's diagonal
    upper_diagonal: float = math.nan  # The mean of its largest fiftieth; β if all points are in the subsample
    mean_diagonal: float = math.nan  # μ: the mean of that diagonal, the sum of the operator's eigenvalues
    bound: float = math.nan  # κ: the largest value of the kernel's own diagonal
    # tr V / ‖V‖ with the variance V of one point's part in the operator: the intrinsic dimension in Theorem 4 of Ma and
    # Belkin (2017). ‖V‖ is estimated from below, so this is an upper bound.
    dimension: float = math.nan
    remainder: float = math.nan  # The share of μ outside of the largest eight eigenvalues


def subsample_and_fresh(n: int, m: int) -> tuple[slice, slice]:
    """The subsample of n points in random order, and the points that certify the step: others, if enough are left."""
    n_fresh = min(N_FRESH, max(1000, 3 * m))
    sample, fresh = slice(0, m), slice(m, min(n, m + n_fresh))
    if fresh.stop - fresh.start < max(1, min(n, n_fresh) // 2):
        fresh = slice(0, n if m == n else min(n, n_fresh))
    return sample, fresh


def certify(matrix: Array, functions: Array, shrink: Array, weights: Array | None, seed: int) -> Certificate:
    """The certificate of the preconditioned kernel k_P(x, z) = k(x, z) − Σᵢ shrinkᵢ ψᵢ(x) ψᵢ(z) on some points.

    ``matrix`` (n, n): values k(x, z); overwritten. ``functions`` (n, q). ``shrink`` (q,). ``weights`` (n,).
    """
    xp = arrays.namespace(matrix)
    n = matrix.shape[0]
    # The diagonal goes to the host as a whole: a GPU would compile and wait for each operation on it.
    own = xp.asarray(arrays.diagonal(matrix), copy=True)  # The matrix is overwritten below.
    bound = float(np.max(arrays.to_numpy(own if weights is None else own * weights)))
    reduced = functions * xp.sqrt(xp.clip(shrink, 0.0, None))[None, :]
    for rows in arrays.blocks(n, 1024):
        matrix[rows, :] -= reduced[rows, :] @ reduced.T
    if weights is not None:
        root = xp.sqrt(weights)[:, None]
        matrix = matrix * root * root.T
    on_diagonal = arrays.to_numpy(xp.asarray(arrays.diagonal(matrix), copy=True))
    largest = float(np.max(on_diagonal))
    upper = float(np.mean(np.sort(on_diagonal)[-math.ceil(UPPER_SHARE * n) :]))
    block = streams.normal(seed, "certificate", 0, (n, min(N_RITZ, n)), like=matrix, dtype=matrix.dtype)
    with arrays.one_blas_thread():
        for _ in range(6):
            for _ in range(5):
                block = matrix @ (block / xp.max(xp.abs(block)))
            block = xp.linalg.qr(block)[0]
        small = block.T @ (matrix @ block)
        values, rotation = xp.linalg.eigh((small + small.T) / 2)
    values, leading = arrays.to_numpy(values), arrays.to_numpy(block @ rotation[:, -1])
    tiny = float(xp.finfo(matrix.dtype).eps)
    top = max(float(values[-1]), tiny) / n
    # V = E k_P(x, x) k_x ⊗ k_x − H², written in the points: its trace, and its value along the top eigenfunction u.
    squared = sum(float(xp.sum(matrix[rows, :] ** 2)) for rows in arrays.blocks(n, 1024)) / n**2
    trace = float(np.mean(on_diagonal**2)) - squared
    along = top * (float(np.sum(leading**2 * on_diagonal)) - top)
    dimension = trace / along if trace > along > 0 else 1.0
    mean = float(np.mean(on_diagonal))
    remainder = max(0.0, 1.0 - float(np.sum(values)) / n / max(mean, tiny))
    return Certificate(top, *(max(value, tiny) for value in (largest, upper, mean, bound)), dimension, remainder)


def different(points: Array) -> int:
    """The number of distinct points, by a projection onto a random direction, to fourteen digits."""
    xp = arrays.namespace(points)
    n, d = points.shape
    direction = streams.normal(0, "direction", 0, (d, 1), like=points, dtype=xp.float64)
    parts = [(arrays.astype(points[rows, :], xp.float64) @ direction)[:, 0] for rows in arrays.blocks(n, 4096)]
    along = np.sort(np.concatenate([arrays.to_numpy(part) for part in parts]))
    return 1 + int(np.sum(np.diff(along) > 1e-14 * float(np.max(np.abs(along)))))
