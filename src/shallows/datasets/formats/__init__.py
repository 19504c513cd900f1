"""Readers of file formats: from verified files to blocks of rows, in the files' own numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shallows.datasets.catalogue import Dataset, Form
from shallows.datasets.files import DatasetError
from shallows.datasets.formats import images, matrices, svmlight, tables
from shallows.datasets.formats.containers import open_binary
from shallows.datasets.formats.images import read_idx, write_idx
from shallows.datasets.formats.parts import Chain, Checked, Read, Rows, TwoClasses, unreadable
from shallows.datasets.sources import Block, Part, Source
from shallows.errors import UnknownNameError

__all__ = [
    "READERS",
    "Raw",
    "open_binary",
    "open_source",
    "peek",
    "read",
    "read_csv",
    "read_idx",
    "read_libsvm",
    "write_idx",
]

# Rows of a block where all are put together in the end.
_BLOCK_ROWS = 65_536


@dataclass
class Raw:
    """A dataset as its files hold it.

    Attributes
    ----------
    x_train, x_test : ndarray or scipy.sparse.csr_matrix, shape (n, d)
        Features in the type of the file (uint8 for pixels). ``x_test`` has no rows where there is no test
        file.
    y_train, y_test : ndarray, shape (n,) or (n, k)
        Labels or targets as they stand there.
    """

    x_train: Any
    y_train: np.ndarray
    x_test: Any
    y_test: np.ndarray


def read_libsvm(path: Path, n_features: int, dtype: str = "float64") -> tuple[Any, np.ndarray]:
    """Read a LIBSVM (SVMlight) file with indices from 1, whole.

    Parameters
    ----------
    path : Path
        The file.
    n_features : int
        Columns of the result; stated, since a test file need not show the last ones.
    dtype : str
        Type of the features.

    Returns
    -------
    x : scipy.sparse.csr_matrix of shape (n, n_features)
    y : ndarray of float64, shape (n,)
    """
    return _together(list(svmlight.libsvm_blocks(path, n_features, _BLOCK_ROWS, dtype)))


def read_csv(
    path: Path, target: int = -1, separator: str = ",", header: int = 0, dtype: str = "float64"
) -> tuple[np.ndarray, np.ndarray]:
    """Read a table of numbers, compressed or not, whole.

    Parameters
    ----------
    path : Path
        The file.
    target : int
        The column of the target, counted from 0, or from the end when negative.
    separator : str
        What stands between two columns.
    header : int
        Lines before the first row.
    dtype : str
        Type of the features.

    Returns
    -------
    x : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        In the type that pandas finds: integers, floating-point numbers or text.
    """
    layout = tables.Layout(target=target, separator=separator, header=header, dtype=dtype)
    return _together(list(tables.csv_blocks(path, layout, None)))


def _together(blocks: list[Block]) -> tuple[Any, np.ndarray]:
    if not blocks:
        raise ValueError("it holds no row")
    if hasattr(blocks[0].x, "tocsr"):
        from scipy.sparse import vstack

        return vstack([block.x for block in blocks], format="csr"), np.concatenate([block.y for block in blocks])
    if len(blocks) == 1:
        return blocks[0].x, blocks[0].y
    return np.concatenate([block.x for block in blocks]), np.concatenate([block.y for block in blocks])


# Readers of the catalogue's formats: each turns a form's files into the parts "train" and "test", or "all".

Parts = dict[str, Part]
Reader = Callable[[Dataset, Form, Mapping[str, Path]], Parts]


def _idx(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    return {
        part: Read(
            paths[f"{part}_images"], "idx", partial(images.idx_blocks, paths[f"{part}_images"], paths[f"{part}_labels"])
        )
        for part in ("train", "test")
        if f"{part}_images" in paths
    }


def _libsvm(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    def one(path: Path) -> Part:
        return Read(
            path, "libsvm", lambda rows: svmlight.libsvm_blocks(path, dataset.n_features, rows, **_plain(form.options))
        )

    # MNIST-8M is tested on MNIST's own idx files.
    return _idx(dataset, form, paths) | _each(paths, one)


def _csv(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    layout = _layout(dataset, form)
    regression = dataset.task == "regression"

    def one(path: Path, start: int = 0, stop: int | None = None) -> Part:
        return Read(
            path,
            "csv",
            lambda rows: tables.csv_blocks(path, layout, rows, start=start, stop=stop, regression=regression),
        )

    if "all" in paths and dataset.n_test:  # passed over faster than parsed and dropped
        n = dataset.n_train
        return {"train": one(paths["all"], stop=n), "test": one(paths["all"], start=n)}
    return _each(paths, one)


def _layout(dataset: Dataset, form: Form) -> tables.Layout:
    options = _plain(form.options)
    options["categories"] = {int(column): words for column, words in options.get("categories", {}).items()}
    return tables.Layout(n_targets=dataset.n_targets, **options)


def _arff(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    def one(path: Path) -> Part:
        return Read(
            path,
            "arff",
            lambda rows: tables.arff_blocks(
                path, rows=rows, regression=dataset.task == "regression", **_plain(form.options)
            ),
        )

    return _each(paths, one)


def _smiles(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    return _each(
        paths, lambda path: Read(path, "smiles", lambda rows: tables.smiles_blocks(path, rows=rows, **form.options))
    )


def _rcv1(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    topic, dtype = form.options["topic"], form.options.get("dtype", "float32")
    found: list[np.ndarray] = []

    def blocks(path: Path, rows: int) -> Iterator[Block]:
        if not found:
            try:
                found.append(svmlight.topic_documents(paths["topics"], topic))
            except (ValueError, IndexError, OSError, EOFError) as error:
                raise unreadable(paths["topics"], "topics", error) from error
        yield from svmlight.rcv1_blocks(path, found[0], dataset.n_features, rows, dtype)

    return _each(
        {part: path for part, path in paths.items() if part != "topics"},
        lambda path: Read(path, "libsvm", partial(blocks, path)),
    )


def _cifar(python: bool, dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    if "archive" in paths:
        path = paths["archive"]
        return {
            part: Read(path, form.format, partial(images.cifar_archive_blocks, path, part, python))
            for part in ("train", "test")
        }
    return _each(paths, lambda path: Read(path, form.format, partial(images.cifar_file_blocks, path, python)))


def _svhn(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    return _each(paths, lambda path: Read(path, "MATLAB", partial(images.svhn_blocks, path)))


def _sarcos(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    return _each(
        paths, lambda path: Read(path, "MATLAB", partial(matrices.matlab_table_blocks, path, dataset.n_targets))
    )


def _qm7(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    path, fold = paths["data"], form.options.get("fold", 0)
    return {part: Read(path, "MATLAB", partial(matrices.qm7_blocks, path, fold, part)) for part in ("train", "test")}


def _arrays(dataset: Dataset, form: Form, paths: Mapping[str, Path]) -> Parts:
    def blocks(part: str, rows: int) -> Iterator[Block]:
        arrays = matrices.open_arrays(paths)
        yield from matrices.array_blocks(arrays[f"x_{part}"], arrays[f"y_{part}"], rows)

    return {
        part: Read(paths.get("data", paths.get(f"x_{part}")), "NumPy", partial(blocks, part))
        for part in ("train", "test")
    }


READERS: dict[str, Reader] = {
    "arff": _arff,
    "arrays": _arrays,
    "cifar_binary": partial(_cifar, False),
    "cifar_python": partial(_cifar, True),
    "csv": _csv,
    "idx": _idx,
    "libsvm": _libsvm,
    "qm7": _qm7,
    "rcv1": _rcv1,
    "sarcos": _sarcos,
    "smiles": _smiles,
    "svhn": _svhn,
}


def _each(paths: Mapping[str, Path], one: Callable[[Path], Part]) -> Parts:
    """Give the parts "train", "test" and "all", each of its one file or of its numbered ones in their order."""
    parts = {}
    for kind in ("train", "test", "all"):
        numbered = [name for name in paths if name.startswith(f"{kind}_") and name[len(kind) + 1 :].isdigit()]
        names = ([kind] if kind in paths else []) + sorted(numbered, key=lambda name: int(name.rpartition("_")[2]))
        if names:
            files = [one(paths[name]) for name in names]
            parts[kind] = files[0] if len(files) == 1 else Chain(files)
    return parts


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options without those that concern labels, which are done for every format alike."""
    return {key: value for key, value in options.items() if key not in ("positive", "negative")}


