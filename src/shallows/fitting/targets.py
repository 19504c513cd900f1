"""Targets as a loss needs them, and labels or values from the outputs of a fitted function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from ..losses import Logistic, Loss
from ..losses.margins import Hinge
from ..utils.lazy_tables import LazyTable
from .rows import are_several, check_classes, check_takes_several, signs, single_column

AUTOMATIC = LazyTable("loss", "shallows.losses", {"auto": ".multiclass:Softmax"})
"""The default loss for more than two classes. A table, so that runs with another loss do not depend on its module."""


def learn_classes(y: np.ndarray, named: Any, loss: Loss | None) -> tuple[Loss, np.ndarray, bool]:
    """The loss (None: by the number of classes), the classes in ``y`` or ``named``, and whether labels are several."""
    several = are_several(y)
    if several:
        classes = np.arange(np.shape(y)[1])
        check_same_classes(classes, named)
    else:
        classes = np.unique(np.asarray(single_column(y) if named is None else named))
    if loss is None:
        automatic: type[Loss] = Logistic if several or len(classes) == 2 else AUTOMATIC["auto"]
        loss = automatic()
    if several:
        check_takes_several(loss)
    else:
        check_classes(classes)
    return loss, classes, several


def check_same_classes(known: np.ndarray, named: Any) -> None:
    """Refuse classes that differ from the classes of the first call to ``partial_fit``."""
    if named is not None and not np.array_equal(np.unique(np.asarray(named)), known):
        raise ValueError(
            f"classes={list(np.unique(np.asarray(named)))!r} differ from the classes of the first call to partial_fit, "
            f"{known.tolist()!r}."
        )


@dataclass(frozen=True)
class ClassTargets:
    """Classes in the coding of a loss; the function is learned about the constant score ``intercept``, shape (c,)."""

    loss: Loss
    classes: np.ndarray
    several: bool
    intercept: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray | None, loss: Loss, *, fit_intercept: bool) -> ClassTargets:
        """Learn the classes and the intercept of training labels."""
        targets = cls(*learn_classes(y, None, loss), np.zeros(0))
        codes = targets.encode(y)
        intercept = loss.constant(codes, weights) if fit_intercept else np.zeros(codes.shape[1])
        return cls(loss, targets.classes, targets.several, intercept)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Labels in the coding of the loss, float64, shape (n, c)."""
        if self.several:
            return signs(y, len(self.classes))
        return self.loss.encode(np.searchsorted(self.classes, single_column(y)), len(self.classes))

    aims = encode
    """The values that outputs of a function are compared with."""

    def ridge_codes(self, y: np.ndarray) -> np.ndarray:
        """Labels −1 and +1, shape (n, c), for the ridge regression that chooses bandwidth and λ."""
        if self.several:
            return self.encode(y)
        return Hinge().encode(np.searchsorted(self.classes, single_column(y)), len(self.classes))

    @property
    def scaled_loss(self) -> tuple[Loss, float]:
        """The loss in the units of the coded targets, and the factor of λ in them."""
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
        """Probabilities of the classes, or of each label, if the loss has them."""
        scores = scores.astype(np.float64)
        if self.several:
            return np.hstack([self.loss.probabilities(column[:, None])[:, 1:] for column in scores.T])
        return self.loss.probabilities(scores)


@dataclass(frozen=True)
class StreamedClasses(ClassTargets):
    """Classes of a stream. If ``has_intercept``, the state of the solver has one and counts the classes for it."""

    has_intercept: bool

    @classmethod
    def of_stream(cls, y: np.ndarray, classes: Any, loss: Loss | None, *, fit_intercept: bool) -> Self:
        """Learn the classes of training labels, or use the named ones."""
        return cls(*learn_classes(y, classes, loss), np.zeros(0), fit_intercept)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Labels in the coding of the loss, float64, shape (n, c); raises a ValueError for unknown labels."""
        self._check_known(y)
        return super().encode(y)

    def aims(self, y: np.ndarray) -> np.ndarray:
        """The values that outputs of a function are compared with."""
        self._check_known(y)
        return self.ridge_codes(y)

    def _check_known(self, y: np.ndarray) -> None:
        if self.several:
            return
        y = single_column(y)
        places = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        unknown = self.classes[places] != y
        if np.any(unknown):
            shown = np.unique(y[unknown])[:5].tolist()
            raise ValueError(
                f"Labels {shown!r} are not among the classes {self.classes.tolist()[:20]!r}; all labels that will "
                "ever come must be given to the first partial_fit as classes."
            )

    def unscale(self, scores: np.ndarray) -> np.ndarray:
        """The scores, which include the intercept."""
        return scores


@dataclass(frozen=True)
class ValueTargets:
    """Values about the constant of the least loss, divided by a scale so that no square over- or underflows."""

    loss: Loss  # in the user's units
    one_column: bool  # whether the targets were a vector
    intercept: np.ndarray  # (c,)
    scale: Any  # one number for all outputs; of `StreamedValues` an array (c,)

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray | None, loss: Loss) -> Self:
        """Learn the intercept and the unit of training values."""
        one_column, y = y.ndim == 1, y.astype(np.float64).reshape(len(y), -1)
        intercept = loss.constant(y, weights)
        spread = float(np.abs(y - intercept).max())
        return cls(loss, one_column, intercept, spread if spread > 0 else 1.0)

    def aims(self, y: np.ndarray) -> np.ndarray:
        """The values that outputs of a function are compared with, float64, shape (n, c)."""
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Values in the units of the function, float64, shape (n, c); raises a ValueError for more or fewer columns."""
        y = self.aims(y)
        if y.shape[1] != len(self.intercept):
            raise ValueError(f"y has {y.shape[1]} columns, and the model was begun with {len(self.intercept)}.")
        return (y - self.intercept) / self.scale

    ridge_codes = encode

    @property
    def scaled_loss(self) -> tuple[Loss, float]:
        """The loss in the units of the coded targets, and the factor of λ in them.

        With f = s g the square loss has the factor s², and losses that grow linearly have the factor s. After division
        by s² or s the regularizer is λ/2 ‖g‖² for squares and s λ/2 ‖g‖² for the others.
        """
        return self.loss.in_units(self.scale), 1.0 if self.loss.name in ("square", "huber") else self.scale

    def unscale(self, scores: np.ndarray) -> np.ndarray:
        """Values from the outputs of the function, shape (m, c)."""
        return scores * self.scale + self.intercept

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """Values in the shape of the training targets."""
        return scores[:, 0] if self.one_column else scores


