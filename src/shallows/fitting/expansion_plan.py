"""The plan of doubly stochastic gradients: kernel, features and stepper, chosen from a sample of the data."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays, kernels, losses, streams, training
from ..arrays import Device
from ..errors import ShallowsError
from ..features.random_features import stream_of
from ..kernels import Kernel
from ..models.centering import Centering, check_precision, check_scale
from ..ranks import Alone
from ..solvers.expansions import doubly_stochastic
from ..solvers.expansions.block_policies import CheckedBlocks, CheckedReuse, Fresh, UniformReuse
from ..solvers.expansions.doubly_stochastic import DecayingStep, DoublyStochastic, DoublyStochasticStepper, TheoryStep
from ..solvers.expansions.expansion import ExpansionProblem, counts_of
from ..solvers.expansions.growing_expansion import FIRST_CAPACITY
from ..spectrum.kernel_ridge_choice import join_copies
from ..spectrum.leave_one_out import RidgeChoice, choose_ridge
from ..utils.checks import warn_user
from .machine import report_of_machine
from .narrower_bandwidth import narrower, scores_of_centers
from .rows import TrainingSet
from .targets import ExpansionTargets, StreamedClasses

SAMPLE = 1000
"""Points for the estimates before the training: bandwidth, top eigenvalue and variance of the features."""

CHOSEN_FROM = 600
"""Points of the sample for the choice of bandwidth and regularization; each bandwidth needs an eigensystem. The whole
sample is used if these points do not show that there is anything to learn."""

SHRINKAGE = 0.1
"""κ over the curvature of the loss, for the default damping. Smaller values need more steps to the regularized
solution. Larger values end further from it, because a block then explains less of what other blocks have learned."""

SHORT = 0.5
"""The default step times L for blocks whose covariance is inverted. It was short enough on all data that were tried."""

DAMPING_OF_BATCH = (0.02, 0.15, 0.5)
"""ε of a batch of B examples is at least c F/B, see `DoublyStochasticStepper`: the smallest c, c if no λ was chosen,
and the largest c."""

RIDGES_OF_BATCH = 3.0
"""c over the chosen λ; the best value for few examples and for many. It is more than 1 because f includes what other
batches have shown, so that the remainder has a larger share of noise."""

LEAST_DAMPING = 1e-4
"""The relative precision of the covariance of a block in float32."""

WARN_MOMENT, MOST_MOMENT = 100.0, 1e12
"""E (φ(x)φ(x))² over k(x, x)²: a warning above the first number times F, an error above the second. On digits, a moment
of 3,000 costs nothing, 10⁷ a percent of the test images, and 10¹⁴ nine percent."""

LEAST_ERROR = 0.01
"""The smallest estimate of the share of the labels' variance that a regression leaves."""


@dataclass(frozen=True)
class ExpansionPlan:
    """What is chosen before a training, also for a stream that follows."""

    targets: ExpansionTargets
    centering: Centering
    dtype: np.dtype
    weight_unit: float  # divisor of the sample weights
    problem: ExpansionProblem  # without points
    stepper: DoublyStochasticStepper
    batch_size: int
    seed: int
    report: dict[str, Any]  # entries of ``report_``


