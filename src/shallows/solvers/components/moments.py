"""What the steps of components share: small matrices of moments, safe step sizes, and which block a step moves."""

from __future__ import annotations

import numpy as np

from ... import arrays, streams
from ...arrays import Array


def next_block(n_blocks: int, n_revisits: int, max_blocks: int | None, seed: int) -> int:
    """The number of the block for the next step; ``n_blocks`` itself is a new one.

    Old blocks are revisited in rounds, each round in a new random order, so that all of them are moved equally often.
    """
    if max_blocks is None or n_blocks < max_blocks:
        return n_blocks
    turn, place = divmod(n_revisits, n_blocks)
    return int(streams.permutation(seed, "revisited blocks", turn, n_blocks)[place])


EXAMPLES_OF_A_COMPONENT = 20  # examples for each component that the running moments stretch over at least
LEAST_EIGENVALUE = 1e-7
"""Share of the largest eigenvalue below which one is taken for that share, before the moments are inverted."""


def share_of_batch(n_examples: int, n_components: int, most: float) -> float:
    """The weight of a batch in running moments: ``most`` if it has examples enough, and less for a smaller one."""
    return min(most, n_examples / (EXAMPLES_OF_A_COMPONENT * n_components))


def second_moment(H: Array) -> np.ndarray:
    """HᵀH/B in float64 on the host, shape (k, k)."""
    return arrays.to_numpy(H.T @ H).astype(np.float64) / H.shape[0]


def floored(values: np.ndarray, share: float = LEAST_EIGENVALUE, least: float = 1e-300) -> np.ndarray:
    """|values|, none below ``share`` times the largest, nor below ``least``."""
    sizes = np.abs(values)
    return np.maximum(sizes, max(share * float(sizes.max()), least))


def safe_step(step: float, shrinking: np.ndarray) -> float:
    """The step, or the longest that takes no direction beyond zero, where a batch is far from the running moments."""
    top = float(np.abs(np.linalg.eigvals(shrinking)).max())
    return min(step, 1.0 / top) if top > 0 else step


def absolute_inverse(matrix: np.ndarray, share: float = LEAST_EIGENVALUE, least: float = 1e-300) -> np.ndarray:
    """The inverse of |M| of a symmetric matrix, its eigenvalues first brought above a share of the largest."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vectors / floored(values, share, least)) @ vectors.T


def positive_part(matrix: np.ndarray) -> np.ndarray:
    """A symmetric matrix with its negative eigenvalues set to zero."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vectors * np.clip(values, 0.0, None)) @ vectors.T


def absolute(matrix: np.ndarray) -> np.ndarray:
    """|M| of a symmetric matrix."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vectors * np.abs(values)) @ vectors.T
