"""Linear regression on the functions of kernel sliced inverse regression: Figure 4 of Xie et al. (2015)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from shallows import streams
from shallows.errors import DivergenceError, UnknownNameError
from shallows.estimators.components.sliced_inverse_regression import KernelSlicedInverseRegression
from shallows.fitting.machine import Options
from shallows.solvers.components.kernel_cca import TwoViewCCA
from shallows_papers.baselines.randomised_cca import RandomisedCCA

from ..results import AnalysisResult

METHODS = ("doubly_stochastic", "fourier", "nystroem")


def projected_regression(
    data: Any,
    *,
    method: str = "doubly_stochastic",
    sizes: Sequence[int],
    n_components: int = 7,
    ridges: Sequence[float] = (1e-5, 1e-4, 1e-3),
    rule: str = "newton",
    step_sizes: Sequence[float | None] = (None,),
    decrease: float = 0.02,
    validation: int = 5000,
    n_iter: int | None = None,
    block_size: int | None = None,
    batch_size: int | None = None,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> AnalysisResult:
    """Compute the error of a linear model of the targets on k functions of the inputs, by the number of features.

    The functions span the top of the covariance of E[k(x, ·) | y] against that of k(x, ·), the space that kernel CCA
    between x and y finds. For each method, the ridge from ``ridges`` and the step with the smallest validation error
    are chosen. The method is then fitted on the whole training part.

    "doubly_stochastic" is `KernelSlicedInverseRegression`, with ridges in units of k(x, x) = 1; steps with which it
    diverges are skipped. "fourier" and "nystroem" are CCA between fixed features of the inputs and of the targets,
    with ridges in shares of the trace. `sizes` count cosines and sines, or landmarks; `validation` points are held
    out, at most a fifth of all.

    Over the number of features: ``test_error``, the mean squared error on the test part over the variance of the
    targets there, and the chosen ``ridge`` and, if steps are given, ``step``.
    """
    UnknownNameError.check("method", method, METHODS)
    x, x_test = (np.asarray(part, dtype=np.float32) for part in (data.x_train, data.x_test))
    y, y_test = (_columns(part) for part in (data.y_train, data.y_test))
    scale = y.std(axis=0)
    y, y_test = y / scale, y_test / scale
    order = streams.permutation(random_state, "validation", 0, len(x))
    n_apart = min(validation, len(x) // 5)
    apart, rest = order[:n_apart], order[n_apart:]

    def error(size: int, ridge: float, step: float | None, fit: Any, test: Any) -> float:
        if method == "doubly_stochastic":
            model: Any = KernelSlicedInverseRegression(
                n_components,
                ridge=ridge,
                solver=TwoViewCCA(
                    method=rule,
                    step_size=step,
                    decrease=decrease,
                    max_features=size // 2,
                    block_size=block_size and min(block_size, size // 2),
                    batch_size=batch_size,
                    n_iter=n_iter,
                ),
                random_state=random_state,
                options=Options(device=device, memory=memory),
            )
        else:
            model = RandomisedCCA(
                n_components, features=method, n_features=size, ridge=ridge, random_state=random_state
            )
        model.fit(*fit)
        linear = LinearRegression().fit(model.transform(fit[0]), fit[1])
        off = linear.predict(model.transform(test[0])) - test[1]
        return float(np.mean(off**2) / np.mean((test[1] - test[1].mean(axis=0)) ** 2))

    def validation_error(choice: tuple[float, float | None]) -> float:
        try:
            return error(size, *choice, (x[rest], y[rest]), (x[apart], y[apart]))
        except DivergenceError:
            return math.inf

    choices = list(itertools.product(ridges, step_sizes))
    curve: dict[str, list[float]] = {"test_error": [], "ridge": []}
    for size in sizes:
        ridge, step = min(choices, key=validation_error) if len(choices) > 1 else choices[0]
        curve["ridge"].append(float(ridge))
        if step is not None:
            curve.setdefault("step", []).append(float(step))
        curve["test_error"].append(error(size, ridge, step, (x, y), (x_test, y_test)))
    return AnalysisResult(list(sizes), curve, {}, {"n_components": n_components, "n_validation": n_apart})


def _columns(y: Any) -> np.ndarray:
    y = np.asarray(y, dtype=np.float64)
    return y.reshape(len(y), -1)
