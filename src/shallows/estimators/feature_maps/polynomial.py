"""Features of the polynomial kernel, exact or sketched, as transformers."""

from typing import Any

import numpy as np
import scipy.sparse

from ...features.monomials import monomials
from ...features.tensor_sketch import tensor_sketch
from ...fitting.machine import Options
from ...kernels import Kernel
from ...kernels.inner import Polynomial
from ..constructors import stores_parameters, with_parameters
from .base import FeatureMapTransformer


class PolynomialFeatures(FeatureMapTransformer):
    """All monomials up to a degree p, weighted so that inner products of rows are exactly (s xᵀz + c)^p.

    There are binomial(p + d, p) of them. Sparse rows stay sparse: a row with r nonzeros has binomial(p + r, p).
    `sklearn.preprocessing.PolynomialFeatures` makes the same monomials without weights; `TensorSketch` is random, with
    a free number of columns.

    Attributes
    ----------
    feature_map_ : shallows.features.PolynomialMap
    report_ : dict

    References
    ----------
    Y.-W. Chang and others (2010), "Training and testing low-degree polynomial data mappings via linear SVM", JMLR 11.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.kernel_approximation import PolynomialFeatures
    >>> PolynomialFeatures(scale=1e-3).fit_transform(load_digits().data).shape
    (1797, 2145)
    """

    # Nothing is random.
    kernel, bandwidth, random_state, n_features = "polynomial", None, 0, 1

    _map, _map_name, _size = staticmethod(monomials), "polynomial", None

    @stores_parameters
    def __init__(
        self,
        *,
        degree: int = 2,
        offset: float = 1.0,
        scale: float = 1.0,
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
        options : shallows.Options, optional
            Device, memory and precision; dtype "auto" is the dtype of X. The result is a NumPy array.
        """

    def _make_kernel(self) -> Kernel:
        return Polynomial(self.degree, self.offset, self.scale)

    def transform(self, X: Any) -> np.ndarray:
        """Monomials of points, in the precision of the fit; a CSR matrix for sparse rows."""
        if not scipy.sparse.issparse(X):
            return super().transform(X)
        X = self._validated(X)
        return self._blocks.features.map(X.astype(self._dtype))


class TensorSketch(FeatureMapTransformer):
    """Random features of the polynomial kernel (s xᵀz + c)^p: inner products of rows are unbiased for it.

    The number of features is free, unlike that of `PolynomialFeatures`.
    `sklearn.kernel_approximation.PolynomialCountSketch` is the same method, without a GPU.

    Parameters
    ----------
    n_features : int or "auto", default="auto"
        Columns of the result. "auto": an estimator with these features chooses it; alone, 1,000.
    random_state : int, RandomState or None, default=None

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

    kernel, bandwidth = "polynomial", None
    _map, _map_name = staticmethod(tensor_sketch), "tensor_sketch"

    __init__ = with_parameters(PolynomialFeatures.__init__, n_features="auto", random_state=None)

    _make_kernel = PolynomialFeatures._make_kernel
