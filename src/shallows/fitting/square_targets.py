"""Targets of the square loss, and labels, probabilities or values from the outputs of a fitted function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from ..errors import ShallowsError
from .labels import check_class_weight, check_two_classes
from .units import unit_of_targets

LEAST_SHARE = 1e-6
"""No finite sample makes a class impossible or certain."""

ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""A mean of equal numbers differs from them by less than this share."""


def plain_probabilities(scores: np.ndarray, *, multilabel: bool = False) -> np.ndarray:
    """Probabilities of classes by outputs f without a calibration: (f + 1)/2, clipped and normalised.

    Shape (n, 2) for a single column of outputs and classes that exclude each other, else (n, c).
    """
    shares = np.clip((scores.astype(np.float64) + 1.0) / 2.0, LEAST_SHARE, 1.0 - LEAST_SHARE)
    if multilabel:
        return shares
    if shares.shape[1] == 1:
        return np.hstack([1.0 - shares, shares])
    # Where no output speaks for a class, the largest does.
    none = (scores <= -1.0).all(axis=1)
    shares[none, scores[none].argmax(axis=1)] = 1.0
    return shares / shares.sum(axis=1, keepdims=True)


def calibrated_probabilities(logits: np.ndarray, *, multilabel: bool = False) -> np.ndarray:
    """Probabilities of classes by their logits, in the shape of `plain_probabilities`."""
    if multilabel:
        return expit(logits)
    return softmax(logits, axis=1) if logits.shape[1] > 1 else expit(np.hstack([-logits, logits]))


@dataclass(frozen=True)
class SquareClassTargets:
    """Classes coded −1 and +1, one column for each class; two classes have one column in all.

    Attributes
    ----------
    binarizer : LabelBinarizer
        Makes the codes.
    several : bool
        Whether each example has several labels.
    intercept : ndarray, shape (c,), or None
        The constant that functions are learned about.
    calibration : Calibration or None
        Turns outputs into logits.
    """

    binarizer: LabelBinarizer
    several: bool
    intercept: np.ndarray | None = None
    calibration: Any = None

    @classmethod
    def of(
        cls, y: np.ndarray, weights: np.ndarray | None, *, class_weight: Any = None, fit_intercept: bool = False
    ) -> SquareClassTargets:
        """Learn the classes, and the intercept if there is to be one, of training labels.

        Raises
        ------
        ValueError
            If there is one class only, or several columns that are not labels of 0 and 1.
        ShallowsError
            If ``class_weight`` names an unknown class.
        """
        check_classification_targets(y)
        several = type_of_target(y) == "multilabel-indicator"
        y = _as_column(y, warn=True)
        if y.ndim == 2 and not several:
            raise ValueError("y has several columns that are no 0/1 labels; fit one classifier for each output.")
        binarizer = LabelBinarizer(neg_label=-1, pos_label=1).fit(y)
        check_two_classes(binarizer.classes_)
        check_class_weight(class_weight, binarizer.classes_)
        if not fit_intercept:
            return cls(binarizer, several)
        codes = np.asarray(binarizer.transform(y), dtype=np.float64)
        return cls(binarizer, several, np.average(codes, axis=0, weights=weights))

    @property
    def classes(self) -> np.ndarray:
        """The labels; the numbers of the columns of several labels."""
        return self.binarizer.classes_

    def aims(self, y: np.ndarray) -> np.ndarray:
        """What the outputs of a function are compared with, −1 and +1, float64, shape (n, c)."""
        return np.asarray(self.binarizer.transform(_as_column(y)), dtype=np.float64)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Labels as they are learned, float64, shape (n, c)."""
        return self.aims(y) if self.intercept is None else self.aims(y) - self.intercept

    def unscale(self, scores: np.ndarray) -> np.ndarray:
        """Outputs aimed at −1 and +1 from those of the function, shape (m, c)."""
        return scores if self.intercept is None else scores + self.intercept.astype(scores.dtype)

    def decisions(self, scores: np.ndarray) -> np.ndarray:
        """What classes are decided by: calibrated logits where there are some, else the outputs."""
        return scores if self.calibration is None else self.calibration.logits(scores)

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """Labels from outputs."""
        scores = self.decisions(scores)
        if self.several:
            return (scores > 0).astype(int)
        if scores.shape[1] == 1:
            return self.classes[(scores[:, 0] > 0).astype(int)]
        return self.classes[scores.argmax(axis=1)]

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, or of each label, from outputs."""
        if self.calibration is None:
            return plain_probabilities(scores, multilabel=self.several)
        return calibrated_probabilities(self.decisions(scores), multilabel=self.several)

    @property
    def are_equal(self) -> bool:
        """Whether the targets of every output are one number."""
        return False


