"""LIBSVM (SVMlight) files: sparse rows of text, parsed by scikit-learn piece by piece."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shallows.datasets.catalogue import Dataset, Form
from shallows.datasets.formats import idx
from shallows.datasets.formats.containers import open_binary
from shallows.datasets.formats.parts import Parts, Read, each_part, reader_options
from shallows.datasets.sources import ArrayPart, Block, Part

# Text that is parsed at once: enough that the calls cost nothing, and little beside any memory budget.
TEXT_BYTES = 8 << 20


def open_parts(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    """Open one LIBSVM file a part; MNIST-8M is tested on MNIST's own idx files."""

    def one(path: Path) -> Part:
        return Read(path, "libsvm", lambda rows: libsvm_blocks(path, dataset.n_features, rows, **reader_options(form)))

    return idx.open_parts(dataset, form, paths) | each_part(paths, one)


def peek(dataset: Dataset, form: Form, path: Path, name: str) -> Block | None:
    """Read the first rows of a file under its later name."""
    if name.endswith("-ubyte.gz"):
        raise NotImplementedError("idx files are not looked into")
    blocks = libsvm_blocks(path, dataset.n_features, 50, **reader_options(form), name=name, text_bytes=1 << 16)
    return next(blocks, None)


def libsvm_blocks(
    path: Path,
    n_features: int | None,
    rows: int,
    dtype: str = "float64",
    dense: bool = False,
    name: str | None = None,
    text_bytes: int | None = None,
    zero_based: bool = False,
) -> Iterator[Block]:
    """Read a LIBSVM file in blocks, in bounded memory.

    Parameters
    ----------
    path : Path
        The file, compressed or not.
    n_features : int or None
        Columns of the result; stated, since a file need not show the last ones. None: as many as each piece shows.
    rows : int
        Rows of a block at most.
    dtype : str
        Type of the features. A whole type refuses values that it cannot hold.
    dense : bool
        Whether rows are given with their zeros, as an ndarray.
    name : str, optional
        The name that counts, where the file bears another one for now.
    text_bytes : int, optional
        Text to parse at once.
    zero_based : bool
        Whether the first column has the index 0; otherwise 1.

    Yields
    ------
    Block
    """
    from sklearn.datasets import load_svmlight_file

    parsed = np.dtype("float32" if np.dtype(dtype).itemsize <= 4 else "float64")
    seen = 0
    with open_binary(path, name, ahead=True) as file:  # opened here, since the function itself knows no .xz
        for text in _whole_lines(file, text_bytes or TEXT_BYTES):
            n_lines = text.count(b"\n") + (not text.endswith(b"\n"))
            try:
                x, y = load_svmlight_file(io.BytesIO(text), n_features=n_features, zero_based=zero_based, dtype=parsed)
            except (ValueError, IndexError, OverflowError) as error:
                raise ValueError(f"{error} (somewhere in lines {seen + 1:,} to {seen + n_lines:,})") from error
            seen += n_lines
            if len(y) and np.abs(y).max() >= 2**53:
                y = _exact_labels(text)
            for block in ArrayPart(_cast(x, np.dtype(dtype)), y).blocks(rows):
                yield Block(block.x.toarray(), block.y) if dense else block


def _whole_lines(file: BinaryIO, n_bytes: int) -> Iterator[bytes]:
    rest = b""
    while text := file.read(n_bytes):
        end = text.rfind(b"\n") + 1
        if end:
            yield rest + text[:end]
            rest = text[end:]
        else:
            rest += text
    if rest.strip():
        yield rest


def _exact_labels(text: bytes) -> np.ndarray:
    """Read whole labels of more digits than float64 holds, to which scikit-learn rounds them."""
    words = [line.partition(b"#")[0].split(None, 1) for line in text.splitlines()]
    labels = [float(word[0]) if re.search(rb"[^\d+-]", word[0]) else int(word[0]) for word in words if word]
    try:
        return np.array(labels, dtype=np.int64 if all(isinstance(label, int) for label in labels) else object)
    except OverflowError:
        return np.array(labels, dtype=object)


def _cast(x: Any, dtype: np.dtype) -> Any:
    if dtype.kind == "f":
        return x.astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    if x.nnz and not (limits.min <= x.data.min() and x.data.max() <= limits.max and (x.data == np.rint(x.data)).all()):
        raise ValueError(f"it holds values that are no whole numbers from {limits.min} to {limits.max}")
    return x.astype(dtype)
