"""The rows of a fit, and those that early stopping holds out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .early_stopping import HeldOut, hold_out


class TrainingSet(NamedTuple):
    """Checked training data in the user's order, without the rows of weight zero.

    Attributes
    ----------
    X : ndarray or CSR matrix, shape (n, d)
        With ``kernel="precomputed"`` the numbers of the rows of ``matrix``, shape (n, 1).
    y : ndarray or None
    weights : ndarray, shape (n,), or None
    rows : ndarray of int, shape (n,)
        Which of the rows that the user gave these are.
    matrix : ndarray, CSR matrix or None
        The kernel matrix of a fit that gets one instead of points.
    """

    X: Any
    y: np.ndarray | None
    weights: np.ndarray | None
    rows: np.ndarray
    matrix: Any = None

    def take(self, rows: np.ndarray) -> TrainingSet:
        """Some of the rows."""
        y, weights = (None if part is None else part[rows] for part in (self.y, self.weights))
        return TrainingSet(self.X[rows], y, weights, self.rows[rows], self.matrix)


def split_rows(
    rows: TrainingSet, fraction: float | None, seed: int, *, of_labels: bool, of_every_class: bool = False
) -> tuple[TrainingSet, HeldOut | None]:
    """The rows to train on, and the share of them that early stopping holds out; None holds out nothing.

    ``of_every_class`` holds out a row of each class that has two, even if the share is less.
    """
    if fraction is None:
        return rows, None
    held_out = hold_out(*rows[:3], fraction, seed, of_labels, of_every_class=of_every_class)
    return rows.take(held_out.training_rows), held_out
