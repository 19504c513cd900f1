"""A fit that keeps the kernel matrix, and the bare product X Xᵀ of the same points, half before it and half after."""

from __future__ import annotations

import statistics
import time
from typing import Any

import measuring
import numpy as np

from shallows import KernelRidgeClassifier
from shallows.solvers import EigenPro
from shallows.training import Observer

BLOCK = 1024
EPOCHS = 4


class Clock(Observer):
    """Notes when training began and when each epoch was done."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_start(self, run: Any) -> None:  # noqa: D102
        self.times.append(time.perf_counter())

    def on_epoch(self, run: Any) -> None:  # noqa: D102
        self.times.append(time.perf_counter())


def product_seconds(x: np.ndarray, scratch: np.ndarray, blocks: list[slice]) -> float:
    """The time of some blocks of rows of X Xᵀ, each written over the one before."""
    started = time.perf_counter()
    for rows in blocks:
        np.matmul(x[rows], x.T, out=scratch[: rows.stop - rows.start])
    return time.perf_counter() - started


asked = measuring.parameters()
x, y = measuring.load(asked["data"], "train", asked["n_train"])
x = np.array(x)
# What any program would multiply: without the pixels that never vary (67 of 784), so the product is no larger than it
# need be.
points = np.ascontiguousarray(x[:, x.max(axis=0) > x.min(axis=0)])
points -= points.mean(axis=0)
n = len(points)
blocks = [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]
scratch = np.empty((min(BLOCK, n), n), dtype=np.float32)
clock = Clock()
model = KernelRidgeClassifier(
    solver=EigenPro(batch_size=asked["batch_size"], max_epochs=EPOCHS, tol=0), bandwidth=5, random_state=0
)

before = measuring.sgemm_gflops()
product_seconds(points, scratch, blocks[:1])  # Touches the memory.
product = product_seconds(points, scratch, blocks[0::2])
first_touch = measuring.touch_memory(n)
model.fit(x, y, observers=[clock])
product += product_seconds(points, scratch, blocks[1::2])
after = measuring.sgemm_gflops()
measuring.answer(
    product_seconds=product,
    first_touch_seconds=first_touch,
    build_seconds=model.report_["timings"]["kernel_matrix"],
    epoch_seconds=statistics.median(np.diff(clock.times)[1:].tolist()),
    sgemm_gflops=(before + after) / 2,
    product_gflops=2e-9 * n * n * points.shape[1] / product,
    batch_size=model.report_["batch_size"],
    kept_fraction=model.report_["kept_fraction"],
    n_rollbacks=model.n_rollbacks_,
)
