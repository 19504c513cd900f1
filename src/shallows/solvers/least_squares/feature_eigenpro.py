"""EigenPro for linear models on explicit features; without a preconditioner, stochastic gradient descent on them."""

import os
from dataclasses import dataclass
from typing import Any, ClassVar

from ... import arrays, spectrum
from ...arrays import Array
from ...errors import ShallowsError, UnknownNameError
from ...features import Blocks, Design
from ...spectrum import FeaturePreconditioner
from ..settings import SMALL, at_least_zero, count, setting, share
from .feature_solver import FeatureSolver
from .kernel_problem import AveragedState, KernelFit, residual
from .step_rules import SMALL_FLOOR, Cycle, StepPlan, StepRule, any_step, plan_steps, subsample_size

LEAST_LEVEL, RIDGE_FLOOR = 0.1, 0.1
"""With a ridge, eigendirections below the first number over n are not flattened, and in a small problem those below the
second number times `SMALL_FLOOR`: the steps fit them anyway."""


@dataclass(frozen=True)
class FeatureProblem:
    """Weighted least squares on explicit features: minimize Σᵢ wᵢ ‖φ(xᵢ)ᵀA − yᵢ‖² over A."""

    design: Design  # The features of the n training points
    targets: Array  # (n, c)
    # (n, 1) or (n, c): Sample weights, for all outputs or for each. None: all are one
    weights: Array | None = None
    preconditioner: FeaturePreconditioner | None = None  # None is plain gradient descent
    regularization: float = 0.0  # λ: minimize Σᵢ wᵢ ‖φ(xᵢ)ᵀA − yᵢ‖² + λ ‖A‖²

    @property
    def gram(self) -> Design:
        """The map from coefficients to outputs at the training points."""
        return self.design


def workers_of(x: Array, spans: list[slice]) -> int:
    """The threads that share the ranges of columns of a step: all, or one if there are fewer ranges."""
    n = arrays.workers_for(x)
    return n if n <= len(spans) else 1


