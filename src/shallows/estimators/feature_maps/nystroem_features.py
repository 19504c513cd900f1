"""Nyström features of a kernel, as a transformer."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...features.landmarks import nystrom_at_means, nystrom_at_samples, nystrom_by_leverage
from ...features.pivoted_cholesky import nystrom_at_pivots, nystrom_at_random_pivots
from ...fitting.column_scales import shifted
from .base import LandmarkTransformer

LANDMARKS = {
    "sample": nystrom_at_samples,
    "kmeans": nystrom_at_means,
    "leverage": nystrom_by_leverage,
    "pivoted": nystrom_at_pivots,
    "randomly_pivoted": nystrom_at_random_pivots,
}
"""What makes the map, by the way to choose landmarks."""


class NystroemFeatures(LandmarkTransformer):
    """Nyström features of any kernel: z(x)ᵀz(y) is k(x, y) wherever one of the points is a landmark.

    z(x) = Σ^{−½} Uᵀ k(X_M, x) with k(X_M, X_M) = U Σ Uᵀ for M landmarks X_M, which are training points or means of
    theirs. Between landmarks the error depends on how well they cover the data. A fitted transformer holds the
    landmarks.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; or a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`).
    bandwidth : float, "median" or None, optional
        σ, in the units of the inputs, of the kernels that have one. None and "median" take the median distance
        between points of a subsample.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_features : int, default=1000
        M, the number of landmarks (``n_components`` of `sklearn.kernel_approximation.Nystroem`), at most one for each
        training point. The result has a column for each direction of the landmarks' kernel matrix above the level of
        rounding, so that there may be fewer.
    landmarks : {"sample", "kmeans", "leverage", "pivoted", "randomly_pivoted"}, default="sample"
        Training points drawn at random; the centres of K-means; training points drawn in proportion to their ridge
        leverage scores, so that rare kinds of points are among them; or the pivots of a partial Cholesky factor of the
        kernel matrix: one after the other the point that the landmarks before it stand for the least, or one drawn in
        proportion to how little they do. Of pivots there are fewer where they stand for all points already.
    random_state : int, RandomState or None, default=None
        Decides the landmarks and the subsample. The same int gives the same features.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; "auto" takes a GPU where CuPy finds one. They are returned as a NumPy array.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means that of the training points.

    Attributes
    ----------
    bandwidth_ : float or None
    landmarks_ : ndarray, shape (n_landmarks, n_features)
        In the units of the inputs.
    feature_map_ : shallows.features.NystromFeatures
        The map, for centred points.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the seed, the precision and the device.

    References
    ----------
    C. Williams and M. Seeger (2001), "Using the Nyström method to speed up kernel machines", NIPS 13. Y. Chen, E. N.
    Epperly, J. A. Tropp and R. J. Webber (2025), "Randomly pivoted Cholesky: practical approximation of a kernel matrix
    with few entry evaluations", Communications on Pure and Applied Mathematics 78.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows import NystroemFeatures
    >>> X, y = load_digits(return_X_y=True)
    >>> features = NystroemFeatures("polynomial", kernel_params={"scale": 1e-3}, n_features=300, random_state=0)
    >>> model = make_pipeline(features, RidgeClassifier(alpha=0.1))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9)
    True
    """

    _ways = LANDMARKS

    @property
    def landmarks_(self) -> np.ndarray:
        """The landmarks in the units of the inputs, shape (n_landmarks, n_features); a CSR array if X stays sparse."""
        if arrays.is_sparse(self.feature_map_.landmarks):
            return shifted(self.feature_map_.landmarks.rows, -self._centring.mean)
        return self.feature_map_.landmarks + self._centring.mean.astype(self._dtype)
