"""Classification and regression by the minimiser of a regularised risk, with any loss and by any of six solvers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ... import arrays, kernels, losses, training
from ... import features as feature_maps
from ...errors import ShallowsError
from ...fitting import leave_one_out_choice
from ...fitting.regularised_risk import FittedRisk, fit_regularised_risk
from ...fitting.rows import check_early_stopping
from ...kernels import precomputed
from ...models.centring import check_scores
from ...models.functions import FeatureFunction
from ...solvers import settings
from ...solvers.regularised import SOLVERS
from ...solvers.regularised.risk import RiskSettings
from ...utils.checks import check_positive, check_whole
from ..base import Estimator, keeps_model_on_failure
from ..constructors import stores_parameters, with_parameters
from ..predictions import LossPredictions, ValuePredictions


class RegularisedRisk(Estimator):
    """Base of the two estimators that minimise λ/2 ‖f‖² + (1/n) Σ wᵢ ℓ(f(xᵢ) + b, yᵢ) by one of the solvers."""

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: dict[str, Any] | None = None,
        features: Any = None,
        n_features: int = 512,
        loss: Any = "auto",
        solver: str = "sdca",
        solver_params: dict[str, Any] | None = None,
        regularisation: float | str | None = "auto",
        batch_size: int | None = None,
        max_epochs: int = 20,
        max_seconds: float | None = None,
        tol: float = 0.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        """Store the parameters.

        Parameters
        ----------
        kernel : str, Kernel or callable, default="gaussian"
            A name or object of `shallows.kernels`, a function of two arrays, or, without ``features``, "precomputed" (X
            is the kernel matrix, and for predictions the values of new points with all training points).
        bandwidth : float, "auto", "median" or None, default="auto"
            σ, in the units of X. "auto": the median distance, or a half, a quarter, ... of it, with the smallest
            leave-one-out error of kernel ridge regression. "median" and None: the median distance.
        kernel_params : dict, optional
            Parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
        features : str or object, optional
            None: the kernel itself. Explicit features: "fourier", "fourier_cosine", "orthogonal", "nystrom",
            "nystrom_kmeans", "rbf", "rbf_kmeans", "linear", or an object with ``map(x)`` and ``n_features``.
        n_features : int, default=512
            Columns of a named map. Pairs of cosines and sines need an even number.
        regularisation : float, "auto" or None, default="auto"
            λ. None: 1/n, which is C = 1 of a support vector machine (C = 1/(λn)). "auto": smallest leave-one-out error
            of kernel ridge regression; without a kernel as None.
        batch_size : int, optional
            m, rows of a step. None: a twentieth of the rows, from 16 to 256 with a kernel, from 8 to 64 with features.
        max_epochs : int, default=20
            Most passes over the training rows.
        max_seconds : float, optional
            Time limit of the training, without preparation and evaluation.
        tol : float, default=0.0
            Stop after an epoch whose training loss is at most this share of the zero function's loss.
        early_stopping : bool, default=False
            Hold out validation rows; stop when their score stops improving, and keep the best epoch's model.
        validation_fraction : float, default=0.1
            Share of the training rows that early stopping holds out.
        n_iter_no_change : int, default=3
            Epochs without a better validation score after which early stopping stops.
        warm_start : bool, default=False
            Continue the previous fit if data and parameters, except ``max_epochs`` and ``tol``, are unchanged.
        random_state : int, RandomState or None, default=None
            Seed of all random draws. An int gives the same model every time.
        device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
            "auto" uses a GPU if CuPy finds one.
        memory : int or str, optional
            Memory limit of the process, in bytes or as "4GB". None: a share of the free memory.
        dtype : {"auto", "float32", "float64"}, default="auto"
            Precision. "auto": float32, or float64 for up to 1,000 points.
        verbose : int, default=0
            1 shows a progress bar.
        """

    @keeps_model_on_failure
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Self:
        """Train on all of X, y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or, for values, (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Weights of the losses; only their ratios matter. Rows of weight zero are left out.
        observers : sequence of shallows.training.Observer
            Called after every batch and epoch, such as `Progress` or `Curve`.
        checkpoint : shallows.training.Checkpoint, optional
            Continue from this file if it exists, and keep it up to date.

        Raises
        ------
        ValueError, ShallowsError
            NaN or infinity, shapes that do not agree, a single class, or a parameter out of its range.
        DivergenceError
            A given ``step_size`` is too large.
        """
        self._check_parameters()
        rows, seed = self._validated_training_set(X, y, sample_weight), self._seed()
        found = fit_regularised_risk(
            rows,
            of_classes=not self._y_is_numeric,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            feature_map=self.features,
            n_features=self.n_features,
            loss=self._named_loss(),
            regularisation=self.regularisation,
            solver=self._settings(),
            solver_name=self.solver,
            fit_intercept=getattr(self, "fit_intercept", True),
            class_weight=getattr(self, "class_weight", None),
            validation_fraction=self.validation_fraction if self.early_stopping else None,
            patience=self.n_iter_no_change,
            warm=(self.get_params() if self.warm_start else None, vars(self).get("_ended")),
            seed=seed,
            options=self._options(),
            observers=observers,
            checkpoint=checkpoint,
            name=type(self).__name__,
        )
        self._store(found)
        return self

    def _store(self, found: FittedRisk) -> None:
        """Set the fitted attributes."""
        for name in ("coef_", "support_", "dual_coef_", "bandwidth_", "validation_scores_", "best_validation_score_"):
            vars(self).pop(name, None)  # of a fit with other parameters
        model, self._targets, self._model = found.model, found.targets, found.model
        self.intercept_ = found.targets.intercept
        if isinstance(model, FeatureFunction):
            self.coef_ = np.ascontiguousarray(model.coefficients.T)
        else:
            self.support_, self.dual_coef_ = found.support, model.coefficients
        if found.report["bandwidth"] is not None or found.report["kernel"] is not None:
            self.bandwidth_ = found.report["bandwidth"]
        self._set_course(found.run)
        self._ended = found.ended
        self.effective_params_, self.timings_ = found.report, found.seconds

    def _settings(self) -> RiskSettings:
        """The settings of the solver."""
        shared = {"batch_size": self.batch_size, "max_epochs": self.max_epochs, "tol": self.tol}
        return settings.make(SOLVERS, self.solver, self.solver_params, **shared)

    def _named_loss(self) -> losses.Loss:
        """The loss of the parameters, in the units of y."""
        if isinstance(self.loss, str) and self.loss == "auto":
            return losses.Square() if self._y_is_numeric else SOLVERS[self.solver].default_loss
        return losses.make(self.loss)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        leave_one_out_choice.check_bandwidth(self.bandwidth)
        leave_one_out_choice.check_or_auto(self, "regularisation", optional=True)
        check_positive(self, "max_seconds")
        kernels.check_own_parameters(self.kernel, self.bandwidth, self.kernel_params)
        check_whole(self, "batch_size", optional=True)
        check_whole(self, "max_epochs", "n_features")
        check_early_stopping(self)
        feature_maps.check(self.features)
        if self.features is not None:
            precomputed.refuse(self, "Explicit features are made of points, and a kernel matrix shows none.")
        loss = self._named_loss()
        if not (loss.coding == "values" if self._y_is_numeric else loss.for_classes or loss.name == "square"):
            raise ShallowsError(f"The loss {loss.name!r} is not a loss for {type(self).__name__}.")
        method = self._settings()
        if self.features is None and method.takes == "features":
            raise ShallowsError(
                f"solver={self.solver!r} works on explicit features; give features, such as 'fourier' or 'nystrom'."
            )
        if self.features is not None and method.takes == "kernels":
            raise ShallowsError(f"solver={self.solver!r} works on the kernel itself; features must be None.")
        if reason := method.why_not(loss):
            raise ShallowsError(f"solver={self.solver!r} does not take the loss {loss.name!r}: {reason}.")

    def _raw_predict(self, X: Any) -> np.ndarray:
        """Outputs in the units of the targets, shape (m, c), for checked X."""
        device = arrays.resolve_device(self.device)
        scores = self._model.scores(X, device, self._options().prediction_budget(device))
        check_scores(scores, X)
        return self._targets.unscale(scores)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")


class RegularisedRiskClassifier(LossPredictions, RegularisedRisk):
    """Classification by a regularized risk, λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ) + b, yᵢ), on kernels or features.

    Parameters
    ----------
    loss : str or Loss, default="auto"
        "hinge", "squared_hinge", "logistic", "softmax", "multiclass_hinge" or "square", if the solver allows it.
        "auto": logistic for "sag", "saga" and "svrg", otherwise the hinge.
    solver : {"sdca", "pegasos", "norma", "sag", "saga", "svrg"}, default="sdca"
        "sdca": dual coordinate ascent. "pegasos": subgradient steps 1/(λt). "norma": gradient steps in the kernel's
        space. "sag", "saga", "svrg": gradients with reduced variance, for smooth losses on features.
    solver_params : dict, optional
        "pegasos": ``projection``, ``averaging``; "norma": ``step_size``, ``schedule``, ``truncation``; "sag", "saga":
        ``step_size``; "svrg": ``step_size``, ``period``. See the method guide.
    fit_intercept : bool, default=True
        Add an intercept b from the class frequencies, which is not regularized. The published methods have none.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class (1 for missing classes). "balanced": n/(k nⱼ) for class j.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    intercept_ : ndarray, shape (n_outputs,)
        b, the constant with the least loss on the targets.
    dual_coef_ : ndarray, shape (n_support, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``; without explicit features.
    support_ : ndarray of int
        Numbers of the training rows with nonzero coefficients; without explicit features.
    coef_ : ndarray, shape (n_outputs, n_features)
        With explicit features.
    bandwidth_, best_validation_score_ : float
    n_epochs_ : int
    losses_, validation_scores_ : list of float
        Training loss of each epoch as a share of the zero function's loss; accuracy or R² with ``early_stopping``.
    effective_params_, timings_ : dict
        Values that the library chose, with kernel, seed, precision and device; seconds of each phase.

    References
    ----------
    sdca: S. Shalev-Shwartz and T. Zhang (2013), "Stochastic dual coordinate ascent methods for regularized loss
    minimization", JMLR 14. pegasos: S. Shalev-Shwartz et al. (2011), "Pegasos: primal estimated sub-gradient solver for
    SVM", Mathematical Programming 127. norma: J. Kivinen, A. Smola and R. Williamson (2004), "Online learning with
    kernels", IEEE Transactions on Signal Processing 52. sag: M. Schmidt, N. Le Roux and F. Bach (2017), "Minimizing
    finite sums with the stochastic average gradient", Mathematical Programming 162. saga: A. Defazio, F. Bach and
    S. Lacoste-Julien (2014), "SAGA: a fast incremental gradient method", NIPS 27. svrg: R. Johnson and T. Zhang (2013),
    "Accelerating stochastic gradient descent using predictive variance reduction", NIPS 26.
    """

    __init__ = with_parameters(RegularisedRisk.__init__, fit_intercept=True, class_weight=None)

    def _store(self, found: FittedRisk) -> None:
        super()._store(found)
        self.classes_ = found.targets.classes


class RegularisedRiskRegressor(ValuePredictions, RegularisedRisk):
    """Regression by a regularized risk, λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ), yᵢ − b), on kernels or features.

    With "sdca", a chosen λ is at least 1/n, because smaller ones need more epochs.

    Parameters
    ----------
    loss : str or Loss, default="auto"
        "square" ("auto"), "huber", "epsilon_insensitive" or "quantile"; "sag", "saga", "svrg": only the first two.
    solver : {"sdca", "norma", "sag", "saga", "svrg"}, default="sdca"
        As in `RegularisedRiskClassifier`.
    solver_params : dict, optional
        As in `RegularisedRiskClassifier`.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        b, the constant with the least loss on the targets.
    dual_coef_ : ndarray, shape (n_support, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``; without explicit features.
    support_ : ndarray of int
        Numbers of the training rows with nonzero coefficients; without explicit features.
    coef_ : ndarray, shape (n_outputs, n_features)
        With explicit features.
    bandwidth_, best_validation_score_ : float
    n_epochs_ : int
    losses_, validation_scores_ : list of float
        Training loss of each epoch as a share of the zero function's loss; accuracy or R² with ``early_stopping``.
    effective_params_, timings_ : dict
        Values that the library chose, with kernel, seed, precision and device; seconds of each phase.

    References: see `RegularisedRiskClassifier`.
    """
