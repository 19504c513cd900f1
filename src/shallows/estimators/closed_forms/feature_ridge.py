"""Ridge regression on the explicit features of any transformer, in closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from ... import arrays, kernels, training
from ...errors import ShallowsError
from ...fitting import leave_one_out_choice
from ...fitting.narrower_bandwidth import are_classes
from ...fitting.parameter_checks import check_not_negative, check_whole, is_whole
from ...kernels import Kernel
from ...models.centring import refuse_wide
from ...solvers.solver_parameters import complete
from ...spectrum import principal_components
from ...utils.lazy_tables import LazyTable
from ..constructors import stores_parameters, with_parameters
from ..feature_maps.base import FeatureMapTransformer
from .feature_least_squares import FeatureLeastSquaresClassifier, FeatureLeastSquaresRegressor

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


SOLVERS = LazyTable(
    "solver",
    "shallows.estimators.closed_forms",
    {
        "direct": ".feature_least_squares:DIRECT",
        "block_coordinate_descent": ".feature_blocks:BLOCKS",
    },
)
"""How ridge regression on features is solved, by name."""


GROWING = ("fourier", "quasi_monte_carlo")
"""Maps of which more rows are given more features, where their number is left open."""

RANDOM = (*GROWING, "fastfood")
"""Maps whose features are drawn and do not depend on the points."""

FEATURES_PER_ROOT, MOST_FEATURES = 20.0, 5000
"""So many features times √n, and the most: beyond 62,500 rows the time of a fit grows like n."""


class _FeatureRidge:
    """Parameters and fit of ridge regression on features, for classes and for values."""

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
        return self._fit(X, y, sample_weight, observers)

    def _solve(
        self, X: Any, targets: np.ndarray, root: np.ndarray | None, ridge: float, observers: Sequence
    ) -> tuple[np.ndarray, dict[str, Any]]:
        method, parameters = SOLVERS[self.solver], complete(SOLVERS, self.solver, self.solver_params)
        if method.solve is None:
            return super()._solve(X, targets, root, ridge, observers, **parameters)
        return method.solve(self, X, targets, root, ridge, observers, **parameters)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        leave_one_out_choice.check_or_auto(self, "regularisation")
        leave_one_out_choice.check_components(self)
        if self.tol is not None:
            check_not_negative(self, "tol")
        check_whole(self, "max_iterations", optional=True)
        complete(SOLVERS, self.solver, self.solver_params)
        if isinstance(self.features, str):
            TRANSFORMERS[self.features]
        if not isinstance(self.features, (str, FeatureMapTransformer)):
            raise ShallowsError(
                f"features must be a name or a transformer of feature maps, got {type(self.features).__name__}."
            )

    def _make_transformer(self, seed: int, bandwidth: float | None = None) -> FeatureMapTransformer:
        made = TRANSFORMERS[self.features]() if isinstance(self.features, str) else clone(self.features)
        known = made.get_params()
        options = {"random_state": seed, "device": self.device, "memory": self.memory, "dtype": self.dtype}
        given = dict(self.features_params or {})
        if self._searches():
            given["bandwidth"] = bandwidth
        return made.set_params(**{name: value for name, value in options.items() if name in known}, **given)

    def _has_common_bandwidth(self) -> bool:
        return self._make_transformer(0)._has_common_bandwidth()

    def _searches(self) -> bool:
        if not isinstance(self.features, str):
            return False
        given, known = self.features_params or {}, TRANSFORMERS[self.features]().get_params()
        kind = kernels.kind(given.get("kernel", known.get("kernel", "gaussian")))
        named = not isinstance(kind, Kernel) and kind.takes_bandwidth
        return "bandwidth" in known and named and leave_one_out_choice.is_automatic(given.get("bandwidth", "auto"))

    def _components_of(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> Any:
        if is_whole(self.n_components):
            refuse_wide(X)
        given, budget = self.features_params or {}, self._working_budget(arrays.Device("cpu"))
        named = isinstance(self.features, str) and "kernel" in TRANSFORMERS[self.features]().get_params()
        kernel = given.get("kernel", "gaussian") if named else None
        if named:
            of_kernel = kernel, given.get("bandwidth"), given.get("kernel_params")
            leave_one_out_choice.warn_of_all_inputs(self.n_components, *of_kernel, X, budget)
        kernel = kernel if self._searches() else None
        of_data = X, targets, weights, self._seed(), budget
        return principal_components.components_for(self.n_components, kernel, given.get("kernel_params"), *of_data)

    def _narrowing(self, X: Any) -> dict[str, Any]:
        made = self._for_rows(self._make_transformer(self._seed()), X.shape[0]).get_params()
        if not self._searches() or "n_features" not in made or "kernel" not in made:
            return {}
        name, _, parameters = kernels.translated(made["kernel"], None, made.get("kernel_params"))
        of_points = self.features not in RANDOM
        return {
            "kernel_of": (lambda width: kernels.make(name, width, **parameters)) if of_points else None,
            "n_features": made["n_features"],
            "budget": self._working_budget(arrays.Device("cpu")),
            "of_classes": are_classes(self),
        }

    def _for_rows(self, transformer: Any, n: int) -> Any:
        wanted = isinstance(self.features, str) and self.features in GROWING
        if not wanted or "n_features" in (self.features_params or {}):
            return transformer
        least = transformer.get_params()["n_features"]
        return transformer.set_params(n_features=max(least, min(MOST_FEATURES, int(FEATURES_PER_ROOT * math.sqrt(n)))))

    def _limits(self) -> tuple[float, int]:
        method = SOLVERS[self.solver]
        return float(method.tol if self.tol is None else self.tol), int(self.max_iterations or method.max_iterations)

    def _ridge(self) -> float | None:
        return None if leave_one_out_choice.is_automatic(self.regularisation) else float(self.regularisation)


class FeatureRidgeClassifier(_FeatureRidge, FeatureLeastSquaresClassifier):
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

    __init__ = with_parameters(_FeatureRidge.__init__, fit_intercept=True, class_weight=None)


class FeatureRidgeRegressor(_FeatureRidge, FeatureLeastSquaresRegressor):
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
