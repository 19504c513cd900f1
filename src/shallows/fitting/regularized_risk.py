"""The fit of a regularized risk, λ/2 ‖f‖² + (1/n) Σ wᵢ ℓ(f(xᵢ) + b, yᵢ), over kernel functions or explicit features."""

from typing import Any

import numpy as np

from .. import arrays, features, gram, streams, training
from ..arrays import Array
from ..features import Blocks, Design, MapRequest
from ..kernels import Kernel
from ..losses import Loss
from ..models.centering import Centering, place_points
from ..models.functions import FeatureFunction, KernelSum
from ..solvers.regularized.risk import FeatureSpan, KernelSpan, RiskProblem, RiskSettings, RiskState
from ..spectrum.kernel_ridge_choice import is_automatic
from ..spectrum.leave_one_out import RidgeChoice, report_of_choice
from ..training.steps import InOrderThenDrawn, InOrderThenShuffled
from ..utils.checks import warn_user
from . import column_scales, leave_one_out_choice
from .fit_call import FitCall, FittedFunction
from .machine import Phases, report_of_machine
from .rows import TrainingSet, split_rows
from .snapshot import RiskSnapshot
from .targets import ClassTargets, ValueTargets

N_FEATURES = 512
"""Columns of feature maps whose size is not given."""


