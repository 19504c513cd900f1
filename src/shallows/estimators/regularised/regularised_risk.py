"""Classification and regression by the minimiser of a regularised risk, with any loss and by any of six solvers."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ... import losses
from ...errors import ShallowsError
from .. import class_weights, leave_one_out_choice
from ..array_inputs import follows_input
from ..constructors import with_parameters
from ..label_checks import are_several, check_takes_several, check_two_classes, signs, single_column
from ..predictions import LabelPredictions, ValuePredictions, has_probabilities
from .risk_model import RiskModel


class RegularisedRiskClassifier(LabelPredictions, RiskModel):
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

    __init__ = with_parameters(RiskModel.__init__, fit_intercept=True, class_weight=None)

    def _learn_targets(self, y: np.ndarray, weights: np.ndarray | None) -> None:
        self._multilabel = are_several(y)
        if self._multilabel:
            check_takes_several(self._named_loss())
            self.classes_ = np.arange(y.shape[1])
        else:
            self.classes_ = np.unique(single_column(y))
            check_two_classes(self.classes_)
            class_weights.check(getattr(self, "class_weight", None), self.classes_)
        codes = self._encode(y)
        self.intercept_ = (
            self._named_loss().constant(codes, weights) if self.fit_intercept else np.zeros(codes.shape[1])
        )

    @property
    def _intercept(self) -> np.ndarray | None:
        return self.intercept_ if self.fit_intercept else None

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        return scores + self.intercept_.astype(scores.dtype)

    def _encode(self, y: np.ndarray) -> np.ndarray:
        if self._multilabel:
            return signs(y, len(self.classes_))
        return self._named_loss().encode(np.searchsorted(self.classes_, single_column(y)), len(self.classes_))

    _codes = _encode

    def _ridge_targets(self, y: np.ndarray) -> np.ndarray:
        if self._multilabel:
            return self._encode(y)
        return leave_one_out_choice.class_codes(np.searchsorted(self.classes_, single_column(y)), len(self.classes_))

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        if self._multilabel:
            return (scores > 0).astype(int)
        return self.classes_[self._fitted_loss().decide(scores)]

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
        if self._multilabel:
            return scores
        if scores.shape[1] == 1:
            return scores[:, 0]
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

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
        scores, loss = self._raw_predict(self._validated(X)).astype(np.float64), self._fitted_loss()
        if self._multilabel:
            return np.hstack([loss.probabilities(column[:, None])[:, 1:] for column in scores.T])
        return loss.probabilities(scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with contextlib.suppress(ShallowsError):  # an unknown loss is told by the fit
            tags.classifier_tags.multi_label = self._named_loss().coding != "indicator"
        return tags


class RegularisedRiskRegressor(ValuePredictions, RiskModel):
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

    def _learn_targets(self, y: np.ndarray, weights: np.ndarray | None) -> None:
        y = y.astype(np.float64)
        self._one_column = y.ndim == 1
        y = y.reshape(len(y), -1)
        self.intercept_ = self._named_loss().constant(y, weights)
        # One unit for all outputs, in which no square over- or underflows.
        spread = float(np.abs(y - self.intercept_).max())
        self._target_scale = spread if spread > 0 else 1.0

    def _scaled_loss(self) -> tuple[losses.Loss, float]:
        # With f = s g and targets in units of s, a loss of slopes is s times itself and one of squares s² times;
        # dividing by s² leaves λ/2 ‖g‖² with a loss of squares, and s λ with one of slopes.
        loss, unit = self._named_loss(), self._target_scale
        return loss.in_units(unit), 1.0 if loss.name in ("square", "huber") else unit

    def _encode(self, y: np.ndarray) -> np.ndarray:
        return (y.astype(np.float64).reshape(len(y), -1) - self.intercept_) / self._target_scale

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        return scores * self._target_scale + self.intercept_
