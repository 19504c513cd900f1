"""Tensor sketches of a polynomial kernel, as a transformer."""

from __future__ import annotations

from typing import Any

from ... import arrays, features
from ...kernels import Kernel
from ..parameters import stores_parameters
from .base import FeatureMapTransformer


class TensorSketch(FeatureMapTransformer):
    """Tensor sketches of the polynomial kernel (s xᵀz + c)^p: inner products of rows are unbiased for it.

    A sketch has the size that is asked for, where the monomials of `PolynomialFeatures` are binomial(p + d, p) many.
    `sklearn.kernel_approximation.PolynomialCountSketch` is the same method; this one draws by counters, computes on a
    GPU as well and takes its seed from a stream.

    Parameters
    ----------
    degree : int, default=2
        p.
    offset : float, default=1.0
        c, at least 0.
    scale : float, default=1.0
        s, positive. The reciprocal of the number of inputs, or of their mean squared norm, keeps values near one.
    n_features : int, default=1000
        Columns of the result.
    random_state : int, RandomState or None, default=None
        Decides the hashes. The same int gives the same features.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; "auto" takes a GPU where CuPy finds one. They are returned as a NumPy array.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means that of the training points.

    Attributes
    ----------
    feature_map_ : shallows.features.TensorSketch
    effective_params_ : dict
        What the program chose where a parameter left it open, with the seed, the precision and the device.

    References
    ----------
    N. Pham and R. Pagh (2013), "Fast and scalable polynomial kernels via explicit feature maps", KDD 19.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows import TensorSketch
    >>> X, y = load_digits(return_X_y=True)
    >>> features = TensorSketch(scale=1e-3, random_state=0)
    >>> model = make_pipeline(features, RidgeClassifier(alpha=0.1))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9)
    True
    """

    kernel, bandwidth = "polynomial", None

    @stores_parameters
    def __init__(
        self,
        *,
        degree: int = 2,
        offset: float = 1.0,
        scale: float = 1.0,
        n_features: int = 1000,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
    ): ...

    @property
    def kernel_params(self) -> dict[str, Any]:
        """Parameters of the polynomial kernel."""
        return {"degree": self.degree, "offset": self.offset, "scale": self.scale}

    def _make_map(self, X: Any, kernel: Kernel, seed: int, device: arrays.Device, budget: int) -> features.FeatureMap:
        return features.TensorSketch(kernel, X.shape[1], self.n_features, seed)