def open_source(dataset: Dataset, paths: Mapping[str, Path]) -> Source:
    """Open verified files as parts that are read in blocks and held against the catalogue as they pass.

    Parameters
    ----------
    dataset : Dataset
        Its entry in the catalogue.
    paths : mapping of str to Path
        The file of every part. Which of the dataset's forms they are is told by the parts.

    Returns
    -------
    Source

    Raises
    ------
    UnknownNameError
        When the format is none that is read.
    DatasetError
        When the parts are of no form of the dataset. While blocks are read: when a file cannot be read, or does not
        have the rows, columns and classes that the catalogue states.
    """
    if dataset.format not in READERS:
        raise UnknownNameError("data format", dataset.format, READERS)
    form = dataset.form_with(paths)
    if form is None:
        raise DatasetError(
            f"The files of '{dataset.name}' are not whole: there are {', '.join(sorted(paths)) or 'none'}, and "
            f"{', '.join(file.part for file in dataset.files)} are needed."
        )
    parts = READERS[form.format](dataset, form, {file.part: paths[file.part] for file in form.files})
    if "all" in parts:
        whole = parts.pop("all")
        if dataset.n_test:
            parts |= {"train": Rows(whole, 0, dataset.n_train), "test": Rows(whole, dataset.n_train)}
        else:
            parts["train"] = whole
    labels = {key: tuple(form.options[key]) for key in ("positive", "negative") if key in form.options}
    if labels:
        parts = {name: TwoClasses(part, **labels) for name, part in parts.items()}
    n = {"train": dataset.n_train, "test": dataset.n_test} if dataset.exact else {"train": None, "test": None}
    return Source(
        Checked(parts["train"], dataset, "training", n["train"]),
        Checked(parts["test"], dataset, "test", n["test"]) if "test" in parts else None,
    )


