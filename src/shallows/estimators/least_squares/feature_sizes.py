"""The sizes of the eigensystem of explicit features, where the user leaves them open."""

from __future__ import annotations

from typing import Any

from .preconditioning import SMALL_FLOOR, subsample_size


def of(estimator: Any, n: int, n_features: int, itemsize: int, budget: int) -> tuple[int, int]:
    """M and q: those of the user within n and the features, or sizes chosen from the data and the budget."""
    if estimator.rank == 0:
        return min(n, estimator.n_subsample or 1), 0
    n_subsample = subsample_size(estimator, n, itemsize, budget)
    rank = estimator.rank
    if rank is None:
        rank = n_subsample - 1 if n_subsample == n else n_subsample // 5
        # The eigenvectors, n_features q numbers, twice while they are made.
        rank = min(rank, max(1, budget // (8 * itemsize * n_features)))
    return n_subsample, max(0, min(rank, n_subsample - 1, n_features - 1))


def floor(features: Any) -> float:
    """`SMALL_FLOOR`; with kernel functions as features the eigenvalues are those of the kernel, squared."""
    by_kernel = isinstance(features, str) and features.startswith("rbf")
    return SMALL_FLOOR**2 if by_kernel else SMALL_FLOOR
