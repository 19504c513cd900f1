"""EigenPro: its settings, the plan of a fit, and the problem and the stepper that are made of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import arrays, spectrum
from ..errors import ShallowsError
from ..gpu import gpu_checks
from ..gram.split_products import split_kernel
from ..kernels import Kernel
from ..solvers.least_squares import device_form, step_rules
from ..solvers.least_squares.conjugate_residuals import ConjugateResiduals
from ..solvers.least_squares.eigenpro import EigenPro
from ..solvers.least_squares.full_length_eigenpro import FullLengthEigenPro, with_functions
from ..solvers.least_squares.kernel_problem import KernelProblem
from ..solvers.least_squares.selection import solver_for
from ..solvers.least_squares.step_rules import StepRule
from ..spectrum import Preconditioner, power_of
from .batch_step_settings import StepSettings
from .choices import Choices
from .machine import SMALL
from .preconditioning import SMALL_FLOOR, Plan, plan_of_steps, step_parameters, subsample_size

RELEASED_BATCH = 256
"""The batch size of the authors' first release."""


@dataclass(frozen=True, kw_only=True)
class EigenProSettings(StepSettings):
    """EigenPro: the top of the spectrum is flattened, so that steps can be larger."""

    rank: int | None = None
    n_subsample: int | None = None
    eigensystem: str = "subsample"
    step_rule: str | Mapping[str, Any] | StepRule = "certified"
    damping: float = 1.0
    power: str | float = "full"
    preconditioner: Preconditioner | str | os.PathLike | None = None
    precision: str = "full"
    n_arrays: ClassVar[int] = 10  # The iterate is kept with an average, so that there are twice as many arrays.
    own_threads: ClassVar[bool] = True

    def given_preconditioner(self) -> Preconditioner | None:  # noqa: D102
        given = self.preconditioner
        if given is None or isinstance(given, Preconditioner):
            return given
        try:
            return spectrum.load_preconditioner(given)
        except FileNotFoundError:
            raise ShallowsError(f"There is no file {given} (preconditioner).") from None

    def n_kept(self, n: int, itemsize: int, budget: int) -> int:  # noqa: D102
        return subsample_size(self, n, itemsize, budget)

    def plan(
        self,
        kernel: Kernel,
        points: Any,
        weights: Any,
        choices: Choices,
        given: Preconditioner | None,
        n_outputs: int,
        seed: int,
        budget: int,
        *,
        all_equal: bool,
    ) -> Plan:
        """Decide the preconditioner, the batch size and the step from the training points."""
        n, itemsize, ridge = points.shape[0], arrays.itemsize(points), choices.regularisation
        p = self._preconditioner(kernel, points, weights, choices, given, seed, budget)
        released = RELEASED_BATCH if self.eigensystem == "rsvd" else None
        batch_size = min(n, self.batch_size or released or _batch_size(p, n))
        if self._uses_large_gpu_batches(points):
            batch_size = device_form.filling_batch(batch_size, n, n_outputs, p.rank, itemsize, budget)
        plan = plan_of_steps(self, kernel, p, batch_size, n, ridge, all_equal=all_equal)
        return self.one_step(plan, n) if all_equal else plan

    def build(
        self, plan: Plan, points: Any, targets: Any, weights: Any, ridge: float, n_outputs: int, budget: int
    ) -> tuple[KernelProblem, Any]:
        """The problem and the stepper, with what the other arrays leave of the budget."""
        p, step_size, cycle = plan.preconditioner, float(plan.step_size), plan.cycle
        on_cpu = arrays.device_of(points).kind == "cpu"
        plain = not (ridge or cycle) and self.precision == "full"
        if self.eigensystem == "rsvd" and plain and (self.shuffle or on_cpu):
            matrix = self.matrix(plan.kernel, points, budget - 2 * p.vectors.nbytes, plan.batch_size)
            return with_functions(KernelProblem(matrix, targets, weights, p)), FullLengthEigenPro(step_size)
        if self.shuffle:
            matrix = self.matrix(plan.kernel, points, budget, plan.batch_size)
            return KernelProblem(matrix, targets, weights, p, ridge), EigenPro(step_size, cycle)
        stepper = solver_for(step_size, cycle, plan.batch_size, n_outputs)
        beside = 0
        if isinstance(stepper, ConjugateResiduals):
            budget -= stepper.held_numbers(*targets.shape, p.rank) * arrays.itemsize(targets)
        else:
            beside = device_form.lifted_bytes(points, targets, p, plan.batch_size)
        kernel = split_kernel(plan.kernel, points) if self.precision == "split" else plan.kernel
        # Beside a ridge the rounding of kept values, 8e-6 at most, is nothing; without one it would be the floor.
        matrix = device_form.gram_on(kernel, points, budget, beside, rounds=ridge > 0)
        problem = KernelProblem(matrix, targets, weights, p, ridge)
        return device_form.problem_and_solver(problem, stepper, plan.batch_size, budget)

    def report(self, plan: Plan, problem: KernelProblem, stepper: Any) -> dict[str, Any]:
        """The entries of ``effective_params_`` about the steps."""
        vectors = plan.preconditioner.vectors
        splits = problem.gram.kernel is not plan.kernel
        return {
            **step_parameters(self, plan),
            "eigensystem": self.eigensystem,
            "solver": type(stepper).__name__,
            **gpu_checks.precision_of_products(arrays.device_of(vectors), str(vectors.dtype)),
            **({"precision_of_blocks": "split"} if splits else {}),
        }

    def _preconditioner(
        self,
        kernel: Kernel,
        points: Any,
        weights: Any,
        choices: Choices,
        given: Preconditioner | None,
        seed: int,
        budget: int,
    ) -> Preconditioner:
        n, ridge, power = points.shape[0], choices.regularisation, power_of(self.power)
        if given is not None:
            if weights is not None:
                raise ShallowsError(
                    "A preconditioner that is handed in knows no sample weights; leave one of the two out."
                )
            return given.to(arrays.device_of(points), points.dtype)
        n_subsample, rank = self._sizes(n, arrays.itemsize(points), budget)
        if self.eigensystem == "rsvd":
            if weights is not None:
                raise ShallowsError("eigensystem='rsvd' knows no sample weights; take eigensystem='subsample'.")
            return spectrum.make_rsvd_preconditioner(
                kernel, points, rank=rank, n_rows=n_subsample, seed=seed, damping=self.damping, power=power
            )
        # Once λ_{q+1} is 1/n a single batch of all n points loses no progress: to flatten more gains nothing. Nor
        # does it below λ/n, since regularisation has the rest at that level.
        smallest = (ridge or float(n > SMALL and self.rank is None)) / n
        return spectrum.make_preconditioner(
            kernel,
            points,
            rank=rank,
            n_subsample=n_subsample,
            seed=seed,
            damping=self.damping,
            power=power,
            weights=weights,
            smallest=smallest,
            smallest_share=SMALL_FLOOR if self.rank is None and n <= SMALL and not ridge else 0.0,
            known=choices.eigensystem() if n_subsample == n else None,
            resolves_more=ridge > 0,
        )

    def _sizes(self, n: int, itemsize: int, budget: int) -> tuple[int, int]:
        """M and q: those of the user, at most n, or sizes chosen from the number of points and the budget."""
        n_subsample, rank = subsample_size(self, n, itemsize, budget), self.rank
        if rank is None:
            rank = n_subsample - 1 if n_subsample == n else n_subsample // 5
        return n_subsample, min(rank, n_subsample - 1)

    def _uses_large_gpu_batches(self, points: Any) -> bool:
        """Whether batches are made larger than half of the critical size, for a GPU to be busy."""
        certified = isinstance(step_rules.make(self.step_rule), step_rules.Certified)
        on_gpu = arrays.device_of(points).kind != "cpu" and points.shape[0] > SMALL
        return on_gpu and certified and self.batch_size is None and self.step_size is None


def _batch_size(p: Preconditioner, n: int) -> int:
    """All rows of a small problem; else half of the critical size, up to which an epoch makes the same progress."""
    return n if n <= SMALL else int(min(n, max(16, p.critical_batch_size() / 2)))
