"""Products with kernel matrices that do not fit into memory.

A `Gram` is the symmetric kernel matrix of a set of points in square tiles of the upper triangle. Tiles are kept
while they fit into the memory budget; the others are computed in each product. A `LazyGram` computes its tiles when a
product first needs them. A `ShuffledGram` keeps whole rows, for batches of any rows. `cross_product` multiplies with
the rectangular matrix of two sets of points. On a GPU, `shallows.gram.fused` multiplies without storing values.
"""

from .cross import FUSED_ROWS, GPU_TILE, SMALL_GPU_TILE, TILE, Blocks, cross_product, tile_edge
from .lazy import LazyGram
from .matrix import Columns, Gram
from .shuffled import ShuffledGram
