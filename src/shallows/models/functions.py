"""Functions of points: sums of kernel functions, and functions of explicit or streamed features.

``scores(X, device, budget)`` of each returns its values at checked points, shape (m, c), on the host. ``budget`` is the
number of bytes that blocks of kernel values or features may take.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse

from .. import arrays, gram, streams
from ..arrays import Array, Device
from ..features import Blocks
from ..kernels import Kernel, Precomputed
from ..ranks import Alone
from ..spectrum.principal_components import Components
from .centering import Centering, check_scores
from .learned_metric import LearnedMetric

BLOCK_NUMBERS = 2**24
"""Numbers of features in a block."""

BLOCK_BYTES = 2**27
"""Bytes of given kernel values of new points that are on the device at a time."""


@dataclass(frozen=True)
class KernelSum:
    """f(x) = Σⱼ aⱼ k(x, xⱼ)."""

    kernel: Kernel
    centering: Centering  # What is subtracted from points
    points: Array  # The augmented points xⱼ, shape (m, d + 2)
    coefficients: Array  # Shape (m, c)
    fitting: bool = False  # Whether the fit is still running; X then has row numbers for a kernel matrix
    components: Components | LearnedMetric | None = None  # What replaces the inputs
    cache: Any = None  # An `EvaluationCache` for points that are evaluated several times during a fit
    ranks: Alone | None = None  # Several processes that evaluate the function together during a fit

    def scores(self, X: Any, device: Device, budget: int) -> np.ndarray:  # noqa: D102
        if self.ranks is not None:
            own = replace(self, ranks=None).scores(X[self.ranks.own_rows(X.shape[0])], device, budget)
            return self.ranks.gather(own, X.shape[0])
        points, a = (arrays.to_device(part, device) for part in (self.points, self.coefficients))
        kept = None if self.cache is None else self.cache.entry_for(X, budget)
        budget = budget if kept is None else kept.budget
        if isinstance(self.kernel, Precomputed) and not (self.fitting and X.shape[1] == 1):
            return _scores_of_kernel_values(X, points, a, device)
        X = X if self.components is None else self.components(X)
        out = np.empty((X.shape[0], a.shape[1]), dtype=np.dtype(str(points.dtype)))
        with device.active(), np.errstate(over="ignore", invalid="ignore"):
            for rows, x, extra in self.centering.new_points(X, device, out.dtype):
                blocks = None if kept is None else kept.blocks.setdefault(rows.start, {})
                product = gram.cross_product(self.kernel, x, points, a, budget=budget, extra=extra, kept=blocks)
                out[rows] = arrays.to_numpy(product)
        return out

    def input_coefficients(self) -> np.ndarray:
        """The coefficients of the inputs with a linear kernel, float64, shape (c, d); an AttributeError for others."""
        own = self.kernel.parameters
        if self.kernel.name != "linear" or own["offset"] or self.components is not None:
            raise AttributeError(
                "coef_ needs a linear kernel without an offset, such as kernel='linear', and no principal components."
            )
        x = self.centering.rows_of(self.points)
        return own["scale"] * (x.T @ self.coefficients.astype(np.float64)).T

    def on_host(self) -> KernelSum:
        """The function after a fit, on the host, without the matrix of a precomputed kernel."""
        return KernelSum(
            Precomputed(None) if isinstance(self.kernel, Precomputed) else self.kernel,
            self.centering,
            arrays.to_numpy(self.points),
            arrays.to_numpy(self.coefficients),
            components=self.components,
        )

    def kept(self) -> tuple[KernelSum, np.ndarray]:
        """The function on the host without the terms whose coefficients are zero, and the numbers of the others."""
        a = arrays.to_numpy(self.coefficients)
        rows = np.flatnonzero(a.any(axis=1))
        return replace(self, points=arrays.take_rows(self.points, rows), coefficients=a[rows]).on_host(), rows


def _scores_of_kernel_values(X: Any, points: Array, coefficients: Array, device: Device) -> np.ndarray:
    """Σⱼ αⱼ k(x, xⱼ) from kernel values, array or CSR; ``points`` are augmented column numbers."""
    columns = arrays.to_numpy(points[:, 0]).astype(np.int64)
    out = np.empty((X.shape[0], coefficients.shape[1]), dtype=np.dtype(str(coefficients.dtype)))
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_BYTES // (8 * max(1, X.shape[1])))):
            block = X[rows]
            block = block.toarray() if scipy.sparse.issparse(block) else block
            values = arrays.to_device(block[:, columns], device, out.dtype)
            out[rows] = arrays.to_numpy(values @ coefficients)
    return out


@dataclass(frozen=True)
class KernelMachines:
    """fⱼ(x) + bⱼ with fⱼ(x) = Σᵢ βᵢⱼ k(x, xᵢ)."""

    function: KernelSum  # All fⱼ, in the precision of the fit
    intercepts: np.ndarray  # Shape (n_problems,)

    @classmethod
    def of(
        cls, kernel: Kernel, centering: Centering, points: Array, coefficients: np.ndarray, intercepts: np.ndarray
    ) -> tuple[KernelMachines, np.ndarray]:
        """The machines on the host without the points that no machine uses, and the numbers of the others."""
        support = np.flatnonzero(coefficients.any(axis=1))
        a = coefficients[support].astype(np.dtype(str(points.dtype)))
        return cls(KernelSum(kernel, centering, arrays.take_rows(points, support), a).on_host(), intercepts), support

    def scores(self, X: Any, device: Device, budget: int) -> np.ndarray:
        """The outputs of all machines, float64, shape (m, n_problems)."""
        out = self.function.scores(X, device, budget)
        check_scores(out, X)
        return out.astype(np.float64) + self.intercepts


@dataclass(frozen=True)
class FeatureFunction:
    """f(x) = φ(x)ᵀA."""

    blocks: Blocks  # φ
    centering: Centering
    coefficients: Array  # A, shape (D, c)
    components: Components | LearnedMetric | None = None  # What replaces the inputs of φ

    def scores(self, X: Any, device: Device, budget: int) -> np.ndarray:  # noqa: D102
        blocks, a = self.blocks.to(device), arrays.to_device(self.coefficients, device)
        X = X if self.components is None else self.components(X)
        out = np.empty((X.shape[0], a.shape[1]), dtype=np.dtype(str(a.dtype)))
        widest = max(span.stop - span.start for span in blocks.spans)
        strip = max(1, budget // 2 // (widest * out.itemsize))
        with device.active(), np.errstate(over="ignore", invalid="ignore"):
            for rows, x, _ in self.centering.new_points(X, device, out.dtype):
                for part in arrays.blocks(x.shape[0], strip):
                    here = slice(rows.start + part.start, rows.start + part.stop)
                    out[here] = arrays.to_numpy(blocks.dot(x[part, :], a))
        return out

    def kept(self) -> tuple[FeatureFunction, None]:
        """The function on the host."""
        host = self.blocks.to(Device("cpu"))
        return replace(self, blocks=host, coefficients=arrays.to_numpy(self.coefficients)), None


@dataclass(frozen=True)
class TransformedFunction:
    """f(x) = h(x)ᵀA with the features h of a fitted transformer."""

    transformer: Any  # A `FeatureMapTransformer`
    coefficients: np.ndarray  # Aᵀ, shape (c, D)
    components: Components | LearnedMetric | None = None  # What replaces the inputs of h

    def scores(self, X: Any, device: Any) -> np.ndarray:
        """Values in float64, shape (m, c)."""
        out = np.empty((X.shape[0], len(self.coefficients)))
        width = 1024 if self.transformer._blocks.is_sparse else self.coefficients.shape[1]
        X = self._inputs(X, device)
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_NUMBERS // width)):
            out[rows] = self.transformer.transform(X[rows]) @ self.coefficients.T
        return out

    def features(self, X: Any, device: Any) -> Iterator[np.ndarray]:
        """Dense features of blocks of checked points."""
        X = self._inputs(X, device)
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_NUMBERS // self.coefficients.shape[1])):
            yield self.transformer.transform(X[rows])

    def _inputs(self, X: Any, device: Any) -> Any:
        """The inputs of h. The transformer is set to the device, to which a model may have been moved after its fit."""
        self.transformer._move_to(device)
        return X if self.components is None else self.components(X)


@dataclass(frozen=True)
class FeatureGaussianProcess:
    """f(x) = βᵀh(x) with a normal β, and independent variances k(x, x) − ‖h(x)‖² that the features do not explain."""

    mean: TransformedFunction
    factor: np.ndarray  # The Cholesky factor of the inverse covariance of β, in units of s, shape (D, D)
    ratio: float  # The noise variance over s
    signal_variance: np.ndarray  # s, shape (c,)

    def deviations(self, X: Any, device: Any) -> np.ndarray:
        """Standard deviations of observations at checked points, shape (m, c)."""
        parts = self._parts_of_variance(X, device)
        variances = np.concatenate([(V**2).sum(axis=0) + own for V, own in parts])
        return np.sqrt(variances[:, None] * self.signal_variance)

    def covariances(self, X: Any, device: Any, budget: int) -> np.ndarray:
        """Covariances of observations at checked points, shape (m, m, c)."""
        n, c = X.shape[0], len(self.mean.coefficients)
        arrays.check_room(f"The covariances of {n:,} points take", 16 * n * n * c, budget, "Take fewer points.")
        parts = list(self._parts_of_variance(X, device))
        V, own = np.hstack([V for V, _ in parts]), np.concatenate([own for _, own in parts])
        return (V.T @ V + np.diag(own))[:, :, None] * self.signal_variance

    def draws(self, X: Any, intercept: np.ndarray, n_samples: int, seed: int, device: Any) -> np.ndarray:
        """Joint draws of observations at checked points, shape (m, c, n_samples)."""
        coefficients = self.mean.coefficients
        c, D = coefficients.shape
        drawn = streams.normal(seed, "coefficients", 0, (D, c * n_samples))
        drawn = scipy.linalg.solve_triangular(self.factor, drawn, lower=True, trans="T")
        out, deviations = [], np.sqrt(self.signal_variance)[:, None]
        for block, H in enumerate(self.mean.features(X, device)):
            own = np.sqrt(left_of_the_kernel(H) + self.ratio)[:, None]
            errors = H @ drawn + own * streams.normal(seed, "noise", block, (len(H), c * n_samples))
            mean = H @ coefficients.T + intercept
            out.append(mean[:, :, None] + deviations * errors.reshape(len(H), c, n_samples))
        return np.concatenate(out)

    def _parts_of_variance(self, X: Any, device: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For blocks of rows, in units of s: V with VᵀV the covariance of βᵀh, and the row's independent variance."""
        for H in self.mean.features(X, device):
            H = H.astype(np.float64, copy=False)
            yield scipy.linalg.solve_triangular(self.factor, H.T, lower=True), left_of_the_kernel(H) + self.ratio


