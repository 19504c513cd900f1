"""Estimates of time and memory by method: to batch short runs, to request resources, and for `make explain`.

The rates are those of two cores of a 2020s server. `scaled` then fits an estimate to what runs of the method took
(``measured_costs.json``); how near that comes for settings that were not measured stands in
``benchmarks/RESULTS-cost-model.md``. A method's constants are those of its own runs, or of the methods that are counted
by the same function. The time has two: seconds of the start, whatever the size, and a factor of the work, for as much
work as was measured. What goes beyond counts by the function alone: in short runs steps and starts weigh more than in
long ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

# Operations a second
FLOPS = 2.0e11  # of a matrix product in float32
EIGEN_FLOPS = 1.0e10  # of dense eigensystems in float64, which reach a tenth of a product's rate
FACTOR_FLOPS = 4.0e10  # of a factorisation in float64
NET_FLOPS = 2.0e10  # of small convolutions, whose pooling and rectifying take as long as their products
WAVES = 4.0e8  # cosines with their sines, or exponentials
BANDWIDTH = 1.6e10  # bytes of a pass over a kept kernel matrix
PREPARED_VALUES = 1.0e6  # values that a preparation reads, or draws, and writes

# Seconds
OVERHEAD_SECONDS = 0.5  # of a run whatever its size
STEP_SECONDS = 1.5e-3  # of a step beyond its products
EXAMPLE_SECONDS = 5e-5  # of one example of a method that visits them one by one
PAIR_SECONDS = 5e-10  # of a support vector machine for a feature of a pair of points, whose kernel value is made again
COMPONENT_VALUE_SECONDS = 2.5e-8  # of a value of a feature of growing components, followed, corrected and stored
BINNED_PAIR_SECONDS = 1.3e-7  # of a pair of points that share bins, their product and their part in the solution
SPARSE_VALUE_SECONDS = 3e-9  # of a number in a product with sparse features

# Bytes
PROCESS_BYTES = 260_000_000  # of a process that has imported everything
UNMEASURED_BYTES = 140_000_000  # added where no peak was measured
KEPT_PREPARED_BYTES = 4_000_000_000  # the most bytes of rows that a preparation is given memory for
KEPT_BYTES = 12_000_000_000  # a kernel matrix above this is computed anew in every epoch rather than kept

# Choices that estimators make
MOST_FACTORED, CG_ITERATIONS = 20_000, 150  # points up to which the exact one factors; iterations beyond
DIRECT_ROWS = 6000  # rows up to which a system of sparse features is solved through the products of its rows
SPARSE_ITERATIONS = 200  # of conjugate gradients on sparse features


@dataclass(frozen=True)
class ProblemSize:
    """Sizes of prepared data."""

    n_train: int
    n_test: int
    n_features: int
    n_classes: int


@dataclass(frozen=True)
class Cost:
    """Estimated seconds and peak bytes."""

    seconds: float = 0.0
    memory_bytes: int = 0


def kernel_epochs(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Epochs of products with the kernel matrix, evaluated on the test data at every mark."""
    n, epochs = size.n_train, max(marks, default=10)
    matrix_bytes = 2 * n * n  # float32, the upper triangle
    matrix_flops = 1.0 * n * n * size.n_features
    product_seconds = 4 * n * n / BANDWIDTH + 2 * n * n * size.n_classes / FLOPS
    if matrix_bytes <= KEPT_BYTES:
        seconds = matrix_flops / FLOPS + epochs * product_seconds
    else:
        seconds = epochs * (2 * matrix_flops / FLOPS + product_seconds)
        matrix_bytes = KEPT_BYTES
    # Small batches leave most of the time to the steps themselves.
    seconds += STEP_SECONDS * epochs * n / (parameters.get("batch_size") or 2048)
    # Kernel values of the test data are made twice and then kept, where there is room beside the matrix.
    values, tested_bytes = 2 * n * size.n_test * size.n_features / FLOPS, 4 * n * size.n_test
    keeps = len(marks) > 1 and matrix_bytes + tested_bytes <= KEPT_BYTES
    seconds += (min(len(marks), 2) if keeps else len(marks)) * values
    seconds += len(marks) * (tested_bytes / BANDWIDTH + 2 * n * (n + size.n_test) * size.n_classes / FLOPS)
    data_bytes = 4 * (n + size.n_test) * size.n_features
    held = matrix_bytes + (tested_bytes if keeps else 0) + 2 * data_bytes
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + held)


