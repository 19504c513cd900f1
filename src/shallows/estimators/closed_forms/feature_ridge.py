"""Ridge regression on the explicit features of any transformer, in closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from ... import kernels, training
from ...errors import ShallowsError
from ...fitting import leave_one_out_choice
from ...fitting.choices import check_automatic
from ...fitting.feature_ridge import fit_feature_ridge
from ...kernels import Kernel
from ...solvers import settings
from ...solvers.least_squares import FEATURE_RIDGE_SOLVERS
from ...utils.checks import check_positive, check_whole
from ..base import keeps_model_on_failure
from ..constructors import stores_parameters, with_parameters
from ..feature_maps.base import FeatureMapTransformer, kernel_object
from ..feature_maps.specification import TRANSFORMERS, transformer_of
from ..predictions import ValuePredictions
from ..square_loss import SquareLossLabels, TransformedEstimator

GROWING = ("fourier", "quasi_monte_carlo")
"""Maps that have more features for more rows, if their number is not given."""

RANDOM = (*GROWING, "fastfood")
"""Maps whose features are random and do not depend on the points."""


class FeatureRidge(TransformedEstimator):
    """Base of the classifier and the regressor: parameters and fit of ridge regression on features."""

    _sums_losses = True  # λ is next to the sum of the squared errors.

    @stores_parameters
    def __init__(
        self,
        features: Any = "fourier",
        *,
        features_params: Mapping[str, Any] | None = None,
        n_components: int | str | None = "auto",
        regularisation: float | str = "auto",
        solver: str = "direct",
        solver_params: Mapping[str, Any] | None = None,
        tol: float | None = None,
        max_iterations: int | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        """Set the parameters.

        Parameters
        ----------
        features : str or transformer, default="fourier"
            "fourier", "fastfood", "quasi_monte_carlo", "binning" (sparse), "nystrom", "rbf", "polynomial",
            "tensor_sketch", "hidden_units" or "semi_random"; or a transformer of the package, which is cloned.
        features_params : dict, optional
            Parameters of the named transformer, such as ``{"n_features": 500, "bandwidth": 2.0}``. Without "bandwidth",
            or with "auto", it is chosen. Without "n_features", the Fourier maps have 20 √n, between 1,000 and 5,000.
        n_components : int, "auto" or None, default="auto"
            Leading principal components that replace the inputs in the model. "auto" uses 200, 100 or 50 if
            leave-one-out errors show that they are better or equally good. None uses the inputs.
        regularisation : float or "auto", default="auto"
            λ: minimized is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖β‖². "auto" chooses λ and the bandwidth by leave-one-out errors on
            up to 1,000 rows, and from 2,000 rows also tries narrower bandwidths on half of them (at most 30,000).
        solver : {"direct", "block_coordinate_descent"}, default="direct"
            "direct" solves the smaller of two systems, with one unknown per feature or per row.
            "block_coordinate_descent" solves for one block of features after the other.
        solver_params : dict, optional
            Of "direct": ``form``, "features", "rows" or "auto", the system that is solved. Of
            "block_coordinate_descent": ``block_size``, the features of a block (None: 2,048).
        tol : float, optional
            Relative residual of conjugate gradients (None: 1e-6), or relative gradient of a pass over blocks (None:
            1e-4).
        max_iterations : int, optional
            Most iterations of conjugate gradients (None: 1,000), or passes over all blocks (None: 100).
        random_state : int, RandomState or None, default=None
            Seed of all random draws. An int gives the same model every time.
        device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
            Where features are computed; equations are solved in float64 on a CPU. "auto" uses a GPU if available.
        memory : int or str, optional
            Memory limit of the process, in bytes or as "4GB". None: a share of the free memory.
        dtype : {"auto", "float32", "float64"}, default="auto"
            Precision of the features. "auto" uses the dtype of X.
        verbose : int, default=0
            1 shows a progress bar of the passes over blocks.
        """

    @keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, observers: Sequence[training.Observer] = ()) -> Self:
        """Fit the features and then the coefficients.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Factors of the squared errors.
        observers : sequence of shallows.training.Observer
            Called after every pass of "block_coordinate_descent", such as `Progress` or `Curve`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, no table of numbers, or one class only.
        ShallowsError
            A parameter out of its range. With "block_coordinate_descent": features with sparse rows, or features that
            can only be computed all at once and do not fit into the memory.
        """
        self._check_parameters()
        rows, seed, given = self._validated_training_set(X, y, sample_weight), self._seed(), self.features_params or {}
        named = isinstance(self.features, str)
        has_kernel = named and "kernel" in TRANSFORMERS[self.features]().get_params()
        ridge = None if leave_one_out_choice.is_automatic(self.regularisation) else float(self.regularisation)
        found = fit_feature_ridge(
            rows,
            of_classes=not self._y_is_numeric,
            transformer=self._make_transformer(seed),
            kernel=given.get("kernel", "gaussian") if has_kernel else None,
            bandwidth=given.get("bandwidth"),
            kernel_params=given.get("kernel_params"),
            searches=self._searches(),
            grows=named and self.features in GROWING and "n_features" not in given,
            of_landmarks=named and self.features not in RANDOM,
            n_components=self.n_components,
            regularisation=ridge,
            solver=self._settings(),
            fit_intercept=getattr(self, "fit_intercept", True),
            class_weight=getattr(self, "class_weight", None),
            seed=seed,
            options=self._options(),
            observers=observers,
            name=type(self).__name__,
        )
        self._store(found)
        return self

    def _settings(self) -> Any:
        """The settings of the solver."""
        shared = {name: getattr(self, name) for name in ("tol", "max_iterations") if getattr(self, name) is not None}
        return settings.make(FEATURE_RIDGE_SOLVERS, self.solver, self.solver_params, **shared)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        leave_one_out_choice.check_or_auto(self, "regularisation")
        check_automatic("n_components", self.n_components, whole=True)
        if self.tol is not None:
            check_positive(self, "tol", or_zero=True)
        check_whole(self, "max_iterations", optional=True)
        self._settings()
        if isinstance(self.features, str):
            TRANSFORMERS[self.features]
        if not isinstance(self.features, (str, FeatureMapTransformer)):
            raise ShallowsError(
                f"features must be a name or a transformer of feature maps, got {type(self.features).__name__}."
            )

    def _make_transformer(self, seed: int) -> FeatureMapTransformer:
        """The unfitted transformer of points to features."""
        given = dict(self.features_params or {})
        transformer = transformer_of(self.features)
        if "kernel_params" in given or "bandwidth" in given:
            kernel, width = given.get("kernel", transformer.kernel), given.get("bandwidth", "auto")
            own = given.pop("kernel_params", None)
            kernels.check_own_parameters(kernel, width, own)
            kernel, given["bandwidth"] = kernel_object(kernel, width, own)
            given |= {"kernel": kernel} if "kernel" in transformer.get_params() else {}
        return transformer.set_params(**given)._with_machine(seed, self._options())

    def _has_common_bandwidth(self) -> bool:
        transformer = self._make_transformer(0)
        return (transformer.set_params(bandwidth="median") if self._searches() else transformer)._has_common_bandwidth()

    def _searches(self) -> bool:
        """Whether the fit chooses the bandwidth."""
        if not isinstance(self.features, str):
            return False
        given, known = self.features_params or {}, TRANSFORMERS[self.features]().get_params()
        kind = kernels.kind(given.get("kernel", known.get("kernel", "gaussian")))
        named = not isinstance(kind, Kernel) and kind.takes_bandwidth
        return "bandwidth" in known and named and leave_one_out_choice.is_automatic(given.get("bandwidth", "auto"))


class FeatureRidgeClassifier(SquareLossLabels, FeatureRidge):
    """Classification by ridge regression on explicit features and ±1 targets, solved exactly.

    With random Fourier features or random binning it approximates kernel ridge regression in time linear in the rows.
    With "hidden_units", which are random and not trained, it is the extreme learning machine with C = 1/λ.

    "direct" uses conjugate gradients if the features are sparse and the rows many. "block_coordinate_descent" computes
    features again in each pass if they do not fit into the memory; their rows must be dense. With fewer features than
    rows it needs few passes.

    Parameters
    ----------
    fit_intercept : bool, default=True
        The function is fitted around the weighted mean of the targets −1 and +1, which is not regularized. False fits
        it around 0, as the method was published.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class (1 for missing classes). "balanced": n/(k nⱼ) for class j.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    coef_ : ndarray, shape (n_outputs, n_features_out)
    transformer_ : FeatureMapTransformer
        The fitted features.
    n_iter_ : int
        1, or the iterations of conjugate gradients, or the passes over blocks.
    effective_params_ : dict
        Values that the library chose, and how the system was solved. ``selection`` has the errors by which bandwidth
        and ridge were chosen, and which values are equally good.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    A. Rahimi and B. Recht (2007), "Random features for large-scale kernel machines", NIPS 20. In blocks: S. Tu,
    R. Roelofs, S. Venkataraman and B. Recht (2016), "Large scale kernel learning using block coordinate descent",
    arXiv:1602.05310. On hidden units: G.-B. Huang, H. Zhou, X. Ding and R. Zhang (2012), "Extreme learning machine for
    regression and multiclass classification", IEEE Transactions on Systems, Man, and Cybernetics B 42.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import FeatureRidgeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> options = {"n_features": 1000, "bandwidth": 20.0}
    >>> model = FeatureRidgeClassifier(features_params=options, regularisation=0.1, random_state=0)
    >>> bool(model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.94)
    True
    >>> extreme_learning_machine = FeatureRidgeClassifier("hidden_units", random_state=0).fit(X[:1200], y[:1200])
    >>> bool(extreme_learning_machine.score(X[1200:], y[1200:]) > 0.9)
    True
    """

    __init__ = with_parameters(FeatureRidge.__init__, fit_intercept=True, class_weight=None)


class FeatureRidgeRegressor(ValuePredictions, FeatureRidge):
    """Regression by ridge regression on explicit features around the mean of the targets, solved exactly.

    See `FeatureRidgeClassifier` for the solvers.

    The attributes are those of `FeatureRidgeClassifier`, without ``classes_``.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    """
