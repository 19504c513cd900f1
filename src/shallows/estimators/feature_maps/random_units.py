"""Random units that are not trained, as transformers."""

from typing import Any

from ... import arrays, streams
from ...errors import ShallowsError, UnknownNameError
from ...features.hidden_units import ACTIVATIONS, hidden_units
from ...features.semi_random import semi_random
from ...fitting.machine import Options
from ...utils.checks import MOST, check_whole, is_whole
from ..constructors import stores_parameters
from .base import FeatureMapTransformer

MOST_ROWS = 10_000
"""Training points from which the means and deviations of layers are computed."""


class HiddenUnits(FeatureMapTransformer):
    """Hidden units with random weights that are not trained, in one or several layers.

    A linear model on them is an extreme learning machine (see `FeatureRidgeClassifier`). With cosines they are random
    Fourier features of the Gaussian kernel of bandwidth σ.

    Attributes
    ----------
    bandwidth_ : float
    feature_map_ : shallows.features.FeatureMap
    report_ : dict

    References
    ----------
    G.-B. Huang, Q.-Y. Zhu and C.-K. Siew (2006), "Extreme learning machine: theory and applications", Neurocomputing
    70.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.kernel_approximation import HiddenUnits
    >>> HiddenUnits(random_state=0).fit_transform(load_digits().data).shape
    (1797, 1000)
    """

    # For the median rule and for centered points; units have no kernel.
    kernel = "gaussian"

    @stores_parameters
    def __init__(
        self,
        activation: str = "sigmoid",
        *,
        n_units: int | tuple[int, ...] = 1000,
        bandwidth: float | str = "auto",
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Set the parameters.

        Parameters
        ----------
        activation : {"sigmoid", "tanh", "gaussian", "multiquadric", "hard_limit", "cosine"}, default="sigmoid"
            Of aᵀx + b with weights a of deviation 1/σ. "gaussian" and "multiquadric": of ‖x − a‖ with centers a with
            the training points' means and deviations.
        n_units : int or tuple of int, default=1000
            Units of the layer, or of each layer. A layer receives the standardized outputs of the layer before.
        bandwidth : float, "auto" or "median", default="auto"
            σ, in the units of X. "median": the median distance. "auto": an estimator's choice; alone, as "median".
        random_state : int, RandomState or None, default=None
        options : shallows.Options, optional
            Device, memory and precision; dtype "auto" is the dtype of X. The result is a NumPy array.
        """

    @property
    def n_features(self) -> Any:
        """Units of the last layer."""
        return self.n_units[-1] if isinstance(self.n_units, (tuple, list)) and self.n_units else self.n_units

    def _check_parameters(self) -> None:
        UnknownNameError.check("activation", self.activation, ACTIVATIONS)
        if not (self._layers and all(map(is_whole, self._layers))):
            raise ShallowsError(
                f"n_units must be a whole number of at least 1, or several of them, and at most {MOST:,}, "
                f"got {self.n_units!r}."
            )
        super()._check_parameters()

    _map, _map_name = staticmethod(hidden_units), "hidden_units"

    @property
    def _layers(self) -> tuple[int, ...]:
        return tuple(self.n_units) if isinstance(self.n_units, (tuple, list)) else (self.n_units,)

    @property
    def _map_parameters(self) -> dict[str, Any]:
        return {"activation": self.activation, "layers": self._layers}

    def _points_of_map(self, X: Any, seed: int, device: arrays.Device) -> Any:
        rows = streams.permutation(seed, "points of layers", 0, X.shape[0])[:MOST_ROWS]
        return self._centering.training_points(X, rows, device, self._dtype)[:, :-2]


class SemiRandomFeatures(FeatureMapTransformer):
    """Semi-random features: [x, 1] times the switch of each random unit. A linear model on them is the whole model.

    f(x) = (σ_s([x, 1]ᵀR) ⊙ [x, 1]ᵀW₁) W₂ has random R and trained W₁ and W₂. It is linear in their products, so a
    linear model on the n (d + 1) columns trains it, and the problem is convex.

    Attributes
    ----------
    bandwidth_ : float
    feature_map_ : shallows.features.SemiRandomMap
    report_ : dict

    References
    ----------
    K. Kawaguchi, B. Xie, V. Verma and L. Song (2018), "Deep semi-random features for nonlinear function approximation",
    AAAI 32.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.kernel_approximation import SemiRandomFeatures
    >>> SemiRandomFeatures(n_units=20, random_state=0).fit_transform(load_digits().data).shape
    (1797, 1300)
    """

    # For the median rule and for centered points; units have no kernel.
    kernel = "gaussian"

    @stores_parameters
    def __init__(
        self,
        *,
        n_units: int = 50,
        order: int = 0,
        bandwidth: float | str = "auto",
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Set the parameters.

        Parameters
        ----------
        n_units : int, default=50
            n.
        order : {0, 1, 2}, default=0
            s: the switch of a unit is z^s for z > 0, otherwise 0.
        bandwidth : float, "auto" or "median", default="auto"
            σ, in the units of X. "median": the median distance. "auto": an estimator's choice; alone, as "median".
        random_state : int, RandomState or None, default=None
        options : shallows.Options, optional
            Device, memory and precision; dtype "auto" is the dtype of X. The result is a NumPy array.
        """

    @property
    def n_features(self) -> int:
        """The parameter that is checked as the number of features."""
        return self.n_units

    def _check_parameters(self) -> None:
        check_whole(self, "n_units")
        super()._check_parameters()

    _map, _map_name = staticmethod(semi_random), "semi_random"

    @property
    def _map_parameters(self) -> dict[str, Any]:
        return {"n_units": self.n_units, "order": self.order}
