"""Random kitchen sinks: bounded weights on random units, found by convex optimization."""

from typing import Any, ClassVar

from ...errors import ShallowsError
from ...fitting.feature_blocks import FittedOnFeatures
from ...fitting.fit_call import FitCall
from ...fitting.kitchen_sinks import fit_kitchen_sinks
from ...fitting.machine import Options
from ...fitting.rows import TrainingSet
from ...utils.checks import check_positive, check_whole, refuse_time_limit
from ..constructors import stores_parameters, with_parameters
from ..feature_maps import specification
from ..feature_maps.random_units import HiddenUnits
from ..predictions import SquareLossLabels, ValuePredictions
from .transformed_estimator import TransformedEstimator

UNBOUNDED = "multiquadric"
"""The only activation whose units grow with the distance."""


def cosine_units() -> HiddenUnits:
    """The default units."""
    return HiddenUnits("cosine")


UNITS = {"hidden_units": cosine_units}
"""The only named features."""


class RandomKitchenSinks(TransformedEstimator):
    """Base of the classifier and the regressor: parameters and fit of random kitchen sinks."""

    _named: ClassVar[Any] = {"features": UNITS}
    _other_names: ClassVar[Any] = {
        "C": ("bound", "the same number"),
        "activation": ("features", "such as features=HiddenUnits('cosine')"),
    }

    @stores_parameters
    def __init__(
        self,
        features: str | HiddenUnits = "hidden_units",
        *,
        bound: float = 100.0,
        tol: float = 1e-6,
        max_iterations: int = 1000,
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Set the parameters.

        Parameters
        ----------
        features : "hidden_units" or HiddenUnits, default="hidden_units"
            One layer of bounded units; the name means 1,000 cosines cos(wᵀx + b) with the median distance as bandwidth.
            Activations are "cosine", "sigmoid", "tanh", "gaussian" and "hard_limit"; seed and options are not used.
        bound : float, default=100.0
            C: the weight of a unit is at most C/K, for targets −1 and +1 or divided by their deviation.
        tol : float, default=1e-6
            Stop when no component of the projected gradient of the mean squared error is larger.
        max_iterations : int, default=1000
            Most iterations of the optimization.
        random_state : int, RandomState or None, default=None
        options : Options, optional
            Device, memory and precision of the units; weights are found in float64 on a CPU.
        """

    def _check_parameters(self) -> None:
        super()._check_parameters()
        named = isinstance(self.features, str) and self.features == "hidden_units"
        if not (named or isinstance(self.features, HiddenUnits)):
            raise ShallowsError(
                f"features must be 'hidden_units' or HiddenUnits(...), whose units are bounded; got {self.features!r}."
            )
        units = self._units()
        units._check_parameters()
        if units.activation == UNBOUNDED:
            raise ShallowsError("Random kitchen sinks need bounded units, and units of 'multiquadric' are not bounded.")
        if isinstance(units.n_units, (tuple, list)):
            raise ShallowsError("n_units must be a whole number: random kitchen sinks have one layer.")
        check_positive(self, "bound")
        check_positive(self, "tol", or_zero=True)
        check_whole(self, "max_iterations")
        refuse_time_limit(self, "take fewer units, or fewer max_iterations.")

    def _units(self) -> HiddenUnits:
        return cosine_units() if isinstance(self.features, str) else self.features

    def _train(self, rows: TrainingSet, call: FitCall) -> FittedOnFeatures:
        return fit_kitchen_sinks(
            rows,
            of_classes=not self._y_is_numeric,
            transformer=specification.transformer_of(self._units(), call.seed, self.options),
            bound=self.bound,
            tol=self.tol,
            max_iterations=self.max_iterations,
            calibrates=getattr(self, "calibration", None) is not None,
            call=call,
        )


class RandomKitchenSinksClassifier(SquareLossLabels, RandomKitchenSinks):
    """Classification by a sum of random units with bounded weights: least squares on ±1 targets.

    The units are drawn and not trained. Minimized is the mean of (Σₖ αₖ φ(x; wₖ) − y)² subject to |αₖ| ≤ C/K, which is
    convex. The bound replaces a ridge; if no weight reaches it, the fit is least squares.

    Parameters
    ----------
    calibration : {"auto", None}, default="auto"
        "auto" learns probabilities from outputs of a second solution, without a fifth of the rows (200 to 1,000), on
        these rows. None leaves the outputs as they are, as published.
    class_weight : dict or "balanced", optional

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (n_outputs, n_units), α in the units of the targets
    transformer_ : HiddenUnits
    n_iter_ : int, of the slowest output
    report_ : dict
        ``at_bound`` is the share of the weights that are at the bound.
    options_ : Options

    See Also
    --------
    FeatureRidgeClassifier : units or other features with a ridge instead of bounds.

    References
    ----------
    A. Rahimi and B. Recht (2009), "Weighted sums of random kitchen sinks: replacing minimization with randomization in
    learning", NIPS 21.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.kernel_approximation import HiddenUnits
    >>> from shallows.svm import RandomKitchenSinksClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> units = HiddenUnits("cosine", n_units=300)
    >>> model = RandomKitchenSinksClassifier(units, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.9)
    True
    """

    __init__ = with_parameters(RandomKitchenSinks.__init__, calibration="auto", class_weight=None)


class RandomKitchenSinksRegressor(ValuePredictions, RandomKitchenSinks):
    """Regression by a sum of random units with bounded weights, as in `RandomKitchenSinksClassifier`.

    The fit centers the targets and divides them by their deviation; ``intercept_`` is their mean.
    """
