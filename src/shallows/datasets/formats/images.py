"""Images: idx files, the batches of CIFAR-10 in both forms, the MATLAB files of SVHN."""

from __future__ import annotations

import io
import math
import pickle
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shallows.datasets.formats.containers import open_binary, tar_members
from shallows.datasets.sources import Block

# Third byte of the header: the type; fourth: the number of dimensions; then big-endian 32-bit sizes.
_IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_CIFAR_RECORD = 1 + 3072
_CIFAR_BATCHES = {
    "train": [f"data_batch_{number}" for number in range(1, 6)],
    "test": ["test_batch"],
}


def read_idx(path: Path) -> np.ndarray:
    """Read an idx file (the format of MNIST), compressed or not.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    ndarray
        Read-only, in the type and shape that the header states.
    """
    with open_binary(path) as file:
        dtype, shape, offset = _idx_header(file)
        content = file.read()
    expected = math.prod(shape) * dtype.itemsize
    if len(content) != expected:
        raise ValueError(f"its header promises {offset + expected:,} bytes and it holds {offset + len(content):,}")
    return np.frombuffer(content, dtype).reshape(shape)


def _idx_header(file: BinaryIO) -> tuple[np.dtype, tuple[int, ...], int]:
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _IDX_TYPES:
        raise ValueError("it does not begin with an idx header")
    n_dims = magic[3]
    sizes = file.read(4 * n_dims)
    if len(sizes) < 4 * n_dims:
        raise ValueError("its idx header is cut off")
    return np.dtype(_IDX_TYPES[magic[2]]), struct.unpack(f">{n_dims}I", sizes), 4 + 4 * n_dims


def write_idx(array: np.ndarray) -> bytes:
    """Return the bytes of an idx file (uncompressed) that holds unsigned 8-bit numbers."""
    if array.dtype != np.uint8:
        raise ValueError(f"only uint8 is written, not {array.dtype}")
    return struct.pack(f">HBB{array.ndim}I", 0, 0x08, array.ndim, *array.shape) + array.tobytes()


def idx_blocks(images: Path, labels: Path, rows: int) -> Iterator[Block]:
    """Read a pair of idx files in blocks, each image as a row."""
    y = read_idx(labels)
    with open_binary(images) as file:
        dtype, shape, offset = _idx_header(file)
        if shape[0] != len(y):
            raise ValueError(f"it holds {shape[0]:,} images, and {labels.name} {len(y):,} labels")
        width = math.prod(shape[1:])
        read = offset
        for start in range(0, shape[0], rows):
            n = min(rows, shape[0] - start)
            content = file.read(n * width * dtype.itemsize)
            read += len(content)
            if len(content) != n * width * dtype.itemsize:
                promised = offset + math.prod(shape) * dtype.itemsize
                raise ValueError(f"its header promises {promised:,} bytes and it holds {read:,}")
            yield Block(np.frombuffer(content, dtype).reshape(n, width), y[start : start + n])
        if file.read(1):
            raise ValueError(f"it goes on after the {read:,} bytes that its header promises")


def cifar_binary_blocks(file: BinaryIO, rows: int) -> Iterator[Block]:
    """Read records of a label and 3,072 bytes (red, green, blue) from an open file."""
    while content := file.read(rows * _CIFAR_RECORD):
        if len(content) % _CIFAR_RECORD:
            raise ValueError(f"it does not end with a whole image of {_CIFAR_RECORD:,} bytes")
        records = np.frombuffer(content, np.uint8).reshape(-1, _CIFAR_RECORD)
        yield Block(records[:, 1:], records[:, 0])


def cifar_pickle_block(file: BinaryIO) -> Block:
    """Read one batch of the python form, running no code that a pickle could hold."""
    content = _PlainUnpickler(file, encoding="bytes").load()
    try:
        x, y = content[b"data"], content[b"labels"]
    except (TypeError, KeyError):
        raise ValueError("it is no batch of images: 'data' and 'labels' are not in it") from None
    y = np.asarray(y)
    if not isinstance(x, np.ndarray) or x.dtype != np.uint8 or x.shape != (len(y), 3072) or y.dtype.kind != "i":
        raise ValueError("its images are not rows of 3,072 bytes with whole labels")
    return Block(x, y.astype(np.uint8))


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler of dictionaries, lists, numbers, bytes and arrays of numbers, and of nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if name == "_reconstruct" and module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            return _empty_array
        if (module, name) == ("numpy", "ndarray"):
            return np.ndarray
        if (module, name) == ("numpy", "dtype"):
            return _plain_dtype
        if (module, name) == ("_codecs", "encode"):
            return _latin1
        raise ValueError(f"the pickle asks for {module}.{name}; only plain arrays are read, and no code is run")


def _empty_array(kind: type, shape: tuple[int, ...], code: Any) -> np.ndarray:
    if kind is not np.ndarray:
        raise ValueError("the pickle holds an array of a strange kind")
    return np.ndarray.__new__(np.ndarray, (0,), np.int8)


def _plain_dtype(code: Any, *rest: Any) -> np.dtype:
    dtype = np.dtype(code.decode() if isinstance(code, bytes) else code)
    if dtype.kind not in "iufb":
        raise ValueError("the pickle holds an array that is not of numbers")
    return dtype


def _latin1(text: str, encoding: Any) -> bytes:
    if encoding not in ("latin1", b"latin1"):
        raise ValueError("the pickle holds text in a strange coding")
    return text.encode("latin1")


def cifar_archive_blocks(path: Path, part: str, python: bool, rows: int) -> Iterator[Block]:
    """Read the batches of "train" or "test" out of the archive as it lies."""
    with tar_members(path) as members:
        for batch in _CIFAR_BATCHES[part]:
            name = batch if python else f"{batch}.bin"
            if name not in members:
                raise ValueError(f"it lacks the file {name}")
            yield from cifar_stream_blocks(members[name], python, rows)


def cifar_file_blocks(path: Path, python: bool, rows: int) -> Iterator[Block]:
    """Read one batch that lies as a file of its own."""
    with open(path, "rb") as file:
        yield from cifar_stream_blocks(file, python, rows)


def cifar_stream_blocks(file: BinaryIO, python: bool, rows: int) -> Iterator[Block]:
    """Read one batch of either form from an open file."""
    if not python:
        yield from cifar_binary_blocks(file, rows)
        return
    try:
        x, y = cifar_pickle_block(io.BufferedReader(file) if not hasattr(file, "peek") else file)
    except (pickle.UnpicklingError, AttributeError, IndexError, ImportError, TypeError) as error:
        raise ValueError(f"it is no pickle of images: {error}") from error
    for start in range(0, len(y), rows):
        yield Block(x[start : start + rows], y[start : start + rows])


def svhn_blocks(path: Path, rows: int) -> Iterator[Block]:
    """Read a MATLAB file of SVHN: X of (height, width, 3, n) bytes, y of labels 1 to 10. It is read whole."""
    from shallows.datasets.formats.matrices import load_matlab

    content = load_matlab(path, ("X", "y"))
    x, y = content["X"], content["y"].ravel()
    if x.ndim != 4 or x.shape[2] != 3 or x.dtype != np.uint8 or x.shape[3] != len(y):
        raise ValueError(f"its X has the shape {x.shape} of {x.dtype}, and {len(y):,} labels stand beside it")
    for start in range(0, len(y), rows):
        images = x[..., start : start + rows].transpose(3, 2, 0, 1)
        yield Block(np.ascontiguousarray(images).reshape(len(images), -1), y[start : start + rows])
