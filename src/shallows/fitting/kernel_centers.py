"""The fit of least squares over the kernel functions of centers: Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖², f = Σⱼ αⱼ k(zⱼ, ·)."""

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays, gram, kernels, training
from ..arrays import Array
from ..gram import fused
from ..gram.rectangular import KeptStrips
from ..kernels import Kernel
from ..models.centering import Centering, TrainingRows
from ..models.functions import KernelSum
from ..models.learned_metric import LearnedMetric
from ..ranks import ALONE, Alone
from ..solvers.least_squares import nystrom_conjugate_gradients
from ..solvers.least_squares.kernel_problem import KernelFit
from ..solvers.least_squares.nystrom_conjugate_gradients import (
    NystromConjugateGradients,
    NystromConjugateGradientsStepper,
    NystromProblem,
)
from ..solvers.least_squares.projected import CentersProblem, ProjectedEigenPro, ProjectedEigenProStepper, ProjectedPlan
from ..solvers.least_squares.step_rules import agreed_plan, given_step, report_steps
from ..spectrum.kernel_ridge_choice import is_automatic
from .calibration import learn_calibration, leave_out, outputs_at
from .center_points import (
    Centers,
    are_training_points,
    number_of_use,
    place_centers,
    span_to_choose_with,
    spans_left_out,
)
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
from .least_squares import report_of_model, warn_if_unconverged
from .machine import SMALL, Phases, report_of_machine
from .metric import Metric
from .rows import TrainingSet, order_rows, split_rows
from .rows_ahead import RowsAhead
from .snapshot import FunctionSnapshot
from .square_targets import SquareClassTargets, learn_square_targets

ROWS_PER_CENTER = 50
"""Without a given solver the fit may change to EigenPro's steps if there are this many rows for each center. With
fewer, an epoch has few batches, and the decomposition for the steps takes as long as some epochs."""

ARRAYS_OF_TARGETS = 6
"""The most arrays of the targets' shape in a fit: the targets, the iterate, the iterate at the start of the epoch, the
best one, a copy for a checkpoint and one for intermediate results."""

BATCHES_IN_MEMORY = 5
"""Batches of points in memory: the current one, the next one, and copies while it is read."""

STRIP_BYTES = 2**26
"""Bytes of strips of the kernel matrix that are not kept; more is no faster."""

FEWEST_PASSES = 3
"""A time limit chooses EigenPro's steps if it is shorter than the estimate for this number of passes of conjugate
gradients over the rows. After three passes their error is no larger than after three epochs."""

OF_VALUE, OF_INPUT, OF_OUTPUT = 110, 2, 8
"""Operations of a kernel value in a pass, and further ones for each input and each output, in units of an operation of
a large product. They fit the measurements below to 20 %."""

RATES = {"cpu": 2.2e11, "gpu": 5e13}
"""Operations in float32 per second; in float64 half of them. CPU: two cores of an AMD EPYC, from the processor time
of `forward_and_back` for 2,048 rows, 2,000 centers, 10 to 800 inputs, 1 and 10 outputs, Gaussian and Laplace kernels.
GPU: products on an H200 (``benchmarks/RESULTS.md``)."""

LEAST_FIRST, MOST_KEPT = 0.1, 0.7
"""Conjugate gradients first learn the rows whose kernel values are kept, at least the first share, and then all rows.
So they need 7 to 10 passes over all rows instead of 15 to 18. Not if more than the second share is kept."""

ROWS_AT_A_TIME = 20_000
"""Training rows whose outputs are computed at a time."""


