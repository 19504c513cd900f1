"""Growth of the time and memory of a training with points, inputs and outputs, for five kernel methods.

The five methods have fixed sizes. Estimators with default settings, which choose sizes from the data, are added.

With n points of d inputs and c outputs, one epoch takes O(n² (d + c)) with every point a center, O(n m (d + c)) with m
centers, O(n² (d + c)) by doubly stochastic gradients, whose features grow as the points; a least squares problem on D
random features takes O(n D (d + D)), and exact ridge regression O(n² d + n³). Memory is O(n²) where the kernel matrix
is kept, else O(n (d + D)).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from shallows import streams
from shallows.errors import UnknownNameError
from shallows.estimators.closed_forms.feature_ridge import FeatureRidgeRegressor
from shallows.estimators.doubly_stochastic.dsg_regressor import DoublyStochasticRegressor
from shallows.estimators.feature_maps.fourier import FourierFeatures
from shallows.estimators.least_squares.kernel_ridge import KernelRidgeRegressor
from shallows.fitting.machine import Options
from shallows.solvers import Cholesky, DoublyStochastic, EigenPro, ProjectedEigenPro

from ..results import AnalysisResult
from ..timing import in_turn, most_bytes, processor_seconds

BATCH = 250  # points of a batch, and features of a block of doubly stochastic gradients
N_CENTRES, N_FEATURES = 300, 300  # fixed numbers of centers and of random features
_STEPS = {"rank": 20, "n_subsample": 200, "max_epochs": 1, "tol": 0.0}


def _kernel_ridge(
    *, device: str, dtype: str = "auto", solver: Any = "nystrom_conjugate_gradients", **given: Any
) -> Any:
    return KernelRidgeRegressor(solver=solver, options=Options(device=device, dtype=dtype), **given)


def _feature_ridge(*, device: str, dtype: str = "auto", **given: Any) -> Any:
    return FeatureRidgeRegressor(options=Options(device=device, dtype=dtype), **given)


METHODS: dict[str, Callable[..., Any]] = {
    "eigenpro": partial(_kernel_ridge, solver=EigenPro(batch_size=BATCH, **_STEPS)),
    "centres": partial(_kernel_ridge, solver=ProjectedEigenPro(**_STEPS), centers=N_CENTRES),
    "doubly_stochastic": lambda device, dtype, **same: DoublyStochasticRegressor(
        solver=DoublyStochastic(
            schedule="constant",
            step_size=1e-3,
            preconditioning=None,
            block_size=BATCH,
            batch_size=BATCH,
            form="cosine",
            max_epochs=1,
        ),
        options=Options(device=device, dtype=dtype),
        **same,
    ),
    "features": lambda bandwidth, **same: _feature_ridge(
        features=FourierFeatures(n_features=N_FEATURES, bandwidth=bandwidth), alpha=1e-3, **same
    ),
    "exact": partial(_kernel_ridge, alpha=1e-3, solver=Cholesky()),
}
DEFAULTS: dict[str, Callable[..., Any]] = {
    "centres": _kernel_ridge,
    "doubly_stochastic": lambda device, **same: DoublyStochasticRegressor(options=Options(device=device), **same),
    "features": _feature_ridge,
    "feature_eigenpro": partial(_feature_ridge, solver="feature_eigenpro"),
}


def training_cost(
    data: Any = None,
    *,
    method: str = "eigenpro",
    defaults: bool = False,
    along: str = "n",
    sizes: Sequence[int] = (1000, 2000, 4000),
    n_points: int = 2000,
    n_inputs: int = 100,
    rounds: int = 2,
    random_state: int = 0,
) -> AnalysisResult:
    """Time and memory of a fit against points, inputs or outputs; everything else is fixed.

    Points are normal numbers, and targets are linear functions of them. The default sizes are `n_points`, `n_inputs`
    and one output. "eigenpro" is an epoch with all points as centers, "centres" with 300 of them; "doubly_stochastic"
    is an epoch with a block of features per batch; "features" is ridge regression on 300 random features, and "exact"
    exact kernel ridge regression. ``defaults`` is a whole fit of one of `DEFAULTS` with default settings. All sizes
    take turns in each round, and the shortest time of each counts.

    Over the sizes: ``training``, processor seconds in units of the first size, and ``bytes``, the peak memory of
    NumPy and Python in addition to the memory before the fit.
    """
    UnknownNameError.check("method", method, DEFAULTS if defaults else METHODS)
    UnknownNameError.check("axis", along, ("n", "d", "outputs"))
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    held = {}
    for turn, size in in_turn(sizes, rounds):
        given = {"n": n_points, "d": n_inputs, "outputs": 1, along: size}
        model, x, y = _problem(method, defaults, random_state, **given)
        if turn == 0:  # the first round includes loading and compilation
            held[size] = most_bytes(model.fit, x, y)
        else:
            seconds[size].append(processor_seconds(model.fit, x, y))
    first = min(seconds[sizes[0]])
    curve = {
        "training": [min(seconds[size]) / first for size in sizes],
        "bytes": [float(held[size]) for size in sizes],
    }
    return AnalysisResult(
        list(sizes), curve, effective={"method": method, "defaults": defaults, "along": along, "rounds": rounds}
    )


def _problem(
    method: str, defaults: bool, seed: int, n: int, d: int, outputs: int
) -> tuple[Any, np.ndarray, np.ndarray]:
    x = streams.normal(seed, "training cost points", n, (n, d)).astype(np.float32)
    y = (x @ streams.normal(seed, "training cost targets", d, (d, outputs)) / math.sqrt(d)).astype(np.float32)
    if defaults:
        model = DEFAULTS[method](random_state=seed, device="cpu")
    else:
        model = METHODS[method](bandwidth=math.sqrt(2.0 * d), random_state=seed, device="cpu", dtype="float32")
    return model, x, y[:, 0] if outputs == 1 else y
