"""Problem and state of the components of explicit features, and the settings that all their solvers have."""

from __future__ import annotations

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
from ..components.moments import share_of_batch
from ..components.warm_start import random_feature_components
from ..examples import Examples
from ..settings import Settings

ROWS = 4096  # rows at a time of a pass over all of them
SHARE_OF_A_BATCH = 0.1  # weight of a batch in the running moment, if it has examples enough
FIRST_STEP = 0.5  # in units of 1/λ_k; orthonormal columns cannot grow, so that the largest eigenvalue sets no bound


@dataclass(frozen=True)
class FeaturePCAProblem:
    """The k orthonormal directions w that hold most of E[(wᵀz(x))²], or of the variance of wᵀz(x)."""

    blocks: Blocks  # z, with dense rows
    n_components: int  # k
    start: Array | None  # (D, k): orthonormal columns that a training starts from; None where one goes on
    design: Design | None = None  # The features of a training set, whose rows batches are; None for a stream
    centred: bool = True  # Whether features count as their deviation from their mean

    def features(self, batch: slice | Examples) -> Array:
        """The features of a batch, shape (m, D), not centred."""
        if not isinstance(batch, Examples):
            return self.design.rows(batch)
        return self.blocks.to(arrays.device_of(batch.points)).map(batch.points)

    def passes_over(self, mean: Array, most: int | None = None) -> Iterator[Array]:
        """Yield the features of all rows of the training set, or of the first ones, less a mean."""
        for rows in arrays.blocks(min(self.design.n, most or self.design.n), ROWS):
            yield self.features(rows) - mean


@dataclass
class FeaturePCAState(ArrayState):
    """Where a training of components of features stands; the first k columns of the coefficients are the components."""

    coefficients: Array  # (D, r), r ≥ k: orthonormal columns
    mean: Array  # (D,): of the features of all examples so far, or of the training set; 0 if they are not centred
    moment: Array  # (k, k): running mean of hhᵀ, with the values h of the components
    n_rows: int = 0  # Examples that the mean is of
    n_steps: int = 0
    held: float = 0.0  # Mean of ‖h‖² over the last batch
    variance: float = 1.0  # Mean of ‖z‖² over the last batch, centred

    @classmethod
    def at(cls, problem: FeaturePCAProblem, **more: Any) -> Self:
        """The start that a problem tells, with the mean of its training set."""
        W, k = problem.start, problem.n_components
        xp = arrays.namespace(W)
        state = cls(W, xp.zeros_like(W[:, 0]), xp.zeros((k, k), dtype=W.dtype), **more)
        if problem.centred and problem.design is not None:
            total = xp.zeros_like(state.mean)
            for Z in problem.passes_over(state.mean):
                total += xp.sum(Z, axis=0)
            state.mean, state.n_rows = total / problem.design.n, problem.design.n
        return state

    @property
    def device(self) -> Device:
        """Where the coefficients lie."""
        return arrays.device_of(self.coefficients)

    def take(self, problem: FeaturePCAProblem, batch: slice | Examples) -> tuple[Array, Array]:
        """Features Z (m, D) of a batch, centred if that is asked for, and the components' values H = ZW (m, k).

        Examples of a stream change the mean before they are centred. The running moment takes in the values.
        """
        Z, k = problem.features(batch), problem.n_components
        xp, m = arrays.namespace(Z), Z.shape[0]
        if problem.centred:
            if isinstance(batch, Examples):
                self.n_rows += m
                self.mean = self.mean + (xp.mean(Z, axis=0) - self.mean) * (m / self.n_rows)
            Z = Z - self.mean
        H = Z @ self.coefficients[:, :k]
        share = share_of_batch(m, k, SHARE_OF_A_BATCH) if self.n_steps else 1.0
        self.moment = self.moment + (H.T @ H / m - self.moment) * share
        self.held, self.variance = (float(xp.sum(values * values)) / m for values in (H, Z))
        return Z, H

    def advance(self, W: Array | None = None) -> Self:
        """Count a step, which made other coefficients or, as where examples are gathered, none."""
        if W is not None:
            k = self.moment.shape[0]
            turn = self.coefficients[:, :k].T @ W[:, :k]
            self.moment, self.coefficients = turn.T @ self.moment @ turn, W
        self.n_steps += 1
        return self

    def monitored(self) -> tuple[float, float]:
        """The variance that the components held of the last batch, against all that it has."""
        return self.held, self.variance

    def to(self, device: Device) -> Self:
        """The same state on a device."""
        held = {one.name: getattr(self, one.name) for one in fields(self)}
        moved = {name: arrays.to_device(value, device) for name, value in held.items() if getattr(value, "ndim", 0)}
        return replace(self, **moved)


@dataclass(frozen=True)
class FeaturePCAPlan:
    """What a solver chooses its steps from."""

    n_rows: int  # Of the training set, or of the rows that a stream begins with
    eigenvalues: np.ndarray  # (at most k + 1,): of a sample's covariance, descending
    n_components: int

    @property
    def step_size(self) -> float:
        """`FIRST_STEP` / λ_k."""
        return FIRST_STEP / float(self.eigenvalues[self.n_components - 1])


@dataclass(frozen=True, kw_only=True)
class FeaturePCASettings(Settings):
    """What can be set of every solver of components of features; a solver adds its own fields and says what it can do.

    Parameters
    ----------
    batch_size : int, optional
        Rows of a step. None takes ``default_batch_size``.
    n_iter, max_epochs : int, optional
        The most steps and the most passes over the data. If both are None, ``n_passes`` passes and at least 200 steps.
    """

    batch_size: int | None = None
    n_iter: int | None = None
    max_epochs: int | None = None

    default_batch_size: ClassVar[int] = 256
    n_passes: ClassVar[int] = 3
    streams: ClassVar[bool] = True
    """Whether rows may be seen once only; otherwise there are passes over a training set."""

    def build(self, plan: FeaturePCAPlan) -> Any:
        """The stepper for what is known of the data."""
        raise NotImplementedError


def sample_components(Z: Array, n_components: int, seed: int, *, centred: bool) -> tuple[Array, np.ndarray]:
    """Components of a sample's features (m, D): directions, shape (D, k), and at most k + 1 eigenvalues."""
    if n_components > Z.shape[1]:
        raise TooFewDirectionsError(
            f"n_components={n_components} is more than there are features, {Z.shape[1]} of {Z.shape[0]} points "
            f"(n_samples = {Z.shape[0]}). Take fewer components, or more features or points."
        )
    made = SimpleNamespace(map=lambda features, n_blocks: features, block_size=1)
    scale = max(float(arrays.namespace(Z).sum(Z * Z)) / Z.shape[0], 1e-30)  # as if k(x, x) were 1
    found = random_feature_components(made, Z / math.sqrt(scale), n_components, centred=centred, seed=seed)
    return found.coefficients[0, :, :], found.eigenvalues * scale
