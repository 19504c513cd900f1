"""The fit of least squares over the kernel functions of centers: Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖², f = Σⱼ αⱼ k(zⱼ, ·)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import arrays, training
from ..arrays import Array
from ..kernels import Kernel
from ..models.functions import KernelSum
from ..ranks import ALONE, Alone
from ..solvers.least_squares.projected import ProjectedEigenPro, ProjectedPlan
from .calibration import learn_calibration
from .center_choices import (
    CONJUGATE_GRADIENTS,
    EIGENPRO,
    begins_with_steps,
    choose_kernel_of_centers,
    may_change_to_steps,
    measure_points,
    span_to_choose_with,
    spans_left_out,
    with_all_rows,
)
from .center_points import are_training_points, number_of_use, place_centers
from .center_training import (
    BatchPlan,
    CentersMatrix,
    bytes_of_steps,
    in_order,
    make_problem,
    make_stepper,
    plan_training,
    seconds_of_passes,
)
from .choices import Choices, Request, add_left_out_columns, choose_components, held_out_spans
from .least_squares import FittedFunction, warn_if_unconverged
from .machine import Options, Phases
from .rows import TrainingSet, order_rows, split_rows
from .snapshot import Ended, FunctionSnapshot, begin
from .square_targets import SquareTargets, learn_square_targets

ARRAYS_OF_TARGETS = 6
"""Arrays of the targets' shape that a fit holds at most: the targets, the iterate, the iterate at the start of the
epoch, the best one, a copy for a checkpoint and one for intermediate results."""


def fit_kernel_centers(
    rows: TrainingSet,
    *,
    of_classes: bool,
    kernel: Any,
    centers: Any,
    bandwidth: float | str | None,
    kernel_params: Any,
    n_components: int | str | None,
    regularisation: float | str,
    calibrates: bool,
    solver: str,
    steps: ProjectedEigenPro,
    max_epochs: int,
    tol: float,
    class_weight: Any,
    validation_fraction: float | None,
    patience: int,
    warm: tuple[Any, Ended | None],
    seed: int,
    options: Options,
    observers: Sequence[training.Observer],
    checkpoint: training.Checkpoint | None,
    name: str,
    ranks: Alone = ALONE,
) -> FittedFunction:
    """Train on checked rows.

    The random order of the rows, and with it the centers, are functions of the seed and the classes alone.
    """
    phases, device = Phases(), options.fit_device()
    rows, held_out = split_rows(rows, validation_fraction, seed, of_labels=of_classes, of_every_class=calibrates)
    start = begin(*warm, rows, seed)
    targets = learn_square_targets(rows.y, rows.weights, of_classes=of_classes, class_weight=class_weight)
    codes, n = targets.encode(rows.y), len(rows.rows)
    c, dtype, budget = codes.shape[1], options.precision(n), shared_budget(options, device, ranks)
    options.warn_of_too_little_memory(device)
    components = choose_components(n_components, kernel, bandwidth, kernel_params, rows, codes, seed, budget)
    inputs = rows.X if components is None else components(rows.X)
    centers = centers if components is None or are_training_points(centers) else components(centers)
    with device.active():
        spans = spans_left_out(centers, n, c) if calibrates and held_out is None else []
        order = order_rows(seed, codes, targets, span_to_choose_with(centers, n, bandwidth, regularisation), spans)
        centring = measure_points(inputs, kernel, centers)
        place = functools.partial(
            place_centers, inputs, order, centers, centring, c, budget, device, dtype, kernel=kernel
        )
        takes_steps = begins_with_steps(solver, steps, regularisation, all_equal=centring.all_equal)
        placed, seconds = place(takes_steps=takes_steps), None
        if not takes_steps and may_change_to_steps(solver, placed, options.max_seconds, rows.matrix):
            seconds = seconds_of_passes(placed, kernel, bandwidth, kernel_params, c, seed, budget)
            if seconds > options.max_seconds:
                takes_steps, placed = True, place(takes_steps=True)
        aims = arrays.to_device(codes[order], device, dtype)
        weights, unit = place_weights(rows.weights, order, device, dtype)
        phases.end("preparation")

        all_equal, exclusive = centring.all_equal, of_classes and not targets.several
        calibrates = calibrates and of_classes and not all_equal
        of_kernel = kernel, bandwidth, kernel_params
        request = Request(*of_kernel, regularisation, exclusive, all_equal, unit, seed, rows.matrix)
        made, choices = choose_kernel_of_centers(request, placed, aims, weights, budget)
        budget -= made.matrix_bytes
        choices = with_all_rows(request, choices, made, placed, aims, weights, calibrates=calibrates)
        choices = agreed(choices, made, ranks)
        placed = placed.first(ranks.from_first(number_of_use(centers, placed, choices)))
        phases.end("selection")

        room = budget - placed.points.nbytes
        plan = plan_training(
            placed, made, choices, weights, steps if takes_steps else None, seed, room, ranks, all_equal=all_equal
        )
        phases.end("eigensystem")

        spans = held_out_spans(n, 0, c) if calibrates and choices.path is None and held_out is None else []
        columns, of_columns = add_left_out_columns(aims, weights, spans)
        room -= ARRAYS_OF_TARGETS * columns.nbytes + bytes_of_steps(plan, placed, columns.shape[1], dtype.itemsize)
        problem, size = make_problem(
            placed, made, plan, columns, of_columns, choices.regularisation, room, ranks, passes=max_epochs
        )
        stepper = make_stepper(plan, n)
        several = None if ranks is ALONE else ranks
        function = KernelSum(made, centring, problem.centres, aims[:0, :], True, components, ranks=several)
        matrix = CentersMatrix(made, problem.centres, placed.rows, c, problem.budget, ranks)
        phases.end("kernel_matrix")

        with arrays.own_threads():
            run = training.train(
                stepper,
                problem,
                start.batches(in_order(training.Batches(n, size, seed), problem)),
                training.Stopping(
                    max_epochs,
                    max_seconds=phases.left(options.max_seconds),
                    tolerance=tol,
                    validate=None if held_out is None else held_out.error,
                    patience=patience,
                ),
                observers=[*progress_of(name, options, ranks), *observers],
                checkpoint=checkpoint,
                snapshot=lambda state, epoch: FunctionSnapshot(
                    replace(function, coefficients=state.coefficients[:, :c]),
                    *(targets, matrix, state, epoch, order, held_out, options, device),
                ),
                may_shrink=steps.step_size is None,
                state=start.state(stepper, problem),
            )
        phases.end("training", run)
        if calibrates:
            outputs = functools.partial(outputs_of, function, targets, device, options.prediction_budget(device))
            learned_on = run.state.coefficients, held_out, choices, spans
            targets = replace(targets, calibration=learn_calibration(targets, rows, codes, order, outputs, *learned_on))
        phases.end("calibration")
        model = replace(function, coefficients=run.state.coefficients[:, :c]).on_host()
        arrays.synchronise(placed.points[:1, :])
    report = {
        **report_of_kernel(made),
        "n_centres": placed.n,
        **choices.report(unit),
        **({} if getattr(targets, "calibration", None) is None else targets.calibration.report()),
        **report_of_training(plan, run, size),
        **({} if seconds is None else {"predicted_seconds": seconds}),
        "n_epochs": run.epoch,
        "stopped_by": run.stopped_by,
        "kept_fraction": problem.kept.kept_fraction,
        "memory_budget": budget,
        "precision": dtype.name,
        "device": str(device),
        "seed": seed,
        "n_components": None if components is None else components.directions.shape[1],
        "n_features_used": int(centring.varies.sum()),
        "n_validation": 0 if held_out is None else len(held_out.rows),
    }
    of_steps = {"max_epochs": max_epochs, "tol": tol, "step_size": steps.step_size, "damping": steps.damping}
    nothing_to_learn = all_equal or targets.are_equal
    warn_if_unconverged(run, **of_steps, regularisation=choices.regularisation, nothing_to_learn=nothing_to_learn)
    support = rows.rows[order][: placed.n] if placed.sampled else None
    return FittedFunction(model, targets, support, made.bandwidth, run, report, phases.seconds, start.end(run))


def shared_budget(options: Options, device: arrays.Device, ranks: Alone) -> int:
    """Bytes that the fit may use, the same in all processes, since sizes are chosen by it.

    The processes of a machine share what is free there; a budget that the user gives is for each of them.
    """
    budget = options.budget(device)
    return ranks.least(budget if options.memory is not None else budget // ranks.on_this_node)


def place_weights(
    weights: np.ndarray | None, order: np.ndarray, device: arrays.Device, dtype: np.dtype
) -> tuple[Array | None, float]:
    """Weights of the rows in the order of the fit, of which the largest is one, and what they were divided by."""
    if weights is None:
        return None, 1.0
    unit = float(weights.max())
    return arrays.to_device(weights[order] / unit, device, dtype), unit


def agreed(choices: Choices, kernel: Kernel, ranks: Alone) -> Choices:
    """The choices of the first process, where all have the same kernel."""
    ranks.same((kernel.name, kernel.bandwidth), "kernels (give the bandwidth as a number)")
    return replace(choices, regularisation=ranks.from_first(choices.regularisation))


def progress_of(name: str, options: Options, ranks: Alone) -> list[training.Observer]:
    """A progress bar, if the user wants one; several processes have one together."""
    return [training.Progress(name)] if options.verbose and ranks.rank == 0 else []


def outputs_of(
    function: KernelSum, targets: SquareTargets, device: arrays.Device, budget: int, X: Any, coefficients: Array
) -> np.ndarray:
    """Outputs at checked points with some columns of coefficients, in the units of the targets, shape (m, c)."""
    return targets.unscale(replace(function, coefficients=coefficients).scores(X, device, budget))


def report_of_kernel(kernel: Kernel) -> dict[str, Any]:
    """Entries of the report about the kernel."""
    of_kernel = {"kernel": kernel.name, "bandwidth": kernel.bandwidth}
    return of_kernel | ({"kernel_params": kernel.parameters} if kernel.parameters else {})


def report_of_training(plan: BatchPlan | ProjectedPlan, run: training.Run, batch_size: int) -> dict[str, Any]:
    """Entries of the report about the solver, its batches and its steps."""
    if isinstance(plan, BatchPlan):
        return {"batch_size": batch_size, "solver": CONJUGATE_GRADIENTS}
    return {
        "batch_size": batch_size,
        "step_size": run.state.step_size,
        "certified_step_size": float(plan.step_size),
        "top_eigenvalue": plan.top_eigenvalue,
        "largest_diagonal": plan.largest_diagonal,
        "rank": plan.preconditioner.rank,
        "n_subsample": plan.preconditioner.n_subsample,
        "solver": EIGENPRO,
    }
