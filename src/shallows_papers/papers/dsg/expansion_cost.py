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
    """Time and stored bytes of a DSG iteration against the number of features or of inputs.

    Points are normal numbers. Frequencies are drawn again in every iteration, as in the printed algorithm.

    Over the sizes: ``time`` in units of the first size's time; ``bytes``, the memory that Python and NumPy have
    allocated in addition after making the function and two iterations; ``data_bytes``, the memory of a kernel machine
    with the same number of points.
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
    """Return a repeatable step of a function of m features, and the bytes of the function."""
    x = streams.normal(seed, "growth points", 0, (B, d)).astype(np.float32)
    y = np.sign(x[:, :1])
    kernel = kernels.Gaussian(math.sqrt(2.0 * d))

    def make_step() -> Callable[[], None]:
        features = FourierMap(kernel, d, F, seed, form="cosine", cache_bytes=0)
        problem = ExpansionProblem(features, losses.Logistic(), 1, growth=math.inf)
        solver = DoublyStochasticStepper(1e-3, 0.0, 0.0, preconditioning=None)
        state = ExpansionState.zero(problem, 1e-3, x)
        for _ in range(m // F):
            state.grow(np.full((F, 1), 1e-3, dtype=np.float32), trace=np.zeros(1, dtype=np.float32))

        def step() -> None:
            n_blocks = state.n_blocks
            solver.step(problem, state, Examples(x, y))
            state.n_blocks = n_blocks

        return step

    make_step()()  # a first call also allocates other memory, such as compiled expressions
    return held_after(make_step)


def held_after(make: Callable[[], Callable[[], None]]) -> tuple[Callable[[], None], int]:
    """Call twice what ``make`` returns; return it and the bytes that are allocated then.

    One is made and called before, so that memory which Python and libraries keep from a first call is not counted.
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
    """Compare the bytes of stored random features in double precision with doubly stochastic gradients.

    The bytes of a feature vector are measured on points of the data. The arguments give the size of the dataset.

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
