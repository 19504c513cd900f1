"""Idx files, the format of MNIST: a header of sizes, then the pixels or labels."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.formats.containers import open_binary
from shallows_papers.datasets.formats.parts import naming
from shallows_papers.datasets.sources import Block

# Third byte of the header: the type; fourth: the number of dimensions; then big-endian 32-bit sizes.
_IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
    """Read a pair of files of images and labels, each image as a row."""
    images, labels = paths[f"{part}_images"], paths[f"{part}_labels"]
    with naming(images, "idx"), open_binary(images) as file:
        y, (dtype, shape, offset) = read_idx(labels), _idx_header(file)
        if shape[0] != len(y):
            raise ValueError(f"it holds {shape[0]:,} images, and {labels.name} {len(y):,} labels")
        width = math.prod(shape[1:])
        n_bytes, promised = offset, offset + math.prod(shape) * dtype.itemsize
        for start in range(0, shape[0], rows):
            n = min(rows, shape[0] - start)
            content = file.read(n * width * dtype.itemsize)
            n_bytes += len(content)
            if len(content) != n * width * dtype.itemsize:
                raise ValueError(f"its header promises {promised:,} bytes and it holds {n_bytes:,}")
            yield Block(np.frombuffer(content, dtype).reshape(n, width), y[start : start + n])
        if file.read(1):
            raise ValueError(f"it goes on after the {promised:,} bytes that its header promises")


def read_idx(path: Path) -> np.ndarray:
    """Read an idx file whole, compressed or not, in the type and shape that its header states."""
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
