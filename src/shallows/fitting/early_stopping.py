"""Early stopping: which training rows are held out for validation, and the error of a model on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import streams
from ..errors import ShallowsError
from .checks import check_positive, check_whole, is_number


@dataclass
class HeldOut:
    """The validation rows of a fit, and the rows that are left to train on.

    Attributes
    ----------
    X, y, weights
        The rows, as the user gave them.
    rows : ndarray of int
        Their numbers among the rows that the user gave.
    training_rows : ndarray of int
        The numbers of the other rows.
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    rows: np.ndarray
    training_rows: np.ndarray

    def error(self, snapshot: Any, *, of_labels: bool) -> float:
        """The validation error: one minus the accuracy, or one minus R², with the weights of the rows."""
        predicted = snapshot.predict(self.X)
        if of_labels:
            wrong = predicted != self.y
            wrong = wrong if wrong.ndim == 1 else wrong.any(axis=1)
            return float(np.average(wrong, weights=self.weights))
        y = np.asarray(self.y, dtype=np.float64).reshape(len(self.y), -1)
        # In the unit of the targets, so that no square of theirs over- or underflows.
        mean = np.average(y, axis=0, weights=self.weights)
        unit = np.abs(y - mean).max(axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        squares = ((predicted.reshape(y.shape) - y) / unit) ** 2
        spread = np.average(((y - mean) / unit) ** 2, axis=0, weights=self.weights)
        missed = np.average(squares, axis=0, weights=self.weights)
        return float(np.mean(missed / np.where(spread > 0, spread, 1.0)))

    def validation(self, *, of_labels: bool) -> Callable[[Any], float]:
        """`error` as a function of a snapshot alone, for `shallows.training.Stopping`."""
        return lambda snapshot: self.error(snapshot, of_labels=of_labels)

    def merged(self, training_scores: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Outputs on the training rows and on these, in the order of all rows that the user gave, shape (n, c)."""
        made = np.empty((len(self.rows) + len(self.training_rows), scores.shape[1]), dtype=training_scores.dtype)
        made[self.training_rows], made[self.rows] = training_scores, scores
        return made


def check_parameters(estimator: Any) -> None:
    """Refuse a share of rows, a number of epochs or a tolerance out of its range, of an estimator that has them."""
    if hasattr(estimator, "early_stopping"):
        fraction = estimator.validation_fraction
        if not (is_number(fraction) and 0 < fraction < 1):
            raise ShallowsError(f"validation_fraction must lie between 0 and 1, got {fraction!r}.")
        check_whole(estimator, "n_iter_no_change")
    check_positive(estimator, "tol", or_zero=True)


def hold_out(
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    fraction: float,
    seed: int,
    of_labels: bool,
    *,
    of_every_class: bool = False,
) -> HeldOut:
    """Hold out a random share of the rows, the same share of each class where there are classes.

    Every class keeps a row to be trained on at least. ``of_every_class`` holds out a row of each class that has two,
    even if the share is less. The rows are a function of the seed and of the labels.

    Raises
    ------
    ShallowsError
        If the rows are too few to leave one on either side.
    """
    n = X.shape[0]
    order = streams.permutation(seed, "validation rows", 0, n)
    taken = np.zeros(n, dtype=bool)
    by_class = of_labels and y.ndim == 1
    if by_class:
        _, label = np.unique(y, return_inverse=True)
        # The rows of each class in random order; shares are rounded so that together they come out right.
        counts = np.bincount(label)
        wanted = fraction * counts
        share = np.floor(wanted).astype(int)
        missing = max(0, min(round(fraction * n), n) - int(share.sum()))
        share[np.argsort(share - wanted, kind="stable")[:missing]] += 1
        share = np.maximum(share, 1) if of_every_class and share.any() else share
        share, most = np.minimum(share, counts - 1), n - len(counts)
        ordered = label[order]
        for of_class, k in enumerate(share):
            taken[order[ordered == of_class][:k]] = True
    else:
        most = n - 1
        taken[order[: min(most, math.ceil(fraction * n))]] = True
    if most == 0:
        raise ShallowsError(
            f"early_stopping=True holds rows out, but {'one of every class' if by_class else 'one'} stays to be "
            f"trained on, and that leaves none of {n}. Give more rows, or take early_stopping=False."
        )
    if not taken.any():
        raise ShallowsError(
            f"early_stopping=True holds out validation_fraction={fraction:g} of the rows, which of {n} is none; take a "
            "larger share, or early_stopping=False."
        )
    rows, training_rows = np.flatnonzero(taken), np.flatnonzero(~taken)
    of = None if weights is None else weights[rows]
    return HeldOut(X[rows], y[rows], of, rows, training_rows)
