"""Random Fourier features of a kernel, as a transformer."""

from __future__ import annotations

from typing import Any

from ... import arrays, features
from ...errors import ShallowsError, UnknownNameError
from ...features.fourier import fourier_cosines, fourier_pairs, orthogonal_pairs
from ...kernels import Kernel
from ..parameters import with_parameters
from .base import FeatureMapTransformer

FORMS = {
    ("pair", False): fourier_pairs,
    ("pair", True): orthogonal_pairs,
    ("cosine", False): fourier_cosines,
}
"""What makes the map, by the form, without and with orthogonal frequencies."""


class FourierFeatures(FeatureMapTransformer):
    """Random Fourier features z(x) of a shift-invariant kernel: z(x)ᵀz(y) ≈ k(x, y), off by about 1/√n_features.

    The frequencies are drawn from the kernel's spectral law as a function of the seed, block by block, so that a fitted
    transformer is a seed, a bandwidth and the mean of the training points: it is saved in kilobytes, and makes the same
    features on every machine and device.

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
        Columns of the result (``n_components`` of `sklearn.kernel_approximation.RBFSampler`). A cosine and a sine are
        two, so that for pairs an odd number becomes the next even one.
    form : {"pair", "cosine"}, default="pair"
        cos ωᵀx and sin ωᵀx, or √2 cos(ωᵀx + b) with random phases b. Pairs have the smaller error for the same number
        of columns with the Gaussian kernel.
    orthogonal : bool, default=False
        Frequencies at right angles to each other, in pairs: the same mean and a smaller variance, for kernels of the
        Euclidean distance.
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
    feature_map_ : shallows.features.FourierFeatures
        The map, for centred points.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the seed, the precision and the device.

    References
    ----------
    A. Rahimi and B. Recht (2007), "Random features for large-scale kernel machines", NIPS 20. F. X. Yu et al. (2016),
    "Orthogonal random features", NIPS 29.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows import FourierFeatures
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(FourierFeatures(bandwidth=20.0, random_state=0), RidgeClassifier(alpha=0.1))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.94)
    True
    """

    __init__ = with_parameters(FeatureMapTransformer.__init__, form="pair", orthogonal=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        known = sorted({form for form, orthogonal in FORMS if orthogonal == bool(self.orthogonal)})
        kind = "form with orthogonal frequencies" if self.orthogonal else "form"
        UnknownNameError.check(kind, self.form, known)

    def _make_map(self, X: Any, kernel: Kernel, seed: int, device: arrays.Device, budget: int) -> features.FeatureMap:
        if not kernel.has_frequencies:
            raise ShallowsError(
                f"The kernel {kernel.name!r} has no random Fourier features, since it is none of the difference of two "
                "points with a law of frequencies. NystroemFeatures takes every kernel."
            )
        # The map reads the number of inputs of the points, and no more.
        return FORMS[self.form, bool(self.orthogonal)](kernel, X, self.n_features, seed, budget)
