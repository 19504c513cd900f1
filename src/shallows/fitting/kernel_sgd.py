"""Kernel SGD: its settings, the plan of a fit, and the problem and the stepper that are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import spectrum
from ..kernels import Kernel
from ..solvers.least_squares import step_rules
from ..solvers.least_squares.averaged_richardson import AveragedRichardson
from ..solvers.least_squares.kernel_problem import KernelProblem
from ..solvers.least_squares.richardson import Richardson
from .batch_step_settings import StepSettings
from .choices import Choices
from .preconditioning import Plan

CONSTANT = 0.75
"""The constant step as a share of the edge of stability, at which the largest directions would be reflected rather than
fitted: that of the authors' release, 1.5/λ₁ for large batches."""


@dataclass(frozen=True, kw_only=True)
class KernelSGDSettings(StepSettings):
    """Kernel SGD: gradient steps, whose model is an average of the iterates by the certified rule."""

    step_rule: str = "certified"

    def plan(
        self,
        kernel: Kernel,
        points: Any,
        weights: Any,
        choices: Choices,
        given: None,
        n_outputs: int,
        seed: int,
        budget: int,
        *,
        all_equal: bool,
    ) -> Plan:
        """Decide the batch size and the step from the training points."""
        # A preconditioner of rank 0 changes nothing; λ and β, from which the step follows, are measured with it.
        n = points.shape[0]
        bare = spectrum.make_preconditioner(kernel, points, rank=0, n_subsample=1, seed=seed, weights=weights)
        batch_size = min(n, self.batch_size or max(16, round(bare.critical_batch_size())))
        if self.step_rule == "certified" and self.step_size is None and not all_equal:
            step_size, cycle = step_rules.planned("certified", bare, batch_size, n)
            return Plan(kernel, bare, batch_size, step_size, bare.top_eigenvalue, bare.largest_diagonal, cycle)
        step_size = self.step_size or CONSTANT * bare.step_size(batch_size)
        plan = Plan(kernel, None, batch_size, step_size, bare.top_eigenvalue, bare.largest_diagonal)
        return self.one_step(plan, n) if all_equal else plan

    def build(
        self, plan: Plan, points: Any, targets: Any, weights: Any, ridge: float, n_outputs: int, budget: int
    ) -> tuple[KernelProblem, Any]:
        """The problem and the stepper, with what the other arrays leave of the budget."""
        matrix = self.matrix(plan.kernel, points, budget, plan.batch_size)
        step_size, cycle = float(plan.step_size), plan.cycle
        stepper = Richardson(step_size) if cycle is None else AveragedRichardson(step_size, cycle)
        return KernelProblem(matrix, targets, weights, plan.preconditioner), stepper

    def report(self, plan: Plan, problem: KernelProblem, stepper: Any) -> dict[str, Any]:
        """The entries of ``effective_params_`` about the steps."""
        return {"step_rule": self.step_rule if self.step_size is None else "given"}
