"""Classification and regression by the minimiser of a regularised risk, with any loss and by any of six solvers."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from ... import arrays, kernels, losses, training
from ... import features as feature_maps
from ...errors import ShallowsError
from ...fitting import leave_one_out_choice
from ...fitting.checks import check_positive, check_whole
from ...fitting.regularised_risk import FittedRisk, fit_regularised_risk
from ...fitting.rows import check_early_stopping
from ...kernels import precomputed
from ...models.centring import check_scores
from ...models.functions import FeatureFunction
from ...solvers import settings
from ...solvers.regularised import SOLVERS
from ...solvers.regularised.risk import RiskSettings
from ..base import Estimator
from ..constructors import stores_parameters, with_parameters
from ..input_checks import follows_input
from ..predictions import LabelPredictions, ValuePredictions, has_probabilities


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
    ): ...

    @training.keeps_model_on_failure
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
            Weights of the losses, in any unit; rows of weight zero are left out.
        observers : sequence of shallows.training.Observer
            `Progress`, `Curve` and others, called after every batch and epoch.
        checkpoint : shallows.training.Checkpoint, optional
            Go on from it if it exists, and keep it up to date.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, one class only.
        ShallowsError
            A parameter out of its range.
        DivergenceError
            With a ``step_size`` of the user's that is too large.
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
            warm=(self._warm_start_parameters(), vars(self).get("_ended")),
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
        """The loss that the parameters name, in the user's units."""
        if isinstance(self.loss, str) and self.loss == "auto":
            return losses.Square() if self._y_is_numeric else SOLVERS[self.solver].default_loss
        return losses.make(self.loss)

    def _fitted_loss(self) -> losses.Loss:
        """The loss of the model, or before a fit that of the parameters."""
        fitted = vars(self).get("_targets")
        return self._named_loss() if fitted is None else fitted.loss

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
            raise ShallowsError(f"The loss {loss.name!r} is none for {type(self).__name__}.")
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

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        return self._targets.decode(scores)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")


