"""Rows of a stream that wait: batches kept until they are enough to begin with, or for a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

Batch = tuple[Any, ...]
"""Parts with the same number of rows, such as (X, y, sample_weight); None where a part is not given."""

GROWTH = 1.25
"""A model is begun anew with all rows so far when they have become this many times as many. One that begins with a
single row is begun anew some thirty times, at five times the cost of the last beginning."""


def next_beginning(n_begun: int, enough: int) -> int:
    """The number of rows, at most ``enough``, at which a model begun with ``n_begun`` is begun anew."""
    return min(enough, max(n_begun + 1, math.ceil(GROWTH * n_begun)))


def joined(batches: Sequence[Batch]) -> Batch:
    """Several batches as one; where some have a part and others not, as with weights, those have ones."""
    if len(batches) == 1:
        return batches[0]
    return tuple(_together(parts, batches) for parts in zip(*batches, strict=True))


def owned(batch: Batch) -> Batch:
    """A batch in memory of its own, since the user may fill the arrays with the next rows."""
    return tuple(None if part is None else part.copy() for part in batch)


def n_rows(batches: Sequence[Batch]) -> int:
    """The rows of several batches."""
    return sum(batch[0].shape[0] for batch in batches)


def _together(parts: Sequence[Any], batches: Sequence[Batch]) -> Any:
    if all(part is None for part in parts):
        return None
    if any(scipy.sparse.issparse(part) for part in parts):
        return scipy.sparse.vstack([scipy.sparse.csr_array(part) for part in parts], format="csr")
    return np.concatenate(
        [np.ones(batch[0].shape[0]) if part is None else part for part, batch in zip(parts, batches, strict=True)]
    )
