"""Regularized risk over the span of kernel functions or of explicit features, and the base of solver states.

All solvers minimize P(f) = λ/2 ‖f‖² + (1/n) Σᵢ wᵢ ℓ(f(xᵢ) + b, yᵢ) with a given intercept b. A span evaluates f on
training rows, and adds Σ_{i∈S} δᵢ k(xᵢ, ·) to f in its own coefficients; k may be the product of explicit features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ... import arrays, kernels
from ...arrays import Array
from ...features.base import inner_products
from ...features.design import Design
from ...gram import LazyGram
from ...losses import Loss
from ...losses.margins import Hinge
from ..array_state import ArrayState
from ..settings import Settings, at_least_zero, count, setting


@dataclass(frozen=True)
class KernelSpan:
    """f = Σⱼ aⱼ k(xⱼ, ·) over the n training points; coefficients of shape (n, c)."""

    gram: LazyGram  # the kernel matrix

    @property
    def n(self) -> int:
        return self.gram.n

    def zero(self, targets: Array) -> Array:
        """The coefficients of the zero function."""
        return arrays.namespace(targets).zeros_like(targets)

    def scores(self, coefficients: Array, batch: slice, n_visited: int | None = None) -> Array:
        """Values of f on a batch, shape (m, c); coefficients of rows from ``n_visited`` on are zero."""
        if n_visited == 0:
            shape = (batch.stop - batch.start, coefficients.shape[1])
            return arrays.namespace(coefficients).zeros(shape, dtype=coefficients.dtype)
        return self.gram.rows_dot(batch, coefficients, n_visited)

    def products(self, batch: slice) -> Array:
        """k(xᵢ, xⱼ) within a batch, shape (m, m)."""
        return kernels.matrix(self.gram.kernel, self.gram.points[batch, :])

    def add(self, coefficients: Array, batch: slice, change: Array) -> None:
        """Change f to f + Σ changeᵢ k(xᵢ, ·) over the rows of a batch."""
        coefficients[batch, :] += change

    def norm_squared(self, coefficients: Array) -> float:
        """‖f‖² summed over outputs."""
        xp = arrays.namespace(coefficients)
        return float(xp.sum(coefficients * self.gram.dot(coefficients)))


@dataclass(frozen=True)
class FeatureSpan:
    """f(x) = φ(x)ᵀw for explicit features; coefficients of shape (D, c). It has the methods of a `KernelSpan`."""

    design: Design  # the features of the training points
    # Bytes for rows that ``design`` does not keep: all rows are kept if they fit, else the rows of the last batch
    budget: int = 0
    _held: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def n(self) -> int:
        return self.design.n

    def rows(self, batch: slice) -> Any:
        """φ of the rows of a batch, shape (m, D); a CSR matrix if the features are sparse."""
        if self.design.kept:
            return self.design.rows(batch)
        if self._held.get("batch") == batch:
            return self._held["rows"]
        if self._store is None:
            self._held.update(batch=batch, rows=self.design.rows(batch))
            return self._held["rows"]
        if not self._held["filled"][batch].all():
            self._store[batch, :] = self.design.rows(batch)
            self._held["filled"][batch] = True
        return self._store[batch, :]

    @property
    def _store(self) -> Array | None:
        points, shape = self.design.points, (self.design.n, self.design.n_features)
        if self.design.blocks.is_sparse or math.prod(shape) * arrays.itemsize(points) > self.budget:
            return None
        if "all" not in self._held:
            self._held["all"] = arrays.namespace(points).empty(shape, dtype=points.dtype)
            self._held["filled"] = np.zeros(shape[0], dtype=bool)
        return self._held["all"]

    def zero(self, targets: Array) -> Array:
        xp = arrays.namespace(targets)
        return xp.zeros((self.design.n_features, targets.shape[1]), dtype=targets.dtype)

    def scores(self, coefficients: Array, batch: slice, n_visited: int | None = None) -> Array:
        return self.rows(batch) @ coefficients

    def products(self, batch: slice) -> Array:
        rows = self.rows(batch)
        return inner_products(rows, rows)

    def add(self, coefficients: Array, batch: slice, change: Array) -> None:
        coefficients += self.rows(batch).T @ change

    def norm_squared(self, coefficients: Array) -> float:
        return float(arrays.namespace(coefficients).sum(coefficients * coefficients))


@dataclass(frozen=True)
class RiskProblem:
    """Minimize λ/2 ‖f‖² + (1/n) Σ wᵢ ℓ(f(xᵢ) + b, yᵢ)."""

    span: KernelSpan | FeatureSpan
    targets: Array  # (n, c): in the coding of the loss
    loss: Any
    regularization: float  # λ > 0
    weights: Array | None = None  # (n, 1): with mean 1
    # A batch loss of more than this many times the zero function's loss means divergence
    growth: float = math.inf
    intercept: Array | None = None  # (c,): b, which scores do not include; None is 0

    @property
    def feature_span(self) -> FeatureSpan:
        """The span, for solvers of explicit features."""
        if not isinstance(self.span, FeatureSpan):
            raise TypeError("This solver needs explicit features.")
        return self.span

    def shifted(self, scores: Array) -> Array:
        return scores if self.intercept is None else scores + self.intercept

    def losses(self, scores: Array, batch: slice) -> float:
        """Σ wᵢ ℓ over a batch."""
        return float(self._losses(scores, batch))

    def losses_and_zero_losses(self, scores: Array, batch: slice) -> tuple[float, float]:
        """Σ wᵢ ℓ of f and of the zero function; the host waits only once for a GPU."""
        xp = arrays.namespace(scores)
        both = [self._losses(part, batch) for part in (scores, xp.zeros_like(scores))]
        if arrays.is_numpy(scores):
            return float(both[0]), float(both[1])
        of_f, of_zero = arrays.to_numpy(xp.stack(both)).tolist()
        return of_f, of_zero

    def _losses(self, scores: Array, batch: slice) -> Array:
        each = self.loss.value(self.shifted(scores), self.targets[batch, :])
        return arrays.namespace(scores).sum(each if self.weights is None else each * self.weights[batch, 0])

    def gradient(self, scores: Array, batch: slice) -> Array:
        """wᵢ ℓ' over a batch, shape (m, c)."""
        G = self.loss.derivative(self.shifted(scores), self.targets[batch, :])
        return G if self.weights is None else G * self.weights[batch, :]

    def objective(self, coefficients: Array, rows: int = 4096) -> float:
        """P(f), from all rows."""
        n = self.span.n
        total = sum(self.losses(self.span.scores(coefficients, batch), batch) for batch in arrays.blocks(n, rows))
        return 0.5 * self.regularization * self.span.norm_squared(coefficients) + total / n

    def training_scores(self, state: RiskState) -> np.ndarray:
        """Values of f at all training points, float64 on the host, shape (n, c)."""
        scores = np.empty(self.targets.shape, dtype=np.float64)
        for rows in arrays.blocks(self.span.n, 4096):
            scores[rows] = arrays.to_numpy(self.span.scores(state.coefficients, rows, state.n_visited))
        return scores