class RegularisedRiskClassifier(LabelPredictions, RegularisedRisk):
    """Classification by a regularised risk, λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ) + b, yᵢ), on kernels or features.

    b is an intercept that is not regularised, see ``fit_intercept``.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or, where there are no
        explicit features, "precomputed": X is then the kernel matrix in a fit, and the values of new points with all
        training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points and the halves, quarters, ... of it, the one with the smallest leave-one-out error of kernel ridge
        regression on 400 to 1,000 training rows; a wider kernel would need more epochs. "median" and None take the
        median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
    features : str or object, optional
        None works with the kernel itself. Else with explicit features of it: "fourier" (cosines and sines of random
        frequencies), "fourier_cosine", "orthogonal", "nystrom", "nystrom_kmeans", "rbf", "rbf_kmeans", "linear" (the
        inputs and a constant), or an object with ``map(x)`` and ``n_features``.
    n_features : int, default=512
        Columns of a named map; of cosines and sines in pairs an odd number becomes the next even one.
    loss : str or Loss, default="auto"
        "hinge", "squared_hinge", "logistic", "softmax", "multiclass_hinge" or "square", as far as the solver takes it:
        "sdca" has no "softmax" and "multiclass_hinge". "auto" is the logistic loss for "sag", "saga" and "svrg", and
        the hinge for the others.
    solver : {"sdca", "pegasos", "norma", "sag", "saga", "svrg"}, default="sdca"
        How the risk is minimised, in steps on batches of ``batch_size`` rows.

        - "sdca": stochastic dual coordinate ascent. Each dual variable is set to its best value in turn; there is no
          step size.
        - "pegasos": subgradient steps of 1/(λt), for losses with bounded slopes, "hinge", "multiclass_hinge",
          "logistic" and "softmax".
        - "norma": stochastic gradient steps in the space of the kernel, for all losses; takes no explicit features.
        - "sag", "saga": gradients averaged over a table of the latest of each example, for smooth losses on explicit
          features.
        - "svrg": gradients whose variance is reduced by a full gradient now and then, for the same.
    solver_params : dict, optional
        Parameters of the solver, by name.

        - "pegasos": ``projection`` (False), whether f is projected after every step onto the ball in which the optimum
          lies, λ‖f‖² at most the mean loss of f = 0 (without an intercept ‖f‖ ≤ 1/√λ for the hinge, for each of several
          classes); ``averaging`` (False), whether the model is the mean of the iterates, later ones with more weight,
          which is much better after few epochs than the last one.
        - "norma": ``step_size`` η₁ (None: 1/(M√(λκ)) for a loss of classes with slopes of at most M, divided by √T in
          the constant schedule of T steps; the reciprocal of the curvature of a batch for other losses; 1/λ in the
          inverse schedule. A loss of values with kinks counts as curved as a square with the slope M at the mean
          distance from the intercept); ``schedule``, η_t = η₁/√t ("root", the default), η₁ ("constant") or η₁/t
          ("inverse"); ``truncation`` (None), the number of examples after which terms of the function are dropped.
        - "sag", "saga", "svrg": ``step_size`` η, for the mean over a batch (None: 1/L for "sag", as its authors
          recommend, 1/(3L) for "saga" and 1/(6L) for "svrg", with the smoothness L that is measured on batches). "svrg"
          has ``period`` (2.0) as well, the passes over the data between two full gradients, each of which costs a pass
          of its own that is not counted as an epoch.
    regularisation : float, "auto" or None, default="auto"
        λ. "auto" takes that of kernel ridge regression with the smallest leave-one-out error on the rows that the
        bandwidth is chosen with, and without a kernel does as None. None takes 1/n, which is C = 1 of a support vector
        machine; C in general is 1/(λn).
    fit_intercept : bool, default=True
        Learn f about an intercept b, which is not regularised: a constant score from the weighted class frequencies
        alone. That is their log-odds for "logistic", their logarithms for "softmax", and the mean of the coded targets
        for the other losses. Where the inputs tell nothing, probabilities are then the frequencies. False learns f
        about 0, as the method was published.
    batch_size : int, optional
        m, the rows of a step. None takes a twentieth of them: 16 to 256 with a kernel, 8 to 64
        with features.
    max_epochs : int, default=20
        The most passes over the training data.
    max_seconds : float, optional
        The most seconds of training. These include kernel values and features, but not preparation, landmarks and
        evaluation.
    tol : float, default=0.0
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the training rows (of each class alike), and stop when their score has not
        become better for ``n_iter_no_change`` epochs. The model of the best epoch is the one that is kept.
    validation_fraction : float, default=0.1
        The share of the training rows that early stopping holds out.
    n_iter_no_change : int, default=3
        Epochs without a better validation score after which early stopping ends the training.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the order of the rows, random features and landmarks. The same int gives the
        same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    intercept_ : ndarray, shape (n_outputs,)
        b, the constant with the least loss on the targets: their mean for "square".
    dual_coef_ : ndarray, shape (n_support, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``; without explicit features.
    support_ : ndarray of int
        Numbers of the training rows with coefficients other than zero; without explicit features.
    coef_ : ndarray, shape (n_outputs, n_features)
        With explicit features.
    bandwidth_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step.
    validation_scores_ : list of float
        With ``early_stopping`` only: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit; ``eigensystem`` is the choice of landmarks and their map.

    References
    ----------
    sdca: S. Shalev-Shwartz and T. Zhang (2013), "Stochastic dual coordinate ascent methods for regularized loss
    minimization", Journal of Machine Learning Research 14. pegasos: S. Shalev-Shwartz, Y. Singer, N. Srebro and
    A. Cotter (2011), "Pegasos: primal estimated sub-gradient solver for SVM", Mathematical Programming 127. norma:
    J. Kivinen, A. Smola and R. Williamson (2004), "Online learning with kernels", IEEE Transactions on Signal
    Processing 52. sag: M. Schmidt, N. Le Roux and F. Bach (2017), "Minimizing finite sums with the stochastic average
    gradient", Mathematical Programming 162. saga: A. Defazio, F. Bach and S. Lacoste-Julien (2014), "SAGA: a fast
    incremental gradient method with support for non-strongly convex composite objectives", NIPS 27. svrg: R. Johnson
    and T. Zhang (2013), "Accelerating stochastic gradient descent using predictive variance reduction", NIPS 26.
    """

    __init__ = with_parameters(RegularisedRisk.__init__, fit_intercept=True, class_weight=None)
    _decode = RegularisedRisk._decode

    def _store(self, found: FittedRisk) -> None:
        super()._store(found)
        self.classes_ = found.targets.classes

    @follows_input
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) for two classes, else (n_samples, n_classes)
            (n_samples, n_labels) after a fit to several labels for each example.
        """
        scores = self._raw_predict(self._validated(X))
        return self._targets.decisions(scores)

    @available_if(has_probabilities)
    @follows_input
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of the class probabilities, for the losses "logistic" and "softmax".

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
            Of each label alone, after a fit to several for each example.
        """
        scores = self._raw_predict(self._validated(X))
        return self._targets.probabilities(scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with contextlib.suppress(ShallowsError):  # an unknown loss is told by the fit
            tags.classifier_tags.multi_label = self._named_loss().coding != "indicator"
        return tags


class RegularisedRiskRegressor(ValuePredictions, RegularisedRisk):
    """Regression by a regularised risk, λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ), yᵢ − b), on kernels or features.

    b is the constant of the least loss. A λ that is chosen for "sdca" is at least 1/n, for smaller ones would need more
    epochs.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or, where there are no
        explicit features, "precomputed": X is then the kernel matrix in a fit, and the values of new points with all
        training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points and the halves, quarters, ... of it, the one with the smallest leave-one-out error of kernel ridge
        regression on 400 to 1,000 training rows; a wider kernel would need more epochs. "median" and None take the
        median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
    features : str or object, optional
        None works with the kernel itself. Else with explicit features of it: "fourier" (cosines and sines of random
        frequencies), "fourier_cosine", "orthogonal", "nystrom", "nystrom_kmeans", "rbf", "rbf_kmeans", "linear" (the
        inputs and a constant), or an object with ``map(x)`` and ``n_features``.
    n_features : int, default=512
        Columns of a named map; of cosines and sines in pairs an odd number becomes the next even one.
    loss : str or Loss, default="auto"
        "square" (what "auto" is), "epsilon_insensitive", "huber" or "quantile", as far as the solver takes it: "sag",
        "saga" and "svrg" take "square" and "huber".
    solver : {"sdca", "norma", "sag", "saga", "svrg"}, default="sdca"
        How the risk is minimised, in steps on batches of ``batch_size`` rows.

        - "sdca": stochastic dual coordinate ascent. Each dual variable is set to its best value in turn; there is no
          step size.
        - "norma": stochastic gradient steps in the space of the kernel, for all losses; takes no explicit features.
        - "sag", "saga": gradients averaged over a table of the latest of each example, for smooth losses on explicit
          features.
        - "svrg": gradients whose variance is reduced by a full gradient now and then, for the same.
    solver_params : dict, optional
        Parameters of the solver, by name.

        - "norma": ``step_size`` η₁ (None: the reciprocal of the curvature of a batch, and 1/λ in the inverse
          schedule; a loss with kinks counts as curved as a square that has its largest slope at the mean distance from
          the intercept); ``schedule``, η_t = η₁/√t ("root", the default), η₁ ("constant") or η₁/t
          ("inverse"); ``truncation`` (None), the number of examples after which terms of the function are dropped.
        - "sag", "saga", "svrg": ``step_size`` η, for the mean over a batch (None: 1/L for "sag", as its authors
          recommend, 1/(3L) for "saga" and 1/(6L) for "svrg", with the smoothness L that is measured on batches). "svrg"
          has ``period`` (2.0) as well, the passes over the data between two full gradients, each of which costs a pass
          of its own that is not counted as an epoch.
    regularisation : float, "auto" or None, default="auto"
        λ. "auto" takes that of kernel ridge regression with the smallest leave-one-out error on the rows that the
        bandwidth is chosen with, and without a kernel does as None. None takes 1/n, which is C = 1 of a support vector
        machine; C in general is 1/(λn).
    batch_size : int, optional
        m, the rows of a step. None takes a twentieth of them: 16 to 256 with a kernel, 8 to 64
        with features.
    max_epochs : int, default=20
        The most passes over the training data.
    max_seconds : float, optional
        The most seconds of training. These include kernel values and features, but not preparation, landmarks and
        evaluation.
    tol : float, default=0.0
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the training rows (of each class alike), and stop when their score has not
        become better for ``n_iter_no_change`` epochs. The model of the best epoch is the one that is kept.
    validation_fraction : float, default=0.1
        The share of the training rows that early stopping holds out.
    n_iter_no_change : int, default=3
        Epochs without a better validation score after which early stopping ends the training.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the order of the rows, random features and landmarks. The same int gives the
        same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        b, the constant with the least loss on the targets: their mean for "square".
    dual_coef_ : ndarray, shape (n_support, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``; without explicit features.
    support_ : ndarray of int
        Numbers of the training rows with coefficients other than zero; without explicit features.
    coef_ : ndarray, shape (n_outputs, n_features)
        With explicit features.
    bandwidth_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step.
    validation_scores_ : list of float
        With ``early_stopping`` only: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit; ``eigensystem`` is the choice of landmarks and their map.

    References
    ----------
    sdca: S. Shalev-Shwartz and T. Zhang (2013), "Stochastic dual coordinate ascent methods for regularized loss
    minimization", Journal of Machine Learning Research 14. norma:
    J. Kivinen, A. Smola and R. Williamson (2004), "Online learning with kernels", IEEE Transactions on Signal
    Processing 52. sag: M. Schmidt, N. Le Roux and F. Bach (2017), "Minimizing finite sums with the stochastic average
    gradient", Mathematical Programming 162. saga: A. Defazio, F. Bach and S. Lacoste-Julien (2014), "SAGA: a fast
    incremental gradient method with support for non-strongly convex composite objectives", NIPS 27. svrg: R. Johnson
    and T. Zhang (2013), "Accelerating stochastic gradient descent using predictive variance reduction", NIPS 26.
    """

    _decode = RegularisedRisk._decode