def subsample_eigensystem(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Top eigenpairs of the kernel matrix of a subsample: in full where it is small, by block iteration where not."""
    m = min(parameters.get("n_subsample") or 2000, size.n_train)
    wanted = min(parameters.get("n_eigenvalues") or parameters.get("rank") or 160, m)
    full = 4 / 3 * m**3 / EIGEN_FLOPS
    iterated = 10 * 2 * m * m * 1.5 * wanted / FLOPS
    # Eigenvalues that are a result are computed in full, in float64.
    is_result = "n_eigenvalues" in parameters
    seconds = 2 * m * m * size.n_features / FLOPS + (full if is_result else min(full, iterated))
    return Cost(
        OVERHEAD_SECONDS + seconds,
        PROCESS_BYTES + (36 if is_result else 12) * m * m + 4 * size.n_train * size.n_features,
    )


def full_eigensystem(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """All eigenpairs of the kernel matrix in float64, and its product with the test data."""
    n = size.n_train
    seconds = 9 * n**3 / EIGEN_FLOPS + 4 * n * (n + size.n_test) * size.n_features / FLOPS
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 40 * n * n + 8 * n * size.n_test)


def exact_ridge(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """A factorisation in float64 where the estimator makes one, else passes of conjugate gradients over the matrix."""
    n = size.n_train
    predicted = 2 * n * size.n_test * (size.n_features + size.n_classes) / FLOPS
    if parameters.get("solver") != "conjugate_gradients" and n <= MOST_FACTORED:
        seconds = n**3 / 3 / FACTOR_FLOPS + 2 * n * n * size.n_features / FLOPS
        return Cost(OVERHEAD_SECONDS + seconds + predicted, PROCESS_BYTES + 14 * n * n + 8 * n * size.n_features)
    # A hundred iterations reach a residual of a thousandth where nothing is regularised; each is an epoch of one batch.
    epochs = kernel_epochs(size, {"batch_size": n}, (CG_ITERATIONS,))
    return Cost(epochs.seconds + predicted, epochs.memory_bytes + 8 * n * 1000)


def all_distances(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """The distance of every test point from every training point."""
    seconds = 2 * size.n_train * size.n_test * size.n_features / FLOPS
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 12 * (size.n_train + size.n_test) * size.n_features)


def support_vectors(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """A support vector machine with a kernel, whose rows are made when they are needed and kept while there is room."""
    n, d = size.n_train, size.n_features
    seconds = PAIR_SECONDS * d * n * (n + 0.6 * size.n_test)
    kept = min(1e6 * (parameters.get("cache_size") or 200), 4 * (2 * n / max(2, size.n_classes)) ** 2)
    return Cost(OVERHEAD_SECONDS + seconds, int(PROCESS_BYTES + kept + 16 * (n + size.n_test) * d))


def feature_epochs(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Epochs of explicit features that are made anew for every batch."""
    n, epochs, width = size.n_train, max(marks, default=10), parameters.get("n_features") or 2000
    row = 2 * size.n_features * width + 4 * width * (size.n_classes + (parameters.get("rank") or 0))
    seconds = epochs * (n * row / FLOPS + STEP_SECONDS * n / (parameters.get("batch_size") or 2048))
    seconds += len(marks) * (n + size.n_test) * row / FLOPS
    data_bytes = 4 * (n + size.n_test) * size.n_features
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 2 * data_bytes + 4 * width * (size.n_features + 4000))


