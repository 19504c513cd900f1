"""What solvers of components share: settings, starts, small matrices of moments, and the order of blocks."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ... import arrays, streams
from ...arrays import Array
from ...errors import ShallowsError, TooFewDirectionsError
from ...spectrum.eigensystems import eigensystem
from ..expansions.growing_expansion import FIRST_CAPACITY
from ..settings import Settings, at_least_zero, count, flag, positive, setting

FIRST_STEP = 0.5
"""η₁ of the scaled rules: half of a step that would replace the functions completely."""

SHORTEST, LONGEST = 3.0, 50.0  # bounds of c λ_k in the limit c/t of the steps of Oja's rule
RESOLUTION = 100.0
"""Eigenvalues below this many units in the last place of k(x, x) = 1 count as zero."""

EXAMPLES_OF_A_COMPONENT = 20  # smallest number of examples for each component in the running moments
LEAST_EIGENVALUE = 1e-7
"""Smaller eigenvalues are replaced by this share of the largest before moments are inverted."""


@dataclass(frozen=True, kw_only=True)
class ComponentSettings(Settings):
    """Base of the settings of solvers of components, in one view or in two.

    CCA alone uses the ridge, in units of k(x, x) = 1.
    """

    step_size: float | None = setting(positive())
    decrease: float | None = setting(at_least_zero())
    block_size: int | None = setting(count())
    max_features: int | None = setting(count())
    batch_size: int | None = setting(count())
    orthogonal: bool | None = setting(flag(None))
    n_iter: int | None = setting(count())
    max_epochs: int | None = setting(count())

    n_passes: ClassVar[int] = 3
    features_per_row: ClassVar[int] = 4  # random frequencies, without ``max_features``
    takes_sparse: ClassVar[bool] = False  # Random features are made of dense rows.
    takes_weights: ClassVar[bool] = False
    is_online: ClassVar[bool] = True

    def default_block_size(self, n: int) -> int | None:
        """Frequencies of a block for n rows; None leaves it to the fit."""
        return None

    def report(self) -> dict[str, Any]:
        """The rule of the steps, for ``report_``."""
        return {name: getattr(self, name) for name in ("method", "scaling") if hasattr(self, name)}

    def steps(self, eigenvalues: np.ndarray, n_components: int, *, scaled: bool) -> tuple[float, float]:
        step = self.step_size or FIRST_STEP / (1.0 if scaled else float(eigenvalues[0]))
        decrease = self.decrease
        if decrease is None:
            decrease = default_decrease(step, eigenvalues, n_components, scaled=scaled)
        return float(step), float(decrease)

    def default_batch_size(self, n: int, start: Any, n_components: int, block_size: int) -> int:
        raise NotImplementedError

    def choose_start(
        self, features: Any, samples: Any, n_components: int, *, n_blocks: int, centered: bool, ridge: float, seed: int
    ) -> Any:
        """Functions in the features of the first blocks, from a sample of each view."""
        raise NotImplementedError

    def build_problem(
        self, features: Any, start: Any, points: Any, n_components: int, *, centered: bool, budget: int
    ) -> Any:
        """The problem, with the points of each view on the device."""
        raise NotImplementedError

    def build(self, values: np.ndarray, n_components: int, *, ridge: float, max_blocks: int, seed: int) -> Any:
        raise NotImplementedError


def default_decrease(step: float, eigenvalues: np.ndarray, n_components: int, *, scaled: bool = False) -> float:
    """The ρ that makes steps tend to c/t, with c twice the inverse of the relative gap 1 − λ_{k+1}/λ_k.

    c = 1/gap is fastest; twice that is safe if the gap is overestimated. ``scaled`` steps are in units of 1/λ_k.
    """
    smallest = float(eigenvalues[n_components - 1])
    gap = 1.0 if len(eigenvalues) <= n_components else 1.0 - float(eigenvalues[n_components]) / smallest
    return step * (1.0 if scaled else smallest) / min(LONGEST, max(SHORTEST, 2.0 / max(gap, 1e-6)))


@dataclass(frozen=True)
class WarmStart:
    """Components of a random-feature problem."""

    coefficients: Array  # (n_blocks, width, k): of functions that are orthonormal in the space of the features
    values: np.ndarray  # (at most k + 1,): eigenvalues of the covariance of the features
    variance: float  # trace of that covariance

    def report(self, n_components: int) -> dict[str, Any]:
        return {"start_eigenvalues": self.values[:n_components].tolist(), "start_blocks": self.coefficients.shape[0]}


def random_feature_components(
    features: Any, x: Array, n_components: int, *, n_blocks: int = 1, centered: bool = False, seed: int = 0
) -> WarmStart:
    """Solve kernel PCA on the features of the first blocks, by a matrix of as many rows as points or features."""
    xp = arrays.namespace(x)
    Z = features.map(x, n_blocks)
    if centered:
        Z = Z - xp.mean(Z, axis=0)
    n, width = Z.shape
    by_points = n < width
    matrix = (Z @ Z.T if by_points else Z.T @ Z) / n
    variance = float(xp.sum(Z * Z)) / n
    pairs = min(n_components + 1, matrix.shape[0])
    values, vectors = eigensystem(matrix, pairs, seed=seed)
    values = arrays.to_numpy(values).astype(np.float64)
    rank = int(np.sum(values > RESOLUTION * float(xp.finfo(Z.dtype).eps)))
    if rank < n_components:
        raise TooFewDirectionsError(
            f"n_components={n_components} is more than the data have: {n} points (n_samples = {n}) span {rank} "
            f"direction{'' if rank == 1 else 's'} in the space of the kernel. Take fewer components, or more points."
        )
    vectors = vectors[:, :n_components]
    if by_points:
        vectors = Z.T @ (vectors / arrays.like(np.sqrt(n * values[:n_components]), Z, Z.dtype))
    # Coefficients belong to features without their common factor 1/√(number of frequencies).
    coefficients = xp.reshape(vectors / math.sqrt(n_blocks * features.block_size), (n_blocks, -1, n_components))
    return WarmStart(arrays.contiguous(coefficients), values, variance)


def buffer_of(start: Array) -> Array:
    """A buffer that begins with the coefficients of a start; components that are zero are refused."""
    xp = arrays.namespace(start)
    if start.shape[0] == 0 or not bool(xp.all(xp.sum(start * start, axis=(0, 1)) > 0)):
        raise ShallowsError(
            "The training cannot start from functions that are zero: every change is a multiple of their values, so "
            "they would stay zero. Start from the components of a small random-feature problem."
        )
    buffer = xp.zeros((max(FIRST_CAPACITY, start.shape[0]), *start.shape[1:]), dtype=start.dtype)
    buffer[: start.shape[0], :, :] = start
    return buffer


def next_block(n_blocks: int, n_revisits: int, max_blocks: int | None, seed: int) -> int:
    """The block of the next step: a new one, ``n_blocks``, or an old one, in rounds that move all equally often."""
    if max_blocks is None or n_blocks < max_blocks:
        return n_blocks
    turn, place = divmod(n_revisits, n_blocks)
    return int(streams.permutation(seed, "revisited blocks", turn, n_blocks)[place])


def share_of_batch(n_examples: int, n_components: int, most: float) -> float:
    """The weight of a batch in running moments: ``most``, or less for a batch with few examples."""
    return min(most, n_examples / (EXAMPLES_OF_A_COMPONENT * n_components))


def second_moment(H: Array) -> np.ndarray:
    """HᵀH/B in float64 on the host, shape (k, k)."""
    return arrays.to_numpy(H.T @ H).astype(np.float64) / H.shape[0]


def floor_sizes(values: np.ndarray, share: float = LEAST_EIGENVALUE, least: float = 1e-300) -> np.ndarray:
    """|values|, at least ``share`` times the largest, and at least ``least``."""
    sizes = np.abs(values)
    return np.maximum(sizes, max(share * float(sizes.max()), least))


def safe_step(step: float, shrinking: np.ndarray) -> float:
    """The step, cut off so that no direction changes its sign if a batch differs much from the running moments."""
    top = float(np.abs(np.linalg.eigvals(shrinking)).max())
    return min(step, 1.0 / top) if top > 0 else step


def absolute_inverse(matrix: np.ndarray, share: float = LEAST_EIGENVALUE, least: float = 1e-300) -> np.ndarray:
    """The inverse of |M| of a symmetric matrix, with eigenvalues of at least a share of the largest."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vectors / floor_sizes(values, share, least)) @ vectors.T


def positive_part(matrix: np.ndarray) -> np.ndarray:
    """A symmetric matrix with its negative eigenvalues set to zero."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vectors * np.clip(values, 0.0, None)) @ vectors.T


def absolute(matrix: np.ndarray) -> np.ndarray:
    """|M| of a symmetric matrix."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vectors * np.abs(values)) @ vectors.T
