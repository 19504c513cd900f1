"""A kernel matrix whose tiles are computed when a product first needs them, and kept while they fit."""

from __future__ import annotations

import threading
from typing import Any

from .. import arrays, kernels
from ..arrays import Array
from . import fused
from .cross import split_at_tiles, tile_edge


class LazyGram:
    """The kernel matrix K of n points, for solvers whose coefficients are zero beyond the rows they have visited.

    A first pass over the rows in their order computes half of the matrix, tile by tile. (`Gram` computes its tiles at
    once.) ``points`` (n, d + 2): augmented. ``budget``: bytes of the kept tiles. ``tile``: edge of a tile.
    """

    def __init__(self, kernel: Any, points: Array, *, budget: int, tile: int | None = None):
        self.kernel, self.points, self.n = kernel, points, points.shape[0]
        self.tile = min(tile, max(self.n, 1)) if tile else tile_edge(points, budget)
        self._spans = list(arrays.blocks(self.n, self.tile))
        self._tiles: dict[tuple[int, int], Array] = {}
        self._room = int(budget) // (self.tile**2 * arrays.itemsize(points))
        self._lock = threading.Lock()

    @property
    def kept_fraction(self) -> float:
        """Share of the tiles of the upper triangle that are kept now."""
        return len(self._tiles) / max(1, len(self._spans) * (len(self._spans) + 1) // 2)

    def rows_dot(self, rows: slice, a: Array, n_visited: int | None = None) -> Array:
        """``K[rows] @ a``, shape (m, c), for ``a`` of shape (n, c) that is zero from row ``n_visited`` on."""
        xp = arrays.namespace(a)
        m = rows.stop - rows.start
        spans = [(j, s) for j, s in enumerate(self._spans) if n_visited is None or s.start < n_visited]
        pieces = split_at_tiles(self._spans, rows)
        n_workers = max(1, min(arrays.workers_for(a), len(spans)))
        fuses = fused.is_applicable(self.kernel, self.points, a)

        def work(worker: int) -> Array:
            out = xp.zeros((m, a.shape[1]), dtype=a.dtype)
            lefts: list[Array | None] = [None] * len(pieces)
            for j, span in spans[worker::n_workers]:
                # Coefficients of columns that were not visited are zero, but a tile that can be kept is computed whole.
                width = span.stop - span.start if n_visited is None else min(span.stop, n_visited) - span.start
                for p, piece in enumerate(pieces):
                    here = slice(piece.start - rows.start, piece.stop - rows.start)
                    block = self._find_block(piece, j)
                    if block is None and fuses:
                        some = slice(span.start, span.start + width)
                        mine = self.points[piece, :]
                        out[here, :] += fused.product(self.kernel, mine, self.points[some, :], a[some, :])
                        continue
                    if block is None:
                        if lefts[p] is None:
                            lefts[p] = self.kernel.left_factor(self.points[piece, :])
                        block = self._compute(lefts[p], piece, slice(span.start, span.start + width))
                    out[here, :] += arrays.thin_product(block[:, :width], a[span.start : span.start + width, :])
            return out

        return arrays.sum_in_order(arrays.in_threads(work, n_workers))

    def dot(self, a: Array) -> Array:
        """``K @ a``, shape (n, c)."""
        return arrays.namespace(a).concat([self.rows_dot(span, a) for span in self._spans], axis=0)

    def _find_block(self, piece: slice, j: int) -> Array | None:
        """K[piece, tile column j] from a tile that is kept, or can be kept now; else None."""
        i = piece.start // self.tile
        key = (min(i, j), max(i, j))
        tile = self._tiles.get(key)
        if tile is None:
            with self._lock:
                if self._room <= 0:
                    return None
                self._room -= 1
            upper, lower = self._spans[key[0]], self._spans[key[1]]
            tile = self._compute(self.kernel.left_factor(self.points[upper, :]), upper, lower)
            with self._lock:
                # If another thread was faster, its tile is used.
                self._room += key in self._tiles
                tile = self._tiles.setdefault(key, tile)
        local = slice(piece.start - i * self.tile, piece.stop - i * self.tile)
        return tile[local, :] if i <= j else tile[:, local].T

    def _compute(self, left: Array, rows: slice, columns: slice) -> Array:
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        block = arrays.namespace(left).empty(shape, dtype=self.points.dtype)
        self.kernel.fill(left, self.points[columns, :], block)
        first, last = max(rows.start, columns.start), min(rows.stop, columns.stop)
        if first < last:
            # Points that are in both sets.
            common = block[first - rows.start : last - rows.start, :]
            kernels.set_diagonal(self.kernel, common, self.points[first:last, :], first - columns.start)
        return block
