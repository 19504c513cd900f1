"""The batches of a stream: taken from the user's arrays or generator, checked, and brought to the device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import validate_data

from ... import arrays
from ...errors import ShallowsError
from ...solvers.examples import Examples
from ..array_inputs import on_host


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
        size = getattr(estimator, "batch_size_", None) or estimator.batch_size or estimator._default_sizes(None)[1]
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
        yield Examples(points, None if targets is None else arrays.to_device(targets, device, estimator._dtype), w)
