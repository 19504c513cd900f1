"""Estimates of the time of trainings on a named GPU, from a few constants of the card.

A kernel value costs its products, at the rate of a large float32 product without TF32, and a pass of elementwise work
(an exponential and about fifteen bytes of traffic); of at most `FUSED_FEATURES` features both are one pass without a
matrix. A step costs its launches besides. The constants of the H100 were measured (CuPy 14.2, CUDA 13); those of
another card are scaled by its data sheet, so that its estimates are rougher. A step of EigenPro took 73 launches when
it was measured; it takes 12 since, so estimates of many small batches are high until steps are measured anew.
`benchmarks/device_model.py` sets the estimates beside what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shallows.errors import UnknownNameError

from .costs import CG_ITERATIONS, MOST_FACTORED, Cost, ProblemSize

FUSED_FEATURES = 32  # up to which products are made in one pass, without a matrix
KEPT_SHARE = 0.6  # of a card's memory that a kept kernel matrix may take
BATCH = 640  # rows, where a method chooses by itself
BLOCK_WORK = 2400.0  # multiplications of the systems that solve a block of growing features, over its width cubed
WITHIN = 1.8  # factor within which estimates of nine measured runs on an H100 lie, by `benchmarks/device_model.py`


@dataclass(frozen=True)
class Card:
    """Constants of a card: rates and times are in seconds, operations or bytes a second."""

    title: str
    flops: float  # of a large float32 product
    bandwidth: float
    memory_bytes: float
    source: str  # where the constants are from
    value_seconds: float  # elementwise work of a kernel value beside a product,
    fused_seconds: float  # and in one pass with it
    step_seconds: float = 2.4e-3  # launches of a step
    start_seconds: float = 0.5  # preparation of a fit on the host


H100 = Card(
    "NVIDIA H100 80 GB",
    4.8e13,
    3.35e12,
    8.0e10,
    "products, values and steps measured; bandwidth and memory: NVIDIA H100 data sheet (SXM5)",
    value_seconds=2.0e-11,
    fused_seconds=5.0e-12,
)


def _by_data_sheet(title: str, teraflops: float, terabytes: float, gigabytes: float, sheet: str) -> Card:
    """A card that was not measured: the H100's constants times the ratio of both data sheets.

    Products take 0.72 of the 67 TFLOP/s that the H100's sheet promises; elementwise work goes with the bandwidth.
    """
    slower = H100.bandwidth / (terabytes * 1e12)
    return Card(
        title,
        H100.flops / 67.0 * teraflops,
        terabytes * 1e12,
        gigabytes * 1e9,
        f"scaled from the H100 by the data sheet: {sheet}",
        value_seconds=H100.value_seconds * slower,
        fused_seconds=H100.fused_seconds * 67.0 / teraflops,
    )


DEVICES = {
    "h100": H100,
    "h200": _by_data_sheet("NVIDIA H200 141 GB", 67.0, 4.8, 141, "NVIDIA H200 (SXM)"),
    "a100": _by_data_sheet("NVIDIA A100 80 GB", 19.5, 2.04, 80, "NVIDIA A100 (SXM4)"),
    "rtx4090": _by_data_sheet("NVIDIA RTX 4090 24 GB", 82.6, 1.01, 24, "NVIDIA Ada GPU architecture, appendix A"),
    "titan_x": _by_data_sheet("NVIDIA Titan X 12 GB", 6.6, 0.336, 12, "NVIDIA GeForce GTX Titan X"),
}


def find(name: str) -> Card:
    """The card of a name; an error gives the nearest."""
    if name.lower() not in DEVICES:
        raise UnknownNameError("device", name, DEVICES)
    return DEVICES[name.lower()]


def values(device: Card, rows: float, columns: float, n_features: int, n_outputs: int) -> float:
    """Seconds of a block of kernel values and of its product with coefficients."""
    fused = n_features <= FUSED_FEATURES
    elementwise = device.fused_seconds if fused else device.value_seconds
    return rows * columns * ((2 * n_features + 2 * n_outputs) / device.flops + elementwise)


def kernel_epochs(device: Card, size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Epochs with the kernel matrix: made once where it fits, else anew in every epoch."""
    n, c, epochs = size.n_train, size.n_classes, max(marks, default=10)
    matrix = 4.0 * n * n
    kept = matrix <= KEPT_SHARE * device.memory_bytes
    made = values(device, n, n, size.n_features, 0 if kept else c)
    product = max(matrix / device.bandwidth, 2.0 * n * n * c / device.flops)
    seconds = 0.5 * made + epochs * product if kept else epochs * made
    seconds += device.step_seconds * epochs * n / (parameters.get("batch_size") or BATCH)
    seconds += len(marks) * values(device, size.n_test, n, size.n_features, c)
    seconds += (len(marks) - 1) * (product if kept else 0.0)
    data = 4.0 * (n + size.n_test) * size.n_features
    return Cost(device.start_seconds + seconds, int((matrix if kept else 0) + 2 * data + 2**30))


