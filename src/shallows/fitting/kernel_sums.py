"""What the fits of least squares over all training points share: rows, points, kernel, and what a fit leaves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays, gram, kernels, streams, training
from ..errors import ShallowsError
from ..kernels import Kernel, precomputed
from ..models.centring import Centring, check_scale, stay_sparse
from ..models.functions import KernelSum
from ..spectrum import principal_components
from ..spectrum.kernel_ridge_choice import is_automatic, number_of_rows
from .checks import is_whole
from .choices import (
    Choices,
    Request,
    Sample,
    choose_bandwidth,
    choose_for_kernel,
    choose_on_all_rows,
    held_out_spans,
    narrow_bandwidth,
)
from .early_stopping import HeldOut
from .evaluation_cache import EvaluationCache
from .labels import class_labels, with_every_class
from .machine import GROWTH, SMALL, Options
from .rows import TrainingSet
from .snapshot import prediction_budget
from .square_targets import SquareTargets
from .warm_start import Ended

BLOCKS_BYTES = 2**28
"""Bytes that the blocks of kernel values of a prediction may take on a CPU."""

BESIDE = 9 * 2**24
"""Bytes that a fit takes beside its arrays: blocks of the data, the choice of parameters, a small preconditioner."""


@dataclass(frozen=True)
class FittedKernelSum:
    """What a fit of kernel least squares leaves.

    Attributes
    ----------
    model : KernelSum
    targets : SquareClassTargets or SquareValueTargets
    support : ndarray of int
        Numbers of the user's rows that the kernel functions are centred at.
    run : Run
    report : dict
        What was chosen where a parameter left it open, and how the training went.
    seconds : dict
        Of each phase.
    ended : Ended or None
        Where the next fit may go on.
    """

    model: KernelSum
    targets: SquareTargets
    support: np.ndarray
    run: training.Run
    report: dict[str, Any]
    seconds: dict[str, float]
    ended: Ended | None


def check_memory(
    rows: TrainingSet,
    n_outputs: int,
    kernel: Any,
    n_components: Any,
    n_arrays: int,
    options: Options,
    device: arrays.Device,
    dtype: np.dtype,
) -> None:
    """Refuse a budget for the process that its data, the points in the precision of the fit and its outputs exceed.

    Only budgets for a process on a CPU are checked, before anything large is made. ``n_arrays``: arrays of the targets'
    shape that the fit holds at most.

    Raises
    ------
    ShallowsError
        With the least budget that can be kept, and what helps.
    """
    if options.memory is None or device.kind != "cpu":
        return
    n, d = rows.X.shape
    width = min(d, n_components) if is_whole(n_components) else d
    points = n * (width + 2) * dtype.itemsize
    if stay_sparse(rows.X) and kernels.kind(kernel).takes_sparse_points and not is_whole(n_components):
        points, n_components = rows.X.nnz * (dtype.itemsize + 4), None
    outputs = n * n_outputs * (2 * n_arrays * dtype.itemsize + 16)
    held = arrays.resident_memory()
    chosen_with = 0 if n_components is None else principal_components.bytes_beside(n, d)
    least = held + points + outputs + max(BESIDE, chosen_with)
    if arrays.memory_budget(options.memory, device) >= least:
        return
    half = dtype == np.float64 and options.dtype == "float64"
    raise ShallowsError(
        f"memory={options.memory!r} cannot be kept: the process holds {_megabytes(held)} already, and the fit takes "
        f"at least {_megabytes(least - held)}, of which {_megabytes(points)} are the points in {dtype.name}. "
        f'The least that can be kept is memory="{_megabytes(least + GROWTH).replace(" ", "")}". To need less, read '
        f"X as a memory map (numpy.load with mmap_mode) or hand over fewer rows"
        f"{', take dtype=' + repr('float32') if half else ''}, or use EigenProCentresClassifier or "
        "EigenProCentresRegressor, which read the data batch by batch."
    )


def order_rows(
    n: int,
    seed: int,
    targets: SquareTargets,
    codes: np.ndarray,
    left_out: list[slice],
    *,
    of_classes: bool,
    regularisation: Any,
    bandwidth: Any,
) -> np.ndarray:
    """The order of the rows: shuffled once, so that batches are contiguous parts, and so is a subsample.

    Every class is among the rows that parameters are chosen with, and among those that are ``left_out``.
    """
    order = streams.permutation(seed, "order", 0, n)
    if not of_classes:
        return order
    chooses = regularisation is not None and (is_automatic(regularisation) or is_automatic(bandwidth))
    labels = class_labels(codes, multilabel=targets.several)
    return with_every_class(order, labels, slice(0, number_of_rows(n) if chooses else 0), left_out)


def place_points(
    components: Any, X: Any, order: np.ndarray, kernel: Any, device: arrays.Device, dtype: np.dtype
) -> tuple[Centring, Any]:
    """The training points, or their components, in the order of the fit on the device.

    They are centred if that changes no kernel value.
    """
    X = X if components is None else components(X)
    kind = kernels.kind(kernel)
    kind.check_inputs(X.shape[1])
    centring = Centring.of(
        X,
        centred=kind.shift_invariant,
        without_constants=kind.of_distance,
        may_stay_sparse=kind.takes_sparse_points,
    )
    points = centring.training_points(X, order, device, dtype)
    check_scale(points, dtype, may_vanish=not kind.shift_invariant)
    return centring, points


def choose_kernel(
    request: Request, sample: Sample, matrix: Any, known: Kernel | None, weight_unit: float, seed: int, room: int
) -> tuple[Kernel, Choices]:
    """The kernel of a fit, and λ.

    Parameters
    ----------
    sample : Sample
        All rows.
    matrix : array, CSR matrix or None
        The kernel matrix of a fit that gets one instead of points.
    known : Kernel or None
        That of a preconditioner that was handed in.
    weight_unit : float
        What the user's weights were divided by.
    room : int
        Bytes.
    """
    choices = choose_bandwidth(request, sample, weight_unit, seed, is_given=known is not None)
    n, d = len(sample.points), sample.points.shape[1] - 2
    choices = narrow_bandwidth(request, choices, sample.first, n, d, room, math.inf)
    with arrays.one_blas_thread():
        made = known
        if made is None:
            named = request.kernel if matrix is None else precomputed.kernel_on(matrix, sample.points)
            given = named, choices.bandwidth, request.kernel_params
            made = kernels.choose(*given, sample.points, seed, all_equal=request.all_equal)
        return made, choose_for_kernel(request, choices, made, sample)


def choose_on_few_rows(
    request: Request, choices: Choices, kernel: Kernel, sample: Sample, *, calibrates: bool
) -> Choices:
    """Choose λ anew with all rows of a small problem, which a calibration is then learned on."""
    wanted = request.chooses_regularisation or (calibrates and request.regularisation is not None)
    if not (wanted and 2 < len(sample.points) <= SMALL) or request.all_equal:
        return choices
    return choose_on_all_rows(request, choices, lambda x: kernels.matrix(kernel, x), sample)


def evaluation_cache(matrix: Any, computed: Any) -> EvaluationCache | None:
    """The cache for kernel values of points of evaluation, in the memory that the kernel matrix leaves."""
    if not isinstance(matrix, (gram.Gram, gram.ShuffledGram)) or computed is not None:
        return None
    return EvaluationCache(matrix.n, arrays.itemsize(matrix.points), matrix.spare_bytes - BLOCKS_BYTES)


def outputs_of(
    function: KernelSum, targets: SquareTargets, options: Options, device: arrays.Device
) -> Callable[[Any, Any], np.ndarray]:
    """``outputs(X, a)``: values at checked points of the function with other coefficients, in units of the targets."""

    def outputs(X: Any, coefficients: Any) -> np.ndarray:
        budget = prediction_budget(options, device, share=2)
        return targets.unscale(replace(function, coefficients=coefficients).scores(X, device, budget))

    return outputs


def report_of_model(
    kernel: Kernel | None,
    targets: SquareTargets,
    choices: Choices | None,
    weight_unit: float,
    run: training.Run,
    matrix: Any,
    centring: Centring,
    components: Any,
    held_out: HeldOut | None,
) -> dict[str, Any]:
    """The entries of ``effective_params_`` about the model and its training; ``choices`` are None without a λ."""
    calibration = getattr(targets, "calibration", None)
    return {
        **({} if kernel is None else {"kernel": kernel.name, "bandwidth": kernel.bandwidth}),
        **({"kernel_params": kernel.parameters} if kernel is not None and kernel.parameters else {}),
        **({} if choices is None else choices.report(weight_unit)),
        **({} if calibration is None else calibration.report()),
        "n_epochs": run.epoch,
        "stopped_by": run.stopped_by,
        "kept_fraction": matrix.kept_fraction,
        **({"kept_bits": matrix.kept_bits} if hasattr(matrix, "kept_bits") else {}),
        "n_components": None if components is None else components.directions.shape[1],
        "n_features_used": int(centring.varies.sum()),
        "n_validation": 0 if held_out is None else len(held_out.rows),
    }


def report_of_machine(budget: int, dtype: np.dtype, device: arrays.Device, seed: int) -> dict[str, Any]:
    """The entries of ``effective_params_`` about the machine and the seed."""
    return {"memory_budget": budget, "precision": dtype.name, "device": str(device), "seed": seed}


def _megabytes(n_bytes: int) -> str:
    return f"{math.ceil(n_bytes / 1e6)} MB"


def left_out_spans(
    n: int, n_kept: int, n_outputs: int, held_out: HeldOut | None, *, calibrates: bool, in_closed_form: bool
) -> list[slice]:
    """Rows, in the order of the fit, that a calibration is learned on, unless it is learned on other rows.

    ``in_closed_form``: whether all rows are left out one by one, in closed form.
    """
    if not calibrates or in_closed_form or held_out is not None:
        return []
    return held_out_spans(n, n_kept, n_outputs)