def fit_kernel_centers(
    rows: TrainingSet,
    *,
    of_classes: bool,
    kernel: Kernel,
    chooses_kernel: bool,
    searches_bandwidth: bool,
    centers: Any,
    n_components: int | str | None,
    metric: Metric | None,
    regularization: float | str,
    calibrates: bool,
    solver: ProjectedEigenPro | NystromConjugateGradients | None,
    call: FitCall,
    ranks: Alone = ALONE,
) -> FittedFunction:
    """Fit to checked rows. Without a ``solver``, conjugate gradients solve, unless λ is 0 or time is short."""
    seed, options = call.seed, call.options
    phases, device = Phases(), options.fit_device()
    rows, held_out = split_rows(rows, call.early_stopping, seed, of_labels=of_classes, of_every_class=calibrates)
    start = call.begin(rows)
    targets = learn_square_targets(rows.y, rows.weights, of_classes=of_classes)
    codes, unit = targets.encode(rows.y), 1.0 if rows.weights is None else float(rows.weights.max())
    (n, c), dtype = codes.shape, options.precision(len(codes))
    budget = ranks.share_of(options.budget(device), options.memory)
    options.warn_of_too_little_memory(device)
    kernel, components = choose_kernel_and_inputs(
        *(None if chooses_kernel else kernel, metric, n_components, rows, codes, seed, budget),
        searches_bandwidth=searches_bandwidth,
    )
    inputs = rows.X if components is None else components(rows.X)
    centers = centers if components is None or are_training_points(centers) else components(centers)[:]
    with device.active():
        spans = spans_left_out(centers, n, c) if calibrates and held_out is None else []
        chooses = searches_bandwidth or is_automatic(regularization)
        order = order_rows(seed, codes, targets, span_to_choose_with(centers, n) if chooses else slice(0, 0), spans)
        kernel.check_inputs(inputs.shape[1])
        centering = Centering.of(
            inputs,
            centered=kernel.shift_invariant,
            without_constants=kernel.of_distance and are_training_points(centers),
            may_stay_sparse=kernel.takes_sparse_points,
        )
        place = functools.partial(
            place_centers, inputs, order, centers, centering, c, budget, device, dtype, kernel=kernel
        )
        all_equal, limit = centering.all_equal, options.max_seconds if rows.matrix is None else None
        # If all points are equal, one step of EigenPro is the mean of the targets.
        takes_steps = isinstance(solver, ProjectedEigenPro) or (solver is None and (regularization == 0 or all_equal))
        placed, seconds = place(takes_steps=takes_steps), None
        if solver is None and not takes_steps and limit is not None and n >= ROWS_PER_CENTER * placed.n:
            seconds = seconds_of_passes(placed, c, budget)
            takes_steps = seconds > limit
            placed = place(takes_steps=True) if takes_steps else placed
        solver = solver or (ProjectedEigenPro() if takes_steps else NystromConjugateGradients())
        aims = arrays.to_device(codes[order], device, dtype)
        weights = None if rows.weights is None else arrays.to_device(rows.weights[order] / unit, device, dtype)
        phases.end("preparation")

        calibrates, exclusive = calibrates and not all_equal, of_classes and not targets.several
        in_metric = isinstance(components, LearnedMetric)
        request = Request(searches_bandwidth, regularization, exclusive, all_equal, unit, seed, rows.matrix, in_metric)
        kernel, choices = choose_for_centers(
            kernel, request, placed, aims, weights, budget, ranks, calibrates=calibrates
        )
        budget -= kernel.matrix_bytes
        placed = placed.first(ranks.from_first(number_of_use(centers, placed, choices)))
        phases.end("selection")

        room = budget - placed.points.nbytes
        of_plan = kernel, choices, weights, seed, room, ranks
        plan, batch_size = plan_training(placed, *of_plan, solver, all_equal=all_equal)
        phases.end("eigensystem")

        spans = held_out_spans(n, 0, c) if calibrates and choices.path is None and held_out is None else []
        columns, of_columns = add_left_out_columns(aims, weights, spans)
        room -= ARRAYS_OF_TARGETS * columns.nbytes + bytes_of_step(plan, placed, batch_size, columns)
        of_problem = kernel, plan, batch_size, columns, of_columns, choices.regularization, room, ranks
        problem, stepper, batch_size = make_problem(placed, *of_problem, passes=solver.max_epochs)
        of_centers, several = (kernel, centering, problem.centers, aims[:0, :]), None if ranks is ALONE else ranks
        function = KernelSum(*of_centers, True, components, ranks=several)
        matrix = CentersMatrix(kernel, problem.centers, placed.rows, c, problem.budget, ranks)
        batches = training.Batches(n, batch_size, seed, first_epoch=start.epoch)
        phases.end("kernel_matrix")

        with arrays.own_threads():
            run = training.train(
                stepper,
                problem,
                problem.points.following(batches) if isinstance(problem.points, RowsAhead) else batches,
                call.stopping(solver.max_epochs, held_out, solver.tol, phases),
                observers=call.observers,
                checkpoint=call.checkpoint,
                snapshot=lambda state, epoch: FunctionSnapshot(
                    replace(function, coefficients=state.coefficients[:, :c]),
                    *(targets, matrix, state, epoch, order, held_out, options, device),
                ),
                may_shrink=given_step(solver) is None,
                state=start.state(stepper, problem),
            )
        phases.end("training", run)
        of_rows = functools.partial(outputs_at, function, targets, device, options.prediction_budget(device))
        of_fit = targets, rows, order, run.state.coefficients, held_out, choices, spans
        left_out = leave_out(of_rows, *of_fit) if calibrates else None
        if calibrates and isinstance(targets, SquareClassTargets):
            targets = learn_calibration(
                *(targets, rows, codes, order, left_out),
                lambda some: of_rows(rows.X[some], run.state.coefficients[:, :c]),
                choices,
            )
        phases.end("calibration")
        model = replace(function, coefficients=run.state.coefficients[:, :c]).on_host()
        arrays.synchronize(placed.points[:1, :])
    report = {
        "n_centers": placed.n,
        **report_of_model(kernel, targets, choices, unit, run, problem.kept, centering, components, held_out),
        **report_of_machine(budget, dtype, device, seed),
        "solver": "projected_eigenpro" if plan else "nystrom_conjugate_gradients",
        **(report_steps(solver, plan, run) if plan else {"batch_size": batch_size}),
        **({} if seconds is None else {"predicted_seconds": seconds}),
    }
    warn_if_unconverged(run, solver, choices.regularization, nothing_to_learn=all_equal or targets.are_equal)
    support = rows.rows[order][: placed.n] if placed.sampled else None
    return FittedFunction(model, targets, support, run, report, phases.seconds, start.end(run), left_out)


