"""Random kitchen sinks: bounded weights on random units, found by convex optimisation."""

from __future__ import annotations

from typing import Any

from ...errors import ShallowsError
from ...fitting.choices import check_automatic
from ...fitting.feature_blocks import FittedOnFeatures
from ...fitting.kitchen_sinks import fit_kitchen_sinks
from ...fitting.rows import TrainingSet
from ...utils.checks import check_positive, check_whole
from ..constructors import stores_parameters, with_parameters
from ..feature_maps.random_units import HiddenUnits, check_units
from ..predictions import ValuePredictions
from ..square_loss import SquareLossLabels, TransformedEstimator

UNBOUNDED = "multiquadric"
"""The only activation whose units grow with the distance."""


class RandomKitchenSinks(TransformedEstimator):
    """Base of the classifier and the regressor: parameters and fit of random kitchen sinks."""

    @stores_parameters
    def __init__(
        self,
        activation: str = "cosine",
        *,
        n_units: int = 1000,
        C: float = 100.0,
        bandwidth: float | str | None = None,
        tol: float = 1e-6,
        max_iterations: int = 1000,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        """Set the parameters.

        Parameters
        ----------
        activation : {"cosine", "sigmoid", "tanh", "gaussian", "hard_limit"}, default="cosine"
            Of the units, bounded by 1: cos(wᵀx + b) and similar with weights w of deviation 1/σ, or exp(−b ‖x − w‖²).
        n_units : int, default=1000
            K.
        C : float, default=100.0
            The weight of a unit is at most C/K, for targets −1 and +1 or divided by their deviation.
        bandwidth : float, "median" or None, optional
            σ, in the units of X. None and "median": the median distance between points of a subsample.
        tol : float, default=1e-6
            Stop when no component of the projected gradient of the mean squared error is larger.
        max_iterations : int, default=1000
            Most iterations of the optimization.
        random_state : int, RandomState or None, default=None
            Seed of all random draws. An int gives the same model every time.
        device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
            Where units are computed; weights are found in float64 on a CPU. "auto" uses a GPU if available.
        memory : int or str, optional
            Memory limit of the process, in bytes or as "4GB". None: a share of the free memory.
        dtype : {"auto", "float32", "float64"}, default="auto"
            Precision of the units. "auto" uses the dtype of X.
        verbose : int, default=0
            Without effect.
        """

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_units(self.activation, self.n_units)
        if self.activation == UNBOUNDED:
            raise ShallowsError("Random kitchen sinks need bounded units, and units of 'multiquadric' are not bounded.")
        if isinstance(self.n_units, (tuple, list)):
            raise ShallowsError("n_units must be a whole number: random kitchen sinks have one layer.")
        check_positive(self, "C")
        check_positive(self, "tol", or_zero=True)
        check_whole(self, "max_iterations")

    def _train(self, rows: TrainingSet, seed: int) -> FittedOnFeatures:
        width = "median" if self.bandwidth is None else self.bandwidth
        units = HiddenUnits(self.activation, n_units=self.n_units, bandwidth=width)
        units._with_machine(seed, self._options())
        units._warns_of_units = False  # This estimator warns.
        return fit_kitchen_sinks(
            rows,
            of_classes=not self._y_is_numeric,
            transformer=units,
            C=self.C,
            tol=self.tol,
            max_iterations=self.max_iterations,
            calibrates=getattr(self, "calibration", None) is not None,
            class_weight=getattr(self, "class_weight", None),
            seed=seed,
            options=self._options(),
        )


class RandomKitchenSinksClassifier(SquareLossLabels, RandomKitchenSinks):
    """Classification by a sum of random units with bounded weights: least squares on ±1 targets.

    The units are drawn and not trained. Minimized is the mean of (Σₖ αₖ φ(x; wₖ) − y)² subject to |αₖ| ≤ C/K, which is
    convex. The bound replaces a ridge; with a C that no weight reaches, the fit is least squares.

    Parameters
    ----------
    calibration : {"auto", None}, default="auto"
        "auto" learns probabilities from outputs of a second solution, without a fifth of the rows (200 to 1,000), on
        these rows. None leaves the outputs as they are, as published.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class (1 for missing classes). "balanced": n/(k nⱼ) for class j.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (n_outputs, n_units)
        α, in the units of the targets.
    transformer_ : HiddenUnits
        The units.
    n_iter_ : int
        Iterations of the optimization, of the slowest output.
    effective_params_ : dict
        Values that the library chose, and ``at_bound``, the share of the weights that are at the bound.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    A. Rahimi and B. Recht (2009), "Weighted sums of random kitchen sinks: replacing minimization with randomization in
    learning", NIPS 21.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import RandomKitchenSinksClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = RandomKitchenSinksClassifier(n_units=300, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.9)
    True
    """

    __init__ = with_parameters(RandomKitchenSinks.__init__, calibration="auto", class_weight=None)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_automatic("calibration", self.calibration)


class RandomKitchenSinksRegressor(ValuePredictions, RandomKitchenSinks):
    """Regression by a sum of random units with bounded weights, as in `RandomKitchenSinksClassifier`.

    The fit centers the targets and divides them by their deviation.

    The attributes are those of `RandomKitchenSinksClassifier`, with ``intercept_`` instead of ``classes_``.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    """