@dataclass(frozen=True)
class SquareValueTargets:
    """Values about their mean, each output in its own unit, so that no square over- or underflows.

    Attributes
    ----------
    one_column : bool
        Whether the targets were a vector.
    intercept, scale : ndarray, shape (c,)
    """

    one_column: bool
    intercept: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray | None) -> SquareValueTargets:
        """Learn the means and the units of training values.

        Raises
        ------
        ShallowsError
            If their mean or range overflows.
        """
        one_column, y = y.ndim == 1, y.astype(np.float64).reshape(len(y), -1)
        # Least squares commutes with shifts and scales of the targets; in their own units none over- or underflows.
        with np.errstate(over="ignore", invalid="ignore"):
            # A mean of equal numbers may differ from them by rounding, which would be learned as if it were a signal.
            constant = (y == y[0]).all(axis=0)
            intercept = np.where(constant, y[0], np.average(y, axis=0, weights=weights))
            spread = np.abs(y - intercept).max(axis=0)
        if not np.isfinite(spread).all():
            raise ShallowsError("The targets are too large: their mean or their range overflows. Divide y by a number.")
        return cls(one_column, intercept, np.where(spread > 0, spread, 1.0))

    @classmethod
    def about_mean(cls, y: np.ndarray, weights: np.ndarray | None, *, scaled: bool = True) -> SquareValueTargets:
        """Learn the plain means of training values, and a power of two as the unit of very large or small ones."""
        one_column, y = y.ndim == 1, y.astype(np.float64).reshape(len(y), -1)
        unit = unit_of_targets(y) if scaled else np.ones(y.shape[1])
        return cls(one_column, np.average(y / unit, axis=0, weights=weights) * unit, unit)

    def aims(self, y: np.ndarray) -> np.ndarray:
        """Values that the outputs of a function are compared with, float64, shape (n, c)."""
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Values as they are learned, float64, shape (n, c)."""
        return (self.aims(y) - self.intercept) / self.scale

    def unscale(self, scores: np.ndarray) -> np.ndarray:
        """Values from the outputs of the function, shape (m, c)."""
        return scores * self.scale + self.intercept

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """Values in the shape of the training targets."""
        return scores[:, 0] if self.one_column else scores

    @property
    def are_equal(self) -> bool:
        """Whether the targets of every output are one number but for the rounding of their mean."""
        return bool(np.all(self.scale <= ROUNDING * np.abs(self.intercept)))


SquareTargets = SquareClassTargets | SquareValueTargets


def learn_square_targets(
    y: np.ndarray,
    weights: np.ndarray | None,
    *,
    of_classes: bool,
    class_weight: Any = None,
    fit_intercept: bool = False,
) -> SquareTargets:
    """How the targets of training rows are coded for the square loss."""
    if not of_classes:
        return SquareValueTargets.of(y, weights)
    return SquareClassTargets.of(y, weights, class_weight=class_weight, fit_intercept=fit_intercept)


def _as_column(y: np.ndarray, *, warn: bool = False) -> np.ndarray:
    return column_or_1d(y, warn=warn) if y.ndim == 2 and y.shape[1] == 1 else y
