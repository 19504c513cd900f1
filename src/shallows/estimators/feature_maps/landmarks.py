"""Kernel functions at landmarks, whitened or not, as transformers."""

import functools
from collections.abc import Collection
from typing import Any, ClassVar, cast

import numpy as np

from ... import arrays, streams
from ...errors import UnknownNameError
from ...features.landmarks import LANDMARKS, NystroemMap, nystrom, rbf
from ...fitting.column_scales import shift_columns
from ..constructors import with_parameters
from .base import FeatureMapTransformer


class LandmarkTransformer(FeatureMapTransformer):
    """Base of transformers whose features are kernel values with landmarks."""

    __init__ = with_parameters(FeatureMapTransformer.__init__, landmarks="sample")

    _of_landmarks = True
    _ways: ClassVar[Collection[str]] = LANDMARKS
    """How landmarks may be chosen."""
    _prefix: ClassVar[str]
    """The first part of the map's name."""

    @property
    def _map_options(self) -> dict[str, Any]:
        return {"landmarks": self.landmarks}

    @property
    def _map_name(self) -> str:  # type: ignore[override]
        return self._prefix + ("" if self.landmarks == "sample" else f"_{self.landmarks}")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        UnknownNameError.check("way to choose landmarks", self.landmarks, self._ways)

    def _points_of_map(self, X: Any, seed: int, device: arrays.Device) -> Any:
        order = np.arange(X.shape[0])
        if self.landmarks == "sample":
            # Only points that may be landmarks are brought to the device.
            order = streams.permutation(seed, "landmarks", 0, X.shape[0])[: self._n_columns]
        return self._centering.training_points(X, order, device, self._dtype)[:, :-2]


class NystroemFeatures(LandmarkTransformer):
    """Nyström features of any kernel: z(x)ᵀz(y) equals k(x, y) if one of the points is a landmark.

    z(x) = Σ^{−½} Uᵀ k(X_M, x) with k(X_M, X_M) = U Σ Uᵀ for M = ``n_features`` landmarks X_M, at most one for each
    training point. Between landmarks the error depends on how well they cover the data. The result has one column for
    each direction of the landmarks' kernel matrix above rounding, so it may have fewer columns than M.

    Parameters
    ----------
    landmarks : {"sample", "kmeans", "leverage", "pivoted", "randomly_pivoted"}, default="sample"
        Random training points; centers of K-means; a sample by ridge leverage scores, which includes rare kinds of
        points; or greedy or random pivots of a Cholesky factor, which stops when it represents all points.

    Attributes
    ----------
    bandwidth_ : float or None
    landmarks_ : ndarray, shape (n_landmarks, n_features), in the units of X
    feature_map_ : shallows.features.NystroemMap
    report_ : dict

    See Also
    --------
    FourierFeatures : Features that do not depend on the training points.
    RBFNetwork : The kernel values themselves.

    References
    ----------
    C. Williams and M. Seeger (2001), "Using the Nyström method to speed up kernel machines", NIPS 13. Y. Chen et al.
    (2025), "Randomly pivoted Cholesky", Communications on Pure and Applied Mathematics 78.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows.kernel_approximation import NystroemFeatures
    >>> from shallows.kernels import Polynomial
    >>> X, y = load_digits(return_X_y=True)
    >>> features = NystroemFeatures(Polynomial(scale=1e-3), n_features=300, random_state=0)
    >>> model = make_pipeline(features, RidgeClassifier(alpha=0.1))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9)
    True
    """

    _map, _prefix, _near_kernel = staticmethod(nystrom), "nystrom", True

    @property
    def landmarks_(self) -> np.ndarray:
        """The landmarks in the units of X, shape (n_landmarks, n_features); a CSR array if X stays sparse."""
        landmarks = cast(NystroemMap, self.feature_map_).landmarks
        if arrays.is_sparse(landmarks):
            return shift_columns(landmarks.rows, -self._centering.mean)
        return landmarks + self._centering.mean.astype(self._dtype)


class RBFNetwork(LandmarkTransformer):
    """Kernel functions at centers: the features k(x, z₁), …, k(x, z_D) of a radial basis function network.

    D = ``n_features``, at most one center for each training point. Inner products of the features do not approximate
    the kernel, unlike those of `NystroemFeatures`; a linear model on them is a network of D units.

    Parameters
    ----------
    landmarks : {"sample", "kmeans"}, default="sample"
        Random training points, or the centers of K-means.

    Attributes
    ----------
    bandwidth_ : float or None
    feature_map_ : shallows.features.RBFNetworkMap
    report_ : dict

    References
    ----------
    D. Broomhead and D. Lowe (1988), "Multivariable functional interpolation and adaptive networks", Complex Systems 2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.kernel_approximation import RBFNetwork
    >>> RBFNetwork(n_features=300, random_state=0).fit_transform(load_digits().data).shape
    (1797, 300)
    """

    _map, _ways, _prefix = staticmethod(rbf), ("sample", "kmeans"), "rbf"


nystroem_at_means = functools.partial(NystroemFeatures, landmarks="kmeans")
nystroem_by_leverage = functools.partial(NystroemFeatures, landmarks="leverage")
nystroem_at_pivots = functools.partial(NystroemFeatures, landmarks="pivoted")
nystroem_at_random_pivots = functools.partial(NystroemFeatures, landmarks="randomly_pivoted")
network_at_means = functools.partial(RBFNetwork, landmarks="kmeans")
