"""Fourier features of shift-invariant kernels, as transformers."""

import functools
from typing import Any

from ...errors import UnknownNameError
from ...features.fourier import fourier_pairs
from ..constructors import with_parameters
from .base import FeatureMapTransformer

MAP_NAMES = {("pair", False): "fourier", ("pair", True): "orthogonal", ("cosine", False): "fourier_cosine"}
"""The name of the map, for each form, without and with orthogonal frequencies."""


class FourierFeatures(FeatureMapTransformer):
    """Random Fourier features z(x) of a shift-invariant kernel: z(x)ᵀz(y) = k(x, y) up to about 1/√n_features.

    The kernel is "gaussian", "laplace", "cauchy", "matern", "laplace_product", "cauchy_product", or an object. The
    frequencies are drawn block by block from the seed. A saved transformer therefore has a few kilobytes, and makes the
    same features on every machine and device.

    Parameters
    ----------
    form : {"pair", "cosine"}, default="pair"
        cos ωᵀx and sin ωᵀx, two columns (an odd ``n_features`` is rounded up), or √2 cos(ωᵀx + b) with random phases b.
        For the Gaussian kernel, pairs have the smaller error.
    orthogonal : bool, default=False
        Orthogonal frequencies, in pairs: the same mean and a smaller variance, for kernels of the Euclidean distance.

    Attributes
    ----------
    bandwidth_ : float
    feature_map_ : shallows.features.FourierMap
    report_ : dict

    See Also
    --------
    NystroemFeatures : Features of any kernel at training points, which often need fewer columns.
    FeatureRidgeClassifier : Chooses bandwidth and number of these features, and trains on them.

    References
    ----------
    A. Rahimi and B. Recht (2007), "Random features for large-scale kernel machines", NIPS 20. F. X. Yu et al. (2016),
    "Orthogonal random features", NIPS 29.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows.kernel_approximation import FourierFeatures
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(FourierFeatures(bandwidth=20.0, random_state=0), RidgeClassifier(alpha=0.1))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.94)
    True
    """

    __init__ = with_parameters(FeatureMapTransformer.__init__, form="pair", orthogonal=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        known = sorted({form for form, orthogonal in MAP_NAMES if orthogonal == bool(self.orthogonal)})
        kind = "form with orthogonal frequencies" if self.orthogonal else "form"
        UnknownNameError.check(kind, self.form, known)

    _map, _grows, _near_kernel = staticmethod(fourier_pairs), True, True

    @property
    def _map_options(self) -> dict[str, Any]:
        return {"form": self.form, "orthogonal": bool(self.orthogonal)}

    @property
    def _map_name(self) -> str:  # type: ignore[override]
        return MAP_NAMES[self.form, bool(self.orthogonal)]


with_orthogonal_frequencies = functools.partial(FourierFeatures, orthogonal=True)
with_phases = functools.partial(FourierFeatures, form="cosine")


class FourierTransformer(FeatureMapTransformer):
    """Base of transformers whose features are blocks of cosines and sines of structured frequencies."""

    __init__ = with_parameters(FeatureMapTransformer.__init__, form="pair")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        UnknownNameError.check("form", self.form, ("pair", "cosine"))

    @property
    def _map_parameters(self) -> dict[str, Any]:
        return {"form": self.form}