def centre_epochs(device: Card, size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Epochs of products between all points and fewer centres, whose own system is factored once."""
    n, c, epochs = size.n_train, size.n_classes, max(marks, default=10)
    m = min(parameters.get("centers") or 2000, n)
    seconds = epochs * values(device, n, m, size.n_features, 2 * c) + 4.0 * m**3 / (0.1 * device.flops)
    seconds += len(marks) * values(device, size.n_test, m, size.n_features, c)
    data = 4.0 * (n + size.n_test) * size.n_features
    return Cost(device.start_seconds + seconds, int(2 * data + 32 * m * m + 2**30))


def exact_ridge(device: Card, size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """A factorisation in float64 of half the product rate, else conjugate gradients over the matrix."""
    n = size.n_train
    if parameters.get("solver") != "conjugate_gradients" and n <= MOST_FACTORED:
        seconds = n**3 / 3 / (0.5 * device.flops) + values(device, n, n + size.n_test, size.n_features, size.n_classes)
        return Cost(device.start_seconds + seconds, 16 * n * n + 2**30)
    return kernel_epochs(device, size, {"batch_size": n}, (CG_ITERATIONS,))


def feature_epochs(device: Card, size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """Epochs of explicit features that are made anew for every batch."""
    n, epochs, width = size.n_train, max(marks, default=10), parameters.get("n_features") or 2000
    outputs = 2 * (size.n_classes + (parameters.get("rank") or 0))
    evaluated = len(marks) * (n + size.n_test)
    seconds = values(device, epochs * n + evaluated, width, size.n_features, outputs)
    seconds += device.step_seconds * epochs * n / (parameters.get("batch_size") or BATCH)
    return Cost(device.start_seconds + seconds, int(8.0 * n * size.n_features + 2**31))


def growing(device: Card, size: ProblemSize, parameters: Mapping[str, Any], marks: Sequence[int]) -> Cost:
    """A function that grows by a block of features an iteration, each of which evaluates all blocks on its batch."""
    n, F, T = size.n_train, parameters.get("block_size") or 256, max(marks, default=10)
    B = min(n, parameters.get("batch_size") or 10 * F)
    blocks = T if parameters.get("reuse", parameters.get("method", "fresh")) == "fresh" else T / 2 + 1
    seconds = values(device, B * T / 2, F * blocks, size.n_features, 2 * size.n_classes)
    seconds += T * (8.0 * B * F * F / device.flops + BLOCK_WORK * F**3 / device.flops + device.step_seconds)
    evaluated = size.n_test + min(n, 10_000)
    seconds += sum(values(device, evaluated, F * min(mark, blocks), size.n_features, size.n_classes) for mark in marks)
    held = 8.0 * F * T * (size.n_classes + min(size.n_features, 1000))
    return Cost(device.start_seconds + seconds, int(held + 8.0 * n * size.n_features + 2**31))


#: The functions of `costs` whose work a card does; the other work stays on the processor.
MODELS: dict[str, Callable[[Card, ProblemSize, Mapping[str, Any], Sequence[int]], Cost]] = {
    one.__name__: one for one in (kernel_epochs, centre_epochs, exact_ridge, feature_epochs, growing)
}
