"""Weighted monomials, as a transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from ... import arrays, features
from ...kernels import Kernel
from ..parameters import stores_parameters
from .base import FeatureMapTransformer


class PolynomialFeatures(FeatureMapTransformer):
    """All monomials up to a degree, weighted so that inner products of rows are (s xᵀz + c)^p exactly.

    There are binomial(p + d, p) of them. Sparse rows stay sparse: of a row with r values that are not zero there are
    binomial(p + r, p). `sklearn.preprocessing.PolynomialFeatures` makes the same monomials without weights.

    Parameters
    ----------
    degree : int, default=2
        p.
    offset : float, default=1.0
        c, at least 0.
    scale : float, default=1.0
        s, positive. The reciprocal of the number of inputs, or of their mean squared norm, keeps values near one.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; "auto" takes a GPU where CuPy finds one. They are returned as a NumPy array.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means that of the training points.

    Attributes
    ----------
    feature_map_ : shallows.features.Monomials
    effective_params_ : dict
        What the program chose where a parameter left it open, with the seed, the precision and the device.

    References
    ----------
    Y.-W. Chang and others (2010), "Training and testing low-degree polynomial data mappings via linear SVM", Journal of
    Machine Learning Research 11.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows import PolynomialFeatures
    >>> X, y = load_digits(return_X_y=True)
    >>> features = PolynomialFeatures(scale=1e-3)
    >>> model = make_pipeline(features, RidgeClassifier(alpha=0.1))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9)
    True
    """

    # Nothing is drawn.
    kernel, bandwidth, random_state, n_features = "polynomial", None, 0, 1

    @stores_parameters
    def __init__(
        self,
        *,
        degree: int = 2,
        offset: float = 1.0,
        scale: float = 1.0,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
    ): ...

    @property
    def kernel_params(self) -> dict[str, Any]:
        """Parameters of the polynomial kernel."""
        return {"degree": self.degree, "offset": self.offset, "scale": self.scale}

    def _make_map(self, X: Any, kernel: Kernel, seed: int, device: arrays.Device, budget: int) -> features.FeatureMap:
        return features.Monomials(kernel, X.shape[1])

    def transform(self, X: Any) -> np.ndarray:
        """Monomials of points.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_features_out)
            In the precision of the fit; for sparse rows a CSR matrix.
        """
        if not scipy.sparse.issparse(X):
            return super().transform(X)
        X = self._validated(X)
        return self._blocks.features.map(X.astype(self._dtype))
