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


MODELS: dict[str, Callable[[Size, Mapping[str, Any], Sequence[int]], Cost]] = {
    "kernel_epochs": kernel_epochs,
    "subsample_eigensystem": subsample_eigensystem,
    "full_eigensystem": full_eigensystem,
}
