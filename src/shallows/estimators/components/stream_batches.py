"""The batches of a stream of points: taken from the user's array or generator, checked, and brought to the device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse

from ... import arrays
from ...errors import ShallowsError
from ...solvers.examples import Examples
from ..array_inputs import on_host


def batches_of(views: tuple[Any, ...], size: int) -> Iterator[tuple[Any, ...]]:
    """Yield batches, a tuple of views each: slices of the user's arrays, or the items of the user's stream.

    Parameters
    ----------
    views : tuple
        Of one array or two, or of one iterable and, where two views are expected, None.
    size : int
        Rows of a slice.
    """
    views = tuple(on_host(view) for view in views)
    X = views[0]
    if hasattr(X, "shape") or isinstance(X, (list, tuple)):
        found = [_sliceable(view) for view in views]
        lengths = {view.shape[0] for view in found}
        if len(lengths) > 1:
            raise ValueError(
                f"The two views have {found[0].shape[0]} and {found[1].shape[0]} rows; each row is one example."
            )
        if any(view.ndim == 0 or view.shape[0] == 0 for view in found):
            yield tuple(found)  # The check of the batch says what is wrong.
            return
        for rows in arrays.blocks(found[0].shape[0], size):
            yield tuple(view[rows] for view in found)
        return
    if not isinstance(X, Iterable):
        raise ShallowsError(f"A stream is an iterable of batches, got {type(X).__name__}.")
    if len(views) == 2 and views[1] is not None:
        raise ShallowsError("A stream of batches carries both views itself, as tuples (X, Y): leave out Y.")
    for item in X:
        parts = item if isinstance(item, tuple) else (item,)
        if len(parts) != len(views):
            raise ShallowsError(f"An item of the stream has {len(views)} part(s), got {len(parts)}.")
        yield parts


def _sliceable(view: Any) -> Any:
    if scipy.sparse.issparse(view):
        return view.tocsr()
    return view if hasattr(view, "shape") else np.asarray(view)


def examples(estimator: Any, source: Iterable[tuple[Any, ...]], device: arrays.Device) -> Iterator[Examples]:
    """Yield the batches checked and on the device; an error names the batch that it is about."""
    for views in source:
        number = estimator._n_batches_seen + 1
        try:
            views = estimator._validated_views(*views, first=False)
            rows = np.arange(views[0].shape[0])
            points = [
                view.points(X, rows, device, estimator._dtype) for view, X in zip(estimator._views, views, strict=True)
            ]
        except (ValueError, ShallowsError) as error:
            if number == 1:
                raise
            raise type(error)(
                f"Batch {number} cannot be used, and the model is still that of the {number - 1} before: {error}"
            ) from error
        estimator._n_batches_seen = number
        yield Examples(points[0], second_view=points[1] if len(points) > 1 else None)
