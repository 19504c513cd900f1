"""Read users' files of numbers: NumPy, MATLAB and LIBSVM files."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shallows.errors import UnknownNameError
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.formats import arrays
from shallows_papers.datasets.formats.containers import CONTAINER_ERRORS, open_binary
from shallows_papers.datasets.formats.libsvm import libsvm_blocks
from shallows_papers.datasets.formats.matlab import load_matlab
from shallows_papers.datasets.sources import Block, NpyRows
from shallows_papers.datasets.user_data.request import FileRequest
from shallows_papers.datasets.user_data.summary import some_of

_FEATURES = ("x_train", "x", "data", "features", "inputs")
# Smallest accepted probability that no row has the index 0 by chance.
_CHANCE = 1e-3
_TARGETS = ("y_train", "y", "target", "targets", "label", "labels", "class", "t")
#: Contents of NumPy arrays that are neither numbers nor words, by the kind of their dtype.
_OTHER_KINDS = {
    "O": "Python objects (words are saved with y.astype(str))",
    "M": "dates (numbers are needed, such as days since a day)",
    "m": "spans of time (numbers are needed, such as seconds)",
    "c": "complex numbers",
    "V": "records of several fields",
}


# NumPy and MATLAB -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Unread:
    """An array of neither numbers nor words. An unknown shape is represented by None."""

    shape: tuple[int, ...] | None
    holds: str


def arrays_layout(path: Path, request: FileRequest) -> dict[str, Any]:
    """Find the arrays of features and target in a file.

    The result has the names ``x``, ``y`` and, if they exist, ``x_test`` and ``y_test``. If the target is a column of
    ``x``, ``y`` is set to None. It raises a `DatasetError` if the choice is ambiguous or the array cannot be read.
    """
    found = _named_arrays(path)
    by_lower = {name.lower(): name for name, array in found.items() if array.shape != ()}
    if request.features is not None and request.features not in found:
        raise UnknownNameError(f"array in {path}", request.features, found)
    x = request.features or next((by_lower[name] for name in _FEATURES if name in by_lower), None)
    y = request.target if isinstance(request.target, str) and request.target in found else None
    if isinstance(request.target, str) and y is None and not re.fullmatch(r"(-*\d+)?([,:](-*\d+)?)*", request.target):
        raise UnknownNameError(f"array in {path}", request.target, found)
    if x is None:
        wide = [name for name, array in found.items() if len(array.shape or ()) > 1 and min(array.shape) > 1]
        if len(set(wide) - {y}) != 1:
            raise DatasetError(
                f"It is not clear which array of {path} holds the features. It holds {_shapes(found)}. Name it in an "
                "entry under config/datasets/ with features: NAME and target: NAME."
            )
        (x,) = set(wide) - {y}
    _refuse_unread(path, found, x, "features")
    if found[x].dtype.kind in "US":
        raise DatasetError(f"The features {x} of {path} are words, but numbers are needed.")
    tests = [by_lower[part] for part in ("x_test", "y_test") if part in by_lower]
    n = found[x].shape[0]
    if request.target is None:
        y = next((by_lower[name] for name in _TARGETS if name in by_lower and by_lower[name] != x), None)
        y = y or _nameless_target(path, {name: found[name] for name in found if name not in (x, *tests)}, x, n)
    if y is not None:
        _refuse_unread(path, found, y, "target")
        of_target = tuple(found[y].shape)
        if of_target != (1, n) and of_target[:1] != (n,):  # in MATLAB it may be one row of n columns
            raise DatasetError(f"In {path} the features {x} have {n:,} rows, and the target {y} is {of_target}.")
    layout = {"x": x, "y": y}
    if len(tests) == 2 and not request.test_file and y is not None:
        layout |= dict(zip(("x_test", "y_test"), tests, strict=True))
        for name in tests:
            _refuse_unread(path, found, name, "array")
    features = f"the features are the array {x}" if len(found) > 1 else "it holds one array"
    layout["guesses"] = [features + (f" and the target is the array {y}" if y else "")]
    if rest := [name for name in found if name not in layout.values()]:
        layout["guesses"].append(f"not read: {some_of(rest)}")
    if len(found[x].shape) > 2:
        layout["shape"] = list(found[x].shape[1:])
        layout["guesses"].append(f"each row of {x}, of shape {found[x].shape[1:]}, is taken as one list of numbers")
    return layout


def _nameless_target(path: Path, others: Mapping[str, Any], x: str, n: int) -> str | None:
    """Return the only other array that has an entry for each row of the features, if there is one."""
    shapes = {name: array.shape for name, array in others.items()}
    found = [name for name, shape in shapes.items() if shape is None or shape[:1] == (n,) or shape == (1, n)]
    if len(found) == 1 and shapes[found[0]] in (None, (n,), (n, 1), (1, n)):
        return found[0]
    if found:
        raise DatasetError(
            f"It is not clear which array of {path} is the target. These have an entry for each row of {x}: "
            f"{_shapes({name: others[name] for name in found})}. Set target=NAME, or target=NUMBER for a column of "
            f"{x}."
        )
    return None


def _refuse_unread(path: Path, found: Mapping[str, Any], name: str, role: str) -> None:
    if isinstance(found[name], _Unread):
        raise DatasetError(f"The {role} {name} of {path} cannot be read: it holds {found[name].holds}.")


def _shapes(found: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {'of unknown shape' if array.shape is None else tuple(array.shape)}"
        + (f" ({array.holds})" if isinstance(array, _Unread) else "")
        for name, array in found.items()
    )


def _named_arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of a file. Arrays of neither numbers nor words become `_Unread`."""
    suffix = path.suffix.lower()
    try:
        if suffix == ".npz":
            found = arrays.npz_arrays(path)
        elif suffix == ".npy":
            found = {"array": NpyRows(path)}
        else:
            found = dict(_of_matlab(name, value) for name, value in load_matlab(path).items())
    except Exception as error:  # zipfile, zlib, SciPy and NumPy raise different errors for a damaged file
        reason = "it holds Python objects" if "Python objects" in str(error) else str(error) or type(error).__name__
        raise DatasetError(f"{path} cannot be read: {reason}.") from error
    if {"indices", "indptr", "format", "shape"} <= set(found):
        raise DatasetError(
            f"{path} holds a sparse matrix of SciPy, which is not supported. Write it with its target in LIBSVM form "
            "with sklearn.datasets.dump_svmlight_file."
        )
    for name, array in found.items():
        if not isinstance(array, _Unread) and array.dtype.kind not in "fiubUS":
            holds = _OTHER_KINDS.get(array.dtype.kind, f"values of the type {array.dtype}")
            found[name] = _Unread(tuple(array.shape), holds)
    return found


