"""Machines that train separately, on different data and feature blocks, with averaged outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shallows import arrays, kernels, streams
from shallows.estimators.doubly_stochastic.dsg_classifier import DoublyStochasticClassifier
from shallows.fitting.machine import Options
from shallows.solvers import DoublyStochastic

from ...results import AnalysisResult
from ...timing import processor_seconds


def by_machines(
    data: Any,
    *,
    machines: Sequence[int] = (1, 2, 4, 8, 16),
    bandwidth: float | None = None,
    share: float = 0.5,
    block_size: int = 64,
    batch_size: int = 256,
    max_epochs: int = 2,
    regularisation: float = 1e-4,
    random_state: int = 0,
    device: str = "cpu",
    memory: int | str | None = None,
) -> AnalysisResult:
    """Measure errors, times and messages of doubly stochastic gradients on machines that train independently.

    Machines are simulated: they train one after the other in this process, each on a random part of the training points
    and, by its seed, with different feature blocks. A new point is sent to all machines and classified by the mean of
    their outputs.

    Each of `machines` is a divisor of the largest; for smaller numbers, errors are means over disjoint groups of
    machines. Each machine draws a `share` of the training points. The bandwidth defaults to half of the median
    distance.

    Over M: ``error`` of the averaged outputs on the test part, in percent; ``same_blocks``, the error of machines that
    differ only in their data; ``one_machine``, the error of a single machine with M times the passes over its part,
    which has the same number of features as M machines; ``time``, processor seconds of the slowest of M machines
    divided by the time of that single machine; ``sent``, the numbers that all machines send for a new point.
    """
    x, new = (np.asarray(part, dtype=np.float32) for part in (data.x_train, data.x_test))
    y, truth = np.asarray(data.y_train), np.asarray(data.y_test)
    sigma = bandwidth or 0.5 * kernels.median_bandwidth(x, random_state)
    most = max(machines)

    def trained(machine: int, seed: int, passes: int = 1) -> tuple[np.ndarray, float]:
        rows = streams.permutation(random_state, "data of machines", machine, len(x))[: round(share * len(x))]
        model = DoublyStochasticClassifier(
            solver=DoublyStochastic(block_size=block_size, batch_size=batch_size, max_epochs=max_epochs * passes),
            bandwidth=sigma,
            regularization=regularisation,
            fit_intercept=False,
            random_state=1000 * random_state + seed,
            options=Options(device=device, memory=memory),
        )
        seconds = processor_seconds(model.fit, x[rows], y[rows])
        return np.asarray(model.decision_function(new), dtype=np.float64), seconds

    with arrays.one_blas_thread():
        own = [trained(machine, machine) for machine in range(most)]
        same = [trained(machine, 0) for machine in range(most)]
        single = [trained(0, 0, M) for M in machines]
    classes = np.unique(y)

    def error(outputs: np.ndarray) -> float:
        return 100.0 * float(np.mean(classes[(outputs > 0).astype(int)] != truth))

    def averaged(found: list[tuple[np.ndarray, float]], M: int) -> float:
        outputs = np.stack([one for one, _ in found]).reshape(most // M, M, -1).mean(axis=1)
        return float(np.mean([error(group) for group in outputs]))

    slowest = {M: float(np.mean([max(s for _, s in own[k : k + M]) for k in range(0, most, M)])) for M in machines}
    curve = {
        "error": [averaged(own, M) for M in machines],
        "same_blocks": [averaged(same, M) for M in machines],
        "one_machine": [error(outputs) for outputs, _ in single],
        "time": [slowest[M] / seconds for M, (_, seconds) in zip(machines, single, strict=True)],
        "sent": [M * own[0][0].size / len(new) for M in machines],
    }
    return AnalysisResult(list(machines), curve, {}, {"bandwidth": sigma, "share": share, "block_size": block_size})
