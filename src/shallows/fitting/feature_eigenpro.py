"""The fit of least squares on explicit features by EigenPro."""

import contextlib
import functools
from dataclasses import replace
from typing import Any

import numpy as np

from .. import arrays, features, kernels, training
from ..features import Blocks, Design, MapRequest
from ..models.centering import place_points
from ..models.functions import FeatureFunction
from ..models.learned_metric import LearnedMetric
from ..solvers.least_squares.feature_eigenpro import FeatureEigenPro, FeatureEigenProStepper, FeatureProblem, workers_of
from ..solvers.least_squares.kernel_problem import KernelFit
from ..solvers.least_squares.step_rules import StepPlan, given_step, report_steps
from ..spectrum.kernel_ridge_choice import is_automatic, number_of_rows
from ..utils.checks import is_whole
from .calibration import learn_calibration, leave_out, outputs_at
from .choices import (
    Choices,
    Request,
    Sample,
    add_left_out_columns,
    choose_for_matrix,
    choose_inputs,
    choose_kernel,
    choose_on_all_rows,
    held_out_spans,
)
from .feature_blocks import number_of_features
from .fit_call import FitCall, FittedFunction
from .least_squares import check_memory, report_of_model, warn_if_unconverged
from .machine import SMALL, Phases, report_of_machine
from .metric import Metric
from .rows import TrainingSet, order_rows, split_rows
from .snapshot import LeastSquaresSnapshot
from .square_targets import SquareClassTargets, learn_square_targets

FEATURES_PER_ROOT, LEAST_FEATURES, MOST_FEATURES = 40.0, 4000, 10_000
"""The number of features is the first times √n, between the others: beyond 62,500 rows an epoch takes time like n."""

MANY = 10_000
"""With more rows the training ends when its loss is constant; with fewer the last epochs cost little."""

N_ARRAYS = 6
"""The most arrays of the targets' shape in a fit."""


def fit_feature_eigenpro(
    rows: TrainingSet,
    *,
    of_classes: bool,
    request: MapRequest,
    n_components: int | str | None,
    metric: Metric | None,
    regularization: float | str,
    calibrates: bool,
    solver: FeatureEigenPro,
    fit_intercept: bool,
    call: FitCall,
) -> FittedFunction:
    """Train on checked rows."""
    seed, options, phases = call.seed, call.options, Phases()
    feature_map, kernel, searches_bandwidth = request.features, request.kernel, request.searches_bandwidth
    device = options.fit_device()
    rows, held_out = split_rows(rows, call.early_stopping, seed, of_labels=of_classes, of_every_class=calibrates)
    start = call.begin(rows)
    targets = learn_square_targets(rows.y, rows.weights, of_classes=of_classes, fit_intercept=fit_intercept)
    codes, unit = targets.encode(rows.y), 1.0 if rows.weights is None else float(rows.weights.max())
    (n, c), dtype, budget = codes.shape, options.precision(len(codes)), options.budget(device)
    named = feature_map if isinstance(feature_map, str) else ""
    takes_kernel = named not in ("", "linear")
    check_memory(rows, c, kernel, n_components, N_ARRAYS, options, device, dtype)
    wanted = n_components if takes_kernel or is_whole(n_components) else None
    given = kernel, metric, wanted, rows, codes, seed, budget
    components = choose_inputs(*given, searches_bandwidth=searches_bandwidth)
    with device.active():
        spans = held_out_spans(n, 0, c) if calibrates and held_out is None and n > SMALL else []
        choosing = number_of_rows(n) if searches_bandwidth or is_automatic(regularization) else 0
        order = order_rows(seed, codes, targets, slice(0, choosing), spans)
        X = rows.X if components is None else components(rows.X)
        centering, points = place_points(X, order, kernel, device, dtype, feature_map, centered=bool(named))
        weights = None if rows.weights is None else arrays.to_device(rows.weights[order] / unit, device, dtype)
        sample = Sample(points, arrays.to_device(codes[order], device, dtype), weights)
        phases.end("preparation")

        calibrates = calibrates and of_classes and not centering.all_equal
        exclusive, used = of_classes and not targets.several, kernel if takes_kernel else None
        in_metric = isinstance(components, LearnedMetric)
        of_choice = exclusive, centering.all_equal, unit, seed
        wish = Request(searches_bandwidth, regularization, *of_choice, in_metric=in_metric)
        # Without a kernel near, λ is chosen with products of the features, which take longer if there are more.
        most = MOST_FEATURES if request.grows and request.near_kernel else LEAST_FEATURES
        width = request.n_features or number_of_features(n, FEATURES_PER_ROOT, LEAST_FEATURES, most)
        room = budget - points.nbytes
        made, choices = used, Choices()
        if used is not None:
            made, choices = choose_kernel(used, wish, sample, room, n_units=width)
        elif not (centering.all_equal or is_automatic(regularization)):
            choices = Choices(float(regularization) / unit)
        room = budget - points.nbytes
        blocks = features.in_blocks(feature_map, made, points[:, :-2], width, seed, room, request.parameters)
        choices = choose_on_features(
            wish, choices, made, blocks, sample, by_kernel=request.near_kernel, calibrates=calibrates
        )
        phases.end("selection")

        fit = KernelFit(
            made or kernel, points, weights, seed, choices.regularization, None, centering.all_equal, c, room
        )
        plan = solver.plan(blocks, fit)
        phases.end("eigensystem")

        spans = held_out_spans(n, 0, c) if calibrates and held_out is None and choices.path is None else []
        learned, weights = add_left_out_columns(sample.targets, weights, spans)
        room -= N_ARRAYS * learned.nbytes + step_bytes(plan, blocks, points, learned.shape[1], dtype)
        design = Design(blocks, points[:, :-2], budget=room)
        problem = FeatureProblem(design, learned, weights, plan.preconditioner, choices.regularization)
        function = FeatureFunction(blocks, centering, learned[:, :c], components)
        stepper = FeatureEigenProStepper(float(plan.step_size), plan.cycle)
        # With fewer features than rows the loss does not go to zero.
        least_fall = 2.0 * solver.tol if choices.regularization and n > MANY else 0.0
        phases.end("kernel_matrix")

        with arrays.own_threads() if workers_of(points, blocks.spans) > 1 else contextlib.nullcontext():
            run = training.train(
                stepper,
                problem,
                training.Batches(n, plan.batch_size, seed, first_epoch=start.epoch),
                call.stopping(solver.max_epochs, held_out, solver.tol, phases, least_fall),
                observers=call.observers,
                checkpoint=call.checkpoint,
                snapshot=lambda state, epoch: LeastSquaresSnapshot(
                    replace(function, coefficients=state.coefficients[:, :c]),
                    *(targets, problem, state, epoch, order, held_out, options, device),
                ),
                may_shrink=given_step(solver) is None,
                state=start.state(stepper, problem),
            )
        phases.end("training", run)
        found = run.state.coefficients
        if calibrates and isinstance(targets, SquareClassTargets):
            of_rows = functools.partial(
                outputs_at, function, targets, device, options.prediction_budget(device, share=2)
            )
            left_out = leave_out(of_rows, targets, rows, order, found, held_out, choices, spans)
            targets = learn_calibration(
                *(targets, rows, codes, order, left_out), lambda some: of_rows(rows.X[some], found[:, :c]), choices
            )
        phases.end("calibration")
        coefficients = np.ascontiguousarray(arrays.to_numpy(found[:, :c]).T).T
        model = FeatureFunction(blocks.to(arrays.Device("cpu")), centering, coefficients, components)
        arrays.synchronize(points[:1, :])
    nothing_to_learn = centering.all_equal or targets.are_equal
    warn_if_unconverged(run, solver, choices.regularization, nothing_to_learn=nothing_to_learn)
    report = {
        "features": features.name_of(feature_map),
        "n_features": blocks.n_features,
        "eigensystem": solver.eigensystem,
        **report_of_model(made, targets, choices, unit, run, design, centering, components, held_out),
        **report_of_machine(budget, dtype, device, seed),
        **report_steps(solver, plan, run),
        "damping": float(plan.preconditioner.damping),
        "power": plan.preconditioner.power,
    }
    return FittedFunction(model, targets, None, run, report, phases.seconds, start.end(run))


