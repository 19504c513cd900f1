"""The first rows of a stream, which a model keeps until there are enough to choose its parameters from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .stream_batches import Batch, joined, n_rows, owned

GROWTH = 1.25
"""A model is begun anew with all rows so far when they have become this many times as many. One that begins with a
single row is begun anew some thirty times, at five times the cost of the last beginning."""

ENOUGH = 400
"""Rows from which the parameters of machines that visit row by row are chosen, once there are so many."""

OTHER_CLASSES = 40
"""Among these, rows of other classes than the most frequent one; one class alone tells nothing of them."""

MOST = 10 * ENOUGH
"""Rows after which parameters are chosen without other classes."""


def next_beginning(n_begun: int, enough: int) -> int:
    """The number of rows, at most ``enough``, at which a model begun with ``n_begun`` is begun anew."""
    return min(enough, max(n_begun + 1, math.ceil(GROWTH * n_begun)))


def are_enough(batch: Batch) -> bool:
    """Whether the rows of a batch (X, labels, ...) are enough to choose from."""
    n = batch[0].shape[0]
    others = n - np.unique(batch[1], return_counts=True)[1].max()
    return n >= MOST or (n >= ENOUGH and others >= OTHER_CLASSES)


def to_begin_with(estimator: Any, batch: Batch) -> Batch | None:
    """The rows that a model is to be begun with, at first or anew; None where it goes on with a batch.

    The estimator keeps its rows in ``_first_rows`` until they are enough, see `are_enough`, and how many it was begun
    with in ``_n_begun``. Between two beginnings it goes on with the batches that come.

    Parameters
    ----------
    estimator
        Without these attributes if it has no model.
    batch : tuple
        Checked rows (X, labels, ...) that have come now.
    """
    n_begun = getattr(estimator, "_n_begun", 0)
    if n_begun and not hasattr(estimator, "_first_rows"):
        return None
    kept = [*vars(estimator).pop("_first_rows", []), owned(batch)]
    rows = joined(kept)
    done = are_enough(rows)
    if not done:
        estimator._first_rows = kept
    if not done and n_rows(kept) < next_beginning(n_begun, MOST):
        return None
    estimator._n_begun = n_rows(kept)
    return rows


def end_beginning(estimator: Any, n: int) -> None:
    """Let a stream go on from a fit to n rows."""
    vars(estimator).pop("_first_rows", None)
    estimator._n_begun = n
