"""What the fits of least squares share: their result, checks of memory and convergence, and the report."""

import math
from typing import Any

import numpy as np

from .. import arrays, training
from ..errors import ShallowsError
from ..kernels import Kernel
from ..models.centering import Centering, stay_sparse
from ..models.learned_metric import LearnedMetric
from ..solvers.least_squares.step_rules import given_step
from ..spectrum import principal_components
from ..utils.checks import is_whole, warn_user
from .choices import Choices
from .machine import GROWTH, Options
from .rows import HeldOut, TrainingSet
from .square_targets import SquareTargets

SPARE_BYTES = 9 * 2**24
"""Bytes of a fit besides its arrays: blocks of the data, the choice of parameters, a small preconditioner."""

FAR = 0.5
"""A loss above this share of the zero function's loss is large."""

FAST, SLOW = 0.05, 0.01
"""Shares by which the loss falls in an epoch: below SLOW it counts as constant. On pure noise it fell by 0.1 to 3 % per
epoch in 5 dimensions, and by up to 10 % in 20 dimensions. So a fast fall is no proof of structure."""

MANY_HALVINGS = 4
"""Halvings of the step after which the rest of the training is so slow that its end by an epoch limit is reported."""

SMALL_DAMPING = 0.1
"""With a smaller damping the leading directions are so slow that they, rather than noise, explain a large loss."""


def check_memory(
    rows: TrainingSet,
    n_outputs: int,
    kernel: Kernel,
    n_components: int | str | None,
    n_arrays: int,
    options: Options,
    device: arrays.Device,
    dtype: np.dtype,
) -> None:
    """Refuse a memory budget below the size of the data, of their copy in the precision of the fit, and of its outputs.

    This happens before any large array exists. ``n_arrays``: the most arrays of the targets' shape in the fit.
    """
    if options.memory is None or device.kind != "cpu":
        return
    n, d = rows.X.shape
    width = min(d, n_components) if is_whole(n_components) else d
    points = n * (width + 2) * dtype.itemsize
    if stay_sparse(rows.X) and kernel.takes_sparse_points and not is_whole(n_components):
        points, n_components = rows.X.nnz * (dtype.itemsize + 4), None
    outputs = n * n_outputs * (2 * n_arrays * dtype.itemsize + 16)
    used = arrays.resident_memory()
    chosen_with = 0 if n_components is None else principal_components.bytes_beside(n, d)
    least = used + points + outputs + max(SPARE_BYTES, chosen_with)
    if arrays.memory_budget(options.memory, device) >= least:
        return
    half = dtype == np.float64 and options.dtype == "float64"
    raise ShallowsError(
        f"memory={options.memory!r} is too little: the process already uses {_megabytes(used)}, and the fit needs at "
        f"least {_megabytes(least - used)}, of which {_megabytes(points)} are the points in {dtype.name}. "
        f'Set memory="{_megabytes(least + GROWTH).replace(" ", "")}" or more. To need less, read X as a memory map '
        f"(numpy.load with mmap_mode), give fewer rows{', set dtype=' + repr('float32') if half else ''}, or use "
        "solver='nystrom_conjugate_gradients', which reads the data batch by batch."
    )


def _megabytes(n_bytes: int) -> str:
    return f"{math.ceil(n_bytes / 1e6)} MB"


def report_of_model(
    kernel: Kernel | None,
    targets: SquareTargets,
    choices: Choices | None,
    weight_unit: float,
    run: training.Run,
    kept: Any,
    centering: Centering,
    components: principal_components.Components | LearnedMetric | None,
    held_out: HeldOut | None,
) -> dict[str, Any]:
    """The entries of ``report_`` about the model and its training; ``choices`` is None if there is no λ."""
    calibration = getattr(targets, "calibration", None)
    return {
        **({} if kernel is None else {"kernel": kernel.name, "bandwidth": kernel.bandwidth}),
        **({"kernel_params": kernel.parameters} if kernel is not None and kernel.parameters else {}),
        **({} if choices is None else {"alpha": choices.regularization * weight_unit}),
        **({} if choices is None or choices.found is None else {"selection": choices.found.summary()}),
        **({} if calibration is None else calibration.report()),
        "n_epochs": run.epoch,
        "stopped_by": run.stopped_by,
        "kept_fraction": kept.kept_fraction,
        **({"kept_bits": kept.kept_bits} if hasattr(kept, "kept_bits") else {}),
        "n_components": None,
        **({} if components is None else components.report()),
        "n_features_used": int(centering.varies.sum()),
        "n_validation": 0 if held_out is None else len(held_out.rows),
    }


def warn_if_unconverged(
    run: training.Run, solver: Any, regularization: float = 0.0, *, nothing_to_learn: bool = False
) -> None:
    """Warn if a training ended at ``max_epochs`` after many halvings, or with a large loss and a remedy is known.

    There is no warning of a large loss in three cases: only the mean can be learned; a regularization keeps the
    loss of noisy targets large and damping is not small; or the loss is constant with a step that the library
    chose.
    """
    losses, tol, damping = run.losses, solver.tol, solver.damping
    if tol == 0 or run.stopped_by != "max_epochs" or nothing_to_learn:
        return
    limit = solver.limit if hasattr(solver, "limit") else "max_epochs"
    if run.n_rollbacks >= MANY_HALVINGS:
        warn_user(
            f"The training diverged and halved its step {run.n_rollbacks} times, and ended by {limit}="
            f"{solver.max_epochs}: the model may be far from the solution. Larger batches (batch_size of the solver) "
            "or solver='cholesky' would help."
        )
        return
    if losses[-1] <= FAR:
        return
    ended = f"After {limit}={solver.max_epochs} the training loss is still {losses[-1]:.2f} times the loss of zero"
    if damping < SMALL_DAMPING and not run.validation_errors:
        warn_user(
            f"{ended}. With damping={damping:g} the leading directions move {1.0 / damping:.0f} times more slowly than "
            "the others; set damping=1."
        )
    elif regularization == 0:
        advice = _advice(given_step(solver), losses, run.validation_errors)
        if advice:
            warn_user(f"{ended}, above tol={tol:g}. {advice}")


def _advice(step_size: float | None, losses: list[float], validation_errors: list[float]) -> str:
    if validation_errors:
        # The fit returns the best epoch's model. If that is not the last epoch, more epochs made predictions worse.
        rising = min(validation_errors[:-1], default=math.inf) > validation_errors[-1]
        return "The score of the held-out rows was still rising: a larger max_epochs may help." if rising else ""
    if len(losses) == 1:
        return "One epoch does not show whether it falls: set a larger max_epochs."
    # By means of up to ten epochs, since batches vary.
    n = min(10, len(losses) // 2)
    fall = 1.0 - (sum(losses[-n:]) / sum(losses[-2 * n : -n])) ** (1.0 / n)
    if fall >= FAST:
        return (
            f"It still falls, by {fall:.0%} an epoch: a larger max_epochs fits the training targets better. If they "
            "are noisy, that can make predictions worse; early_stopping=True ends the training when held-out rows are "
            "predicted best."
        )
    if fall >= SLOW:
        return (
            f"It falls slowly, by {fall:.1%} an epoch, which is typical for noisy targets: more epochs would fit the "
            "noise. early_stopping=True, which ends the training when held-out rows are predicted best, can help."
        )
    if step_size is not None:
        return f"It hardly falls with step={step_size:g}; let the library choose the step (step='certified')."
    return ""
