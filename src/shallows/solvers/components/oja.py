"""Doubly stochastic kernel PCA: Oja's rule, and the generalized Hebbian rule for single eigenfunctions."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ... import arrays
from ...arrays import Array
from ...features import block_sums
from ...features.fourier import FourierMap
from ..examples import Examples, ExampleSet
from ..expansions.growing_expansion import GrowingExpansion
from ..settings import choice, setting
from .component_steps import (
    ComponentSettings,
    WarmStart,
    absolute_inverse,
    buffer_of,
    floor_sizes,
    next_block,
    random_feature_components,
    safe_step,
    second_moment,
    share_of_batch,
)

SHARE_OF_A_BATCH = 0.1  # weight of a batch in the running moments, if it has enough examples


@dataclass(frozen=True)
class ComponentProblem(ExampleSet):
    """The k functions that span the top of the covariance operator A f = E[f(x) k(x, ·)] of a kernel."""

    features: FourierMap  # of the kernel
    n_components: int  # k
    start: Array  # (n_blocks, width, k): coefficients of the first blocks at the start of a training
    start_moment: np.ndarray | None  # (k, k): E[g(x)g(x)ᵀ] of these functions g, approximately
    points: Array = None  # (n, d): a set, whose slices are batches; None for a stream
    # Whether functions count as their deviation from their mean, as in `sklearn.decomposition.KernelPCA`: the
    # covariance operator is then E[f(x) k(x, ·)] − E[f(x)] E[k(x, ·)]
    centered: bool = False
    budget: int = block_sums.DEFAULT_BUDGET  # bytes for features and frequencies during a step
    # If the functions have more than this many times the variance of the kernel on a batch, the training has diverged
    growth: float = 10.0

    def without_data(self) -> Self:
        return replace(self, start=None, start_moment=None, points=None)


@dataclass
class ComponentState(GrowingExpansion):
    """k functions g = (g₁, …, g_k) during a training."""

    _: KW_ONLY
    step_size: float  # η₁
    moment: np.ndarray  # (k, k): running mean of g(x)g(x)ᵀ, of centered values if the problem is centered
    mean: np.ndarray  # (k,): running mean of g(x)
    n_steps: int = 0
    n_revisits: int = 0  # steps that moved an old block
    last_step: float = 0.0  # η of the last step, after it was made safe
    size: float = 0.0  # mean of ‖g(x)‖² over the last batch: the variance of the components

    @classmethod
    def at(cls, problem: ComponentProblem, step_size: float) -> ComponentState:
        buffer, n_blocks = buffer_of(problem.start), problem.start.shape[0]
        moment, mean = np.array(problem.start_moment, dtype=np.float64), np.zeros(problem.n_components)
        return cls(buffer, n_blocks=n_blocks, step_size=step_size, moment=moment, mean=mean)

    def values(self, problem: ComponentProblem, x: Array) -> Array:
        """g(x), shape (m, k), not centered."""
        return self.evaluate(problem.features, x, problem.budget)

    def observe(self, moment: np.ndarray, mean: np.ndarray, n_examples: int) -> None:
        """Update the running moments with the moments of a batch."""
        share = share_of_batch(n_examples, len(mean), SHARE_OF_A_BATCH)
        self.moment = self.moment + share * (moment - self.moment)
        # The mean is unknown before the first batch.
        self.mean = self.mean + (share if self.n_steps else 1.0) * (mean - self.mean)
        self.size = float(np.trace(moment))

    def take_moments(self, problem: ComponentProblem, n: int) -> None:
        """Replace the running moments of batches by the moments of the first n points."""
        H = self.values(problem.without_data(), problem.points[:n, :])
        mean = arrays.namespace(H).mean(H, axis=0)
        self.mean = arrays.to_numpy(mean).astype(np.float64)
        self.moment = second_moment(H - mean if problem.centered else H)

    def monitored(self) -> tuple[float, float]:
        """The variance of the components on the last batch, and the variance of the kernel, k(x, x) = 1."""
        return self.size, 1.0

    def is_finite(self) -> bool:
        return super().is_finite() and bool(np.isfinite(self.moment).all() and np.isfinite(self.mean).all())

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        held, numbers = super().remember()
        return held | {"moment": self.moment.copy(), "mean": self.mean.copy()}, numbers

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        super().recall(held, numbers)
        self.moment, self.mean = (np.array(held[name], dtype=np.float64) for name in ("moment", "mean"))


@dataclass(frozen=True)
class OjaStepper:
    r"""Oja's rule for the top k eigenfunctions of a kernel's covariance operator, without orthogonalization.

    A step takes B examples, the values H = g(X) of the k functions, and one block of F random features Φ, and sets

        A_block ← A_block + η Φᵀ H S / (BF),        A_j ← A_j (I − η C S)   for all earlier blocks,        C = HᵀH/B.

    S is the identity in the plain rule, and with ``scaled`` the inverse of the running mean of C. ``individual`` uses
    only the upper triangle of C (and the diagonal of its mean), so that columns tend to single eigenfunctions instead
    of their span. Sources: the source of `Oja`; E. Oja (1982); T. D. Sanger (1989) (``individual``).
    """

    step_size: float  # η₁ of the steps η₁ / (1 + ρ (t − 1)); in the plain rule in units of one over an eigenvalue
    decrease: float = 0.0  # ρ ≥ 0
    scaled: bool = True
    individual: bool = False
    max_blocks: int | None = None  # None is without limit
    seed: int = 0  # of the order in which old blocks are revisited

    def init(self, problem: ComponentProblem) -> ComponentState:
        return ComponentState.at(problem, self.step_size)

    def step(self, problem: ComponentProblem, state: ComponentState, batch: slice | Examples) -> ComponentState:
        x, features = problem.take(batch).points, problem.features
        xp, B = arrays.namespace(x), x.shape[0]
        H = state.values(problem, x)
        mean = xp.mean(H, axis=0)
        if problem.centered:
            H = H - mean
        C = second_moment(H)
        state.observe(C, arrays.to_numpy(mean).astype(np.float64), B)
        eta = state.step_size / (1.0 + self.decrease * state.n_steps)
        if not np.isfinite(C).all():
            return state  # The training loop sees it in `monitored`.
        shrinking, S = self._matrices(C, state.moment)
        if self.scaled:
            eta = safe_step(eta, shrinking)
        block = next_block(state.n_blocks, state.n_revisits, self.max_blocks, self.seed)
        weighted = H @ arrays.like(eta / (B * features.block_size) * S, H, H.dtype)
        change, _ = block_sums.correlate(features, block, x, weighted, budget=problem.budget)
        state.mix(arrays.like(np.eye(len(C)) - eta * shrinking, H, xp.float64))
        state.n_revisits += block < state.n_blocks
        state.grow_or_add(block, change)
        state.n_steps += 1
        state.last_step = eta
        return state

    def _matrices(self, C: np.ndarray, running: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """C S, by which old coefficients shrink, and S; shape (k, k) each."""
        if self.individual:
            C = np.triu(C)
        if not self.scaled:
            return C, np.eye(len(C))
        S = np.diag(1.0 / floor_sizes(np.diag(running))) if self.individual else absolute_inverse(running)
        return C @ S, S

    def turn(self, state: ComponentState) -> np.ndarray:
        """The matrix that turns the functions of a state into components, shape (k, k)."""
        return np.eye(len(state.moment)) if self.individual else np.linalg.eigh(state.moment)[1][:, ::-1]

    def eigenvalues(self, state: ComponentState) -> np.ndarray:
        """Eigenvalues of the components, descending unless functions are ``individual``."""
        if self.individual:
            return np.diag(state.moment).copy()
        return np.clip(np.linalg.eigvalsh(state.moment)[::-1], 0.0, None)


@dataclass(frozen=True, kw_only=True)
class Oja(ComponentSettings):
    """Oja's rule for kernel PCA, over random Fourier features that are added step by step.

    Parameters
    ----------
    method : {"subspace", "individual"}
        "subspace": Oja's rule for the span, rotated at the end. "individual": the generalized Hebbian rule.
    scaling : {"eigenvalues", None}
        "eigenvalues": divide steps by running estimates, so that all converge equally fast. None: the printed rule.
    step_size : float, optional
        η₁. None: 1/2; with ``scaling=None`` divided by the largest eigenvalue.
    decrease : float, optional
        ρ in the steps η₁ / (1 + ρ (t − 1)). None: by the gap after the last component, see the method guide.
    block_size : int, optional
        Frequencies of a block. None: about 512, fewer for less than about 5,000 rows.
    max_features : int, optional
        Most random frequencies. None: four times the number of rows, from 512 to 16,384.
    batch_size : int, optional
        Rows of a step, and of slices of `partial_fit`. None: 256 to 8,192, by the eigenvalues of a sample.
    orthogonal : bool, optional
        Make the frequencies of a block orthogonal, which lowers the variance. None: if the kernel allows it.
    n_iter, max_epochs : int, optional
        Most steps and passes. If both are None: three passes, and at least 200 steps.

    Source: B. Xie et al. (2015), "Scale up nonlinear component analysis with doubly stochastic gradients", NIPS 28.

    Examples
    --------
    >>> from shallows.decomposition import DoublyStochasticKernelPCA
    >>> from shallows.solvers import Oja
    >>> model = DoublyStochasticKernelPCA(3, solver=Oja(max_features=2048, n_iter=100))
    >>> model.set_params(solver__n_iter=50).solver.n_iter
    50
    """

    takes_outputs: ClassVar[bool] = False  # Principal components have no targets.

    method: str = setting(choice("subspace", "individual"))
    scaling: str | None = setting(choice("eigenvalues", None))

    def default_batch_size(self, n: int, start: WarmStart, n_components: int, block_size: int) -> int:
        """B such that the functions outside the components blur the smallest component by a twentieth.

        The mean square of a batch's covariance between component k and all others is λ_k Σ_{j>k} λ_j / B.
        """
        smallest = max(float(start.values[n_components - 1]), 1e-12)
        rest = max(0.0, start.variance - float(start.values[:n_components].sum()))
        wanted = max(256.0, 20.0 * n_components, 20.0 * rest / smallest)
        return int(min(n, 2 ** math.ceil(math.log2(min(wanted, 8192.0)))))

    def choose_start(
        self, features: Any, samples: Any, n_components: int, *, n_blocks: int, centered: bool, ridge: float, seed: int
    ) -> WarmStart:
        return random_feature_components(
            features[0], samples[0], n_components, n_blocks=n_blocks, centered=centered, seed=seed
        )

    def build_problem(
        self, features: Any, start: WarmStart, points: Any, n_components: int, *, centered: bool, budget: int
    ) -> ComponentProblem:
        coefficients = arrays.like(np.ascontiguousarray(start.coefficients), points[0], points[0].dtype)
        moment = np.diag(start.values[:n_components])
        return ComponentProblem(features[0], n_components, coefficients, moment, points[0], centered, budget)

    def build(self, values: np.ndarray, n_components: int, *, ridge: float, max_blocks: int, seed: int) -> OjaStepper:
        scaled = self.scaling is not None
        step, decrease = self.steps(values, n_components, scaled=scaled)
        return OjaStepper(step, decrease, scaled, self.method == "individual", max_blocks, seed)
