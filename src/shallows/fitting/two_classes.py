"""Several classes as problems of two: the problems, and labels from the outputs of their machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from ..losses.margins import Hinge
from .labels import check_class_weight, check_two_classes, single_column


@dataclass(frozen=True)
class TwoClasses:
    """A problem of two classes.

    Attributes
    ----------
    rows : ndarray of int, shape (m,)
    signs : ndarray, shape (m,)
        1 for the rows of the later class, −1 for the others.
    weights : ndarray, shape (m,)
        The factor of C for each row.
    """

    rows: np.ndarray
    signs: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class Machines:
    """The classes of a model, and which of them each of its machines separates.

    Attributes
    ----------
    classes : ndarray, shape (k,)
    multiclass : {"one_vs_one", "one_vs_rest"}
    """

    classes: np.ndarray
    multiclass: str

    @classmethod
    def of(cls, y: np.ndarray, multiclass: str, class_weight: Any) -> Machines:
        """Learn the classes of training labels.

        Raises
        ------
        ValueError
            If there is one class only.
        ShallowsError
            If ``class_weight`` names an unknown class.
        """
        classes = np.unique(single_column(y))
        check_two_classes(classes)
        check_class_weight(class_weight, classes)
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
        """The classes of labels, from 0 on."""
        return np.searchsorted(self.classes, single_column(y))

    def ridge_codes(self, y: np.ndarray) -> np.ndarray:
        """Labels −1 and +1 for ridge regression, by which the bandwidth is chosen, shape (n, c)."""
        return Hinge().encode(self.numbers(y), len(self.classes))

    def problems(self, y: np.ndarray, weights: np.ndarray | None) -> Iterator[TwoClasses]:
        """Yield the problem of each machine.

        The order is (0, 1), (0, 2), ..., (1, 2), ..., or each class against the rest.
        """
        numbers, k = self.numbers(y), len(self.classes)
        weights = np.ones(len(numbers)) if weights is None else weights
        if k > 2 and not self.vote:
            everything = np.arange(len(numbers))
            for c in range(k):
                yield TwoClasses(everything, np.where(numbers == c, 1.0, -1.0), weights)
            return
        for first in range(k):
            for second in range(first + 1, k):
                rows = np.flatnonzero((numbers == first) | (numbers == second))
                yield TwoClasses(rows, np.where(numbers[rows] == second, 1.0, -1.0), weights[rows])

    def decisions(self, outputs: np.ndarray) -> np.ndarray:
        """Scores of the classes from the machines' outputs: one column for two classes, else one for each class.

        Of pairs of classes the scores are votes, and less than half a vote for the sizes of the outputs.
        """
        return _ovr_decision_function(outputs > 0, outputs, len(self.classes)) if self.vote else outputs

    aims = ridge_codes
    """What the outputs of machines for each class against the rest are compared with."""

    def unscale(self, scores: np.ndarray) -> np.ndarray:
        """The scores themselves."""
        return scores

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """Labels from scores."""
        return self.classes[(scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)]
