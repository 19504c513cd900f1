"""The cost of exact solvers of kernel machines by the number of training points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shallows import arrays, kernels
from shallows.gram.row_slab import KernelRowSlab
from shallows.solvers.support_vectors.dual_problem import DualProblem
from shallows.solvers.support_vectors.smo import SMOStepper

from ...results import AnalysisResult
from ...timing import processor_seconds
from .course import two_classes


def scaling(
    data: Any,
    *,
    sizes: Sequence[int] = (500, 1000, 2000, 4000),
    C: float = 1.0,
    bandwidth: float | None = None,
    few: int = 100,
    rounds: int = 2,
    random_state: int = 0,
) -> AnalysisResult:
    """Steps, kernel evaluations and time of a kernel machine with the Gaussian kernel, by training points.

    The bandwidth defaults to the median distance. A small cache has `few` rows of the kernel matrix.

    Over n, for sequential minimal optimization: ``work``, steps times n, the cost with a known kernel matrix; ``kept``,
    ``few`` and ``none``, kernel evaluations over n² if all rows are stored, only the rows of a small cache, or only the
    two rows of the current step. ``time``, processor seconds of LIBSVM (scikit-learn's ``SVC``) with a cache for all
    rows, divided by the time for the fewest points.
    """
    from sklearn.svm import SVC

    x, y, _, _ = two_classes(data, max(sizes), random_state)
    sizes = sorted({min(n, len(y)) for n in sizes})
    x = np.ascontiguousarray(x, dtype=np.float32)
    sigma = kernels.median_bandwidth(x, random_state) if bandwidth is None else bandwidth
    kernel, solver = kernels.Gaussian(float(sigma)), SMOStepper()
    found: dict[str, list[float]] = {name: [] for name in ("work", "kept", "few", "none", "time")}
    seconds = []
    with arrays.one_blas_thread():
        for n in sizes:
            points = kernels.augmented(x[:n])
            for name, held in (("kept", n), ("few", few), ("none", 2)):
                rows = KernelRowSlab(kernel, points, budget=4 * n * held)
                problem = DualProblem.of_classes(rows, y[:n], np.full(n, C))
                state = solver.init(problem)
                while not state.exhausted:
                    solver.step(problem, state, 10_000)
                found[name].append(rows.n_made / n)
            found["work"].append(float(state.n_steps) * n)
            machine = SVC(C=C, gamma=1.0 / (2.0 * sigma**2), cache_size=4 * n * n / 2**20 + 10)
            seconds.append(min(processor_seconds(machine.fit, x[:n], y[:n]) for _ in range(rounds)))
    found["time"] = [one / seconds[0] for one in seconds]
    return AnalysisResult(sizes, found, {}, {"bandwidth": sigma, "C": C})
