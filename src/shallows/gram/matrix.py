"""The symmetric kernel matrix of a set of points, cut into square tiles, for products."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable

import numpy as np

from .. import arrays, kernels
from ..arrays import Array
from ..kernels import Kernel
from ..kernels.compiled import CompiledKernel, compiled_kernel
from ..utils import progress
from . import fused
from .cross import split_at_tiles, tile_edge

MOST_COLUMNS = 64
"""Number of columns up to which one pass over kept 16-bit values is faster than two."""

Piece = tuple[slice, slice, Array]
"""Rows and columns of a matrix, and its values there."""


class Columns:
    """Some columns of some rows of a kernel matrix, shape (m, M), in pieces that are views of tiles where possible.

    ``pieces``: (rows, columns, values), which cover the matrix once. ``spans``: the ranges of columns of the pieces.
    """

    def __init__(self, shape: tuple[int, int], pieces: list[Piece]):
        self.shape = shape
        self._by_columns: dict[tuple[int, int], list[Piece]] = {}
        for rows, columns, values in pieces:
            self._by_columns.setdefault((columns.start, columns.stop), []).append((rows, columns, values))
        self.spans = [slice(start, stop) for start, stop in sorted(self._by_columns)]

    @classmethod
    def of(cls, values: Array) -> Columns:
        """A matrix in one piece, shape (m, M)."""
        return cls(tuple(values.shape), [(slice(0, values.shape[0]), slice(0, values.shape[1]), values)])

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


class Gram:
    """The kernel matrix K of n augmented points, for products.

    Parameters
    ----------
    budget : int
        Bytes of the kept tiles and the scratch space. Products work with any budget.
    tile : int, optional
        Edge of a tile.
    rounds : bool
        Whether kept values may be rounded to multiples of 1/65,535, in half of the memory: only if a `CompiledKernel`
        fills the tiles and all rounded tiles fit.

    Attributes
    ----------
    kept_fraction, spare_bytes
        Share of the tiles that are kept, ``kept_bits`` bits for each value, and bytes of the budget that are not used.
    """

    def __init__(self, kernel: Kernel, points: Array, *, budget: int, tile: int | None = None, rounds: bool = False):
        self.kernel = kernel
        self.points = points
        self.n = points.shape[0]
        # This fills the tiles; solvers use the kernel itself.
        self._compiled = compiled_kernel(kernel, points, self.n * (self.n + 1) // 2)
        self.dtype = points.dtype
        self.tile = min(tile, max(self.n, 1)) if tile else tile_edge(points, budget)
        self.n_workers = min(arrays.workers_for(points), -(-self.n // self.tile))
        self._spans = list(arrays.blocks(self.n, self.tile))
        pairs = [(i, j) for i in range(len(self._spans)) for j in range(i, len(self._spans))]
        size = arrays.itemsize(points)
        affordable = max(0, int(budget) - 3 * self.n_workers * self.tile**2 * size)
        # Either all values are rounded or none, so that a model does not depend on the number of tiles that fit.
        fits = 2 * self.tile**2 * len(pairs) <= affordable
        self._rounds = rounds and fits and isinstance(self._compiled, CompiledKernel)
        self.kept_bits = 16 if self._rounds else 8 * size
        bytes_of_tile = self.tile**2 * self.kept_bits // 8
        n_kept = min(len(pairs), affordable // bytes_of_tile)
        self.kept_fraction = n_kept / len(pairs) if pairs else 1.0
        self.spare_bytes = max(0, affordable - n_kept * bytes_of_tile)
        self._own = threading.local()
        # The tiles of the first rows are kept: a preconditioner's subsample reads them in every step.
        self._tiles: dict[tuple[int, int], Array] = {}
        self._store: Array | None = None
        self._make(pairs[:n_kept])

    # ------------------------------------------------------------------------------------------ tiles

    def _make(self, pairs: list[tuple[int, int]]) -> None:
        """Compute the tiles that are kept."""
        if not pairs:
            return
        # CuPy copies an operand or a result with strided rows, so each of its tiles has its own array.
        xp, in_one_array = arrays.namespace(self.points), arrays.uses_numpy(self.points)
        progress_of_tiles = progress.Part("kernel matrix", len(pairs))
        dtype = np.uint16 if self._rounds else self.dtype
        store = xp.empty((len(pairs), self.tile, self.tile), dtype=dtype) if in_one_array else None
        self._store = store if self._rounds else None

        def work(worker: int) -> None:
            left, row_of_left = None, None
            scratch = self._scratch() if self._rounds else None
            for k in range(worker, len(pairs), self.n_workers):
                i, j = pairs[k]
                rows, columns = self._spans[i], self._spans[j]
                shape = rows.stop - rows.start, columns.stop - columns.start
                if row_of_left != i:
                    left, row_of_left = self._compiled.left_factor(self.points[rows, :]), i
                if self._rounds:
                    self._block(rows, j, left, scratch)
                    self._compiled.to_16_bits(scratch, *shape, store[k])
                    self._tiles[i, j] = store[k]
                else:
                    space = store[k] if in_one_array else xp.empty(shape, dtype=self.dtype)
                    self._tiles[i, j] = self._block(rows, j, left, space)
                progress_of_tiles.advance()

        arrays.in_threads(work, self.n_workers)

    def _block(self, rows: slice, j: int, left: Array | None, scratch: Array | None) -> Array:
        """K[rows, tile column j], rows within one tile row: a view of a kept tile, or computed now in ``scratch``."""
        i = rows.start // self.tile
        local = slice(rows.start - i * self.tile, rows.stop - i * self.tile)
        tile, columns = self._tiles.get((min(i, j), max(i, j))), self._spans[j]
        height, width = rows.stop - rows.start, columns.stop - columns.start
        if tile is not None and not self._rounds:
            return tile[local, :] if i <= j else tile[:, local].T
        if tile is not None and i <= j:
            self._compiled.from_16_bits(tile, local.start, height, 0, width, scratch)
            return scratch[:height, :width]
        if tile is not None:
            self._compiled.from_16_bits(tile, 0, width, local.start, height, scratch)
            return scratch[:width, :height].T
        block = arrays.corner(scratch, height, width)
        self._compiled.fill(left, self.points[columns, :], block)
        if i == j:
            kernels.set_diagonal(self.kernel, block, self.points[rows, :], local.start)
        return block

    # --------------------------------------------------------------------------------------- products

    def rows_dot(self, batch: slice, a: Array, head: int = 0) -> tuple[Array, Columns | None]:
        """``K[batch] @ a`` and the columns ``K[batch, :head]``, None for 0, of consecutive rows."""
        xp, start, m = arrays.namespace(a), batch.start, batch.stop - batch.start
        rows_of_tiles, fuses = split_at_tiles(self._spans, batch), self._fuses(a)
        # In a first epoch most coefficients are still zero, and half of the products are not necessary.
        skipped = [span.start >= head and _is_zero(a, span) for span in self._spans]
        rounded = self._rounded_product(a) if self._rounds else None

        def work(worker: int) -> tuple[Array, list[Piece]]:
            out, pieces = xp.zeros((m, a.shape[1]), dtype=a.dtype), []
            mine = [j for j in range(worker, len(self._spans), self.n_workers) if not skipped[j]]
            if rounded:
                # Columns of the head have to be decoded for the caller.
                out += rounded(rows_of_tiles, [self._spans[j] for j in mine if self._spans[j].start >= head], a)
                mine = [j for j in mine if self._spans[j].start < head]
            scratch = None if fuses and not head else self._scratch()
            lefts = [self._left_factor(rows) for rows in rows_of_tiles]
            for rows in rows_of_tiles if fuses and worker == 0 else ():
                self._add_unkept(rows, a, out[rows.start - start : rows.stop - start, :], head)
            for j in mine:
                span = self._spans[j]
                for rows, left in zip(rows_of_tiles, lefts, strict=True):
                    is_kept = self._keeps(rows, j)
                    if fuses and span.start >= head and not is_kept:
                        continue
                    here = slice(rows.start - start, rows.stop - start)
                    block = self._block(rows, j, left, scratch)
                    out[here, :] += arrays.thin_product(block, a[span, :])
                    if span.start < head:
                        width = min(span.stop, head) - span.start
                        # A view of a kept tile stays valid. Scratch space is used again, so its part is copied.
                        part = block[:, :width]
                        part = part if is_kept and not self._rounds else xp.asarray(part, copy=True)
                        pieces.append((here, slice(span.start, span.start + width), part))
            return out, pieces

        products, pieces = zip(*arrays.in_threads(work, self.n_workers), strict=True)
        columns = Columns((m, head), [piece for some in pieces for piece in some]) if head else None
        return arrays.sum_in_order(list(products)), columns

    def energy(self, batch: slice, a: Array) -> Array:
        """``aᵀ K_SS a`` of each column of ``a``, shape (m, c), for the points S of consecutive rows; shape (1, c)."""
        xp, start = arrays.namespace(a), batch.start
        total = xp.zeros((1, a.shape[1]), dtype=a.dtype)
        pieces = split_at_tiles(self._spans, batch)
        for k, rows in enumerate(pieces):
            for columns in pieces[k:]:
                j = columns.start // self.tile
                if self._keeps(rows, j):
                    local = slice(columns.start - j * self.tile, columns.stop - j * self.tile)
                    block = self._block(rows, j, None, self._scratch())[:, local]
                else:
                    block = kernels.values(self.kernel, self.points[rows, :], self.points[columns, :])
                    if rows == columns:
                        kernels.set_diagonal(self.kernel, block, self.points[rows, :])
                left, right = (a[part.start - start : part.stop - start, :] for part in (rows, columns))
                found = xp.sum(left * arrays.thin_product(block, right), axis=0)[None, :]
                total += found if rows == columns else 2.0 * found
        return total

    def dot(self, a: Array) -> Array:
        """``K @ a`` for ``a`` of shape (n, c). Every tile is read or computed once and used for both of its places."""
        xp = arrays.namespace(a)
        if self._rounds and self._rounded_product(a):
            return self.columns_dot(0, self.n, a)
        n_tiles, fuses = len(self._spans), self._fuses(a)
        progress_of_tiles = progress.Part("product with the kernel matrix", n_tiles * (n_tiles + 1) // 2)

        def work(worker: int) -> Array:
            out = xp.zeros((self.n, a.shape[1]), dtype=a.dtype)
            scratch = None if fuses else self._scratch()
            # Workers take rows in turns, forward and back, so that each gets long rows from the top.
            for i in range(n_tiles):
                if (i if (i // self.n_workers) % 2 == 0 else -i - 1) % self.n_workers != worker:
                    continue
                rows = self._spans[i]
                if fuses:
                    self._add_unkept(rows, a, out[rows, :])
                left = None if fuses else self._left_factor(rows)
                for j in range(i, n_tiles):
                    if fuses and not self._keeps(rows, j):
                        continue
                    block, columns = self._block(rows, j, left, scratch), self._spans[j]
                    out[rows, :] += arrays.thin_product(block, a[columns, :])
                    if j > i:
                        out[columns, :] += arrays.thin_product(block.T, a[rows, :])
                    progress_of_tiles.advance()
            return out

        return arrays.sum_in_order(arrays.in_threads(work, self.n_workers))

    def columns_dot(self, start: int, stop: int, a: Array) -> Array:
        """``K[:, start:stop] @ a`` for ``a`` of shape (m, c), shape (n, c)."""
        xp = arrays.namespace(a)
        out = xp.zeros((self.n, a.shape[1]), dtype=a.dtype)
        pieces, fuses = split_at_tiles(self._spans, slice(start, stop)), self._fuses(a)
        if self._rounds and (rounded := self._rounded_product(a)):
            parts = list(arrays.blocks(len(self._spans), -(-len(self._spans) // self.n_workers)))
            found = arrays.in_threads(lambda k: rounded(self._spans[parts[k]], pieces, a, start), len(parts))
            return xp.concat(found, axis=0)

        def work(worker: int) -> None:
            scratch = None if fuses else self._scratch()
            lefts = [None if fuses else self._left_factor(piece) for piece in pieces]
            for j in range(worker, len(self._spans), self.n_workers):
                span = self._spans[j]
                for piece, left in zip(pieces, lefts, strict=True):
                    if fuses and not self._keeps(piece, j):
                        continue
                    block = self._block(piece, j, left, scratch)
                    out[span, :] += arrays.thin_product(block.T, a[piece.start - start : piece.stop - start, :])

        arrays.in_threads(work, self.n_workers)
        for piece in pieces if fuses else ():
            part = a[piece.start - start : piece.stop - start, :]
            for rows in self._unkept(piece):
                out[rows, :] += fused.product(self.kernel, self.points[rows, :], self.points[piece, :], part)
        return out

    def _keeps(self, rows: slice, j: int) -> bool:
        """Whether the tile of some rows of one tile row in tile column j is kept."""
        i = rows.start // self.tile
        return (min(i, j), max(i, j)) in self._tiles

    def _rounded_product(self, a: Array) -> Callable[..., Array] | None:
        """`rounded_loops.product` with the kept tiles if they have 16 bits and ``a`` has few columns of float32."""
        if self._store is None or a.dtype != np.float32 or not 1 <= a.shape[1] <= MOST_COLUMNS:
            return None
        from . import rounded_loops

        return functools.partial(rounded_loops.product, self._store, self.n)

    def _fuses(self, a: Array) -> bool:
        """Whether products with tiles that are not kept are computed without these tiles."""
        return self.kept_fraction < 1.0 and fused.is_applicable(self.kernel, self.points, a)

    def _unkept(self, rows: slice, head: int = 0) -> list[slice]:
        """Column ranges of the tiles that are not kept, without the first ``head`` columns; neighbors are joined."""
        runs: list[slice] = []
        for j, span in enumerate(self._spans):
            if span.start < head or self._keeps(rows, j):
                continue
            if runs and runs[-1].stop == span.start:
                runs[-1] = slice(runs[-1].start, span.stop)
            else:
                runs.append(span)
        return runs

    def _add_unkept(self, rows: slice, a: Array, out: Array, head: int = 0) -> None:
        """Add the product with the tiles of `_unkept` to ``out``."""
        for columns in self._unkept(rows, head):
            out += fused.product(self.kernel, self.points[rows, :], self.points[columns, :], a[columns, :])

    def _left_factor(self, rows: slice) -> Array | None:
        """The left factor of some rows of one tile row, or None if all tiles of that row are kept."""
        i = rows.start // self.tile
        if all((min(i, j), max(i, j)) in self._tiles for j in range(len(self._spans))):
            return None
        return self._compiled.left_factor(self.points[rows, :])

    def _scratch(self) -> Array | None:
        """Space for a tile, one for each thread."""
        if self.kept_fraction == 1.0 and not self._rounds:
            return None
        if not arrays.uses_numpy(self.points):
            return arrays.namespace(self.points).empty((self.tile, self.tile), dtype=self.dtype)
        # The same array in every call: new memory costs more than a tile.
        if not hasattr(self._own, "scratch"):
            self._own.scratch = np.empty((self.tile, self.tile), dtype=self.dtype)
        return self._own.scratch


def _is_zero(a: Array, span: slice) -> bool:
    """Whether some rows of ``a`` are known to be zero. On a GPU the check would have to wait, so it is skipped."""
    if not arrays.is_numpy(a):
        return False
    some = a[span, :]
    return not (some[:1].any() or some[-1:].any() or some.any())
