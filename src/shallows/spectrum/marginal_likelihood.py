"""The marginal likelihood of Gaussian process regression, and the bandwidth and variances where it is largest.

Targets of a column are N(0, s (K + ρI)) with the signal variance s and the noise variance ρs. A column's likelihood
follows from the square yᵀ(K + ρI)⁻¹y and from log |K + ρI|, and in s it has its largest value at the square over n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.optimize

from .. import arrays

FACTORS = 2.0 ** np.arange(-5.0, 5.01)
"""Multiples of the median distance at which the search starts; likelihoods have several maxima."""

RATIOS = 10.0 ** np.arange(-8.0, 4.01, 0.25)
"""Noise over signal variances at which the search starts. With the largest, f is nearly the mean of the targets."""

CHANCE, FLAT = 1.0, 0.1
"""A wider kernel, and more noise, are preferred if the log-likelihood is lower by at most these numbers. A kernel
that is narrower than all distances explains noise as well as the noise variance does."""


class MarginalChoice(NamedTuple):
    """A bandwidth (None if there was none to choose) and ρ, with the logarithm of their likelihood."""

    log_likelihood: float
    ratio: float
    bandwidth: float | None


def signal_variances(
    squares: np.ndarray, n: int, ratio: float, signal: float | None = None, noise: float | None = None
) -> np.ndarray:
    """The s of each column: as given, from ρ and the given noise variance, or with the largest likelihood."""
    if signal is not None:
        return np.full(len(squares), float(signal))
    if noise is not None:
        return np.full(len(squares), noise / ratio)
    return np.maximum(squares / n, np.finfo(np.float64).tiny)


def log_likelihood(squares: np.ndarray, log_determinant: float, n: int, signals: np.ndarray) -> float:
    """The logarithms of N(y; 0, s (K + ρI)), summed over the columns."""
    return -0.5 * float(np.sum(n * np.log(2.0 * math.pi * signals) + squares / signals + log_determinant))


def choose(
    matrix_of: Callable[[float | None], np.ndarray],
    targets: np.ndarray,
    *,
    median: float | None = None,
    signal: float | None = None,
    noise: float | None = None,
    weights: np.ndarray | None = None,
) -> MarginalChoice:
    """The bandwidth and ρ of the largest likelihood.

    ``matrix_of`` returns the kernel matrix, shape (m, m), float64, of a bandwidth, or of None for a kernel without
    one, which has no ``median`` distance. ``targets`` (m, c) are centered. ``signal`` and ``noise`` are s and ρs if
    they are given. The noise variance of a row is divided by its weight.

    References
    ----------
    C. Rasmussen and C. Williams (2006), "Gaussian processes for machine learning", MIT Press, section 5.4.1.
    """
    root = np.ones((len(targets), 1)) if weights is None else np.sqrt(weights)[:, None]
    constant = -2.0 * float(np.log(root).sum())
    found: dict[float | None, tuple[float, float]] = {}

    def at(width: float | None) -> tuple[float, float]:
        if width not in found:
            with arrays.one_blas_thread():
                values, vectors = np.linalg.eigh(matrix_of(width) * root * root.T)
            turned = (vectors.T @ (root * targets)) ** 2
            found[width] = _best_ratio(np.maximum(values, 0.0), turned, constant, signal, noise)
        return found[width]

    best = None
    if median is not None:
        widths = median * FACTORS
        heights = np.array([at(width)[0] for width in widths])
        k = int(np.flatnonzero(heights >= heights.max() - CHANCE)[-1])
        between = np.log(widths[[max(k - 1, 0), min(k + 1, len(widths) - 1)]])
        within = {"bounds": tuple(between), "method": "bounded", "options": {"xatol": 0.1}}
        refined = scipy.optimize.minimize_scalar(lambda width: -at(math.exp(width))[0], **within).x
        best = max((float(widths[k]), math.exp(refined)), key=lambda width: at(width)[0])
    return MarginalChoice(*at(best), best)


def _best_ratio(
    values: np.ndarray, turned: np.ndarray, constant: float, signal: float | None, noise: float | None
) -> tuple[float, float]:
    """The largest log-likelihood and its ρ, from the eigenvalues and the squares along the eigenvectors, (m, c)."""

    def height(ratio: float) -> float:
        shifted = values + ratio
        squares = (turned / shifted[:, None]).sum(axis=0)
        signals = signal_variances(squares, len(values), ratio, signal, noise)
        return log_likelihood(squares, float(np.log(shifted).sum()) + constant, len(values), signals)

    if signal is not None and noise is not None:
        return height(noise / signal), noise / signal
    heights = np.array([height(ratio) for ratio in RATIOS])
    k = int(np.flatnonzero(heights >= heights.max() - FLAT)[-1])
    between = np.log(RATIOS[[max(k - 1, 0), min(k + 1, len(RATIOS) - 1)]])
    found = scipy.optimize.minimize_scalar(lambda t: -height(math.exp(t)), bounds=tuple(between), method="bounded").x
    return max((heights[k], float(RATIOS[k])), (height(math.exp(found)), math.exp(found)))
