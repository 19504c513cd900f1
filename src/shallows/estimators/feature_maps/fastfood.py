"""Fastfood features of a kernel, as a transformer."""

from __future__ import annotations

from ... import features
from .base import FourierTransformer


class Fastfood(FourierTransformer):
    """Fastfood features of a kernel of the Euclidean distance: Fourier features by Hadamard transforms.

    The frequencies are rows of products of Hadamard, diagonal and permutation matrices, so that a feature takes about
    √d products in place of d, and nothing of the size of a matrix is kept. The features are unbiased for the kernel,
    with an error about a tenth above that of `FourierFeatures`. It pays from about 200 inputs on: with 1,024 of them
    projections take a quarter of the time.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        "gaussian", "laplace", "cauchy", "matern", or a kernel object of `shallows.kernels`, which brings its own
        parameters.
    bandwidth : float, "median" or None, optional
        σ, in the units of the inputs. None and "median" take the median distance between points of a subsample.
    kernel_params : dict, optional
        Further parameters of a kernel that is named, such as ``{"nu": 1.5}``.
    n_features : int, default=1000
        Columns of the result. A cosine and a sine are two, so that for pairs an odd number becomes the next even one.
    form : {"pair", "cosine"}, default="pair"
        cos ωᵀx and sin ωᵀx, or √2 cos(ωᵀx + b) with random phases b.
    random_state : int, RandomState or None, default=None
        Decides the frequencies and the subsample. The same int gives the same features.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; "auto" takes a GPU where CuPy finds one. They are returned as a NumPy array.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means that of the training points.

    Attributes
    ----------
    bandwidth_ : float
    feature_map_ : shallows.features.Fastfood
        The map, for centred points.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the seed, the precision and the device.

    References
    ----------
    Q. Le, T. Sarlós and A. Smola (2013), "Fastfood - approximating kernel expansions in loglinear time", ICML 30.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows import Fastfood
    >>> X, y = load_digits(return_X_y=True)
    >>> features = Fastfood(bandwidth=20.0, random_state=0)
    >>> model = make_pipeline(features, RidgeClassifier(alpha=0.1))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.94)
    True
    """

    _map = features.Fastfood
