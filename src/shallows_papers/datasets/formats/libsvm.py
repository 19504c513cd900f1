"""The readers of LIBSVM (SVMlight) files, which scikit-learn parses piece by piece, and of RCV1."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.formats import idx
from shallows_papers.datasets.formats.containers import each_file, naming, open_binary
from shallows_papers.datasets.sources import ArrayPart, Block

# Bytes of text per parser call: enough to make the call overhead negligible, and small for any memory budget.
TEXT_BYTES = 8 << 20


def read(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
    """Read one LIBSVM file per part. The test part of MNIST-8M is MNIST's idx files."""
    reader = idx.read if f"{part}_images" in paths else _read_text
    return reader(dataset, form, paths, part, rows)


@each_file
def _read_text(dataset: Dataset, form: Form, path: Path, rows: int) -> Iterator[Block]:
    options = {key: form.options[key] for key in ("dtype", "dense", "zero_based") if key in form.options}
    return libsvm_blocks(path, dataset.n_features, rows, **options)


def libsvm_blocks(
    path: Path,
    n_features: int | None,
    rows: int,
    dtype: str = "float64",
    dense: bool = False,
    zero_based: bool = False,
) -> Iterator[Block]:
    """Read a LIBSVM file in blocks, in bounded memory.

    Without `n_features` the largest index in a block determines its number of columns. An integer `dtype` refuses
    values that it cannot represent. `dense` rows include their zeros. Columns count from 1 unless they are
    `zero_based`.
    """
    from sklearn.datasets import load_svmlight_file

    parsed = np.dtype("float32" if np.dtype(dtype).itemsize <= 4 else "float64")
    n_read = 0
    with open_binary(path) as file:  # load_svmlight_file cannot open .xz itself
        for text in _whole_lines(file, TEXT_BYTES):
            n_lines = text.count(b"\n") + (not text.endswith(b"\n"))
            try:
                x, y = load_svmlight_file(io.BytesIO(text), n_features=n_features, zero_based=zero_based, dtype=parsed)
            except (ValueError, IndexError, OverflowError) as error:
                raise ValueError(f"{error} (somewhere in lines {n_read + 1:,} to {n_read + n_lines:,})") from error
            n_read += n_lines
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
    """Read integer labels with more digits than float64 has; scikit-learn would round them."""
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
        raise ValueError(f"it holds values that are not whole numbers from {limits.min} to {limits.max}")
    return x.astype(dtype)


def read_rcv1(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
    """Read documents of RCV1; the target says whether a document has the option ``topic``."""
    with naming(paths["topics"], "topics"):
        chosen = _topic_documents(paths["topics"], form.options["topic"])
    for x, y in _read_text(dataset, form, paths, part, rows):
        yield Block(x, np.isin(y.astype(np.int64), chosen).astype(np.int8))


def _topic_documents(path: Path, topic: str) -> np.ndarray:
    """Return the numbers of a topic's documents from a list of topics (lines of topic, document, 1)."""
    wanted = topic.encode()
    with open_binary(path) as file:
        lines = (line.split() for line in file)
        numbers = [int(words[1]) for words in lines if len(words) > 1 and words[0] == wanted]
    if not numbers:
        raise ValueError(f"it has no document with the topic {topic}")
    return np.array(numbers)
