"""Centring of the data and removal of constant features, for the training points and for new ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays
from ..arrays import Array, Device
from ..utils import progress
from .kernel_checks import too_large

_BLOCK_BYTES = 2**25


@dataclass(frozen=True)
class Centring:
    """Subtracts the mean of the training points and drops the features that are constant in them.

    A kernel of distances does not change when all points are shifted, but rounding does: in float32 the kernel of
    centred data has digits that the kernel of uncentred data loses. A constant feature adds nothing to the distances
    between training points, and much of an image's border is constant. A new point may differ in such a feature; its
    squared distance there is computed apart.

    Attributes
    ----------
    mean : ndarray, shape (d,), float64
    varies : ndarray of bool, shape (d,)
        Which features are kept.
    all_equal : bool
        Whether all training points are the same.
    """

    mean: np.ndarray
    varies: np.ndarray
    all_equal: bool = False

    @classmethod
    def of(cls, x: Any, *, centred: bool = True, without_constants: bool = True) -> Centring:
        """Measure mean and constant features on training data, dense or CSR, block by block.

        Parameters
        ----------
        x : array or CSR matrix, shape (n, d)
        centred : bool
            False for kernels to which the origin matters.
        without_constants : bool
            False for kernels in which a constant feature is no distance to be added.
        """
        n, d = x.shape
        total, lowest, highest = np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf)
        for rows in _row_blocks(x):
            block = _dense(x[rows])
            # A sum that overflows is reported by whoever checks the points.
            with np.errstate(over="ignore", invalid="ignore"):
                total += block.sum(axis=0, dtype=np.float64)
            np.minimum(lowest, block.min(axis=0), out=lowest)
            np.maximum(highest, block.max(axis=0), out=highest)
        varies = highest > lowest
        # The mean of a constant is that constant, to the last digit.
        mean = np.where(varies, total / n, lowest) if centred else np.zeros(d)
        kept = varies if without_constants else np.ones(d, dtype=bool)
        return cls(mean, kept, not varies.any())

    def training_points(self, x: Any, order: np.ndarray, device: Device, dtype: Any) -> Array:
        """Return augmented points (`kernels.augmented`) in a given order, shape (len(order), d' + 2), on the device.

        Block by block: beside the result never more than a block is in memory. On a GPU all rows, in whatever order,
        are uploaded as they lie in memory, and put into the order, centred and rounded there, as exactly as here.
        """
        if device.kind != "cpu" and _is_permutation(order, x.shape[0]):
            return self._points_made_there(x, order, device, dtype)
        kept = int(self.varies.sum())
        points = np.empty((len(order), kept + 2), dtype=dtype)
        points[:, kept + 1] = 1.0
        everything, mean = bool(self.varies.all()), self.mean[self.varies]
        for rows in arrays.blocks(len(order), _block_rows(x)):
            block = _dense(x[order[rows]])
            block = block if everything else block[:, self.varies]
            # The difference is taken in the wider of the two precisions and rounded once.
            with _overflow_as_error(block, points.dtype):
                np.subtract(
                    block,
                    mean if block.dtype == np.float64 else mean.astype(block.dtype),
                    out=points[rows, :kept],
                    casting="same_kind",
                )
            np.einsum("ij,ij->i", points[rows, :kept], points[rows, :kept], out=points[rows, kept])
        return points if device.kind == "cpu" else arrays.to_device(points, device, dtype)

    def _points_made_there(self, x: Any, order: np.ndarray, device: Device, dtype: Any) -> Array:
        """`training_points` of all rows of ``x``, with nothing done on the host but the upload of blocks."""
        kept = int(self.varies.sum())
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        with device.active():
            xp = device.namespace
            points = xp.empty((len(order), kept + 2), dtype=dtype)
            points[:, kept + 1] = 1.0
            columns = None if self.varies.all() else arrays.to_device(np.flatnonzero(self.varies), device)
            mean = self.mean[self.varies]
            for rows in _row_blocks(x):
                host = _dense(x[rows])
                block, here = arrays.to_device(host, device), arrays.to_device(places[rows], device)
                block = block if columns is None else xp.take(block, columns, axis=1)
                # In the wider of the two precisions, as above, and rounded once.
                points[here, :kept] = arrays.astype(block - arrays.to_device(mean, device, host.dtype), points.dtype)
            coordinates = points[:, :kept]
            if not bool(xp.all(xp.isfinite(coordinates))):
                raise too_large(max(float(np.abs(_dense(x[rows])).max()) for rows in _row_blocks(x)), dtype)
            points[:, kept] = arrays.row_norms_squared(coordinates)
        return points

    def new_points(self, x: Any, device: Device, dtype: Any) -> Iterator[tuple[slice, Array, Array | None]]:
        """Yield blocks of new points: their rows, the centred points, the squared distance in the constant features."""
        everything, mean = bool(self.varies.all()), self.mean
        told = progress.part("evaluation", x.shape[0])
        for rows in _row_blocks(x):
            block, extra = _dense(x[rows]), None
            with _overflow_as_error(block, dtype):
                block = block - (mean if block.dtype == np.float64 else mean.astype(block.dtype))
                if not everything:
                    outside = block[:, ~self.varies]
                    # An infinite distance gives the same kernel value as one that is merely too large.
                    with np.errstate(over="ignore"):
                        extra = arrays.to_device(np.einsum("ij,ij->i", outside, outside), device, dtype)
                    block = block[:, self.varies]
                # Rounded on the host, where numbers beyond the precision are noticed at no cost.
                block = np.ascontiguousarray(block, dtype=dtype)
            yield rows, arrays.to_device(block, device, dtype), extra
            told.advance(rows.stop - rows.start)


class TrainingRows:
    """The augmented training points of a fit, in its order: kept in memory, or read from the data batch by batch.

    Parameters
    ----------
    x : array or CSR matrix, shape (n, d)
        Dense, sparse or a memory map.
    order : array of int, shape (n,)
    centring : Centring
    device, dtype
        Of the points that are returned.
    held : bool
        Whether to keep all points in memory; if not, every batch is read from the data.
    """

    def __init__(self, x: Any, order: np.ndarray, centring: Centring, device: Device, dtype: Any, *, held: bool = True):
        self._x, self._order, self._centring, self._device, self._dtype = x, order, centring, device, dtype
        self.width = int(centring.varies.sum())
        self._held = centring.training_points(x, order, device, dtype) if held else None

    def __len__(self) -> int:
        return len(self._order)

    @property
    def held_bytes(self) -> int:
        """Bytes of the points that are kept in memory."""
        return 0 if self._held is None else self._held.nbytes

    @property
    def row_bytes(self) -> int:
        """Bytes of a point."""
        return (self.width + 2) * np.dtype(self._dtype).itemsize

    def __call__(self, batch: slice | np.ndarray) -> Array:
        """The points of a batch, a slice or an array of their numbers, shape (m, d' + 2)."""
        if self._held is not None:
            return self._held[batch, :]
        rows = self._order[batch]
        # A memory map is read from front to back; the rows are then put into the order of the batch.
        ascending = np.argsort(rows, kind="stable")
        places = np.empty_like(ascending)
        places[ascending] = np.arange(len(rows))
        sorted_points = self._centring.training_points(self._x, rows[ascending], arrays.Device("cpu"), self._dtype)
        return arrays.to_device(sorted_points[places], self._device, self._dtype)


class RowsAsArray:
    """Training rows with the look of an array of shape (n, d), of which only the batches that are asked for exist."""

    def __init__(self, rows: TrainingRows):
        self._rows = rows
        self.shape = len(rows), rows.width
        self.block_rows = max(1, _BLOCK_BYTES // rows.row_bytes)  # of a pass over all

    def __getitem__(self, key: tuple[slice | np.ndarray, slice]) -> Array:
        """The points of a slice of the rows, or of their numbers, shape (m, d), by ``points[batch, :]``."""
        return self._rows(key[0])[:, :-2]


@contextlib.contextmanager
def _overflow_as_error(block: np.ndarray, dtype: Any) -> Iterator[None]:
    """Turn an overflow in a precision inside the context into an error that names the largest number."""
    try:
        with np.errstate(over="raise", invalid="ignore"):
            yield
    except FloatingPointError as error:
        raise too_large(float(np.abs(block).max()), dtype) from error


def _is_permutation(order: np.ndarray, n: int) -> bool:
    """Whether each of n rows is in an order once."""
    return len(order) == n and bool(np.bincount(order, minlength=n).max() == 1)


def _row_blocks(x: Any) -> Iterator[slice]:
    return iter(arrays.blocks(x.shape[0], _block_rows(x)))


def _block_rows(x: Any) -> int:
    return max(1, _BLOCK_BYTES // max(1, 8 * x.shape[1]))


def _dense(block: Any) -> np.ndarray:
    # In C order, so that sums, and with them the model, do not depend on the layout in memory.
    block = block.toarray(order="C") if scipy.sparse.issparse(block) else np.ascontiguousarray(block)
    return block if block.dtype in (np.float32, np.float64) else block.astype(np.float64)
