"""The inner loop of dual coordinate ascent on a GPU: one launch a batch, and nothing goes to the host."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...gpu import cuda
from . import ascent

THREADS = 256


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
    """Set the dual variables of a batch to their best values in turn, or give None where the kernel cannot be had.

    Arguments are those of `ascent.ascend`, on a GPU; weights that are None are ones. ``dual``, in one piece row by row,
    is overwritten; what the coefficients of f change by is returned.
    """
    dtype = str(dual.dtype)
    if not cuda.wanted(dual) or dtype not in ("float32", "float64") or not dual.shape[0]:
        return None
    function = _function(loss, parameter, dtype, dual)
    if function is None:
        return None
    weights = arrays.namespace(dual).ones(dual.shape[0], dtype=dual.dtype) if weights is None else weights
    return _launch(function, parameter, scale, dual, scores, products, targets, weights)


def _launch(function: Any, parameter: float, scale: float, dual: Array, *given: Array) -> Array:
    """`change_of` with the compiled kernel; given are scores, products, targets and weights."""
    xp = arrays.namespace(dual)
    m, c = dual.shape
    given = [arrays.contiguous(arrays.astype(part, dual.dtype)) for part in given]
    change, work = xp.empty((m, c), dtype=dual.dtype), xp.empty((c, m), dtype=xp.float64)
    numbers = [np.int64(m), np.int64(c), np.float64(scale), np.float64(parameter)]
    function((c, 1, 1), (THREADS, 1, 1), (*given, dual, change, work, *numbers))
    return change


def _function(loss: int, parameter: float, dtype: str, like: Array) -> Any:
    """The compiled kernel, once it has given on a small example what the loop on the host gives."""

    def make() -> Any:
        source = f"#define REAL {cuda.real(dtype)}\n#define LOSS {loss}\n{_text()}"
        made = cuda.compiled(arrays.namespace(like), source, "dual_ascent")
        rng = np.random.default_rng(0)
        m, c, scale = THREADS + 44, 3, 0.3
        z, scores, targets = rng.standard_normal((m, 5)), rng.standard_normal((m, c)), rng.standard_normal((m, c))
        targets = targets if loss not in ascent.OF_SIGNS else np.where(targets > 0, 1.0, -1.0)
        given = [part.astype(dtype) for part in (scores, z @ z.T, targets, rng.uniform(0.5, 1.5, m))]
        there = [arrays.like(part, like) for part in given]
        dual = arrays.like(np.zeros((m, c), dtype=dtype), like)
        change = arrays.to_numpy(_launch(made, parameter, scale, dual, *there))
        scores, products, targets, weights = given
        expected = ascent.ascend(loss, parameter, scores, products, scale, np.zeros((m, c)), targets, weights)
        found = [arrays.to_numpy(dual), change / scale]
        error = float(np.max([np.abs(part - expected).max() for part in found]) / np.abs(expected).max())
        # Rounding of one row is carried into every row after it.
        if not error < 1024 * np.finfo(dtype).eps:
            raise ArithmeticError(f"dual variables are off by {error:.1e}")
        return made

    return cuda.first_use(("dual ascent", loss, dtype), make, like)


@cache
def _text() -> str:
    return resources.files(__package__).joinpath("ascent.cu").read_text(encoding="utf-8")
