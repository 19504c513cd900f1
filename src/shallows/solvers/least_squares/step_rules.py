"""How long steps are: rules by name, the cycle of their factors, and the plan of a fit in steps on batches.

A rule is a function of a preconditioner's spectrum, the batch size m and the number of points n. It returns η for a sum
over the batch, so a step along the mean gradient is m η. H is the preconditioned operator (mean over points), λ its
largest eigenvalue and β the largest diagonal of its kernel:

================  =========================================================================================
``certified``     2 / (β + (m − 1) λ), with λ and β measured on points outside the subsample, and a `Cycle` with it
``theorem``       1/m over the bound on ‖H_m‖ of Theorem 3 (features) and Theorem 4 (kernels) of Ma and Belkin
``paper``         1/m over λ_{q+1} + c₁ κ/m + c₂ √(λ_{q+1} κ/m): "η ~ √(m/λ_{q+1})" with constants
``release2017``   η/m · √(λ₁/λ_{q+1}) for every batch, with a constant η or η = 1.5/λ₁
``release2019``   1/β up to the critical batch, then 2/(β + (m − 1)λ), with λ and β measured on the subsample
``exact``         1 / (n λ), if all points are in the subsample and in the batch
================  =========================================================================================
"""

import dataclasses
import math
import numbers
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from ... import arrays
from ...errors import ShallowsError, UnknownNameError
from ...utils.checks import is_number, is_positive
from ..settings import SMALL, Checked, Parameter, at_least_zero, positive, setting, share


class StepRule(Protocol):
    """A rule is called with a `spectrum.SpectralPreconditioner`, the batch size and the number of points."""

    def __call__(self, p: Any, batch_size: int, n: int) -> float:
        """η for a sum over the batch."""


SMALL_FLOOR = 5e-3
"""In a small problem, where every batch has all rows, eigendirections below this share of the largest eigenvalue are
not preconditioned. The steps approach them slowly: 20 epochs regularize them like a ridge of about SMALL_FLOOR λ₁ / 20.
It is a share, so that neither the unit of the weights nor repeated rows matter."""

QUIET = 0.05
"""Batches are treated as noiseless if their noise is at most this share of their mean."""

MIDDLE, LONG = 1.5, 4.0
"""The steps, in units of 1/λ, after and before a closing step without noise. The product (1 − x)(1 − 1.5 x)(1 − 4 x) is
below one in absolute value up to x = 1.2, with a mean step of 2.2; a constant step converges only below 2."""

FEW = 16
"""The most batches of an epoch for which the residual of all points and a direction for each batch are kept."""

NOISE = 0.6
"""The largest share of the loss of an iterate that comes from the noise of batches."""

MEMORY = 0.5
"""How many epochs the average of the iterates is behind. More memory fits less of the noise of the targets
(``benchmarks/HISTORY.md``), but training takes longer with much more."""

FORGETTING = 3.0
"""The first iterates are averaged with weights of this power of their number."""


@dataclass(frozen=True)
class Cycle:
    """Factors of a step size, which repeat after a round, and the average of the iterates."""

    length: int  # Steps of a round
    head: tuple[float, ...]  # The first factors
    body: tuple[float, ...]  # The factors after them, repeated
    # How many steps the average is behind the iterate: every iterate enters with the share 1/(1 + memory), the first
    # ones with larger shares, see `at`. With 0 the model is the iterate. Otherwise `EigenPro` bounds each step by its
    # batch.
    memory: float = 0.0
    # (unit, w, g): the allowed share g of noise falls as one over the number of the round; no factor is above
    # ``unit`` 2g/(w + g)
    falling: tuple[float, float, float] | None = None
    # The number of batches of an epoch if they are few enough for `ConjugateResiduals`, otherwise 0
    few: int = 0

    def at(self, t: int) -> tuple[float, float]:
        """The factor of step t, from 0, and the weight of its iterate in the average; 0 if the model is the iterate."""
        share = max((FORGETTING + 1.0) / (t + FORGETTING + 1.0), 1.0 / (1.0 + self.memory)) if self.memory else 0.0
        done, t = divmod(t, self.length)
        factor = self.head[t] if t < len(self.head) else self.body[(t - len(self.head)) % len(self.body)]
        if self.falling is not None:
            unit, w, allowed = self.falling
            allowed = allowed / (1 + done)
            factor = min(factor, unit * (2.0 * allowed / (w + allowed)))
        return factor, share


