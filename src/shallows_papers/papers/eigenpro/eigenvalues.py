"""Exact eigenvalues and eigenvectors of small symmetric matrices."""

from __future__ import annotations

from shallows import arrays
from shallows.arrays import Array
from shallows.errors import ShallowsError


def eigenpairs(matrix: Array) -> tuple[Array, Array]:
    """Return all eigenpairs of a symmetric matrix, descending, with negative eigenvalues set to zero."""
    xp = arrays.namespace(matrix)
    values, vectors = xp.linalg.eigh(matrix)
    return xp.clip(xp.flip(values), 0.0, None), xp.flip(vectors, axis=1)


def largest_eigenvalue(matrix: Array) -> float:
    """Return the largest eigenvalue of a symmetric matrix."""
    return float(arrays.namespace(matrix).linalg.eigvalsh(matrix)[-1])


def check_rank(rank: int, n: int) -> None:
    """Refuse a rank that leaves no direction."""
    if not 0 <= rank < n:
        raise ShallowsError(f"The rank must be between 0 and {n - 1}, the number of directions minus one, not {rank}.")
