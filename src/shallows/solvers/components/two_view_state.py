"""Problem, state and settings of component analysis across two views: k functions of each, over random features."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ... import arrays
from ...arrays import Array, Device
from ...errors import TooFewDirectionsError
from ...features import block_sums
from ...features.fourier import FourierMap
from ..examples import Examples, ExampleSet
from ..expansions.growing_expansion import GrowingExpansion
from .component_steps import RESOLUTION, ComponentSettings, buffer_of, second_moment, share_of_batch

MOST_OF_A_BATCH = 0.5
"""Weight of a batch in the running moments, if it has enough examples: divisors must be up to date."""

VIEWS = ("first", "second")
MOMENTS = ("first_moment", "second_moment", "cross_moment", "first_mean", "second_mean")


@dataclass(frozen=True)
class TwoViewProblem(ExampleSet):
    """Functions u = F(x) and v = G(y) of two views of the same examples that are most related."""

    features: FourierMap
    second_features: FourierMap
    n_components: int  # k
    # (n_blocks, width, k): coefficients of the first blocks at the start of a training, see `random_feature_pairs`
    start: Array
    second_start: Array
    points: Array = None  # a set, whose slices are batches; None for a stream
    second_view: Array = None
    centered: bool = False  # whether functions count as their deviation from their mean
    budget: int = block_sums.DEFAULT_BUDGET  # bytes for features and frequencies during a step
    # If the functions are this many times as large as expected on a batch, the training has diverged
    growth: float = 10.0

    def without_data(self) -> Self:
        return replace(self, start=None, second_start=None, points=None, second_view=None)


class ViewExpansion(GrowingExpansion):
    """The functions of one view."""

    def block_coefficients(self, block: int) -> Array:
        """A of one block, shape (width, k)."""
        found = self.buffer[block, :, :] * self.scale
        return found if self.mixing is None else found @ arrays.astype(self.mixing, found.dtype)


@dataclass
class TwoViewState:
    """The state of a training of two views; the moments are of centered values if the problem is centered."""

    first: ViewExpansion  # F
    second: ViewExpansion  # G
    step_size: float  # η₁
    first_moment: np.ndarray  # (k, k): running mean of uuᵀ
    second_moment: np.ndarray  # (k, k): running mean of vvᵀ
    cross_moment: np.ndarray  # (k, k): running mean of uvᵀ
    first_mean: np.ndarray  # (k,): running mean of u
    second_mean: np.ndarray  # (k,): running mean of v
    expected_size: float = 1.0  # limit of the mean of ‖u‖² + ‖v‖²
    n_steps: int = 0
    n_revisits: int = 0  # steps that moved an old block
    last_step: float = 0.0
    size: float = 0.0  # mean of ‖u‖² + ‖v‖² over the last batch

    @classmethod
    def at(cls, problem: TwoViewProblem, step_size: float, expected_size: float) -> TwoViewState:
        first, second = (
            ViewExpansion(buffer_of(start), n_blocks=start.shape[0]) for start in (problem.start, problem.second_start)
        )
        k = problem.n_components
        square, line = np.zeros((k, k)), np.zeros(k)
        return cls(first, second, step_size, square, square, square, line, line, expected_size)

    @property
    def device(self) -> Device:
        return arrays.device_of(self.first.buffer)

    @property
    def n_blocks(self) -> int:
        return self.first.n_blocks

    def values(self, problem: TwoViewProblem, examples: Examples) -> tuple[Array, Array]:
        """Values of u and v, shape (m, k) each, not centered."""
        return (
            self.first.evaluate(problem.features, examples.points, problem.budget),
            self.second.evaluate(problem.second_features, examples.second_view, problem.budget),
        )

    def observe(self, problem: TwoViewProblem, examples: Examples) -> tuple[Array, Array]:
        """The values on a batch, centered if the problem is centered; updates the running moments."""
        u, v = self.values(problem, examples)
        u, v, found = moments(u, v, problem.centered)
        share = share_of_batch(u.shape[0], u.shape[1], MOST_OF_A_BATCH) if self.n_steps else 1.0
        for name, value in found.items():
            before = getattr(self, name)
            setattr(self, name, before + share * (value - before))
        self.size = float(np.trace(found["first_moment"]) + np.trace(found["second_moment"]))
        return u, v

    def coupling(self) -> np.ndarray:
        """W = E[uvᵀ + vuᵀ], shape (k, k)."""
        return self.cross_moment + self.cross_moment.T

    def take_moments(self, problem: TwoViewProblem, n: int) -> None:
        for name, value in moments(*self.values(problem, problem.take(slice(0, n))), problem.centered)[2].items():
            setattr(self, name, value)

    def monitored(self) -> tuple[float, float]:
        """The size of the functions on the last batch, and its expected value."""
        return self.size, self.expected_size

    def is_finite(self) -> bool:
        small = all(np.isfinite(getattr(self, name)).all() for name in MOMENTS)
        return bool(small) and math.isfinite(self.size) and self.first.is_finite() and self.second.is_finite()

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        held = {name: getattr(self, name).copy() for name in MOMENTS}
        numbers = {name: value for name, value in vars(self).items() if isinstance(value, (int, float))}
        for view in VIEWS:
            parts, numbers[view] = getattr(self, view).remember()
            held |= {f"{view}.{name}": array for name, array in parts.items()}
        return held, numbers

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        for view in VIEWS:
            parts = {name.partition(".")[2]: array for name, array in held.items() if name.startswith(f"{view}.")}
            getattr(self, view).recall(parts, numbers[view])
        for name in MOMENTS:
            setattr(self, name, np.array(held[name], dtype=np.float64))
        for name in numbers.keys() - set(VIEWS):
            setattr(self, name, numbers[name])

    def to(self, device: Device) -> Self:
        return replace(self, first=self.first.to(device), second=self.second.to(device))


def moments(u: Array, v: Array, centered: bool) -> tuple[Array, Array, dict[str, np.ndarray]]:
    """Values of two views, perhaps centered, and their moments as `TwoViewState` names them."""
    xp = arrays.namespace(u)
    means = [xp.mean(one, axis=0) for one in (u, v)]
    if centered:
        u, v = u - means[0], v - means[1]
    first, second = (arrays.to_numpy(mean).astype(np.float64) for mean in means)
    cross = arrays.to_numpy(u.T @ v).astype(np.float64) / u.shape[0]
    return u, v, dict(zip(MOMENTS, (second_moment(u), second_moment(v), cross, first, second), strict=True))


@dataclass(frozen=True)
class TwoViewStart:
    """Pairs of functions in the features of the first blocks."""

    first: Array  # (n_blocks, width, k): coefficients
    second: Array  # the same for the other view
    values: np.ndarray  # (at most k + 1,): singular values of the cross-covariance, or canonical correlations

    def report(self, n_components: int) -> dict[str, Any]:
        return {"start_values": self.values[:n_components].tolist()}


def random_feature_pairs(
    features: tuple[Any, Any],
    x: Array,
    y: Array,
    n_components: int,
    *,
    n_blocks: int = 1,
    centered: bool = False,
    ridge: float | None = None,
) -> TwoViewStart:
    """Solve kernel SVD, or kernel CCA with a ridge on both covariances, on the features of the first blocks.

    The functions have half the size of orthonormal singular functions, or of canonical variables with unit variance,
    which are the fixed points of the rules: FᵀF = GᵀG = ½ I for the SVD and FᵀCF = GᵀC'G = ½ I for CCA.
    """
    xp, n = arrays.namespace(x), x.shape[0]
    Z = [f.map(points, n_blocks) for f, points in zip(features, (x, y), strict=True)]
    if centered:
        Z = [one - xp.mean(one, axis=0) for one in Z]
    host = [arrays.to_numpy(one).astype(np.float64) for one in Z]
    cross = host[0].T @ host[1] / n
    factors = [np.eye(one.shape[1]) for one in host]
    if ridge is not None:
        factors = [np.linalg.cholesky(one.T @ one / n + ridge * np.eye(one.shape[1])) for one in host]
        cross = np.linalg.solve(factors[1], np.linalg.solve(factors[0], cross).T).T
    with arrays.one_blas_thread():
        left, values, right = np.linalg.svd(cross, full_matrices=False)
    resolution = RESOLUTION * float(xp.finfo(Z[0].dtype).eps)
    rank = int(np.sum(values > resolution))
    if rank < n_components:
        raise TooFewDirectionsError(
            f"n_components={n_components} is more than the data have: in {n} examples (n_samples = {n}) the views "
            f"share {rank} direction{'' if rank == 1 else 's'} in the spaces of the kernels. Take fewer components."
        )
    k = n_components
    found = []
    for f, factor, vectors in zip(features, factors, (left[:, :k], right[:k].T), strict=True):
        vectors = np.linalg.solve(factor.T, vectors) / math.sqrt(2.0 * n_blocks * f.block_size)
        found.append(arrays.contiguous(arrays.like(vectors.reshape(n_blocks, -1, k), x, x.dtype)))
    first, second = found
    return TwoViewStart(first, second, values[: k + 1])


@dataclass(frozen=True, kw_only=True)
class TwoViewSettings(ComponentSettings):
    """Base of the settings of solvers of two views."""

    # Each of fewer blocks is moved more often: after the default steps, correlations of held-out rows are as large as
    # with four for each row, or larger (digits, and two sets of invented views), in a third of the time.
    features_per_row: ClassVar[int] = 1

    def start_ridge(self, ridge: float) -> float | None:
        """The ridge of `random_feature_pairs`, by the ridge of the estimator."""
        return None

    def choose_start(
        self, features: Any, samples: Any, n_components: int, *, n_blocks: int, centered: bool, ridge: float, seed: int
    ) -> TwoViewStart:
        x, y = samples
        return random_feature_pairs(
            features, x, y, n_components, n_blocks=n_blocks, centered=centered, ridge=self.start_ridge(ridge)
        )

    def build_problem(
        self, features: Any, start: TwoViewStart, points: Any, n_components: int, *, centered: bool, budget: int
    ) -> TwoViewProblem:
        (f, g), (x, y) = features, points
        first, second = (arrays.like(np.ascontiguousarray(part), x, x.dtype) for part in (start.first, start.second))
        return TwoViewProblem(f, g, n_components, first, second, x, y, centered, budget)
