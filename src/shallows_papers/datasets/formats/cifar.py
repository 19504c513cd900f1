"""The batches of CIFAR-10, in an archive or as loose files, in their binary and their python form."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.formats.containers import open_binary, tar_members
from shallows_papers.datasets.formats.parts import Parts, Read, each_part
from shallows_papers.datasets.sources import ArrayPart, Block

_RECORD = 1 + 3072
_BATCHES = {"train": [f"data_batch_{number}" for number in range(1, 6)], "test": ["test_batch"]}


def open_parts(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    """Open the archive, or the files of batches."""
    python = form.format == "cifar_python"
    if "archive" in paths:
        path = paths["archive"]
        return {part: Read(path, form.format, partial(_archive_blocks, path, part, python)) for part in _BATCHES}
    return each_part(paths, lambda path: Read(path, form.format, partial(_file_blocks, path, python)))


def _archive_blocks(path: Path, part: str, python: bool, rows: int) -> Iterator[Block]:
    with tar_members(path) as members:
        for batch in _BATCHES[part]:
            name = batch if python else f"{batch}.bin"
            if name not in members:
                raise ValueError(f"it lacks the file {name}")
            yield from _batch_blocks(members[name], python, rows)


def _file_blocks(path: Path, python: bool, rows: int) -> Iterator[Block]:
    with open_binary(path) as file:
        yield from _batch_blocks(file, python, rows)


def _batch_blocks(file: BinaryIO, python: bool, rows: int) -> Iterator[Block]:
    """Read one batch from an open file: a pickle, or records of a label and 3,072 bytes (red, green, blue)."""
    if python:
        try:
            x, y = _read_pickle(io.BufferedReader(file) if not hasattr(file, "peek") else file)
        except (pickle.UnpicklingError, AttributeError, IndexError, ImportError, TypeError) as error:
            raise ValueError(f"it is no pickle of images: {error}") from error
        yield from ArrayPart(x, y).blocks(rows)
        return
    while content := file.read(rows * _RECORD):
        if len(content) % _RECORD:
            raise ValueError(f"it does not end with a whole image of {_RECORD:,} bytes")
        records = np.frombuffer(content, np.uint8).reshape(-1, _RECORD)
        yield Block(records[:, 1:], records[:, 0])


def _read_pickle(file: BinaryIO) -> tuple[np.ndarray, np.ndarray]:
    """Read images and labels of a batch, running no code that a pickle could hold."""
    content = _PlainUnpickler(file, encoding="bytes").load()
    try:
        x, y = content[b"data"], content[b"labels"]
    except (TypeError, KeyError):
        raise ValueError("it is no batch of images: 'data' and 'labels' are not in it") from None
    y = np.asarray(y)
    if not isinstance(x, np.ndarray) or x.dtype != np.uint8 or x.shape != (len(y), 3072) or y.dtype.kind != "i":
        raise ValueError("its images are not rows of 3,072 bytes with whole labels")
    return x, y.astype(np.uint8)


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler of dictionaries, lists, numbers, bytes and arrays of numbers, and of nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if name == "_reconstruct" and module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            return _empty_array
        plain = {("numpy", "ndarray"): np.ndarray, ("numpy", "dtype"): _plain_dtype, ("_codecs", "encode"): _latin1}
        if (module, name) not in plain:
            raise ValueError(f"the pickle asks for {module}.{name}; only plain arrays are read, and no code is run")
        return plain[module, name]


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
