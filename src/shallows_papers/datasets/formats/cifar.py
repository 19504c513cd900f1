"""The reader of the binary batches of CIFAR-10, in an archive or as separate files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.formats.containers import files_of, naming, open_binary, tar_members
from shallows_papers.datasets.sources import Block

_RECORD = 1 + 3072
_BATCHES = {"train": [f"data_batch_{number}.bin" for number in range(1, 6)], "test": ["test_batch.bin"]}


def read(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
    """Read the batches of a part, from the archive or from separate files."""
    if "archive" in paths:
        with naming(paths["archive"], form.format), tar_members(paths["archive"]) as members:
            for name in _BATCHES[part]:
                if name not in members:
                    raise ValueError(f"it lacks the file {name}")
                yield from _batch_blocks(members[name], rows)
        return
    for path in files_of(paths, part):
        with naming(path, form.format), open_binary(path) as file:
            yield from _batch_blocks(file, rows)


def _batch_blocks(file: BinaryIO, rows: int) -> Iterator[Block]:
    """Read records of a label and 3,072 bytes (red, green, blue)."""
    while content := file.read(rows * _RECORD):
        if len(content) % _RECORD:
            raise ValueError(f"it does not end with a whole image of {_RECORD:,} bytes")
        records = np.frombuffer(content, np.uint8).reshape(-1, _RECORD)
        yield Block(records[:, 1:], records[:, 0])
