"""What the solvers with steps on batches share: the plan of a fit, the size of the subsample, and the step."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ... import arrays, kernels
from ...errors import ShallowsError
from ...kernels import Kernel
from ...spectrum import Preconditioner
from ..settings import SMALL
from . import step_rules
from .step_rules import Cycle

SMALL_FLOOR = 5e-3
"""In a small problem, where every batch has all rows, eigendirections below this share of the largest eigenvalue are
not preconditioned. The steps approach them slowly: 20 epochs regularize them like a ridge of about SMALL_FLOOR λ₁ / 20.
It is a share, so that neither the unit of the weights nor repeated rows matter."""


@dataclass(frozen=True)
class StepPlan:
    """The batches and steps of a fit, decided before any large array exists."""

    kernel: Any
    preconditioner: Any  # None for plain gradient descent
    batch_size: int
    step_size: float  # η, for a sum over the batch
    top_eigenvalue: float  # λ of the preconditioned operator, see `Preconditioner.step_size`
    largest_diagonal: float  # β of the preconditioned operator
    cycle: Cycle | None = None  # Factors of the step, if the rule has any
    is_exact: bool = False  # Whether the step comes from the rule "exact"

    @property
    def n_subsample(self) -> int:
        """Points of the preconditioner's subsample, which are the first in the order of the fit."""
        return 0 if self.preconditioner is None else self.preconditioner.n_subsample


