"""Hidden units with random weights, as a transformer."""

from __future__ import annotations

from typing import Any

from ... import arrays, features, streams
from ...errors import ShallowsError, UnknownNameError
from ...features.hidden_units import ACTIVATIONS, stacked
from ...fitting.checks import MOST, is_whole
from ...kernels import Kernel
from ..parameters import stores_parameters
from .base import FeatureMapTransformer

MOST_ROWS = 10_000
"""Training points from which the means and deviations of layers are taken."""


def check_units(activation: Any, n_units: Any) -> None:
    """Refuse an unknown activation and layers that are no positive whole numbers.

    Raises
    ------
    ShallowsError
    """
    UnknownNameError.check("activation", activation, ACTIVATIONS)
    layers = n_units if isinstance(n_units, (tuple, list)) else (n_units,)
    if not (layers and all(map(is_whole, layers))):
        raise ShallowsError(
            f"n_units must be a whole number of at least 1, or several of them, and at most {MOST:,}, got {n_units!r}."
        )


def units_of_points(model: Any, X: Any, kernel: Kernel, seed: int, device: arrays.Device) -> features.FeatureMap:
    """The layers of a transformer with ``activation`` and ``n_units``, over at most 10,000 training points."""
    rows = streams.permutation(seed, "points of layers", 0, X.shape[0])[:MOST_ROWS]
    points = model._centring.training_points(X, rows, device, model._dtype)[:, :-2]
    layers = model.n_units if isinstance(model.n_units, (tuple, list)) else (model.n_units,)
    return stacked(model.activation, points, layers, kernel.bandwidth, seed)


class HiddenUnits(FeatureMapTransformer):
    """Hidden units with random weights that are not trained, in one layer or several.

    A linear model on them is an extreme learning machine (see `FeatureRidgeClassifier`); with cosines it is one on
    random Fourier features of the Gaussian kernel of bandwidth σ.

    Parameters
    ----------
    activation : {"sigmoid", "tanh", "gaussian", "multiquadric", "hard_limit", "cosine"}, default="sigmoid"
        Of aᵀx + b with weights a of deviation 1/σ, or for "gaussian" and "multiquadric" of ‖x − a‖ with centres a that
        have the training points' means and deviations.
    n_units : int or tuple of int, default=1000
        Units of the layer, or of each layer: a layer takes the centred and scaled outputs of the one before.
    bandwidth : float, "median" or None, optional
        σ, in the units of the inputs. None and "median" take the median distance between points of a subsample.
    random_state : int, RandomState or None, default=None
        Decides the weights and the subsample. The same int gives the same features.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; "auto" takes a GPU where CuPy finds one. They are returned as a NumPy array.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means that of the training points.

    Attributes
    ----------
    bandwidth_ : float
    feature_map_ : shallows.features.FeatureMap
        The map, for centred points.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the seed, the precision and the device.

    References
    ----------
    G.-B. Huang, Q.-Y. Zhu and C.-K. Siew (2006), "Extreme learning machine: theory and applications", Neurocomputing
    70.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from shallows import HiddenUnits
    >>> X, y = load_digits(return_X_y=True)
    >>> features = HiddenUnits(random_state=0)
    >>> model = make_pipeline(features, RidgeClassifier(alpha=0.1))
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9)
    True
    """

    # For the median rule and for centred points; units have no kernel.
    kernel, kernel_params = "gaussian", None

    @stores_parameters
    def __init__(
        self,
        activation: str = "sigmoid",
        *,
        n_units: int | tuple[int, ...] = 1000,
        bandwidth: float | str | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
    ): ...

    @property
    def n_features(self) -> Any:
        """Units of the last layer."""
        return self.n_units[-1] if isinstance(self.n_units, (tuple, list)) and self.n_units else self.n_units

    def _check_parameters(self) -> None:
        check_units(self.activation, self.n_units)
        super()._check_parameters()

    def _make_map(self, X: Any, kernel: Kernel, seed: int, device: arrays.Device, budget: int) -> features.FeatureMap:
        return units_of_points(self, X, kernel, seed, device)
