"""The batches of a stream as users hand them over, in arrays or by a generator, and several of them as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from ... import arrays
from ...errors import ShallowsError
from ...fitting.waiting_rows import Batch as Batch
from ...fitting.waiting_rows import joined as joined
from ...fitting.waiting_rows import n_rows as n_rows
from ...fitting.waiting_rows import owned as owned
from ..array_inputs import on_host


def is_array(X: Any) -> bool:
    """Whether rows are given as an array; else they are an iterable of batches."""
    return hasattr(on_host(X), "shape") or isinstance(X, (list, tuple))


def batches_of(parts: Batch, names: Sequence[str], n_needed: int, size: Callable[[int], int]) -> Iterator[Batch]:
    """Yield batches: slices of the user's arrays, or the items of the user's stream.

    Parameters
    ----------
    parts : tuple
        Arrays or None, or an iterable of batches followed by None.
    names : sequence of str
        Of the parts, for messages.
    n_needed : int
        How many of them each item must have.
    size : callable
        Rows of a slice, from the rows of the arrays.

    Raises
    ------
    ValueError
        If arrays have unequal lengths.
    ShallowsError
        If X is neither an array nor an iterable, or an item has the wrong number of parts.
    """
    X = on_host(parts[0])
    if is_array(X):
        found = [None if part is None else _sliceable(on_host(part)) for part in (X, *parts[1:])]
        lengths = {name: part.shape[0] for name, part in zip(names, found, strict=True) if np.ndim(part)}
        for name, length in lengths.items():
            if length != lengths[names[0]]:
                raise ValueError(f"{names[0]} has {lengths[names[0]]} rows and {name} has {length}.")
        if any(part is not None and (part.ndim == 0 or part.shape[0] == 0) for part in found[:n_needed]):
            yield tuple(found)  # The check of the batch says what is wrong.
            return
        for rows in arrays.blocks(found[0].shape[0], size(found[0].shape[0])):
            yield tuple(None if part is None else part[rows] for part in found)
        return
    item = f"({', '.join(names[:n_needed])}{',' if n_needed == 1 else ''})"
    if not isinstance(X, Iterable):
        raise ShallowsError(f"A stream is an iterable of batches {item}, got {type(X).__name__}.")
    for name, part in zip(names[1:], parts[1:], strict=True):
        if part is not None:
            raise ShallowsError(f"A stream of batches carries {name} itself, in tuples {item}: leave out {name}.")
    for given in X:
        batch = given if isinstance(given, tuple) else (given,)
        if not n_needed <= len(batch) <= len(names):
            either = "" if n_needed == len(names) else f" or ({', '.join(names)})"
            raise ShallowsError(f"An item of the stream is a tuple {item}{either}, got {len(batch)} parts.")
        yield (*batch, *([None] * (len(names) - len(batch))))


def _sliceable(part: Any) -> Any:
    if scipy.sparse.issparse(part):
        return part.tocsr()
    return part if hasattr(part, "shape") and not hasattr(part, "iloc") else np.asarray(part)
