"""Kernel functions at centres, as a transformer."""

from __future__ import annotations

from ...features.landmarks import rbf_at_means, rbf_at_samples
from .base import LandmarkTransformer

CENTRES = {"sample": rbf_at_samples, "kmeans": rbf_at_means}
"""What makes the map, by the way to choose centres."""


class RBFNetwork(LandmarkTransformer):
    """Kernel functions at centres, the features k(x, z₁), …, k(x, z_D) of a radial basis function network.

    Their inner products are no approximation of the kernel; a linear model on them is a network of D units. See
    `NystroemFeatures` for features of the same centres that are.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; or a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`).
    bandwidth : float, "median" or None, optional
        σ, in the units of the inputs, of the kernels that have one. None and "median" take the median distance between
        points of a subsample.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_features : int, default=1000
        D, the number of centres, at most one for each training point.
    landmarks : {"sample", "kmeans"}, default="sample"
        Training points drawn at random, or the centres of K-means.
    random_state : int, RandomState or None, default=None
        Decides the centres and the subsample. The same int gives the same features.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; "auto" takes a GPU where CuPy finds one. They are returned as a NumPy array.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means that of the training points.

    Attributes
    ----------
    bandwidth_ : float or None
    feature_map_ : shallows.features.RBFNetwork
        The map, for centred points.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the seed, the precision and the device.

    References
    ----------
    D. Broomhead and D. Lowe (1988), "Multivariable functional interpolation and adaptive networks", Complex Systems 2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows import RBFNetwork
    >>> X, y = load_digits(return_X_y=True)
    >>> features = RBFNetwork(bandwidth=20.0, n_features=300, random_state=0)
    >>> model = make_pipeline(features, RidgeClassifier(alpha=0.1))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9)
    True
    """

    _ways = CENTRES