def centre_epochs(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Epochs of products with the kernel values between the points and fewer centres, made anew where large."""
    n, epochs = size.n_train, max(marks, default=10)
    m = min(parameters.get("centers") or 2000, n)
    values = n * m * (2 * size.n_features / FLOPS + 1 / WAVES)
    kept = 4 * n * m <= KEPT_BYTES
    seconds = (1 if kept else epochs) * values + epochs * (4 * n * m * size.n_classes / FLOPS + 4 * n * m / BANDWIDTH)
    seconds += 4 * m**3 / EIGEN_FLOPS + len(marks) * 2 * size.n_test * m * size.n_features / FLOPS
    data_bytes = 8 * (n + size.n_test) * size.n_features
    held = data_bytes + (4 * n * m if kept else 2**28) + 32 * m * m
    return Cost(OVERHEAD_SECONDS + STEP_SECONDS * epochs * max(1, n / 512) + seconds, PROCESS_BYTES + held)


def net_epochs(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Epochs of a neural net's forward and backward passes, and a forward pass over all data at every mark."""
    from shallows_papers.nets.architectures import find, shape_of_examples

    net, n, n_outputs = find(parameters.get("architecture") or "lenet"), size.n_train, size.n_classes or 1
    # Of molecules every entry becomes some seven inputs (1,800 for the 276 of QM7).
    inputs = size.n_features if net.steps is None else 7 * size.n_features
    shape = shape_of_examples(inputs, net.of_images, parameters.get("image_shape"))
    forward = 2 * net.products(shape, n_outputs)
    rows = 3 * n * max(marks, default=10) + len(marks) * (n + size.n_test)
    return Cost(OVERHEAD_SECONDS + 2 + rows * forward / NET_FLOPS, 2 * PROCESS_BYTES + 12 * n * size.n_features)


def closed_form(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Formulas, or one pass over the data."""
    return Cost(2 * OVERHEAD_SECONDS, PROCESS_BYTES + 8 * min(size.n_train, 100_000) * size.n_features)


def sampled_matrix(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Decompositions in float64 of the kernel matrix of a sample, or of the covariance of its features."""
    n = min(parameters.get("n_points") or 1000, size.n_train)
    width = parameters.get("n_features") or n
    seconds = 2.0 + 6 * width**3 / EIGEN_FLOPS + 4 * n * width * size.n_features / FLOPS
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 64 * n * width + 16 * size.n_train * size.n_features)


def timed_iterations(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Iterations that are made to be timed, each over all points, some dozens of them."""
    n = min(parameters.get("n_points") or size.n_train, size.n_train)
    seconds = 150 * 2 * 256 * n * size.n_features / FLOPS
    return Cost(2 * OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 24 * n * size.n_features + 8 * 1024 * n)


def growing(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """A function that grows by a block of features an iteration, each of which evaluates all blocks on its batch."""
    n, F = size.n_train, parameters.get("block_size") or 256
    T = max(marks, default=parameters.get("n_iter") or 10)
    B = min(n, parameters.get("batch_size") or 10 * F)
    entry = (2 * size.n_features + 4 * size.n_classes) / FLOPS + 1 / WAVES
    blocks = T if parameters.get("reuse", parameters.get("method", "fresh")) == "fresh" else T / 2 + 1
    blocks = min(blocks, (parameters.get("max_features") or math.inf) / F)
    seconds = B * F * blocks * T / 2 * entry + T * (B * 8.0 * F * F / FLOPS + 3e-10 * F**3 + STEP_SECONDS)
    evaluated = size.n_test + min(n, 10_000)
    seconds += sum(evaluated * F * min(mark, blocks) * entry for mark in marks)
    data_bytes = 4 * (n + size.n_test) * size.n_features
    held = 8 * F * min(T, blocks) * (size.n_classes + min(size.n_features, 1000)) + 64 * F * F
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 3 * data_bytes + held + 2**26)


def one_pass(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """A pass of a kernel machine over the data: half of the kernel matrix, made and dropped."""
    n, c = size.n_train, size.n_classes
    B = parameters.get("batch_size") or 256
    T = max(marks, default=1)
    visited = min(n, T * B)
    rate = (2 * size.n_features + 4 * c) / FLOPS + 2 / WAVES
    passes = max(1.0, T * B / n)
    seconds = passes * 0.5 * visited * visited * rate + T * STEP_SECONDS
    seconds += sum((size.n_test + min(n, 10_000)) * min(n, mark * B) * rate for mark in marks)
    kept = min(KEPT_BYTES, 2 * n * n) if passes > 1.1 else 0  # the last batch of a single pass begins anew
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + kept + 12 * (n + size.n_test) * size.n_features + 2**26)


def growing_components(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Components that grow by a block of features an iteration, each of which evaluates all blocks on its batch."""
    B, F, T = (parameters.get(name) or 128 for name in ("batch_size", "block_size", "max_blocks"))
    seconds = COMPONENT_VALUE_SECONDS * B * F * T * T / 2
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 64 * F * T + 4 * size.n_train * size.n_features)


def feature_pass(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Iterations on explicit features, which are held where there is room; without marks, a system is solved once."""
    D = parameters.get("n_features") or parameters.get("max_features") or 512
    n, T, B = size.n_train, max(marks, default=1), parameters.get("batch_size") or 64
    data_bytes = 12 * n * size.n_features
    if "n_grids" in parameters and n <= DIRECT_ROWS:
        # Far more bins than points: the system is that of the products between points, in float64.
        return Cost(OVERHEAD_SECONDS + BINNED_PAIR_SECONDS * n * n, PROCESS_BYTES + 27 * n * n + data_bytes)
    if "n_grids" in parameters:
        # Conjugate gradients on sparse rows: numbers and places of both orders, and six vectors of the bins.
        values, bins = n * parameters["n_grids"], parameters["n_grids"] * min(n, parameters.get("n_bins") or n)
        seconds = SPARSE_ITERATIONS * 2 * values * SPARSE_VALUE_SECONDS * size.n_classes
        return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 40 * values + 48 * bins + data_bytes)
    made = 2 * D * size.n_features / FLOPS + D / WAVES
    seconds = min(n, T * B) * made + T * (STEP_SECONDS / 3 + 4 * B * D * size.n_classes / FLOPS)
    if not marks:
        seconds += (parameters.get("max_epochs") or 0) * n * EXAMPLE_SECONDS
        seconds += 2 * n * D * D / FLOPS + D**3 / FACTOR_FLOPS
    elif "nystrom" in str(parameters.get("features")):
        seconds += 2e-9 * D**3  # all eigenpairs of the landmarks' matrix
    seconds += len(marks) * (size.n_test + min(n, 10_000)) * (made + 2 * D * size.n_classes / FLOPS)
    held = min((4 if marks else 8) * n * D, KEPT_BYTES) + (0 if marks else 16 * D * D)
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + held + data_bytes)


def timed_training(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """A training for a number of seconds, evaluated in between."""
    n = size.n_train
    kept = 0 if {"n_features", "block_size"} & parameters.keys() else min(KEPT_BYTES / 2, 2 * n * n)
    held = 12 * (n + size.n_test) * size.n_features + 4 * n * (parameters.get("n_features") or 0)
    return Cost(OVERHEAD_SECONDS + 1.2 * max(marks, default=10), int(PROCESS_BYTES + kept + held + 2**27))


def net_passes(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Iterations of a neural net, evaluated on a part of the training points."""
    iterations = max(marks, default=10)
    epochs = iterations * (parameters.get("batch_size") or 128) / max(1, size.n_train)
    return net_epochs(size, parameters, (max(1, round(epochs)),))


def followed_errors(size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Many trajectories of one point and one feature a step, each followed at every point of a sample."""
    steps, repeats = parameters.get("n_iterations") or 2000, parameters.get("n_repeats") or 32
    points = (parameters.get("n_points") or 200) + (parameters.get("n_places") or 50)
    seconds = 3.0 * steps * repeats * points * (2 * size.n_features / FLOPS + 1 / WAVES) + 3e-4 * steps
    held = 8.0 * steps * points * repeats if parameters.get("method", "dsg") != "dsg" else 8.0 * 256 * points * repeats
    return Cost(OVERHEAD_SECONDS + seconds, int(PROCESS_BYTES + held + 16 * size.n_train * size.n_features))


def preparation(n_rows: int, n_features: int, size: ProblemSize) -> Cost:
    """Reading published files of so many rows and features, and the steps to data of a size."""
    values = n_rows * n_features + (size.n_train + size.n_test) * size.n_features
    # Rows beyond the memory at hand are kept on disk, so that more than this is never needed.
    held = min(8 * values, KEPT_PREPARED_BYTES) + 60 * n_rows
    return Cost(2 + values / PREPARED_VALUES, PROCESS_BYTES + 2**28 + UNMEASURED_BYTES + held)


def net_features(size: ProblemSize, parameters: Mapping[str, Any]) -> Cost:
    """The training of the net whose features a preparation takes, and its pass over all rows; ``size`` before it."""
    trained_on = replace(size, n_train=parameters.get("rows") or size.n_train, n_test=0)
    training = net_epochs(trained_on, parameters, (parameters.get("epochs") or 10,))
    whole = net_epochs(size, parameters, (0,))
    return Cost(training.seconds + whole.seconds, training.memory_bytes)


def any_estimator(size: ProblemSize, holds_matrix: bool) -> Cost:
    """An estimator of another library; all that is known is whether it holds the matrix of all pairs."""
    n, d = size.n_train, size.n_features
    pairs = float(n) * (n + size.n_test)
    seconds = 50 * pairs * d / FLOPS + 1e-6 * n * d * size.n_classes
    return Cost(
        30 + seconds,
        PROCESS_BYTES + UNMEASURED_BYTES + 48 * (n + size.n_test) * d + (24 * n * n if holds_matrix else 0),
    )


MODELS: dict[str, Callable[[ProblemSize, Mapping[str, Any], Sequence[int]], Cost]] = {
    one.__name__: one
    for one in (
        kernel_epochs, subsample_eigensystem, full_eigensystem, closed_form, sampled_matrix, timed_iterations,
        exact_ridge, all_distances, support_vectors, growing_components, feature_epochs, centre_epochs, net_epochs,
        growing, one_pass, feature_pass, timed_training, net_passes, followed_errors,
    )
}  # fmt: skip


#: What `benchmarks/cost_model.py` measured.
PATH = Path(__file__).with_name("measured_costs.json")


def scaled(cost: Cost, method: str, model: str) -> Cost:
    """An estimate by the function of `costs` called ``model``, corrected by the constants of its method."""
    work = max(0.0, cost.seconds - OVERHEAD_SECONDS)
    measured = min(work, _factor("most", method, model))
    seconds = _factor("seconds", method, model) * measured + work - measured
    memory = _factor("memory", method, model) * cost.memory_bytes
    return Cost(_factor("start", method, model, default=OVERHEAD_SECONDS) + seconds, int(memory))


def within() -> dict[str, float]:
    """Factors that nine of ten estimates were within, for settings that were not measured: ``seconds``, ``memory``."""
    return _measured()["within"]


def _factor(what: str, method: str, model: str, default: float = 1.0) -> float:
    of_method, of_model = _measured()["methods"].get(method, {}), _measured()["models"].get(model, {})
    return of_method.get(what, of_model.get(what, default))


@cache
def _measured() -> dict[str, dict]:
    return json.loads(PATH.read_text(encoding="utf-8"))
