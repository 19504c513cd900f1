"""Centring of the data and removal of constant features, for the training points and for new ones."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays, kernels
from ..arrays import Array, Device
from ..errors import ShallowsError
from ..utils import progress
from .kernel_checks import too_large

_BLOCK_BYTES = 2**25

SPARSE_COLUMNS, SPARSE_SHARE = 1000, 0.05
"""Rows stay sparse with at least this many columns and at most this share of non-zeros. A product of two rows of 1,000
columns and 50 non-zeros then takes a tenth of the time of a dense one."""

MOST_DENSE_COLUMNS = 20_000
"""Sparse rows with more columns are refused where they would have to be dense."""

DENSE_SHARE, FEW_DENSE_BYTES = 0.5, 2**28
"""Dense points made of sparse rows may take this share of the free memory; so many bytes are taken without a look."""

SPARSE_BLOCK_ROWS = 1024
"""New sparse points that kernel values are computed of at a time."""


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
    sparse : bool
        Whether sparse points stay sparse (`arrays.SparsePoints`). Then only columns that are mostly filled are centred.
    """

    mean: np.ndarray
    varies: np.ndarray
    all_equal: bool = False
    sparse: bool = False

    @classmethod
    def of(
        cls, x: Any, *, centred: bool = True, without_constants: bool = True, may_stay_sparse: bool = False
    ) -> Centring:
        """Measure mean and constant features on training data, dense or CSR, block by block.

        Parameters
        ----------
        x : array or CSR matrix, shape (n, d)
        centred : bool
            False for kernels to which the origin matters.
        without_constants : bool
            False for kernels in which a constant feature is no distance to be added.
        may_stay_sparse : bool
            Whether the caller computes with `arrays.SparsePoints`, see `stay_sparse`.

        Raises
        ------
        ShallowsError
            For sparse rows with too many columns for dense ones, see `refuse_wide`.
        """
        n, d = x.shape
        if may_stay_sparse and stay_sparse(x):
            return cls._of_sparse(x, centred=centred, without_constants=without_constants)
        refuse_wide(x)
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

    @classmethod
    def _of_sparse(cls, x: Any, *, centred: bool, without_constants: bool) -> Centring:
        n, d = x.shape
        filled = np.bincount(x.indices, minlength=d)
        lowest, highest = np.full(d, np.inf), np.full(d, -np.inf)
        for bound, nearer in ((lowest, np.minimum), (highest, np.maximum)):
            nearer.at(bound, x.indices, x.data)
            nearer(bound, 0.0, out=bound, where=filled < n)
        varies = highest > lowest
        mean = np.where(varies, np.bincount(x.indices, weights=x.data, minlength=d) / n, lowest)
        # A column far from zero loses digits in float32 unless it is centred; one of few non-zeros does not lie there.
        mean = np.where(2 * filled >= n, mean, 0.0) if centred else np.zeros(d)
        kept = varies if without_constants else np.ones(d, dtype=bool)
        return cls(mean, kept, not varies.any(), sparse=True)

    def row_bytes(self, x: Any, dtype: Any) -> int:
        """Bytes of an augmented point, on average."""
        itemsize = np.dtype(dtype).itemsize
        if not (self.sparse and scipy.sparse.issparse(x)):
            return (int(self.varies.sum()) + 2) * itemsize
        # Centring fills the columns with a mean.
        n_filled = x.nnz / max(1, x.shape[0]) + np.count_nonzero(self.mean)
        return math.ceil(n_filled * (itemsize + 4)) + 4 + 2 * itemsize

    def _sparse_points(self, x: Any, dtype: Any, columns: np.ndarray | None = None) -> arrays.SparsePoints:
        """Points in the kept columns, or in others, less their mean."""
        columns = self.varies if columns is None else columns
        x = scipy.sparse.csr_array(x)
        x = x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)
        x = x if columns.all() else x[:, np.flatnonzero(columns)]
        mean = self.mean[columns]
        if mean.any():
            row = scipy.sparse.csr_array(mean.astype(x.dtype)[None])
            x = scipy.sparse.csr_array(x - scipy.sparse.csr_array(np.ones((x.shape[0], 1), dtype=x.dtype)) @ row)
        with _overflow_as_error(x.data, dtype):
            rows = x.astype(dtype)
        if rows is x:
            rows = x.copy()
        rows.sort_indices()
        if rows.nnz < 2**31:
            rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
        return arrays.SparsePoints(rows)

    def training_points(self, x: Any, order: np.ndarray, device: Device, dtype: Any) -> Array:
        """Return augmented points (`kernels.augmented`) in a given order, shape (len(order), d' + 2), on the device.

        Block by block: beside the result never more than a block is in memory. On a GPU all rows, in whatever order,
        are uploaded as they lie in memory, and put into the order, centred and rounded there, as exactly as here.
        """
        if self.sparse and device.kind == "cpu":
            with np.errstate(over="ignore"):
                return kernels.augmented(self._sparse_points(x[order], dtype))
        if device.kind != "cpu" and _is_permutation(order, x.shape[0]):
            return self._points_made_there(x, order, device, dtype)
        kept = int(self.varies.sum())
        needed = len(order) * (kept + 2) * np.dtype(dtype).itemsize
        if scipy.sparse.issparse(x) and needed > FEW_DENSE_BYTES:
            what = f"Dense points of {len(order):,} sparse rows take"
            arrays.check_room(what, needed, DENSE_SHARE * arrays.available_memory(), INSTEAD)
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
        told = progress.Part("evaluation", x.shape[0])
        if self.sparse and device.kind == "cpu":
            for rows in arrays.blocks(x.shape[0], SPARSE_BLOCK_ROWS):
                # Dense rows as well, so that they get the same values as sparse ones.
                block, extra = scipy.sparse.csr_array(x[rows]), None
                if not everything:
                    with np.errstate(over="ignore"):
                        extra = self._sparse_points(block, dtype, ~self.varies).norms_squared()
                yield rows, self._sparse_points(block, dtype), extra
                told.advance(rows.stop - rows.start)
            return
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
        return self._centring.row_bytes(self._x, self._dtype)

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


def stay_sparse(x: Any) -> bool:
    """Whether rows have so many columns and so few non-zeros that kernels compute with them as they are."""
    n, d = x.shape
    return scipy.sparse.issparse(x) and d >= SPARSE_COLUMNS and x.nnz <= SPARSE_SHARE * n * d


INSTEAD = (
    "Reduce the columns first, for instance with sklearn.decomposition.TruncatedSVD, or take a method whose products "
    "stay sparse: EigenProClassifier, KernelRidgeClassifier, KernelSVMClassifier, their regressors, NystroemFeatures, "
    "or features='nystrom', with a kernel of distances or inner products such as 'gaussian'."
)
"""What to do with sparse rows that are too wide for a method."""


def refuse_wide(x: Any) -> None:
    """Refuse sparse rows of more columns than a method takes whose products are dense.

    Raises
    ------
    ShallowsError
    """
    if x.shape[1] > MOST_DENSE_COLUMNS and stay_sparse(x):
        raise ShallowsError(
            f"X is sparse and has {x.shape[1]:,} columns, and this method or its kernel computes with dense rows, of "
            f"at most {MOST_DENSE_COLUMNS:,} columns. {INSTEAD}"
        )


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
