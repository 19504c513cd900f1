"""RCV1: documents as LIBSVM rows labelled by their numbers, and a list of the topics of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from shallows.datasets.catalogue import Dataset, Form
from shallows.datasets.formats.containers import CONTAINER_ERRORS, open_binary
from shallows.datasets.formats.libsvm import libsvm_blocks
from shallows.datasets.formats.parts import Parts, Read, each_part, unreadable
from shallows.datasets.sources import Block


def open_parts(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    """Open the files of documents; the target is whether a document is of the form's option ``topic``."""
    found: list[np.ndarray] = []

    def blocks(path: Path, rows: int) -> Iterator[Block]:
        if not found:
            try:
                found.append(topic_documents(paths["topics"], form.options["topic"]))
            except (ValueError, IndexError, *CONTAINER_ERRORS) as error:
                raise unreadable(paths["topics"], "topics", error) from error
        for block in libsvm_blocks(path, dataset.n_features, rows, form.options.get("dtype", "float32")):
            yield Block(block.x, np.isin(block.y.astype(np.int64), found[0]).astype(np.int8))

    documents = {part: path for part, path in paths.items() if part != "topics"}
    return each_part(documents, lambda path: Read(path, "libsvm", partial(blocks, path)))


def topic_documents(path: Path, topic: str) -> np.ndarray:
    """Return the sorted numbers of the documents that a list of topics (lines of topic, document, 1) gives a topic."""
    wanted = topic.encode()
    with open_binary(path) as file:
        found = [int(parts[1]) for line in file if (parts := line.split()) and parts[0] == wanted]
    if not found:
        raise ValueError(f"it gives no document the topic {topic}")
    return np.unique(np.array(found))
