"""Time and memory of an iteration of doubly stochastic gradients, and bytes of stored random features.

Times are ratios within one process, over rounds in which all sizes take turns.
"""

from __future__ import annotations

import gc
import math
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shallows import kernels, losses, streams
from shallows.errors import UnknownNameError
from shallows.features.fourier import FourierMap
from shallows.solvers.examples import Examples
from shallows.solvers.expansions.doubly_stochastic import DoublyStochasticStepper
from shallows.solvers.expansions.expansion import ExpansionProblem, ExpansionState

from ..results import AnalysisResult
from ..timing import seconds_by_round


def iteration_cost(
    data: Any = None,
    *,
    along: str = "n_features",
    sizes: Sequence[int] = (1024, 2048, 4096, 8192, 16384),
    n_inputs: int = 100,
    n_features: int = 4096,
    batch_size: int = 32,
    block_size: int = 64,
    rounds: int = 7,
    random_state: int = 0,
) -> AnalysisResult:
    """Time of an iteration of DSG, and what it keeps, against the number of features or of inputs.

    Points are normal numbers. Frequencies are drawn anew in every iteration, as the algorithm is printed.

    Over the sizes: ``time`` in units of that of the first; ``bytes`` that the process holds more after the function was
    made and two iterations were done than before, as Python and NumPy allocate them; ``data_bytes`` that a kernel
    machine with as many points would keep.
    """
    UnknownNameError.check("axis", along, ("n_features", "n_inputs"))
    work: dict[Any, Callable[[], Any]] = {}
    kept, points = [], []
    for size in sizes:
        m, d = (size, n_inputs) if along == "n_features" else (n_features, size)
        work[size], held = _step(m, d, batch_size, block_size, random_state)
        kept.append(float(held))
        points.append(4.0 * m * (d + 1))
    seconds = seconds_by_round(work, rounds)
    times = [float(np.median(seconds[size] / seconds[sizes[0]])) for size in sizes]
    effective = {"along": along, "batch_size": batch_size, "block_size": block_size, "rounds": rounds}
    return AnalysisResult(list(sizes), {"time": times, "bytes": kept, "data_bytes": points}, effective=effective)


def _step(m: int, d: int, B: int, F: int, seed: int) -> tuple[Callable[[], None], int]:
    """A step of a function of m features that can be made again and again, and the bytes that the function holds."""
    x = streams.normal(seed, "growth points", 0, (B, d)).astype(np.float32)
    y = np.sign(x[:, :1])
    kernel = kernels.Gaussian(math.sqrt(2.0 * d))

    def made() -> Callable[[], None]:
        features = FourierMap(kernel, d, F, seed, form="cosine", cache_bytes=0)
        problem = ExpansionProblem(features, losses.Logistic(), 1, growth=math.inf)
        solver = DoublyStochasticStepper(1e-3, 0.0, 0.0, preconditioning=None)
        state = ExpansionState.zero(problem, 1e-3, x)
        for _ in range(m // F):
            state.grow(np.full((F, 1), 1e-3, dtype=np.float32), np.zeros(1, dtype=np.float32))

        def step() -> None:
            n_blocks = state.n_blocks
            solver.step(problem, state, Examples(x, y))
            state.n_blocks = n_blocks

        return step

    made()()  # what a first call leaves behind, such as compiled expressions, belongs to no function
    return held_after(made)


def held_after(make: Callable[[], Callable[[], None]]) -> tuple[Callable[[], None], int]:
    """What ``make`` returns, called twice, and the bytes that it holds then, as they were allocated.

    It is made and called once before, so that what Python and the libraries keep from a first call is not counted.
    """
    make()()
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        step = make()
        for _ in range(2):
            step()
        gc.collect()
        return step, tracemalloc.get_traced_memory()[0] - before
    finally:
        if not was_tracing:
            tracemalloc.stop()


def stored_feature_bytes(
    data: Any,
    *,
    n_points: int = 8_100_000,
    n_features: int = 100_000,
    n_outputs: int = 10,
    random_state: int = 0,
) -> AnalysisResult:
    """Bytes of stored random features in double precision, beside what doubly stochastic gradients keep.

    The bytes of a feature vector are measured on points of the data; the sizes are those of the set that is asked
    about.

    Numbers: ``stored_terabytes`` of the features, ``coefficients_megabytes`` in single precision, their ``ratio``.
    """
    x = np.asarray(data.x_train[:64], dtype=np.float64)
    block = 256
    made = FourierMap(kernels.Gaussian(1.0), x.shape[1], block, random_state, form="cosine")
    each = made.block(0, x).nbytes / (len(x) * block)
    features, coefficients = each * n_points * n_features, 4.0 * n_features * n_outputs
    numbers = {
        "stored_terabytes": features / 1e12,
        "coefficients_megabytes": coefficients / 1e6,
        "ratio": features / coefficients,
    }
    return AnalysisResult([], {}, numbers, {"n_points": n_points, "n_features": n_features, "n_outputs": n_outputs})
