"""Fourier features of shift-invariant kernels, as transformers."""

from __future__ import annotations

from typing import Any

from ... import arrays, features
from ...errors import ShallowsError, UnknownNameError
from ...features.fourier import (
    COLUMNS_OF_FREQUENCY,
    MOST_FREQUENCIES,
    fourier_cosines,
    fourier_pairs,
    orthogonal_pairs,
)
from ...kernels import Kernel
from ..constructors import with_parameters
from .base import FeatureMapTransformer

FORMS = {
    ("pair", False): fourier_pairs,
    ("pair", True): orthogonal_pairs,
    ("cosine", False): fourier_cosines,
}
"""The function that makes the map, for each form, without and with orthogonal frequencies."""

MAP_NAMES = {("pair", False): "fourier", ("pair", True): "orthogonal", ("cosine", False): "fourier_cosine"}
"""The name of the map, in the same way."""


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
        Values that the library chose, with seed, precision and device.

    See Also
    --------
    NystroemFeatures : Features of any kernel at training points, which often need fewer columns.
    Fastfood : The same for many inputs, without a matrix of frequencies.
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
        known = sorted({form for form, orthogonal in FORMS if orthogonal == bool(self.orthogonal)})
        kind = "form with orthogonal frequencies" if self.orthogonal else "form"
        UnknownNameError.check(kind, self.form, known)

    @property
    def _map_name(self) -> str:  # type: ignore[override]
        return MAP_NAMES[self.form, bool(self.orthogonal)]

    def _make_map(self, X: Any, kernel: Kernel, seed: int, device: arrays.Device, budget: int) -> features.FeatureMap:
        if not kernel.has_frequencies:
            raise ShallowsError(
                f"The kernel {kernel.name!r} has no random Fourier features, because it is not a function of the "
                "difference of two points, or no law of its frequencies is known. Use NystroemFeatures, which takes "
                "every kernel."
            )
        # The map uses only the number of inputs of the points.
        return FORMS[self.form, bool(self.orthogonal)](kernel, X, self._n_columns, seed, budget)


def with_orthogonal_frequencies() -> FourierFeatures:
    """The features "orthogonal"."""
    return FourierFeatures(orthogonal=True)


def with_phases() -> FourierFeatures:
    """The features "fourier_cosine"."""
    return FourierFeatures(form="cosine")


class FourierTransformer(FeatureMapTransformer):
    """Base of transformers whose features are blocks of cosines and sines, made by the class `_map`."""

    __init__ = with_parameters(FeatureMapTransformer.__init__, form="pair")

    _map: Any

    def _check_parameters(self) -> None:
        super()._check_parameters()
        UnknownNameError.check("form", self.form, ("pair", "cosine"))

    @property
    def _map_parameters(self) -> dict[str, Any]:
        return {"form": self.form}

    def _make_map(self, X: Any, kernel: Kernel, seed: int, device: arrays.Device, budget: int) -> features.FeatureMap:
        block = -(-self._n_columns // COLUMNS_OF_FREQUENCY[self.form])
        size, cache = min(MOST_FREQUENCIES, block), max(2**20, budget // 8)
        return self._map(kernel, X.shape[1], size, seed, form=self.form, cache_bytes=cache)
