"""Files that hold numbers only: NumPy's, MATLAB's and LIBSVM's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shallows.datasets.files import DatasetError
from shallows.datasets.formats import arrays
from shallows.datasets.formats.containers import CONTAINER_ERRORS
from shallows.datasets.formats.libsvm import libsvm_blocks
from shallows.datasets.formats.matlab import load_matlab
from shallows.datasets.npy_rows import NpyRows
from shallows.datasets.sources import Block
from shallows.datasets.user_data.request import Request
from shallows.errors import UnknownNameError

_FEATURES = ("x_train", "x", "data", "features", "inputs")
# How probable it must be that no row has the index 0 by chance.
_CHANCE = 1e-3
_TARGETS = ("y_train", "y", "target", "targets", "label", "labels", "class", "t")


# NumPy and MATLAB -----------------------------------------------------------------------------------------------------


def arrays_layout(path: Path, request: Request) -> dict[str, Any]:
    """Find out which arrays of a file are the features and the target.

    Returns
    -------
    dict
        ``x`` and ``y``, names of arrays, and where it is so ``x_test`` and ``y_test``; ``y`` is None where the target
        is among the columns of ``x``.
    """
    found = _named_arrays(path)
    if not found:
        raise DatasetError(f"{path} holds no array of numbers with two dimensions or more.")
    by_lower = {name.lower(): name for name in found}
    if request.features is not None and request.features not in found:
        raise UnknownNameError(f"array in {path}", request.features, found)
    x = request.features or next((by_lower[name] for name in _FEATURES if name in by_lower), None)
    y = request.target if isinstance(request.target, str) and request.target in found else None
    if isinstance(request.target, str) and y is None and not _is_columns(request.target):
        raise UnknownNameError(f"array in {path}", request.target, found)
    if x is None:
        wide = [name for name, array in found.items() if len(array.shape) > 1 and min(array.shape) > 1 and name != y]
        if len(wide) != 1:
            raise DatasetError(
                f"Which array of {path} holds the features cannot be told. It holds {_shapes(found)}. Name it: an "
                "entry under config/datasets/ with features: NAME and target: NAME."
            )
        x = wide[0]
    if y is None and request.target is None:
        y = next((by_lower[name] for name in _TARGETS if name in by_lower and by_lower[name] != x), None)
    n = found[x].shape[0]
    if y is not None and _rows(found[y], n) != n:
        raise DatasetError(f"In {path} the features {x} have {n:,} rows, and the target {y} is {found[y].shape}.")
    layout = {"x": x, "y": y}
    for part in ("x_test", "y_test"):
        if part in by_lower and not request.test_file and y is not None:
            layout[part] = by_lower[part]
    told = f"the features are the array {x}" if len(found) > 1 else "it holds one array"
    layout["guesses"] = [told + (f" and the target is the array {y}" if y else "")]
    if len(found[x].shape) > 2:
        layout["shape"] = list(found[x].shape[1:])
        layout["guesses"].append(f"each row of {x}, of shape {found[x].shape[1:]}, is taken as one list of numbers")
    return layout


def _is_columns(target: str) -> bool:
    return all(part.lstrip("-").isdigit() or not part for part in target.replace(",", ":").split(":"))


def _shapes(found: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {tuple(array.shape)}" for name, array in found.items())


def _rows(array: Any, n: int) -> int:
    """Rows of a target, which MATLAB may hold as one row of n columns."""
    return n if tuple(array.shape) == (1, n) else array.shape[0]


def _named_arrays(path: Path) -> dict[str, Any]:
    suffix = path.suffix.lower()
    try:
        if suffix == ".npz":
            found = arrays.npz_arrays(path)
        elif suffix == ".npy":
            found = {"array": NpyRows(path)}
        else:
            found = load_matlab(path)
    except Exception as error:  # zipfile, zlib, scipy and NumPy each have errors of their own for a damaged file
        reason = "it holds Python objects" if "pickle" in str(error) else str(error) or type(error).__name__
        raise DatasetError(f"{path} cannot be read: {reason}.") from error
    found = {name: array.toarray() if hasattr(array, "toarray") else array for name, array in found.items()}
    return {name: one for name, one in found.items() if hasattr(one, "dtype") and one.dtype.kind in "fiubUS"}


@dataclass(frozen=True)
class ArrayFilePart:
    """Rows of arrays in a NumPy or a MATLAB file.

    NumPy's are read block by block; a MATLAB file, whose format ends at 2 GB a variable, at once.
    """

    path: Path
    options: Mapping[str, Any]
    part: str = "train"

    def blocks(self, rows: int) -> Iterator[Block]:
        """See `shallows.datasets.sources.Part.blocks`."""
        layout = self.options["layout"]
        x_name, y_name = layout["x"], layout["y"]
        if self.part == "test" and "x_test" in layout:
            x_name, y_name = layout["x_test"], layout["y_test"]
        found = _named_arrays(self.path)
        if x_name not in found and len(found) == 1:  # a test file may call its one array otherwise
            (x_name,) = found
        x = found[x_name]
        if len(x.shape) > 2 and list(x.shape[1:]) != layout.get("shape", list(x.shape[1:])):
            raise DatasetError(
                f"In {self.path} each row of {x_name} has the shape {tuple(x.shape[1:])}, where those of the training "
                f"file have {tuple(layout['shape'])}."
            )
        y = np.asarray(found[y_name][:]) if y_name else None
        if y is not None and y.ndim == 2 and 1 in y.shape:
            y = y.ravel()
        targets = self.options.get("targets") or []
        for start in range(0, x.shape[0], rows):
            block = np.asarray(x[start : start + rows])
            block = block.reshape(len(block), -1)
            own = y[start : start + rows] if y is not None else None
            if y is None:
                own = block[:, targets[0]] if len(targets) == 1 else block[:, targets]
                block = np.delete(block, targets, axis=1)
            yield Block(block.astype(np.float64) if block.dtype.kind == "b" else block, own)


# LIBSVM ---------------------------------------------------------------------------------------------------------------


def libsvm_layout(path: Path, request: Request) -> dict[str, Any]:
    """Nothing is to be found out before the lines are read."""
    return {"guesses": []}


@dataclass(frozen=True)
class LibsvmPart:
    """Rows of a LIBSVM file, as CSR.

    Attributes
    ----------
    path : Path
    options : mapping
        Of the training file: ``width``, the largest index and one; ``first_index``, from which it counts, 0 or 1; and
        ``first_share``, the share of its rows that have the index 0. Until that is known, index 0 is a column.
    """

    path: Path
    options: Mapping[str, Any]

    def blocks(self, rows: int) -> Iterator[Block]:
        """See `shallows.datasets.sources.Part.blocks`.

        Raises
        ------
        DatasetError
            Where the file is no LIBSVM file, or does not count from where the training file does.
        """
        width, first = self.options.get("width"), self.options.get("first_index", 0)
        n_rows = n_zeros = 0
        try:
            for block in libsvm_blocks(self.path, None, rows, zero_based=True):
                zeros = np.flatnonzero(block.x.indices == 0)
                if first and len(zeros):
                    row = n_rows + int(np.searchsorted(block.x.indptr, zeros[0], side="right"))
                    raise DatasetError(
                        f"{self.path} has the index 0 in row {row:,}, and the training file counts from 1. Write the "
                        "indices of the new rows from 1, too."
                    )
                if width is not None:
                    if block.x.shape[1] > width:
                        row = n_rows + int(np.searchsorted(block.x.indptr, block.x.indices.argmax(), side="right"))
                        raise DatasetError(
                            f"{self.path} has the index {block.x.indices.max():,} in row {row:,}; in the training file "
                            f"indices count from {first} to {width - 1:,}."
                        )
                    block.x.resize(block.x.shape[0], width)
                n_rows, n_zeros = n_rows + block.x.shape[0], n_zeros + len(zeros)
                yield Block(block.x[:, first:] if first else block.x, block.y)
        except (ValueError, *CONTAINER_ERRORS) as error:
            raise DatasetError(
                f"{self.path} is not in LIBSVM form (label index:value index:value ...): {error}."
            ) from error
        share = self.options.get("first_share", 0.0)
        if n_zeros == 0 and (1 - share) ** n_rows < _CHANCE:
            raise DatasetError(
                f"No row of {self.path} has the index 0, which {share:.0%} of the training rows have, so it seems to "
                "count from 1, and the training file counts from 0. Write the indices of the new rows from 0, too."
            )
