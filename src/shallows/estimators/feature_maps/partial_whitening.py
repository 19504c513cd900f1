"""EigenPro as a linear map of features: their covariance with its largest eigenvalues lowered."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ... import arrays, streams
from ...arrays.user_arrays import follows_input
from ...errors import ShallowsError
from ...fitting.machine import Options
from ...models.centering import check_scores
from ...spectrum.eigensystems import eigensystem, orthonormal
from ...spectrum.spectral_preconditioner import choose_rank, shrinkage
from ...utils.checks import check_positive, check_whole
from ..base import Estimator, keeps_model_on_failure
from ..constructors import stores_parameters
from .base import STRIP_BYTES


class PartialWhitening(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """x ↦ P^½ x: the top eigenvalues of E xxᵀ become τ λ_{q+1}, so that first-order methods need fewer epochs.

    P = I − Σᵢ (1 − τ λ_{q+1}/λᵢ) eᵢ eᵢᵀ for i = 1, …, q is EigenPro's preconditioner of the columns of X, which are
    usually features of a kernel. Put it between them and any linear model: least squares, logistic regression, a
    support vector machine, by SGD, SAGA, SVRG or Adam. Without a penalty the best linear model is unchanged. With a
    penalty the top directions are penalized more. X is not centered.

    Parameters
    ----------
    rank : int, default=160
        q, or fewer where the eigenvalues are below rounding.
    n_subsample : int, default=4800
        M, the random training rows from which the eigensystem is computed; at least q + 1.
    damping : float, default=1.0
        τ in (0, 1]: a smaller value lowers the eigenvalues further, for eigenvectors of a small subsample.
    random_state : int, RandomState or None, default=None
    options : shallows.Options, optional
        Device, memory and precision; dtype "auto" is the dtype of X. The result is a NumPy array.

    Attributes
    ----------
    eigenvalues_ : ndarray, shape (q + 1,), of XᵀX/M on the subsample, descending
    components_ : ndarray, shape (q, n_features), the eigenvectors
    report_ : dict

    See Also
    --------
    FeatureRidgeClassifier : With ``solver="feature_eigenpro"`` EigenPro for the square loss, with its step.
    sklearn.decomposition.PCA : ``whiten=True`` drops all directions but the top ones.

    References
    ----------
    S. Ma and M. Belkin (2017), "Diving into the shallows: a computational perspective on large-scale shallow learning",
    NIPS 30, equations 17, 18 and 20 and remark 5.1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows.kernel_approximation import FourierFeatures, PartialWhitening
    >>> X, y = load_digits(return_X_y=True)
    >>> features = FourierFeatures(n_features=500, random_state=0)
    >>> model = make_pipeline(features, PartialWhitening(rank=50, random_state=0), SGDClassifier(random_state=0))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9)
    True
    """

    _takes_targets = False
    _warns_of_units = False

    @stores_parameters
    def __init__(
        self,
        *,
        rank: int = 160,
        n_subsample: int = 4800,
        damping: float = 1.0,
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Set the parameters."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole(self, "rank", "n_subsample")
        check_positive(self, "damping")
        if self.damping > 1:
            raise ShallowsError(f"damping must be at most 1, got {self.damping!r}. 1 leaves λ_{{q+1}} as it is.")

    @keeps_model_on_failure
    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the top eigenvectors.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : None
            Not used; for pipelines.

        Raises
        ------
        ValueError, ShallowsError
            X has NaN or infinity or is not a table of numbers, or a parameter is out of its range.
        """
        self._check_parameters()
        X = self._validated_training_set(X, None, None).X
        device, seed, (n, d) = self._fit_device(), self._seed(), X.shape
        options = self._options()
        self._dtype = np.dtype(X.dtype if options.dtype == "auto" else options.dtype)
        m = min(self.n_subsample, n)
        size, budget = min(m, d), options.budget(device)
        needed = (m * d + 3 * size * size) * self._dtype.itemsize
        arrays.check_room(f"{m:,} rows of {d:,} columns take", needed, budget, "Take a smaller n_subsample.")
        chosen = np.sort(streams.permutation(seed, "whitening", 0, n)[:m])
        with device.active():
            sample = self._on_device(X[chosen], device)
            xp = arrays.namespace(sample)
            k = min(self.rank + 1, size)
            if d <= m:
                values, vectors = eigensystem(sample.T @ sample, k, seed=seed)
            else:
                values, left = eigensystem(sample @ sample.T, k, seed=seed)
                lengths = xp.sqrt(xp.clip(values, float(xp.finfo(values.dtype).smallest_normal), None))
                vectors = orthonormal(sample.T @ left / lengths[None, :])
            values = values / m
            q = choose_rank(values, rank=self.rank, level=0.0, rounding=float(xp.finfo(values.dtype).eps) * size)
            self.eigenvalues_ = arrays.to_numpy(values[: q + 1])
            self._damping = float(self.damping)
            self.components_ = np.ascontiguousarray(arrays.to_numpy(vectors[:, :q]).T)
        self.report_ = {"rank": q, "n_subsample": m, "precision": self._dtype.name, "device": str(device), "seed": seed}
        return self

    @follows_input
    def transform(self, X: Any) -> np.ndarray:
        """P^½ x of each row, shape (n_samples, n_features)."""
        X = self._validated(X)
        device = arrays.resolve_device(self._options().device)
        # P^½ = I − E diag(1 − √(τ λ_{q+1}/λᵢ)) Eᵀ.
        kept = 1.0 - shrinkage(self.eigenvalues_, self._damping, 1.0)
        out = np.empty(X.shape, dtype=self._dtype)
        at_a_time = max(1, STRIP_BYTES // (X.shape[1] * self._dtype.itemsize))
        with device.active():
            components = arrays.to_device(self.components_, device, self._dtype)
            scale = arrays.to_device(1.0 - np.sqrt(kept), device, self._dtype)
            for rows in arrays.blocks(X.shape[0], at_a_time):
                x = self._on_device(X[rows], device)
                out[rows] = arrays.to_numpy(x - (x @ components.T * scale[None, :]) @ components)
        check_scores(out, X)
        return out

    def _on_device(self, rows: Any, device: arrays.Device) -> arrays.Array:
        rows = rows.toarray() if scipy.sparse.issparse(rows) else rows
        return arrays.to_device(np.ascontiguousarray(rows), device, self._dtype)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = (
            ["float64", "float32"] if getattr(self.options, "dtype", "auto") == "auto" else []
        )
        return tags
