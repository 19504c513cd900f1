"""A metric of the inputs that the training rows choose: columns that the function does not depend on get small weights.

The metric is M = n⁻¹ Σᵢ ∇f(xᵢ) ∇f(xᵢ)ᵀ, summed over the outputs of a function f that was fitted to the rows, or its
diagonal. A new function of M^½ x is fitted, and so on a few times: the recursive feature machine of A. Radhakrishnan,
D. Beaglehole, P. Pandit and M. Belkin (2024), "Mechanism for feature learning in neural networks and
backpropagation-free machine learning models", Science 383.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from .. import kernels, streams
from ..arrays.user_arrays import column_spreads, largest_unit
from ..errors import ShallowsError
from ..kernels import Kernel
from ..kernels.gradients import check_gradients, gradients
from ..models.centering import check_scale
from ..models.learned_metric import LearnedMetric
from ..spectrum.kernel_ridge_choice import join_copies
from ..spectrum.leave_one_out import RidgeChoice, choose_ridge
from ..utils.checks import is_whole, warn_user
from ..utils.plain_numbers import takes_numpy_integers
from .narrower_bandwidth import fit_to_centers
from .rows import TrainingSet

FORMS = ("auto", "diagonal", "full")

FEWEST_ROWS = 50
"""With fewer rows no metric is learned."""

MOST_CENTERS = 2500
"""Centers of the functions whose gradients are taken; with fewer rows all of them."""

CHOOSING = 600
"""The most rows that choose bandwidth and λ of the functions whose gradients are taken."""

HALF, JUDGES = 2000, 500
"""The most rows of a half from which "auto" learns a metric, and the most rows of the other half that judge it."""

CHANCE, LEAST_GAIN = 2.0, 0.01
"""A metric must lower the leave-one-out error by more than CHANCE standard errors, and by more than this share."""

WIDEST = 2000
"""The most columns of a full metric, whose matrix is decomposed."""


@takes_numpy_integers
@dataclass(frozen=True)
class Metric:
    """How a metric of the inputs is learned; `KernelRidgeClassifier` has it as ``metric``.

    Parameters
    ----------
    form : {"diagonal", "full", "auto"}
        One weight for each column, or a matrix. "auto": a diagonal, only if it lowers the error of other rows.
    n_refits : int
        How often a function is fitted and its gradients give the next metric.
    n_rows : int
        The most rows that each of these functions is fitted to.
    n_gradients : int
        The most rows at which gradients are taken.

    References
    ----------
    A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin (2024), "Mechanism for feature learning in neural networks
    and backpropagation-free machine learning models", Science 383.
    """

    form: str = "diagonal"
    n_refits: int = 3
    n_rows: int = 20_000
    n_gradients: int = 1_500

    @classmethod
    def of(cls, value: Any) -> Metric | None:
        """The object of a parameter that is a form, None or an object."""
        if value is None:
            return None
        found = cls(value) if isinstance(value, str) else value
        if not isinstance(found, cls) or not (isinstance(found.form, str) and found.form in FORMS):
            raise ShallowsError(f"metric must be 'auto', 'diagonal', 'full', None or Metric(...), got {value!r}.")
        for name in ("n_refits", "n_rows", "n_gradients"):
            if not is_whole(getattr(found, name)):
                raise ShallowsError(
                    f"{name} of the metric must be a whole number of at least 1, got {getattr(found, name)!r}."
                )
        return found


def check_metric(metric: Metric | None, kernel: Kernel | None, n_components: Any) -> None:
    """Raise a `ShallowsError` if a metric cannot be learned with a kernel, which features may not have."""
    if metric is None:
        return
    if kernel is None:
        raise ShallowsError(
            f"metric={metric.form!r} needs features of a kernel, such as 'fourier' or 'nystrom'. Set metric=None."
        )
    check_gradients(kernel)
    if is_whole(n_components):
        raise ShallowsError(
            f"metric={metric.form!r} weighs the columns of X, which n_components={n_components} replaces. Set "
            "metric=None or n_components='auto'."
        )


def learn_metric(
    wanted: Metric | None, kernel: Kernel, rows: TrainingSet, codes: np.ndarray, seed: int, budget: int
) -> LearnedMetric | None:
    """The metric of a fit, or None for the distances of the inputs; see `Metric`.

    ``codes`` (n, c) are the targets of the rows. ``budget``: bytes of the fit, of which half may be used. If a column
    is in a much larger unit than the others, the first function has standardized columns.
    """
    if wanted is None or rows.matrix is not None:
        return None
    check_gradients(kernel)
    (n, d), automatic = rows.X.shape, wanted.form == "auto"
    if scipy.sparse.issparse(rows.X):
        if automatic:
            return None
        raise ShallowsError(
            f"metric={wanted.form!r} needs dense rows, and X is sparse. Set metric=None, or pass X.toarray() if the "
            "memory is enough."
        )
    if wanted.form == "full" and d > WIDEST:
        raise ShallowsError(
            f"metric='full' takes at most {WIDEST:,} columns, and X has {d:,}. Use metric='diagonal', or fewer columns."
        )
    if n < FEWEST_ROWS or d == 1:
        if not automatic and d > 1:
            warn_user(f"No metric was learned: {n} rows are fewer than {FEWEST_ROWS}.", UserWarning)
        return None
    # In float64: the matrix of the rows with the centers and its strips, and the points with copies.
    most = max(FEWEST_ROWS, budget // 2 // (8 * (2 * MOST_CENTERS + 6 * d + 4 * codes.shape[1])))
    wanted = replace(wanted, n_rows=min(wanted.n_rows, most))
    order = streams.permutation(seed, "rows of the metric", 0, n)[: max(wanted.n_rows, min(2 * HALF, most))]
    x = np.asarray(rows.X[order], dtype=np.float64)
    weights = None if rows.weights is None else rows.weights[order] / rows.weights.max()
    y = codes[order] - np.average(codes[order], axis=0, weights=weights)
    spreads = np.ones(d) if largest_unit(rows.X) is None else column_spreads(rows.X)
    scales = np.divide(spreads[spreads > 0].min(), spreads, out=np.zeros(d), where=spreads > 0)
    first = LearnedMetric(np.diag(scales) if wanted.form == "full" else scales)
    with np.errstate(over="ignore", invalid="ignore"):
        if automatic and not lowers_error(first, kernel, x, y, weights, wanted, seed):
            return None
        metric, m = first, wanted.n_rows
        for _ in range(wanted.n_refits):
            following = refit(metric, kernel, x[:m], y[:m], None if weights is None else weights[:m], wanted, seed)
            if following is None:
                if not automatic:
                    warn_user(
                        "No metric was learned: the leave-one-out error of the rows is no smaller than that of a "
                        "constant, so their gradients are noise. All columns count the same.",
                        UserWarning,
                    )
                return None
            metric = following
    return metric


def refit(
    metric: LearnedMetric,
    kernel: Kernel,
    x: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    wanted: Metric,
    seed: int,
    choice: RidgeChoice | None = None,
) -> LearnedMetric | None:
    """The next metric, from the gradients of a function that is fitted in this one; None if the rows show nothing.

    ``x`` (n, d), centered targets ``y`` (n, c) and weights (n,) or None. ``choice``: bandwidth and λ of the function,
    if they are known.
    """
    few = slice(0, CHOOSING)
    choice = choice or choose_in(metric, kernel, x[few], y[few], None if weights is None else weights[few], seed)
    if choice is None or choice.is_uninformative:
        return None
    z = metric(x)[:]
    points = kernels.augmented(z - z.mean(axis=0))
    closed: Any = kernel.with_bandwidth(choice.bandwidth)
    columns = None if weights is None else weights[:, None]
    centers, coefficients = fit_to_centers(closed, points, y, columns, min(len(x), MOST_CENTERS), choice.regularization)
    slopes = gradients(closed, points[: wanted.n_gradients], centers, coefficients)
    if columns is not None:
        slopes *= np.sqrt(columns[: wanted.n_gradients, :, None])
    if metric.root.ndim == 1:
        product = np.einsum("mcd,mcd->d", slopes, slopes)
    else:
        slopes = slopes.reshape(-1, x.shape[1])
        product = slopes.T @ slopes
    # The scale of the mean does not matter.
    return metric.after(product) if np.isfinite(product).all() and product.any() else None


def lowers_error(
    first: LearnedMetric,
    kernel: Kernel,
    x: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    wanted: Metric,
    seed: int,
) -> bool:
    """Whether a metric that half of the rows learns lowers the leave-one-out error of the others by more than chance.

    Each half learns and judges, and the error of both must fall. Leave-one-out errors of the rows that a metric was
    learned on are too small: they would choose a metric on most data.
    """
    half = min(HALF, len(x) // 2)
    halves, gains, before = (slice(0, half), slice(half, 2 * half)), [], []
    judges = [slice(span.start, min(span.start + JUDGES, span.stop)) for span in halves]
    rows_of = lambda span: (x[span], y[span], None if weights is None else weights[span])  # noqa: E731
    of_first = [choose_in(first, kernel, *rows_of(span), seed) for span in judges]
    for own, other in ((0, 1), (1, 0)):
        metric, reference = refit(first, kernel, *rows_of(halves[own]), wanted, seed, of_first[own]), of_first[other]
        of_metric = None if metric is None else choose_in(metric, kernel, *rows_of(judges[other]), seed)
        if reference is None or of_metric is None:
            return False
        squares = reference.path.squares(reference.regularization)
        before.append(squares)
        gains.append(squares - of_metric.path.squares(of_metric.regularization))
        if gains[-1].mean() <= 0.0:
            return False
    gain = np.concatenate(gains)
    by_chance = CHANCE * gain.std() / np.sqrt(len(gain))
    return bool(gain.mean() > max(by_chance, LEAST_GAIN * np.concatenate(before).mean()))


def choose_in(
    metric: LearnedMetric, kernel: Kernel, x: np.ndarray, y: np.ndarray, weights: np.ndarray | None, seed: int
) -> RidgeChoice | None:
    """Bandwidth and λ with the least leave-one-out error on these rows in a metric; None for too few rows."""
    joined = join_copies(x, y, weights)
    if len(joined.first) < 3 or not joined.targets.any():
        return None
    z = metric(x)[joined.first]
    points = kernels.augmented(z - z.mean(axis=0))
    check_scale(points, z.dtype, may_vanish=True)
    median = kernels.median_bandwidth(points[:, :-2], seed, kernel=kernel) if kernel.is_open else None
    matrix_of = lambda width: np.asarray(kernels.matrix(kernel.with_bandwidth(width), points))  # noqa: E731
    return choose_ridge(matrix_of, joined.targets, median=median, weights=joined.weights)
