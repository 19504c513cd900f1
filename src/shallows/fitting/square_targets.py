"""Targets of the square loss, and labels, probabilities or values from the outputs of a fitted function."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from ..errors import ShallowsError
from .rows import check_classes

USUAL = 1e100
"""Targets between its reciprocal and it have squares that are numbers in float64."""

LEAST_SHARE = 1e-6
"""Probabilities lie between this and one minus this: no finite sample makes a class impossible or certain."""

ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""A mean of equal numbers differs from them by less than this share."""


def unit_of_targets(y: np.ndarray) -> np.ndarray:
    """Powers of two by which targets (n, c) are divided, so that no square over- or underflows: 1 for usual ones."""
    largest = np.abs(y).max(axis=0)
    usual = (largest == 0) | ((largest > 1.0 / USUAL) & (largest < USUAL))
    return np.where(usual, 1.0, np.exp2(np.floor(np.log2(np.where(usual, 1.0, largest)))))


def plain_probabilities(scores: np.ndarray, *, multilabel: bool = False) -> np.ndarray:
    """Probabilities from outputs f without a calibration: (f + 1)/2, clipped and normalized; (n, 2) for one column."""
    shares = np.clip((scores.astype(np.float64) + 1.0) / 2.0, LEAST_SHARE, 1.0 - LEAST_SHARE)
    if multilabel:
        return shares
    if shares.shape[1] == 1:
        return np.hstack([1.0 - shares, shares])
    # If all outputs are −1 or less, the class of the largest output gets all.
    none = (scores <= -1.0).all(axis=1)
    shares[none, scores[none].argmax(axis=1)] = 1.0
    return shares / shares.sum(axis=1, keepdims=True)


def calibrated_probabilities(logits: np.ndarray, *, multilabel: bool = False) -> np.ndarray:
    """Probabilities of classes from their logits, in the shape of `plain_probabilities`."""
    if multilabel:
        return expit(logits)
    return softmax(logits, axis=1) if logits.shape[1] > 1 else expit(np.hstack([-logits, logits]))


@dataclass(frozen=True)
class SquareClassTargets:
    """Classes coded −1 and +1, one column for each class; two classes have a single column."""

    binarizer: LabelBinarizer
    classes: np.ndarray  # The labels; the numbers of the columns of several labels
    several: bool  # Whether each row has several labels
    intercept: np.ndarray | None = None  # (c,): a constant that is subtracted from the codes
    calibration: Any = None  # A `Calibration`, which turns outputs into logits
    of_classes: ClassVar[bool] = True
    are_equal: ClassVar[bool] = False

    def aims(self, y: np.ndarray) -> np.ndarray:
        """The codes −1 and +1 of labels, float64, shape (n, c)."""
        y = np.ravel(y) if y.ndim == 2 and y.shape[1] == 1 else y
        return np.asarray(self.binarizer.transform(y), dtype=np.float64)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """The codes of labels minus the intercept: the values that a function is trained on."""
        return self.aims(y) if self.intercept is None else self.aims(y) - self.intercept

    def unscale(self, scores: np.ndarray) -> np.ndarray:
        """Outputs of the function, with the intercept, shape (m, c)."""
        return scores if self.intercept is None else scores + self.intercept.astype(scores.dtype)

    def decisions(self, scores: np.ndarray) -> np.ndarray:
        """The numbers that decide between classes: calibrated logits if there are some, else the outputs."""
        return scores if self.calibration is None else self.calibration.logits(scores)

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """Labels from outputs."""
        scores = self.decisions(scores)
        if self.several:
            return (scores > 0).astype(int)
        return self.classes[(scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)]

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, or of each label, from outputs."""
        probabilities = plain_probabilities if self.calibration is None else calibrated_probabilities
        return probabilities(self.decisions(scores), multilabel=self.several)


@dataclass(frozen=True)
class SquareValueTargets:
    """Values minus their mean, each output in its own unit, so that no square over- or underflows.

    ``one_column``: whether the targets were a vector. ``intercept`` and ``scale`` have the shape (c,).
    """

    one_column: bool
    intercept: np.ndarray
    scale: np.ndarray
    of_classes: ClassVar[bool] = False
    several: ClassVar[bool] = False

    def aims(self, y: np.ndarray) -> np.ndarray:
        """Values as a matrix, float64, shape (n, c)."""
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Values as a function learns them, float64, shape (n, c)."""
        return (self.aims(y) - self.intercept) / self.scale

    def unscale(self, scores: np.ndarray) -> np.ndarray:
        """Values from the outputs of the function, shape (m, c)."""
        return scores * self.scale + self.intercept

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """Values in the shape of the training targets."""
        return scores[:, 0] if self.one_column else scores

    @property
    def are_equal(self) -> bool:
        """Whether each output has equal targets, up to the rounding of their mean."""
        return bool(np.all(self.scale <= ROUNDING * np.abs(self.intercept)))


SquareTargets = SquareClassTargets | SquareValueTargets


def learn_square_targets(
    y: np.ndarray,
    weights: np.ndarray | None,
    *,
    of_classes: bool,
    fit_intercept: bool = False,
    in_unit: bool = True,
) -> SquareTargets:
    """Learn how training targets are coded for the square loss.

    ``fit_intercept`` subtracts the mean of the codes of classes. ``in_unit`` divides values by their largest distance
    from the mean. Otherwise they are divided by a power of two, and only if their squares could over- or underflow.
    """
    if of_classes:
        check_classification_targets(y)
        several = type_of_target(y) == "multilabel-indicator"
        y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
        if y.ndim == 2 and not several:
            raise ValueError("y has several columns that are no 0/1 labels; fit one classifier for each output.")
        binarizer = LabelBinarizer(neg_label=-1, pos_label=1).fit(y)
        check_classes(binarizer.classes_)
        targets = SquareClassTargets(binarizer, binarizer.classes_, several)
        if not fit_intercept:
            return targets
        return replace(targets, intercept=np.average(targets.aims(y), axis=0, weights=weights))
    one_column, y = y.ndim == 1, y.astype(np.float64).reshape(len(y), -1)
    if not in_unit:
        unit = unit_of_targets(y)
        return SquareValueTargets(one_column, np.average(y / unit, axis=0, weights=weights) * unit, unit)
    # Least squares commutes with shifts and scales of the targets.
    with np.errstate(over="ignore", invalid="ignore"):
        # A mean of equal numbers may differ from them by rounding, which would be learned like a signal.
        constant = (y == y[0]).all(axis=0)
        intercept = np.where(constant, y[0], np.average(y, axis=0, weights=weights))
        spread = np.abs(y - intercept).max(axis=0)
    if not np.isfinite(spread).all():
        raise ShallowsError("The targets are too large: their mean or their range overflows. Divide y by a number.")
    return SquareValueTargets(one_column, intercept, np.where(spread > 0, spread, 1.0))
