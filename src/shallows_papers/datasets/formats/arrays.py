"""The reader of arrays in .npz archives and .npy files, one block of rows at a time."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.formats.containers import naming
from shallows_papers.datasets.sources import ArrayPart, Block, NpyRows


class NpzRows:
    """The rows of an array in an .npz archive, decompressed from the beginning.

    `numpy.load` would read the whole array. Blocks in ascending order are read once. An array in column order is read
    as a whole.
    """

    def __init__(self, path: Path, member: str):
        self.path, self.member = path, member
        with zipfile.ZipFile(path) as archive:  # the stream keeps the file open
            self._stream = archive.open(f"{member}.npy")
        version = np.lib.format.read_magic(self._stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        self.shape, by_columns, self.dtype = read(self._stream)
        self.by_columns, self._begin = by_columns and len(self.shape) > 1, self._stream.tell()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        start, stop, _ = rows.indices(len(self))
        if self.by_columns:
            return self._all_rows[start:stop]
        if self.dtype.hasobject:
            raise ValueError("it holds Python objects")
        n, row_bytes = max(0, stop - start), math.prod(self.shape[1:]) * self.dtype.itemsize
        self._stream.seek(self._begin + start * row_bytes)
        content = self._stream.read(n * row_bytes)
        if len(content) < n * row_bytes:
            raise EOFError(f"the array {self.member} ends before its last row")
        return np.frombuffer(content, self.dtype).reshape(n, *self.shape[1:])

    @cached_property
    def _all_rows(self) -> np.ndarray:
        with np.load(self.path, allow_pickle=False) as file:
            return file[self.member]


def npz_arrays(path: Path) -> dict[str, NpzRows]:
    """Return the arrays of an .npz archive by name."""
    with zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    return {name: NpzRows(path, name) for name in names}


def named_arrays(paths: Mapping[str, Path]) -> dict[str, Any]:
    """Open the arrays of a form: all in the .npz archive "data", or each in an .npy file."""
    if "data" in paths:
        return dict(npz_arrays(paths["data"]))
    return {part: NpyRows(path) for part, path in paths.items()}


def read(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
    """Read the arrays x_train and y_train, or x_test and y_test."""
    with naming(paths.get("data", paths.get(f"x_{part}")), "NumPy"):
        arrays = named_arrays(paths)
        x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
        if x.by_columns:
            raise ValueError("it is stored column by column; save it with np.save(path, np.ascontiguousarray(x))")
        if len(x) != len(y):
            raise ValueError(f"it holds {len(x):,} rows and {len(y):,} targets")
        yield from ArrayPart(x, y).blocks(rows)