@dataclass(frozen=True)
class CentersMatrix:
    """The kernel matrix of the training points with the centers. With several processes each has some of its rows."""

    kernel: Kernel
    centers: Array  # (p, d + 2)
    rows: TrainingRows
    n_outputs: int  # Of the model, whose coefficients are the first columns
    budget: int
    ranks: Alone

    def training_scores(self, state: Any) -> np.ndarray:
        """Outputs at all training points in the order of the fit, shape (n, c), on the host."""
        a = state.coefficients[:, : self.n_outputs]
        out = arrays.namespace(a).zeros((len(self.rows), a.shape[1]), dtype=a.dtype)
        for k, batch in enumerate(arrays.blocks(len(self.rows), ROWS_AT_A_TIME)):
            if k % self.ranks.size == self.ranks.rank:
                points = self.rows(batch)[:, :-2]
                out[batch, :] = gram.cross_product(self.kernel, points, self.centers, a, budget=self.budget)
        return arrays.to_numpy(self.ranks.sum(out))


def seconds_of_passes(centers: Centers, n_outputs: int, budget: int) -> float:
    """Estimated seconds of `FEWEST_PASSES` over all rows, with the same result on every machine."""
    n, points = len(centers.rows), centers.of_model
    inputs = points.rows.nnz / centers.n if isinstance(points, arrays.SparsePoints) else centers.n_inputs
    kept = min(1.0, budget / (2.0 * n * centers.n * points.dtype.itemsize))
    of_pair = operations_of_pair(FEWEST_PASSES, kept, inputs, n_outputs)
    return n * centers.n * of_pair / RATES[arrays.device_of(points).kind] * points.dtype.itemsize / 4


def operations_of_pair(n_passes: int, kept: float, n_inputs: float, n_outputs: int) -> float:
    """Operations for a row and a center in some passes, if a share of the kernel values is kept after the first."""
    n_made = 1.0 + (n_passes - 1) * (1.0 - kept)
    return n_made * (OF_VALUE + OF_INPUT * n_inputs) + n_passes * OF_OUTPUT * n_outputs


def choose_for_centers(
    kernel: Kernel,
    request: Request,
    centers: Centers,
    targets: Array,
    weights: Array | None,
    budget: int,
    ranks: Alone,
    *,
    calibrates: bool,
) -> tuple[Kernel, Choices]:
    """The kernel, and how its bandwidth and λ were chosen, the same in all processes."""
    n = len(centers.rows)
    kernel, choices = choose_kernel(
        kernel,
        request,
        centers.rows_to_choose_with(targets, weights),
        budget - centers.points.nbytes,
        points=centers.points,
        first_rows=functools.partial(centers.first_rows, targets, weights),
        size=(n, centers.n_inputs),
        n_units=centers.n,
    )
    all_rows = centers.sampled and centers.n == n and 2 < n <= SMALL and not request.all_equal
    if all_rows and (calibrates or is_automatic(request.regularization)):
        sample = Sample(centers.of_model, targets, weights)
        choices = choose_on_all_rows(request, choices, functools.partial(kernels.matrix, kernel), sample)
    ranks.check_same((kernel.name, kernel.bandwidth), "kernels (give the bandwidth as a number)")
    return kernel, replace(choices, regularization=ranks.from_first(choices.regularization))


