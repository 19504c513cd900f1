"""The size of the tiles that kernel matrices are cut into."""

from __future__ import annotations

import math

from .. import arrays
from ..arrays import Array

TILE = 1024
"""Edge of a tile: measured flat from 512 to 2,048 on a CPU, where a tile of float32 (4 MB) lies near the cache."""

GPU_TILE = 8192
"""Edge of a tile on a GPU, where each product should fill the device."""

SMALL_GPU_TILE = 2048
"""Edge of a tile on a GPU of little memory: at 784 features a product still is 6.6 GFLOP for one launch."""


def tile_edge(points: Array, budget: int) -> int:
    """Edge of the tiles that the matrix of some points is cut into.

    On a GPU three tiles of scratch space stay within half of the budget where they can, tiles are of nearly one size,
    and edges are multiples of 64, since cuBLAS is faster on rows that start at multiples of 16 bytes.
    """
    n = max(points.shape[0], 1)
    if arrays.device_of(points).kind == "cpu":
        return min(TILE, n)
    affordable = math.isqrt(max(0, int(budget)) // (6 * arrays.itemsize(points)))
    largest = max(SMALL_GPU_TILE, min(GPU_TILE, affordable // 64 * 64))
    return min(n, -(-n // -(-n // largest) // 64) * 64)