def plan_expansion(
    rows: TrainingSet,
    targets: ExpansionTargets,
    codes: np.ndarray | None,
    *,
    kernel: Kernel,
    searches_bandwidth: bool,
    regularization: float | None,
    settings: DoublyStochastic,
    dtype: np.dtype,
    budget: int,
    device: Device,
    seed: int,
    ranks: Alone,
) -> ExpansionPlan:
    """Choose centering, kernel, features and stepper from the training data."""
    X, weights, (n, d), c = rows.X, rows.weights, rows.X.shape, 1 if codes is None else codes.shape[1]
    weight_unit, loss = 1.0 if weights is None else float(weights.mean()), targets.loss
    centered = kernel.shift_invariant
    centering = Centering.of(X, centered=centered, without_constants=False)
    F, batch_size = settings.sizes(n, in_pairs=centered)

    order = streams.permutation(seed, "first look", 0, n)
    looked_at = order[:SAMPLE]
    sample = centering.training_points(X[looked_at], np.arange(len(looked_at)), Device("cpu"), np.dtype("float64"))
    check_scale(sample, sample.dtype, may_vanish=not centered or bool((sample == sample[0]).all()))
    mean_square, sample = float(sample[:, -2].mean()) or 1.0, sample[:, :-2]
    check_precision(sample, dtype)
    sampled, weighed = (None if part is None else part[looked_at] for part in (codes, weights))

    def first_rows(m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Augmented points of m rows, their centered targets and their weights."""
        assert codes is not None  # No bandwidth is chosen for novelty.
        rows = order[:m]
        points = centering.training_points(X[rows], np.arange(m), Device("cpu"), dtype)
        own, w = codes[rows], None if weights is None else weights[rows]
        return points, (own - np.average(own, axis=0, weights=w)).astype(dtype), None if w is None else w.astype(dtype)

    def narrow(choice: RidgeChoice) -> RidgeChoice:
        """A narrower bandwidth, if more rows show that it is better."""
        exclusive = loss.for_classes and not getattr(targets, "several", False)
        of_rows = functools.partial(scores_of_centers, kernel), first_rows, n, d, budget
        return narrower(choice, *of_rows, of_classes=exclusive)

    for m in (CHOSEN_FROM, SAMPLE):
        made, nu, chosen = choose_kernel(
            *(sample[:m], None if sampled is None else sampled[:m], None if weighed is None else weighed[:m]),
            loss,
            regularization,
            kernel,
            searches_bandwidth=searches_bandwidth,
            all_equal=centering.all_equal,
            n=n,
            seed=seed,
            narrow=narrow,
        )
        is_uninformative = chosen.pop("is_uninformative", False)
        if len(sample) <= m or not is_uninformative:
            break
    if not centered:
        made.check_values(kernels.augmented(sample.astype(dtype)))
    room = max(2**24, (budget - n * (d * holds_points(n, d, dtype, budget) + c) * dtype.itemsize) // 2)
    features = stream_of(
        made,
        d,
        F,
        seed,
        form=settings.form,
        orthogonal=settings.orthogonal,
        mean_square=mean_square,
        cache_bytes=room // 2,
    )
    # Besides coefficients and frequencies, a block has its covariance and the factor that inverts it.
    width, squares = features.width, 2 if settings.preconditioning else 0
    arrays.check_room(
        f"A block of {F:,} frequencies takes",
        dtype.itemsize * width * (FIRST_CAPACITY * c + features.drawn_numbers + squares * width),
        budget,
        "Take a smaller block_size, or give more memory.",
    )
    stepper, steps = choose_stepper(sample, features, batch_size, loss, settings, nu, chosen, seed)
    ranks.check_same((made.name, made.bandwidth), "kernels (give the bandwidth as a number)")
    stepper = ranks.divide(ranks.from_first(stepper))
    at_once, counts = min(room // 4, 2**28 if device.kind == "cpu" else 2**32), None
    if codes is not None and isinstance(targets, StreamedClasses) and targets.has_intercept:
        counts = counts_of(codes, None if weights is None else weights / weight_unit)
    # Steps of θ/t are long by design, and the loss of novelty has no lower bound.
    unbounded = loss.coding == "offset" or (
        isinstance(settings.schedule, TheoryStep) and settings.step_size is not None
    )
    growth = math.inf if unbounded else training.GROWTH
    problem = ExpansionProblem(features, loss, c, budget=at_once, growth=growth, counts=counts)
    report = steps | {
        "kernel": made.name,
        "bandwidth": made.bandwidth,
        "loss": loss.name,
        "block_size": F,
        "batch_size": batch_size,
        "regularization": stepper.regularization,
        **report_of_machine(budget, dtype, device, seed),
        "choice": chosen,
    }
    return ExpansionPlan(targets, centering, dtype, weight_unit, problem, stepper, batch_size, seed, report)


def holds_points(n: int, d: int, dtype: np.dtype, budget: int) -> bool:
    """Whether all points fit into half of the memory; otherwise each batch is read from the data when it is needed."""
    return n * (d + 2) * dtype.itemsize <= budget // 2


def choose_kernel(
    sample: np.ndarray,
    targets: np.ndarray | None,
    weights: np.ndarray | None,
    loss: losses.Loss,
    regularization: float | None,
    kernel: Kernel,
    *,
    searches_bandwidth: bool,
    all_equal: bool,
    n: int,
    seed: int,
    narrow: Callable[[RidgeChoice], RidgeChoice],
) -> tuple[Kernel, Any, dict[str, Any]]:
    """The kernel, the regularization ν, and a summary of how they were chosen.

    What the user did not give minimizes the leave-one-out error of kernel ridge regression on the sample, and
    ``narrow`` may improve a bandwidth that was chosen with it. There are ``n`` training points; novelty has no targets,
    because nothing is predicted. A loss of classes has the curvature L at the decision and on average L e, where e is
    the share of the labels' variance that the regression leaves. Scores are then larger than labels by the same factor,
    so ν = L² e λ/n.
    """
    # If all points are equal, every bandwidth gives the same function.
    median, all_equal, n_rows = None, all_equal or (sample == sample[0]).all(), len(sample)
    if targets is not None:
        joined = join_copies(sample, targets, weights)
        sample, targets, weights = sample[joined.first], joined.targets, joined.weights
    if kernel.is_open:
        median = 1.0 if all_equal else kernels.median_bandwidth(sample, seed, kernel=kernel)
        if targets is None or all_equal or not searches_bandwidth:
            kernel, median = kernel.with_bandwidth(median), None

    def matrix_of(width: float | None) -> np.ndarray:
        K = kernel.with_bandwidth(width)(sample, sample)
        return 0.5 * (K + K.T)

    if targets is None or (regularization is not None and not kernel.is_open):
        return kernel, regularization, {}
    total = float(n_rows if weights is None else weights.sum())
    # Minimizing Σ w (f − y)² + λ‖f‖² means ν = λ/Σw; with more points than in the sample, λ grows as √n.
    size = total * math.sqrt(max(1.0, n / n_rows))
    choice = choose_ridge(
        matrix_of,
        targets - np.average(targets, axis=0, weights=weights),
        median=median,
        regularization=None if regularization is None else regularization * size,
        weights=weights,
    )
    if median is not None and not choice.is_uninformative:
        choice = narrow(choice)
    if regularization is None:
        regularization = choice.regularization / size
        regularization *= curvature(loss) * mean_curvature(loss, choice.error)
    ridge = choice.regularization * len(sample) / total
    summary = choice.summary() | {"ridge": ridge, "is_uninformative": choice.is_uninformative}
    return kernel.with_bandwidth(choice.bandwidth) if kernel.is_open else kernel, regularization, summary


def curvature(loss: losses.Loss) -> float:
    """L, the largest ℓ''; 1 for losses with kinks, as for the square."""
    return min(loss.smoothness, 1.0)


def mean_curvature(loss: losses.Loss, error: float) -> float:
    """The curvature of the loss near the scores, from the share of the variance that a regression leaves."""
    return curvature(loss) * (min(1.0, max(error, LEAST_ERROR)) if loss.for_classes else 1.0)


def choose_stepper(
    sample: np.ndarray,
    features: Any,
    batch_size: int,
    loss: losses.Loss,
    settings: DoublyStochastic,
    nu: float,
    chosen: dict[str, Any],
    seed: int,
) -> tuple[DoublyStochasticStepper, dict[str, Any]]:
    """The stepper, and the entries of ``report_`` about it."""
    preconditioning, schedule = settings.preconditioning, settings.schedule
    if schedule == "auto":
        schedule = TheoryStep() if preconditioning and nu > 0 else "line_search"
    kernel, moment, F = features.kernel, features.relative_moment, features.block_size
    K = kernel(sample, sample)
    check_moment(kernel, moment, F)
    # k(x, x), the unit of dampings; 1 for kernels of the difference x − z.
    unit = 1.0 if kernel.has_frequencies else float(np.mean(kernel.diagonal(sample)))
    with arrays.one_blas_thread():
        top = float(np.linalg.eigvalsh(K[:500, :500] / min(500, len(K)))[-1])
    stable = doubly_stochastic.stable_step(loss, top, batch_size, F, preconditioning is not None, unit, moment)
    damping, damping_of_batch = settings.damping, 0.0
    if damping is None:
        damping, damping_of_batch = choose_damping(sample, loss, F, preconditioning, nu, chosen, unit)
        if preconditioning:
            # The damping of the batch limits the influence of one example, and so do short steps.
            stable = SHORT / curvature(loss)
    step, decrease, theta_nu = choose_steps(settings, schedule, nu, stable, curvature(loss))
    policy, bounds = choose_policy(settings, features, sample)
    stepper = DoublyStochasticStepper(
        float(step),
        float(decrease),
        float(nu),
        policy,
        preconditioning,
        float(damping),
        schedule == "line_search",
        seed,
        damping_of_batch,
        theta_nu if preconditioning else None,
        batch_size if preconditioning and settings.step_size is None else 0,
    )
    shrinkage = stepper.shrinkage(F, batch_size)
    return stepper, {
        "method": policy.name,
        "schedule": getattr(schedule, "name", schedule),
        "step_size": float(step),
        "stable_step": stable,
        "top_eigenvalue": top,
        "preconditioning": preconditioning,
        "theta": None if theta_nu is None else theta_nu / shrinkage,
        "theta_nu": theta_nu,
        "damping": stepper.damping_at(F, batch_size) if preconditioning else None,
        "shrinkage": shrinkage,
        **bounds,
    }


def check_moment(kernel: kernels.Kernel, moment: float, F: int) -> None:
    """Warn of random features that vary much, and refuse features that vary too much to be useful."""
    said = (
        f"The random features of {kernel!r} vary much: at a point of usual norm, the mean of (φ(x)φ(x))² is "
        f"{moment:.3g} times k(x, x)². Take a lower degree or a larger bandwidth, or bring X to a usual scale about "
        "the origin; KernelSGD and EigenPro need no random features."
    )
    if moment > MOST_MOMENT:
        raise ShallowsError(said)
    if moment > WARN_MOMENT * F:
        warn_user(f"{said} Training continues.", UserWarning)


def choose_damping(
    sample: np.ndarray,
    loss: losses.Loss,
    F: int,
    preconditioning: str | None,
    nu: float,
    chosen: dict[str, Any],
    unit: float,
) -> tuple[float, float]:
    """The damping of a block's covariance, and the least damping c F/B of a batch as c."""
    damping = unit * LEAST_DAMPING
    if preconditioning == "block":
        damping = max(damping, F * nu / (SHRINKAGE * mean_curvature(loss, chosen.get("error", 1.0))))
    least, usual, most = (unit * c for c in DAMPING_OF_BATCH)
    of_batch = min(most, max(least, RIDGES_OF_BATCH * chosen["ridge"])) if "ridge" in chosen else usual
    # Copies of an example show no more of the directions than one of them: how many copies a point has on average.
    n_points = len(np.unique(sample, axis=0))
    return damping, of_batch * (len(sample) / n_points if n_points > 1 else 1.0)


def choose_steps(
    settings: DoublyStochastic, schedule: str | DecayingStep | TheoryStep, nu: float, stable: float, L: float
) -> tuple[float, float, float | None]:
    """The first step, the decrease of the steps, and θν of the theory."""
    preconditioned = settings.preconditioning is not None
    if schedule == "line_search":
        # With an inverted covariance, 2/L is the edge of stability at the largest curvature.
        return settings.step_size or (2.0 / L if preconditioned else 16.0 * stable), 0.0, None
    if not isinstance(schedule, TheoryStep):
        decrease = schedule.decrease if isinstance(schedule, DecayingStep) else 0.0
        return settings.step_size or stable, decrease, None
    theta_nu = schedule.theta_nu or (2.0 if preconditioned else 1.0)
    # θ/(t + t₀) with t₀ such that the first step is stable; a step_size of θ gives the plain θ/t.
    step = settings.step_size or stable
    if preconditioned:
        return step, 0.0, theta_nu
    step = min(theta_nu / nu, step)
    return step, step / (theta_nu / nu), theta_nu


def choose_policy(settings: DoublyStochastic, features: Any, sample: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """Which block a step changes, with the bounds of `CheckedReuse` for the report."""
    variance = bound = cap = None
    policy: Any = Fresh()
    reuse = settings.reuse
    if isinstance(reuse, UniformReuse):
        policy = reuse
    elif isinstance(reuse, CheckedReuse):
        variance = reuse.feature_variance
        if variance is None:
            variance = doubly_stochastic.feature_variance(features, sample)
        if features.product_bound is None:
            raise ShallowsError(
                "CheckedReuse compares the variances of an old block and a new one by a bound of the products of "
                f"two features, and the features of the kernel {features.kernel.name!r} have none. Take "
                "reuse='fresh' or UniformReuse()."
            )
        bound, cap = reuse.gradient_bound, float(reuse.cap)
        policy = CheckedBlocks(float(variance), bound, cap, product_bound=features.product_bound)
    return policy, {"feature_variance": variance, "gradient_bound": bound, "cap": cap}


def check_room(
    plan: ExpansionPlan, settings: DoublyStochastic, n: int, stopping: training.Stopping, max_seconds: float | None
) -> None:
    """Refuse more steps than the features fit into the memory for; steps of `CheckedReuse` seldom add features."""
    reuse = settings.reuse
    if max_seconds is not None or isinstance(reuse, CheckedReuse):
        return
    n_steps = min(stopping.max_iterations or math.inf, stopping.max_epochs * math.ceil(n / plan.batch_size))
    share = reuse.fresh / (reuse.fresh + reuse.reused) if isinstance(reuse, UniformReuse) else 1.0
    arrays.check_room(
        f"The features that {n_steps:,} steps add take",
        share * n_steps * plan.problem.features.width * plan.problem.n_outputs * plan.dtype.itemsize,
        plan.report["memory_budget"],
        "Take fewer steps, reuse=CheckedReuse() or a smaller block_size, set max_seconds, or give more memory.",
    )
