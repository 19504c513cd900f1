"""The features of many points as a matrix: in memory where it fits, else computed block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import scipy.sparse

from .. import arrays
from ..arrays import Array, Device
from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers
from .base import FeatureMap, SparseFeatureMap

ROW_BYTES = 2**25
"""Bytes of the features of a block in a pass over many rows."""


@takes_numpy_integers
class Blocks:
    """A feature map whose columns are computed in ranges, one at a time, so that rows are never in memory as a whole.

    A streamed `FeatureMap` is computed block by block, with ``n_features`` columns, rounded up if a frequency has two.
    Any other map is one block, whose rows may be sparse (`SparseFeatureMap`).
    """

    def __init__(self, features: Any, n_features: int | None = None):
        if not (callable(getattr(features, "map", None)) and hasattr(features, "n_features")):
            said = (
                "It is a transformer: put it into a pipeline before a linear model, or into FeatureRidgeClassifier or "
                "FeatureRidgeRegressor."
                if hasattr(features, "fit_transform")
                else "Names are those of shallows.features.FEATURE_MAPS."
            )
            raise ShallowsError(
                f"features must be a name or an object with a method map(x) and a number n_features, got "
                f"{type(features).__name__}. {said}"
            )
        self.features = features
        self._streamed = isinstance(features, FeatureMap) and features.streamed
        in_part = self._streamed and n_features is not None
        self.n_features = int(features.n_features)
        if in_part:
            together = getattr(features, "columns_of_frequency", 1)
            self.n_features = -(-int(n_features) // together) * together
        width = features.width if self._streamed else self.n_features
        self.spans = list(arrays.blocks(self.n_features, width))
        self.is_sparse = isinstance(features, SparseFeatureMap)

    def to(self, device: Device) -> Blocks:
        """The same features on a device; maps of the user are not moved."""
        moved = self.features.to(device) if isinstance(self.features, FeatureMap) else self.features
        return self if moved is self.features else Blocks(moved, self.n_features)

    def block(self, x: Array, k: int) -> Any:
        """Columns ``spans[k]`` of the features of some points, shape (m, width); a CSR matrix if they are sparse."""
        if self._streamed:
            return self.features.columns(k, x, self.spans[k].stop - self.spans[k].start, self.n_features)
        features = self.features.map(x)
        if features.shape != (x.shape[0], self.n_features):
            raise ShallowsError(
                f"The feature map gave an array of shape {tuple(features.shape)} where "
                f"{(x.shape[0], self.n_features)} was expected."
            )
        if scipy.sparse.issparse(features) != self.is_sparse:
            raise ShallowsError(
                "A feature map with sparse rows has a number n_nonzeros, the most values of a row that are not "
                "zero; one with dense rows has none."
            )
        return features.tocsr() if self.is_sparse else features

    def map(self, x: Array) -> Any:
        """All columns of the features of some points, shape (m, n_features); a CSR matrix if they are sparse."""
        features = [self.block(x, k) for k in range(len(self.spans))]
        return features[0] if len(features) == 1 else arrays.namespace(features[0]).concat(features, axis=1)

    def dot(self, x: Array, a: Array) -> Array:
        """``map(x) @ a`` for ``a`` of shape (n_features, c)."""
        return arrays.sum_in_order(
            [arrays.thin_product(self.block(x, k), a[span, :]) for k, span in enumerate(self.spans)]
        )


class Design:
    """The features of n points as a matrix Φ, kept if it fits into ``budget`` bytes, else computed by batches."""

    def __init__(self, blocks: Blocks, points: Array, *, budget: int):
        self.blocks, self.points = blocks, points
        self.n, self.n_features = points.shape[0], blocks.n_features
        self.dtype = points.dtype
        # A sparse row has a value and an index for each non-zero.
        numbers_of_row = 2 * blocks.features.n_nonzeros if blocks.is_sparse else self.n_features
        self._bytes_of_row = numbers_of_row * arrays.itemsize(points)
        self.budget = int(budget)
        self.kept = self.n * self._bytes_of_row <= budget
        self._values: Any = None
        if self.kept and blocks.is_sparse:
            parts = [blocks.block(points[rows, :], 0) for rows in self._row_blocks(self.n)]
            self._values = scipy.sparse.vstack(parts, format="csr")
        elif self.kept:
            self._values = arrays.namespace(points).empty((self.n, self.n_features), dtype=points.dtype)
            for rows in self._row_blocks(self.n):
                for k, span in enumerate(blocks.spans):
                    self._values[rows, span] = blocks.block(points[rows, :], k)

    def _row_blocks(self, n: int) -> Iterator[slice]:
        widest = max(span.stop - span.start for span in self.blocks.spans) * arrays.itemsize(self.points)
        widest = self._bytes_of_row if self.blocks.is_sparse else widest
        return iter(arrays.blocks(n, max(1, ROW_BYTES // widest)))

    @property
    def kept_fraction(self) -> float:
        """1 if the matrix is kept, else 0."""
        return float(self.kept)

    @property
    def spans(self) -> list[slice]:
        """The ranges of columns of `block`."""
        return self.blocks.spans

    def block(self, rows: slice, k: int) -> Any:
        """Φ[rows, spans[k]], an array or a CSR matrix."""
        if self._values is None:
            return self.blocks.block(self.points[rows, :], k)
        return self._values[rows, :] if self.blocks.is_sparse else self._values[rows, self.spans[k]]

    def rows(self, rows: slice) -> Any:
        """Φ[rows, :], an array or a CSR matrix."""
        return self.blocks.map(self.points[rows, :]) if self._values is None else self._values[rows, :]

    def holds(self, n_rows: int) -> bool:
        """Whether this number of rows fits into memory next to what is kept."""
        return self.kept or n_rows * self._bytes_of_row <= max(self.budget // 2, ROW_BYTES)

    def dot(self, a: Array) -> Array:
        """``Φ @ a`` for ``a`` of shape (n_features, c)."""
        out = arrays.namespace(a).empty((self.n, a.shape[1]), dtype=a.dtype)
        for rows in self._row_blocks(self.n):
            out[rows, :] = arrays.sum_in_order(
                [arrays.thin_product(self.block(rows, k), a[span, :]) for k, span in enumerate(self.spans)]
            )
        return out