def choose_on_features(
    request: Request,
    choices: Choices,
    kernel: Any,
    blocks: Blocks,
    sample: Sample,
    *,
    by_kernel: bool,
    calibrates: bool,
) -> Choices:
    """Choose λ, with the features or ``by_kernel`` values, and from all rows of a small problem."""
    n = len(sample.points)
    if request.all_equal or n < 3:
        return choices

    def matrix_of(x: np.ndarray) -> np.ndarray:
        return kernels.matrix(kernel, x) if by_kernel else inner_products(blocks, x, sample.points)

    if not by_kernel:
        choices = choose_for_matrix(request, choices, matrix_of, sample)
    if calibrates and n <= SMALL:
        return choose_on_all_rows(request, choices, matrix_of, sample)
    return choices


def step_bytes(plan: StepPlan, blocks: Blocks, points: Any, n_outputs: int, dtype: np.dtype) -> int:
    """Bytes of the coefficients and of one step."""
    width = max(span.stop - span.start for span in blocks.spans)
    # The iterate and its average: now, at the start of the epoch, at the best epoch and in a copy; the gradient, and
    # one temporary array.
    held = blocks.n_features * (plan.preconditioner.rank + 10 * n_outputs)
    at_work = max(2, workers_of(points, blocks.spans)) * width + 4 * n_outputs
    return dtype.itemsize * (held + plan.batch_size * at_work)


def inner_products(blocks: Blocks, points: np.ndarray, like: Any) -> np.ndarray:
    """The inner products of the features of augmented points, computed in the library of ``like``."""
    total, plain = np.zeros((len(points), len(points))), arrays.like(points[:, :-2], like)
    for k in range(len(blocks.spans)):
        block = blocks.block(plain, k)
        block = block.toarray() if hasattr(block, "toarray") else arrays.to_numpy(block)
        total += block.astype(np.float64) @ block.T.astype(np.float64)
    return total