@dataclass(frozen=True)
class Certified(Checked):
    """Steps as long as the spectrum allows, and the average of the iterates if batches are noisy.

    The rule's step is 2 / (β + (m − 1) λ), the edge of stability. Its factors, in units of 1/(m λ), follow from the
    spectrum. v = (β' − λ)(n − m)/((n − 1) m λ) is the variance of batches along the top direction, as a share of its
    square; β' is β without outliers in the kernel form. w has the mean of the diagonal instead of β'. ρ ≤ 1 is the
    level of the flattened eigenvalues over λ.

    - With at most 16 batches in an epoch the kernel form uses `ConjugateResiduals`, which finds its own steps.
    - With hardly any noise (v ≤ 0.05) there are two long steps and a closing step, as in a Chebyshev iteration. The
      closing step minimizes the largest value of (1 − a x)² + a² w x for x from ρ to 1.
    - Otherwise the step is 2/(1 + v), the limit of stability in the mean square, or less if noise would be more than
      the share g = a w/(2 − a) of the loss. The model is an average of the iterates of the last half epoch.

    A model of fewer functions than points cannot fit all targets. It uses the steps for noisy batches, with a share g
    that falls as one over the number of the epoch. v and w are at least (n − m)/((n − 1) m), the variance of a batch's
    mean.

    Sources: S. Lacoste-Julien, M. Schmidt and F. Bach (2012), arXiv:1212.2002, and O. Shamir and T. Zhang (2013), ICML
    30 (weights that grow); P. Jain, S. M. Kakade, R. Kidambi, P. Netrapalli and A. Sidford (2018), JMLR 18 (the
    average).
    """

    # g > 0, the largest share of noise in the loss. The default reaches a training loss soonest. With noisy labels and
    # early stopping a smaller share can predict better.
    noise: float = setting(positive(NOISE))
    # How many epochs the average is behind the iterate; 0 averages nothing.
    memory: float = setting(at_least_zero(MEMORY))

    def __call__(self, p: Any, batch_size: int, n: int) -> float:
        return p.step_size(batch_size)

    def cycle(self, p: Any, batch_size: int, n: int) -> Cycle:
        """The factors of η over an epoch (three epochs for full batches)."""
        m, top = batch_size, p.top_eigenvalue
        drawn = (n - m) / max(n - 1, 1) / (m * top)
        v, w = (max(diagonal - top, 0.0) * drawn for diagonal in (p.usual_diagonal, p.mean_diagonal))
        of_targets = top * drawn  # The variance of the mean of a batch, as a share of the variance of one target
        unit = 1.0 / (m * top * p.step_size(m))
        n_steps = -(-n // m)
        few = n_steps if n_steps <= FEW else 0
        interpolates = p.n_functions >= n
        if max(v, of_targets) > QUIET or (m < n and not interpolates):
            v, w = max(v, of_targets), max(w, of_targets)
            # The second step is the a at which noise makes up the share g = a w/(2 − a) of the loss.
            constant = unit * min(2.0 / (1.0 + v), 2.0 * self.noise / (w + self.noise))
            falling = None if interpolates else (unit, w, self.noise)
            return Cycle(n_steps, (), (constant,), self.memory * n_steps, falling, few)
        rho = min(1.0, p.flattened_top / top)
        closing = min(2.0 / (1.0 + rho + w), 1.0 / (rho + w))
        a, b, c = (unit * s for s in (closing, MIDDLE, LONG))
        if n_steps == 1:
            return Cycle(3, (a, b, c), (a,), few=few)
        if n_steps == 2:
            return Cycle(4, (a, b, c, a), (a,), few=few)
        head = ((), (a,), (a, b))[n_steps % 3]
        return Cycle(n_steps, head, (b, c, a), few=few)


@dataclass(frozen=True)
class Exact(Checked):
    """The reciprocal of the largest eigenvalue, which is known if the subsample and the batch have all points."""

    def __call__(self, p: Any, batch_size: int, n: int) -> float:
        if not batch_size == n == p.n_subsample:
            raise ShallowsError(
                f"step='exact' needs all {n} training points in the subsample and in the batch; here they are "
                f"n_subsample={p.n_subsample} and batch_size={batch_size}. Use step='certified'."
            )
        return 1.0 / (n * p.flattened_top)


@dataclass(frozen=True)
class Theorem(Checked):
    """The step that the paper's bounds allow with probability 1 − δ over batches.

    ‖P^½ H_m P^½‖ ≤ λ_{q+1} + 2(λ_{q+1} + κ)/(3m) · L + √(2 λ_{q+1} κ/m · L), with L = ln(2D/δ) for D features
    (Theorem 3) and ln(8d/δ) with the intrinsic dimension d in the space of a kernel (Theorem 4).
    """

    delta: float = setting(share(0.1))  # δ

    def bound(self, p: Any, batch_size: int) -> float:
        """The bound on ‖P^½ H_m P^½‖."""
        log = math.log(p.tail_constant * p.dimension / self.delta)
        following, kappa = p.flattened_top, p.bound
        linear = 2.0 * (following + kappa) / (3.0 * batch_size) * log
        return following + linear + math.sqrt(2.0 * following * kappa / batch_size * log)

    def __call__(self, p: Any, batch_size: int, n: int) -> float:
        return 1.0 / (batch_size * self.bound(p, batch_size))


@dataclass(frozen=True)
class Paper(Checked):
    """The paper's practice, η ~ √(m/λ_{q+1}), with κ and the constants, which the source omits.

    The denominator λ_{q+1} + c₁ κ/m + c₂ √(λ_{q+1} κ/m) has the form of the theorem's bound without its logarithm.
    """

    c1: float = setting(at_least_zero(1.0))
    c2: float = setting(at_least_zero(1.0))

    def __call__(self, p: Any, batch_size: int, n: int) -> float:
        following, share = p.flattened_top, p.bound / batch_size
        return 1.0 / (batch_size * (following + self.c1 * share + self.c2 * math.sqrt(following * share)))


@dataclass(frozen=True)
class Release2017(Checked):
    """η √(λ₁/λ_{q+1}) for the mean gradient of every batch: the authors' releases of 2017, with power ½.

    EigenPro-matlab has η = 5 (a406c0e of May 2017), later 1.5/(2λ₁); EigenPro-tensorflow has 1.5/λ₁ from 8ec36ba on.
    """

    eta: float | None = setting(positive())  # η; None takes 1.5/λ₁

    def __call__(self, p: Any, batch_size: int, n: int) -> float:
        first, following = float(p.eigenvalues[0]), float(p.eigenvalues[-1])
        if self.eta is not None:
            return self.eta / batch_size * math.sqrt(first / following)
        return 1.5 / (batch_size * math.sqrt(first * following))


@dataclass(frozen=True)
class Release2019(Checked):
    """The rule of the authors' second release (Ma and Belkin 2019), which uses only the subsample.

    λ = λ₁ (λ_{q+1}/λ₁)^0.95, and β is the largest κ minus leverage in the subsample. The step is 1/β for m < β/λ + 1,
    then 2/(β + (m − 1) λ), and 0.95 · 2/(n λ) for a full batch.
    """

    def __call__(self, p: Any, batch_size: int, n: int) -> float:
        first, following = float(p.eigenvalues[0]), float(p.eigenvalues[-1])
        top, beta = first * (following / first) ** 0.95, p.subsample_diagonal
        if batch_size >= n:
            return 0.95 * 2.0 / (n * top)
        if batch_size < beta / top + 1.0:
            return 1.0 / beta
        return 2.0 / (beta + (batch_size - 1) * top)


RULES: dict[str, type] = {
    "certified": Certified,
    "theorem": Theorem,
    "paper": Paper,
    "release2017": Release2017,
    "release2019": Release2019,
    "exact": Exact,
}


def make(rule: float | str | StepRule) -> StepRule:
    """The rule of a name, or the checked rule itself; an unknown name raises an `UnknownNameError`."""
    if isinstance(rule, Checked):
        rule.check()
    if callable(rule):
        return rule
    UnknownNameError.check("step", rule, RULES)
    return RULES[str(rule)]()


def given_step(settings: Any) -> float | None:
    """η of settings, or None if a rule decides it or the solver takes no steps."""
    step = getattr(settings, "step", None)
    return step if is_number(step) else None


@dataclass(frozen=True)
class Step(Parameter):
    """The rule for a field of settings that is a step: a positive number, a `StepRule` or its name."""

    def allows(self, value: Any) -> bool:
        if isinstance(value, str):
            make(value)
            return True
        return is_positive(value) or (callable(value) and not isinstance(value, type))


def named_step(*names: str) -> Parameter:
    """The field ``step`` of settings with few rules, of which the first is the default."""
    expected = f"a positive number or {' or '.join(map(repr, names))}"
    return Parameter(names[0], expected, numbers.Real, names=names)


def any_step() -> Parameter:
    """The field ``step`` of settings, with the default "certified"."""
    expected = f"a positive number, a rule such as Certified(noise=0.3), or one of {', '.join(map(repr, RULES))}"
    return Step("certified", expected, classes=RULES)


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
        return 0 if self.preconditioner is None else self.preconditioner.n_subsample


Plan = TypeVar("Plan", bound=StepPlan)


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
    """The plan for a preconditioner and a batch size, with the step of the settings or of their rule.

    ``added`` is what regularization adds to the operator's diagonal, for a sum over the batch. A rule's step is at most
    2/(β + (m − 1)λ_P) or 1/(nλ_P), where it counts as part of β.
    """
    rule = cycle = None
    step_size = given_step(settings)
    if step_size is None:
        rule = make(settings.step)
        if isinstance(rule, Certified) and batch_size == n == p.n_subsample and n <= SMALL:
            # A small problem, where every batch has all rows, is regularized by the number of epochs: SMALL_FLOOR.
            rule = Exact()
        step_size = rule(p, batch_size, n)
        cycle = rule.cycle(p, batch_size, n) if hasattr(rule, "cycle") else None
    is_exact = isinstance(rule, Exact)
    if rule is not None:
        step_size = 1.0 / (1.0 / step_size + (1.0 if is_exact else 0.5) * added)
    cycle = None if all_equal else cycle
    plan = StepPlan(kernel, p, batch_size, step_size, p.top_eigenvalue, p.largest_diagonal, cycle, is_exact)
    return one_step(settings, plan, n) if all_equal else plan


def one_step(settings: Any, plan: Plan, n: int) -> Plan:
    """The plan where all points are equal: the fit learns nothing but the mean of the targets, in one step."""
    if settings.batch_size is not None or given_step(settings) is not None:
        return plan
    return replace(plan, batch_size=n, step_size=1.0 / (n * plan.top_eigenvalue))


def report_steps(settings: Any, plan: StepPlan, run: Any) -> dict[str, Any]:
    """The entries of ``report_`` about batches, steps and their preconditioner."""
    rule, p = settings.step, plan.preconditioner
    given = given_step(settings) is not None
    if not (given or isinstance(rule, str)):
        rule = make(rule)
        rule = str(rule) if dataclasses.is_dataclass(rule) else type(rule).__name__
    chosen = "given" if given else "exact" if plan.is_exact else rule
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
    ranks.check_same((plan.kernel.name, plan.kernel.bandwidth), "kernels (give the bandwidth as a number)")
    p = plan.preconditioner
    held = {name: arrays.to_numpy(getattr(p, name)) for name in ("eigenvalues", "vectors")}
    numbers = {name: value for name, value in vars(p).items() if isinstance(value, float)}
    sizes = {name: value for name, value in vars(plan).items() if isinstance(value, (int, float))}
    held, numbers, sizes = ranks.from_first((held, numbers, sizes))
    held = {name: arrays.like(array, points) for name, array in held.items()}
    return replace(plan, preconditioner=replace(p, **held, **numbers), **sizes)