def fit_regularized_risk(
    rows: TrainingSet,
    *,
    of_classes: bool,
    request: MapRequest,
    loss: Loss,
    regularization: float | str | None,
    solver: RiskSettings,
    solver_name: str,
    fit_intercept: bool,
    call: FitCall,
    name: str,
) -> FittedFunction:
    """Train on checked rows. The random order of the rows, features and landmarks depend on the seed alone."""
    seed, options, feature_map = call.seed, call.options, request.features
    phases, device = Phases(), options.fit_device()
    rows, held_out = split_rows(rows, call.early_stopping, seed, of_labels=of_classes)
    start = call.begin(rows)
    targets: ClassTargets | ValueTargets
    if of_classes:
        targets = ClassTargets.of(rows.y, rows.weights, loss, fit_intercept=fit_intercept)
    else:
        targets = ValueTargets.of(rows.y, rows.weights, loss)
    n, dtype, budget = len(rows.rows), options.precision(len(rows.rows)), options.budget(device)
    options.warn_of_too_little_memory(device)
    with device.active():
        order = streams.permutation(seed, "order", 0, n)
        codes = arrays.to_device(targets.encode(rows.y)[order], device, dtype)
        weights = of_choice = None
        if rows.weights is not None:
            of_choice = rows.weights[order]
            weights = arrays.to_device(of_choice / rows.weights.mean(), device, dtype)[:, None]
            of_choice = of_choice / of_choice.mean()
        made: Kernel | None = None
        choice: RidgeChoice | None = None
        if feature_map is None or (isinstance(feature_map, str) and feature_map != "linear"):
            centering, points, made, choice = leave_one_out_choice.place_and_choose(
                rows.X, rows.matrix, order, request.kernel, targets.ridge_codes(rows.y[order]), of_choice,
                seed, device, dtype, searches_bandwidth=request.searches_bandwidth, feature_map=feature_map, widest=1.0,
                regularizes=is_automatic(regularization),
            )  # fmt: skip
            budget -= made.matrix_bytes
        else:  # The linear map and the user's own maps need no kernel.
            centering, points = place_points(rows.X, order, request.kernel, device, dtype, feature_map)
        phases.end("preparation")

        blocks = None
        if feature_map is not None:
            width = request.n_features or N_FEATURES
            blocks = features.in_blocks(feature_map, made, points[:, :-2], width, seed, budget, request.parameters)
        phases.end("eigensystem")

        # Enough rows for fast products, and for few rows at least twenty batches an epoch.
        largest, smallest = (256, 16) if blocks is None else (64, 8)
        size = min(n, solver.batch_size or max(smallest, min(largest, n // 20)))
        room = budget - points.nbytes - 6 * codes.nbytes
        span = make_span(points, made, blocks, room, one_pass=solver.max_epochs == 1)
        coded_loss, unit = targets.scaled_loss
        ridge = chosen_ridge(regularization, choice, n, unit, 0.0 if of_classes else solver.least_ridge)
        b = arrays.to_device(targets.intercept, device, dtype) if of_classes and fit_intercept else None
        problem = RiskProblem(span, codes, coded_loss, ridge * unit, weights, solver.growth(coded_loss), b)
        stepper = solver.build(problem, size)
        phases.end("kernel_matrix")

        source = InOrderThenDrawn if solver.draws_batches else InOrderThenShuffled
        with arrays.threads_for(size * (points.shape[1] if blocks is None else blocks.n_features)):
            run = training.train(
                stepper,
                problem,
                source(n, size, seed, first_epoch=start.epoch),
                call.stopping(solver.max_epochs, held_out, solver.tol, phases),
                observers=call.observers,
                checkpoint=call.checkpoint,
                snapshot=lambda state, epoch: RiskSnapshot(
                    function_of(problem, state, centering),
                    *(targets, problem, state, epoch, order, held_out, options, device),
                ),
                may_shrink=getattr(solver, "step_size", None) is None,
                state=start.state(stepper, problem),
            )
        phases.end("training", run)
        model, kept = function_of(problem, run.state, centering).kept()
        warn_of_scales(problem, model, points, feature_map, name)
        warn_if_above_zero(problem, run, name)
        arrays.synchronize(points[:1, :])
    report = {
        "kernel": None if made is None else made.name,
        "bandwidth": None if made is None else made.bandwidth,
        "features": features.name_of(feature_map),
        "n_features": None if blocks is None else blocks.n_features,
        "n_support": None if kept is None else len(kept),
        "loss": coded_loss.name,
        "solver": solver_name,
        "regularization": ridge,
        "batch_size": size,
        "step_size": float(run.state.step_size),
        "n_steps": run.state.n_steps,
        "n_epochs": run.epoch,
        "stopped_by": run.stopped_by,
        **report_of_machine(budget, dtype, device, seed),
        **report_of_choice(choice),
    }
    support = None if kept is None else rows.rows[order][kept]
    return FittedFunction(model, targets, support, run, report, phases.seconds, start.end(run))


def chosen_ridge(value: Any, choice: Any, n: int, unit: float, least: float) -> float:
    """λ in the user's units: given, chosen for targets in the unit of the problem (at least ``least``/n), or 1/n."""
    if is_automatic(value) and choice is not None:
        return float(max(least, choice.regularization) / n / unit)
    return 1.0 / n if value is None or isinstance(value, str) else float(value)


def make_span(
    points: Array, kernel: Kernel | None, blocks: Blocks | None, budget: int, *, one_pass: bool
) -> KernelSpan | FeatureSpan:
    """The functions that are learned; ``budget`` is the memory that is left for their values."""
    if blocks is not None:
        plain = points[:, :-2] if arrays.is_numpy(points) else arrays.contiguous(points[:, :-2])
        # The first pass computes the features, so that their time counts as training.
        return FeatureSpan(Design(blocks, plain, budget=0), budget=max(budget // 2, 2**20))
    # A single pass uses every part of the matrix once and keeps nothing.
    return KernelSpan(gram.LazyGram(kernel, points, budget=0 if one_pass else max(budget, 2**20)))


def function_of(problem: RiskProblem, state: RiskState, centering: Centering) -> KernelSum | FeatureFunction:
    """The function at a state of the solver; it refers to the arrays of the fit."""
    span, visited = problem.span, slice(0, state.n_visited)
    if isinstance(span, FeatureSpan):
        return FeatureFunction(span.design.blocks, centering, state.coefficients)
    points, a = span.gram.points[visited, :], state.coefficients[visited, :]
    return KernelSum(span.gram.kernel, centering, points, a, fitting=True)


def warn_of_scales(
    problem: RiskProblem, model: KernelSum | FeatureFunction, points: Array, feature_map: Any, name: str
) -> None:
    """Warn if a linear function on the host is far above what steps in standardized columns find."""
    a = model.coefficients.astype(np.float64)
    of_kernel = None
    if isinstance(model, KernelSum) and model.kernel.name == "linear":
        of_kernel = model if model.kernel.parameters == {"offset": 0.0, "scale": 1.0} else None
    if of_kernel is None:
        by_map = isinstance(feature_map, str) and feature_map == "linear"
        if not (by_map and arrays.is_numpy(points)):
            return
    x = arrays.to_numpy(points)[:, :-2]
    mean, scale = column_scales.scales_of(x.rows if isinstance(x, arrays.SparsePoints) else x, centered=False)
    # A linear kernel has no constant: its column is zero.
    w, constant = a, 1.0
    if of_kernel is not None:
        w, constant = np.vstack([of_kernel.points[:, :-2].T @ a, np.zeros((1, a.shape[1]))]), 0.0

    def value_and_gradient(w: np.ndarray) -> tuple[float, np.ndarray]:
        total, gradient = 0.0, problem.regularization * w
        for rows in arrays.blocks(len(x), 4096):
            scores = (x[rows] @ w[:-1] + constant * w[-1]).astype(x.dtype)
            total += problem.losses(scores, rows)
            slopes = problem.gradient(scores, rows) / len(x)
            gradient[:-1] += x[rows].T @ slopes
            gradient[-1] += constant * slopes.sum(axis=0)
        return 0.5 * problem.regularization * float((w * w).sum()) + total / len(x), gradient

    mean, scale = np.append(mean, 0.0), np.append(scale, 1.0)
    column_scales.warn_if_far(name, value_and_gradient, w, mean, scale)


def warn_if_above_zero(problem: RiskProblem, run: training.Run, name: str) -> None:
    """Warn if f is worse than zero: with a small λ the optimum is far away if rows contradict each other."""
    if not (run.epoch > 1 and run.losses and run.losses[-1] > 1.0):
        return  # A single pass is too short to reach the optimum.
    zero = arrays.namespace(problem.targets).zeros_like(problem.targets)
    value = problem.objective(run.state.coefficients)
    of_zero = problem.losses(zero, slice(0, problem.span.n)) / problem.span.n
    if value > (1.0 + column_scales.FAR_ABOVE) * of_zero:
        warn_user(
            f"{name} ended at an objective of {value:.3g}, and a constant has {of_zero:.3g}: it is "
            f"not near its optimum after {run.epoch} epochs. Raise max_epochs or regularization.",
        )
