"""EigenPro: kernel stochastic gradient descent with the top of the spectrum flattened."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ... import arrays, spectrum
from ...arrays import Array
from ...errors import ShallowsError
from ...gpu import gpu_checks
from ...gram import Gram, fused
from ...gram.split_products import split_kernel
from ...gram.whole import WholeGram, whole_bytes
from ...spectrum import Preconditioner
from ...spectrum.kernel_preconditioner import EIGENSYSTEMS
from ..settings import SMALL, at_least_zero, choice, count, flag, setting, share
from . import step_rules
from .conjugate_residuals import ConjugateResiduals
from .kernel_problem import AveragedState, KernelFit, KernelProblem, KernelSolver, gradient_step, gram_of_rows
from .lifted_eigenpro import FullLengthEigenPro, LiftedEigenPro, lifted, lifted_numbers, with_functions
from .step_rules import (
    SMALL_FLOOR,
    Cycle,
    StepPlan,
    StepRule,
    any_step,
    given_step,
    plan_steps,
    report_steps,
    subsample_size,
)

RELEASED_BATCH = 256
"""The batch size of the authors' first release."""

PRECISIONS = ("full", "split")

ROUNDING = 1.8e-5
"""Kept values are rounded to 16 bits, by 8e-6 at most, if the ridge is above this number times √n, about twice the norm
of the matrix of these errors. With λ = 0.001 and 19,000 rows of a smooth function they left 90 times the error of 32
bits, after 20 epochs instead of 3."""

LEVEL = 3.0
"""With a ridge λ, eigendirections below this multiple of λ/n are not flattened. An epoch makes full progress there.
With the multiple 1 and small batches, training diverged where λ limits the step: a Gaussian kernel of two inputs,
12,000 rows, α = 1. With 10 it diverged for α = 100."""

SHARE_OF_FUNCTIONS = 0.25
"""Share of the budget that values of the flattened directions may take if the matrix is not kept."""

BATCHES = 8
"""Default number of batches in an epoch on a GPU, where launches of smaller batches take longer than their arithmetic.
The steps are those of `ConjugateResiduals`, with equal held-out errors (``benchmarks/RESULTS.md``)."""

SHARE_OF_DIRECTIONS = 0.25
"""Share of the budget that the directions of conjugate residuals may take for that."""


