"""QM7: Coulomb matrices of molecules, with the five folds that its publishers made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from shallows.datasets.catalogue import Dataset, Form
from shallows.datasets.formats.matlab import load_matlab
from shallows.datasets.formats.parts import Parts, Read
from shallows.datasets.sources import Block


def open_parts(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    """Open the one MATLAB file; its fold of the form's option ``fold`` is the test part."""
    path, fold = paths["data"], form.options.get("fold", 0)
    return {part: Read(path, "MATLAB", partial(qm7_blocks, path, fold, part)) for part in ("train", "test")}


def qm7_blocks(path: Path, fold: int, part: str, rows: int) -> Iterator[Block]:
    """Read QM7's Coulomb matrices and energies: the rows of one of its five folds ("test"), or all others."""
    content = load_matlab(path, ("X", "T", "P"))
    x, y, folds = content["X"], content["T"].ravel(), content["P"]
    n = len(x)
    if x.shape[1:] != (23, 23) or len(y) != n or not np.array_equal(np.sort(folds, axis=None), np.arange(n)):
        raise ValueError("its X, T and P are not matrices, energies and five splits of the same molecules")
    held = np.sort(folds[fold])
    chosen = held if part == "test" else np.setdiff1d(np.arange(n), held)
    for start in range(0, len(chosen), rows):
        now = chosen[start : start + rows]
        yield Block(x[now].reshape(len(now), -1), y[now].astype(np.float64))
