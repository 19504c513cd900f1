"""Bytes that doubly stochastic kernel PCA stores between steps, by the number of features and inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shallows import kernels, streams
from shallows.errors import UnknownNameError
from shallows.features.fourier import FourierMap
from shallows.solvers.components.component_steps import random_feature_components
from shallows.solvers.components.oja import ComponentProblem, OjaStepper
from shallows.solvers.examples import Examples

from ..dsg.expansion_cost import held_after
from ..results import AnalysisResult


def kept_bytes(
    data: Any,
    *,
    along: str = "n_features",
    sizes: Sequence[int],
    n_features: int = 2048,
    n_inputs: int = 10,
    n_components: int = 3,
    block_size: int = 64,
    batch_size: int = 32,
    cache_bytes: int = 0,
    random_state: int = 0,
) -> AnalysisResult:
    """Measure the bytes that a training has allocated between its steps, on generated normal points.

    The number of frequencies or inputs grows. With `cache_bytes=0` all frequencies are drawn again for each step.

    Over the size: ``bytes``.
    """
    UnknownNameError.check("axis", along, ("n_features", "n_inputs"))
    kept = []
    for size in sizes:
        D, d = (size, n_inputs) if along == "n_features" else (n_features, size)
        kernel = kernels.Gaussian(d**0.5)
        points = streams.normal(random_state, "kept bytes", 0, (200, d))
        start = random_feature_components(
            FourierMap(kernel, d, block_size, random_state, cache_bytes=cache_bytes), points, n_components
        )

        def trained(
            D: int = D, d: int = d, kernel: Any = kernel, points: np.ndarray = points, start: Any = start
        ) -> Callable[[], None]:
            features = FourierMap(kernel, d, block_size, random_state, cache_bytes=cache_bytes)
            problem = ComponentProblem(features, n_components, start.coefficients, np.diag(start.values[:n_components]))
            solver = OjaStepper(0.5, max_blocks=D // block_size)
            state = solver.init(problem)

            def step() -> None:
                nonlocal state
                state = solver.step(problem, state, Examples(points[:batch_size]))

            for _ in range(D // block_size - 1):
                step()
            return step

        kept.append(float(held_after(trained)[1]))
    return AnalysisResult(list(sizes), {"bytes": kept}, {}, {"block_size": block_size, "n_components": n_components})