def subsample_size(settings: Any, n: int, itemsize: int, budget: int) -> int:
    """M: ``n_subsample`` of the settings, at most n, or a size chosen from the number of points and the budget."""
    rank = settings.rank
    if settings.n_subsample is not None:
        return min(settings.n_subsample, n)
    if n <= SMALL and rank is None:
        return n
    # The eigensystem should cost a fraction of an epoch's products, n² d; M² (q + d) is n (q + d).
    # Its matrix, the certificate's and the block of the iteration take about four times M² numbers.
    affordable = math.isqrt(max(1, budget // (8 * 4 * itemsize)))
    suggested = min(n, max(min(n, 500), min(round(9 * math.sqrt(n)), affordable)), 12_000)
    return suggested if rank is None else min(n, max(suggested, 2 * rank))


def plan_steps(
    settings: Any, kernel: Any, p: Any, batch_size: int, n: int, added: float, *, all_equal: bool
) -> StepPlan:
    """The plan for a preconditioner and a batch size, with the step by ``step_size`` or ``step_rule``.

    ``added`` is what regularization adds to the operator's diagonal, for a sum over the batch. A rule's step is at most
    2/(β + (m − 1)λ_P) or 1/(nλ_P), and ``added`` counts as part of β. The user's step is not changed.
    """
    rule = cycle = None
    step_size = settings.step_size
    if step_size is None:
        rule = step_rules.make(settings.step_rule)
        if isinstance(rule, step_rules.Certified) and batch_size == n == p.n_subsample and n <= SMALL:
            # A small problem, where every batch has all rows, is regularized by the number of epochs: SMALL_FLOOR.
            rule = step_rules.Exact()
        step_size, cycle = step_rules.planned(rule, p, batch_size, n)
    is_exact = isinstance(rule, step_rules.Exact)
    if rule is not None:
        step_size = 1.0 / (1.0 / step_size + (1.0 if is_exact else 0.5) * added)
    cycle = None if all_equal else cycle
    plan = StepPlan(kernel, p, batch_size, step_size, p.top_eigenvalue, p.largest_diagonal, cycle, is_exact)
    return one_step(settings, plan, n) if all_equal else plan


def one_step(settings: Any, plan: StepPlan, n: int) -> StepPlan:
    """The plan where all points are equal: the fit learns nothing but the mean of the targets, in one step."""
    if settings.batch_size is not None or settings.step_size is not None:
        return plan
    return replace(plan, batch_size=n, step_size=1.0 / (n * plan.top_eigenvalue))


def step_bytes(plan: StepPlan, n_outputs: int, itemsize: int) -> int:
    """Bytes of one step: the batch's kernel values with the subsample, its outputs, and the preconditioner."""
    p = plan.preconditioner
    if p is None:
        return 4 * plan.batch_size * n_outputs * itemsize
    per_row = p.n_subsample + 4 * n_outputs
    return (plan.batch_size * per_row + p.n_subsample * (p.rank + 4 * n_outputs)) * itemsize


def report_steps(settings: Any, plan: StepPlan, run: Any) -> dict[str, Any]:
    """The entries of ``effective_params_`` about batches, steps and their preconditioner."""
    rule, p = settings.step_rule, plan.preconditioner
    if not isinstance(rule, str):
        rule = step_rules.make(rule)
        rule = str(rule) if dataclasses.is_dataclass(rule) else type(rule).__name__
    chosen = "given" if settings.step_size is not None else "exact" if plan.is_exact else rule
    return {
        "step_rule": chosen,
        "batch_size": plan.batch_size,
        "step_size": getattr(run.state, "step_size", None),
        "certified_step_size": float(plan.step_size),
        "top_eigenvalue": plan.top_eigenvalue,
        "largest_diagonal": plan.largest_diagonal,
        "rank": p.rank if p else 0,
        "n_subsample": plan.n_subsample,
    }


def agreed_plan(plan: StepPlan, ranks: Any, points: Any) -> StepPlan:
    """The plan of the first process: eigenvectors that another machine computes may differ in sign."""
    if ranks.size == 1:
        return plan
    ranks.same((plan.kernel.name, plan.kernel.bandwidth), "kernels (give the bandwidth as a number)")
    p = plan.preconditioner
    held = {name: arrays.to_numpy(getattr(p, name)) for name in ("eigenvalues", "vectors")}
    numbers = {name: value for name, value in vars(p).items() if isinstance(value, float)}
    sizes = {name: value for name, value in vars(plan).items() if isinstance(value, (int, float))}
    held, numbers, sizes = ranks.from_first((held, numbers, sizes))
    held = {name: arrays.like(array, points) for name, array in held.items()}
    return replace(plan, preconditioner=replace(p, **held, **numbers), **sizes)


def subsample_first(given: Preconditioner | None, order: np.ndarray) -> np.ndarray:
    """An order that begins with the subsample of the user's preconditioner and continues like ``order``."""
    if given is None:
        return order
    indices = given.indices
    if indices.max() >= len(order):
        raise ShallowsError(
            f"The preconditioner was made for at least {indices.max() + 1} training points, here are {len(order)}."
        )
    rest = np.ones(len(order), dtype=bool)
    rest[indices] = False
    return np.concatenate([indices, order[rest[order]]])


def kernel_of_preconditioner(given: Preconditioner, kernel: Any, bandwidth: Any, kernel_params: Any) -> Kernel:
    """The kernel of the user's preconditioner.

    Raises
    ------
    ShallowsError
        If the estimator's parameters describe another kernel.
    """
    name, width, parameters = kernels.translated(kernel, bandwidth, kernel_params)
    wanted = kernels.kind(name)
    if not isinstance(wanted, Kernel):
        # Without a bandwidth the preconditioner decides.
        if (width is None or isinstance(width, str)) and wanted.takes_bandwidth:
            width = given.kernel.bandwidth
        width = None if isinstance(width, str) else width
        wanted = kernels.make(name, width, **parameters)
    same = type(wanted) is type(given.kernel) and wanted.parameters == given.kernel.parameters
    if not same or not math.isclose(wanted.bandwidth or 0.0, given.kernel.bandwidth or 0.0):
        raise ShallowsError(
            f"The preconditioner was made for the kernel {given.kernel.name!r} of bandwidth "
            f"{given.kernel.bandwidth} and parameters {given.kernel.parameters}, but kernel={kernel!r}, "
            f"bandwidth={bandwidth!r}, kernel_params={kernel_params!r} was asked for."
        )
    return given.kernel
