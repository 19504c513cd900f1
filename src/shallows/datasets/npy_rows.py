"""The rows of an .npy file, for a preparation that reads arrays block by block."""

from __future__ import annotations

from pathlib import Path

import numpy as np


class NpyRows:
    """The rows of an .npy file, mapped while they are copied: what stays mapped counts as memory of the process.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    by_columns : bool
        Whether the file holds column after column.
    """

    def __init__(self, path: Path):
        self.path = path
        mapped = self._mapped()
        self.shape, self.dtype, self.by_columns = mapped.shape, mapped.dtype, not mapped.flags.c_contiguous

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        return np.array(self._mapped()[rows], order="C")

    def _mapped(self) -> np.ndarray:
        return np.load(self.path, mmap_mode="r", allow_pickle=False)
