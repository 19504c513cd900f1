"""Load prepared data: the arrays in a folder, and the record that describes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shallows_papers.datasets.files import DatasetError

RECORD = "prepared.json"
ARRAYS = ("x_train", "y_train", "x_test", "y_test")
#: The arrays of the second view, if the data have two views.
SECOND_VIEW = ("z_train", "z_test")
#: Endings of the file names of CSR features: the values, their columns, and the end of each row.
CSR = ("", ".indices", ".indptr")


@dataclass(frozen=True)
class Prepared:
    """Prepared data, mapped into memory and read when used.

    Attributes
    ----------
    x_train, x_test : ndarray or scipy.sparse.csr_matrix, of float32, shape (n, d)
        Features, read-only, with contiguous rows; CSR if the data are sparse. With two views, the first view.
    y_train, y_test : ndarray, shape (n,) or (n, k)
        Class indices (int64), or signs, or indicators, or regression targets (float64).
    z_train, z_test : ndarray, scipy.sparse.csr_matrix or None
        The second view of the same examples; None if the data have one view.
    info : dict
        The content of ``prepared.json``: dataset, title, task, classes, n_train, n_test, n_features, sparse, views,
        steps, statistics, sha256 (of the content of all arrays), seconds, peak_memory_bytes, sources, licence; and
        ``after``: None, or the number of steps that an earlier preparation did and the checksum of its arrays.
    """

    x_train: Any
    y_train: np.ndarray
    x_test: Any
    y_test: np.ndarray
    info: dict[str, Any]
    z_train: Any = None
    z_test: Any = None


def load(folder: str | Path) -> Prepared:
    """Map prepared data into memory.

    Parameters
    ----------
    folder : path
        The folder that `prepare` wrote.

    Returns
    -------
    Prepared

    Raises
    ------
    DatasetError
        If the record or an array is missing, or if they do not match.
    """
    folder = Path(folder)
    try:
        info = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DatasetError(
            f"{folder} has no finished preparation ({RECORD} is missing). Prepare the dataset first."
        ) from None
    except ValueError as error:
        raise DatasetError(f"{folder / RECORD} is not a record: {error}. Prepare the dataset again.") from error
    arrays = {key: _mapped(folder, key, info) for key in (*ARRAYS, *SECOND_VIEW) if key in info["arrays"]}
    for key in (key for key in tuple(arrays) if f"{key}.indptr" in info["arrays"]):
        from scipy.sparse import csr_matrix

        parts = [arrays[key], *(_mapped(folder, key + ending, info) for ending in CSR[1:])]
        arrays[key] = csr_matrix(tuple(parts), shape=(len(parts[2]) - 1, view_widths(info)[key[0]]), copy=False)
    return Prepared(**arrays, info=info)


def view_widths(info: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of features of x and, if there is a second view, z, from a record."""
    if "z_train" not in info["arrays"]:
        return {"x": info["n_features"]}
    return {name: stop - start for name, (start, stop) in zip("xz", info["views"], strict=True)}


def _mapped(folder: Path, key: str, info: Mapping[str, Any]) -> np.ndarray:
    """Map an array into memory, and compare its shape and type with the record."""
    path = folder / f"{key}.npy"
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path} cannot be read: {error}. Prepare the dataset again.") from error
    recorded = info["arrays"][key]
    if list(array.shape) != recorded["shape"] or array.dtype.str != recorded["dtype"]:
        raise DatasetError(
            f"{path} holds {array.dtype.str} of shape {array.shape}, but its record says "
            f"{recorded['dtype']} of shape {tuple(recorded['shape'])}. Prepare the dataset again."
        )
    return array
