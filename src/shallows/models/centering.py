"""Centering of the data and removal of constant features, for training points and new ones, and checks of points."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays, features, kernels
from ..arrays import Array, Device
from ..errors import ShallowsError
from ..kernels import Kernel
from ..utils import progress

_BLOCK_BYTES = 2**25

SPARSE_COLUMNS, SPARSE_SHARE = 1000, 0.05
"""Rows stay sparse with at least this many columns and at most this share of non-zeros. A product of two rows of 1,000
columns and 50 non-zeros then takes a tenth of the time of a dense product."""

MOST_DENSE_COLUMNS = 20_000
"""Sparse rows with more columns are refused where they would have to be dense."""

DENSE_SHARE, FEW_DENSE_BYTES = 0.5, 2**28
"""Dense points made of sparse rows may take this share of the free memory, which is read above this number of bytes."""

SPARSE_BLOCK_ROWS = 1024
"""Rows of new sparse points in a block."""

INSTEAD = (
    "Reduce the columns first, for instance with sklearn.decomposition.TruncatedSVD, or take a method whose products "
    "stay sparse: KernelRidgeClassifier, KernelSVMClassifier, their regressors, NystroemFeatures, "
    "or features='nystrom', with a kernel of distances or inner products such as 'gaussian'."
)
"""What to do with sparse rows that are too wide for a method."""


@dataclass(frozen=True)
class Centering:
    """Subtracts the mean of the training points and drops the features that are constant in them.

    A shift of all points does not change a kernel of distances, but it changes rounding: in float32 the kernel of
    centered data has digits that the kernel of other data loses. A constant feature adds nothing to the distances
    between training points. The squared distance of a new point in such features is computed separately.
    """

    mean: np.ndarray  # Shape (d,), float64
    varies: np.ndarray  # Which features are kept, shape (d,)
    all_equal: bool = False  # Whether all training points are the same
    sparse: bool = False  # Whether points stay `arrays.SparsePoints`; then only mostly filled columns are centered

    @classmethod
    def of(
        cls, x: Any, *, centered: bool = True, without_constants: bool = True, may_stay_sparse: bool = False
    ) -> Centering:
        """Measure mean and constant features of training points, dense or CSR, shape (n, d), block by block.

        Kernels for which the origin matters need ``centered=False``, and kernels in which constant features count need
        ``without_constants=False``. ``may_stay_sparse``: whether the caller computes with `arrays.SparsePoints`.
        """
        n, d = x.shape
        if scipy.sparse.issparse(x):
            if may_stay_sparse and stay_sparse(x):
                return cls._of_sparse(x, centered=centered, without_constants=without_constants)
            refuse_wide(x)
        total, lowest, highest = np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf)
        for rows in arrays.blocks(n, max(1, _BLOCK_BYTES // max(1, 8 * d))):
            block = _dense(x[rows])
            # The checks of the points report a sum that overflows.
            with np.errstate(over="ignore", invalid="ignore"):
                total += block.sum(axis=0, dtype=np.float64)
            np.minimum(lowest, block.min(axis=0), out=lowest)
            np.maximum(highest, block.max(axis=0), out=highest)
        varies = highest > lowest
        # The mean of a constant is that constant, to the last digit.
        mean = np.where(varies, total / n, lowest) if centered else np.zeros(d)
        return cls(mean, varies if without_constants else np.ones(d, dtype=bool), not varies.any())

    @classmethod
    def _of_sparse(cls, x: Any, *, centered: bool, without_constants: bool) -> Centering:
        n, d = x.shape
        filled = np.bincount(x.indices, minlength=d)
        lowest, highest = np.full(d, np.inf), np.full(d, -np.inf)
        for bound, nearer in ((lowest, np.minimum), (highest, np.maximum)):
            nearer.at(bound, x.indices, x.data)
            nearer(bound, 0.0, out=bound, where=filled < n)
        varies = highest > lowest
        mean = np.where(varies, np.bincount(x.indices, weights=x.data, minlength=d) / n, lowest)
        # In float32, a column with a large mean loses digits unless it is centered. Mostly empty columns are near zero.
        mean = np.where(2 * filled >= n, mean, 0.0) if centered else np.zeros(d)
        return cls(mean, varies if without_constants else np.ones(d, dtype=bool), not varies.any(), sparse=True)

    def row_bytes(self, x: Any, dtype: Any) -> int:
        """Bytes of an augmented point, on average."""
        itemsize = np.dtype(dtype).itemsize
        if not (self.sparse and scipy.sparse.issparse(x)):
            return (int(self.varies.sum()) + 2) * itemsize
        # Centering fills the columns that have a mean.
        n_filled = x.nnz / max(1, x.shape[0]) + np.count_nonzero(self.mean)
        return math.ceil(n_filled * (itemsize + 4)) + 4 + 2 * itemsize

    def _sparse_points(self, x: Any, dtype: Any, columns: np.ndarray) -> arrays.SparsePoints:
        """Some columns of points less their mean."""
        x = scipy.sparse.csr_array(x)
        x = x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)
        x = x if columns.all() else x[:, np.flatnonzero(columns)]
        mean = self.mean[columns]
        if mean.any():
            row = scipy.sparse.csr_array(mean.astype(x.dtype)[None])
            x = scipy.sparse.csr_array(x - scipy.sparse.csr_array(np.ones((x.shape[0], 1), dtype=x.dtype)) @ row)
        try:
            with np.errstate(over="raise", invalid="ignore"):
                rows = x.astype(dtype)
        except FloatingPointError as error:
            raise too_large(float(np.abs(x.data).max()), dtype) from error
        if rows is x:
            rows = x.copy()
        rows.sort_indices()
        if rows.nnz < 2**31:
            rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
        return arrays.SparsePoints(rows)

    def training_points(self, x: Any, order: np.ndarray, device: Device, dtype: Any) -> Array:
        """Augmented points in a given order, shape (len(order), d' + 2), with one block at a time in memory."""
        if self.sparse and device.kind == "cpu":
            with np.errstate(over="ignore"):
                return kernels.augmented(self._sparse_points(x[order], dtype, self.varies))
        if device.kind != "cpu" and len(order) == x.shape[0] and np.bincount(order, minlength=len(order)).max() == 1:
            return self._uploaded_points(x, order, device, dtype)
        kept = int(self.varies.sum())
        needed = len(order) * (kept + 2) * np.dtype(dtype).itemsize
        if scipy.sparse.issparse(x) and needed > FEW_DENSE_BYTES:
            what = f"Dense points of {len(order):,} sparse rows take"
            arrays.check_room(what, needed, DENSE_SHARE * arrays.available_memory(), INSTEAD)
        points = np.empty((len(order), kept + 2), dtype=dtype)
        points[:, kept + 1] = 1.0
        everything, mean = bool(self.varies.all()), self.mean[self.varies]
        for rows in arrays.blocks(len(order), max(1, _BLOCK_BYTES // max(1, 8 * x.shape[1]))):
            block, out = _dense(x[order[rows]]), points[rows, :kept]
            block = block if everything else block[:, self.varies]
            try:
                # The difference is taken in the wider of the two precisions and rounded once.
                with np.errstate(over="raise", invalid="ignore"):
                    np.subtract(block, mean.astype(block.dtype), out=out, casting="same_kind")
            except FloatingPointError as error:
                raise too_large(float(np.abs(block).max()), dtype) from error
            np.einsum("ij,ij->i", out, out, out=points[rows, kept])
        return points if device.kind == "cpu" else arrays.to_device(points, device, dtype)

    def rows_of(self, points: Array) -> Any:
        """The rows of augmented points on the host, shape (m, d): CSR for sparse points, float64 otherwise."""
        if arrays.is_sparse(points):
            x = scipy.sparse.csr_array((points.rows.data, points.rows.indices, points.rows.indptr), points.rows.shape)
            if not self.varies.all():
                kept = np.flatnonzero(self.varies)
                x = scipy.sparse.csr_array((x.data, kept[x.indices], x.indptr), (x.shape[0], len(self.varies)))
            if self.mean.any():
                row = scipy.sparse.csr_array(self.mean.astype(x.dtype)[None])
                x = scipy.sparse.csr_array(x + scipy.sparse.csr_array(np.ones((x.shape[0], 1), dtype=x.dtype)) @ row)
                x.eliminate_zeros()
            return x.copy()
        x, mean, points = np.tile(self.mean, (points.shape[0], 1)), self.mean[self.varies], points[:, :-2]
        # What was 0 is 0 again, also where the mean was rounded.
        x[:, self.varies] = np.where(points == -mean.astype(points.dtype), 0.0, points + mean)
        return x

    def _uploaded_points(self, x: Any, order: np.ndarray, device: Device, dtype: Any) -> Array:
        """`training_points` of all rows on a GPU, which orders, centers and rounds as exactly as the host."""
        kept = int(self.varies.sum())
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        with device.active():
            xp = device.namespace
            points = xp.empty((len(order), kept + 2), dtype=dtype)
            points[:, kept + 1] = 1.0
            columns = None if self.varies.all() else arrays.to_device(np.flatnonzero(self.varies), device)
            mean = self.mean[self.varies]
            blocks = list(arrays.blocks(len(order), max(1, _BLOCK_BYTES // max(1, 8 * x.shape[1]))))
            for rows in blocks:
                host = _dense(x[rows])
                block, here = arrays.to_device(host, device), arrays.to_device(places[rows], device)
                block = block if columns is None else xp.take(block, columns, axis=1)
                points[here, :kept] = arrays.astype(block - arrays.to_device(mean, device, host.dtype), points.dtype)
            coordinates = points[:, :kept]
            if not bool(xp.all(xp.isfinite(coordinates))):
                raise too_large(max(float(abs(x[rows]).max()) for rows in blocks), dtype)
            points[:, kept] = arrays.row_norms_squared(coordinates)
        return points

    def new_points(self, x: Any, device: Device, dtype: Any) -> Iterator[tuple[slice, Array, Array | None]]:
        """Yield blocks of new points: rows, centered points, squared distances in the constant features."""
        everything, mean = bool(self.varies.all()), self.mean
        part = progress.Part("evaluation", x.shape[0])
        if self.sparse and device.kind == "cpu":
            for rows in arrays.blocks(x.shape[0], SPARSE_BLOCK_ROWS):
                # Dense rows too, so that they get the same values as sparse rows.
                block, extra = scipy.sparse.csr_array(x[rows]), None
                if not everything:
                    with np.errstate(over="ignore"):
                        extra = self._sparse_points(block, dtype, ~self.varies).norms_squared()
                yield rows, self._sparse_points(block, dtype, self.varies), extra
                part.advance(rows.stop - rows.start)
            return
        for rows in arrays.blocks(x.shape[0], max(1, _BLOCK_BYTES // max(1, 8 * x.shape[1]))):
            block, extra = _dense(x[rows]), None
            try:
                with np.errstate(over="raise", invalid="ignore"):
                    block = block - mean.astype(block.dtype)
                    if not everything:
                        outside = block[:, ~self.varies]
                        # An infinite distance gives the same kernel value as a finite one that is too large.
                        with np.errstate(over="ignore"):
                            extra = arrays.to_device(np.einsum("ij,ij->i", outside, outside), device, dtype)
                        block = block[:, self.varies]
                    # Rounded on the host, where an overflow is noticed at no cost.
                    block = np.ascontiguousarray(block, dtype=dtype)
            except FloatingPointError as error:
                raise too_large(float(abs(x[rows]).max()), dtype) from error
            yield rows, arrays.to_device(block, device, dtype), extra
            part.advance(rows.stop - rows.start)


def place_points(
    X: Any,
    order: np.ndarray,
    kernel: Kernel,
    device: Device,
    dtype: np.dtype,
    feature_map: Any = None,
    *,
    centered: bool | None = None,
) -> tuple[Centering, Array]:
    """The points in the order of a fit on the device.

    They are ``centered`` by default if that changes no kernel value and no feature. A feature map needs all columns,
    because new points may differ in a column that is constant.
    """
    kernel.check_inputs(X.shape[1])
    named = feature_map is None or isinstance(feature_map, str)
    linear = named and feature_map == "linear"
    centering = Centering.of(
        X,
        centered=named and (kernel.shift_invariant or linear) if centered is None else centered,
        without_constants=feature_map is None and kernel.of_distance,
        may_stay_sparse=kernel.takes_sparse_points
        and (feature_map is None or features.takes_sparse_points(feature_map)),
    )
    points = centering.training_points(X, order, device, dtype)
    if named:
        origin_matters = not kernel.shift_invariant and not linear
        check_scale(points, dtype, may_vanish=centering.all_equal or origin_matters)
    return centering, points


class TrainingRows:
    """The augmented training points of a fit, in its order: kept in memory if ``held``, or read from the data batch by
    batch.
    """

    def __init__(
        self, x: Any, order: np.ndarray, centering: Centering, device: Device, dtype: Any, *, held: bool = True
    ):
        self._x, self._order, self._centering, self._device, self._dtype = x, order, centering, device, dtype
        self.width = int(centering.varies.sum())
        self._held = centering.training_points(x, order, device, dtype) if held else None

    def __len__(self) -> int:
        return len(self._order)

    @property
    def held_bytes(self) -> int:
        """Bytes of the points that are kept in memory."""
        return 0 if self._held is None else self._held.nbytes

    @property
    def row_bytes(self) -> int:
        """Bytes of a point."""
        return self._centering.row_bytes(self._x, self._dtype)

    def __call__(self, batch: slice | np.ndarray) -> Array:
        """The points of a batch, a slice or an array of their numbers, shape (m, d' + 2)."""
        if self._held is not None:
            return self._held[batch, :]
        rows = self._order[batch]
        # A memory map is read from front to back; the rows are then put into the order of the batch.
        ascending = np.argsort(rows, kind="stable")
        places = np.empty_like(ascending)
        places[ascending] = np.arange(len(rows))
        sorted_points = self._centering.training_points(self._x, rows[ascending], arrays.Device("cpu"), self._dtype)
        return arrays.to_device(sorted_points[places], self._device, self._dtype)


class RowsAsArray:
    """Training rows that look like an array of shape (n, d). Only the requested batches are read."""

    def __init__(self, rows: TrainingRows):
        self._rows = rows
        self.shape = len(rows), rows.width
        self.block_rows = max(1, _BLOCK_BYTES // rows.row_bytes)  # of a pass over all

    def __getitem__(self, key: tuple[slice | np.ndarray, slice]) -> Array:
        """The points of a slice of the rows, or of their numbers, shape (m, d), by ``points[batch, :]``."""
        return self._rows(key[0])[:, :-2]


def _dense(block: Any) -> np.ndarray:
    # In C order, so that sums, and therefore the model, do not depend on the layout in memory.
    block = block.toarray(order="C") if scipy.sparse.issparse(block) else np.ascontiguousarray(block)
    return block if block.dtype in (np.float32, np.float64) else block.astype(np.float64)


# --------------------------------------------------------------------------------------------------- checks


def stay_sparse(x: Any) -> bool:
    """Whether kernels compute with sparse rows as they are: the rows have many columns and few non-zeros."""
    n, d = x.shape
    return scipy.sparse.issparse(x) and d >= SPARSE_COLUMNS and x.nnz <= SPARSE_SHARE * n * d


def some_points(x: Any, rows: np.ndarray) -> Array:
    """Some rows as kernels need them: dense, or `arrays.SparsePoints` if the rows stay sparse."""
    if stay_sparse(x):
        return arrays.SparsePoints(x[rows])
    return x[rows].toarray() if scipy.sparse.issparse(x) else arrays.to_numpy(arrays.take_rows(x, rows))


def refuse_wide(x: Any) -> None:
    """Raise a `ShallowsError` for sparse rows that have too many columns for dense ones."""
    if x.shape[1] > MOST_DENSE_COLUMNS and stay_sparse(x):
        raise ShallowsError(
            f"X is sparse and has {x.shape[1]:,} columns, and this method or its kernel computes with dense rows, of "
            f"at most {MOST_DENSE_COLUMNS:,} columns. {INSTEAD}"
        )


def check_scale(points: Any, dtype: np.dtype, *, may_vanish: bool = False) -> None:
    """Refuse augmented points whose squared distances over- or underflow in a precision."""
    largest = float(points[:, -2].max())
    vanishes = largest == 0 and points.shape[1] > 2 and not may_vanish
    if vanishes or not largest < math.inf:
        raise ShallowsError(
            f"The features are too {'small' if vanishes else 'large'} for {dtype.name}: squared distances "
            f"{'under' if vanishes else 'over'}"
            "flow. Bring X to a usual scale, for instance with sklearn.preprocessing.StandardScaler."
        )


def check_precision(points: np.ndarray, dtype: np.dtype) -> None:
    """Refuse centered points, shape (m, d) in float64, that underflow in the precision of the model."""
    largest, least = float(np.abs(points).max(initial=0.0)), float(np.finfo(dtype).tiny)
    if 0.0 < largest < least:
        raise ShallowsError(
            f"The features are too small for {dtype.name}: the largest distance from the mean is {largest:.3g}, and "
            f"numbers below {least:.2g} are rounded to zero. Bring X to a usual scale, for example with "
            "sklearn.preprocessing.StandardScaler, or use dtype='float64'."
        )


def too_large(largest: float, dtype: Any) -> ShallowsError:
    """The error for points whose values, or distances, overflow in a precision."""
    name = np.dtype(dtype).name
    return ShallowsError(
        f"X contains values as large as {largest:.3g}, which overflow in {name}, the precision of the model. Bring X "
        f"to a usual scale{', or fit with dtype=' + repr('float64') if name != 'float64' else ''}."
    )


def check_scores(scores: np.ndarray, X: Any) -> None:
    """Refuse new points at which the function of a fitted model overflows."""
    if not np.isfinite(scores).all():
        raise too_large(float(abs(X).max()), scores.dtype)
