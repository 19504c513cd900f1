"""Sparse random features: random cosines that are kept if their weight is not zero, as a transformer."""

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import MultiTaskLasso
from sklearn.preprocessing import LabelBinarizer, StandardScaler
from sklearn.utils.validation import validate_data

from ... import arrays, features
from ...arrays.user_arrays import read_points, to_host
from ...errors import ShallowsError
from ...features.fourier import FourierMap
from ...features.given_units import GivenUnits
from ...fitting.machine import Options
from ...fitting.rows import refuse_missing_labels
from ...fitting.square_targets import unit_of_targets
from ...kernels import Kernel
from ...utils.checks import check_positive, check_whole, refuse_time_limit
from ..base import keeps_model_on_failure
from ..constructors import stores_parameters
from .base import STRIP_BYTES, FeatureMapTransformer

TOLERANCE, PASSES, LAST_PASSES = 1e-4, 50, 1000
"""Duality gap of a minimum, as a share of the explained variance; most passes of a step, and of the last step."""


class SparseRandomFeatures(FeatureMapTransformer):
    """Random Fourier features that the targets choose: fewer of them for the same error.

    Each step adds a block of random cosines cos(ωᵀx + b), minimizes half of the mean squared error plus λ Σⱼ ‖wⱼ‖ over
    the weights w of all features, and drops features with weight zero. With many steps this approaches the minimum over
    all frequencies of the kernel. With several outputs a feature is kept or dropped for all of them.

    For ridge regression on Adult and on digits (odd or even), one kept feature replaces two to four random features. On
    digits of ten classes it replaces fewer than two, and Nyström features are better.

    Attributes
    ----------
    bandwidth_ : float
    coef_ : ndarray, shape (n_outputs, n_features_out), for targets of mean 0 and variance 1
    feature_map_ : shallows.features.given_units.GivenUnits
    report_ : dict

    References
    ----------
    I. E.-H. Yen, T.-W. Lin, S.-D. Lin, P. Ravikumar and I. Dhillon (2014), "Sparse random features algorithm as
    coordinate descent in Hilbert space", NIPS 27.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows.kernel_approximation import SparseRandomFeatures
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(SparseRandomFeatures(n_iter=5, random_state=0), RidgeClassifier(alpha=0.1))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9)
    True
    """

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        regularization: float = 0.01,
        bandwidth: float | str = "auto",
        block_size: int = 200,
        n_iter: int = 15,
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Set the parameters.

        Parameters
        ----------
        kernel : str or Kernel, default="gaussian"
            "gaussian", "laplace", "cauchy", "matern", "laplace_product", "cauchy_product", or a shift-invariant object.
        regularization : float, default=0.01
            λ, for targets of variance 1 (one column for each of several classes). Larger values keep fewer features.
        bandwidth : float, "auto" or "median", default="auto"
            σ, in the units of X. "median": the median distance. "auto": an estimator's choice; alone, as "median".
        block_size : int, default=200
            Features that a step adds.
        n_iter : int, default=15
            Steps.
        random_state : int, RandomState or None, default=None
        options : shallows.Options, optional
            Device, memory and precision; dtype "auto" is the dtype of X. The result is a NumPy array.
        """

    @property
    def n_features(self) -> int:
        """The parameter that is checked as the number of features."""
        return self.block_size

    def _check_parameters(self) -> None:
        check_whole(self, "block_size", "n_iter")
        check_positive(self, "regularization")
        super()._check_parameters()
        refuse_time_limit(self, "set n_iter.")

    @keeps_model_on_failure
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the features.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
            Values, of a float type, or labels.

        Raises
        ------
        ValueError, ShallowsError
            NaN or infinity, a wrong parameter, a kernel without random frequencies, or no feature that is kept.
        """
        self._check_parameters()
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = to_host(y)
        refuse_missing_labels(y)
        _, y = validate_data(self, read_points(X), y, accept_sparse="csr", multi_output=True, ensure_min_samples=2)
        return self._fit(X, partial(self._select_features, _coded(y)))

    def _select_features(
        self, T: np.ndarray, X: Any, kernel: Kernel, seed: int, device: arrays.Device, budget: int
    ) -> features.FeatureMap:
        """Draw blocks of features and keep those with a weight for the coded targets T, shape (n, c)."""
        (n, d), R = X.shape, self.block_size
        drawn, like = FourierMap(kernel, d, R, seed, form="cosine", cache_bytes=0), np.empty(0, self._dtype)
        weights, offsets = np.empty((0, d), self._dtype), like
        gram, moments, W = np.empty((0, 0)), np.empty((0, T.shape[1])), np.empty((0, T.shape[1]))
        for step in range(self.n_iter):
            k = len(W)
            needed, remedy = 32 * (k + R) ** 2 + 8 * R * d, "Take smaller blocks or a larger regularization."
            arrays.check_room(f"Steps with block_size={R:,} and {k:,} kept features take", needed, budget, remedy)
            weights = np.concatenate([weights, drawn.frequencies(step, like)])
            offsets = np.concatenate([offsets, drawn.phases(step, like)])
            there = GivenUnits("cosine", weights, offsets).to(device)
            sums, right = np.zeros((R, k + R)), np.zeros((R, T.shape[1]))
            for rows, x, _ in self._centering.new_points(X, device, self._dtype):
                for some in arrays.blocks(x.shape[0], max(1, STRIP_BYTES // ((k + R) * self._dtype.itemsize))):
                    Z = arrays.to_numpy(there.map(x[some]))
                    sums += Z[:, k:].T @ Z
                    right += Z[:, k:].T @ T[rows.start + some.start : rows.start + some.stop]
            gram = np.concatenate([np.hstack([gram, sums[:, :k].T / n]), sums / n])
            moments = np.concatenate([moments, right / n])
            start, passes = np.concatenate([W, np.zeros_like(right)]), PASSES if step + 1 < self.n_iter else LAST_PASSES
            W = sparse_weights(gram, moments, self.regularization, start, passes)
            used = np.flatnonzero(W.any(axis=1))
            weights, offsets, W = weights[used], offsets[used], W[used]
            gram, moments = gram[np.ix_(used, used)], moments[used]
        if not len(W):
            raise ShallowsError(f"No feature is worth regularization={self.regularization!r}: take a smaller one.")
        self.coef_ = np.ascontiguousarray(W.T)
        return GivenUnits("cosine", weights, offsets)


def _coded(y: np.ndarray) -> np.ndarray:
    """Values, or signs of classes, as columns of mean zero and variance one."""
    T = (y if y.dtype.kind == "f" else LabelBinarizer(neg_label=-1).fit_transform(y)).reshape(len(y), -1)
    T = T.astype(np.float64)
    return StandardScaler().fit_transform(T / unit_of_targets(T))


def sparse_weights(gram: np.ndarray, moments: np.ndarray, penalty: float, start: np.ndarray, passes: int) -> np.ndarray:
    """The W with the least ½ tr WᵀGW − tr MᵀW + λ Σⱼ ‖wⱼ‖, by coordinate descent over its rows; shape (p, c)."""
    values, U = np.linalg.eigh(gram)
    used = values > 1e-7 * values[-1]  # Rounding of float32.
    root = np.sqrt(values[used])[:, None]
    # With AᵀA = G and AᵀB = M it is the minimum of ½ ‖AW − B‖² + λ Σⱼ ‖wⱼ‖, and scikit-learn has the mean of squares.
    A, B = root * U[:, used].T, (U[:, used].T @ moments) / root
    lasso = MultiTaskLasso(penalty / len(A), fit_intercept=False, max_iter=passes, tol=TOLERANCE, warm_start=True)
    lasso.coef_ = np.asfortranarray(start.T)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # The next step continues.
        return lasso.fit(A, B).coef_.T
