"""Readers of file formats: from verified files to raw arrays, in the files' own numbers."""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shallows.datasets.catalogue import Dataset
from shallows.datasets.files import DatasetError
from shallows.errors import UnknownNameError

_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@dataclass
class Raw:
    """A dataset as its files hold it.

    Attributes
    ----------
    x_train, x_test : ndarray or scipy.sparse.csr_matrix, shape (n, d)
        Features in the type of the file (uint8 for pixels). ``x_test`` has no rows where there is no test
        file.
    y_train, y_test : ndarray, shape (n,)
        Labels or targets as they stand there.
    """

    x_train: Any
    y_train: np.ndarray
    x_test: Any
    y_test: np.ndarray


def open_binary(path: Path, name: str | None = None) -> BinaryIO:
    """Open a file for reading bytes, through its decompressor where its name ends in .gz, .bz2 or .xz.

    Parameters
    ----------
    path : Path
        The file.
    name : str, optional
        The name that counts, where the file bears another one for now.
    """
    return _OPENERS.get(Path(name or path).suffix, open)(path, "rb")


def read_idx(path: Path) -> np.ndarray:
    """Read an idx file (the format of MNIST), compressed or not.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    ndarray
        Read-only, in the type and shape that the header states.
    """
    # Third byte of the header: the type; fourth: the number of dimensions; then big-endian 32-bit sizes.
    types = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
    with open_binary(path) as file:
        content = file.read()
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in types:
        raise ValueError("it does not begin with an idx header")
    n_dims = content[3]
    offset = 4 + 4 * n_dims
    shape = struct.unpack(f">{n_dims}I", content[4:offset])
    dtype = np.dtype(types[content[2]])
    expected = offset + math.prod(shape) * dtype.itemsize
    if len(content) != expected:
        raise ValueError(f"its header promises {expected:,} bytes and it holds {len(content):,}")
    return np.frombuffer(content, dtype, offset=offset).reshape(shape)


def write_idx(array: np.ndarray) -> bytes:
    """Return the bytes of an idx file (uncompressed) that holds unsigned 8-bit numbers."""
    if array.dtype != np.uint8:
        raise ValueError(f"only uint8 is written, not {array.dtype}")
    return struct.pack(f">HBB{array.ndim}I", 0, 0x08, array.ndim, *array.shape) + array.tobytes()


def read_libsvm(path: Path, n_features: int, dtype: str = "float64") -> tuple[Any, np.ndarray]:
    """Read a LIBSVM (SVMlight) file with indices from 1.

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
    from sklearn.datasets import load_svmlight_file

    with open_binary(path) as file:  # opened here, since the function itself knows no .xz
        return load_svmlight_file(file, n_features=n_features, zero_based=False, dtype=np.dtype(dtype))


def read_csv(
    path: Path, target: int = -1, separator: str = ",", header: int = 0, dtype: str = "float64"
) -> tuple[np.ndarray, np.ndarray]:
    """Read a table of numbers, compressed or not.

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
    import pandas

    with open_binary(path) as file:
        n_columns = len(pandas.read_csv(file, sep=separator, header=None, skiprows=header, nrows=1).columns)
    target %= n_columns
    types = {column: dtype for column in range(n_columns) if column != target}
    blocks, targets = [], []
    # A column of integers that lacks a value makes NumPy warn before pandas raises.
    with open_binary(path) as file, np.errstate(invalid="ignore"):
        for table in pandas.read_csv(file, sep=separator, header=None, skiprows=header, dtype=types, chunksize=65_536):
            targets.append(table.pop(target).to_numpy())
            blocks.append(table.to_numpy(dtype))
    return np.concatenate(blocks), np.concatenate(targets)


def _idx(dataset: Dataset, paths: Mapping[str, Path]) -> dict[str, tuple[Any, np.ndarray]]:
    parts = {}
    for part in ("train", "test"):
        images, labels = (_told(read_idx, paths[f"{part}_{kind}"]) for kind in ("images", "labels"))
        parts[part] = (images.reshape(len(images), -1), labels)
    return parts


def _libsvm(dataset: Dataset, paths: Mapping[str, Path]) -> dict[str, tuple[Any, np.ndarray]]:
    return {
        part: _told(read_libsvm, path, n_features=dataset.n_features, **dataset.options) for part, path in paths.items()
    }


def _csv(dataset: Dataset, paths: Mapping[str, Path]) -> dict[str, tuple[Any, np.ndarray]]:
    return {part: _told(read_csv, path, **dataset.options) for part, path in paths.items()}


READERS: dict[str, Callable[[Dataset, Mapping[str, Path]], dict[str, tuple[Any, np.ndarray]]]] = {
    "idx": _idx,
    "libsvm": _libsvm,
    "csv": _csv,
}


def _told(reader: Callable, path: Path, **options: Any) -> Any:
    try:
        return reader(path, **options)
    except (ValueError, EOFError, OSError, lzma.LZMAError) as error:
        raise DatasetError(
            f"{path} cannot be read ({reader.__name__.removeprefix('read_')} format): {error}. "
            "Remove it and fetch it again, or check the format in the catalogue."
        ) from error


def read(dataset: Dataset, paths: Mapping[str, Path]) -> Raw:
    """Read a dataset's files and hold them against the catalogue.

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
    if dataset.format not in READERS:
        raise UnknownNameError("data format", dataset.format, READERS)
    parts = READERS[dataset.format](dataset, paths)
    x_train, y_train = parts["train"] if "train" in parts else parts["all"]
    x_test, y_test = parts.get("test", (x_train[:0], y_train[:0]))
    for part, x, y, n in (
        ("training", x_train, y_train, dataset.n_train),
        ("test", x_test, y_test, dataset.n_test),
    ):
        if x.shape != (n, dataset.n_features) or len(y) != n:
            raise DatasetError(
                f"The {part} part of '{dataset.name}' holds {x.shape[0]:,} rows of {x.shape[1]:,} "
                f"features and {len(y):,} targets, where the catalogue says {n:,} rows of "
                f"{dataset.n_features:,}."
            )
    return Raw(x_train, y_train, x_test, y_test)
