"""The first rows of a stream, which a model keeps until there are enough to choose its parameters from."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...fitting.waiting_rows import Batch, joined, n_rows, next_beginning, owned

ENOUGH = 400
"""Rows from which the parameters of machines that visit row by row are chosen, once there are so many."""

OTHER_CLASSES = 40
"""Among these, rows of other classes than the most frequent one; one class alone tells nothing of them."""

MOST = 10 * ENOUGH
"""Rows after which parameters are chosen without other classes."""


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
