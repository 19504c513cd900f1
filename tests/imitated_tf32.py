"""Products on tensor cores, imitated on a CPU: TF32 rounds the factors."""

from __future__ import annotations

import numpy as np


class Precision:
    """What stands for ``cupy._core._routines_linalg``; TF32 rounds the factors, or cuts their last bits off."""

    COMPUTE_TYPE_DEFAULT, COMPUTE_TYPE_TF32 = 1, 6
    now = COMPUTE_TYPE_DEFAULT
    cuts = False

    def get_compute_type(self, dtype):
        return self.now

    def set_compute_type(self, dtype, kind):
        self.now = kind

    def factor(self, x):
        """A factor as the device takes it."""
        if self.now == self.COMPUTE_TYPE_DEFAULT or x.dtype != np.float32:
            return x
        return tf32(x, cuts=self.cuts)


def tf32(x: np.ndarray, *, cuts: bool = False) -> np.ndarray:
    """Numbers of float32 with 10 bits after the first, to the nearest or towards zero."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    bits = bits if cuts else bits + np.uint32(0x0FFF) + (bits >> np.uint32(13) & np.uint32(1))
    return (bits & np.uint32(0xFFFFE000)).view(np.float32)
