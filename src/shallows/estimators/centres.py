"""Training points as a kernel machine holds them, and new points in the same coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays
from ..arrays import Array, Device

_BLOCK_BYTES = 2**25


@dataclass(frozen=True)
class Coordinates:
    """Features without those that were constant in training, centred.

    Kernels of distances do not change when all points are shifted, and float32 does: centred data keep the digits
    that uncentred data lose. Constant features add nothing between training points, and half of an image's border is
    constant; what a new point adds in them is kept as an extra distance.

    Attributes
    ----------
    mean : ndarray, shape (d,), float64
    varies : ndarray of bool, shape (d,)
    """

    mean: np.ndarray
    varies: np.ndarray

    @classmethod
    def of(cls, x: Any) -> Coordinates:
        """Measured on training data, dense or CSR, block by block."""
        n, d = x.shape
        total, lowest, highest = np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf)
        for rows in _row_blocks(x):
            block = _dense(x[rows])
            total += block.sum(axis=0, dtype=np.float64)
            np.minimum(lowest, block.min(axis=0), out=lowest)
            np.maximum(highest, block.max(axis=0), out=highest)
        varies = highest > lowest
        # The mean of a constant is that constant, to the last digit.
        return cls(np.where(varies, total / n, lowest), varies)

    def training_points(self, x: Any, order: np.ndarray, device: Device, dtype: Any) -> Array:
        """Augmented points (see `kernels.augmented`) in a given order, shape (n, d' + 2), on the device.

        Written into place block by block: beside the result there is never more than a block.
        """
        kept = int(self.varies.sum())
        points = np.empty((x.shape[0], kept + 2), dtype=dtype)
        points[:, kept + 1] = 1.0
        everything, mean = bool(self.varies.all()), self.mean[self.varies]
        for rows in _row_blocks(x):
            block = _dense(x[order[rows]])
            block = block if everything else block[:, self.varies]
            # The difference is taken in the wider of the two precisions and rounded once.
            np.subtract(
                block,
                mean if block.dtype == np.float64 else mean.astype(block.dtype),
                out=points[rows, :kept],
                casting="same_kind",
            )
            np.einsum("ij,ij->i", points[rows, :kept], points[rows, :kept], out=points[rows, kept])
        return points if device.kind == "cpu" else arrays.to_device(points, device, dtype)

    def new_points(self, x: Any, device: Device, dtype: Any) -> Iterator[tuple[slice, Array, Array | None]]:
        """Blocks of new points: their rows, their coordinates, the squared distance that constant features add."""
        everything, mean = bool(self.varies.all()), self.mean
        for rows in _row_blocks(x):
            block = _dense(x[rows])
            block = block - (mean if block.dtype == np.float64 else mean.astype(block.dtype))
            extra = None
            if not everything:
                outside = block[:, ~self.varies]
                extra = arrays.to_device(np.einsum("ij,ij->i", outside, outside), device, dtype)
                block = block[:, self.varies]
            yield rows, arrays.to_device(block, device, dtype), extra


def _row_blocks(x: Any) -> Iterator[slice]:
    rows = max(1, _BLOCK_BYTES // max(1, 8 * x.shape[1]))
    return iter(arrays.blocks(x.shape[0], rows))


def _dense(block: Any) -> np.ndarray:
    # In C order, so that sums, and with them the model, do not depend on how the data lie in memory.
    block = block.toarray(order="C") if scipy.sparse.issparse(block) else np.ascontiguousarray(block)
    return block if block.dtype in (np.float32, np.float64) else block.astype(np.float64)
