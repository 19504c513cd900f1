"""Sparse rows of text: LIBSVM (SVMlight) files, and RCV1 with its list of topics."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shallows.datasets.formats.containers import open_binary
from shallows.datasets.sources import Block

# Text that is parsed at once: enough that the calls cost nothing, and little beside any memory budget.
TEXT_BYTES = 8 << 20


def libsvm_blocks(
    path: Path,
    n_features: int,
    rows: int,
    dtype: str = "float64",
    dense: bool = False,
    name: str | None = None,
    text_bytes: int | None = None,
) -> Iterator[Block]:
    """Read a LIBSVM file with indices from 1 in blocks, in bounded memory.

    Parameters
    ----------
    path : Path
        The file, compressed or not.
    n_features : int
        Columns of the result; stated, since a file need not show the last ones.
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

    Yields
    ------
    Block
    """
    from sklearn.datasets import load_svmlight_file

    parsed = "float32" if np.dtype(dtype).itemsize <= 4 else "float64"
    with open_binary(path, name, ahead=True) as file:  # opened here, since the function itself knows no .xz
        for text in _whole_lines(file, text_bytes or TEXT_BYTES):
            x, y = load_svmlight_file(io.BytesIO(text), n_features=n_features, zero_based=False, dtype=np.dtype(parsed))
            x = _cast(x, np.dtype(dtype))
            for start in range(0, len(y), rows):
                block = x[start : start + rows]
                yield Block(block.toarray() if dense else block, y[start : start + rows])


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


def _cast(x: Any, dtype: np.dtype) -> Any:
    if dtype.kind == "f":
        return x.astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    if x.nnz and not (limits.min <= x.data.min() and x.data.max() <= limits.max and (x.data == np.rint(x.data)).all()):
        raise ValueError(f"it holds values that are no whole numbers from {limits.min} to {limits.max}")
    return x.astype(dtype)


def topic_documents(path: Path, topic: str) -> np.ndarray:
    """Return the sorted numbers of the documents that a list of topics (lines of topic, document, 1) gives a topic."""
    wanted = topic.encode()
    with open_binary(path) as file:
        found = [int(parts[1]) for line in file if (parts := line.split()) and parts[0] == wanted]
    if not found:
        raise ValueError(f"it gives no document the topic {topic}")
    return np.unique(np.array(found))


def rcv1_blocks(path: Path, positive: np.ndarray, n_features: int, rows: int, dtype: str) -> Iterator[Block]:
    """Read vectors whose label is the document's number; the target is whether it is among `positive`."""
    for block in libsvm_blocks(path, n_features, rows, dtype):
        yield Block(block.x, np.isin(block.y.astype(np.int64), positive).astype(np.int8))