def plan_training(
    centers: Centers,
    kernel: Kernel,
    choices: Choices,
    weights: Array | None,
    seed: int,
    room: int,
    ranks: Alone,
    solver: ProjectedEigenPro | NystromConjugateGradients,
    *,
    all_equal: bool,
) -> tuple[ProjectedPlan | None, int]:
    """The plan of EigenPro's steps, the same in all processes, None for another solver; and the rows of a batch."""
    n, points, rows = len(centers.rows), centers.of_model, centers.rows
    # All rows, or as many as use a small part of the memory, also while the next batch is read.
    most_rows = n if rows.held_bytes else min(n, max(16, room // (4 * BATCHES_IN_MEMORY * rows.row_bytes)))
    if not isinstance(solver, ProjectedEigenPro):
        return None, n if all_equal else most_rows
    of_fresh = None if weights is None else weights[centers.fresh_rows]
    of_choices = choices.regularization, choices.eigensystem(), all_equal
    fit = KernelFit(kernel, points, centers.weights_from(weights), seed, *of_choices)
    plan = solver.plan(fit, centers.fresh, of_fresh, n, most_rows)
    agreed: Any = agreed_plan(plan, ranks, points)
    return agreed, agreed.batch_size


def bytes_of_step(plan: ProjectedPlan | None, centers: Centers, batch_size: int, targets: Array) -> int:
    """Bytes that a step uses, without kernel values; without a plan, a step of conjugate gradients."""
    n_outputs, itemsize = targets.shape[1], arrays.itemsize(targets)
    p, rows = centers.n, centers.rows
    of_points = rows.held_bytes or BATCHES_IN_MEMORY * batch_size * rows.row_bytes
    of_solver = 2 * p * p + 12 * p * n_outputs
    if plan:
        of_solver = p * p + plan.n_subsample * plan.preconditioner.rank + 8 * p * n_outputs
    return of_points + itemsize * of_solver


def make_problem(
    centers: Centers,
    kernel: Kernel,
    plan: ProjectedPlan | None,
    batch_size: int,
    targets: Array,
    weights: Array | None,
    regularization: float,
    budget: int,
    ranks: Alone,
    *,
    passes: int,
) -> tuple[CentersProblem | NystromProblem, NystromConjugateGradientsStepper | ProjectedEigenProStepper, int]:
    """The problem, stepper and batch size of EigenPro with a plan, or of conjugate gradients without one."""
    points, n = arrays.contiguous(centers.of_model), len(centers.rows)
    strips = min(STRIP_BYTES if arrays.device_of(points).kind == "cpu" else 2**32, max(2**20, budget))
    # Kept values are read again only in a second epoch, and fused products have no blocks that could be kept.
    keeps = passes > 1 and not fused.is_applicable(kernel, points, targets)
    kept = KeptStrips(n, points, 3 * (budget - strips) // 4 if keeps else 0)
    rows: Any = centers.rows
    rows = rows if rows.held_bytes else RowsAhead(rows, arrays.device_of(points), ranks.piece)
    if plan:
        of_rows = rows, targets, plan.preconditioner, weights, regularization, strips, kept, ranks
        stepper = ProjectedEigenProStepper(float(plan.step_size), average=batch_size < n)
        return CentersProblem(kernel, points, *of_rows, projection=plan.projection), stepper, batch_size
    regularization = regularization or nystrom_conjugate_gradients.ridge_for_zero(kernel, points, n)
    preconditioner = nystrom_conjugate_gradients.make_preconditioner(
        *(kernel, points, n, regularization, centers.weights_from(None if weights is None else weights[:, 0])),
        of_all_points=centers.sampled and centers.n == n,
    )
    batch_size, n_first = ranks.from_first(first_rows_to_learn(n, centers.n, kept.n_rows, batch_size))
    of_problem = rows, targets, preconditioner, weights, regularization, strips, kept, ranks, n_first, batch_size
    return NystromProblem(kernel, points, *of_problem), NystromConjugateGradientsStepper(), batch_size


def first_rows_to_learn(n: int, n_centers: int, n_kept: int, batch_size: int) -> tuple[int, int]:
    """The batch size, and how many rows conjugate gradients learn first; 0 if that saves nothing."""
    first = max(n_kept, int(LEAST_FIRST * n))
    if n_kept > MOST_KEPT * n or first < n_centers:
        return batch_size, 0
    batch_size = min(batch_size, first)
    return batch_size, first // batch_size * batch_size
