"""The training rows of a fit: their order, and the rows that early stopping holds out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import streams
from ..errors import ShallowsError
from .checks import check_positive, check_whole, is_number
from .labels import class_labels, with_every_class
from .square_targets import SquareClassTargets, SquareTargets


class TrainingSet(NamedTuple):
    """Checked training data in the user's order, without the rows of weight zero.

    With ``kernel="precomputed"``, ``matrix`` is the kernel matrix, and ``X`` has the numbers of its rows, shape (n, 1).
    ``rows`` are the numbers of the rows among those that the user gave.
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


@dataclass(frozen=True)
class HeldOut:
    """The validation rows of a fit, their numbers among all rows, and the numbers of the other rows."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    rows: np.ndarray
    training_rows: np.ndarray
    of_labels: bool

    def error(self, snapshot: Any) -> float:
        """The validation error: one minus the accuracy, or one minus R², with the weights of the rows."""
        predicted = snapshot.predict(self.X)
        if self.of_labels:
            wrong = predicted != self.y
            return float(np.average(wrong if wrong.ndim == 1 else wrong.any(axis=1), weights=self.weights))
        y = np.asarray(self.y, dtype=np.float64).reshape(len(self.y), -1)
        # In the unit of the targets, so that their squares neither over- nor underflow.
        mean = np.average(y, axis=0, weights=self.weights)
        unit = np.abs(y - mean).max(axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        squares = ((predicted.reshape(y.shape) - y) / unit) ** 2
        spread = np.average(((y - mean) / unit) ** 2, axis=0, weights=self.weights)
        missed = np.average(squares, axis=0, weights=self.weights)
        return float(np.mean(missed / np.where(spread > 0, spread, 1.0)))

    def merged(self, training_scores: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Outputs at the training rows and at these, in the order of all rows that the user gave, shape (n, c)."""
        merged = np.empty((len(self.rows) + len(self.training_rows), scores.shape[1]), dtype=training_scores.dtype)
        merged[self.training_rows], merged[self.rows] = training_scores, scores
        return merged


def check_early_stopping(estimator: Any) -> None:
    """Refuse parameters of early stopping, or a tolerance, outside their range; skip absent ones."""
    if hasattr(estimator, "early_stopping"):
        fraction = estimator.validation_fraction
        if not (is_number(fraction) and 0 < fraction < 1):
            raise ShallowsError(f"validation_fraction must lie between 0 and 1, got {fraction!r}.")
        check_whole(estimator, "n_iter_no_change")
    check_positive(estimator, "tol", or_zero=True)


def split_rows(
    rows: TrainingSet, fraction: float | None, seed: int, *, of_labels: bool, of_every_class: bool = False
) -> tuple[TrainingSet, HeldOut | None]:
    """The rows to train on, and a random share of the rows that early stopping holds out; None holds out no row.

    Each class has the same share, and every class keeps a training row. ``of_every_class`` holds out a row of each
    class that has two, even if the share is less. The held-out rows depend on the seed and the labels only.

    Raises
    ------
    ShallowsError
        If there are too few rows for both.
    """
    if fraction is None:
        return rows, None
    n, by_class = rows.X.shape[0], of_labels and rows.y.ndim == 1
    order = streams.permutation(seed, "validation rows", 0, n)
    taken = np.zeros(n, dtype=bool)
    if by_class:
        _, label = np.unique(rows.y, return_inverse=True)
        # The rows of each class in random order. Shares are rounded so that their sum is right.
        counts = np.bincount(label)
        wanted = fraction * counts
        share = np.floor(wanted).astype(int)
        missing = max(0, min(round(fraction * n), n) - int(share.sum()))
        share[np.argsort(share - wanted, kind="stable")[:missing]] += 1
        share = np.maximum(share, 1) if of_every_class and share.any() else share
        share, most = np.minimum(share, counts - 1), n - len(counts)
        for of_class, k in enumerate(share):
            taken[order[label[order] == of_class][:k]] = True
    else:
        most = n - 1
        taken[order[: min(most, math.ceil(fraction * n))]] = True
    if most == 0:
        raise ShallowsError(
            f"early_stopping=True needs validation rows, and {'one row of every class' if by_class else 'one row'} for "
            f"the training, but only {n} rows were given. Give more rows, or set early_stopping=False."
        )
    if not taken.any():
        raise ShallowsError(
            f"early_stopping=True with validation_fraction={fraction:g} gives no validation row of {n} rows. Use a "
            "larger fraction, or set early_stopping=False."
        )
    held_out, training_rows = np.flatnonzero(taken), np.flatnonzero(~taken)
    return rows.take(training_rows), HeldOut(*rows.take(held_out)[:3], held_out, training_rows, of_labels)


def order_rows(
    seed: int, codes: np.ndarray, targets: SquareTargets, choosing: slice, left_out: Sequence[slice]
) -> np.ndarray:
    """The order of the rows in a fit: shuffled once, so that batches and a subsample are contiguous parts.

    Every class is among the rows that parameters are chosen with, and among those that are ``left_out``.
    """
    order = streams.permutation(seed, "order", 0, len(codes))
    if not isinstance(targets, SquareClassTargets):
        return order
    return with_every_class(order, class_labels(codes, multilabel=targets.several), choosing, left_out)
