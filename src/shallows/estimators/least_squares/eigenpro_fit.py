"""What EigenPro does in a fit, for classes and for values alike: parameters, plan and solver."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ... import arrays, kernels, spectrum
from ...errors import ShallowsError
from ...gpu import gpu_checks
from ...gram.split_products import split_kernel
from ...kernels import Kernel
from ...solvers.least_squares import device_form, step_rules
from ...solvers.least_squares.conjugate_residuals import ConjugateResiduals
from ...solvers.least_squares.eigenpro import EigenPro
from ...solvers.least_squares.kernel_problem import KernelProblem
from ...solvers.least_squares.lifted_eigenpro import LiftedEigenPro
from ...solvers.least_squares.selection import solver_for
from ...solvers.least_squares.step_rules import StepRule
from ...spectrum import Preconditioner, power_of
from ...spectrum.randomised_rows import check_eigensystem
from .. import precomputed
from ..base import SMALL
from ..leave_one_out_choice import AUTO
from ..parameter_checks import check_choice
from .kernel_least_squares import Plan
from .preconditioning import (
    SMALL_FLOOR,
    check_preconditioning,
    plan_steps,
    regularised_step,
    step_parameters,
    subsample_size,
)

PRECISIONS = ("full", "split")

RELEASED_BATCH = 256
"""The batch size of the authors' first release."""


