"""Products with kernel matrices too big to hold: blocked, cached where they fit.

A `Gram` is the symmetric kernel matrix of a set of points. It is cut into square tiles, of which only the upper
triangle is ever made. As many tiles as the memory budget takes are kept; the others are made again when a product
needs them. A `LazyGram` makes its tiles when a product first asks for them. A `ShuffledGram` keeps whole rows, for
batches of any rows. `cross_product` multiplies with the rectangular matrix of two sets of points, block by block. What
is not kept is not even made where `shallows.gram.fused` applies. A `KernelRowCache` hands out single rows, for solvers
that choose them.
"""

from .cross import FUSED_ROWS, Blocks, cross_product
from .lazy import LazyGram
from .matrix import Columns, Gram, Rows
from .row_cache import KernelRowCache
from .shuffled import ShuffledGram
from .tiles import GPU_TILE, SMALL_GPU_TILE, TILE, tile_edge

__all__ = [
    "FUSED_ROWS",
    "GPU_TILE",
    "SMALL_GPU_TILE",
    "TILE",
    "Blocks",
    "Columns",
    "Gram",
    "KernelRowCache",
    "LazyGram",
    "Rows",
    "ShuffledGram",
    "cross_product",
    "tile_edge",
]
