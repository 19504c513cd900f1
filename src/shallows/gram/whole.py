"""A kernel matrix in one array, so that a product with some of its rows is a single product."""

from __future__ import annotations

from .. import arrays, kernels
from ..arrays import Array
from ..kernels import Kernel
from ..utils import progress
from .cross import tile_edge
from .matrix import Columns, Gram


def whole_bytes(points: Array, budget: int) -> int:
    """Bytes that a `WholeGram` of some points needs while it is computed."""
    n = points.shape[0]
    return (n * n + tile_edge(points, budget) ** 2) * arrays.itemsize(points)


class WholeGram(Gram):
    """The kernel matrix K of n augmented points in one array of n² numbers.

    `Gram` stores half of the numbers and needs a product for each tile. A GPU is faster with the whole matrix, because
    a launch costs as much as the product of a tile with a few hundred rows. ``budget``: at least `whole_bytes`.
    """

    def __init__(self, kernel: Kernel, points: Array, *, budget: int, tile: int | None = None):
        needed = whole_bytes(points, budget)
        if needed > budget:
            raise ValueError(f"the whole matrix needs {needed} bytes, the budget is {budget}")
        xp = arrays.namespace(points)
        self.kernel, self.points, self.n, self.dtype = kernel, points, points.shape[0], points.dtype
        self.tile = min(tile, max(self.n, 1)) if tile else tile_edge(points, budget)
        self.n_workers, self.kept_fraction = 1, 1.0
        self.spare_bytes = int(budget) - needed
        self.values = xp.empty((self.n, self.n), dtype=self.dtype)
        spans = list(arrays.blocks(self.n, self.tile))
        scratch = xp.empty((self.tile, self.tile), dtype=self.dtype)
        progress_of_tiles = progress.Part("kernel matrix", len(spans) * (len(spans) + 1) // 2)
        for i, rows in enumerate(spans):
            left = kernel.left_factor(points[rows, :])
            for columns in spans[i:]:
                block = arrays.corner(scratch, rows.stop - rows.start, columns.stop - columns.start)
                kernel.fill(left, points[columns, :], block)
                if rows == columns:
                    kernels.set_diagonal(kernel, block, points[rows, :])
                else:
                    self.values[columns, rows] = block.T
                self.values[rows, columns] = block
                progress_of_tiles.advance()

    def rows_dot(self, batch: slice, a: Array, head: int = 0) -> tuple[Array, Columns | None]:
        """``K[batch] @ a`` and the first columns ``K[batch, :head]``, see `Gram.rows_dot`."""
        return product_with_rows(self.values[batch, :], a, head)

    def energy(self, batch: slice, a: Array) -> Array:
        """``aᵀ K_SS a`` of each column of ``a``, shape (m, c), for the points S of consecutive rows; shape (1, c)."""
        return diagonal_of_product(a, self.values[batch, batch] @ a)[None, :]

    def dot(self, a: Array) -> Array:
        """``K @ a`` for ``a`` of shape (n, c)."""
        return self.values @ a

    def columns_dot(self, start: int, stop: int, a: Array) -> Array:
        """``K[:, start:stop] @ a`` for ``a`` of shape (m, c), of shape (n, c)."""
        return self.values[start:stop, :].T @ a


def product_with_rows(values: Array, a: Array, head: int, n_workers: int = 1) -> tuple[Array, Columns | None]:
    """``values @ a`` and the first columns ``values[:, :head]`` for some rows of a kernel matrix, shape (m, n)."""
    parts = list(arrays.blocks(values.shape[0], -(-values.shape[0] // n_workers)))
    products = arrays.in_threads(lambda w: arrays.thin_product(values[parts[w], :], a), len(parts))
    product = products[0] if len(parts) == 1 else arrays.namespace(a).concat(products, axis=0)
    return product, Columns.of(values[:, :head]) if head else None


def diagonal_of_product(a: Array, b: Array) -> Array:
    """Inner products of the columns of two arrays of shape (m, c), shape (c,); one launch less than a sum."""
    return arrays.diagonal(a.T @ b)
