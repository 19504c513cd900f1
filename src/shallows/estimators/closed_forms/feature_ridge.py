"""Ridge regression on explicit features: in closed form, block by block, or by EigenPro."""

from dataclasses import replace
from typing import Any, ClassVar

from ...errors import ShallowsError
from ...fitting.feature_eigenpro import fit_feature_eigenpro
from ...fitting.feature_ridge import fit_feature_ridge
from ...fitting.fit_call import FitCall, FittedFunction
from ...fitting.machine import Options
from ...fitting.metric import Metric, check_metric
from ...fitting.rows import EarlyStopping, TrainingSet
from ...models.learned_metric import LearnedMetric
from ...solvers import settings
from ...solvers.least_squares import FEATURE_RIDGE_SOLVERS
from ...spectrum.kernel_ridge_choice import is_automatic
from ...utils.checks import check_positive, is_number
from ..base import Estimator, fit_in_epochs
from ..constructors import stores_parameters, with_parameters
from ..feature_maps import specification
from ..feature_maps.specification import TRANSFORMERS
from ..predictions import SquareLossLabels, ValuePredictions
from .transformed_estimator import TransformedEstimator

OF_EARLIER_FIT = (
    *("transformer_", "bandwidth_", "intercept_", "step_size_", "losses_", "n_epochs_", "n_rollbacks_", "n_resumes_"),
    *("validation_scores_", "best_validation_score_"),
)
"""Attributes that only some solvers set."""


