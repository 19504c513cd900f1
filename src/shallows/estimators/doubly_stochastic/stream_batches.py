"""The batches of a stream: taken from the user's arrays or generator, checked, and brought to the device."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import validate_data

from ... import arrays
from ...errors import ShallowsError
from ...solvers.examples import Examples
from ...solvers.expansions.expansion import ExpansionState
from ..array_inputs import on_host

FIRST_ROWS = 256
"""Rows from which bandwidth, regularisation, centres and units are taken; fewer say too little about the rest."""

STEPS, MOST_ROWS = 10, 2560
"""An array without a ``batch_size`` is cut into so many slices, of `FIRST_ROWS` to `MOST_ROWS` rows."""

Batch = tuple[Any, Any, Any]
"""X, y and sample_weight, the last two None where there are none."""


def begin(estimator: Any, source: Iterator[Batch], classes: Any, n_most: int | None) -> tuple[Iterator[Batch], int]:
    """Begin a model with the first rows of a stream, or begin it anew where their number has doubled since.

    Parameters
    ----------
    estimator : RandomFeatureExpansion
        Keeps the batches in ``_first_batches`` for as long as there are too few rows.
    source : iterator of batches
        Those of this call.
    classes : array-like, optional
        All labels that will ever come.
    n_most : int or None
        Batches of the source that may be taken.

    Returns
    -------
    iterator of batches
        All of them from the first, or those of this call where the model goes on as it is.
    int
        How many of them an earlier call has had.

    Raises
    ------
    ShallowsError
        If there is no batch.
    """
    held = vars(estimator).pop("_first_batches", [])
    taken, first, source = _first_batches(estimator, held, source, n_most)
    if first is None:
        raise ShallowsError("The stream ended before its first batch.")
    device, seed = estimator._fit_device(), estimator._seed()
    n_rows = first[0].shape[0]
    if held and n_rows < min(FIRST_ROWS, 2 * estimator._n_first_rows):
        estimator._first_batches = taken
        return itertools.islice(source, len(held), None), 0
    if held:
        classes = getattr(estimator, "classes_", None)
    with device.active():
        estimator._initialise(*first, None, seed, device, classes=classes)
        like = arrays.to_device(np.empty(0), device, estimator._dtype)
        estimator._state = ExpansionState.zero(estimator._problem, estimator._solver.step_size, like)
    estimator._n_batches_seen, estimator._n_first_rows = 0, n_rows
    if n_rows < FIRST_ROWS:
        estimator._first_batches = taken
    return source, len(held)


def _first_batches(
    estimator: Any, held: list[Batch], source: Iterator[Batch], n_most: int | None
) -> tuple[list[Batch], Batch | None, Iterator[Batch]]:
    """Batches with rows enough to begin with, those of them that are in order as one, and all batches of the stream."""
    taken, checked, n_rows, failed = list(held), [], 0, None
    for batch in held:
        checked.append(estimator._validated_training_set(*batch, first=not checked))
        n_rows += checked[-1][0].shape[0]
    while n_rows < FIRST_ROWS and (n_most is None or len(taken) - len(held) < n_most):
        batch = next(source, None)
        if batch is None:
            break
        try:
            now = estimator._validated_training_set(*batch, first=not checked)
            if checked and now[1] is not None and now[1].shape[1:] != checked[0][1].shape[1:]:
                raise ShallowsError(f"y has the shape {now[1].shape} where earlier batches had {checked[0][1].shape}.")
            checked.append(now)
        except (ValueError, ShallowsError):
            if not checked:
                raise
            # The training raises it where its turn comes, after the batches before it.
            failed = batch
            break
        taken.append(batch)
        n_rows += checked[-1][0].shape[0]
    rest = source if failed is None else itertools.chain([failed], source)
    return taken, _joined(checked) if checked else None, itertools.chain(taken, rest)


def _joined(batches: list[Batch]) -> Batch:
    """Several batches as one."""
    if len(batches) == 1:
        return batches[0]
    X = [batch[0] for batch in batches]
    X = scipy.sparse.vstack(X, format="csr") if scipy.sparse.issparse(X[0]) else np.concatenate(X)
    y = None if batches[0][1] is None else np.concatenate([batch[1] for batch in batches])
    if all(batch[2] is None for batch in batches):
        return X, y, None
    return X, y, np.concatenate([np.ones(b[0].shape[0]) if b[2] is None else b[2] for b in batches])


def batches_of(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield batches (X, y, sample_weight): slices of the user's arrays, or the items of the user's stream."""
    if hasattr(X, "shape") or isinstance(X, (list, tuple)):
        X, y, sample_weight = on_host(X), on_host(y), on_host(sample_weight)
        X = X if hasattr(X, "shape") else np.asarray(X)
        X = X.tocsr() if scipy.sparse.issparse(X) else X
        if X.ndim != 2 or X.shape[0] == 0:
            # This check raises the error that says what is wrong.
            validate_data(estimator, X, reset=not hasattr(estimator, "_state"))
        if y is not None:
            y = y if hasattr(y, "shape") else np.asarray(y)
            if y.shape[0] != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows and y has {y.shape[0]}.")
        elif estimator._takes_targets:
            raise ValueError("requires y to be passed, but the target y is None.")
        size = estimator.batch_size or min(MOST_ROWS, max(FIRST_ROWS, -(-X.shape[0] // STEPS)))
        weights = None if sample_weight is None else np.asarray(sample_weight)
        for rows in arrays.blocks(X.shape[0], size):
            yield X[rows], None if y is None else y[rows], None if weights is None else weights[rows]
        return
    if not isinstance(X, Iterable):
        raise ShallowsError(f"A stream is an iterable of batches (X, y), got {type(X).__name__}.")
    if y is not None:
        raise ShallowsError("A stream of batches carries its targets itself: leave out y.")
    for item in X:
        parts = item if isinstance(item, tuple) else (item,)
        least = 2 if estimator._takes_targets else 1
        if not least <= len(parts) <= 3:
            raise ShallowsError(
                f"An item of the stream is a tuple {'(X, y)' if least == 2 else '(X,)'} or (X, y, sample_weight), "
                f"got {len(parts)} parts."
            )
        yield (*parts, *([None] * (3 - len(parts))))


def examples(estimator: Any, source: Iterable[tuple[Any, Any, Any]], device: arrays.Device) -> Iterator[Examples]:
    """Yield the batches checked and on the device; an error names the batch that it is about."""
    for X, y, sample_weight in source:
        number = estimator._n_batches_seen + 1
        try:
            X, y, weights = estimator._validated_training_set(X, y, sample_weight, first=False)
            targets = estimator._encode(y)
            points = estimator._centring.training_points(X, np.arange(X.shape[0]), device, estimator._dtype)[:, :-2]
            if device.kind == "gpu":
                points = arrays.contiguous(points)  # Else each product would copy them.
        except (ValueError, ShallowsError) as error:
            if number == 1:
                raise
            raise type(error)(
                f"Batch {number} cannot be used, and the model is still that of the {number - 1} before: {error}"
            ) from error
        estimator._n_batches_seen = number
        w = None
        if weights is not None:
            w = arrays.to_device((weights / estimator._mean_weight)[:, None], device, estimator._dtype)
        batch = Examples(points, None if targets is None else arrays.to_device(targets, device, estimator._dtype), w)
        estimator._look_at(batch)
        yield batch