@dataclass(frozen=True, kw_only=True)
class FeatureEigenPro(FeatureSolver):
    """EigenPro on features: the top of their spectrum is flattened, so that steps can be larger.

    Parameters
    ----------
    rank : int, optional
        q, the most eigendirections that are flattened; 0: stochastic gradient descent. None: a fifth of the subsample.
    n_subsample : int, optional
        M, the rows that give the eigendirections. None: about 9√n, from 500 to 12,000; all of up to 1,000 rows.
    eigensystem : {"nsvd", "rsvd"}
        By the M × M matrix of inner products, or by a randomized decomposition of the features of the subsample.
    damping : float
        τ in (0, 1]: flattened eigenvalues become τ λ_{q+1}^a λᵢ^(1−a). The paper has τ = ¼ and a = ½.
    power : float
        a in (0, 1]: 1 for eigenvalues of the operator, ½ for singular values of the features, as printed.
    preconditioner : FeaturePreconditioner or path, optional
        A result of `shallows.fitting.feature_preconditioner.fit_feature_preconditioner` on the same training rows with
        the same features and seed, or its file.
    batch_size : int, optional
        m, the rows of a step. None: half of the critical batch size β/μ, or all rows of up to 1,000.
    step : str, rule of `shallows.solvers` or float
        A rule or its name, see `EigenPro`; or η, for a sum over the batch. A rule's step is halved if it diverges.
    max_epochs : int
        The most passes over the training data.
    tol : float
        Stop after an epoch whose training loss is at most this share of the zero function's loss. With λ > 0 and more
        than 10,000 rows, also stop when two epochs in a row lower it by less than twice this share.
    """

    rank: int | None = setting(count(0))
    n_subsample: int | None = setting(count())
    eigensystem: str = "nsvd"
    damping: float = setting(share(0.25))
    power: float = setting(share(1.0))
    preconditioner: FeaturePreconditioner | str | os.PathLike | None = None
    batch_size: int | None = setting(count())
    step: str | float | StepRule = setting(any_step())  # noqa: RUF009
    max_epochs: int = setting(count(default=40))
    tol: float = setting(at_least_zero(5e-3))

    has_epochs: ClassVar[bool] = True

    def check(self) -> None:
        super().check()
        UnknownNameError.check("eigensystem", self.eigensystem, spectrum.EIGENSYSTEMS)

    def plan(self, blocks: Blocks, fit: KernelFit) -> StepPlan:
        """Preconditioner, batch size and step."""
        n, ridge = fit.points.shape[0], fit.ridge
        given = self.preconditioner
        p = self._make(blocks, fit) if given is None else self._checked(given, blocks, fit)
        whole = n <= SMALL and p.n_subsample == n
        critical = n if whole else max(16, p.critical_batch_size() / 2)
        batch_size = int(min(n, self.batch_size or critical))
        return plan_steps(self, fit.kernel, p, batch_size, n, ridge * batch_size / n, all_equal=fit.all_equal)

    def _checked(
        self, given: FeaturePreconditioner | str | os.PathLike, blocks: Blocks, fit: KernelFit
    ) -> FeaturePreconditioner:
        """The user's preconditioner, if it was made for the features of this fit."""
        if not isinstance(given, FeaturePreconditioner):
            given = spectrum.load_feature_preconditioner(given)
        made_for = given.kernel, given.seed, given.vectors.shape[0]
        if fit.weights is not None or made_for != (fit.kernel, fit.seed, blocks.n_features):
            raise ShallowsError(
                f"preconditioner was made for {given.vectors.shape[0]} features of the kernel {given.kernel} with "
                f"random_state={given.seed} and without sample weights. The fit has {blocks.n_features} features of "
                f"{fit.kernel} with random_state={fit.seed}. Make both the same, or leave preconditioner out."
            )
        return given.to(arrays.device_of(fit.points), fit.points.dtype)

    def _make(self, blocks: Blocks, fit: KernelFit) -> FeaturePreconditioner:
        n, ridge = fit.points.shape[0], fit.ridge
        small = self.rank is None and n <= SMALL
        n_subsample, rank = self._sizes(n, blocks.n_features, arrays.itemsize(fit.points), fit.budget)
        floor = SMALL_FLOOR**2 if getattr(blocks.features, "of_kernel_values", False) else SMALL_FLOOR
        level = ridge if small else max(ridge, LEAST_LEVEL if ridge else 1.0)
        return spectrum.make_feature_preconditioner(
            blocks,
            fit.points[:, :-2],
            rank=rank,
            n_subsample=n_subsample,
            eigensystem=self.eigensystem,
            seed=fit.seed,
            damping=self.damping,
            power=float(self.power),
            weights=fit.weights,
            # If λ_{q+1} is 1/n of κ, a single batch of all points makes full progress, so more flattening is useless.
            smallest_share=0.0 if not small else floor * (RIDGE_FLOOR if ridge else 1.0),
            smallest=(ridge if self.rank is not None else level) / n,
        )

    def _sizes(self, n: int, n_features: int, itemsize: int, budget: int) -> tuple[int, int]:
        """M and q: the user's sizes, limited by n and the features, or sizes chosen from the data and the budget."""
        if self.rank == 0:
            return min(n, self.n_subsample or 1), 0
        n_subsample, rank = subsample_size(self, n, itemsize, budget), self.rank
        if rank is None:
            rank = n_subsample - 1 if n_subsample == n else n_subsample // 5
            # The eigenvectors, n_features q numbers, twice during their computation.
            rank = min(rank, max(1, budget // (8 * itemsize * n_features)))
        return n_subsample, max(0, min(rank, n_subsample - 1, n_features - 1))


@dataclass(frozen=True)
class FeatureEigenProStepper:
    """The preconditioned iteration of Ma and Belkin (2017), Table 1, for f(x) = φ(x)ᵀA.

    For a batch S, with g = w (Φ_S A − y_S), it is `EigenPro` with the kernel φ(x)ᵀφ(z), and reads columns in ranges:

        A ← A − η (I − E diag(1 − τ (λ_{q+1}/λᵢ)^a) Eᵀ) (Φ_Sᵀ g + λ A |S|/n)
    """

    step_size: float  # η, for a sum over the batch
    cycle: Cycle | None = None  # Factors of η and the average of the iterates. None keeps η and the last iterate

    def init(self, problem: FeatureProblem) -> AveragedState:
        xp = arrays.namespace(problem.targets)
        shape = (problem.design.n_features, problem.targets.shape[1])
        return AveragedState(xp.zeros(shape, dtype=problem.targets.dtype), self.step_size)

    def step(self, problem: FeatureProblem, state: AveragedState, batch: slice) -> AveragedState:
        design, p = problem.design, problem.preconditioner
        A, spans = state.iterate, design.spans
        # Each range of columns is read before the residual is known and after. It is kept in between if the rows fit.
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
        if problem.regularization:
            # The batch's share of λA.
            moved += (problem.regularization * (batch.stop - batch.start) / problem.targets.shape[0]) * A
        if p is not None and p.rank:
            moved -= p.correction(moved)
        moved *= -step_size
        state.move(slice(0, moved.shape[0]), moved)
        state.advance(share)
        return state
