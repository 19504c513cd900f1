"""Rough estimates of time and memory, to batch short runs, to ask a cluster for enough, and to explain.

The rates are those of two cores of a 2020s server; a factor of three either way is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Floating-point operations a second of a matrix product in float32.
FLOPS = 1.0e11
#: Operations a second of dense eigensystems in float64, which reach a tenth of a product's rate.
EIGEN_FLOPS = 1.0e10
#: Operations a second of a factorisation in float64.
FACTOR_FLOPS = 4.0e10
#: Points up to which the exact estimator factors, and the iterations that it makes beyond.
MOST_FACTORED, CG_ITERATIONS = 20_000, 150
#: Bytes a second of a pass over a kept kernel matrix.
BANDWIDTH = 8.0e9
#: Bytes of a process that has imported everything.
PROCESS_BYTES = 400_000_000
#: Seconds of a run that have nothing to do with its size.
OVERHEAD_SECONDS = 0.3
#: Seconds of a step beyond its products.
STEP_SECONDS = 3e-3
#: A kernel matrix above this is computed anew in every epoch rather than kept.
KEPT_BYTES = 12_000_000_000


@dataclass(frozen=True)
class Size:
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


def kernel_epochs(size: Size, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
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
    seconds += len(marks) * 2 * n * size.n_test * (size.n_features + size.n_classes) / FLOPS
    data_bytes = 4 * (n + size.n_test) * size.n_features
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + matrix_bytes + 2 * data_bytes)


def subsample_eigensystem(size: Size, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Top eigenpairs of the kernel matrix of a subsample: in full where it is small, by block iteration where not."""
    m = min(parameters.get("n_subsample") or 2000, size.n_train)
    wanted = min(parameters.get("n_eigenvalues") or parameters.get("rank") or 160, m)
    full = 4 / 3 * m**3 / EIGEN_FLOPS
    iterated = 10 * 2 * m * m * 1.5 * wanted / FLOPS
    seconds = 2 * m * m * size.n_features / FLOPS + min(full, iterated)
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 12 * m * m + 4 * size.n_train * size.n_features)


def full_eigensystem(size: Size, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """All eigenpairs of the kernel matrix in float64, and its product with the test data."""
    n = size.n_train
    seconds = 9 * n**3 / EIGEN_FLOPS + 4 * n * (n + size.n_test) * size.n_features / FLOPS
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 40 * n * n + 8 * n * size.n_test)


def exact_ridge(size: Size, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """A factorisation in float64 where the estimator makes one, else passes of conjugate gradients over the matrix."""
    n = size.n_train
    predicted = 2 * n * size.n_test * (size.n_features + size.n_classes) / FLOPS
    if parameters.get("solver") != "conjugate_gradients" and n <= MOST_FACTORED:
        seconds = n**3 / 3 / FACTOR_FLOPS + 2 * n * n * size.n_features / FLOPS
        return Cost(OVERHEAD_SECONDS + seconds + predicted, PROCESS_BYTES + 14 * n * n + 8 * n * size.n_features)
    # A hundred iterations reach a residual of a thousandth where nothing is regularised; each is an epoch of one batch.
    epochs = kernel_epochs(size, {"batch_size": n}, (CG_ITERATIONS,))
    return Cost(epochs.seconds + predicted, epochs.memory_bytes + 8 * n * 1000)


def all_distances(size: Size, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """The distance of every test point from every training point."""
    seconds = 2 * size.n_train * size.n_test * size.n_features / FLOPS
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 12 * (size.n_train + size.n_test) * size.n_features)


def feature_epochs(size: Size, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Epochs of explicit features that are made anew for every batch."""
    n, epochs, width = size.n_train, max(marks, default=10), parameters.get("n_features") or 2000
    row = 2 * size.n_features * width + 4 * width * (size.n_classes + (parameters.get("rank") or 0))
    seconds = epochs * (n * row / FLOPS + STEP_SECONDS * n / (parameters.get("batch_size") or 2048))
    seconds += len(marks) * (n + size.n_test) * row / FLOPS
    data_bytes = 4 * (n + size.n_test) * size.n_features
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 2 * data_bytes + 4 * width * (size.n_features + 4000))


def closed_form(size: Size, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """What follows from formulas, or from a look at the data."""
    return Cost(2 * OVERHEAD_SECONDS, PROCESS_BYTES + 8 * min(size.n_train, 100_000) * size.n_features)


def sampled_matrix(size: Size, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Decompositions in float64 of the kernel matrix of a sample, or of the covariance of its features."""
    n = min(parameters.get("n_points") or 1000, size.n_train)
    width = parameters.get("n_features") or n
    seconds = 2.0 + 6 * width**3 / EIGEN_FLOPS + 4 * n * width * size.n_features / FLOPS
    return Cost(OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 64 * n * width + 16 * size.n_train * size.n_features)


def timed_iterations(size: Size, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Iterations that are made to be timed, each over all points, some dozens of them."""
    n = min(parameters.get("n_points") or size.n_train, size.n_train)
    seconds = 150 * 2 * 256 * n * size.n_features / FLOPS
    return Cost(2 * OVERHEAD_SECONDS + seconds, PROCESS_BYTES + 24 * n * size.n_features + 8 * 1024 * n)


def any_estimator(size: Size, holds_matrix: bool) -> Cost:
    """An estimator of another library, of which only is known whether it works with the matrix of all pairs."""
    n, d = size.n_train, size.n_features
    pairs = float(n) * (n + size.n_test)
    seconds = 50 * pairs * d / FLOPS + 1e-6 * n * d * size.n_classes
    return Cost(30 + seconds, PROCESS_BYTES + 48 * (n + size.n_test) * d + (24 * n * n if holds_matrix else 0))


MODELS: dict[str, Callable[[Size, Mapping[str, Any], Sequence[int]], Cost]] = {
    "kernel_epochs": kernel_epochs,
    "subsample_eigensystem": subsample_eigensystem,
    "full_eigensystem": full_eigensystem,
    "closed_form": closed_form,
    "sampled_matrix": sampled_matrix,
    "timed_iterations": timed_iterations,
    "exact_ridge": exact_ridge,
    "all_distances": all_distances,
    "feature_epochs": feature_epochs,
}
