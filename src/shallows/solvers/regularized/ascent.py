"""The inner loop of dual coordinate ascent, compiled for the CPU and as one launch on a GPU."""

import math
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...gpu import cuda
from ...utils.compilation import njit

SQUARE, HINGE, SQUARED_HINGE, EPSILON_INSENSITIVE, HUBER, QUANTILE, LOGISTIC = range(7)
"""Numbers of the losses, which ``ascent.cu`` uses as well."""

OF_SIGNS = (HINGE, SQUARED_HINGE, LOGISTIC)  # losses with the targets −1 and 1
THREADS = 256  # of a block on a GPU


@njit(cache=True, nogil=True, error_model="numpy")
def best(loss: int, parameter: float, v: float, q: float, y: float) -> float:
    """The a that solves a = −ℓ'(v + q a), for q > 0.

    v is the score of the example without its own part, and q is k(x, x)/(λn). The parameter is ε, δ or τ of the loss.
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
    """The p that solves p = 1/(1 + e^{m + qp}), by Newton's method on the log-odds within a bracket.

    For large q the root is small: log p + qp = −m, whose solution is close to (z − log z)/q with z = log q − m.
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
    """The dual variables of a batch after each was set to its best value in turn, float64, shape (m, c).

    ``scores`` (m, c) are f on the batch, ``products`` (m, m) within it, and ``scale`` is 1/(λn). For the loss wℓ, a/w
    is the variable of ℓ with q w instead of q.
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
                # Scores of earlier examples are not used again.
                for j in range(i + 1, m):
                    f[j] += products[i, j] * scale * change
    return after


def change_of(
    loss: int,
    parameter: float,
    scores: Array,
    products: Array,
    scale: float,
    dual: Array,
    targets: Array,
    weights: Array | None,
) -> Array | None:
    """The same on a GPU, if it works: overwrites ``dual`` and returns the change of f's coefficients."""
    dtype = str(dual.dtype)
    if not cuda.is_enabled(dual) or dtype not in ("float32", "float64") or not dual.shape[0]:
        return None
    function = _function(loss, parameter, dtype, dual)
    if function is None:
        return None
    weights = arrays.namespace(dual).ones(dual.shape[0], dtype=dual.dtype) if weights is None else weights
    return _launch(function, parameter, scale, dual, scores, products, targets, weights)


def _launch(function: Any, parameter: float, scale: float, dual: Array, *inputs: Array) -> Array:
    xp = arrays.namespace(dual)
    m, c = dual.shape
    given = [arrays.contiguous(arrays.astype(part, dual.dtype)) for part in inputs]
    change, work = xp.empty((m, c), dtype=dual.dtype), xp.empty((c, m), dtype=xp.float64)
    numbers = [np.int64(m), np.int64(c), np.float64(scale), np.float64(parameter)]
    function((c, 1, 1), (THREADS, 1, 1), (*given, dual, change, work, *numbers))
    return change


def _function(loss: int, parameter: float, dtype: str, like: Array) -> Any:
    """The compiled kernel, after it agreed with `ascend` on a small example."""

    def make() -> Any:
        source = f"#define REAL {cuda.real(dtype)}\n#define LOSS {loss}\n{_text()}"
        kernel = cuda.compiled(arrays.namespace(like), source, "dual_ascent")
        rng = np.random.default_rng(0)
        m, c, scale = THREADS + 44, 3, 0.3
        z, scores, targets = rng.standard_normal((m, 5)), rng.standard_normal((m, c)), rng.standard_normal((m, c))
        targets = targets if loss not in OF_SIGNS else np.where(targets > 0, 1.0, -1.0)
        example = [part.astype(dtype) for part in (scores, z @ z.T, targets, rng.uniform(0.5, 1.5, m))]
        dual = arrays.like(np.zeros((m, c), dtype=dtype), like)
        change = _launch(kernel, parameter, scale, dual, *(arrays.like(part, like) for part in example))
        scores, products, targets, weights = example
        expected = ascend(loss, parameter, scores, products, scale, np.zeros((m, c)), targets, weights)
        found = [arrays.to_numpy(dual), arrays.to_numpy(change) / scale]
        error = float(np.max([np.abs(part - expected).max() for part in found]) / np.abs(expected).max())
        # Rounding of one row is carried into every later row.
        if not error < 1024 * np.finfo(dtype).eps:
            raise ArithmeticError(f"dual variables are off by {error:.1e}")
        return kernel

    return cuda.first_use(("dual ascent", loss, dtype), make, like)


@cache
def _text() -> str:
    return resources.files(__package__).joinpath("ascent.cu").read_text(encoding="utf-8")