def _of_matlab(name: str, value: Any) -> tuple[str, Any]:
    """Return the name and the content of a MATLAB variable. Cells of words or single numbers become arrays."""
    if hasattr(value, "toarray"):
        return name, value.toarray()
    if not hasattr(value, "dtype"):
        return name, _Unread(None, str(value))
    if "s0" in (value.dtype.names or ()):  # SciPy returns neither the name nor the shape of an object
        name, kind = (value.ravel()[0][part].decode() for part in ("s0", "s2"))
        return name, _Unread(None, f"a {kind} of MATLAB (convert it by cellstr or double)")
    if value.dtype.kind == "U":
        return name, np.char.rstrip(value)  # rows of a matrix of letters are padded with blanks
    if value.dtype.kind == "O":
        cells = [np.asarray(cell) for cell in value.ravel()]
        kinds = {cell.dtype.kind for cell in cells}
        if max((cell.size for cell in cells), default=2) <= 1 and (kinds <= {"U"} or kinds <= set("fiub")):
            return name, np.array([cell.item() if cell.size else "" for cell in cells]).reshape(value.shape)
        return name, _Unread(value.shape, "a cell array of more than words, or of numbers and words")
    return name, _Unread(value.shape, "a struct") if value.dtype.kind == "V" else value


def of_test_arrays(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for reading the test arrays of a file."""
    layout = options["layout"]
    return {**options, "layout": {**layout, "x": layout.get("x_test"), "y": layout.get("y_test")}}


def array_blocks(path: Path, options: Mapping[str, Any], rows: int) -> Iterator[Block]:
    """Read the rows of arrays in a NumPy or a MATLAB file.

    NumPy files are read block by block. MATLAB files are read at once; their format allows at most 2 GB per variable.
    """
    layout = options["layout"]
    found = _named_arrays(path)
    # The single array of a test file may have another name.
    x_name = next(iter(found)) if layout["x"] not in found and len(found) == 1 else layout["x"]
    x = found[x_name]
    if len(x.shape) > 2 and list(x.shape[1:]) != layout.get("shape", list(x.shape[1:])):
        raise DatasetError(
            f"In {path} each row of {x_name} has the shape {tuple(x.shape[1:])}, but rows of the training file have "
            f"{tuple(layout['shape'])}."
        )
    y = np.asarray(found[layout["y"]][:]) if layout["y"] else None
    if y is not None and y.ndim == 2 and 1 in y.shape:
        y = y.ravel()
    if y is not None and y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8")
    targets = options.get("targets") or []
    for start in range(0, x.shape[0], rows):
        block = np.asarray(x[start : start + rows])
        block = block.reshape(len(block), -1)
        own = y[start : start + rows] if y is not None else None
        if y is None:
            own = block[:, targets[0]] if len(targets) == 1 else block[:, targets]
            block = np.delete(block, targets, axis=1)
        yield Block(block.astype(np.float64) if block.dtype.kind == "b" else block, own)


# LIBSVM ---------------------------------------------------------------------------------------------------------------


def libsvm_layout(path: Path, request: FileRequest) -> dict[str, Any]:
    """Return whether the lines have query numbers. The other properties are found when the lines are read."""
    with open_binary(path) as file:
        ranked = b" qid:" in file.read(1 << 14)
    return {"guesses": ["the numbers of queries (qid) are left aside"] if ranked else []}


def libsvm_rows(path: Path, options: Mapping[str, Any], rows: int) -> Iterator[Block]:
    """Read the rows of a LIBSVM file, as CSR.

    The options describe the training file: ``width`` is the largest index plus 1, ``first_index`` (0 or 1) is the
    smallest possible index, and ``first_share`` is the share of rows with the index 0. While ``first_index`` is
    unknown, index 0 is a column.
    """
    width, first = options.get("width"), options.get("first_index", 0)
    n_rows = n_zeros = 0

    def row_of(x: Any, place: int) -> int:
        return n_rows + int(np.searchsorted(x.indptr, place, side="right"))

    try:
        for x, y in libsvm_blocks(path, None, rows, zero_based=True):
            zeros = np.flatnonzero(x.indices == 0)
            if first and len(zeros):
                raise DatasetError(
                    f"{path} has the index 0 in row {row_of(x, zeros[0]):,}, but the training file counts from 1. "
                    "Write the indices of the new rows from 1, too."
                )
            if width is not None:
                if x.shape[1] > width:
                    raise DatasetError(
                        f"{path} has the index {x.indices.max():,} in row {row_of(x, x.indices.argmax()):,}, but "
                        f"indices of the training file are from {first} to {width - 1:,}."
                    )
                x.resize(x.shape[0], width)
            n_rows, n_zeros = n_rows + x.shape[0], n_zeros + len(zeros)
            yield Block(x[:, first:] if first else x, y)
    except (ValueError, *CONTAINER_ERRORS) as error:
        raise DatasetError(f"{path} is not in LIBSVM form (label index:value index:value ...): {error}.") from error
    share = options.get("first_share", 0.0)
    if n_zeros == 0 and (1 - share) ** n_rows < _CHANCE:
        raise DatasetError(
            f"No row of {path} has the index 0, but {share:.0%} of the training rows have it. So the file seems to "
            "count from 1, and the training file counts from 0. Write the indices of the new rows from 0, too."
        )
