"""Idx files, the format of MNIST: a header of sizes, then the pixels or labels."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.formats.containers import naming, open_binary
from shallows_papers.datasets.sources import ArrayPart, Block

# Third byte of the header: the type; fourth: the number of dimensions; then big-endian 32-bit sizes.
_IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
    """Read a file of images and a file of labels; each image is a row."""
    images, labels = paths[f"{part}_images"], paths[f"{part}_labels"]
    with naming(images, "idx"):
        x, y = read_idx(images), read_idx(labels)
        if len(x) != len(y):
            raise ValueError(f"it has {len(x):,} images, but {labels.name} has {len(y):,} labels")
        yield from ArrayPart(x.reshape(len(x), -1), y).blocks(rows)


def read_idx(path: Path) -> np.ndarray:
    """Read a whole idx file, compressed or not, with the type and shape from its header."""
    with open_binary(path) as file:
        magic = file.read(4)
        if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _IDX_TYPES:
            raise ValueError("it does not begin with an idx header")
        dtype, sizes = np.dtype(_IDX_TYPES[magic[2]]), file.read(4 * magic[3])
        if len(sizes) < 4 * magic[3]:
            raise ValueError("its idx header is cut off")
        shape, header, content = struct.unpack(f">{magic[3]}I", sizes), 4 + len(sizes), file.read()
    expected = math.prod(shape) * dtype.itemsize
    if len(content) != expected:
        raise ValueError(f"its header promises {header + expected:,} bytes, but it has {header + len(content):,}")
    return np.frombuffer(content, dtype).reshape(shape)


def write_idx(array: np.ndarray) -> bytes:
    """Return the bytes of an uncompressed idx file of unsigned 8-bit numbers."""
    if array.dtype != np.uint8:
        raise ValueError(f"only uint8 can be written, not {array.dtype}")
    return struct.pack(f">HBB{array.ndim}I", 0, 0x08, array.ndim, *array.shape) + array.tobytes()