def read(dataset: Dataset, paths: Mapping[str, Path]) -> Raw:
    """Read a dataset's files whole and hold them against the catalogue.

    Parameters
    ----------
    dataset : Dataset
        Its entry in the catalogue.
    paths : mapping of str to Path
        The file of every part.

    Returns
    -------
    Raw

    Raises
    ------
    DatasetError
        When a file cannot be read, or does not have the rows and columns that the catalogue states.
    """
    source = open_source(dataset, paths)
    found = []
    for part in (source.train, source.test):
        if part is None:
            x, y = found[0][0][:0], found[0][1][:0]
        else:
            try:
                x, y = _together(list(part.blocks(_BLOCK_ROWS)))
            except ValueError as error:
                raise unreadable(next(iter(paths.values())), dataset.format, error) from error
        found.append((x, y))
    (x_train, y_train), (x_test, y_test) = found
    return Raw(x_train, y_train, x_test, y_test)


def peek(dataset: Dataset, form: Form, path: Path, name: str) -> str | None:
    """Read the first rows of a text file under its later name; return what is wrong with them, or None."""
    readers = {
        "csv": lambda: tables.csv_blocks(path, _layout(dataset, form), 50, stop=50, name=name),
        "libsvm": lambda: svmlight.libsvm_blocks(
            path, dataset.n_features, 50, **_plain(form.options), name=name, text_bytes=1 << 16
        ),
        "smiles": lambda: tables.smiles_blocks(path, rows=50, name=name, **form.options),
    }
    if form.format not in readers or name.endswith("-ubyte.gz"):
        return None
    try:
        block = next(readers[form.format](), None)
    except (ValueError, KeyError, OSError, EOFError) as error:
        return f"its first rows cannot be read: {error}"
    if block is None:
        return "it holds no row"
    if block.x.shape[1] != dataset.n_features:
        return f"its rows have {block.x.shape[1]:,} features instead of {dataset.n_features:,}"
    return None