@dataclass(frozen=True)
class StreamedValues(ValueTargets):
    """Values about the constant of the least loss, each output in its own unit; ``loss`` is in these units."""

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray | None, loss: Loss) -> Self:
        """Learn the intercept and the units of training values."""
        one_column, y = np.ndim(y) == 1, np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        intercept = loss.constant(y, weights)
        # First divided by the largest value, so that no square over- or underflows.
        away = y - intercept
        largest = np.abs(away).max(axis=0)
        largest = np.where(largest > 0, largest, 1.0)
        spread = largest * np.sqrt(np.average((away / largest) ** 2, axis=0, weights=weights))
        spread = np.where(spread > 0, spread, 1.0)
        # ε and δ of a loss are one number for all outputs, so these outputs need one unit.
        scale = np.full_like(spread, spread.max()) if loss.lengths else spread
        return cls(loss.in_units(float(scale[0])), one_column, intercept, scale)


@dataclass(frozen=True)
class NoveltyTargets:
    """No targets: a point is novel if its score is below the offset."""

    loss: Loss
    offset: float = 0.0

    def encode(self, y: Any) -> None:
        """None."""

    def aims(self, y: np.ndarray) -> np.ndarray:
        """The values that scores are compared with, shape (n, 1)."""
        return np.asarray(y, dtype=np.float64).reshape(-1, 1)

    def unscale(self, scores: np.ndarray) -> np.ndarray:
        """The scores themselves."""
        return scores

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """−1 for novel points and 1 for the others."""
        return np.where(scores[:, 0] >= self.offset, 1, -1)


ExpansionTargets = StreamedClasses | StreamedValues | NoveltyTargets

# --------------------------------------------------------------------------------- machines of two classes each


@dataclass(frozen=True)
class TwoClassProblem:
    """The rows of two classes, shape (m,), their signs (1 for the later class), and the factor of C for each row."""

    rows: np.ndarray
    signs: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class Machines:
    """The classes of a model, shape (k,), and what its machines separate: "one_vs_one" or "one_vs_rest"."""

    classes: np.ndarray
    multiclass: str

    @classmethod
    def of(cls, y: np.ndarray, multiclass: str) -> Machines:
        """Learn the classes of training labels."""
        classes = np.unique(single_column(y))
        check_classes(classes)
        return cls(classes, multiclass)

    @property
    def vote(self) -> bool:
        """Whether there is a machine for each pair of more than two classes."""
        return len(self.classes) > 2 and self.multiclass == "one_vs_one"

    @property
    def n_problems(self) -> int:
        """How many machines there are."""
        k = len(self.classes)
        return 1 if k == 2 else k * (k - 1) // 2 if self.vote else k

    def numbers(self, y: np.ndarray) -> np.ndarray:
        """The class numbers of labels, from 0."""
        return np.searchsorted(self.classes, single_column(y))

    def ridge_codes(self, y: np.ndarray) -> np.ndarray:
        """Labels −1 and +1, shape (n, c), for the ridge regression that chooses the bandwidth."""
        return Hinge().encode(self.numbers(y), len(self.classes))

    def problems(self, y: np.ndarray, weights: np.ndarray | None) -> Iterator[TwoClassProblem]:
        """The problem of each machine: classes (0, 1), (0, 2), ..., (1, 2), ..., or each class against the rest."""
        numbers, k = self.numbers(y), len(self.classes)
        weights = np.ones(len(numbers)) if weights is None else weights
        if k > 2 and not self.vote:
            everything = np.arange(len(numbers))
            for c in range(k):
                yield TwoClassProblem(everything, np.where(numbers == c, 1.0, -1.0), weights)
            return
        for first in range(k):
            for second in range(first + 1, k):
                rows = np.flatnonzero((numbers == first) | (numbers == second))
                yield TwoClassProblem(rows, np.where(numbers[rows] == second, 1.0, -1.0), weights[rows])

    def decisions(self, outputs: np.ndarray) -> np.ndarray:
        """Scores of the classes from the machines' outputs: one column for two classes, else one for each class.

        If each pair of classes has a machine, a score is a number of votes. Sizes of outputs add less than half a vote.
        """
        return _ovr_decision_function(outputs > 0, outputs, len(self.classes)) if self.vote else outputs

    aims = ridge_codes
    """The values that outputs of machines for each class against the rest are compared with."""

    def unscale(self, scores: np.ndarray) -> np.ndarray:
        """The scores themselves."""
        return scores

    def decode(self, outputs: np.ndarray) -> np.ndarray:
        """Labels from the machines' outputs."""
        scores = self.decisions(outputs)
        return self.classes[(scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)]