def left_of_the_kernel(H: np.ndarray) -> np.ndarray:
    """k(x, x) − ‖h(x)‖² for kernels with k(x, x) = 1, shape (m,)."""
    return np.maximum(1.0 - np.einsum("ij,ij->i", H, H, dtype=np.float64), 0.0)


@dataclass(frozen=True)
class Expansion:
    """f(x) = Σⱼ φⱼ(x)ᵀAⱼ + b over blocks j of streamed features, which are computed again in every evaluation."""

    problem: Any  # Has the features, the loss and the bytes that the features of an evaluation may take
    state: Any  # Has the coefficients; see `shallows.solvers.expansions.expansion`
    centering: Centering
    dtype: np.dtype

    @property
    def coefficients(self) -> Any:
        """The coefficients of all blocks, shape (n_features, c)."""
        return self.state.coefficients

    def scores(self, X: Any, device: Device, budget: int = 0) -> np.ndarray:
        """The memory is limited by the problem; ``budget`` is ignored."""
        state = self.on(device).state
        out = np.empty((X.shape[0], self.problem.n_outputs), dtype=self.dtype)
        with device.active(), np.errstate(over="ignore", invalid="ignore"):
            for rows, x, _ in self.centering.new_points(X, device, self.dtype):
                out[rows] = arrays.to_numpy(state.shifted_values(self.problem, x))
        return out

    def on(self, device: Device) -> Self:
        """The same function with its coefficients on a device."""
        return self if self.state.device == device else replace(self, state=self.state.to(device))

    def kept(self) -> Self:
        """The function on the host, without room for further blocks, as a file contains it."""
        return replace(self, state=self.state.to(Device("cpu")).trimmed())