class EigenProFit:
    """Parameters, plan and solver of EigenPro, for classes and for values."""

    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: Mapping[str, Any] | None = None,
        regularisation: float | str = "auto",
        calibration: str | None = "auto",
        rank: int | None = None,
        n_subsample: int | None = None,
        eigensystem: str = "subsample",
        batch_size: int | None = None,
        step_size: float | None = None,
        step_rule: str | Mapping[str, Any] | StepRule = "certified",
        damping: float = 1.0,
        power: str | float = "full",
        max_epochs: int = 20,
        tol: float = 5e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        warm_start: bool = False,
        preconditioner: Preconditioner | str | os.PathLike | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        precision: str = "full",
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.regularisation = regularisation
        self.calibration = calibration
        self.rank = rank
        self.n_subsample = n_subsample
        self.eigensystem = eigensystem
        self.batch_size = batch_size
        self.step_size = step_size
        self.step_rule = step_rule
        self.damping = damping
        self.power = power
        self.max_epochs = max_epochs
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.preconditioner = preconditioner
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.precision = precision
        self.verbose = verbose

    # The iterate is kept with an average, so that there are twice as many arrays, see the base class.
    _n_arrays = 10

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, precision=PRECISIONS)
        check_preconditioning(self)
        power_of(self.power)
        rule = step_rules.make(self.step_rule)
        check_eigensystem(self.eigensystem)
        if self.eigensystem == "rsvd":
            if self.step_size is None and not isinstance(rule, step_rules.Release2017):
                raise ShallowsError(
                    "eigensystem='rsvd' has no certificate for step_rule="
                    f"{self.step_rule!r}; take step_rule='release2017' or a step_size."
                )
            if self.preconditioner is not None:
                raise ShallowsError(
                    "A preconditioner that is handed in has its own eigensystem; leave it or eigensystem='rsvd' out."
                )
        if self.preconditioner is not None:
            precomputed.refuse(self, "A preconditioner that is handed in was made of points and a kernel.")
        if self.early_stopping and self.preconditioner is not None:
            raise ShallowsError(
                "A preconditioner that is handed in is made of all training rows, and early_stopping=True holds some "
                "of them out; leave one of the two out."
            )

    def _load_preconditioner(self) -> Preconditioner | None:
        """The preconditioner that the user handed in, as an object or a file, if one was."""
        if self.preconditioner is None or isinstance(self.preconditioner, Preconditioner):
            return self.preconditioner
        try:
            return spectrum.load_preconditioner(self.preconditioner)
        except FileNotFoundError:
            raise ShallowsError(f"There is no file {self.preconditioner} (preconditioner).") from None

    def _make_kernel(self, points: Any, seed: int) -> Kernel:
        given = self._given
        if given is None:
            return super()._make_kernel(points, seed)
        name, bandwidth, parameters = kernels.translated(self.kernel, self.bandwidth, self.kernel_params)
        wanted = kernels.kind(name)
        if not isinstance(wanted, Kernel):
            # Where no bandwidth is given, it is that of the preconditioner.
            if (bandwidth is None or isinstance(bandwidth, str)) and wanted.takes_bandwidth:
                bandwidth = given.kernel.bandwidth
            bandwidth = None if isinstance(bandwidth, str) else bandwidth
            wanted = kernels.make(name, bandwidth, **parameters)
        same = type(wanted) is type(given.kernel) and wanted.parameters == given.kernel.parameters
        if not same or not math.isclose(wanted.bandwidth or 0.0, given.kernel.bandwidth or 0.0):
            raise ShallowsError(
                f"The preconditioner was made for the kernel {given.kernel.name!r} of bandwidth "
                f"{given.kernel.bandwidth} and parameters {given.kernel.parameters}, but kernel={self.kernel!r}, "
                f"bandwidth={self.bandwidth!r}, kernel_params={self.kernel_params!r} was asked for."
            )
        return given.kernel

    def _look_at_all(self, points: Any, targets: Any, weights: Any, kernel: Kernel, seed: int, budget: int) -> None:
        wanted = self.regularisation == AUTO or self._calibrates
        if wanted and 2 < points.shape[0] <= SMALL and not self._centring.all_equal:
            self._choices.look_at_all(self, lambda x: kernels.matrix(kernel, x), points, targets, weights)

    def _make_plan(self, points: Any, weights: Any, kernel: Kernel, seed: int, budget: int) -> Plan:
        n = points.shape[0]
        p = self._given
        if self.eigensystem == "rsvd":
            if weights is not None:
                raise ShallowsError("eigensystem='rsvd' knows no sample weights; take eigensystem='subsample'.")
            n_rows, rank = self._sizes(n, arrays.itemsize(points), budget)
            p = spectrum.make_rsvd_preconditioner(
                kernel,
                points,
                rank=rank,
                n_rows=n_rows,
                seed=seed,
                damping=self.damping,
                power=power_of(self.power),
            )
        elif p is None:
            n_subsample, rank = self._sizes(n, arrays.itemsize(points), budget)
            ridge = self._choices.regularisation
            # Once λ_{q+1} is 1/n a single batch of all n points loses no progress: to flatten more gains nothing. Nor
            # does it below λ/n, since regularisation has the rest at that level.
            smallest = (ridge or float(n > SMALL and self.rank is None)) / n
            smallest_share = SMALL_FLOOR if self.rank is None and n <= SMALL and not ridge else 0.0
            p = spectrum.make_preconditioner(
                kernel,
                points,
                rank=rank,
                n_subsample=n_subsample,
                seed=seed,
                damping=self.damping,
                power=power_of(self.power),
                weights=weights,
                smallest=smallest,
                smallest_share=smallest_share,
                known=self._choices.eigensystem() if n_subsample == n else None,
                resolves_more=ridge > 0,
            )
        else:
            if weights is not None:
                raise ShallowsError(
                    "A preconditioner that is handed in knows no sample weights; leave one of the two out."
                )
            p = p.to(arrays.device_of(points), points.dtype)
        released = RELEASED_BATCH if self.eigensystem == "rsvd" else None
        batch_size = min(n, self.batch_size or released or self._batch_size(p, n))
        if self._may_fill(points):
            sizes = (self._n_outputs, p.rank, arrays.itemsize(points), budget)
            batch_size = device_form.filling_batch(batch_size, n, *sizes)
        step_size, self._cycle = plan_steps(self, p, batch_size, n)
        step_size = regularised_step(self, step_size, self._choices.regularisation)
        return Plan(kernel, p, batch_size, step_size, p.top_eigenvalue, p.largest_diagonal)

    def _make_problem(self, plan: Plan, points: Any, targets: Any, weights: Any, budget: int) -> KernelProblem:
        self._sides, self._lifted = (plan.batch_size, self._n_outputs), None
        solver, p = self._make_solver(plan.step_size), plan.preconditioner
        if isinstance(solver, ConjugateResiduals):
            budget -= solver.held_numbers(*targets.shape, p.rank) * arrays.itemsize(targets)
            beside = 0
        else:
            beside = device_form.lifted_bytes(points, targets, p, plan.batch_size)
        kernel = split_kernel(plan.kernel, points) if self.precision == "split" else plan.kernel
        self._splits = kernel is not plan.kernel
        self._gram = device_form.gram_on(kernel, points, budget, beside)
        problem = KernelProblem(self._gram, targets, weights, p, self._choices.regularisation)
        problem, solver = device_form.problem_and_solver(problem, solver, plan.batch_size, budget)
        self._lifted = solver if isinstance(solver, LiftedEigenPro) else None
        return problem

    def _set_fitted_attributes(self, run: Any, *others: Any) -> None:
        super()._set_fitted_attributes(run, *others)
        # The fit is over, and they are no part of the model.
        for name in ("_lifted", "_splits"):
            vars(self).pop(name, None)

    def _model_parameters(self, plan: Plan) -> dict[str, Any]:
        solver = type(self._make_solver(plan.step_size)).__name__
        vectors = plan.preconditioner.vectors
        products = gpu_checks.precision_of_products(arrays.device_of(vectors), str(vectors.dtype))
        return (
            super()._model_parameters(plan)
            | step_parameters(self, plan.preconditioner)
            | {
                "eigensystem": self.eigensystem,
                "solver": solver,
                **products,
                **({"precision_of_blocks": "split"} if self._splits else {}),
            }
        )

    def _sizes(self, n: int, itemsize: int, budget: int) -> tuple[int, int]:
        """M and q: those of the user, at most n, or sizes chosen from the number of points and the budget."""
        n_subsample = subsample_size(self, n, itemsize, budget)
        rank = self.rank
        if rank is None:
            rank = n_subsample - 1 if n_subsample == n else n_subsample // 5
        return n_subsample, min(rank, n_subsample - 1)

    def _may_fill(self, points: Any) -> bool:
        """Whether batches are made larger than half of the critical size, for a GPU to be busy."""
        certified = isinstance(step_rules.make(self.step_rule), step_rules.Certified)
        on_gpu = arrays.device_of(points).kind != "cpu" and points.shape[0] > SMALL
        return on_gpu and certified and self.batch_size is None and self.step_size is None

    @staticmethod
    def _batch_size(p: Preconditioner, n: int) -> int:
        """All rows of a small problem; else half of the critical size, up to which an epoch makes the same progress."""
        if n <= SMALL:
            return n
        return int(min(n, max(16, p.critical_batch_size() / 2)))

    def _make_solver(self, step_size: float) -> EigenPro | ConjugateResiduals | LiftedEigenPro:
        if self._lifted is not None:
            return replace(self._lifted, step_size=step_size)
        return solver_for(step_size, self._cycle, *self._sides)
