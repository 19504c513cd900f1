"""Arrays in NumPy's files, read a block of rows at a time: the one reader of .npy and .npz."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shallows.datasets.catalogue import Dataset, Form
from shallows.datasets.formats.parts import Parts, Read
from shallows.datasets.npy_rows import NpyRows
from shallows.datasets.sources import ArrayPart, Block


class NpzRows:
    """The rows of a member of an .npz archive, which can only be read from its beginning on.

    By hand, since `numpy.load` gives a member whole. The open stream stays where it is, so that blocks that are asked
    for in their order are read once. What is stored column by column comes whole.
    """

    def __init__(self, path: Path, member: str):
        self.path, self.member, self._stream, self._row = path, member, None, 0
        self.shape, self.by_columns, self.dtype = self._open()
        self._stream.close()
        self._whole: np.ndarray | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        start, stop, _ = rows.indices(len(self))
        if self.by_columns:
            if self._whole is None:
                with np.load(self.path, allow_pickle=False) as file:
                    self._whole = file[self.member]
            return self._whole[start:stop]
        if self.dtype.hasobject:
            raise ValueError("it holds Python objects")
        row_bytes = math.prod(self.shape[1:]) * self.dtype.itemsize
        if self._stream.closed or self._row != start:
            self._open()
            self._stream.seek(start * row_bytes, 1)
        n_bytes = max(0, stop - start) * row_bytes
        content, filled = np.empty(n_bytes, np.uint8), 0
        while filled < n_bytes and (more := self._stream.readinto(memoryview(content)[filled:])):
            filled += more
        if filled < n_bytes:
            raise EOFError(f"the array {self.member} ends before its last row")
        self._row = stop
        if stop == len(self):
            self._stream.close()
        return content.view(self.dtype).reshape(max(0, stop - start), *self.shape[1:])

    def _open(self) -> tuple[tuple[int, ...], bool, np.dtype]:
        """Open the member anew and return what its header says: shape, whether by columns, type."""
        if self._stream is not None:
            self._stream.close()
        with zipfile.ZipFile(self.path) as archive:  # the stream holds the file open beyond it
            self._stream = archive.open(f"{self.member}.npy")
        version = np.lib.format.read_magic(self._stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_columns, dtype = read(self._stream)
        self._row = 0
        return shape, by_columns and len(shape) > 1, dtype


def npz_arrays(path: Path) -> dict[str, NpzRows]:
    """Return the arrays of an .npz archive by their names."""
    with zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    return {name: NpzRows(path, name) for name in names}


def named_arrays(paths: Mapping[str, Path]) -> dict[str, Any]:
    """Open the arrays of a form: those of the .npz archive "data", or one .npy file each."""
    if "data" in paths:
        return dict(npz_arrays(paths["data"]))
    return {part: NpyRows(path) for part, path in paths.items()}


def open_parts(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    """Open the arrays x_train, y_train, x_test and y_test."""

    def blocks(part: str, rows: int) -> Iterator[Block]:
        arrays = named_arrays(paths)
        x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
        if x.by_columns:
            raise ValueError("it is stored column by column; save it with np.save(path, np.ascontiguousarray(x))")
        if len(x) != len(y):
            raise ValueError(f"it holds {len(x):,} rows, and {len(y):,} targets stand beside it")
        yield from ArrayPart(x, y).blocks(rows)

    return {
        part: Read(paths.get("data", paths.get(f"x_{part}")), "NumPy", partial(blocks, part))
        for part in ("train", "test")
    }
