"""Semi-random features, as a transformer."""

from __future__ import annotations

from typing import Any

from ... import arrays, features
from ...fitting.checks import check_whole
from ...kernels import Kernel
from ..parameters import stores_parameters
from .base import FeatureMapTransformer


class SemiRandomFeatures(FeatureMapTransformer):
    """Semi-random features: [x, 1] times the switch of each random unit, on which a linear model is the whole model.

    f(x) = (σ_s([x, 1]ᵀR) ⊙ [x, 1]ᵀW₁) W₂ has random R and trained W₁ and W₂. It is linear in their products, so that a
    linear model on the n_units (d + 1) columns trains it, and the problem is convex.

    Parameters
    ----------
    n_units : int, default=50
        n.
    order : {0, 1, 2}, default=0
        s: the switch of a unit is z^s for z > 0 and else 0.
    bandwidth : float, "median" or None, optional
        σ, in the units of the inputs. None and "median" take the median distance between points of a subsample.
    random_state : int, RandomState or None, default=None
        Decides the switches and the subsample. The same int gives the same features.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; "auto" takes a GPU where CuPy finds one. They are returned as a NumPy array.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means that of the training points.

    Attributes
    ----------
    bandwidth_ : float
    feature_map_ : shallows.features.SemiRandomFeatures
        The map, for centred points.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the seed, the precision and the device.

    References
    ----------
    K. Kawaguchi, B. Xie, V. Verma and L. Song (2018), "Deep semi-random features for nonlinear function approximation",
    AAAI 32.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows import SemiRandomFeatures
    >>> X, y = load_digits(return_X_y=True)
    >>> features = SemiRandomFeatures(n_units=20, random_state=0)
    >>> model = make_pipeline(features, RidgeClassifier(alpha=0.1))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9)
    True
    """

    # For the median rule and for centred points; units have no kernel.
    kernel, kernel_params = "gaussian", None

    @stores_parameters
    def __init__(
        self,
        *,
        n_units: int = 50,
        order: int = 0,
        bandwidth: float | str | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
    ): ...

    @property
    def n_features(self) -> int:
        """Checked as the number of units."""
        return self.n_units

    def _check_parameters(self) -> None:
        check_whole(self, "n_units")
        super()._check_parameters()

    def _make_map(self, X: Any, kernel: Kernel, seed: int, device: arrays.Device, budget: int) -> features.FeatureMap:
        return features.SemiRandomFeatures(X.shape[1], self.n_units, self.order, kernel.bandwidth, seed)
