"""Fourier features at a sequence of low discrepancy, as a transformer."""

from __future__ import annotations

from ... import features
from .base import FourierTransformer


class QuasiMonteCarloFeatures(FourierTransformer):
    """Fourier features of a shift-invariant kernel at a Sobol sequence, which covers the frequencies' law evenly.

    The frequencies are quantiles of the points of a sequence of low discrepancy, shifted at random. With few inputs
    the error falls nearly as 1/n_features, where that of independent frequencies falls as 1/√n_features; with hundreds
    of inputs the two hardly differ.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        "gaussian", "laplace", "cauchy", "matern", "laplace_product", "cauchy_product", or a kernel object of
        `shallows.kernels`, which brings its own parameters.
    bandwidth : float, "median" or None, optional
        σ, in the units of the inputs. None and "median" take the median distance between points of a subsample.
    kernel_params : dict, optional
        Further parameters of a kernel that is named, such as ``{"nu": 1.5}``.
    n_features : int, default=1000
        Columns of the result. A cosine and a sine are two, so that for pairs an odd number becomes the next even one.
    form : {"pair", "cosine"}, default="pair"
        cos ωᵀx and sin ωᵀx, or √2 cos(ωᵀx + b) with random phases b.
    random_state : int, RandomState or None, default=None
        Decides the shift of the sequence and the subsample. The same int gives the same features.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; "auto" takes a GPU where CuPy finds one. They are returned as a NumPy array.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means that of the training points.

    Attributes
    ----------
    bandwidth_ : float
    feature_map_ : shallows.features.QuasiMonteCarloFeatures
        The map, for centred points.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the seed, the precision and the device.

    References
    ----------
    J. Yang, V. Sindhwani, H. Avron and M. Mahoney (2014), "Quasi-Monte Carlo feature maps for shift-invariant kernels",
    ICML 31.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows import QuasiMonteCarloFeatures
    >>> X, y = load_digits(return_X_y=True)
    >>> features = QuasiMonteCarloFeatures(bandwidth=20.0, random_state=0)
    >>> model = make_pipeline(features, RidgeClassifier(alpha=0.1))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.94)
    True
    """

    _map = features.QuasiMonteCarloFeatures
