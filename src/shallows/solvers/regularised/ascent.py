"""The inner loop of dual coordinate ascent, compiled: the variables of a batch, one after the other."""

from __future__ import annotations

import math

import numpy as np

from ...utils.compilation import njit

SQUARE, HINGE, SQUARED_HINGE, EPSILON_INSENSITIVE, HUBER, QUANTILE, LOGISTIC = range(7)
"""The losses, by the numbers that ``ascent.cu`` knows them by as well."""

OF_SIGNS = (HINGE, SQUARED_HINGE, LOGISTIC)  # those whose targets are −1 and 1


@njit(cache=True, nogil=True, error_model="numpy")
def best(loss: int, parameter: float, v: float, q: float, y: float) -> float:
    """The a that solves a = −ℓ'(v + q a), for q > 0.

    v is the score of the example without its own part, q is k(x, x)/(λn), and the parameter ε, δ or τ of the loss that
    has one.
    """
    if loss == SQUARE:
        return (y - v) / (1.0 + q)
    if loss == HINGE:
        p = (1.0 - y * v) / q
        return 0.0 if p <= 0.0 else y if p >= 1.0 else y * p
    if loss == SQUARED_HINGE:
        return y * max(0.0, (1.0 - y * v) / (1.0 + q))
    if loss == EPSILON_INSENSITIVE:
        r = y - v
        size = abs(r) - parameter
        return 0.0 if size <= 0.0 else math.copysign(min(1.0, size / q), r)
    if loss == HUBER:
        return max(-parameter, min(parameter, (y - v) / (1.0 + q)))
    if loss == QUANTILE:
        return max(parameter - 1.0, min(parameter, (y - v) / q))
    return y * _best_probability(y * v, q)


@njit(cache=True, nogil=True, error_model="numpy")
def _best_probability(m: float, q: float) -> float:
    """The p that solves p = 1/(1 + e^{m + qp}), whose two sides cross once on (0, 1).

    Newton's steps on the log-odds, log(p/(1 − p)) + m + qp = 0, kept within the bracket. For large q the root is small:
    log p + qp = −m, whose solution is close to (z − log z)/q with z = log q − m.
    """
    low, high = 0.0, 1.0
    p = 1.0 / (1.0 + math.exp(min(700.0, max(-700.0, m + 0.5 * q))))
    z = math.log(q) - m
    small = (z - math.log(z)) / q if z > 1.0 else math.exp(-m)
    if small < 0.5:
        p = small
    for _ in range(60):
        p = min(1.0 - 1e-16, max(1e-300, p))
        gap = math.log(p) - math.log1p(-p) + m + q * p
        if gap > 0:
            high = p
        else:
            low = p
        next_p = p - gap / (1.0 / (p * (1.0 - p)) + q)
        if not low < next_p < high:
            next_p = 0.5 * (low + high)
        if abs(next_p - p) <= 1e-14 * p:
            break
        p = next_p
    return p


@njit(cache=True, nogil=True, error_model="numpy")
def ascend(
    loss: int,
    parameter: float,
    scores: np.ndarray,
    products: np.ndarray,
    scale: float,
    a: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Dual variables after each of a batch was set to its best value in turn, in float64.

    f on the batch and dual variables have the shape (m, c), products within it (m, m); the scale is 1/(λn). With the
    loss wℓ, a/w is the variable of ℓ with q w in place of q.
    """
    m, c = scores.shape
    after, f = np.empty((m, c)), np.empty(m)
    for k in range(c):
        for j in range(m):
            f[j] = scores[j, k]
        for i in range(m):
            q, here, w = max(products[i, i] * scale, 1e-300), np.float64(a[i, k]), np.float64(weights[i])
            value = w * best(loss, parameter, f[i] - q * here, q * w, np.float64(targets[i, k]))
            after[i, k] = value
            change = value - here
            if change != 0.0:
                # Scores of the examples before this one are not asked for again.
                for j in range(i + 1, m):
                    f[j] += products[i, j] * scale * change
    return after
