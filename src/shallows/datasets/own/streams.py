"""Arrays of NumPy's files, read a block of rows at a time.

By plain reads: what a memory map has touched counts as memory of the process.
"""

from __future__ import annotations

import math
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np


@dataclass(frozen=True)
class Header:
    """What an .npy file says of its array.

    Attributes
    ----------
    shape : tuple of int
    fortran : bool
        Whether it is stored column by column.
    dtype : dtype
    offset : int
        Bytes before the first number.
    """

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype
    offset: int

    @classmethod
    def of(cls, file: BinaryIO) -> Header:
        """Read from the beginning of a file."""
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
        if dtype.hasobject:
            raise ValueError("pickle: it holds Python objects")
        return cls(shape, fortran and len(shape) > 1, dtype, file.tell())

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize


@dataclass(frozen=True)
class _Rows:
    """Slices of consecutive rows give arrays."""

    header: Header

    @property
    def shape(self) -> tuple[int, ...]:
        return self.header.shape

    @property
    def ndim(self) -> int:
        return len(self.header.shape)

    @property
    def dtype(self) -> np.dtype:
        return self.header.dtype

    def __getitem__(self, rows: slice) -> np.ndarray:
        start, stop, _ = rows.indices(self.shape[0])
        return self._read(start, max(start, stop))

    def _read(self, start: int, stop: int) -> np.ndarray:
        raise NotImplementedError


@dataclass(frozen=True)
class _InFile(_Rows):
    """Rows of an .npy file."""

    path: Path

    def _read(self, start: int, stop: int) -> np.ndarray:
        header, n = self.header, stop - start
        inner = header.shape[1:]
        if not header.fortran:
            at = header.offset + start * header.row_bytes
            return np.fromfile(self.path, header.dtype, n * math.prod(inner), offset=at).reshape(n, *inner)
        # Column by column: each gives a piece of n numbers.
        out = np.empty((math.prod(inner), n), dtype=header.dtype)
        with open(self.path, "rb") as file:
            for column in range(len(out)):
                file.seek(header.offset + (column * header.shape[0] + start) * header.dtype.itemsize)
                out[column] = np.fromfile(file, header.dtype, n)
        return out.reshape(*inner[::-1], n).T


@dataclass(frozen=True)
class _InArchive(_Rows):
    """Rows of a member of an .npz archive, which can only be read from its beginning on."""

    path: Path
    member: str
    # The open stream and the row it stands at, so that blocks that are asked for in their order are read once.
    _at: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def _read(self, start: int, stop: int) -> np.ndarray:
        header = self.header
        if header.fortran:
            if "whole" not in self._at:
                with np.load(self.path, allow_pickle=False) as file:
                    self._at["whole"] = file[self.member.removesuffix(".npy")]
            return self._at["whole"][start:stop]
        if self._at.get("row") != start:
            self._close()
            archive = zipfile.ZipFile(self.path)
            stream = archive.open(self.member)
            self._at.update(archive=archive, stream=stream, row=start)
            stream.seek(header.offset + start * header.row_bytes)
        n_bytes = (stop - start) * header.row_bytes
        content = bytearray(n_bytes)
        filled = 0
        while filled < n_bytes and (more := self._at["stream"].readinto(memoryview(content)[filled:])):
            filled += more
        if filled < n_bytes:
            raise EOFError(f"the array {self.member} ends before its last row")
        self._at["row"] = stop
        if stop == header.shape[0]:
            self._close()
        return np.frombuffer(content, dtype=header.dtype).reshape(stop - start, *header.shape[1:])

    def _close(self) -> None:
        for name in ("stream", "archive"):
            if name in self._at:
                self._at.pop(name).close()
        self._at.pop("row", None)


def npy_stream(path: Path) -> Any:
    """The rows of an .npy file: has ``shape``, ``ndim``, ``dtype`` and slices of rows."""
    with open(path, "rb") as file:
        header = Header.of(file)
        file.seek(0, 2)
        if file.tell() < header.offset + math.prod(header.shape) * header.dtype.itemsize:
            raise EOFError("it ends before its last number")
    return _InFile(header, path)


def npz_streams(path: Path) -> dict[str, Any]:
    """The arrays of an .npz archive by their names, each as `npy_stream` gives one; columns-first ones come whole."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            if member.endswith(".npy"):
                with archive.open(member) as stream:
                    found[member.removesuffix(".npy")] = _InArchive(Header.of(stream), path, member)
    return found
