"""Some columns of a kernel matrix, in the pieces that they lie in."""

from __future__ import annotations

from .. import arrays
from ..arrays import Array

Piece = tuple[slice, slice, Array]
"""Rows and columns of a matrix, and its values there."""


class Columns:
    """Some columns of some rows of a kernel matrix, in the pieces that they lie in.

    Parameters
    ----------
    shape : tuple of int
        (m, M)
    pieces : list of (rows, columns, values)
        Slices of the m rows and of the M columns, and the values there; together they cover the matrix once.
    """

    def __init__(self, shape: tuple[int, int], pieces: list[Piece]):
        self.shape = shape
        self._by_columns: dict[tuple[int, int], list[Piece]] = {}
        for rows, columns, values in pieces:
            self._by_columns.setdefault((columns.start, columns.stop), []).append((rows, columns, values))

    @classmethod
    def of(cls, values: Array) -> Columns:
        """A matrix in one piece, shape (m, M)."""
        return cls(tuple(values.shape), [(slice(0, values.shape[0]), slice(0, values.shape[1]), values)])

    @property
    def spans(self) -> list[slice]:
        """The ranges of columns that the pieces fall into, in order."""
        return [slice(start, stop) for start, stop in sorted(self._by_columns)]

    def product(self, left: Array, span: slice) -> Array:
        """``left @ columns[:, span]`` for ``left`` of shape (c, m) and one of `spans`; shape (c, span)."""
        pieces = self._by_columns[span.start, span.stop]
        return arrays.sum_in_order([arrays.thin_product(values.T, left[:, rows].T) for rows, _, values in pieces]).T

    def values(self) -> Array:
        """The matrix in one piece, shape (m, M)."""
        (_, _, first), *_ = next(iter(self._by_columns.values()))
        out = arrays.namespace(first).empty(self.shape, dtype=first.dtype)
        for pieces in self._by_columns.values():
            for rows, columns, values in pieces:
                out[rows, columns] = values
        return out
