"""The fit of kernel least squares with all training points as centers: exact solvers, EigenPro and kernel SGD."""

import contextlib
import functools
import math
from dataclasses import replace

import numpy as np

from .. import arrays, gram, kernels, training
from ..kernels import Kernel
from ..models.centering import place_points
from ..models.functions import KernelSum
from ..models.learned_metric import LearnedMetric
from ..ranks import ALONE
from ..solvers.least_squares.kernel_problem import KernelFit, KernelSolver, kernel_of_preconditioner, subsample_first
from ..solvers.least_squares.step_rules import given_step
from ..spectrum.certificates import different
from ..spectrum.kernel_ridge_choice import AUTO, is_automatic, number_of_rows
from ..spectrum.principal_components import Components
from ..utils.checks import warn_user
from .calibration import learn_calibration, leave_out, outputs_at, outputs_from_factor
from .choices import (
    Choices,
    Request,
    Sample,
    add_left_out_columns,
    choose_kernel,
    choose_kernel_and_inputs,
    choose_on_all_rows,
    held_out_spans,
)
from .fit_call import FitCall, FittedFunction
from .least_squares import check_memory, report_of_model, warn_if_unconverged
from .machine import SMALL, Phases, report_of_machine
from .metric import Metric
from .rows import HeldOut, TrainingSet, order_rows, split_rows
from .snapshot import EvaluationCache, LeastSquaresSnapshot
from .square_targets import SquareClassTargets, learn_square_targets

MOST_LEFT_OUT = 1000
"""Rows that a calibration is learned on if the factor of the kernel matrix leaves rows out in closed form."""

BLOCKS_BYTES = 2**28
"""Bytes that the blocks of kernel values of a prediction may use on a CPU."""


def fit_kernel_ridge(
    rows: TrainingSet,
    *,
    of_classes: bool,
    kernel: Kernel,
    chooses_kernel: bool,
    searches_bandwidth: bool,
    n_components: int | str | None,
    metric: Metric | LearnedMetric | Components | None,
    regularization: float | str | None,
    calibrates: bool,
    solver: KernelSolver,
    call: FitCall,
    before: tuple[np.ndarray, np.ndarray] | None = None,
) -> FittedFunction:
    """Fit to checked rows.

    ``regularization``: λ, "auto", or None if only an early end of the training regularizes. ``before``: support and
    coefficients from which an exact solver starts.
    """
    seed, options = call.seed, call.options
    phases, device, ranks = Phases(), options.fit_device(), solver.ranks
    rows, held_out = split_rows(rows, call.early_stopping, seed, of_labels=of_classes, of_every_class=calibrates)
    start = call.begin(rows)
    targets = learn_square_targets(rows.y, rows.weights, of_classes=of_classes)
    codes, unit = targets.encode(rows.y), 1.0 if rows.weights is None else float(rows.weights.max())
    (n, c), budget = codes.shape, ranks.share_of(options.budget(device), options.memory)
    given = None if solver.is_exact else solver.preconditioner
    if given is not None:
        solver = solver.with_preconditioner_read()
        given = solver.preconditioner
    dtype = np.dtype(np.float64) if options.dtype == "auto" and solver.is_direct else options.precision(n)
    check_memory(rows, c, kernel, n_components, solver.n_arrays, options, device, dtype)
    kernel, components = choose_kernel_and_inputs(
        None if chooses_kernel else kernel,
        metric,
        n_components if given is None else None,  # Components are no part of a preconditioner that the user gives.
        *(rows, codes, seed, budget),
        searches_bandwidth=searches_bandwidth,
    )
    with device.active():
        n_kept, closed = solver.n_kept(n, dtype.itemsize, budget), n <= SMALL and regularization is not None
        spans = spans_to_leave_out(solver, n, n_kept, c, held_out, calibrates=calibrates, in_closed_form=closed)
        # A solver without λ has the bandwidth that is best for ridge regression.
        chooses = AUTO if regularization is None and searches_bandwidth else regularization
        choosing = number_of_rows(n) if searches_bandwidth or is_automatic(regularization) else 0
        order = order_rows(seed, codes, targets, slice(0, choosing), spans)
        order = order if given is None else subsample_first(given, order)
        X = rows.X if components is None else components(rows.X)
        centering, points = place_points(X, order, kernel, device, dtype)
        of_order = codes[order], None if rows.weights is None else rows.weights[order] / unit
        sample = Sample(points, *(None if part is None else arrays.to_device(part, device, dtype) for part in of_order))
        phases.end("preparation")

        all_equal, exclusive = centering.all_equal, of_classes and not targets.several
        in_metric = isinstance(components, LearnedMetric)
        calibrates = calibrates and not all_equal
        request = Request(searches_bandwidth, chooses, exclusive, all_equal, unit, seed, rows.matrix, in_metric)
        kernel, choices = choose_kernel(
            *(kernel, request, sample, budget - points.nbytes), known=given and kernel_of_preconditioner(given, kernel)
        )
        if regularization is None:
            request, choices = replace(request, regularization=None), Choices()
        budget -= kernel.matrix_bytes
        choices = choose_for_solver(solver, request, choices, kernel, sample, calibrates=calibrates)
        phases.end("selection")

        room = budget - points.nbytes
        known = choices.eigensystem()
        fit = KernelFit(kernel, points, sample.weights, seed, choices.regularization, known, all_equal, c, room)
        plan = solver.plan(fit)
        choices = replace(choices, regularization=ranks.from_first(choices.regularization))
        phases.end("eigensystem")

        n_kept, closed = plan.n_subsample, choices.path is not None
        spans = spans_to_leave_out(solver, n, n_kept, c, held_out, calibrates=calibrates, in_closed_form=closed)
        columns, weights = add_left_out_columns(sample.targets, sample.weights, [] if solver.is_exact else spans)
        room -= solver.n_arrays * columns.nbytes + solver.step_bytes(plan, columns.shape[1], dtype.itemsize)
        # The coefficients of the last fit must belong to the same rows in the same order.
        continues = before is not None and np.array_equal(before[0], rows.rows[order])
        fit = replace(
            fit,
            budget=room,
            ridge=choices.regularization,
            n_left_out=MOST_LEFT_OUT if calibrates else 0,
            start=arrays.to_device(before[1], device, dtype) if before and continues else None,
        )
        problem, stepper = solver.build(plan, fit, columns, weights)
        matrix, keeps_values = problem.gram, isinstance(problem.gram, (gram.Gram, gram.ShuffledGram))
        cache = (
            EvaluationCache(n, arrays.itemsize(points), matrix.spare_bytes - BLOCKS_BYTES)
            if keeps_values and rows.matrix is None
            else None
        )
        of_points = matrix.kernel, centering, matrix.points, columns[:, :c], True, components
        function = KernelSum(*of_points, ranks=None if ranks is ALONE else ranks)
        # The tolerance of exact solvers is for residuals, whose squares are the loss.
        tolerance = solver.tol**2 if solver.is_exact else solver.tol
        phases.end("kernel_matrix")

        with arrays.own_threads() if solver.own_threads else contextlib.nullcontext():
            run = training.train(
                stepper,
                problem,
                training.Batches(n, plan.batch_size, seed, solver.shuffle, start.epoch),
                call.stopping(solver.max_epochs, held_out, tolerance, phases),
                observers=call.observers,
                checkpoint=call.checkpoint,
                snapshot=lambda state, epoch: LeastSquaresSnapshot(
                    replace(function, coefficients=state.coefficients[:, :c], cache=cache),
                    *(targets, problem, state, epoch, order, held_out, options, device),
                ),
                may_shrink=given_step(solver) is None,
                state=start.state(stepper, problem),
            )
        phases.end("training", run)
        of_rows = functools.partial(outputs_at, function, targets, device, options.prediction_budget(device, share=2))
        of_fit = targets, rows, order, run.state.coefficients, held_out, choices, [] if solver.is_exact else spans
        direct = outputs_from_factor(run, columns) if solver.is_direct else None
        left_out = leave_out(of_rows, *of_fit, direct) if calibrates else None
        if calibrates and isinstance(targets, SquareClassTargets):
            targets = learn_calibration(
                *(targets, rows, codes, order, left_out),
                lambda some: of_rows(rows.X[some], run.state.coefficients[:, :c]),
                choices,
            )
        phases.end("calibration")
        model = KernelSum(
            plan.kernel, centering, points, run.state.coefficients[:, :c], components=components
        ).on_host()
        arrays.synchronize(points[:1, :])
    warn = warn_of_residual if solver.is_exact else warn_if_unconverged
    warn(run, solver, choices.regularization, nothing_to_learn=all_equal or targets.are_equal)
    report = {
        **report_of_model(
            plan.kernel,
            targets,
            None if regularization is None else choices,
            unit,
            run,
            matrix,
            centering,
            components,
            held_out,
        ),
        **report_of_machine(budget, dtype, device, seed),
        **solver.report(plan, problem, stepper, run),
    }
    return FittedFunction(model, targets, rows.rows[order], run, report, phases.seconds, start.end(run), left_out)


