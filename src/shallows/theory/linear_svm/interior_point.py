"""A primal-dual interior-point method for the dual problem of a support vector machine of few examples."""

from __future__ import annotations

import numpy as np
import scipy.linalg


def interior_point(Q: np.ndarray, C: float, accuracy: float, most: int = 200) -> tuple[np.ndarray, int]:
    """Minimise ½ aᵀQa − Σ aᵢ over 0 ≤ aᵢ ≤ C, by Newton steps on the conditions of optimality with a falling barrier.

    Each iteration factors an n × n matrix, Q and a diagonal.

    Parameters
    ----------
    Q : ndarray, shape (n, n)
        yᵢyⱼ k(xᵢ, xⱼ).
    C : float
    accuracy : float
        The end is where primal and dual objective differ by at most this share of the primal one.

    Returns
    -------
    ndarray, shape (n,), and int
        The variables, and the iterations.

    References
    ----------
    M. C. Ferris and T. S. Munson (2002), "Interior-point methods for massive support vector machines", SIAM Journal on
    Optimization 13. S. Mehrotra (1992), "On the implementation of a primal-dual interior point method", SIAM Journal
    on Optimization 2 (the prediction of the barrier).
    """
    n = len(Q)
    a, low, high = np.full(n, 0.5 * C), np.ones(n), np.ones(n)
    for iteration in range(most):
        gradient = Q @ a - 1.0
        residual = gradient - low + high
        gap = float(low @ a + high @ (C - a))
        size = abs(0.5 * float(a @ (gradient - 1.0))) + 1e-300
        if gap <= accuracy * size and np.abs(residual).max() <= accuracy:
            return a, iteration
        factor = scipy.linalg.cho_factor(Q + np.diag(low / a + high / (C - a)), check_finite=False)
        barrier, da = 0.0, np.zeros(n)
        dlow, dhigh = np.zeros(n), np.zeros(n)
        for corrected in (False, True):
            # Products of the predicted changes, which the linear equations leave out, are put right in the second turn.
            first = (barrier - low * a - (dlow * da if corrected else 0.0)) / a
            second = (barrier - high * (C - a) + (dhigh * da if corrected else 0.0)) / (C - a)
            da = scipy.linalg.cho_solve(factor, -residual + first - second, check_finite=False)
            dlow, dhigh = first - low / a * da, second + high / (C - a) * da
            step = min(_longest(a, da), _longest(C - a, -da), _longest(low, dlow), _longest(high, dhigh))
            if not corrected:
                after = (low + step * dlow) @ (a + step * da) + (high + step * dhigh) @ (C - a - step * da)
                barrier = (after / gap) ** 3 * gap / (2 * n)
        step *= 0.995
        a, low, high = a + step * da, low + step * dlow, high + step * dhigh
    return a, most


def _longest(x: np.ndarray, change: np.ndarray) -> float:
    """The longest step up to 1 that leaves x + step · change positive."""
    falling = change < 0
    return min(1.0, float(np.min(x[falling] / -change[falling]))) if falling.any() else 1.0
