"""The matrix of the features of many points, kept where it fits and made block by block where it does not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import scipy.sparse

from .. import arrays
from ..arrays import Array
from ..errors import ShallowsError
from .fourier import FourierFeatures
from .protocol import FeatureMap, SparseFeatureMap
from .sparse_rows import is_sparse

ROW_BYTES = 2**25
"""Features that are made at a time where many rows are gone through."""


@dataclass(frozen=True)
class Linear:
    """The points themselves and a constant one: f(x) = wᵀx + b."""

    n_inputs: int

    @property
    def n_features(self) -> int:
        """One more than the inputs."""
        return self.n_inputs + 1

    def map(self, x: Array) -> Array:
        """[x, 1], shape (m, d + 1)."""
        xp = arrays.namespace(x)
        return xp.concat([x, xp.ones((x.shape[0], 1), dtype=x.dtype)], axis=1)


class Blocks:
    """A feature map in ranges of columns that are made one at a time, so that no row need be whole in memory.

    Parameters
    ----------
    features : FeatureMap
        A `FourierFeatures` is gone through block by block; any other map is one block, whose rows may be sparse
        (`protocol.SparseFeatureMap`).
    n_features : int, optional
        Of a `FourierFeatures`, how many columns; its last block may be used in part. None takes what it says of itself.
    """

    def __init__(self, features: FeatureMap, n_features: int | None = None):
        if not (callable(getattr(features, "map", None)) and hasattr(features, "n_features")):
            raise ShallowsError(
                f"A feature map needs a method map(x) and a number n_features, got {type(features).__name__}."
            )
        self.features = features
        self.n_features = int(features.n_features if n_features is None else n_features)
        self._streamed = isinstance(features, FourierFeatures)
        width = features.width if self._streamed else self.n_features
        self.spans = list(arrays.blocks(self.n_features, width))
        self.is_sparse = isinstance(features, SparseFeatureMap)

    @property
    def numbers_of_row(self) -> int:
        """How many numbers a row of all features takes: one a feature, or two for each that is not zero."""
        return 2 * self.features.n_nonzeros if self.is_sparse else self.n_features

    def block(self, x: Array, k: int) -> Any:
        """Columns ``spans[k]`` of the features of some points, shape (m, width); a CSR matrix if they are sparse."""
        if not self._streamed:
            made = self.features.map(x)
            if made.shape != (x.shape[0], self.n_features):
                raise ShallowsError(
                    f"The feature map gave an array of shape {tuple(made.shape)} where "
                    f"{(x.shape[0], self.n_features)} was expected."
                )
            if is_sparse(made) != self.is_sparse:
                raise ShallowsError(
                    "A feature map with sparse rows has a number n_nonzeros, the most values of a row that are not "
                    "zero; one with dense rows has none."
                )
            return made.tocsr() if self.is_sparse else made
        f, span = self.features, self.spans[k]
        made = f.block(k, x)
        n_columns = span.stop - span.start
        columns_each = 2 if f.form == "pair" else 1
        if n_columns < f.width:
            # The first frequencies of the last block, with their cosines and their sines.
            used, xp = n_columns // columns_each, arrays.namespace(x)
            made = (
                made[:, :used]
                if columns_each == 1
                else xp.concat([made[:, :used], made[:, f.block_size : f.block_size + used]], axis=1)
            )
        made *= 1.0 / math.sqrt(self.n_features // columns_each)
        return made

    def dot(self, x: Array, a: Array) -> Array:
        """``map(x) @ a`` for ``a`` of shape (n_features, c)."""
        return arrays.sum_in_order(
            [arrays.thin_product(self.block(x, k), a[span, :]) for k, span in enumerate(self.spans)]
        )


class Design:
    """The features of n points: the matrix Φ of a linear model, by rows.

    Parameters
    ----------
    blocks : Blocks
    points : array, shape (n, d)
    budget : int
        Bytes. The whole matrix is kept if it fits; else the features of a batch are made when they are asked for.

    Attributes
    ----------
    kept : bool
    """

    def __init__(self, blocks: Blocks, points: Array, *, budget: int):
        self.blocks, self.points = blocks, points
        self.n, self.n_features = points.shape[0], blocks.n_features
        self.dtype = points.dtype
        self._bytes_of_row = blocks.numbers_of_row * arrays.itemsize(points)
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
        """The ranges of columns that `block` hands out; one, if all is kept."""
        return [slice(0, self.n_features)] if self.kept else self.blocks.spans

    def block(self, rows: slice, k: int) -> Any:
        """Φ[rows, spans[k]], an array or a CSR matrix."""
        if self._values is not None:
            return self._values[rows, :]
        return self.blocks.block(self.points[rows, :], k)

    def holds(self, n_rows: int) -> bool:
        """Whether so many rows of the matrix fit beside what is kept."""
        return self.kept or n_rows * self._bytes_of_row <= max(self.budget // 2, ROW_BYTES)

    def dot(self, a: Array) -> Array:
        """``Φ @ a`` for ``a`` of shape (n_features, c)."""
        out = arrays.namespace(a).empty((self.n, a.shape[1]), dtype=a.dtype)
        for rows in self._row_blocks(self.n):
            out[rows, :] = arrays.sum_in_order(
                [arrays.thin_product(self.block(rows, k), a[span, :]) for k, span in enumerate(self.spans)]
            )
        return out
