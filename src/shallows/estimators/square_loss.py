"""Estimators of the square loss: what their fits and predictions share, and labels and probabilities of classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from .. import arrays, training
from ..arrays.user_arrays import follows_input
from ..fitting.feature_blocks import FittedOnFeatures
from ..fitting.rows import TrainingSet
from ..fitting.square_targets import SquareClassTargets
from ..models.centring import check_scores
from ..models.functions import KernelSum
from ..ranks import ALONE, Alone
from .base import Estimator, keeps_model_on_failure, print_progress


class LeastSquaresEstimator(Estimator):
    """Base of the estimators whose model is a sum of kernels, or a function of features, and whose fit has epochs."""

    _prediction_share = 2
    """A prediction may use one part in this many of the memory."""

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
            Memory maps are read block by block. Sparse rows with many columns stay sparse.
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Factors wᵢ of the squared errors; rows of weight zero are left out. With a given ``alpha``, ten
            times the weights mean a tenth of the regularization; with "auto", only their ratios matter.
        observers : sequence of shallows.training.Observer
            Called after every batch and epoch, such as `Progress` or `Curve`. An iteration of a solver is an epoch.
        checkpoint : shallows.training.Checkpoint, optional
            Continue from this file if it exists, and keep it up to date.

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
            If the given step is too large.
        """
        return self._fit(X, y, sample_weight, observers, checkpoint, ALONE)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        observers: Sequence[training.Observer],
        checkpoint: training.Checkpoint | None,
        ranks: Alone,
    ) -> Self:
        """Fit with one process, or with several, each of which calls this."""
        self._check_parameters()
        rows = self._validated_training_set(X, y, sample_weight)
        found = self._train(rows, observers, checkpoint, ranks)
        for name in ("intercept_", "bandwidth_", "step_size_", "validation_scores_", "best_validation_score_"):
            vars(self).pop(name, None)  # of a fit with other parameters
        model, self._model, self._targets = found.model, found.model, found.targets
        if isinstance(found.targets, SquareClassTargets):
            self.classes_ = found.targets.classes
        else:
            self.intercept_ = found.targets.intercept
        if isinstance(model, KernelSum):
            self.dual_coef_, self.support_, self.bandwidth_ = model.coefficients, found.support, model.kernel.bandwidth
        else:
            self.coef_ = model.coefficients.T
            if found.bandwidth is not None:
                self.bandwidth_ = found.bandwidth
        self._set_course(found.run)
        if "step_size" in found.report:
            self.step_size_ = found.report["step_size"]
        self._ended, self.report_ = found.ended, {**found.report, "timings": found.seconds}
        return self

    def _train(self, rows: TrainingSet, observers: Sequence[training.Observer], checkpoint: Any, ranks: Alone) -> Any:
        """Call the function of `shallows.fitting` with the parameters; every subclass defines this."""
        raise NotImplementedError

    def _raw_predict(self, X: Any) -> np.ndarray:
        """Outputs in the units of the targets, shape (m, c), for checked X."""
        device = arrays.resolve_device(self._options().device)
        budget = self._options().prediction_budget(device, share=self._prediction_share)
        with print_progress(self):
            scores = self._model.scores(X, device, budget)
        check_scores(scores, X)
        return self._targets.unscale(scores)


class TransformedEstimator(Estimator):
    """Base of the estimators whose model is a linear function of a transformer's features, solved at once."""

    _model: Any

    @keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the features and then the coefficients.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Factors of the squared errors.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, no table of numbers, or one class only.
        ShallowsError
            A parameter out of its range.
        """
        self._check_parameters()
        rows = self._validated_training_set(X, y, sample_weight)
        self._store(self._train(rows, self._seed()))
        return self

    def _train(self, rows: TrainingSet, seed: int) -> Any:
        """Call the function of `shallows.fitting` with the parameters; every subclass with this `fit` defines it."""
        raise NotImplementedError

    def _store(self, found: FittedOnFeatures) -> None:
        """Set the fitted attributes."""
        vars(self).pop("intercept_", None)  # of a fit with other parameters
        model, targets = found.model, found.targets
        self._model, self._targets, self.transformer_, self.coef_ = (
            model,
            targets,
            model.transformer,
            model.coefficients,
        )
        if isinstance(targets, SquareClassTargets):
            self.classes_ = targets.classes
        else:
            self.coef_ = model.coefficients * targets.scale[:, None]
        if targets.intercept is not None:
            self.intercept_ = targets.intercept
        self.n_iter_, self.report_ = found.n_iter, {**found.report, "timings": found.seconds}

    def _raw_predict(self, X: Any) -> np.ndarray:
        """Outputs in the units of the targets, float64, shape (m, c), for checked X."""
        return self._targets.unscale(self._model.scores(X, self._options().device))


class SquareLossLabels(ClassifierMixin):
    """Labels and probabilities from outputs that approximate −1 and +1. A fit stores its targets in ``_targets``."""

    _y_is_numeric = False

    @follows_input
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        With a calibration they are logits: log-odds of the second of two classes, or one logit for each of several
        classes. Without a calibration they are the outputs of the function, which approximate +1 for the class and −1
        for the others.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        scores = self._raw_predict(self._validated(X))
        scores = self._targets.decisions(scores)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @follows_input
    def predict(self, X: Any) -> np.ndarray:
        """Class labels.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
            (n_samples, n_labels) of 0 and 1 after a fit to several labels for each example.
        """
        scores = self._raw_predict(self._validated(X))
        return self._targets.decode(scores)

    @follows_input
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of the class probabilities.

        With ``calibration="auto"``, the fit learns a sigmoid, or for several classes a linear map and the softmax, from
        outputs at training rows of functions that were fitted without these rows. If other rows show that the
        calibration makes the log loss or the accuracy worse, the fit warns and uses a simpler calibration or none.

        Without a calibration, (f + 1)/2 is clipped and normalized, because the minimizer of the square loss is
        2 P(class | x) − 1. A function that interpolates its targets is then too confident; scikit-learn's
        ``CalibratedClassifierCV`` helps.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
        """
        scores = self._raw_predict(self._validated(X))
        return self._targets.probabilities(scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