class FeatureRidge(TransformedEstimator):
    """Base of the classifier and the regressor: parameters and fit of ridge regression on features."""

    _share_of_block = 2
    _named: ClassVar[Any] = {"features": TRANSFORMERS, "solver": FEATURE_RIDGE_SOLVERS}

    @stores_parameters
    def __init__(
        self,
        features: Any = "fourier",
        *,
        alpha: float | str = "auto",
        n_components: int | str | None = "auto",
        metric: str | Metric | None = None,
        solver: Any = "auto",
        early_stopping: bool | EarlyStopping = False,
        warm_start: bool = False,
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Set the parameters.

        Parameters
        ----------
        features : str or transformer, default="fourier"
            A name, such as "fourier", "nystrom" or "hidden_units", or a transformer of `shallows.kernel_approximation`.
            "auto" as its bandwidth or number of features is chosen from the data; its seed and options are not used.
        alpha : float or "auto", default="auto"
            λ: minimized is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖β‖². "auto": by leave-one-out errors on some rows, together with
            the bandwidth. 0, with "feature_eigenpro" only: the end of the training regularizes.
        n_components : int, "auto" or None, default="auto"
            Leading principal components that replace the inputs. "auto" uses 200, 100 or 50 if leave-one-out errors
            show that they are better or equally good. None uses the inputs.
        metric : {"diagonal", "full", "auto"}, Metric or None, default=None
            A weight of each column, or a matrix, learned from gradients of a function with the features' kernel.
            "auto": a diagonal if it lowers the error.
        solver : str or object of `shallows.solvers`, default="auto"
            "normal_equations", "feature_block_descent" or "feature_eigenpro", or an object with parameters, such as
            ``FeatureEigenPro(rank=200)``. "auto": the first; the last if an option needs epochs.
        early_stopping : bool or EarlyStopping, default=False
            Hold out validation rows; stop when their score stops improving, and keep the model of the best epoch.
        warm_start : bool, default=False
            Continue the previous fit if only the solver's ``max_epochs`` or ``tol`` have changed.
        random_state : int, RandomState or None, default=None
        options : Options, optional
            Device, memory, precision, time limit and verbosity.
        """

    fit = fit_in_epochs

    def _train(self, rows: TrainingSet, call: FitCall) -> Any:
        solver = self._settings()
        if call.checkpoint is not None and not solver.has_epochs:
            self._refuse_without_epochs("checkpoint")
        shared: dict[str, Any] = {
            "of_classes": not self._y_is_numeric,
            "n_components": self.n_components,
            "metric": None if self.metric is None else Metric.of(self.metric),
            "regularization": self.alpha,
            "solver": solver,
            "fit_intercept": getattr(self, "fit_intercept", True),
        }
        if not solver.has_epochs:
            transformer = specification.transformer_of(self.features, call.seed, self.options)
            searches = specification.searches_bandwidth(transformer)
            return fit_feature_ridge(rows, transformer=transformer, searches=searches, call=call, **shared)
        return fit_feature_eigenpro(
            rows,
            request=specification.map_request(self.features, type(self).__name__),
            calibrates=getattr(self, "calibration", None) is not None,
            call=replace(call, parameters=self._parameters_of_fit(solver) if self.warm_start else None),
            **shared,
        )

    def _store(self, found: Any) -> None:
        self._forget(*OF_EARLIER_FIT)
        self._ended = None
        if isinstance(found, FittedFunction):
            self._model, self._targets, self.coef_ = found.model, found.targets, found.model.coefficients.T
            if found.targets.of_classes:
                self.classes_ = found.targets.classes
            if found.targets.intercept is not None:
                self.intercept_ = found.targets.intercept
            if found.report.get("bandwidth") is not None:
                self.bandwidth_ = found.report["bandwidth"]
            self._set_course(found.run)
            self.step_size_, self.alpha_ = found.run.state.step_size, found.report["alpha"]
            self._ended, self.report_ = found.ended, {**found.report, "timings": found.seconds}
        else:
            super()._store(found)
            self.alpha_ = found.alpha
            if self.transformer_.bandwidth_ is not None:
                self.bandwidth_ = self.transformer_.bandwidth_
        components = self._model.components
        self.metric_ = components.matrix if isinstance(components, LearnedMetric) else None
        self.report_ = {**self.report_, "solver": settings.name_of(self._settings(), FEATURE_RIDGE_SOLVERS)}

    def _settings(self) -> Any:
        of_auto = "feature_eigenpro" if any(self._uses_of_epochs().values()) else "normal_equations"
        return settings.resolve(
            of_auto if is_automatic(self.solver) else self.solver, FEATURE_RIDGE_SOLVERS, type(self).__name__
        )

    def _uses_of_epochs(self) -> dict[str, bool]:
        """Parameters that need a solver with epochs, and whether they are used."""
        return {
            "alpha=0": is_number(self.alpha) and self.alpha == 0,
            "early_stopping": EarlyStopping.of(self.early_stopping) is not None,
            "warm_start=True": self.warm_start,
            "calibration='auto'": getattr(self, "calibration", None) is not None,
            "max_seconds": self._options().max_seconds is not None,
        }

    def _refuse_without_epochs(self, name: str) -> None:
        able = [repr(key) for key, cls in FEATURE_RIDGE_SOLVERS.items() if cls.has_epochs]
        solver = settings.name_of(self._settings(), FEATURE_RIDGE_SOLVERS)
        raise ShallowsError(f"{name} cannot be used with solver={solver!r}. Use solver={' or '.join(able)}.")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        solver = self._settings()
        specification.check(self.features, type(self).__name__, own_maps=solver.has_epochs)
        check_positive(self, "alpha", or_zero=True, rules=("auto",))
        if self.metric is not None:
            check_metric(Metric.of(self.metric), specification.kernel_of(self.features), self.n_components)
        for name, is_used in self._uses_of_epochs().items():
            if is_used and not solver.has_epochs:
                self._refuse_without_epochs(name)

    def _raw_predict(self, X: Any) -> Any:
        return super()._raw_predict(X) if hasattr(self, "transformer_") else Estimator._raw_predict(self, X)


class FeatureRidgeClassifier(SquareLossLabels, FeatureRidge):
    """Classification by ridge regression on explicit features and ±1 targets: linear in the number of rows.

    With random Fourier features it approximates kernel ridge regression. With "hidden_units", which are random and not
    trained, it is the extreme learning machine with C = 1/λ. The solvers:

    - "normal_equations" is exact: a system with one unknown for each feature, or for each row if there are fewer rows.
      For sparse features and more than 6,000 rows it uses conjugate gradients. "auto" takes it, unless an option needs
      epochs.
    - "feature_block_descent" solves for one block of features after the other, for features that do not fit into
      memory. It needs features with dense rows.
    - "feature_eigenpro" takes stochastic gradients with a preconditioner, for many rows and features, or many outputs.
      Only this solver has epochs: ``early_stopping``, ``warm_start``, ``calibration``, checkpoints and a time limit. It
      also accepts ``features="linear"``, and the user's own objects with ``n_features`` and ``map(x)``.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Fit around the weighted mean of the targets −1 and +1, which is not regularized. False: around 0, as published.
    calibration : {"auto", None}, default=None
        "auto" learns probabilities from outputs at left-out rows, with "feature_eigenpro". None: outputs as they are.
    class_weight : dict or "balanced", optional

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    intercept_ : ndarray, shape (n_outputs,), the mean of the targets
    coef_ : ndarray, shape (n_outputs, n_features_out)
    alpha_, bandwidth_ : float
    metric_ : ndarray, shape (n_features,) or (n_features, n_features), or None
        The learned metric M, whose largest entry is 1.
    transformer_ : FeatureMapTransformer, the fitted features; not with "feature_eigenpro"
    n_iter_ : int
        1, or the iterations of conjugate gradients, the passes over blocks, or the epochs.
    losses_, validation_scores_ : list of float, with "feature_eigenpro"
        Training loss of each epoch as a share of the zero function's loss; accuracy or R² with ``early_stopping``.
    report_ : dict
        ``selection`` has the errors by which bandwidth and ridge were chosen, and which values are equally good.
    options_ : Options

    See Also
    --------
    KernelRidgeClassifier : the same loss in the space of the kernel.
    shallows.kernel_approximation : the features, which also work in a pipeline with a linear model.

    References
    ----------
    A. Rahimi and B. Recht (2007), "Random features for large-scale kernel machines", NIPS 20. G.-B. Huang, H. Zhou,
    X. Ding and R. Zhang (2012), "Extreme learning machine for regression and multiclass classification", IEEE TSMC-B
    42, for hidden units. The solvers name their own sources.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import FeatureRidgeClassifier
    >>> from shallows.kernel_approximation import FourierFeatures
    >>> from shallows.solvers import FeatureEigenPro
    >>> X, y = load_digits(return_X_y=True)
    >>> features = FourierFeatures(n_features=2000, bandwidth=20.0)
    >>> model = FeatureRidgeClassifier(features, alpha=0.1, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.94)
    True
    >>> by_steps = FeatureRidgeClassifier(features, solver=FeatureEigenPro(max_epochs=20), random_state=0)
    >>> bool(by_steps.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.94)
    True
    """

    __init__ = with_parameters(FeatureRidge.__init__, fit_intercept=True, calibration=None, class_weight=None)


class FeatureRidgeRegressor(ValuePredictions, FeatureRidge):
    """Regression by ridge regression on explicit features around the mean of the targets.

    See `FeatureRidgeClassifier` for the solvers and the attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from shallows import FeatureRidgeRegressor
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = FeatureRidgeRegressor("nystrom", random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """
