"""The kernel of ``kernel="auto"``: Gaussian, unless another has a smaller leave-one-out error by more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from .. import kernels, streams
from ..kernels import Kernel
from ..kernels.products import LaplaceProduct
from ..kernels.radial import ExponentialPower, Gaussian, Laplace
from ..models.learned_metric import LearnedMetric
from ..spectrum.kernel_ridge_choice import join_copies
from ..spectrum.leave_one_out import leave_out_by_factor
from .metric import choose_in
from .rows import TrainingSet

CANDIDATES: tuple[Kernel, ...] = (
    Laplace(),
    *(ExponentialPower(exponent=exponent) for exponent in (0.7, 1.4)),
    LaplaceProduct(),
)
"""Kernels that are compared with the Gaussian kernel. Exponents between 0.7 and 2 are smoother the larger they are."""

CHOOSING, ROWS = 500, 2000
"""Rows that choose the bandwidth of each candidate and the best of them, and rows on which it is compared with the
Gaussian kernel. With 600 rows of Covertype the Gaussian kernel seems to be the best, and 16,000 rows have an error of
16 % instead of 14 %, so the best of the others is compared also if few rows prefer the Gaussian kernel."""

HOPELESS = 1.2
"""The best of the others is not compared if its error with few rows is this multiple of the Gaussian kernel's."""

LESS = 10.0**-0.5
"""With more rows, half of the bandwidth and this multiple of λ are tried too."""

CHANCE, LEAST_GAIN = 2.0, 0.01
"""Another kernel must lower the error by more than CHANCE standard errors, and by more than this share."""


def choose_kernel_form(rows: TrainingSet, codes: np.ndarray, seed: int, *, of_distance: bool) -> Kernel:
    """The kernel with the least leave-one-out error, without parameters; the Gaussian kernel for sparse or few rows.

    ``of_distance``: only kernels of the Euclidean distance, of which a metric can be learned.
    """
    gaussian = Gaussian()
    if scipy.sparse.issparse(rows.X):
        return gaussian
    order = streams.permutation(seed, "rows to choose a kernel with", 0, len(codes))[:ROWS]
    x = np.asarray(rows.X[order], dtype=np.float64)
    weights = None if rows.weights is None else rows.weights[order] / rows.weights.max()
    y = codes[order] - np.average(codes[order], axis=0, weights=weights)
    few = x[:CHOOSING], y[:CHOOSING], None if weights is None else weights[:CHOOSING]
    compared = [gaussian, *(one for one in CANDIDATES if one.of_distance or not of_distance)]
    identity = LearnedMetric(np.ones(x.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        choices = [choose_in(identity, kernel, *few, seed) for kernel in compared]
        errors = [np.inf if choice is None else choice.error for choice in choices]
        best = 1 + int(np.argmin(errors[1:]))
        of_few, of_best = choices[0], choices[best]
        if of_few is None or of_best is None or errors[best] > HOPELESS * errors[0]:
            return gaussian
        before, after = (_squares(compared[k], choices[k], x, y, weights) for k in (0, best))
    gain = before - after
    by_chance = CHANCE * gain.std() / np.sqrt(len(gain))
    return compared[best] if gain.mean() > max(by_chance, LEAST_GAIN * before.mean()) else gaussian


def _squares(kernel: Kernel, choice: Any, x: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The squared leave-one-out residuals of distinct rows, near the bandwidth and λ that fewer rows chose."""
    joined = join_copies(x, y, weights)
    points = kernels.augmented(x[joined.first] - x.mean(axis=0))
    width, ridge = choice.bandwidth, choice.regularization

    def squares(width: float, ridges: Sequence[float]) -> list[np.ndarray]:
        matrix = np.asarray(kernels.matrix(kernel.with_bandwidth(width), points))
        return [leave_out_by_factor(matrix, joined.targets, joined.weights, ridge) for ridge in ridges]

    tried = [*squares(width, [ridge]), *squares(width / 2, [ridge, LESS * ridge])]
    if tried[0].mean() <= min(each.mean() for each in tried[1:]):
        tried += squares(width, [LESS * ridge])
    return min(tried, key=lambda each: float(each.mean()))
