"""Least squares with bounded coefficients, by L-BFGS-B."""

from __future__ import annotations

import numpy as np
import scipy.optimize


def minimise_in_box(
    gram: np.ndarray, moments: np.ndarray, bound: float, tol: float, max_iterations: int
) -> tuple[np.ndarray, int]:
    """The α that minimises αᵀGα − 2αᵀm under |αₖ| ≤ bound, shape (K,), and the iterations.

    By L-BFGS-B, which keeps to the bounds exactly. The problem is convex, so that it has one least value.
    """

    def risk(alpha: np.ndarray) -> tuple[float, np.ndarray]:
        product = gram @ alpha
        return float(alpha @ product - 2.0 * (alpha @ moments)), 2.0 * (product - moments)

    options = {"maxiter": max_iterations, "maxfun": 2 * max_iterations, "ftol": 1e-15, "gtol": tol}
    start, box = np.zeros(len(moments)), [(-bound, bound)] * len(moments)
    found = scipy.optimize.minimize(risk, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
    return found.x, int(found.nit)
