"""The fit of kernel ridge regression to its solution: by a factorization, or by iterations on the equations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import arrays, kernels, training
from ..models.functions import KernelSum
from ..solvers.least_squares.ridge_solver import RidgeSolver
from ..spectrum.certificates import different
from .checks import warn_user
from .choices import Choices, Request, Sample, choose_on_all_rows
from .judged_calibration import learn_calibration
from .kernel_sums import (
    FittedKernelSum,
    check_memory,
    choose_kernel,
    evaluation_cache,
    order_rows,
    outputs_of,
    place_points,
    report_of_machine,
    report_of_model,
)
from .leave_one_out_choice import choose_components
from .machine import SMALL, Options
from .phases import Phases
from .rows import TrainingSet
from .snapshot import LeastSquaresSnapshot
from .square_targets import learn_square_targets

MOST_LEFT_OUT = 1000
"""Rows on which the calibration is learned, each left out in closed form."""


def fit_kernel_ridge(
    rows: TrainingSet,
    *,
    of_classes: bool,
    kernel: Any,
    bandwidth: float | str | None,
    kernel_params: Any,
    n_components: int | str | None,
    regularisation: float | str,
    calibrates: bool,
    solver: RidgeSolver,
    class_weight: Any,
    before: tuple[np.ndarray, np.ndarray] | None,
    seed: int,
    options: Options,
    observers: Sequence[training.Observer],
    checkpoint: training.Checkpoint | None,
    name: str,
) -> FittedKernelSum:
    """Solve for the coefficients on checked rows.

    ``before`` has the support and the coefficients of a fit to begin with.
    """
    phases, device = Phases(), options.fit_device()
    targets = learn_square_targets(rows.y, rows.weights, of_classes=of_classes, class_weight=class_weight)
    codes, unit = targets.encode(rows.y), 1.0 if rows.weights is None else float(rows.weights.max())
    (n, c), budget = codes.shape, options.budget(device)
    solver = solver.for_size(n, budget)
    dtype = np.dtype(np.float64) if options.dtype == "auto" and solver.is_direct else options.precision(n)
    check_memory(rows, c, kernel, n_components, solver.n_arrays, options, device, dtype)
    of_kernel = kernel, bandwidth, kernel_params
    components = choose_components(n_components, *of_kernel, rows, codes, seed, budget)
    with device.active():
        asked = {"of_classes": of_classes, "regularisation": regularisation, "bandwidth": bandwidth}
        # Only a factor leaves rows out in closed form.
        leaves_out = calibrates and solver.is_direct and n > MOST_LEFT_OUT
        order = order_rows(n, seed, targets, codes, [slice(n - MOST_LEFT_OUT, n)] if leaves_out else [], **asked)
        centring, points = place_points(components, rows.X, order, kernel, device, dtype)
        weights = None if rows.weights is None else arrays.to_device(rows.weights[order] / unit, device, dtype)
        sample = Sample(points, arrays.to_device(codes[order], device, dtype), weights)
        phases.end("preparation")

        request = Request(*of_kernel, regularisation, of_classes and not targets.several, centring.all_equal)
        made, choices = choose_kernel(request, sample, rows.matrix, None, unit, seed, budget - points.nbytes)
        budget -= made.matrix_bytes
        calibrates = calibrates and of_classes and not centring.all_equal
        if calibrates and 2 < n <= SMALL and not (solver.is_direct and different(points[:, :-2]) == n):
            # A factor leaves rows out one by one, which says nothing of a row that is there twice.
            choices = choose_on_all_rows(request, choices, lambda x: kernels.matrix(made, x), sample)
        if centring.all_equal and choices.regularisation == 0 and not solver.solves_singular:
            # One point with many targets: its equations have no solution, and every λ > 0 gives their mean.
            choices = replace(choices, regularisation=1.0)
        phases.end("selection")

        room = budget - points.nbytes
        known = {"ridge": choices.regularisation, "eigensystem": None}
        plan = solver.plan(made, points, weights, None, c, seed, room, **known, all_equal=centring.all_equal)
        phases.end("eigensystem")

        learned, weights = sample.targets, None if weights is None else weights[:, None]
        room -= solver.n_arrays * learned.nbytes + solver.step_bytes(plan, c, dtype.itemsize)
        start = coefficients_before(before, rows.rows[order], points, dtype)
        asked = {"n_left_out": MOST_LEFT_OUT if calibrates else 0, "start": start}
        problem, stepper = solver.build(plan, points, learned, weights, choices.regularisation, c, room, **asked)
        matrix, cache = problem.gram, evaluation_cache(problem.gram, rows.matrix)
        function = KernelSum(made, centring, matrix.points, learned, True, components, cache)
        phases.end("kernel_matrix")

        run = training.train(
            stepper,
            problem,
            training.Batches(n, plan.batch_size, seed),
            training.Stopping(solver.max_epochs, tolerance=solver.tolerance),
            observers=[*([training.Progress(name)] if options.verbose else []), *observers],
            checkpoint=checkpoint,
            snapshot=lambda state, epoch: LeastSquaresSnapshot(
                replace(function, coefficients=state.coefficients),
                *(targets, problem, state, epoch, order, None, options, device),
            ),
            may_shrink=True,
        )
        phases.end_training(run)
        found = run.state.coefficients
        if calibrates:
            outputs, left_out = outputs_of(function, targets, options, device), left_out_scores(run, learned, choices)
            given = targets, rows, codes, order, outputs, found, None, left_out, choices, []
            targets = replace(targets, calibration=learn_calibration(*given))
        phases.end("calibration")
        model = KernelSum(made, centring, points, found, components=components).on_host()
        arrays.synchronise(points[:1, :])
    warn_if_unconverged(run, solver)
    report = {
        **report_of_model(made, targets, choices, unit, run, matrix, centring, components, None),
        **report_of_machine(budget, dtype, device, seed),
        **solver.report(plan, problem, stepper, run),
    }
    return FittedKernelSum(model, targets, rows.rows[order], run, report, phases.seconds, None)


def coefficients_before(
    before: tuple[np.ndarray, np.ndarray] | None, support: np.ndarray, points: Any, dtype: np.dtype
) -> Any:
    """The coefficients of the fit before, where they belong to the same rows in the same order."""
    if before is None or not np.array_equal(before[0], support):
        return None
    return arrays.to_device(before[1], arrays.device_of(points), dtype)


def left_out_scores(run: training.Run, targets: Any, choices: Choices) -> tuple[np.ndarray, slice] | None:
    """Outputs at rows that their fit went without, in closed form, and which rows of the fit these are."""
    inverse = getattr(run.state, "inverse_diagonal", None)
    if inverse is None or choices.path is not None:
        return choices.left_out_scores()
    n = targets.shape[0]
    rows = slice(n - len(inverse), n)
    coefficients = arrays.to_numpy(run.state.coefficients[rows, :])
    return arrays.to_numpy(targets[rows, :]) - coefficients / arrays.to_numpy(inverse)[:, None], rows


def warn_if_unconverged(run: training.Run, solver: RidgeSolver) -> None:
    """Warn if iterations ended above the tolerance."""
    left = math.sqrt(max(run.losses[-1], 0.0))
    if not solver.is_direct and left > solver.tol:
        warn_user(
            f"After max_iterations={solver.max_epochs} the relative residual is {left:.1e}, above "
            f"tol={solver.tol:g}; {solver.remedies} or a larger regularisation would help.",
        )
