"""Whether a linear function of the columns is far from the optimum of its risk because these differ in scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...solvers.regularised.risk import RiskProblem
from .. import column_scales


def warn_if_far(model: Any, problem: RiskProblem, points: Array) -> None:
    """Warn if a fitted function of the linear map or kernel has a much larger objective than one of standardised steps.

    Parameters
    ----------
    model : RiskModel
    problem : RiskProblem
    points : array, shape (n, d + 2)
        Augmented training points in the order of the fit; those on a GPU are not looked at.
    """
    kernel, a = model._model.get("kernel"), model._model["coefficients"].astype(np.float64)
    of_kernel = getattr(kernel, "name", None) == "linear" and (kernel.offset, kernel.scale) == (0.0, 1.0)
    if not (of_kernel or (isinstance(model.features, str) and model.features == "linear" and arrays.is_numpy(points))):
        return
    x = arrays.to_numpy(points)[:, :-2]
    mean, scale = column_scales.scales_of(x, centred=False)
    # A linear kernel has no constant: its column is zero.
    constant = 0.0 if of_kernel else 1.0
    w = np.vstack([model._model["points"][:, :-2].T @ a, np.zeros((1, a.shape[1]))]) if of_kernel else a

    def value_and_gradient(w: np.ndarray) -> tuple[float, np.ndarray]:
        total, gradient = 0.0, problem.regularisation * w
        for rows in arrays.blocks(len(x), 4096):
            scores = (x[rows] @ w[:-1] + constant * w[-1]).astype(x.dtype)
            total += problem.losses(scores, rows)
            slopes = problem.gradient(scores, rows) / len(x)
            gradient[:-1] += x[rows].T @ slopes
            gradient[-1] += constant * slopes.sum(axis=0)
        return 0.5 * problem.regularisation * float((w * w).sum()) + total / len(x), gradient

    mean, scale = np.append(mean, 0.0), np.append(scale, 1.0)
    column_scales.warn_if_far(type(model).__name__, value_and_gradient, w, mean, scale, stacklevel=4)
