"""The fit of kernel least squares in steps on batches, by EigenPro or by kernel SGD."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .. import arrays, training
from ..models.functions import KernelSum
from ..solvers.least_squares.batch_steps import kernel_of_preconditioner, subsample_first
from ..solvers.least_squares.kernel_problem import KernelSolver
from . import convergence_warning
from .checks import warn_user
from .choices import Request, Sample, add_left_out_columns
from .judged_calibration import learn_calibration
from .kernel_sums import (
    FittedKernelSum,
    check_memory,
    choose_kernel,
    choose_on_few_rows,
    evaluation_cache,
    left_out_spans,
    order_rows,
    outputs_of,
    place_points,
    report_of_machine,
    report_of_model,
)
from .leave_one_out_choice import choose_components
from .machine import SMALL, Options
from .phases import Phases
from .rows import TrainingSet, split_rows
from .snapshot import LeastSquaresSnapshot
from .square_targets import learn_square_targets
from .warm_start import Ended, begin


def fit_kernel_steps(
    rows: TrainingSet,
    *,
    of_classes: bool,
    kernel: Any,
    bandwidth: float | str | None,
    kernel_params: Any,
    n_components: int | str | None,
    regularisation: float | str | None,
    calibrates: bool,
    solver: KernelSolver,
    class_weight: Any,
    validation_fraction: float | None,
    patience: int,
    warm: tuple[Any, Ended | None],
    seed: int,
    options: Options,
    observers: Sequence[training.Observer],
    checkpoint: training.Checkpoint | None,
    name: str,
) -> FittedKernelSum:
    """Train on checked rows. ``regularisation`` is None where nothing regularizes but an early end."""
    phases, device, ranks, of_labels = Phases(), options.fit_device(), solver.ranks, {"of_labels": of_classes}
    rows, held_out = split_rows(rows, validation_fraction, seed, **of_labels, of_every_class=calibrates)
    start = begin(*warm, rows, seed)
    targets = learn_square_targets(rows.y, rows.weights, of_classes=of_classes, class_weight=class_weight)
    codes, unit = targets.encode(rows.y), 1.0 if rows.weights is None else float(rows.weights.max())
    (n, c), dtype = codes.shape, options.precision(len(codes))
    budget = ranks.share_of(options.budget(device), options.memory)
    check_memory(rows, c, kernel, n_components, solver.n_arrays, options, device, dtype)
    given = solver.given_preconditioner()
    of_kernel = kernel, bandwidth, kernel_params
    components = None
    if given is None:
        components = choose_components(n_components, *of_kernel, rows, codes, seed, budget)
    with device.active():
        n_kept, small = solver.n_kept(n, dtype.itemsize, budget), n <= SMALL and regularisation is not None
        spans = left_out_spans(n, n_kept, c, held_out, calibrates=calibrates, in_closed_form=small)
        asked = {"of_classes": of_classes, "regularisation": regularisation, "bandwidth": bandwidth}
        order = subsample_first(given, order_rows(n, seed, targets, codes, spans, **asked))
        centring, points = place_points(components, rows.X, order, kernel, device, dtype)
        weights = None if rows.weights is None else arrays.to_device(rows.weights[order] / unit, device, dtype)
        sample = Sample(points, arrays.to_device(codes[order], device, dtype), weights)
        phases.end("preparation")

        exclusive = of_classes and not targets.several
        request = Request(*of_kernel, regularisation, exclusive, centring.all_equal)
        known = given and kernel_of_preconditioner(given, *of_kernel)
        made, choices = choose_kernel(request, sample, rows.matrix, known, unit, seed, budget - points.nbytes)
        budget -= made.matrix_bytes
        calibrates = calibrates and of_classes and not centring.all_equal
        choices = choose_on_few_rows(request, choices, made, sample, calibrates=calibrates)
        phases.end("selection")

        room = budget - points.nbytes
        known = {"ridge": choices.regularisation, "eigensystem": choices.eigensystem()}
        plan = solver.plan(made, points, weights, given, c, seed, room, **known, all_equal=centring.all_equal)
        choices = replace(choices, regularisation=ranks.from_first(choices.regularisation))
        phases.end("eigensystem")

        n_kept = 0 if plan.preconditioner is None else plan.preconditioner.n_subsample
        spans = left_out_spans(n, n_kept, c, held_out, calibrates=calibrates, in_closed_form=choices.path is not None)
        learned, weights = add_left_out_columns(sample.targets, weights, spans)
        room -= solver.n_arrays * learned.nbytes + solver.step_bytes(plan, learned.shape[1], dtype.itemsize)
        problem, stepper = solver.build(plan, points, learned, weights, choices.regularisation, c, room)
        matrix, cache = problem.gram, evaluation_cache(problem.gram, rows.matrix)
        function = KernelSum(matrix.kernel, centring, matrix.points, learned[:, :c], True, components, cache)
        function = solver.function(function, matrix)
        phases.end("kernel_matrix")

        with arrays.own_threads() if solver.own_threads else contextlib.nullcontext():
            run = training.train(
                stepper,
                problem,
                start.batches(training.Batches(n, plan.batch_size, seed, solver.shuffle)),
                training.Stopping(
                    solver.max_epochs,
                    max_seconds=phases.left(options.max_seconds),
                    tolerance=solver.tol,
                    validate=None if held_out is None else held_out.validation(**of_labels),
                    patience=patience,
                ),
                observers=[*([training.Progress(name)] if options.verbose and not ranks.rank else []), *observers],
                checkpoint=checkpoint,
                snapshot=lambda state, epoch: LeastSquaresSnapshot(
                    replace(function, coefficients=state.coefficients[:, :c]),
                    *(targets, problem, state, epoch, order, held_out, options, device),
                ),
                may_shrink=solver.step_size is None,
                state=start.state(stepper, problem),
            )
        phases.end_training(run)
        found = run.state.coefficients
        if calibrates:
            outputs, left_out = outputs_of(function, targets, options, device), choices.left_out_scores()
            of_calibration = targets, rows, codes, order, outputs, found, held_out, left_out, choices, spans
            targets = replace(targets, calibration=learn_calibration(*of_calibration))
        phases.end("calibration")
        model = KernelSum(plan.kernel, centring, points, found[:, :c], components=components).on_host()
        arrays.synchronise(points[:1, :])
    warn_if_unconverged(run, solver, choices.regularisation, centring.all_equal or targets.are_equal)
    chosen = None if regularisation is None else choices
    report = {
        **report_of_model(plan.kernel, targets, chosen, unit, run, matrix, centring, components, held_out),
        **report_of_machine(budget, dtype, device, seed),
        **solver.report(plan, problem, stepper, run),
    }
    return FittedKernelSum(model, targets, rows.rows[order], run, report, phases.seconds, start.end(run))


def warn_if_unconverged(run: training.Run, solver: KernelSolver, regularisation: float, nothing_to_learn: bool) -> None:
    """Warn if the training ended far from the training targets and something is known to help."""
    message = convergence_warning.message(
        run,
        max_epochs=solver.max_epochs,
        tol=solver.tol,
        step_size=solver.step_size,
        damping=solver.damping,
        regularisation=regularisation,
        nothing_to_learn=nothing_to_learn,
    )
    if message:
        warn_user(message)
