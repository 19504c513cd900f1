"""The fit of Gaussian process regression on features: Bayesian linear regression, in one pass over the data."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse

from .. import arrays, kernels, streams
from ..errors import ShallowsError
from ..models.centering import check_scale, refuse_wide
from ..models.functions import FeatureGaussianProcess, TransformedFunction, left_of_the_kernel
from ..solvers.least_squares.normal_equations import sums_of_features
from ..spectrum import marginal_likelihood
from ..spectrum.kernel_ridge_choice import is_automatic
from .feature_blocks import blocks_of_rows, check_finite, check_room_of_system
from .feature_choice import with_bandwidth
from .fit_call import FitCall
from .machine import Phases
from .rows import TrainingSet
from .square_targets import SquareValueTargets

ROWS_TO_CHOOSE_WITH = 1000
"""Rows of the exact marginal likelihood. A bandwidth needs an eigendecomposition, which takes a third of a second."""

MOST_LEFT, MOST_TIMES = 10.0, 1000.0
"""The noise is chosen again with all rows if it is at least the first number times the kernel's variance that the
features miss. It changes by at most the second factor."""


@dataclass(frozen=True)
class FittedGaussianProcess:
    """The result of a fit of a Gaussian process on features."""

    model: FeatureGaussianProcess
    targets: SquareValueTargets
    log_likelihood: float  # Of all rows, summed over the outputs
    report: dict[str, Any]  # The entries of ``report_``
    seconds: dict[str, float]  # Of each phase


class Variances(NamedTuple):
    """The variances of f and of the noise that the user gave; None if they are chosen."""

    signal: float | None
    noise: float | None


class RowSums(NamedTuple):
    """Sums over all rows, each divided by its variance: HᵀH, HᵀT, Σ t² and Σ log of the variances.

    ``share``: the kernel's variance that the features miss, divided by the noise, in the mean over the rows.
    """

    gram: np.ndarray
    moments: np.ndarray
    squares: np.ndarray
    logarithms: float
    share: float
    n: int


class Posterior(NamedTuple):
    """Log-likelihood, factor of the inverse covariance A of β, L⁻¹HᵀV⁻¹y, and s."""

    log_likelihood: float
    factor: np.ndarray
    solved: np.ndarray
    signal_variance: np.ndarray


def fit_feature_gaussian_process(
    rows: TrainingSet, *, transformer: Any, variances: Variances, call: FitCall
) -> FittedGaussianProcess:
    """Fit to checked rows; ``transformer`` is unfitted, and has the kernel, the bandwidth and the seed."""
    phases, n, seed = Phases(), len(rows.rows), call.seed
    y = rows.y.astype(np.float64).reshape(n, -1)
    targets = SquareValueTargets(rows.y.ndim == 1, np.average(y, axis=0, weights=rows.weights), np.ones(y.shape[1]))
    codes = targets.encode(rows.y)
    refuse_wide(rows.X)
    some = streams.permutation(seed, "rows to choose with", 0, n)[:ROWS_TO_CHOOSE_WITH]
    points = rows.X[some].toarray() if scipy.sparse.issparse(rows.X) else np.asarray(rows.X[some])
    with np.errstate(over="ignore", invalid="ignore"):
        points = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
        augmented, finite = kernels.augmented(points), np.isfinite(np.vdot(codes, codes))
    check_scale(augmented, points.dtype, may_vanish=True)
    if not finite:
        raise ShallowsError("The targets are too large: their squares overflow in float64. Scale y.")
    kernel, median, all_equal = transformer._make_kernel(), None, not points.any()
    if kernel.is_open and not all_equal:
        median = kernels.median_bandwidth(points, seed, kernel=kernel)
        kernel = kernel.with_bandwidth(median)
    searches = median is not None and is_automatic(transformer.bandwidth)

    def matrix_of(tried: float | None) -> np.ndarray:
        if all_equal:
            return np.ones((len(points), len(points)))
        return np.asarray(kernels.matrix(kernel.with_bandwidth(tried), augmented))

    weights = None if rows.weights is None else rows.weights[some]
    choice = marginal_likelihood.choose(
        matrix_of, codes[some], median=median if searches else None, weights=weights, **variances._asdict()
    )
    width = choice.bandwidth if searches else median
    transformer = (transformer if width is None else with_bandwidth(transformer, width)).fit(rows.X)
    phases.end("features")

    check_room_of_system(transformer._n_features_out, "features", call.options.budget(arrays.Device("cpu")))
    # In units of s, βᵀh(x) has the prior β ~ N(0, I), and these are the variances of the noise of the rows.
    noise = np.full(n, choice.ratio)
    if rows.weights is not None:
        largest = float(rows.weights.max())
        noise = choice.ratio / largest / np.sqrt(rows.weights / largest) ** 2
    sums = sums_of_rows(transformer, rows.X, codes, noise)
    times = noise_factor(sums, choice.ratio, variances)
    found, ratio = posterior(sums, times, choice.ratio, variances), choice.ratio * times
    coefficients = scipy.linalg.solve_triangular(found.factor, found.solved, lower=True, trans="T")
    check_finite(coefficients)
    phases.end("training")
    report = {
        **transformer.report_,
        "ridge": ratio,
        "selection": {
            "chosen_by": "marginal likelihood",
            "rows": min(n, ROWS_TO_CHOOSE_WITH),
            "log_likelihood": float(choice.log_likelihood),
        },
    }
    mean = TransformedFunction(transformer, np.ascontiguousarray(coefficients.T))
    model = FeatureGaussianProcess(mean, found.factor, ratio, found.signal_variance)
    return FittedGaussianProcess(model, targets, found.log_likelihood, report, phases.seconds)


def sums_of_rows(transformer: Any, X: Any, codes: np.ndarray, noise: np.ndarray) -> RowSums:
    """The sums over all rows; ``noise`` has their variances in units of s."""
    n, squares, logarithms, share = X.shape[0], np.zeros(codes.shape[1]), 0.0, 0.0

    def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        nonlocal squares, logarithms, share
        for H, T in blocks_of_rows(transformer, X, np.column_stack([codes, noise])):
            missed, of_row = left_of_the_kernel(H), T[:, -1]
            share += float(np.sum(missed / of_row)) / n
            factor = 1.0 / np.sqrt(missed + of_row)[:, None]
            T = factor * T[:, :-1]
            squares, logarithms = squares + (T * T).sum(axis=0), logarithms - 2.0 * float(np.log(factor).sum())
            yield (factor * H).astype(H.dtype, copy=False), T

    gram, moments = sums_of_features(blocks(), 1.0)
    return RowSums(gram, moments, squares, logarithms, share, n)


def posterior(sums: RowSums, times: float, ratio: float, variances: Variances) -> Posterior:
    """The posterior of β if the variances of all rows are multiplied by ``times``."""
    matrix = sums.gram / times
    matrix[np.diag_indices(len(matrix))] += 1.0
    factor = scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True)
    solved = scipy.linalg.solve_triangular(factor, sums.moments / times, lower=True)
    rest = np.maximum(sums.squares / times - (solved**2).sum(axis=0), 0.0)
    determinant = 2.0 * float(np.log(np.diag(factor)).sum()) + sums.logarithms + sums.n * math.log(times)
    s = marginal_likelihood.signal_variances(rest, sums.n, ratio * times, **variances._asdict())
    return Posterior(marginal_likelihood.log_likelihood(rest, determinant, sums.n, s), factor, solved, s)


def noise_factor(sums: RowSums, ratio: float, variances: Variances) -> float:
    """The factor of the variances of the rows with the largest likelihood of all rows.

    It is 1 if the features miss a relevant part of the kernel; only otherwise the variances of the rows are just noise.
    """
    least = max(MOST_LEFT * sums.share, 1.0 / MOST_TIMES)
    if least >= 1.0 or None not in variances:
        return 1.0
    found = scipy.optimize.minimize_scalar(
        lambda t: -posterior(sums, math.exp(t), ratio, variances).log_likelihood,
        bounds=(math.log(least), math.log(MOST_TIMES)),
        method="bounded",
        options={"xatol": 0.05},
    )
    return math.exp(found.x)
