"""Targets of functions that may go on with a stream: labels, values, or none for novelty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..losses import Logistic, Loss
from ..solvers.expansions.expansion import counts_of
from ..utils.lazy_tables import LazyTable
from .labels import are_several, check_class_weight, check_takes_several, check_two_classes, signs, single_column
from .targets import ClassTargets, ValueTargets

AUTOMATIC = LazyTable("loss", "shallows.losses", {"auto": ".multiclass:Softmax"})
"""The loss of several classes where none is named. In a table, so that runs with another loss do not depend on it."""


@dataclass(frozen=True)
class StreamedClasses(ClassTargets):
    """Classes of which further rows may come.

    Attributes
    ----------
    has_intercept : bool
        Whether f is learned about a constant from the class frequencies, which a stream counts as rows come.
    """

    has_intercept: bool

    @classmethod
    def of_stream(
        cls, y: np.ndarray, classes: Any, loss: Loss | None, *, fit_intercept: bool, class_weight: Any
    ) -> Self:
        """Learn the classes of labels, or take those that are given; a loss of None is chosen by their number.

        Raises
        ------
        ValueError
            If there is one class only, or the given ones are not the columns of several labels.
        ShallowsError
            If the loss takes no several labels, or ``class_weight`` names an unknown class.
        """
        several = are_several(y)
        if several:
            known = np.arange(np.shape(y)[1])
            check_same_classes(known, classes)
        else:
            known = np.unique(np.asarray(single_column(y) if classes is None else classes))
        if loss is None:
            loss = Logistic() if several or len(known) == 2 else AUTOMATIC["auto"]()
        if several:
            check_takes_several(loss)
        else:
            check_two_classes(known)
            check_class_weight(class_weight, known)
        return cls(loss, known, several, np.zeros(0), fit_intercept)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Labels as the loss takes them, float64, shape (n, c).

        Raises
        ------
        ValueError
            For unknown labels.
        """
        if not self.several:
            self._check_known(single_column(y))
        return super().encode(y)

    def aims(self, y: np.ndarray) -> np.ndarray:
        """What the outputs of a function are compared with."""
        if self.several:
            return signs(y, len(self.classes))
        self._check_known(single_column(y))
        return self.ridge_codes(y)

    def _check_known(self, y: np.ndarray) -> None:
        places = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        unknown = self.classes[places] != y
        if np.any(unknown):
            shown = np.unique(y[unknown])[:5].tolist()
            raise ValueError(
                f"Labels {shown!r} are not among the classes {self.classes.tolist()[:20]!r}; all labels that will "
                "ever come must be given to the first partial_fit as classes."
            )

    def counts(self, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """What the intercept begins with, see `counts_of`; None without one."""
        return counts_of(codes, weights) if self.has_intercept else None

    def unscale(self, scores: np.ndarray) -> np.ndarray:
        """Scores, which have the intercept already."""
        return scores


def check_same_classes(known: np.ndarray, classes: Any) -> None:
    """Refuse classes of a later call that differ from those of the first.

    Raises
    ------
    ValueError
    """
    if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
        raise ValueError(
            f"classes={list(np.unique(np.asarray(classes)))!r} differ from those of the first call to partial_fit, "
            f"{known.tolist()!r}."
        )


@dataclass(frozen=True)
class StreamedValues(ValueTargets):
    """Values about the constant of the least loss, each output in a unit of its own; ``loss`` is in these units."""

    scale: Any

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray | None, loss: Loss) -> Self:
        """Learn intercept and units of training values."""
        one_column, y = np.ndim(y) == 1, np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        intercept = loss.constant(y, weights)
        # In their own units, first divided by the largest, so that no square over- or underflows.
        away = y - intercept
        largest = np.abs(away).max(axis=0)
        largest = np.where(largest > 0, largest, 1.0)
        spread = largest * np.sqrt(np.average((away / largest) ** 2, axis=0, weights=weights))
        spread = np.where(spread > 0, spread, 1.0)
        # ε and δ are one number for all outputs, which therefore share one unit.
        scale = np.full_like(spread, spread.max()) if loss.lengths else spread
        return cls(loss.in_units(float(scale[0])), one_column, intercept, scale)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Values as they are learned, float64, shape (n, c).

        Raises
        ------
        ValueError
            For another number of columns.
        """
        y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        if y.shape[1] != len(self.intercept):
            raise ValueError(f"y has {y.shape[1]} columns, and the model was begun with {len(self.intercept)}.")
        return (y - self.intercept) / self.scale

    def counts(self, codes: np.ndarray, weights: np.ndarray | None) -> None:
        """None: the intercept is that of the rows that the model was begun with."""
        return None


@dataclass(frozen=True)
class Novelty:
    """No targets: points are novel whose score is below an offset.

    Attributes
    ----------
    loss : Loss
    offset : float
    """

    loss: Loss
    offset: float = 0.0

    def encode(self, y: Any) -> None:
        """None."""
        return None

    def aims(self, y: np.ndarray) -> np.ndarray:
        """Values that scores are compared with, shape (n, 1)."""
        return np.asarray(y, dtype=np.float64).reshape(-1, 1)

    def counts(self, codes: Any, weights: np.ndarray | None) -> None:
        """None: there is no intercept."""
        return None

    def unscale(self, scores: np.ndarray) -> np.ndarray:
        """Scores as they are."""
        return scores

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """−1 for novel points and 1 for the others."""
        return np.where(scores[:, 0] >= self.offset, 1, -1)


ExpansionTargets = StreamedClasses | StreamedValues | Novelty