def spans_to_leave_out(
    solver: KernelSolver,
    n: int,
    n_kept: int,
    n_outputs: int,
    held_out: HeldOut | None,
    *,
    calibrates: bool,
    in_closed_form: bool,
) -> list[slice]:
    """The rows that a calibration is learned on, in the order of the fit, without the first ``n_kept`` rows.

    Empty if the calibration is learned on held-out rows, or in closed form.
    """
    if not calibrates or held_out is not None:
        return []
    if solver.is_exact:
        return [slice(n - MOST_LEFT_OUT, n)] if solver.is_direct and n > MOST_LEFT_OUT else []
    return [] if in_closed_form else held_out_spans(n, n_kept, n_outputs)


def choose_for_solver(
    solver: KernelSolver, request: Request, choices: Choices, kernel: Kernel, sample: Sample, *, calibrates: bool
) -> Choices:
    """The choices with ridge regression on all rows of a small problem, if the calibration or λ needs it."""
    n, steps_choose = len(sample.points), is_automatic(request.regularization) and not solver.is_exact
    if request.all_equal:
        # One point with many targets: without λ its equations have no solution, and every λ > 0 gives their mean.
        singular = choices.regularization == 0 and not solver.solves_singular
        return replace(choices, regularization=1.0) if singular else choices
    if not 2 < n <= SMALL or not (steps_choose or (calibrates and request.regularization is not None)):
        return choices
    if solver.is_direct and different(sample.points[:, :-2]) == n:
        return choices  # The factor leaves rows out one by one, which is no use for a row that has a copy.
    return choose_on_all_rows(request, choices, functools.partial(kernels.matrix, kernel), sample)


def warn_of_residual(run: training.Run, solver: KernelSolver, regularization: float, *, nothing_to_learn: bool) -> None:
    """Warn if the iterations of an exact solver ended above the tolerance."""
    residual = math.sqrt(max(run.losses[-1], 0.0))
    if run.stopped_by not in ("patience", "max_seconds") and not solver.is_direct and residual > solver.tol:
        warn_user(
            f"After {run.epoch} of at most {solver.limit}={solver.max_epochs} the relative residual is {residual:.1e}, "
            f"above tol={solver.tol:g}; {solver.remedies} or a larger alpha would help.",
        )
