"""Scores of a model of kernel functions or of explicit features, for any number of new points."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays, gram
from ..arrays import Array, Device
from ..features import Blocks
from ..kernels import Kernel
from . import precomputed
from .centring import Centring


def kernel_scores(
    kernel: Kernel,
    centring: Centring,
    X: Any,
    points: Array,
    coefficients: Array,
    device: Device,
    *,
    budget: int,
    fitting: bool = False,
    kept: Any = None,
) -> np.ndarray:
    """Σⱼ αⱼ k(x, xⱼ) for checked points, shape (m, c), on the host.

    Of a precomputed kernel X has the values with all training points, or while ``fitting`` the numbers of rows. The
    ``points`` are augmented and on the device, as are the coefficients; the blocks of kernel values of a product may
    take ``budget`` bytes, and a `CachedKernelValues` keeps them.
    """
    if precomputed.are_kernel_values(kernel, X, fitting=fitting):
        return precomputed.scores(X, points, coefficients, device)
    out = np.empty((X.shape[0], coefficients.shape[1]), dtype=np.dtype(str(points.dtype)))
    with device.active(), np.errstate(over="ignore", invalid="ignore"):
        for rows, x, extra in centring.new_points(X, device, out.dtype):
            blocks = None if kept is None else kept.blocks.setdefault(rows.start, {})
            made = gram.cross_product(kernel, x, points, coefficients, budget=budget, extra=extra, kept=blocks)
            out[rows] = arrays.to_numpy(made)
    return out


def feature_scores(
    blocks: Blocks, centring: Centring, X: Any, coefficients: Array, device: Device, *, budget: int
) -> np.ndarray:
    """φ(x)ᵀA for checked points, shape (m, c), on the host.

    Parameters
    ----------
    blocks : Blocks
        φ, with what it holds on the device.
    centring : Centring
    X : array or CSR matrix, shape (m, d)
    coefficients : array, shape (n_features, c)
        A, on the device.
    device : Device
    budget : int
        Bytes that the features of the points of a product may take.
    """
    out = np.empty((X.shape[0], coefficients.shape[1]), dtype=np.dtype(str(coefficients.dtype)))
    widest = max(span.stop - span.start for span in blocks.spans)
    at_a_time = max(1, budget // (widest * out.itemsize))
    with device.active(), np.errstate(over="ignore", invalid="ignore"):
        for rows, x, _ in centring.new_points(X, device, out.dtype):
            for some in arrays.blocks(x.shape[0], at_a_time):
                here = slice(rows.start + some.start, rows.start + some.stop)
                out[here] = arrays.to_numpy(blocks.dot(x[some, :], coefficients))
    return out