@dataclass
class RiskState(ArrayState):
    """Base of the states of solvers of a regularized risk."""

    coefficients: Array  # (n, c) or (D, c): of f in its span
    step_size: float = math.nan  # in the solver's unit
    n_steps: int = 0
    n_visited: int = 0  # rows from here on were not visited yet
    loss: float = 0.0  # Σ wᵢ ℓ over the last batch before its step
    zero_loss: float = 0.0  # the same for the zero function

    def evaluate(self, problem: RiskProblem, batch: slice, coefficients: Array | None = None) -> Array:
        """Scores of a batch by these coefficients, or by the state's own; stores its losses."""
        coefficients = self.coefficients if coefficients is None else coefficients
        scores = problem.span.scores(coefficients, batch, self.n_visited)
        self.loss, self.zero_loss = problem.losses_and_zero_losses(scores, batch)
        return scores

    def monitored(self) -> tuple[float, float]:
        return self.loss, self.zero_loss

    def advance(self, batch: slice) -> None:
        self.n_steps += 1
        self.n_visited = max(self.n_visited, batch.stop)


@dataclass(frozen=True, kw_only=True)
class RiskSettings(Settings):
    """Base of the settings of solvers of a regularized risk, which add ``build(problem, batch_size)`` of a stepper."""

    batch_size: int | None = setting(count())
    max_epochs: int = setting(count(default=20))
    tol: float = setting(at_least_zero(0.0))

    takes: ClassVar[str] = "kernels and features"
    """Or "kernels", or "features"."""
    default_loss: ClassVar[Loss] = Hinge()
    """The loss of a classifier with ``loss="auto"``."""
    draws_batches: ClassVar[bool] = False
    """Whether batches are drawn with replacement after the first epoch; otherwise each epoch has all of them."""
    least_ridge: ClassVar[float] = 0.0
    """The smallest nλ that may be chosen for regression."""

    def why_not(self, loss: Loss) -> str:
        """The reason why the solver cannot minimize a loss; empty if it can."""
        return ""

    def growth(self, loss: Loss) -> float:
        """The multiple of the zero function's loss at which a training has diverged."""
        return math.inf

    def build(self, problem: RiskProblem, batch_size: int) -> Any:
        raise NotImplementedError
