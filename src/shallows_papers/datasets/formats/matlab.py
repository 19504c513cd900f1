"""The readers of MATLAB files of version 4 to 7, and of the datasets QM7, SARCOS and SVHN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.formats.containers import each_file, naming
from shallows_papers.datasets.sources import ArrayPart, Block


def load_matlab(path: Path, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Read all or some variables. A file of version 7.3 (HDF5) raises an error that says what to do."""
    import scipy.io

    with open(path, "rb") as file:
        if file.read(19) == b"MATLAB 7.3 MAT-file":
            raise ValueError("it is a file of MATLAB version 7.3; save it with -v7")
    try:
        content = scipy.io.loadmat(path, variable_names=names)
    except (NotImplementedError, TypeError, scipy.io.matlab.MatReadError) as error:
        raise ValueError(f"it is not a MATLAB file of version 4 to 7: {error}") from error
    for name in names or ():
        if name not in content:
            raise ValueError(f"it has no variable {name}")
    return {name: value for name, value in content.items() if not name.startswith("__")}


def read_qm7(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
    """Read QM7. The option ``fold`` selects one of the publishers' five folds as the test part."""
    with naming(paths["data"], "MATLAB"):
        content = load_matlab(paths["data"], ("X", "T", "P"))
        x, y, folds = content["X"], content["T"].ravel(), content["P"]
        n = len(x)
        if x.shape[1:] != (23, 23) or len(y) != n or not np.array_equal(np.sort(folds, axis=None), np.arange(n)):
            raise ValueError("its X, T and P are not matrices, energies and five splits of the same molecules")
        test = np.sort(folds[form.options.get("fold", 0)])
        chosen = test if part == "test" else np.setdiff1d(np.arange(n), test)
        yield from ArrayPart(x.reshape(n, -1)[chosen], y[chosen].astype(np.float64)).blocks(rows)


@each_file
def read_sarcos(dataset: Dataset, form: Form, path: Path, rows: int) -> Iterator[Block]:
    """Read SARCOS, one matrix whose last columns are the targets."""
    tables = [value for value in load_matlab(path).values() if getattr(value, "ndim", 0) == 2]
    if len(tables) != 1:
        raise ValueError(f"it has {len(tables)} matrices, but one is expected")
    n_targets = dataset.n_targets
    yield from ArrayPart(tables[0][:, :-n_targets], tables[0][:, -n_targets:]).blocks(rows)


@each_file
def read_svhn(dataset: Dataset, form: Form, path: Path, rows: int) -> Iterator[Block]:
    """Read SVHN as a whole: X of (height, width, 3, n) bytes, and y of labels 1 to 10."""
    content = load_matlab(path, ("X", "y"))
    x, y = content["X"], content["y"].ravel()
    if x.ndim != 4 or x.shape[2] != 3 or x.dtype != np.uint8 or x.shape[3] != len(y):
        raise ValueError(f"its X has the shape {x.shape} of {x.dtype}, but there are {len(y):,} labels")
    for start in range(0, len(y), rows):
        images = x[..., start : start + rows].transpose(3, 2, 0, 1)
        yield Block(np.ascontiguousarray(images).reshape(len(images), -1), y[start : start + rows])
