"""Kernel stochastic gradient descent with the square loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ... import arrays, spectrum
from ...arrays import Array
from ..settings import at_least_zero, count, flag, setting
from .kernel_problem import AveragedState, KernelFit, KernelProblem, KernelSolver, gradient_step, gram_of_rows
from .step_rules import Certified, Cycle, StepPlan, given_step, named_step, one_step, report_steps

RULES = ("certified", "constant")

CONSTANT = 0.75
"""The constant step as a share of the edge of stability, where the largest directions would be reflected instead of
fitted. It is the share of the authors' release, 1.5/λ₁ for large batches."""


@dataclass(frozen=True, kw_only=True)
class KernelSGD(KernelSolver):
    """Stochastic gradients of the square loss in the space of the kernel, without λ: only stopping regularizes.

    Ma and Belkin (2017) call this baseline Pegasos. It is `EigenPro` without a preconditioner (``rank=0,
    n_subsample=1``), with batches of the critical size, and gradients even with few batches.

    Parameters
    ----------
    batch_size : int, optional
        m, the rows of a step. None: at least 16, and β/μ, beyond which larger batches make no faster progress (β:
        largest diagonal value of the kernel, μ: largest eigenvalue of its matrix over n).
    shuffle : bool
        True draws new batches in every epoch, as the authors' release does. False keeps the batches: faster.
    step : float or {"certified", "constant"}
        η for a sum over the batch, or the name of a rule. "certified" is the rule of `EigenPro`. "constant" takes
        1.5/(β + (m − 1)μ), and the last iterate as the model, as the release of Ma and Belkin (2017) does.
    max_epochs : int
        The most passes over the training data.
    tol : float
        Stop after an epoch whose training loss is at most this share of the loss of the zero function.

    Examples
    --------
    >>> from shallows import KernelRidgeClassifier
    >>> from shallows.solvers import KernelSGD
    >>> model = KernelRidgeClassifier(bandwidth="median", n_components=None, solver=KernelSGD(batch_size=64))
    """

    batch_size: int | None = setting(count())
    shuffle: bool = setting(flag())
    step: float | str = setting(named_step(*RULES))
    max_epochs: int = setting(count(default=100))
    tol: float = setting(at_least_zero(5e-3))

    name: ClassVar[str] = "kernel_sgd"
    takes_ridge: ClassVar[bool] = False
    damping: ClassVar[float] = 1.0

    def plan(self, fit: KernelFit) -> StepPlan:
        # A preconditioner of rank 0 changes nothing; λ and β, from which the step follows, are measured with it.
        n, kernel = fit.points.shape[0], fit.kernel
        bare = spectrum.make_preconditioner(
            kernel, fit.points, rank=0, n_subsample=1, seed=fit.seed, weights=fit.weights
        )
        batch_size = min(n, self.batch_size or max(16, round(bare.critical_batch_size())))
        if self.step == "certified" and not fit.all_equal:
            step_size, cycle = bare.step_size(batch_size), Certified().cycle(bare, batch_size, n)
            return StepPlan(kernel, bare, batch_size, step_size, bare.top_eigenvalue, bare.largest_diagonal, cycle)
        step_size = given_step(self) or CONSTANT * bare.step_size(batch_size)
        plan = StepPlan(kernel, None, batch_size, step_size, bare.top_eigenvalue, bare.largest_diagonal)
        return one_step(self, plan, n) if fit.all_equal else plan

    def build(
        self, plan: StepPlan, fit: KernelFit, targets: Array, weights: Array | None
    ) -> tuple[KernelProblem, KernelSGDStepper]:
        matrix = gram_of_rows(plan.kernel, fit.points, fit.budget, plan.batch_size, shuffle=self.shuffle)
        stepper = KernelSGDStepper(float(plan.step_size), plan.cycle)
        return KernelProblem(matrix, targets, weights, plan.preconditioner), stepper

    def report(self, plan: StepPlan, problem: KernelProblem, stepper: Any, run: Any) -> dict[str, Any]:
        return {"solver": self.name, **report_steps(self, plan, run)}


@dataclass(frozen=True)
class KernelSGDStepper:
    """α_S ← α_S − η_t (K_S α − y_S) for a batch S of the rows: `EigenProStepper` without a preconditioner.

    With all rows in the batch it is the iteration of Richardson.
    """

    step_size: float  # η, for a sum over the batch, not divided by the batch size
    cycle: Cycle | None = None  # Factors of η and the average of the iterates. None: constant η, the last iterate

    def init(self, problem: KernelProblem) -> AveragedState:
        return AveragedState(arrays.namespace(problem.targets).zeros_like(problem.targets), self.step_size)

    def step(self, problem: KernelProblem, state: AveragedState, batch: slice) -> AveragedState:
        return gradient_step(problem, state, batch, self.cycle, None)
