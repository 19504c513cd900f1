"""The MATLAB files of SVHN: images of house numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from shallows.datasets.catalogue import Dataset, Form
from shallows.datasets.formats.matlab import load_matlab
from shallows.datasets.formats.parts import Parts, Read, each_part
from shallows.datasets.sources import Block


def open_parts(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    """Open one MATLAB file a part."""
    return each_part(paths, lambda path: Read(path, "MATLAB", partial(svhn_blocks, path)))


def svhn_blocks(path: Path, rows: int) -> Iterator[Block]:
    """Read a MATLAB file of SVHN: X of (height, width, 3, n) bytes, y of labels 1 to 10. It is read whole."""
    content = load_matlab(path, ("X", "y"))
    x, y = content["X"], content["y"].ravel()
    if x.ndim != 4 or x.shape[2] != 3 or x.dtype != np.uint8 or x.shape[3] != len(y):
        raise ValueError(f"its X has the shape {x.shape} of {x.dtype}, and {len(y):,} labels stand beside it")
    for start in range(0, len(y), rows):
        images = x[..., start : start + rows].transpose(3, 2, 0, 1)
        yield Block(np.ascontiguousarray(images).reshape(len(images), -1), y[start : start + rows])
