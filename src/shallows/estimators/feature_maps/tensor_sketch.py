"""Tensor sketches of a polynomial kernel, as a transformer."""

from __future__ import annotations

from typing import Any

from ...fitting.machine import Options
from ...kernels import Kernel
from ...kernels.inner import Polynomial
from ..constructors import stores_parameters
from .base import FeatureMapTransformer


class TensorSketch(FeatureMapTransformer):
    """Random features of the polynomial kernel (s xᵀz + c)^p: inner products of rows are unbiased for it.

    The number of features is free, unlike that of `PolynomialFeatures`.
    `sklearn.kernel_approximation.PolynomialCountSketch` is the same method, without a GPU.

    Attributes
    ----------
    feature_map_ : shallows.features.TensorSketchMap
    report_ : dict

    References
    ----------
    N. Pham and R. Pagh (2013), "Fast and scalable polynomial kernels via explicit feature maps", KDD 19.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.kernel_approximation import TensorSketch
    >>> TensorSketch(scale=1e-3, random_state=0).fit_transform(load_digits().data).shape
    (1797, 1000)
    """

    kernel, bandwidth, _map_name = "polynomial", None, "tensor_sketch"

    @stores_parameters
    def __init__(
        self,
        *,
        degree: int = 2,
        offset: float = 1.0,
        scale: float = 1.0,
        n_features: int | str = "auto",
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Set the parameters.

        Parameters
        ----------
        degree : int, default=2
            p.
        offset : float, default=1.0
            c, at least 0.
        scale : float, default=1.0
            s, positive. One over the number of inputs, or over their mean squared norm, keeps values near 1.
        n_features : int or "auto", default="auto"
            Columns of the result. "auto": an estimator with these features chooses it; alone, 1,000.
        random_state : int, RandomState or None, default=None
        options : shallows.Options, optional
            Device, memory and precision; dtype "auto" is the dtype of X. The result is a NumPy array.
        """

    def _make_kernel(self) -> Kernel:
        return Polynomial(self.degree, self.offset, self.scale)
