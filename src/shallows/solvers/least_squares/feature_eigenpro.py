"""EigenPro for linear models on explicit features; without a preconditioner, stochastic gradient descent on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ... import arrays
from ...arrays import Array
from ...features.design import Design
from ...spectrum import FeaturePreconditioner
from .cycles import Cycle
from .kernel_problem import AveragedState
from .richardson import residual


@dataclass(frozen=True)
class FeatureProblem:
    """Weighted least squares on explicit features: minimise Σᵢ wᵢ ‖φ(xᵢ)ᵀA − yᵢ‖² over A."""

    design: Design  # The features of the n training points
    targets: Array  # (n, c)
    # (n, 1) or (n, c): Sample weights, for all outputs alike or for each; none means one each
    weights: Array | None = None
    preconditioner: FeaturePreconditioner | None = None  # None is plain gradient descent
    regularisation: float = 0.0  # λ: minimise Σᵢ wᵢ ‖φ(xᵢ)ᵀA − yᵢ‖² + λ ‖A‖²

    @property
    def gram(self) -> Design:
        """What turns coefficients into outputs at the training points."""
        return self.design


def workers_of(x: Array, spans: list[slice]) -> int:
    """How many threads of our own share the ranges of columns of a step.

    All, if there is a range for each; else one, so that the map and BLAS have the others.
    """
    n = arrays.workers_for(x)
    return n if n <= len(spans) else 1


@dataclass(frozen=True)
class FeatureEigenPro:
    """The preconditioned iteration of Ma and Belkin (2017), Table 1, for f(x) = φ(x)ᵀA.

    For a batch S, with g = w (Φ_S A − y_S):

        A ← A − η (I − E diag(1 − τ (λ_{q+1}/λᵢ)^a) Eᵀ) (Φ_Sᵀ g + λ A |S|/n)

    It is `EigenPro` with the kernel φ(x)ᵀφ(z): the same steps make the same predictions. The features are gone through
    in ranges of columns, so that not even one row of them need be whole in memory.

    Parameters
    ----------
    step_size : float
        η, for a sum over the batch.
    cycle : Cycle, optional
        Factors of η from step to step, and how the iterates are averaged, see `shallows.solvers.least_squares.cycles`;
        none keeps η as it is and the last iterate.
    """

    step_size: float
    cycle: Cycle | None = None

    def init(self, problem: FeatureProblem) -> AveragedState:
        """Coefficients of zero, shape (n_features, c)."""
        xp = arrays.namespace(problem.targets)
        shape = (problem.design.n_features, problem.targets.shape[1])
        return AveragedState(xp.zeros(shape, dtype=problem.targets.dtype), self.step_size)

    def step(self, problem: FeatureProblem, state: AveragedState, batch: slice) -> AveragedState:
        """One batch."""
        design, p = problem.design, problem.preconditioner
        A, spans = state.iterate, design.spans
        # Each range of columns is read twice: before the residual is known and after. Where the batch's rows fit they
        # are kept in between.
        held, n_workers = design.holds(batch.stop - batch.start), workers_of(A, spans)
        blocks: list[Any] = [None] * len(spans)
        parts: list[Any] = [None] * len(spans)

        def forward(worker: int) -> None:
            for k in range(worker, len(spans), n_workers):
                block = design.block(batch, k)
                parts[k] = arrays.thin_product(block, A[spans[k], :])
                blocks[k] = block if held else None

        arrays.in_threads(forward, n_workers)
        gradient, state.loss = residual(problem, arrays.sum_in_order(parts), batch)
        factor, share = (1.0, 0.0) if self.cycle is None else self.cycle.at(state.n_steps)
        step_size = state.step_size * factor
        moved = arrays.namespace(A).empty_like(A)

        def back(worker: int) -> None:
            for k in range(worker, len(spans), n_workers):
                block = blocks[k] if held else design.block(batch, k)
                moved[spans[k], :] = arrays.thin_product(block.T, gradient)

        arrays.in_threads(back, n_workers)
        if problem.regularisation:
            # The batch's share of λA.
            moved += (problem.regularisation * (batch.stop - batch.start) / problem.targets.shape[0]) * A
        if p is not None and p.rank:
            moved -= p.correction(moved)
        moved *= -step_size
        state.move(slice(0, moved.shape[0]), moved)
        state.advance(share)
        return state
