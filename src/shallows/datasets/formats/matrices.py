"""Matrices: MATLAB files (QM7, SARCOS) and NumPy's own .npy and .npz."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from shallows.datasets.sources import Block


def load_matlab(path: Path, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Read variables of a MATLAB file of version 4 to 7; version 7.3 (HDF5) is told apart."""
    import scipy.io

    with open(path, "rb") as file:
        if file.read(19) == b"MATLAB 7.3 MAT-file":
            raise ValueError("it is of MATLAB's version 7.3; save it with -v7")
    try:
        content = scipy.io.loadmat(path, variable_names=None if names is None else list(names))
    except (NotImplementedError, TypeError, scipy.io.matlab.MatReadError) as error:
        raise ValueError(f"it is no MATLAB file of version 4 to 7: {error}") from error
    found = {name: value for name, value in content.items() if not name.startswith("__")}
    for name in names or ():
        if name not in found:
            raise ValueError(f"it holds no variable {name}")
    return found


def qm7_blocks(path: Path, fold: int, part: str, rows: int) -> Iterator[Block]:
    """Read QM7's Coulomb matrices and energies: the rows of one of its five folds ("test"), or all others."""
    content = load_matlab(path, ("X", "T", "P"))
    x, y, folds = content["X"], content["T"].ravel(), content["P"]
    n = len(x)
    if x.shape[1:] != (23, 23) or len(y) != n or not np.array_equal(np.sort(folds, axis=None), np.arange(n)):
        raise ValueError("its X, T and P are not matrices, energies and five splits of the same molecules")
    held = np.sort(folds[fold])
    chosen = held if part == "test" else np.setdiff1d(np.arange(n), held)
    for start in range(0, len(chosen), rows):
        now = chosen[start : start + rows]
        yield Block(x[now].reshape(len(now), -1), y[now].astype(np.float64))


def matlab_table_blocks(path: Path, n_targets: int, rows: int) -> Iterator[Block]:
    """Read the one matrix of a MATLAB file; its last columns are the targets."""
    tables = [value for value in load_matlab(path).values() if getattr(value, "ndim", 0) == 2]
    if len(tables) != 1:
        raise ValueError(f"it holds {len(tables)} matrices where one is expected")
    table = tables[0]
    for start in range(0, len(table), rows):
        block = table[start : start + rows]
        yield Block(block[:, :-n_targets], block[:, -n_targets:])


def array_blocks(x: NpyRows | np.ndarray, y: NpyRows | np.ndarray, rows: int) -> Iterator[Block]:
    """Give rows of two arrays, in memory or in their files."""
    if len(x) != len(y):
        raise ValueError(f"it holds {len(x):,} rows, and {len(y):,} targets stand beside it")
    for start in range(0, len(y), rows):
        yield Block(x[start : start + rows], y[start : start + rows])


class NpyRows:
    """The rows of an .npy file, read when they are asked for.

    By plain reads: a memory map would count what it has touched as memory of the process.
    """

    def __init__(self, path: Path):
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        self.path, self.shape, self.dtype = path, mapped.shape, mapped.dtype
        self._offset = mapped.offset
        if mapped.ndim > 1 and not mapped.flags.c_contiguous:
            raise ValueError("it is stored column by column; save it with np.save(path, np.ascontiguousarray(x))")

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        start, stop, _ = rows.indices(len(self))
        width = math.prod(self.shape[1:])
        found = np.fromfile(
            self.path, self.dtype, (stop - start) * width, offset=self._offset + start * width * self.dtype.itemsize
        )
        return found.reshape(stop - start, *self.shape[1:])


def open_arrays(paths: Mapping[str, Path]) -> Mapping[str, NpyRows | np.ndarray]:
    """Open the arrays x_train, y_train, x_test and y_test: .npy files row by row, an .npz array by array."""
    if "data" in paths:
        return np.load(paths["data"], allow_pickle=False)
    return {part: NpyRows(path) for part, path in paths.items()}
