"""Classification and regression by the minimizer of a regularized risk, with any loss and by any of five solvers."""

import contextlib
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ... import kernels, losses
from ...errors import ShallowsError
from ...features import MapRequest
from ...fitting.fit_call import FitCall, FittedFunction
from ...fitting.machine import Options
from ...fitting.regularized_risk import fit_regularized_risk
from ...fitting.rows import EarlyStopping, TrainingSet
from ...kernels import precomputed
from ...models.functions import FeatureFunction
from ...solvers import settings
from ...solvers.regularized import SOLVERS
from ...utils.checks import check_positive
from ..base import Estimator, fit_in_epochs
from ..constructors import stores_parameters, with_parameters
from ..feature_maps.specification import TRANSFORMERS, map_request
from ..predictions import LossPredictions, ValuePredictions


class RegularizedRisk(Estimator):
    """Base of the two estimators that minimize λ/2 ‖f‖² + (1/n) Σ wᵢ ℓ(f(xᵢ) + b, yᵢ) by one of the solvers."""

    _named: ClassVar = {"kernel": kernels.KERNELS, "features": TRANSFORMERS, "solver": SOLVERS}

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str = "auto",
        features: Any = None,
        loss: Any = "auto",
        regularization: float | str | None = "auto",
        solver: Any = "sdca",
        early_stopping: Any = False,
        warm_start: bool = False,
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Store the parameters.

        Parameters
        ----------
        kernel : str, Kernel or callable, default="gaussian"
            A name or object of `shallows.kernels`, a function of two arrays, or, without ``features``, "precomputed" (X
            is the kernel matrix, and for predictions the values of new points with all training points).
        bandwidth : float, "auto" or "median", default="auto"
            σ, in the units of X. "median": the median distance. "auto": the median distance, or a half, a quarter, ...
            of it, with the smallest leave-one-out error of kernel ridge regression.
        features : str or object, optional
            None: the kernel itself. Features of the kernel: a name, such as "fourier" or "nystrom" (512 columns), or a
            transformer, such as ``NystroemFeatures(n_features=100)``. "linear": the columns of X.
        regularization : float, "auto" or None, default="auto"
            λ. None: 1/n, which is C = 1 of a support vector machine (C = 1/(λn)). "auto": smallest leave-one-out error
            of kernel ridge regression, in regression by SDCA at least 1/n; without a kernel as None.
        early_stopping : bool or EarlyStopping, default=False
            Hold out validation rows; stop when their score stops improving, and keep the best epoch's model.
        warm_start : bool, default=False
            Continue the previous fit if data and parameters, except limits of epochs and ``tol``, are unchanged.
        random_state : int, RandomState or None, default=None
        options : Options, optional
            Device, memory limit, precision, time limit and progress, see `shallows.Options`.
        """

    fit = fit_in_epochs

    def _train(self, rows: TrainingSet, call: FitCall) -> FittedFunction:
        solver = self._settings()
        return fit_regularized_risk(
            rows,
            of_classes=not self._y_is_numeric,
            request=self._map_request(),
            loss=self._named_loss(),
            regularization=self.regularization,
            solver=solver,
            solver_name=settings.name_of(solver, SOLVERS),
            fit_intercept=getattr(self, "fit_intercept", True),
            call=replace(call, parameters=self._parameters_of_fit(solver) if self.warm_start else None),
            name=type(self).__name__,
        )

    def _store(self, found: FittedFunction) -> None:
        self._forget("coef_", "support_", "dual_coef_", "bandwidth_", "validation_scores_", "best_validation_score_")
        model, self._targets, self._model = found.model, found.targets, found.model
        self.intercept_ = found.targets.intercept
        if isinstance(model, FeatureFunction):
            self.coef_ = np.ascontiguousarray(model.coefficients.T)
        else:
            self.support_, self.dual_coef_ = found.support, model.coefficients
            with contextlib.suppress(AttributeError):  # only of a linear kernel
                coefficients = model.input_coefficients()
                self.coef_ = coefficients * self._targets.scale if self._y_is_numeric else coefficients
        if found.report["bandwidth"] is not None or found.report["kernel"] is not None:
            self.bandwidth_ = found.report["bandwidth"]
        self._set_course(found.run)
        self._ended = found.ended
        self.report_ = {**found.report, "timings": found.seconds}

    def _map_request(self) -> MapRequest:
        return map_request(self.features, type(self).__name__, self.kernel, self.bandwidth)

    def _named_loss(self) -> losses.Loss:
        if isinstance(self.loss, str) and self.loss == "auto":
            return losses.Square() if self._y_is_numeric else self._settings().default_loss
        return losses.make(self.loss)

    def _takes_loss(self, loss: losses.Loss) -> bool:
        return loss.coding == "values" if self._y_is_numeric else loss.for_classes or loss.name == "square"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        solver = self._settings()
        name = settings.name_of(solver, SOLVERS)
        self._map_request()
        check_positive(self, "regularization", rules=("auto", None))
        EarlyStopping.of(self.early_stopping)
        if self.features is not None:
            precomputed.refuse(self, "Explicit features are made of points, and a kernel matrix shows none.")
        loss = self._named_loss()
        if not self._takes_loss(loss):
            known = ", ".join(repr(other) for other, cls in losses.LOSSES.items() if self._takes_loss(cls()))
            raise ShallowsError(f"The loss {loss.name!r} is not a loss for {type(self).__name__}. Its losses: {known}.")
        if self.features is None and solver.takes == "features":
            raise ShallowsError(
                f"solver={name!r} works on explicit features; give features, such as 'fourier' or 'nystrom'."
            )
        if self.features is not None and solver.takes == "kernels":
            raise ShallowsError(f"solver={name!r} works on the kernel itself; features must be None.")
        if reason := solver.why_not(loss):
            raise ShallowsError(f"solver={name!r} does not take the loss {loss.name!r}: {reason}.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")


class RegularizedRiskClassifier(LossPredictions, RegularizedRisk):
    """Classification by a regularized risk, λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ) + b, yᵢ), on kernels or features.

    Hinge, logistic and other losses. An epoch with a kernel takes n² kernel values, kept as far as memory allows; with
    ``features`` it takes n times their number, so use them from about 20,000 rows.

    Parameters
    ----------
    loss : str or Loss, default="auto"
        "hinge", "squared_hinge", "logistic", "softmax", "multiclass_hinge" or "square", if the solver allows it.
        "auto": logistic for SAG and SVRG, otherwise the hinge.
    solver : str or object, default="sdca"
        A name or object of `shallows.solvers`: `SDCA`; `Pegasos`, for losses with bounded slopes; `NORMA`, for the
        kernel itself; `SAG` and `SVRG`, for smooth losses on features.
    fit_intercept : bool, default=True
        Add an intercept b from the class frequencies, which is not regularized. The published methods have none.
    class_weight : dict or "balanced", optional

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    intercept_ : ndarray, shape (n_outputs,), the constant b with the least loss on the targets
    dual_coef_ : ndarray, shape (n_support, n_outputs), without explicit features
    support_ : ndarray of int, training rows with nonzero coefficients
    coef_ : ndarray, shape (n_outputs, n_features), with explicit features or a linear kernel
    bandwidth_, best_validation_score_ : float
    n_epochs_ : int
    losses_, validation_scores_ : list of float
        Training loss of each epoch as a share of the zero function's loss; accuracy or R² with ``early_stopping``.
    options_ : Options
    report_ : dict

    See Also
    --------
    LinearSVMClassifier : The linear case, on dense or sparse rows.
    KernelSVMClassifier : Exact support vector machines.
    KernelRidgeClassifier : The square loss, with faster solvers.

    References
    ----------
    S. Shalev-Shwartz and T. Zhang (2013), "Stochastic dual coordinate ascent methods for regularized loss
    minimization", JMLR 14. The other solvers name their own sources.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import RegularizedRiskClassifier
    >>> from shallows.solvers import SAG
    >>> X, y = load_digits(return_X_y=True)
    >>> model = RegularizedRiskClassifier(features="fourier", solver=SAG(max_epochs=10), random_state=0)
    >>> bool(model.fit(X[:1200] / 16, y[:1200]).score(X[1200:] / 16, y[1200:]) > 0.9)
    True
    """

    __init__ = with_parameters(RegularizedRisk.__init__, fit_intercept=True, class_weight=None)

    def _store(self, found: FittedFunction) -> None:
        super()._store(found)
        self.classes_ = found.targets.classes


class RegularizedRiskRegressor(ValuePredictions, RegularizedRisk):
    """Regression by a regularized risk, λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ), yᵢ − b), on kernels or features.

    Robust and quantile losses. Rows, memory, time and attributes as `RegularizedRiskClassifier`. With "sdca", a chosen
    λ is at least 1/n, because smaller ones need more epochs.

    Parameters
    ----------
    loss : str or Loss, default="auto"
        "square" ("auto"), "huber", "epsilon_insensitive" or "quantile"; SAG and SVRG: only the first two.
    solver : str or object, default="sdca"
        As in `RegularizedRiskClassifier`.

    See Also
    --------
    RegularizedRiskClassifier : The same for classes, with the references.
    KernelRidgeRegressor : The square loss, with faster solvers.

    Examples
    --------
    >>> import numpy as np
    >>> from shallows import RegularizedRiskRegressor
    >>> X = np.linspace(0.0, 6.0, 200)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> y[::20] += 5.0
    >>> model = RegularizedRiskRegressor(loss="huber", random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).mean() < 0.2)
    True
    """
