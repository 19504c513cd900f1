"""The plan of doubly stochastic gradients: kernel, features and stepper, chosen from a sample of the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays, kernels, losses, streams, training
from ..arrays import Device
from ..errors import ShallowsError
from ..features.random_features import stream_of
from ..models.centring import Centring, check_precision, check_scale
from ..models.functions import Expansion
from ..ranks import Alone
from ..solvers.examples import Examples
from ..solvers.expansions import doubly_stochastic
from ..solvers.expansions.block_policies import Checked, Fresh, UniformReuse
from ..solvers.expansions.doubly_stochastic import DoublyStochastic
from ..solvers.expansions.expansion import ExpansionProblem, ExpansionState, counts_of
from ..solvers.expansions.expansion_settings import ExpansionSettings
from ..solvers.expansions.growing_expansion import FIRST_CAPACITY
from ..spectrum.kernel_ridge_choice import join_copies
from ..spectrum.leave_one_out import choose_ridge
from .checks import is_positive, warn_user
from .rows import TrainingSet
from .stream_training import Batch
from .targets import ExpansionTargets, StreamedClasses

SAMPLE = 1000
"""Points from which bandwidth, top eigenvalue and variance of the features are estimated before the training."""

CHOSEN_FROM = 600
"""Those of them on which bandwidth and regularisation are chosen; each bandwidth that is tried takes an eigensystem.
Where these do not show that there is anything to be learnt, all are taken."""

SHRINKAGE = 0.1
"""κ over the curvature of the loss that the damping is chosen for. Smaller ones take more steps to the regularised
solution; larger ones end further from it, since a block then takes less from what the other blocks have learnt."""

SHORT = 0.5
"""Steps times L with which that is so for blocks whose covariance is inverted, on all data that were tried."""

DAMPING_OF_BATCH = (0.02, 0.15, 0.5)
"""ε of a batch of B examples is at least c F/B, see `DoublyStochastic`. The least c, the one where no λ was chosen, and
the most."""

RIDGES_OF_BATCH = 3.0
"""c over the λ that was chosen, which is best for few examples as for many. It is more than 1, since what other batches
have told is in f already, and what is left has a larger share of noise."""

LEAST_DAMPING = 1e-4
"""What float32 resolves of the covariance of a block."""

WARN_MOMENT, MOST_MOMENT = 100.0, 1e12
"""E (φ(x)φ(x))² over k(x, x)², as a multiple of F where a user is warned, and where it is refused. On digits a moment
of 3,000 costs nothing, one of 10⁷ a percent of the test images, and one of 10¹⁴ nine percent."""

LEAST_ERROR = 0.01
"""The least share of the variance of labels that is believed to be left."""


@dataclass(frozen=True)
class ExpansionPlan:
    """What is chosen before a training, and holds for the whole stream that may follow.

    Attributes
    ----------
    targets : StreamedClasses, StreamedValues or Novelty
    centring : Centring
    dtype : dtype
    weight_unit : float
        What sample weights are divided by.
    problem : ExpansionProblem
        Without points.
    stepper : DoublyStochastic
    block_size, batch_size, seed : int
    report : dict
        Entries of ``effective_params_``.
    """

    targets: ExpansionTargets
    centring: Centring
    dtype: np.dtype
    weight_unit: float
    problem: ExpansionProblem
    stepper: DoublyStochastic
    block_size: int
    batch_size: int
    seed: int
    report: dict[str, Any]

    def function(self, state: ExpansionState) -> Expansion:
        """The function at a state."""
        return Expansion(self.problem, state, self.centring, self.dtype)

    def examples(self, rows: Batch, device: Device) -> Examples:
        """Checked rows (X, y, weights) of a stream as the stepper takes them."""
        X, y, weights = rows
        targets, w = self.targets.encode(y), None
        points = self.centring.training_points(X, np.arange(X.shape[0]), device, self.dtype)[:, :-2]
        if device.kind == "gpu":
            points = arrays.contiguous(points)  # Else each product would copy them.
        if weights is not None:
            w = arrays.to_device((weights / self.weight_unit)[:, None], device, self.dtype)
        return Examples(points, None if targets is None else arrays.to_device(targets, device, self.dtype), w)


def holds_points(n: int, d: int, dtype: np.dtype, budget: int) -> bool:
    """Whether all points are copied into half of the memory; else each batch is read from the data in its turn."""
    return n * (d + 2) * dtype.itemsize <= budget // 2


def plan_expansion(
    rows: TrainingSet,
    targets: ExpansionTargets,
    codes: np.ndarray | None,
    *,
    kernel: Any,
    bandwidth: float | str | None,
    kernel_params: Any,
    form: str,
    orthogonal: bool,
    settings: ExpansionSettings,
    dtype: np.dtype,
    budget: int,
    device: Device,
    seed: int,
    ranks: Alone,
) -> ExpansionPlan:
    """Choose centring, kernel, features and stepper from the training data."""
    X, weights, (n, d), c = rows.X, rows.weights, rows.X.shape, 1 if codes is None else codes.shape[1]
    weight_unit, loss = 1.0 if weights is None else float(weights.mean()), targets.loss
    centred = kernels.kind(kernel).shift_invariant
    centring = Centring.of(X, centred=centred, without_constants=False)
    block_size, batch_size = settings.sizes(n, in_pairs=centred)

    looked_at = streams.permutation(seed, "first look", 0, n)[:SAMPLE]
    sample, mean_square = place_sample(X[looked_at], centring, dtype, centred=centred)
    of_sample = (sample, *(None if part is None else part[looked_at] for part in (codes, weights)))
    for m in (CHOSEN_FROM, SAMPLE):
        first = (None if part is None else part[:m] for part in of_sample)
        kernel_, nu, chosen = choose_kernel(*first, loss, settings, centring, kernel, bandwidth, kernel_params, n, seed)
        is_uninformative = chosen.pop("is_uninformative", False)
        if len(sample) <= m or not is_uninformative:
            break
    if not centred:
        kernel_.check_values(kernels.augmented(sample.astype(dtype)))
    room = max(2**24, (budget - n * (d * holds_points(n, d, dtype, budget) + c) * dtype.itemsize) // 2)
    features = stream_of(
        kernel_, d, block_size, seed, form=form, orthogonal=orthogonal, mean_square=mean_square, cache_bytes=room // 2
    )
    # Beside coefficients and frequencies a block has its covariance and the factor that inverts it.
    width, squares = features.width, 2 if settings.preconditioning else 0
    arrays.check_room(
        f"A block of {block_size:,} frequencies takes",
        dtype.itemsize * width * (FIRST_CAPACITY * c + features.drawn_numbers + squares * width),
        budget,
        "Take a smaller block_size, or give more memory.",
    )
    stepper, told = choose_stepper(sample, features, block_size, batch_size, loss, settings, nu, chosen, seed)
    ranks.same((kernel_.name, kernel_.bandwidth), "kernels (give the bandwidth as a number)")
    stepper = ranks.divide(ranks.from_first(stepper))
    at_once = min(room // 4, 2**28 if device.kind == "cpu" else 2**32)
    counts = None
    if isinstance(targets, StreamedClasses) and targets.has_intercept:
        counts = counts_of(codes, None if weights is None else weights / weight_unit)
    growth = divergence_factor(settings, loss)
    problem = ExpansionProblem(features, loss, c, budget=at_once, growth=growth, counts=counts)
    report = told | {
        "kernel": kernel_.name,
        "bandwidth": kernel_.bandwidth,
        "loss": loss.name,
        "block_size": block_size,
        "batch_size": batch_size,
        "regularisation": stepper.regularisation,
        "memory_budget": budget,
        "precision": dtype.name,
        "device": str(device),
        "seed": seed,
        "choice": chosen,
    }
    return ExpansionPlan(targets, centring, dtype, weight_unit, problem, stepper, block_size, batch_size, seed, report)


def place_sample(X: Any, centring: Centring, dtype: np.dtype, *, centred: bool) -> tuple[np.ndarray, float]:
    """Centred points of a sample in float64, and their mean square norm."""
    sample = centring.training_points(X, np.arange(X.shape[0]), Device("cpu"), np.dtype("float64"))
    check_scale(sample, sample.dtype, may_vanish=not centred or bool((sample == sample[0]).all()))
    mean_square, sample = float(sample[:, -2].mean()) or 1.0, sample[:, :-2]
    check_precision(sample, dtype)
    return sample, mean_square


def choose_kernel(
    sample: np.ndarray,
    targets: np.ndarray | None,
    weights: np.ndarray | None,
    loss: losses.Loss,
    settings: ExpansionSettings,
    centring: Centring,
    kernel: Any,
    bandwidth: Any,
    kernel_params: Any,
    n: int,
    seed: int,
) -> tuple[Any, Any, dict[str, Any]]:
    """The kernel, the regularisation, and what was found about both where they were chosen.

    What the user gives stays. The rest is what leaves the least error of kernel ridge regression in leaving out one
    point of the sample after the other; ``n`` are the points that will be trained on, and targets of None are those
    of novelty, where nothing is there to be predicted. A loss of classes has a curvature of L at the decision and
    less away from it, on average L e with the share e of the variance of the labels that the regression leaves;
    scores are then larger than labels by as much, and so ν = L² e λ/n.
    """
    named = bandwidth if is_positive(bandwidth) else None
    name, width, parameters = kernels.translated(kernel, named, kernel_params)
    kind = kernels.kind(name)
    takes_bandwidth = not isinstance(kind, kernels.Kernel) and kind.takes_bandwidth
    # Where all points coincide, every bandwidth gives the same function.
    coincide = centring.all_equal or (sample == sample[0]).all()
    regularisation, median = settings.regularisation, None
    n_rows = len(sample)
    if targets is not None:
        joined = join_copies(sample, targets, weights)
        sample, targets, weights = sample[joined.first], joined.targets, joined.weights
    if takes_bandwidth and width is None:
        median = 1.0 if coincide else kernels.median_bandwidth(sample, seed)
        width = median if targets is None or coincide or bandwidth != "auto" else None

    def made(of: float | None) -> Any:
        if isinstance(kind, kernels.Kernel):
            return kind
        return kernels.make(name, of, **parameters)

    if targets is None or (regularisation is not None and (width is not None or median is None)):
        return made(width), regularisation, {}
    total = float(n_rows if weights is None else weights.sum())
    centred = targets - np.average(targets, axis=0, weights=weights)
    # Minimising Σ w (f − y)² + λ‖f‖² is ν = λ/Σw; with more points than the sample has, λ grows as √n.
    size = total * math.sqrt(max(1.0, n / n_rows))
    choice = choose_ridge(
        lambda of: _symmetric(made(of)(sample, sample)),
        centred,
        median=median,
        bandwidth=width,
        regularisation=None if regularisation is None else regularisation * size,
        weights=weights,
    )
    if regularisation is None:
        regularisation = choice.regularisation / size
        regularisation *= curvature(loss) * curvature_met(loss, choice.error)
    return (
        made(choice.bandwidth),
        regularisation,
        choice.summary()
        | {"ridge": choice.regularisation * len(sample) / total, "is_uninformative": choice.is_uninformative},
    )


def curvature_met(loss: losses.Loss, error: float) -> float:
    """The curvature of the loss where the scores will be, from the share of variance that a regression leaves."""
    return curvature(loss) * (min(1.0, max(error, LEAST_ERROR)) if loss.for_classes else 1.0)


def choose_stepper(
    sample: np.ndarray,
    features: Any,
    block_size: int,
    batch_size: int,
    loss: losses.Loss,
    settings: ExpansionSettings,
    nu: float,
    chosen: dict[str, Any],
    seed: int,
) -> tuple[DoublyStochastic, dict[str, Any]]:
    """The stepper, and what was decided or estimated for it."""
    preconditioning, schedule = settings.preconditioning, settings.schedule
    if schedule == "auto":
        schedule = "theory" if preconditioning and nu > 0 else "line_search"
    F, L, theta_nu, decrease = block_size, curvature(loss), None, 0.0
    kernel = features.kernel
    K, moment = kernel(sample, sample), features.relative_moment
    _check_moment(kernel, moment, F)
    # Dampings are in units of k(x, x), which is 1 for kernels of the difference x − z.
    size = 1.0 if kernel.has_frequencies else float(np.mean(kernel.diagonal(sample)))
    with arrays.one_blas_thread():
        top = float(np.linalg.eigvalsh(K[:500, :500] / min(500, len(K)))[-1])
    stable = doubly_stochastic.stable_step(loss, top, batch_size, F, preconditioning is not None, size, moment)
    damping, damping_of_batch = settings.damping, 0.0
    if damping is None:
        damping = size * LEAST_DAMPING
        if preconditioning == "block":
            damping = max(damping, F * nu / (SHRINKAGE * curvature_met(loss, chosen.get("error", 1.0))))
        least, usual, most = (size * c for c in DAMPING_OF_BATCH)
        damping_of_batch = min(most, max(least, RIDGES_OF_BATCH * chosen["ridge"])) if "ridge" in chosen else usual
        damping_of_batch *= _copies(sample)  # Copies of an example tell no more of the directions than one does.
        if preconditioning:
            # The damping of the batch bounds what one example counts, and so do short steps.
            stable = SHORT / L
    if schedule == "line_search":
        # With the covariance inverted, 2/L is the edge of stability where the loss is most curved.
        step = settings.step_size or (2.0 / L if preconditioning else 16.0 * stable)
    elif schedule == "theory":
        theta_nu = settings.theta_nu or (2.0 if preconditioning else 1.0)
        # θ/(t + t₀) with t₀ such that the first step is a stable one; a step of θ itself is the plain θ/t.
        step = settings.step_size or stable
        if not preconditioning:
            step = min(theta_nu / nu, step)
            decrease = step / (theta_nu / nu)
    else:
        step, decrease = settings.step_size or stable, settings.decrease if schedule == "decay" else 0.0
    variance = bound = cap = None
    policy: Any = Fresh()
    if settings.method == "udsg":
        policy = UniformReuse(settings.fresh, settings.reused)
    elif settings.method == "cdsg":
        variance = settings.feature_variance
        if variance is None:
            variance = doubly_stochastic.feature_variance(features, sample)
        if features.product_bound is None:
            raise ShallowsError(
                "method='cdsg' compares the variances of an old block and a new one by a bound of the products of "
                f"two features, and those of the kernel {kernel.name!r} have none. Take method='dsg' or 'udsg'."
            )
        bound, cap = settings.gradient_bound, float(settings.cap)
        policy = Checked(float(variance), bound, cap, product_bound=features.product_bound)
    solver = DoublyStochastic(
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
    )
    shrinkage = solver.shrinkage(F, batch_size)
    return solver, {
        "method": settings.method,
        "schedule": schedule,
        "step_size": float(step),
        "stable_step": stable,
        "top_eigenvalue": top,
        "preconditioning": preconditioning,
        "theta": None if theta_nu is None else theta_nu / shrinkage,
        "theta_nu": theta_nu,
        "damping": solver.damping_at(F, batch_size) if preconditioning else None,
        "shrinkage": shrinkage,
        "feature_variance": variance,
        "gradient_bound": bound,
        "cap": cap,
    }


def stopping_rules(
    settings: ExpansionSettings, n: int, batch_size: int, max_seconds: float | None
) -> training.Stopping:
    """When a fit to n rows ends; without a tolerance, since what is watched may grow or be negative."""
    n_batches, n_iter, max_epochs = math.ceil(n / batch_size), settings.n_iter, settings.max_epochs
    if n_iter is None and max_epochs is None:
        # Ten passes; more where they are short, since small data need no fewer steps to the solution.
        n_iter = max(10 * n_batches, 50, min(200, math.ceil(200 * math.sqrt(1000 / n))))
    epochs = max_epochs or math.ceil(n_iter / n_batches)  # type: ignore[operator]
    return training.Stopping(epochs, n_iter, max_seconds, tolerance=-math.inf)


def divergence_factor(settings: ExpansionSettings, loss: losses.Loss) -> float:
    """The multiple of the zero function's loss that counts as divergence; steps of θ/t are long by design."""
    unbounded = loss.coding == "offset" or (settings.schedule == "theory" and settings.step_size is not None)
    return math.inf if unbounded else training.GROWTH


def check_room(
    plan: ExpansionPlan, settings: ExpansionSettings, n: int, stopping: training.Stopping, max_seconds: float | None
) -> None:
    """Refuse more steps than the memory has room for the features of; those of "cdsg" seldom add any."""
    if max_seconds is not None or settings.method == "cdsg":
        return
    epochs = settings.max_epochs or math.inf
    n_steps = min(stopping.max_iterations or math.inf, epochs * math.ceil(n / plan.batch_size))
    share = settings.fresh / (settings.fresh + settings.reused) if settings.method == "udsg" else 1.0
    arrays.check_room(
        f"The features that {n_steps:,} steps add take",
        share * n_steps * plan.problem.features.width * plan.problem.n_outputs * plan.dtype.itemsize,
        plan.report["memory_budget"],
        "Take fewer steps, method='cdsg' or a smaller block_size, set max_seconds, or give more memory.",
    )


def _check_moment(kernel: kernels.Kernel, moment: float, block_size: int) -> None:
    """Warn of random features that vary much, and refuse those that vary beyond all use."""
    said = (
        f"The random features of {kernel!r} vary much: at a point of usual norm, the mean of (φ(x)φ(x))² is "
        f"{moment:.3g} times k(x, x)². Take a lower degree or a larger bandwidth, or bring X to a usual scale about "
        "the origin; KernelSGD and EigenPro need no random features."
    )
    if moment > MOST_MOMENT:
        raise ShallowsError(said)
    if moment > WARN_MOMENT * block_size:
        warn_user(f"{said} Training goes on.", UserWarning)


def curvature(loss: losses.Loss) -> float:
    """L, the most that ℓ'' comes to; 1 where the loss has kinks, as for the square."""
    return min(loss.smoothness, 1.0)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return 0.5 * (matrix + matrix.T)


def _copies(sample: np.ndarray) -> float:
    """How often a point of the sample is there, on average; 1 where all are the same."""
    n_points = len(np.unique(sample, axis=0))
    return len(sample) / n_points if n_points > 1 else 1.0
