"""A kernel matrix that is kept whole, so that some of its rows are one block for one product."""

from __future__ import annotations

from .. import arrays, kernels
from ..arrays import Array
from ..kernels import Kernel
from ..utils import progress
from .matrix import Columns, Gram
from .tiles import tile_edge


def whole_bytes(points: Array, budget: int) -> int:
    """Bytes that a `WholeGram` of some points takes while it is made."""
    n = points.shape[0]
    return (n * n + tile_edge(points, budget) ** 2) * arrays.itemsize(points)


class WholeGram(Gram):
    """The kernel matrix K of n points in one array of n² numbers, for products in a single launch each.

    `Gram` keeps the tiles of the upper triangle, half of the numbers, and takes a product for each tile that some rows
    lie in. A GPU, on which a launch costs as much as the product of a tile with a few hundred rows, is faster with the
    whole. Each tile is made once and written to both of its places.

    ``points`` (n, d + 2): augmented points (`kernels.augmented`). ``budget``: bytes that the matrix may take, at least
    `whole_bytes`. ``tile``: edge of the tiles that it is made of.
    """

    def __init__(self, kernel: Kernel, points: Array, *, budget: int, tile: int | None = None):
        needed = whole_bytes(points, budget)
        if needed > budget:
            raise ValueError(f"the whole matrix takes {needed} bytes of {budget}")
        xp = arrays.namespace(points)
        self.kernel, self.points, self.n, self.dtype = kernel, points, points.shape[0], points.dtype
        self.tile = min(tile, max(self.n, 1)) if tile else tile_edge(points, budget)
        self.n_workers, self.kept_fraction = 1, 1.0
        self.spare_bytes = int(budget) - needed
        self.values = xp.empty((self.n, self.n), dtype=self.dtype)
        spans = list(arrays.blocks(self.n, self.tile))
        scratch = xp.empty((self.tile, self.tile), dtype=self.dtype)
        told = progress.Part("kernel matrix", len(spans) * (len(spans) + 1) // 2)
        for i, rows in enumerate(spans):
            left = kernel.left_factor(points[rows, :])
            for columns in spans[i:]:
                made = arrays.corner(scratch, rows.stop - rows.start, columns.stop - columns.start)
                kernel.fill(left, points[columns, :], made)
                if rows == columns:
                    kernels.set_diagonal(kernel, made, points[rows, :])
                else:
                    self.values[columns, rows] = made.T
                self.values[rows, columns] = made
                told.advance()

    def rows(self, batch: slice) -> WholeRows:
        """Consecutive rows of the matrix, for products."""
        if not 0 <= batch.start <= batch.stop <= self.n:
            raise IndexError(f"rows {batch.start}:{batch.stop} of a matrix of {self.n}")
        return WholeRows(self.values[batch, :])

    def energy(self, batch: slice, a: Array) -> Array:
        """``aᵀ K_SS a`` of each column of ``a``, shape (m, c), for the points S of consecutive rows.

        Of shape (1, c): the diagonal of a product of c² numbers, which is a launch less than a sum of products.
        """
        return diagonal_of_product(a, self.values[batch, batch] @ a)[None, :]

    def dot(self, a: Array) -> Array:
        """``K @ a`` for ``a`` of shape (n, c)."""
        return self.values @ a

    def columns_dot(self, start: int, stop: int, a: Array) -> Array:
        """``K[:, start:stop] @ a`` for ``a`` of shape (m, c), of shape (n, c)."""
        return self.values[start:stop, :].T @ a


class WholeRows:
    """Some rows of a kernel matrix in one array.

    ``values`` (m, n). ``n_workers``: threads of a product.
    """

    def __init__(self, values: Array, n_workers: int = 1):
        self.values, self._n_workers = values, n_workers

    def dot(self, a: Array, head: int = 0) -> tuple[Array, Columns | None]:
        """``K[rows] @ a`` and the first columns ``K[rows, :head]``, see `Rows.dot`."""
        parts = list(arrays.blocks(self.values.shape[0], -(-self.values.shape[0] // self._n_workers)))
        products = arrays.in_threads(lambda w: arrays.thin_product(self.values[parts[w], :], a), len(parts))
        product = products[0] if len(parts) == 1 else arrays.namespace(a).concat(products, axis=0)
        return product, Columns.of(self.values[:, :head]) if head else None


def diagonal_of_product(a: Array, b: Array) -> Array:
    """Inner products of the columns of two arrays of shape (m, c), shape (c,), in a single launch."""
    return arrays.diagonal(a.T @ b)
