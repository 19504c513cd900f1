"""How the variants of EigenPro choose the size of the subsample and the step, and what they report of both."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, replace
from typing import Any

from .. import arrays
from ..errors import ShallowsError
from ..kernels import Kernel
from ..solvers.least_squares import step_rules
from ..solvers.least_squares.cycles import Cycle
from ..spectrum import Preconditioner
from .checks import check_whole, is_number
from .machine import SMALL

SMALL_FLOOR = 5e-3
"""In a small problem, of which every batch holds all rows, eigendirections below this share of the largest eigenvalue
are not preconditioned. They are approached in steps, and 20 epochs regularise them like a ridge of about
SMALL_FLOOR λ₁ / 20. It is a share, so that neither the unit of the weights nor repeated rows matter."""


@dataclass(frozen=True)
class Plan:
    """The choices of a fit, made before any large array is.

    Attributes
    ----------
    kernel : Kernel
    preconditioner : Preconditioner or None
    batch_size : int
    step_size : float
    top_eigenvalue, largest_diagonal : float
        λ and β of the preconditioned operator, see `Preconditioner.step_size`.
    cycle : Cycle or None
        Factors of the step from step to step, if the rule has any.
    is_exact : bool
        Whether the step is that of the rule "exact".
    """

    kernel: Kernel
    preconditioner: Preconditioner | None
    batch_size: int
    step_size: float
    top_eigenvalue: float
    largest_diagonal: float
    cycle: Cycle | None = None
    is_exact: bool = False


def check_preconditioning(estimator: Any) -> None:
    """Check ``rank``, ``n_subsample`` and ``damping`` of an estimator."""
    check_whole(estimator, "rank", least=0, optional=True)
    check_whole(estimator, "n_subsample", optional=True)
    if not (is_number(estimator.damping) and 0 < estimator.damping <= 1):
        raise ShallowsError(f"damping must lie in (0, 1], got {estimator.damping!r}.")


def subsample_size(estimator: Any, n: int, itemsize: int, budget: int) -> int:
    """M: the estimator's ``n_subsample``, at most n, or a size chosen from the number of points and the budget."""
    rank = estimator.rank
    if estimator.n_subsample is not None:
        return min(estimator.n_subsample, n)
    if n <= SMALL and rank is None:
        return n
    # The eigensystem should cost a fraction of an epoch's products, n² d; M² (q + d) is n (q + d).
    # Its matrix, the certificate's and the block of the iteration take about four times M² numbers.
    affordable = math.isqrt(max(1, budget // (8 * 4 * itemsize)))
    suggested = min(n, max(min(n, 500), min(round(9 * math.sqrt(n)), affordable)), 12_000)
    return suggested if rank is None else min(n, max(suggested, 2 * rank))


def plan_of_steps(
    estimator: Any, kernel: Any, p: Any, batch_size: int, n: int, added: float, *, all_equal: bool
) -> Plan:
    """The plan of a preconditioner and a batch size, with the step by ``step_size`` or ``step_rule``.

    ``added`` is what regularisation adds to the operator's diagonal, for a sum over the batch. A rule's step is
    2/(β + (m − 1)λ_P) at most, or 1/(nλ_P), and what is added counts as part of β; a step of the user's stays.
    """
    rule = cycle = None
    step_size = estimator.step_size
    if step_size is None:
        rule = step_rules.make(estimator.step_rule)
        if isinstance(rule, step_rules.Certified) and batch_size == n == p.n_subsample and n <= SMALL:
            # A small problem, of which every batch holds all rows, is regularised by the number of epochs: SMALL_FLOOR.
            rule = step_rules.Exact()
        step_size, cycle = step_rules.planned(rule, p, batch_size, n)
    is_exact = isinstance(rule, step_rules.Exact)
    if rule is not None:
        step_size = 1.0 / (1.0 / step_size + (1.0 if is_exact else 0.5) * added)
    # Where all points are equal, the base class takes a single step.
    cycle = None if all_equal else cycle
    return Plan(kernel, p, batch_size, step_size, p.top_eigenvalue, p.largest_diagonal, cycle, is_exact)


def step_parameters(estimator: Any, plan: Plan) -> dict[str, Any]:
    """The entries of ``effective_params_`` that describe the preconditioner's form and the rule of the steps."""
    rule, p = estimator.step_rule, plan.preconditioner
    if not isinstance(rule, str):
        rule = step_rules.make(rule)
        rule = str(rule) if dataclasses.is_dataclass(rule) else type(rule).__name__
    chosen = "given" if estimator.step_size is not None else "exact" if plan.is_exact else rule
    return {"damping": float(p.damping), "power": p.power, "step_rule": chosen}


def agreed_plan(plan: Plan, ranks: Any, points: Any) -> Plan:
    """The plan of the first process: eigenvectors that another machine computes may differ in sign."""
    if ranks.size == 1:
        return plan
    ranks.same((plan.kernel.name, plan.kernel.bandwidth), "kernels (give the bandwidth as a number)")
    p = plan.preconditioner
    held, numbers = {}, {}
    if p is not None:
        held = {name: arrays.to_numpy(getattr(p, name)) for name in ("eigenvalues", "vectors")}
        numbers = {name: value for name, value in vars(p).items() if isinstance(value, float)}
    sizes = {name: value for name, value in vars(plan).items() if isinstance(value, (int, float))}
    held, numbers, sizes = ranks.from_first((held, numbers, sizes))
    held = {name: arrays.like(array, points) for name, array in held.items()}
    return replace(plan, preconditioner=p and replace(p, **held, **numbers), **sizes)
