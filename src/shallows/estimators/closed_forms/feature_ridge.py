"""Ridge regression on the explicit features of any transformer, in closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from sklearn.base import clone

from ... import kernels, training
from ...errors import ShallowsError
from ...fitting import leave_one_out_choice
from ...fitting.checks import check_positive, check_whole
from ...fitting.feature_ridge import fit_feature_ridge
from ...kernels import Kernel
from ...solvers import settings
from ...solvers.least_squares import FEATURE_RIDGE_SOLVERS
from ...utils.lazy_tables import LazyTable
from ..feature_maps.base import FeatureMapTransformer
from ..parameters import stores_parameters, with_parameters
from ..predictions import ValuePredictions
from ..square_loss import SquareLossLabels, TransformedEstimator

TRANSFORMERS = LazyTable(
    "feature map",
    "shallows.estimators.feature_maps",
    {
        "fourier": ".fourier_features:FourierFeatures",
        "fastfood": ".fastfood:Fastfood",
        "quasi_monte_carlo": ".quasi_monte_carlo_features:QuasiMonteCarloFeatures",
        "binning": ".random_binning:RandomBinning",
        "nystrom": ".nystroem_features:NystroemFeatures",
        "rbf": ".rbf_network:RBFNetwork",
        "polynomial": ".polynomial_features:PolynomialFeatures",
        "tensor_sketch": ".tensor_sketch:TensorSketch",
        "hidden_units": ".hidden_units:HiddenUnits",
        "semi_random": ".semi_random_features:SemiRandomFeatures",
    },
)
"""The transformers by the names of their maps."""

GROWING = ("fourier", "quasi_monte_carlo")
"""Maps of which more rows are given more features, where their number is left open."""

RANDOM = (*GROWING, "fastfood")
"""Maps whose features are drawn and do not depend on the points."""


class FeatureRidge(TransformedEstimator):
    """Base of the two estimators: parameters and fit of ridge regression on features, for classes and for values."""

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
    ): ...

    @training.keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, observers: Sequence[training.Observer] = ()) -> Self:
        """Fit the features and then the coefficients.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Factors of the squared errors.
        observers : sequence of shallows.training.Observer
            `Progress`, `Curve` and others, called after every pass over the blocks of "block_coordinate_descent".

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, no table of numbers, or one class only.
        ShallowsError
            A parameter out of its range; with "block_coordinate_descent" features whose rows are sparse, or that are
            made all at once and for which there is no room.
        """
        self._check_parameters()
        rows, seed, given = self._validated_training_set(X, y, sample_weight), self._seed(), self.features_params or {}
        has_kernel = self._is_named() and "kernel" in TRANSFORMERS[self.features]().get_params()
        found = fit_feature_ridge(
            rows,
            of_classes=not self._y_is_numeric,
            transformer=self._make_transformer(seed),
            kernel=given.get("kernel", "gaussian") if has_kernel else None,
            bandwidth=given.get("bandwidth"),
            kernel_params=given.get("kernel_params"),
            searches=self._searches(),
            grows=self._is_named() and self.features in GROWING and "n_features" not in given,
            of_landmarks=self._is_named() and self.features not in RANDOM,
            n_components=self.n_components,
            regularisation=self._ridge(),
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
        leave_one_out_choice.check_components(self)
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

    def _is_named(self) -> bool:
        return isinstance(self.features, str)

    def _make_transformer(self, seed: int) -> FeatureMapTransformer:
        """The unfitted transformer of points to features."""
        transformer = TRANSFORMERS[self.features]() if self._is_named() else clone(self.features)
        transformer._warns_of_units = False  # This estimator warns.
        known = transformer.get_params()
        options = {"random_state": seed, "device": self.device, "memory": self.memory, "dtype": self.dtype}
        given = {name: value for name, value in options.items() if name in known}
        return transformer.set_params(**given, **(self.features_params or {}))

    def _has_common_bandwidth(self) -> bool:
        made = self._make_transformer(0)
        return (made.set_params(bandwidth=None) if self._searches() else made)._has_common_bandwidth()

    def _searches(self) -> bool:
        """Whether the bandwidth is left to the training data."""
        if not self._is_named():
            return False
        given, known = self.features_params or {}, TRANSFORMERS[self.features]().get_params()
        kind = kernels.kind(given.get("kernel", known.get("kernel", "gaussian")))
        named = not isinstance(kind, Kernel) and kind.takes_bandwidth
        return "bandwidth" in known and named and leave_one_out_choice.is_automatic(given.get("bandwidth", "auto"))

    def _ridge(self) -> float | None:
        """λ; None where it is left to the training data."""
        return None if leave_one_out_choice.is_automatic(self.regularisation) else float(self.regularisation)


class FeatureRidgeClassifier(SquareLossLabels, FeatureRidge):
    """Classification by least squares with a ridge, on explicit features and ±1 targets.

    Ridge regression on explicit features, solved to the end. With random Fourier features or random binning it
    approximates kernel ridge regression in time linear in the rows. With "hidden_units", random units that are not
    trained, it is the extreme learning machine, whose C is 1/λ.

    Parameters
    ----------
    features : str or transformer, default="fourier"
        "fourier", "fastfood", "quasi_monte_carlo", "binning" (sparse), "nystrom", "rbf", "polynomial", "tensor_sketch",
        "hidden_units" or "semi_random"; or a transformer of the package, which is cloned.
    features_params : dict, optional
        Parameters of the transformer of that name, such as ``{"n_features": 500, "bandwidth": 2.0}``. For a map that is
        named and whose kernel or units have a bandwidth, "auto" chooses it from the training points, as does leaving it
        out; "median" takes the median distance. "fourier" and "quasi_monte_carlo" have 20 √n features, from 1,000 to
        5,000, where ``n_features`` is left out.
    n_components : int, "auto" or None, default="auto"
        Take so many leading principal components in the place of the inputs; they are a part of the model. "auto"
        compares all inputs with 200, 100 and 50 components by leave-one-out errors of kernel ridge regression, where
        the bandwidth is chosen, the points are dense and have enough inputs, and takes components that are better,
        or surely as good. None takes the inputs.
    regularisation : float or "auto", default="auto"
        λ: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖β‖² for the sum over all points. "auto" chooses it, and the bandwidth,
        by the leave-one-out errors on up to 1,000 rows in closed form; with 2,000 rows and 560 features of
        a kernel, or more, the bandwidth is narrower where half of the rows (at most 30,000) show it to be better.
    solver : {"direct", "block_coordinate_descent"}, default="direct"
        How the equations of the coefficients are solved.

        - "direct": through the smaller of the two systems of equations, of as many unknowns as features or as rows, or
          by conjugate gradients where the features are sparse and the rows many.
        - "block_coordinate_descent": for the coefficients of a block of features with all others held, block after
          block: D features need systems of b unknowns each in the place of one of D. Features that the memory has no
          room for are made anew, block by block, in each pass; their rows must be dense. Fewer features than rows need
          few passes.
    solver_params : dict, optional
        Parameters of the solver, by name. Of "direct" ``form``: for dense features Z, "features" computes
        (ZᵀZ + λI)⁻¹ Zᵀy, "rows" the same as Zᵀ(ZZᵀ + λI)⁻¹ y, and "auto", the default, takes the smaller system. Of
        "block_coordinate_descent" ``block_size``, the features b of a block (None: 2,048). Where features are made
        anew, a block is at least one that the map makes at a time.
    tol : float, optional
        Conjugate gradients stop when the residual is this share of the right side (None: 1e-6); blocks after a pass in
        which their gradients, each before its step, were this share of those of zero (None: 1e-4).
    max_iterations : int, optional
        The most iterations of conjugate gradients (None: 1,000) or passes over all blocks (None: 100).
    fit_intercept : bool, default=True
        Learn f about the weighted mean of the targets −1 and +1, which is not regularised: where the inputs tell
        nothing, probabilities are then the class frequencies. False learns f about 0, as the method was published.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides what is drawn of the features, and the orders of the blocks. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; systems of equations are solved in double precision on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the features; "auto" means that of the training points.
    verbose : int, default=0
        1 shows a progress bar of the passes over blocks.

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
        What the program chose where a parameter left it open, with the ridge and the form of the system solved, or the
        number of blocks and the share of the gradient that the last pass left; ``selection`` tells by which errors
        bandwidth and ridge were chosen, and what is as good.
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
    """Regression by least squares with a ridge, on explicit features and about the mean of the targets.

    Ridge regression on explicit features, solved to the end. With random Fourier features or random binning it
    approximates kernel ridge regression in time linear in the rows. With "hidden_units", random units that are not
    trained, it is the extreme learning machine, whose C is 1/λ.

    Parameters
    ----------
    features : str or transformer, default="fourier"
        "fourier", "fastfood", "quasi_monte_carlo", "binning" (sparse), "nystrom", "rbf", "polynomial", "tensor_sketch",
        "hidden_units" or "semi_random"; or a transformer of the package, which is cloned.
    features_params : dict, optional
        Parameters of the transformer of that name, such as ``{"n_features": 500, "bandwidth": 2.0}``. For a map that is
        named and whose kernel or units have a bandwidth, "auto" chooses it from the training points, as does leaving it
        out; "median" takes the median distance. "fourier" and "quasi_monte_carlo" have 20 √n features, from 1,000 to
        5,000, where ``n_features`` is left out.
    n_components : int, "auto" or None, default="auto"
        Take so many leading principal components in the place of the inputs; they are a part of the model. "auto"
        compares all inputs with 200, 100 and 50 components by leave-one-out errors of kernel ridge regression, where
        the bandwidth is chosen, the points are dense and have enough inputs, and takes components that are better,
        or surely as good. None takes the inputs.
    regularisation : float or "auto", default="auto"
        λ: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖β‖² for the sum over all points. "auto" chooses it, and the bandwidth,
        by the leave-one-out errors on up to 1,000 rows in closed form; with 2,000 rows and 560 features of
        a kernel, or more, the bandwidth is narrower where half of the rows (at most 30,000) show it to be better.
    solver : {"direct", "block_coordinate_descent"}, default="direct"
        How the equations of the coefficients are solved.

        - "direct": through the smaller of the two systems of equations, of as many unknowns as features or as rows, or
          by conjugate gradients where the features are sparse and the rows many.
        - "block_coordinate_descent": for the coefficients of a block of features with all others held, block after
          block: D features need systems of b unknowns each in the place of one of D. Features that the memory has no
          room for are made anew, block by block, in each pass; their rows must be dense. Fewer features than rows need
          few passes.
    solver_params : dict, optional
        Parameters of the solver, by name. Of "direct" ``form``: for dense features Z, "features" computes
        (ZᵀZ + λI)⁻¹ Zᵀy, "rows" the same as Zᵀ(ZZᵀ + λI)⁻¹ y, and "auto", the default, takes the smaller system. Of
        "block_coordinate_descent" ``block_size``, the features b of a block (None: 2,048). Where features are made
        anew, a block is at least one that the map makes at a time.
    tol : float, optional
        Conjugate gradients stop when the residual is this share of the right side (None: 1e-6); blocks after a pass in
        which their gradients, each before its step, were this share of those of zero (None: 1e-4).
    max_iterations : int, optional
        The most iterations of conjugate gradients (None: 1,000) or passes over all blocks (None: 100).
    random_state : int, RandomState or None, default=None
        Decides what is drawn of the features, and the orders of the blocks. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed; systems of equations are solved in double precision on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the features; "auto" means that of the training points.
    verbose : int, default=0
        1 shows a progress bar of the passes over blocks.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    coef_ : ndarray, shape (n_outputs, n_features_out)
    transformer_ : FeatureMapTransformer
        The fitted features.
    n_iter_ : int
        1, or the iterations of conjugate gradients, or the passes over blocks.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the ridge and the form of the system solved, or the
        number of blocks and the share of the gradient that the last pass left; ``selection`` tells by which errors
        bandwidth and ridge were chosen, and what is as good.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    A. Rahimi and B. Recht (2007), "Random features for large-scale kernel machines", NIPS 20. In blocks: S. Tu,
    R. Roelofs, S. Venkataraman and B. Recht (2016), "Large scale kernel learning using block coordinate descent",
    arXiv:1602.05310. On hidden units: G.-B. Huang, H. Zhou, X. Ding and R. Zhang (2012), "Extreme learning machine for
    regression and multiclass classification", IEEE Transactions on Systems, Man, and Cybernetics B 42.
    """
