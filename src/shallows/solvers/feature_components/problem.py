"""Problem, state and settings of the components of explicit features."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np

from ... import arrays
from ...arrays import Array, Device
from ...errors import TooFewDirectionsError
from ...features.design import Blocks, Design
from ..array_state import ArrayState
from ..components.component_steps import FIRST_STEP, random_feature_components, share_of_batch
from ..examples import Examples
from ..settings import Settings, count, setting

ROWS = 4096  # rows at a time of a pass over all of them
SHARE_OF_A_BATCH = 0.1  # weight of a batch in the running moment, if it has enough examples


@dataclass(frozen=True)
class FeaturePCAProblem:
    """The k orthonormal directions w with the largest E[(wᵀz(x))²], or the largest variance of wᵀz(x)."""

    blocks: Blocks  # z, with dense rows
    n_components: int  # k
    start: Array  # None for a stream; (D, k): orthonormal columns at the start of a training
    design: Design | None = None  # the features of a training set, whose rows are batches; None for a stream
    centered: bool = True  # whether features count as their deviation from their mean

    @property
    def training_set(self) -> Design:
        """The features of a training set; a stream has none."""
        if self.design is None:
            raise ValueError("The rows of a stream are seen only once.")
        return self.design

    def features(self, batch: slice | Examples) -> Array:
        """The features of a batch, shape (m, D), not centered."""
        if not isinstance(batch, Examples):
            return self.training_set.rows(batch)
        return self.blocks.to(arrays.device_of(batch.points)).map(batch.points)

    def passes_over(self, mean: Array, most: int | None = None) -> Iterator[Array]:
        """Yield the features of all rows of the training set, or of the first ``most``, less a mean."""
        n = self.training_set.n
        for rows in arrays.blocks(min(n, most or n), ROWS):
            yield self.features(rows) - mean


@dataclass
class FeaturePCAState(ArrayState):
    """The state of a training; the first k columns of the coefficients are the components."""

    coefficients: Array  # (D, r), r ≥ k: orthonormal columns
    mean: Array  # (D,): of the features of all examples so far, or of the training set; 0 without centering
    moment: Array  # (k, k): running mean of hhᵀ, with the values h of the components
    n_rows: int = 0  # examples in the mean
    n_steps: int = 0
    explained: float = 0.0  # mean of ‖h‖² over the last batch
    variance: float = 1.0  # mean of ‖z‖² over the last batch, centered

    @classmethod
    def at(cls, problem: FeaturePCAProblem, **more: Any) -> Self:
        """The start of the problem, with the mean of its training set."""
        W, k = problem.start, problem.n_components
        xp = arrays.namespace(W)
        state = cls(W, xp.zeros_like(W[:, 0]), xp.zeros((k, k), dtype=W.dtype), **more)
        if problem.centered and problem.design is not None:
            total = xp.zeros_like(state.mean)
            for Z in problem.passes_over(state.mean):
                total += xp.sum(Z, axis=0)
            state.mean, state.n_rows = total / problem.design.n, problem.design.n
        return state

    @property
    def device(self) -> Device:
        return arrays.device_of(self.coefficients)

    def take(self, problem: FeaturePCAProblem, batch: slice | Examples) -> tuple[Array, Array]:
        """Features Z (m, D) of a batch, centered if the problem is, and their values H = ZW (m, k); updates moments."""
        Z, k = problem.features(batch), problem.n_components
        xp, m = arrays.namespace(Z), Z.shape[0]
        if problem.centered:
            if isinstance(batch, Examples):
                self.n_rows += m
                self.mean = self.mean + (xp.mean(Z, axis=0) - self.mean) * (m / self.n_rows)
            Z = Z - self.mean
        H = Z @ self.coefficients[:, :k]
        share = share_of_batch(m, k, SHARE_OF_A_BATCH) if self.n_steps else 1.0
        self.moment = self.moment + (H.T @ H / m - self.moment) * share
        self.explained, self.variance = (float(xp.sum(values * values)) / m for values in (H, Z))
        return Z, H

    def advance(self, W: Array | None = None) -> Self:
        """Count a step, with new coefficients or, while examples are collected, without."""
        if W is not None:
            k = self.moment.shape[0]
            turn = self.coefficients[:, :k].T @ W[:, :k]
            self.moment, self.coefficients = turn.T @ self.moment @ turn, W
        self.n_steps += 1
        return self

    def monitored(self) -> tuple[float, float]:
        """The variance of the components on the last batch, and all its variance."""
        return self.explained, self.variance

    def to(self, device: Device) -> Self:
        held = {one.name: getattr(self, one.name) for one in fields(self)}
        moved = {name: arrays.to_device(value, device) for name, value in held.items() if getattr(value, "ndim", 0)}
        return replace(self, **moved)


@dataclass(frozen=True)
class FeaturePCAPlan:
    """What a solver chooses its steps from."""

    n_rows: int  # of the training set, or of the first rows of a stream
    eigenvalues: np.ndarray  # (at most k + 1,): of a sample's covariance, descending
    n_components: int

    @property
    def step_size(self) -> float:
        """`FIRST_STEP` / λ_k: orthonormal columns cannot grow, so the largest eigenvalue sets no limit."""
        return FIRST_STEP / float(self.eigenvalues[self.n_components - 1])


@dataclass(frozen=True, kw_only=True)
class FeaturePCASettings(Settings):
    """Base of the settings of solvers of components of features."""

    batch_size: int | None = setting(count())
    n_iter: int | None = setting(count())
    max_epochs: int | None = setting(count())

    default_batch_size: ClassVar[int] = 256
    n_passes: ClassVar[int] = 3
    takes_weights: ClassVar[bool] = False
    takes_outputs: ClassVar[bool] = False  # Principal components have no targets.
    is_online: ClassVar[bool] = True

    def build(self, plan: FeaturePCAPlan) -> Any:
        raise NotImplementedError


def sample_components(Z: Array, n_components: int, seed: int, *, centered: bool) -> tuple[Array, np.ndarray]:
    """Components of a sample's features (m, D): directions, shape (D, k), and at most k + 1 eigenvalues."""
    if n_components > Z.shape[1]:
        raise TooFewDirectionsError(
            f"n_components={n_components} is more than there are features, {Z.shape[1]} of {Z.shape[0]} points "
            f"(n_samples = {Z.shape[0]}). Take fewer components, or more features or points."
        )
    identity = SimpleNamespace(map=lambda features, n_blocks: features, block_size=1)
    scale = max(float(arrays.namespace(Z).sum(Z * Z)) / Z.shape[0], 1e-30)  # as if k(x, x) were 1
    found = random_feature_components(identity, Z / math.sqrt(scale), n_components, centered=centered, seed=seed)
    return found.coefficients[0, :, :], found.values * scale