@dataclass(frozen=True, kw_only=True)
class EigenPro(KernelSolver):
    """EigenPro: stochastic gradients with the top of the kernel's spectrum flattened, so that steps can be much larger.

    A preconditioner makes the leading eigenvalues of the kernel operator equal. For up to 1,000 rows, batches have all
    rows. With at most 16 large batches in an epoch, the steps are conjugate residuals.

    Parameters
    ----------
    rank : int, optional
        q, the most eigendirections that the preconditioner flattens. None: a fifth of the subsample, or fewer.
    n_subsample : int, optional
        M, the points from which the eigensystem is computed. None: about 9√n, from 500 to 12,000, and at least twice
        the rank; all of up to 1,000 points.
    eigensystem : {"subsample", "rsvd"}
        "subsample": eigenvectors of the M × M matrix, with a certified step. "rsvd": of length n, as the authors
        released; needs a number as ``step`` or "release2017", and no sample weights.
    damping : float
        τ in (0, 1]: the flattened eigenvalues become τ λ_{q+1}^a λᵢ^(1−a), with a from ``power``.
    power : float
        a in (0, 1]. 0.5, as in the authors' first release, flattens less, for noisy eigensystems.
    preconditioner : Preconditioner or path, optional
        A result of `shallows.spectrum.fit_preconditioner` on the same training rows, or its file; for "rsvd" of
        `shallows.fitting.rsvd_preconditioner.fit_rsvd_preconditioner`.
    batch_size : int, optional
        m, the rows of a step. None: half of the critical batch size, β/μ or with a larger ridge λ/μ, or all rows of
        up to 1,000.
    shuffle : bool
        True draws new batches in every epoch, as the authors' release does. False keeps the batches: faster.
    step : float, str or rule
        η for a sum over the batch, or the rule that chooses it: "certified", "theorem", "paper", "release2017",
        "release2019", "exact", or an object such as ``Release2017(eta=5.0)``.
    max_epochs : int
        The most passes over the training data.
    tol : float
        Stop after an epoch whose training loss is at most this share of the loss of the zero function.
    precision : {"full", "split"}
        Products for float32 kernel values on a GPU. "split" uses tensor cores: 40 % of the time, with errors up to
        2e-5 of the largest squared distance.

    Source: S. Ma and M. Belkin (2017), "Diving into the shallows: a computational perspective on large-scale shallow
    learning", NIPS 30. The update in the span of the subsample is that of S. Ma and M. Belkin (2019), "Kernel machines
    that adapt to GPUs for effective large batch training", MLSys.

    Examples
    --------
    >>> from shallows import KernelRidgeClassifier
    >>> from shallows.solvers import EigenPro
    >>> model = KernelRidgeClassifier(solver=EigenPro(rank=160, max_epochs=10))
    """

    rank: int | None = setting(count(0))
    n_subsample: int | None = setting(count())
    eigensystem: str = setting(choice(*EIGENSYSTEMS))
    damping: float = setting(share(1.0))
    power: float = setting(share(1.0))
    preconditioner: Preconditioner | str | os.PathLike | None = None
    batch_size: int | None = setting(count())
    shuffle: bool = setting(flag())
    step: float | str | StepRule = setting(any_step())  # noqa: RUF009
    max_epochs: int = setting(count(default=20))
    tol: float = setting(at_least_zero(5e-3))
    precision: str = setting(choice(*PRECISIONS))

    name: ClassVar[str] = "eigenpro"
    takes_ranks: ClassVar[bool] = True

    n_arrays: ClassVar[int] = 10  # The average of the iterates doubles the arrays of a state.
    own_threads: ClassVar[bool] = True

    def check(self) -> None:
        super().check()
        if self.eigensystem != "rsvd":
            return
        if given_step(self) is None and not isinstance(step_rules.make(self.step), step_rules.Release2017):
            raise ShallowsError(
                f"eigensystem='rsvd' has no certificate for step={self.step!r}. Use step='release2017' or a number."
            )

    def with_preconditioner_read(self) -> EigenPro:
        given: Any = self.preconditioner
        if not isinstance(given, Preconditioner):
            given = spectrum.load_preconditioner(given)
        if given.eigensystem != self.eigensystem:
            raise ShallowsError(
                f"preconditioner has the eigensystem {given.eigensystem!r}, and eigensystem={self.eigensystem!r} was "
                "given. Make both the same."
            )
        return replace(self, preconditioner=given)

    def n_kept(self, n: int, itemsize: int, budget: int) -> int:
        return subsample_size(self, n, itemsize, budget)

    def plan(self, fit: KernelFit) -> StepPlan:
        n, points, p = fit.points.shape[0], fit.points, self._preconditioner(fit)
        released = RELEASED_BATCH if self.eigensystem == "rsvd" else None
        batch_size = self.batch_size or released
        if batch_size is None:
            # Up to half of the critical size an epoch makes the same progress. A ridge above β limits the step instead.
            critical = p.critical_batch_size() * max(1.0, fit.ridge / p.largest_diagonal)
            batch_size = n if n <= SMALL else int(min(n, max(16, critical / 2)))
        batch_size = min(n, batch_size)
        certified = given_step(self) is None and isinstance(step_rules.make(self.step), step_rules.Certified)
        if certified and self.batch_size is None and n > SMALL and arrays.device_of(points).kind != "cpu":
            # Larger than half of the critical size, so that the GPU is busy.
            batch_size = filling_batch(batch_size, n, fit.n_outputs, p.rank, arrays.itemsize(points), fit.budget)
        return plan_steps(self, fit.kernel, p, batch_size, n, fit.ridge, all_equal=fit.all_equal)

    def build(self, plan: StepPlan, fit: KernelFit, targets: Array, weights: Array | None) -> tuple[KernelProblem, Any]:
        points, ridge, budget = fit.points, fit.ridge, fit.budget
        p, step_size, cycle = plan.preconditioner, float(plan.step_size), plan.cycle
        on_cpu = arrays.device_of(points).kind == "cpu"
        plain = not (ridge or cycle) and self.precision == "full"
        if self.eigensystem == "rsvd" and plain and (self.shuffle or on_cpu):
            room = budget - 2 * p.vectors.nbytes
            matrix = gram_of_rows(plan.kernel, points, room, plan.batch_size, shuffle=self.shuffle)
            return with_functions(KernelProblem(matrix, targets, weights, p)), FullLengthEigenPro(step_size)
        if self.shuffle:
            matrix = gram_of_rows(plan.kernel, points, budget, plan.batch_size, shuffle=True)
            return KernelProblem(matrix, targets, weights, p, ridge), EigenProStepper(step_size, cycle)
        stepper = solver_for(step_size, cycle, plan.batch_size, fit.n_outputs)
        of_steps = 0
        if isinstance(stepper, ConjugateResiduals):
            budget -= stepper.held_numbers(targets.shape[0], targets.shape[1], p.rank) * arrays.itemsize(targets)
        elif not on_cpu:
            numbers = lifted_numbers(targets.shape[0], p.n_subsample, plan.batch_size, p.rank, targets.shape[1])
            of_steps = numbers * arrays.itemsize(points)
        kernel = split_kernel(plan.kernel, points) if self.precision == "split" else plan.kernel
        if not on_cpu and whole_bytes(points, budget) + of_steps <= budget:
            matrix = WholeGram(kernel, points, budget=budget - of_steps)
        else:
            matrix = Gram(kernel, points, budget=budget, rounds=ridge > ROUNDING * len(points) ** 0.5)
        problem = KernelProblem(matrix, targets, weights, p, ridge)
        if on_cpu or isinstance(stepper, ConjugateResiduals):
            return problem, stepper
        if not suits_lifted_steps(matrix, targets, of_steps, budget):
            return problem, stepper
        n_batches = -(-matrix.n // plan.batch_size)
        return lifted(problem, plan.batch_size), LiftedEigenPro(step_size, cycle, n_batches)

    def report(self, plan: StepPlan, problem: KernelProblem, stepper: Any, run: Any) -> dict[str, Any]:
        vectors = plan.preconditioner.vectors
        splits = problem.gram.kernel is not plan.kernel
        return {
            **report_steps(self, plan, run),
            "damping": float(plan.preconditioner.damping),
            "power": plan.preconditioner.power,
            "eigensystem": self.eigensystem,
            "solver": self.name,
            "stepper": type(stepper).__name__.removesuffix("Stepper"),
            **gpu_checks.precision_of_products(arrays.device_of(vectors), str(vectors.dtype)),
            **({"precision_of_blocks": "split"} if splits else {}),
        }

    def _preconditioner(self, fit: KernelFit) -> Preconditioner:
        points, n, ridge = fit.points, fit.points.shape[0], fit.ridge
        if isinstance(self.preconditioner, Preconditioner):  # The fit has read its file
            if fit.weights is not None:
                raise ShallowsError(
                    "preconditioner was made without sample weights. Leave preconditioner or sample_weight out."
                )
            return self.preconditioner.to(arrays.device_of(points), points.dtype)
        n_subsample, rank = subsample_size(self, n, arrays.itemsize(points), fit.budget), self.rank
        if rank is None:
            rank = n_subsample - 1 if n_subsample == n else n_subsample // 5
        rank = min(rank, n_subsample - 1)
        options: Any = {"rank": rank, "seed": fit.seed, "damping": self.damping, "power": float(self.power)}
        if self.eigensystem == "rsvd":
            if fit.weights is not None:
                raise ShallowsError("eigensystem='rsvd' has no sample weights. Use eigensystem='subsample'.")
            return spectrum.make_rsvd_preconditioner(fit.kernel, points, n_rows=n_subsample, **options)
        # If λ_{q+1} is 1/n, a single batch of all n points makes full progress, so more flattening is useless. With a
        # ridge λ the same is true below λ/n, and in an epoch of several batches below a multiple of it.
        smallest = (ridge * (LEVEL if n > SMALL else 1.0) or float(n > SMALL and self.rank is None)) / n
        return spectrum.make_preconditioner(
            *(fit.kernel, points),
            **options,
            n_subsample=n_subsample,
            weights=fit.weights,
            smallest=smallest,
            smallest_share=SMALL_FLOOR if self.rank is None and n <= SMALL and not ridge else 0.0,
            known=fit.eigensystem if n_subsample == n else None,
            resolves_more=ridge > 0,
        )


@dataclass(frozen=True)
class EigenProStepper:
    """The preconditioned iteration of Ma and Belkin (2017), Table 2, in its kernel form.

    For a batch S and the subsample's points M, with g = w (K_S α − y_S):

        α_S ← α_S − η g,        α_M ← α_M + η V diag((1 − τ λ_{q+1}/λᵢ)/σᵢ) Vᵀ K_{MS} g

    This is the step −η P Σ gᵢ k(xᵢ, ·) in the kernel's space, with P of `shallows.spectrum`, in the span of the
    subsample. With a ridge λ, g = w (K_S α − y_S) + λ α_S is the residual of (K + λW⁻¹) α = y, and so is the loss. If a
    cycle averages, `bounded_step` limits η: a batch with several points in one place has a larger eigenvalue than
    others.
    """

    step_size: float  # η, for a sum over the batch
    cycle: Cycle | None = None  # Factors of η and the average of the iterates. None keeps η and the last iterate

    def init(self, problem: KernelProblem) -> AveragedState:
        return AveragedState(arrays.namespace(problem.targets).zeros_like(problem.targets), self.step_size)

    def step(self, problem: KernelProblem, state: AveragedState, batch: slice) -> AveragedState:
        return gradient_step(problem, state, batch, self.cycle, problem.preconditioner)


def solver_for(
    step_size: float, cycle: Cycle | None, batch_size: int, n_outputs: int
) -> EigenProStepper | ConjugateResiduals:
    """The stepper for the steps of a rule: `ConjugateResiduals` for few batches with few enough outputs."""
    few = 0 if cycle is None else cycle.few
    if few == 1 or (few and 2 * (few - 1) * n_outputs <= batch_size):
        return ConjugateResiduals(step_size, few)
    return EigenProStepper(step_size, cycle)


def filling_batch(batch_size: int, n: int, n_outputs: int, rank: int, itemsize: int, budget: int) -> int:
    """The batch size on a GPU, which would wait for launches with smaller batches: an eighth of the points.

    Or ``batch_size``, if it is larger or the directions of conjugate residuals do not fit or have too many outputs.
    """
    larger = -(-n // BATCHES)
    # A calibration may double the outputs.
    held = ConjugateResiduals(1.0, BATCHES).held_numbers(n, 2 * n_outputs, rank) * itemsize
    suits = 2 * (BATCHES - 1) * n_outputs <= larger and held <= SHARE_OF_DIRECTIONS * budget
    return max(batch_size, larger) if suits else batch_size


def suits_lifted_steps(gram: Gram, targets: Array, lifted_bytes: int, budget: int) -> bool:
    """Whether `LiftedEigenPro` is faster on a GPU: with the whole matrix, or with none of it and few features."""
    if isinstance(gram, WholeGram):
        return True
    return fused.is_applicable(gram.kernel, gram.points, targets) and lifted_bytes <= SHARE_OF_FUNCTIONS * budget
