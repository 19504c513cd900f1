"""Doubly stochastic gradients as scikit-learn estimators: classification, regression, novelty detection."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, OutlierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .. import losses, training
from ..errors import ShallowsError
from .growing import GrowingModel
from .growing_doc import complete
from .parameters import keep

__all__ = ["DoublyStochasticClassifier", "DoublyStochasticNoveltyDetector", "DoublyStochasticRegressor"]


@complete
class DoublyStochasticClassifier(ClassifierMixin, GrowingModel):
    """Classification by doubly stochastic gradients: logistic regression, softmax, support vector machines.

    {summary}

    Parameters
    ----------
    loss : {"auto", "logistic", "softmax", "hinge", "squared_hinge", "multiclass_hinge", "square"} or Loss
        "auto" is the logistic loss for two classes and softmax for more. The losses of signs take a column a class,
        one against the rest.
    {parameters}

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    {attributes}
    """

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        n_iter: int | None = None,
        max_seconds: float | None = None,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Self:
        """Go on with data that stream past.

        Parameters
        ----------
        {parameters}

        {ending}
        """
        if classes is None and not hasattr(self, "_state"):
            raise ValueError(
                "classes must be passed on the first call to partial_fit: all labels that will ever come, which a "
                "first batch need not show."
            )
        return self._partial_fit(X, y, classes, sample_weight, n_iter, max_seconds, observers, checkpoint)

    def _learn_targets(self, y: Any, weights: Any, classes: Any) -> None:
        if classes is None:
            classes = self._labels(y)
        self.classes_ = np.unique(np.asarray(classes))
        if len(self.classes_) < 2:
            raise ValueError(
                f"The training labels hold one class only ({self.classes_.tolist()[0]!r}); two at least are needed."
            )

    def _check_classes(self, classes: Any) -> None:
        if not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(
                f"classes={list(np.unique(np.asarray(classes)))!r} differ from those of the first call to partial_fit, "
                f"{self.classes_.tolist()!r}."
            )

    @staticmethod
    def _labels(y: Any) -> np.ndarray:
        check_classification_targets(y)
        if type_of_target(y).startswith("multi") and np.ndim(y) == 2 and np.shape(y)[1] > 1:
            raise ValueError("y has several columns; fit one classifier for each output.")
        return column_or_1d(y, warn=True)

    def _numbers(self, y: Any) -> np.ndarray:
        """Which class each label is."""
        y = self._labels(y)
        places = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        unknown = self.classes_[places] != y
        if np.any(unknown):
            shown = np.unique(y[unknown])[:5].tolist()
            raise ValueError(
                f"Labels {shown!r} are not among the classes {self.classes_.tolist()[:20]!r}; all labels that will "
                "ever come must be given to the first partial_fit as classes."
            )
        return places

    def _encode(self, y: Any) -> np.ndarray:
        return self._make_loss().encode(self._numbers(y), len(self.classes_))

    def _codes(self, y: np.ndarray) -> np.ndarray:
        return losses.make("hinge").encode(self._numbers(y), len(self.classes_))

    def _make_loss(self) -> losses.Loss:
        if isinstance(self.loss, str) and self.loss == "auto":
            return losses.make("logistic" if len(self.classes_) == 2 else "softmax")
        return losses.make(self.loss)

    def _check_loss(self) -> None:
        loss = losses.make("logistic" if isinstance(self.loss, str) and self.loss == "auto" else self.loss)
        if not (loss.for_classes or loss.name == "square"):
            raise ShallowsError(f"The loss {loss.name!r} is none for classes; take the regressor for it.")

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        return self.classes_[np.asarray(self._problem.loss.decide(scores))]

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) for two classes, else (n_samples, n_classes)
            For two classes, positive speaks for the second.
        """
        scores = self._raw_predict(self._checked(X))
        if scores.shape[1] == 1:
            return scores[:, 0]
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, shape (n_samples,).

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        """
        return self._decode(self._raw_predict(self._checked(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, shape (n_samples, n_classes), for losses that have a link to them.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Raises
        ------
        ShallowsError
            For the losses of margins.
        """
        check_is_fitted(self)
        if not self._problem.loss.has_probabilities:
            self._problem.loss.probabilities(np.empty((0, 1)))
        return self._problem.loss.probabilities(self._raw_predict(self._checked(X)).astype(np.float64))

    def _targets_to_file(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        classes = self.classes_
        return {"classes": classes.astype(str) if classes.dtype == object else classes}, {
            "object": classes.dtype == object
        }

    def _targets_from_file(self, held: dict[str, np.ndarray], told: dict[str, Any]) -> None:
        self.classes_ = held["classes"].astype(object) if told["object"] else held["classes"]


@complete
class DoublyStochasticRegressor(RegressorMixin, MultiOutputMixin, GrowingModel):
    """Regression by doubly stochastic gradients: least squares, support vector, robust and quantile regression.

    {summary}

    Parameters
    ----------
    loss : {"auto", "square", "epsilon_insensitive", "huber", "quantile"} or Loss
        "auto" is the square loss. A loss with parameters is an object of `shallows.losses`, such as
        ``losses.Huber(delta=2.0)``; ε and δ are in the units of the targets.
    {parameters}

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets (of the first batch, for a stream), about which the function is learnt.
    {attributes}
    """

    _y_is_numeric = True

    def _learn_targets(self, y: Any, weights: Any, classes: Any) -> None:
        y = np.asarray(y, dtype=np.float64)
        self._one_column = y.ndim == 1
        y = y.reshape(len(y), -1)
        self.intercept_ = np.average(y, axis=0, weights=weights)
        # In their own units, first divided by the largest, so that no square over- or underflows.
        away = y - self.intercept_
        largest = np.abs(away).max(axis=0)
        largest = np.where(largest > 0, largest, 1.0)
        spread = largest * np.sqrt(np.average((away / largest) ** 2, axis=0, weights=weights))
        spread = np.where(spread > 0, spread, 1.0)
        # ε and δ are one number for all outputs, which therefore share one unit.
        loss = self._asked_loss()
        in_units = hasattr(loss, "epsilon") or hasattr(loss, "delta")
        self._target_scale = np.full_like(spread, spread.max()) if in_units else spread

    def _encode(self, y: Any) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        if y.shape[1] != len(self.intercept_):
            raise ValueError(f"y has {y.shape[1]} columns, and the model was begun with {len(self.intercept_)}.")
        return (y - self.intercept_) / self._target_scale

    def _codes(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1)

    def _make_loss(self) -> losses.Loss:
        loss = self._asked_loss()
        for name in ("epsilon", "delta"):
            if hasattr(loss, name):
                loss = dataclasses.replace(loss, **{name: getattr(loss, name) / float(self._target_scale[0])})
        return loss

    def _asked_loss(self) -> losses.Loss:
        return losses.make("square" if isinstance(self.loss, str) and self.loss == "auto" else self.loss)

    def _check_loss(self) -> None:
        loss = self._asked_loss()
        if loss.coding != "values":
            raise ShallowsError(f"The loss {loss.name!r} is none for numbers.")

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        return scores * self._target_scale + self.intercept_

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0] if self._one_column else scores

    def predict(self, X: Any) -> np.ndarray:
        """Values of the fitted function, shape (n_samples,) or (n_samples, n_outputs), as y was.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        """
        return self._decode(self._raw_predict(self._checked(X)))

    def _targets_to_file(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        return {"intercept": self.intercept_, "target_scale": self._target_scale}, {"one_column": self._one_column}

    def _targets_from_file(self, held: dict[str, np.ndarray], told: dict[str, Any]) -> None:
        self.intercept_, self._target_scale = held["intercept"], held["target_scale"]
        self._one_column = told["one_column"]


ROUNDING = 1000.0
"""How many units in the last place a score may be rounded by: sums of so many terms differ by fewer."""


@complete
class DoublyStochasticNoveltyDetector(OutlierMixin, GrowingModel):
    """Novelty detection by doubly stochastic gradients, after the one-class support vector machine.

    Minimises λ/2 ‖f‖² + E max(0, ρ − f)/ν − ρ. The offset ρ is always the best one for the scores at hand, the
    quantile of ν. {summary}

    Parameters
    ----------
    fraction : float, default=0.1
        ν in (0, 1]: the share of the training points that may lie outside.
    {parameters}

    Attributes
    ----------
    offset_ : float
        ρ: points with smaller scores are novel.
    {attributes}
    """

    _takes_targets = False
    # Steps of the theory: with a free step the function would grow for ever, since f and ρ scale together.
    schedule, step_size, decrease, preconditioning, damping = "theory", None, 0.0, None, 0.0

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        fraction: float = 0.1,
        method: str = "dsg",
        regularisation: float = 1.0,
        block_size: int | None = None,
        batch_size: int | None = None,
        theta_nu: float = 1.0,
        fresh: int = 1,
        reused: int = 1,
        cap: float = 2.0,
        gradient_bound: float | None = None,
        feature_variance: float | None = None,
        features: str = "pair",
        orthogonal: bool = False,
        n_iter: int | None = None,
        max_epochs: int | None = None,
        max_seconds: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        keep(self, locals())

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Self:
        """Train on all of X; y is not used.

        Parameters
        ----------
        {parameters}

        {ending}
        """
        return self._fit(X, None, sample_weight, observers, checkpoint)

    @property
    def loss(self) -> losses.Loss:
        """The loss of novelty with the fraction asked for."""
        return losses.make("novelty", fraction=self.fraction)

    @property
    def offset_(self) -> float:
        """ρ, lowered by what sums may be rounded by.

        ρ is the score of a training point, which is no novel one, in whatever order its terms are summed.
        """
        check_is_fitted(self)
        return self._lowered_offset()

    def _lowered_offset(self) -> float:
        rho = float(self._state.offset)
        return rho - ROUNDING * float(np.finfo(np.dtype(self.effective_params_["precision"])).eps) * abs(rho)

    def _make_loss(self) -> losses.Loss:
        return self.loss

    def _check_loss(self) -> None:
        self._make_loss()

    def _encode(self, y: Any) -> None:
        return None

    def _codes(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y, dtype=np.float64).reshape(-1, 1)

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        return np.where(scores[:, 0] >= float(self._state.offset), 1, -1)

    def _finish_fit(self, state: Any) -> None:
        # On the whole set, where the steps had batches of it.
        scores = state.values(self._problem, self._problem.points)
        state.targets_for(self._problem, self._problem.take(slice(0, scores.shape[0])), scores)

    def score_samples(self, X: Any) -> np.ndarray:
        """Values f(x), shape (n_samples,); the smaller, the more novel.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        """
        return self._raw_predict(self._checked(X))[:, 0]

    def decision_function(self, X: Any) -> np.ndarray:
        """Values f(x) − ρ, shape (n_samples,); negative for novel points.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """−1 for novel points and 1 for the others, shape (n_samples,).

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _targets_to_file(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        return {}, {}

    def _targets_from_file(self, held: dict[str, np.ndarray], told: dict[str, Any]) -> None:
        return
