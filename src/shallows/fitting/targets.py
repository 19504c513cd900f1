"""Targets as a loss takes them, and labels or values from the outputs of a fitted function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..losses import Loss
from ..losses.margins import Hinge
from .labels import are_several, check_class_weight, check_takes_several, check_two_classes, signs, single_column


@dataclass(frozen=True)
class ClassTargets:
    """Classes in the coding of a loss.

    Attributes
    ----------
    loss : Loss
    classes : ndarray, shape (k,)
        The labels; the numbers of the columns of several labels.
    several : bool
        Whether each example has several labels.
    intercept : ndarray, shape (c,)
        The constant score that functions are learned about.
    """

    loss: Loss
    classes: np.ndarray
    several: bool
    intercept: np.ndarray

    @classmethod
    def of(
        cls, y: np.ndarray, weights: np.ndarray | None, loss: Loss, *, fit_intercept: bool, class_weight: Any
    ) -> ClassTargets:
        """Learn the classes and the intercept of training labels.

        Raises
        ------
        ValueError
            If there is one class only.
        ShallowsError
            If the loss takes no several labels, or ``class_weight`` names an unknown class.
        """
        several = are_several(y)
        if several:
            check_takes_several(loss)
            classes = np.arange(y.shape[1])
        else:
            classes = np.unique(single_column(y))
            check_two_classes(classes)
            check_class_weight(class_weight, classes)
        targets = cls(loss, classes, several, np.zeros(0))
        codes = targets.encode(y)
        intercept = loss.constant(codes, weights) if fit_intercept else np.zeros(codes.shape[1])
        return cls(loss, classes, several, intercept)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Labels as the loss takes them, float64, shape (n, c)."""
        if self.several:
            return signs(y, len(self.classes))
        return self.loss.encode(np.searchsorted(self.classes, single_column(y)), len(self.classes))

    aims = encode
    """What the outputs of a function are compared with."""

    def ridge_codes(self, y: np.ndarray) -> np.ndarray:
        """Labels −1 and +1 for ridge regression, by which bandwidth and λ are chosen, shape (n, c)."""
        if self.several:
            return self.encode(y)
        return Hinge().encode(np.searchsorted(self.classes, single_column(y)), len(self.classes))

    @property
    def scaled_loss(self) -> tuple[Loss, float]:
        """The loss in the units of the coded targets, and what λ is multiplied with in them."""
        return self.loss, 1.0

    def unscale(self, scores: np.ndarray) -> np.ndarray:
        """Scores from the outputs of the function, shape (m, c)."""
        return scores + self.intercept.astype(scores.dtype)

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """Labels from scores."""
        return (scores > 0).astype(int) if self.several else self.classes[self.loss.decide(scores)]

    def decisions(self, scores: np.ndarray) -> np.ndarray:
        """Scores in the form of scikit-learn's ``decision_function``."""
        if self.several:
            return scores
        if scores.shape[1] == 1:
            return scores[:, 0]
        return scores[:, 1] - scores[:, 0] if len(self.classes) == 2 else scores

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, or of each label, from scores, for a loss that has them."""
        scores = scores.astype(np.float64)
        if self.several:
            return np.hstack([self.loss.probabilities(column[:, None])[:, 1:] for column in scores.T])
        return self.loss.probabilities(scores)


@dataclass(frozen=True)
class ValueTargets:
    """Values about the constant of the least loss, in one unit for all outputs, so that no square over- or underflows.

    Attributes
    ----------
    loss : Loss
        In the user's units.
    one_column : bool
        Whether the targets were a vector.
    intercept : ndarray, shape (c,)
    scale : float
    """

    loss: Loss
    one_column: bool
    intercept: np.ndarray
    scale: float

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray | None, loss: Loss) -> ValueTargets:
        """Learn the intercept and the unit of training values."""
        one_column, y = y.ndim == 1, y.astype(np.float64).reshape(len(y), -1)
        intercept = loss.constant(y, weights)
        spread = float(np.abs(y - intercept).max())
        return cls(loss, one_column, intercept, spread if spread > 0 else 1.0)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Values as they are learned, float64, shape (n, c)."""
        return (y.astype(np.float64).reshape(len(y), -1) - self.intercept) / self.scale

    ridge_codes = encode

    def aims(self, y: np.ndarray) -> np.ndarray:
        """Values that the outputs of a function are compared with, float64, shape (n, c)."""
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1)

    @property
    def scaled_loss(self) -> tuple[Loss, float]:
        """The loss in the units of the coded targets, and what λ is multiplied with in them.

        With f = s g and targets in units of s, a loss of slopes is s times itself and one of squares s² times;
        dividing by s² leaves λ/2 ‖g‖² with a loss of squares, and s λ with one of slopes.
        """
        return self.loss.in_units(self.scale), 1.0 if self.loss.name in ("square", "huber") else self.scale

    def unscale(self, scores: np.ndarray) -> np.ndarray:
        """Values from the outputs of the function, shape (m, c)."""
        return scores * self.scale + self.intercept

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """Values in the shape of the training targets."""
        return scores[:, 0] if self.one_column else scores
